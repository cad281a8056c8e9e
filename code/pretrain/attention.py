# SPDX-License-Identifier: MIT
"""Scaled dot-product attention, multi-head attention and the key-value cache.

Paper: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.

`attention` is the equation, written out; it serves all three models and gives the weights too.
The layers call `F.scaled_dot_product_attention`, which is the same arithmetic, only faster.
Left out: grouped heads, sparse patterns.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.positions import rotate


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Mix the values by how well their keys match each query: softmax(q kᵀ / √K + bias) v.

    Args:
        query: float (..., T, K).
        key: float (..., S, K).
        value: float (..., S, any width).
        mask: bool, broadcastable to (..., T, S). True = may attend; None = all may. Every query
            must see a key.
        bias: float, broadcastable to (..., T, S), added to the scores (T5's relative positions).
        scale: What the queries are multiplied by; None = 1 / √K. T5 has 1.
        dropout_p: Probability with which a weight is dropped.

    Returns:
        The mixed values (..., T, width) and the weights (..., T, S), whose rows sum to 1.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), equation (1).
    """
    query = query / math.sqrt(query.shape[-1]) if scale is None else query * scale
    scores = query @ key.transpose(-2, -1)  # (..., T, S)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        if mask.dtype != torch.bool:  # ~ of numbers is not "not"
            raise ValueError(f"expected a boolean mask (True = may attend), got {mask.dtype}")
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = F.dropout(scores.softmax(dim=-1), dropout_p)
    return weights @ value, weights


class KVCache:
    """Keys and values of the tokens read so far, for one attention layer.

    Room for max_len tokens is taken once; each call appends in place, so it is for reading without
    gradients.
    """

    def __init__(self, max_len: int) -> None:
        """Make an empty cache for at most max_len tokens."""
        self.max_len = max_len
        self.length = 0
        self.keys: Tensor | None = None  # (B, H, max_len, K), made at the first append
        self.values: Tensor | None = None  # the same

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add keys and values of new tokens, (B, H, T, K), and return all, (B, H, length, K)."""
        n_new = key.shape[2]
        end = self.length + n_new
        if end > self.max_len:
            raise ValueError(f"expected at most {self.max_len} tokens in the cache, got {end}")
        if self.keys is None or self.values is None:
            batch_size, n_heads, _, d_head = key.shape
            self.keys = key.new_empty(batch_size, n_heads, self.max_len, d_head)
            self.values = torch.empty_like(self.keys)
        assert key.shape[:2] == self.keys.shape[:2], "another batch than the one in the cache"
        self.keys.narrow(2, self.length, n_new).copy_(key)
        self.values.narrow(2, self.length, n_new).copy_(value)
        self.length = end
        return self.read()

    def read(self) -> tuple[Tensor, Tensor]:
        """Return all keys and values, (B, H, length, K)."""
        assert self.keys is not None
        assert self.values is not None
        return self.keys.narrow(2, 0, self.length), self.values.narrow(2, 0, self.length)


class MultiHeadAttention(nn.Module):
    """Attention in n_heads subspaces of width D / H, joined by one output matrix.

    Queries, keys and values come from one stacked projection: the arithmetic of three matrices in
    one product.
    """

    def __init__(self, d_model: int, n_heads: int, *, dropout: float = 0.0) -> None:
        """Make the two projections; dropout drops attention weights in training."""
        super().__init__()
        if n_heads < 1 or d_model < 1 or d_model % n_heads:
            raise ValueError(f"expected d_model divisible by n_heads, got {d_model} and {n_heads}")
        self.n_heads = n_heads
        self.dropout = dropout
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        memory: Tensor | None = None,
        cache: KVCache | None = None,
        rotary: Tensor | None = None,
    ) -> Tensor:
        """Let each position of x gather what it may see.

        Args:
            x: float (B, T, D). Gives the queries.
            mask: bool, broadcastable to (B, H, T, S). True = may attend; None = all may.
            memory: float (B, S, D). Gives keys and values in cross-attention; None = x itself.
            cache: Keys and values of earlier tokens, which are read and extended.
            rotary: float (2, T, K / 2), by which queries and keys of x are turned; None = not.

        Returns:
            float (B, T, D).
        """
        query, key, value = self.project(x, memory)
        if rotary is not None:
            query, key = rotate(query, rotary), rotate(key, rotary)
        if cache is not None:
            key, value = cache.append(key, value)
        mixed = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=self.dropout if self.training else 0.0
        )  # (B, H, T, K)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def project(self, x: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries (B, H, T, K) from x, and keys and values (B, H, S, K) from memory or x."""
        if memory is None:
            query, key, value = self._heads(self.qkv(x), 3)
        else:
            d_model, weight, bias = x.shape[-1], self.qkv.weight, self.qkv.bias
            (query,) = self._heads(F.linear(x, weight[:d_model], bias[:d_model]), 1)
            key, value = self._heads(F.linear(memory, weight[d_model:], bias[d_model:]), 2)
        return query, key, value

    def _heads(self, stacked: Tensor, n_parts: int) -> tuple[Tensor, ...]:
        """Cut (B, T, n_parts D) into n_parts tensors (B, H, T, K)."""
        parts = stacked.unflatten(-1, (n_parts, self.n_heads, -1))  # (B, T, n_parts, H, K)
        return parts.permute(2, 0, 3, 1, 4).unbind(0)

    def weights(
        self, x: Tensor, mask: Tensor | None = None, *, rotary: Tensor | None = None
    ) -> Tensor:
        """Compute the self-attention weights alone, (B, H, T, T), for looking at them."""
        query, key, value = self.project(x)
        if rotary is not None:
            query, key = rotate(query, rotary), rotate(key, rotary)
        return attention(query, key, value, mask)[1]
