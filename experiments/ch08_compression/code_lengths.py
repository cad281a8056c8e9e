# SPDX-License-Identifier: MIT
"""Code lengths of a text: file compressors, counts that learn on the way, and GPTs.

Everything is in bits, one number for each symbol where a way has such numbers. File compressors
only have a total.
"""

import bz2
import gzip
import lzma
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pretrain.evaluation import token_losses
from pretrain.gpt import GPT
from pretrain_lab.baselines.kneser_ney import KneserNey

FIRST_CHUNK, GROWTH = 500, 0.05  # a count model is fitted again after 5 % more text
READ_CHUNK = 25_000  # ... and after that many characters when it has read another text
XZ = 9 | lzma.PRESET_EXTREME  # a dictionary of 64 MiB, more than all plays


def xz(data: bytes) -> bytes:
    """Compress with the strongest preset."""
    return lzma.compress(data, preset=XZ)


FILES: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 9), "bzip2": lambda data: bz2.compress(data, 9),
    "xz": xz,
}  # fmt: skip


def code_lengths(model: GPT, ids: Tensor, n_symbols: int) -> Tensor:
    """Return the surprisal of every token, float64 (L,) bits.

    A token has at least half a context before it, if there is so much.

    Args:
        model: A GPT in evaluation mode.
        ids: int64 (L,), longer than the model's context.
        n_symbols: How many tokens the first one could have been; nothing predicts it.
    """
    limit = model.config.max_len
    half = limit // 2
    head = token_losses(model, ids[: half + 1], seq_len=half)
    body = token_losses(model, ids, seq_len=limit, min_context=half)
    n_left = len(ids) - 1 - len(head) - len(body)
    tail = token_losses(model, ids[-limit - 1 :], seq_len=limit, min_context=limit - n_left) if (
        n_left
    ) else body[:0]  # fmt: skip
    first = torch.tensor([math.log(n_symbols)])
    return torch.cat([first, head, body, tail]).double() / math.log(2)


def adaptive_lengths(
    ids: np.ndarray, order: int, n_symbols: int, before: np.ndarray | None = None
) -> np.ndarray:
    """Code a text with counts that learn from what was sent already: float64 (L,) bits.

    Args:
        ids: int64 (L,), symbols from 0.
        order: Of Kneser-Ney.
        n_symbols: V.
        before: int64 (M,), a text that sender and receiver have read; None = nothing.
    """
    known = np.empty(0, dtype=np.int64) if before is None else before
    text, done, parts = np.concatenate([known, ids]), len(known), []
    while done < len(text):
        n_new = READ_CHUNK if before is not None else max(FIRST_CHUNK, int(GROWTH * done))
        chunk = text[max(0, done - order + 1) : done + n_new]
        n_new = min(n_new, len(text) - done)
        if done == 0:
            parts.append(np.full(n_new, math.log(n_symbols)))
        else:
            model = KneserNey(order, n_symbols).fit(text[:done])
            parts.append(-model.log_probs(chunk)[-n_new:])
        done += n_new
    return np.concatenate(parts) / math.log(2)


def per_part(lengths: Any, ends: list[int]) -> list[float]:
    """Average (L,) bits over each part of a joined text; `ends` are the places after the parts."""
    starts = [0, *ends[:-1]]
    return [float(lengths[a:b].mean()) for a, b in zip(starts, ends, strict=True)]


def by_character(lengths: Tensor, tokens: list[str], n_chars: int) -> Tensor:
    """Put each token's bits on its first character, float64 (n_chars,)."""
    ends = torch.tensor([len(token) for token in tokens]).cumsum(0)
    assert int(ends[-1]) == n_chars, "the tokens spell the text"
    starts = ends - torch.tensor([len(token) for token in tokens])
    return torch.zeros(n_chars, dtype=torch.float64).index_add(0, starts, lengths.double())
