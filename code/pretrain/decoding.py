# SPDX-License-Identifier: MIT
"""Read one new token per sequence, fast: the step that a GPT repeats while it writes.

Implemented: the arithmetic of `GPT.forward` for a single position with a key-value cache, as plain
function calls on weights that were gathered once. With one token, the products are so small that
looking up modules and parameters would take as long as the arithmetic.

Left out: reading a prompt, training, dropout; the model itself does these. Forward hooks on the
blocks do not run here.
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from pretrain.attention import KVCache
from pretrain.blocks import ACTIVATIONS
from pretrain.gpt import GPT


class Decoder:
    """A GPT's weights, laid out for reading one token at a time."""

    def __init__(self, model: GPT) -> None:
        """Gather the weights; they are shared with the model, not copied.

        Args:
            model: In evaluation mode, for there is no dropout here.

        Raises:
            ValueError: The model is in training mode.
        """
        if model.training:
            raise ValueError("expected a model in evaluation mode, got one in training mode")
        options = model.options
        self.model = model
        self.n_heads: int = options["n_heads"]
        self.norm_eps: float = options["norm_eps"]
        self.pre_norm: bool = options["norm"] == "pre"
        self.activation = ACTIVATIONS[options["activation"]]
        self.blocks = [_weights(block) for block in model.blocks]

    def read(self, ids: Tensor, cache: list[KVCache]) -> Tensor:
        """Read the next token of each sequence and predict the one after it.

        Args:
            ids: int64 (B,), the tokens that follow those in the cache.
            cache: One KVCache per block; extended by one token each.

        Returns:
            Logits, float (B, V), equal to `model(ids[:, None], cache=cache)[:, -1]` up to
            rounding.

        Raises:
            ValueError: The cache is full or of another batch size, or ids is not (B,).
        """
        if ids.dim() != 1:
            raise ValueError(f"expected ids (B,), got shape {tuple(ids.shape)}")
        x = self.model.embeddings(ids[:, None], n_past=cache[0].length)[:, 0]  # (B, D)
        for (norm_1, qkv, output, norm_2, up, down), past in zip(self.blocks, cache, strict=True):
            y = self._norm(x, *norm_1) if self.pre_norm else x
            stacked = F.linear(y, *qkv).view(len(y), 3, self.n_heads, 1, -1)
            query, key, value = stacked.unbind(1)  # each (B, H, 1, K)
            mixed = F.scaled_dot_product_attention(query, *past.append(key, value))
            x = x + F.linear(mixed.flatten(1), *output)
            x = x if self.pre_norm else self._norm(x, *norm_1)
            y = self._norm(x, *norm_2) if self.pre_norm else x
            x = x + F.linear(self.activation(F.linear(y, *up)), *down)
            x = x if self.pre_norm else self._norm(x, *norm_2)
        return self.model.score(self.model.final_norm(x))

    def _norm(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Apply a LayerNorm over the last axis."""
        return F.layer_norm(x, weight.shape, weight, bias, self.norm_eps)


def _weights(block: Any) -> list[tuple[Tensor, Tensor]]:
    """Take matrix (or gain) and bias of a block's six parts, in the order of their use."""
    parts = (
        block.attention_norm,
        block.attention.qkv,
        block.attention.output,
        block.feed_forward_norm,
        block.feed_forward.up,
        block.feed_forward.down,
    )
    return [(part.weight, part.bias) for part in parts]
