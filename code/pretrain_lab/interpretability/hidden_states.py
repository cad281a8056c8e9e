# SPDX-License-Identifier: MIT
"""What stands inside an encoder or decoder: the states after each layer, and who attends to whom.

Published encoders come in through `pretrain_lab.hub.weights`. Left out: T5, and the inner parts of
a layer.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.masks import causal_mask, padding_mask

POOLINGS = ("first", "last", "mean", "last four layers")


@torch.no_grad()
def hidden_states_and_attentions(
    model: BERT | GPT, ids: Tensor, attention_mask: Tensor | None = None
) -> tuple[Tensor, list[Tensor]]:
    """Run a model, in evaluation mode, block by block and keep what it computes.

    `ids` are int64 (B, T), padding on the right; the mask is bool (B, T), True = real token,
    None = all real.

    Returns:
        States float (N + 1, B, T, D): the embeddings, then the output of each block; the last ones
        after the model's final norm, as the head reads them. And for each block the attention
        weights, float (B, H, T, T), indexed [text, head, query, key].
    """
    mask = None if attention_mask is None else padding_mask(attention_mask.bool())
    if isinstance(model, GPT):
        x = model.embeddings(ids)
        causal = causal_mask(ids.shape[1], device=ids.device)
        mask = causal if mask is None else causal & mask
    else:
        x = model.embedding_norm(model.embeddings(ids, None))
    states, maps = [x], []
    block: Any
    for block in model.blocks:
        reads = block.attention_norm(x) if block.pre_norm else x
        maps.append(block.attention.weights(reads, mask))
        x = block(x, mask)
        states.append(x)
    states[-1] = model.final_norm(x)
    return torch.stack(states), maps


def encode_words(
    encode: Callable[[str], Sequence[int]], words: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Turn words into tokens one word at a time, so that it is known which belong together.

    Every word but the first is encoded with a blank before it. For tokenisers whose tokens do not
    cross words this gives the ids of the whole text.

    Returns:
        The ids, and for each word the index of its last token: the only place where a model that
        reads from left to right has seen all of the word.

    Raises:
        ValueError: A word gives no token.
    """
    ids: list[int] = []
    last: list[int] = []
    for number, word in enumerate(words):
        new = list(encode(" " + word if number else word))
        if not new:
            raise ValueError(f"expected words with at least one token, got {word!r}")
        ids += new
        last.append(len(ids) - 1)
    return ids, last


def pad_rows(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Pad B rows of ids on the right: int64 (B, T), and bool (B, T), True = real token.

    Raises:
        ValueError: No row, or an empty one.
    """
    if not rows or not all(map(len, rows)):
        raise ValueError(f"expected rows, none empty, got lengths {[*map(len, rows)]}")
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return ids, torch.arange(longest) < lengths[:, None]


def pool(states: Tensor, real: Tensor, how: str) -> Tensor:
    """Make one vector of a text's states, float (B, D), or (B, 4 D) for the last four layers.

    States are float (N + 1, B, T, D), of our models or of `transformers`; `real` is bool (B, T),
    True = real token, padding on the right. POOLINGS are the last layer at the first token ([CLS]
    in BERT), at the last real token, or averaged over the real tokens; or the averages of the last
    four layers side by side.

    Raises:
        ValueError: Unknown pooling, wrong shapes, no real token, or fewer than four layers.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 5.3, for the last four layers. differs:
        averaged over a text, not one token.
    """
    if how not in POOLINGS:
        raise ValueError(f"expected a pooling from {POOLINGS}, got {how!r}")
    if states.dim() != 4 or real.shape != states.shape[1:3] or not real.any(dim=1).all():
        raise ValueError(
            "expected states (N + 1, B, T, D) and real (B, T) with a real token in each row, got "
            f"shapes {tuple(states.shape)} and {tuple(real.shape)}"
        )
    if how == "first":
        return states[-1, :, 0]
    if how == "last":
        ends = real.sum(dim=1) - 1
        return states[-1, torch.arange(len(ends)), ends]
    weights = real.to(states.dtype) / real.sum(dim=1, keepdim=True)
    means = (states * weights[..., None]).sum(dim=2)  # (N + 1, B, D)
    if how == "mean":
        return means[-1]
    if len(means) < 5:
        raise ValueError(f"expected at least four layers behind the embeddings, got {len(means)}")
    return torch.cat(list(means[-4:]), dim=-1)
