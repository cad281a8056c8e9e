# SPDX-License-Identifier: MIT
"""Arithmetic coding with exact integers: a text as one number, in as many bits as it surprises.

Papers: Rissanen 1976 and Pasco 1976 for the method; Witten, Neal and Cleary 1987 for the form
that works in machine words, which is left out here: whole numbers of any length keep every step
visible, at a cost that grows with the square of the text.
"""

import bz2
import gzip
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from pretrain.gpt import GPT
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare

SCALE = 2**16
"""What the probabilities of one prediction are rounded to, as counts."""

Counts = Callable[[Sequence[int]], list[int]]
"""Gives a positive whole number for each symbol, from the symbols so far."""


def counts_of(probs: Tensor) -> list[int]:
    """Round probabilities (V,) to counts of about SCALE in all, none below 1.

    A symbol with count 0 could not be coded at all. Decoder and encoder need identical counts, so
    both must compute the probabilities in the same way.
    """
    counts: list[int] = ((probs.double() * SCALE).floor().long() + 1).tolist()
    return counts


def gpt_counts(model: GPT, n_special: int) -> Counts:
    """Return predictions of a character GPT, one position at a time, from at most its context.

    They map the characters so far, counted from 0, to counts; before the first, all are alike. The
    `n_special` special ids precede the characters and are never coded.
    """
    limit, n_symbols = model.config.max_len, model.config.vocab_size - n_special

    @torch.inference_mode()
    def predict(known: Sequence[int]) -> list[int]:
        """Run the model on what is known, without a batch, as the decoder has to."""
        if not known:
            return [1] * n_symbols
        ids = torch.tensor([known[-limit:]]) + n_special
        return counts_of(model(ids)[0, -1, n_special:].double().softmax(dim=-1))

    return predict


def encode(symbols: Sequence[int], predict: Counts) -> tuple[int, int]:
    """Code symbols 0..V-1 as a whole number of n bits: the digits of a point in their interval.

    Returns the code and n, the smallest number of bits that is sure to name a point of the
    interval.
    """
    low, width, whole = 0, 1, 1  # the interval [low, low + width) of 0..whole
    for place, symbol in enumerate(symbols):
        counts = predict(symbols[:place])
        low = low * sum(counts) + width * sum(counts[:symbol])
        width, whole = width * counts[symbol], whole * sum(counts)
    n_bits = (-(-whole // width) - 1).bit_length()  # smallest n with 2**n >= whole / width
    return -(-(low << n_bits) // whole), n_bits


def decode(code: int, n_bits: int, length: int, predict: Counts) -> list[int]:
    """Return the `length` symbols of `encode` from its code, with the same predictions."""
    symbols: list[int] = []
    low, width, whole = 0, 1, 1
    for _ in range(length):
        counts = predict(symbols)
        total = sum(counts)
        point = (code * whole * total - (low * total << n_bits)) // (width << n_bits)
        symbol, below = 0, 0
        while below + counts[symbol] <= point:
            below += counts[symbol]
            symbol += 1
        low, whole = low * total + width * below, whole * total
        width *= counts[symbol]
        symbols.append(symbol)
    return symbols


def code_for_real(name: str, slug: str, n_chars: int) -> dict[str, Any]:
    """Write the first characters of a test play as bits with a recorded GPT, and read them back."""
    model, tokenizer = load_model(name)
    n_special = len(tokenizer.special_ids)
    play = next(play for play in load_shakespeare("test") if play.slug == slug)
    ids = tokenizer.encode(play.text[:n_chars])
    symbols = (ids - n_special).tolist()
    predict = gpt_counts(model, n_special)
    code, n_bits = encode(symbols, predict)
    assert decode(code, n_bits, n_chars, predict) == symbols, "the text comes back"
    rounded_bits = 0.0
    for place, symbol in enumerate(symbols):
        counts = predict(symbols[:place])
        rounded_bits -= math.log2(counts[symbol] / sum(counts))
    return {
        "play": play.title, "n_chars": n_chars, "code_bits": n_bits,
        "rounded_surprise_bits": rounded_bits,
        "surprise_bits": true_surprise(model, ids, n_special),
        "gzip_bits": 8 * len(gzip.compress(play.text[:n_chars].encode(), 9)),
        "bzip2_bits": 8 * len(bz2.compress(play.text[:n_chars].encode(), 9)),
    }  # fmt: skip


@torch.inference_mode()
def true_surprise(model: GPT, ids: Tensor, n_special: int) -> float:
    """Sum -log2 p over the text, int64 (L,), with the coder's contexts but without its rounding.

    The `n_special` special ids get no share of the probability.
    """
    limit, total = model.config.max_len, math.log2(model.config.vocab_size - n_special)
    for place in range(1, len(ids)):
        logits = model(ids[None, max(0, place - limit) : place])[0, -1, n_special:].double()
        total -= float(logits.log_softmax(dim=-1)[ids[place] - n_special]) / math.log(2)
    return total
