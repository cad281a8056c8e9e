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
from pretrain_lab.pooling import POOLINGS, pool

LAYER_POOLINGS = (*POOLINGS, "last four layers")


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
    rotary = None if model.rotary is None else model.rotary[:, : ids.shape[1]]
    states, maps = [x], []
    block: Any
    for block in model.blocks:
        reads = block.attention_norm(x) if block.pre_norm else x
        maps.append(block.attention.weights(reads, mask, rotary=rotary))
        x = block(x, mask, rotary=rotary)
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


def pool_layers(states: Tensor, real: Tensor, how: str) -> Tensor:
    """Make one vector of each text's states in all layers, float (N + 1, B, T, D).

    LAYER_POOLINGS are those of `pretrain_lab.pooling.pool`, of the last layer, float (B, D), and
    the means of the last four layers side by side, float (B, 4 D).

    Raises:
        ValueError: As `pool`, or fewer than four layers.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 5.3, for the last four layers. differs:
        averaged over a text, not one token.
    """
    if how != "last four layers":
        return pool(states[-1], real, how)
    if len(states) < 5:
        raise ValueError(f"expected at least four layers behind the embeddings, got {len(states)}")
    return torch.cat(list(pool(states[-4:], real, "mean")), dim=-1)
