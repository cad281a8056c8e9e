# SPDX-License-Identifier: MIT
"""Scaled dot-product attention, multi-head attention and its key-value cache.

Paper: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.

Implemented: attention as the equation has it (with the weights, for study), and a multi-head
layer that reads either its own sequence or, as cross-attention, another one.

Left out: grouped heads, sparse patterns, relative position biases.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.dropout import Dropout, dropout
from pretrain.masks import additive_mask


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout_prob: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Mix the values by how well their keys match each query.

    Computes softmax(q k^T / sqrt(K) + mask) v, equation (1) of the paper.

    Args:
        query: float (..., T, K).
        key: float (..., S, K), with the same leading axes.
        value: float (..., S, any width).
        mask: bool, broadcastable to (..., T, S). True = may attend; None = all may.
            A query that may attend to nothing gets zeros.
        dropout_prob: Probability with which a weight is dropped.

    Returns:
        The mixed values (..., T, K) and the weights (..., T, S). Each row sums to 1, unless a
        query may attend to nothing or weights were dropped.

    Raises:
        ValueError: The axes, widths, lengths or the mask do not fit together.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), equation (1).
    """
    wanted = (*query.shape[:-2], *key.shape[-2:-1], *query.shape[-1:])  # (..., S, K)
    fits = len(wanted) == query.dim() >= 2 and key.shape == wanted
    if not fits or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            "expected query (..., T, K), key (..., S, K) and value (..., S, K), got "
            f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    scores = query / math.sqrt(query.shape[-1]) @ key.transpose(-2, -1)  # (..., T, S)
    if mask is not None:
        check_mask(mask, scores.shape)
        # Finite, so that a row that sees nothing stays a number until its weights are zeroed.
        hidden = additive_mask(mask, scores.dtype).clamp(min=torch.finfo(scores.dtype).min)
        scores = scores + hidden
    weights = scores.softmax(dim=-1)
    if mask is not None and not mask.any(dim=-1).all():
        weights = weights.masked_fill(~mask, 0.0)
    weights = dropout(weights, dropout_prob)
    return weights @ value, weights


def check_mask(mask: Tensor, scores_shape: torch.Size) -> None:
    """Refuse a mask that is not boolean or does not broadcast to the scores.

    Args:
        mask: The mask that a caller passed.
        scores_shape: Shape of the scores, (..., T, S).

    Raises:
        ValueError: Wrong type or shape.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"expected a boolean mask (True = may attend), got {mask.dtype}")
    try:
        mask.expand(scores_shape)
    except RuntimeError:
        raise ValueError(
            f"expected a mask broadcastable to {tuple(scores_shape)} [..., query, key], "
            f"got {tuple(mask.shape)}"
        ) from None


class KVCache:
    """Keys and values of the tokens read so far, for one attention layer.

    Room for max_len tokens is taken once; each call appends in place, so it is for reading without
    gradients.
    """

    def __init__(self, max_len: int) -> None:
        """Make an empty cache.

        Args:
            max_len: Most tokens that it can hold.
        """
        self.max_len = max_len
        self.length = 0
        self.keys: Tensor | None = None  # (B, H, max_len, K), made at the first append
        self.values: Tensor | None = None  # the same

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add new keys and values and return all of them.

        Args:
            key: float (B, H, T, K) of the new tokens.
            value: float (B, H, T, K) of the new tokens.

        Returns:
            Keys and values (B, H, length, K), old and new.

        Raises:
            ValueError: The cache is full, or the other sizes differ from those in it.
        """
        n_new = key.shape[2]
        end = self.length + n_new
        if end > self.max_len:
            raise ValueError(f"expected at most {self.max_len} tokens in the cache, got {end}")
        if self.keys is None or self.values is None:
            batch_size, n_heads, _, d_head = key.shape
            self.keys = key.new_empty(batch_size, n_heads, self.max_len, d_head)
            self.values = torch.empty_like(self.keys)
        expected = (*self.keys.shape[:2], n_new, self.keys.shape[3])
        if key.shape != expected or value.shape != expected:  # copy_ would broadcast in silence
            raise ValueError(
                f"expected keys and values of shape {expected}, as those in the cache, "
                f"got {tuple(key.shape)} and {tuple(value.shape)}"
            )
        self.keys.narrow(2, self.length, n_new).copy_(key)
        self.values.narrow(2, self.length, n_new).copy_(value)
        self.length = end
        return self.keys.narrow(2, 0, end), self.values.narrow(2, 0, end)


class MultiHeadAttention(nn.Module):
    """Attention in n_heads subspaces of width D / H, joined by one output matrix.

    Queries, keys and values come from one stacked projection, which is the same arithmetic as
    three separate ones and one matrix product instead of three.
    """

    def __init__(self, d_model: int, n_heads: int, *, dropout_prob: float = 0.0) -> None:
        """Make the two projections.

        Args:
            d_model: Width D; must be divisible by n_heads.
            n_heads: Number of heads H.
            dropout_prob: Probability with which an attention weight is dropped in training.

        Raises:
            ValueError: d_model is not a positive multiple of n_heads.
        """
        super().__init__()
        if n_heads < 1 or d_model < 1 or d_model % n_heads:
            raise ValueError(f"expected d_model divisible by n_heads, got {d_model} and {n_heads}")
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)
        self.dropout = Dropout(dropout_prob)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        source: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Let each position of x gather what it may see.

        Args:
            x: float (B, T, D). Gives the queries.
            mask: bool, broadcastable to (B, H, T, S). True = may attend; None = all may.
            source: float (B, S, D). Gives keys and values in cross-attention; None = x itself.
            cache: Keys and values of earlier tokens, which are read and extended.

        Returns:
            float (B, T, D).

        Raises:
            ValueError: The mask does not fit.
        """
        query, key, value = self.project(x, source)
        if cache is not None:
            key, value = cache.append(key, value)
        if mask is not None:
            check_mask(mask, torch.Size((*query.shape[:3], key.shape[2])))
        if self.training and self.dropout.prob > 0:
            mixed, _ = attention(query, key, value, mask, self.dropout.prob)
        else:
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        out: Tensor = self.output(mixed.transpose(1, 2).flatten(2))  # (B, T, D)
        return out

    def project(self, x: Tensor, source: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries from x, and keys and values from source (or from x).

        Args:
            x: float (B, T, D).
            source: float (B, S, D), or None for self-attention.

        Returns:
            Queries (B, H, T, K), keys and values (B, H, S, K).
        """
        d_model = x.shape[-1]
        if source is None:
            parts = self.qkv(x).chunk(3, dim=-1)
        else:
            weight, bias = self.qkv.weight, self.qkv.bias
            query = F.linear(x, weight[:d_model], bias[:d_model])
            parts = (
                query,
                *F.linear(source, weight[d_model:], bias[d_model:]).chunk(2, dim=-1),
            )
        heads = [p.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for p in parts]
        return heads[0], heads[1], heads[2]  # each (B, H, T or S, K)

    def weights(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Compute the self-attention weights alone, for looking at them.

        Args:
            x: float (B, T, D).
            mask: bool, broadcastable to (B, H, T, T).

        Returns:
            float (B, H, T, T), each row summing to 1.
        """
        return attention(*self.project(x), mask)[1]
