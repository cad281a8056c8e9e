# SPDX-License-Identifier: MIT
"""T5's attention: no scale, no bias vectors, and one number a distance added to the scores.

Paper: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.

Implemented: the table of relative biases; attention with heads of any width, to its own sequence
or to another one, whose keys and values a caller may keep; the initial weights of the released
code. Buckets and dropout are those that the other chapters use.

This layer stands apart from `pretrain.attention.MultiHeadAttention` because the papers differ in
all that the latter does: stacked projections with biases, D / H wide heads, scaled scores, a mask
and nothing else added. One layer with a switch for each would be harder to read than two.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.dropout import Dropout
from pretrain.positions import relative_position_bucket


def linear(n_in: int, n_out: int, *, std: float) -> nn.Linear:
    """Make a linear layer without bias, its weights drawn from N(0, std).

    Args:
        n_in: Width of the input.
        n_out: Width of the output.
        std: Standard deviation of the initial weights.

    Returns:
        The layer.
    """
    layer = nn.Linear(n_in, n_out, bias=False)
    nn.init.normal_(layer.weight, std=std)
    return layer


class RelativeBias(nn.Module):
    """One number per head and bucket of distances, added to the scores of every layer."""

    def __init__(
        self, n_heads: int, d_model: int, *, bidirectional: bool, n_buckets: int, max_distance: int
    ) -> None:
        """Make the table.

        Args:
            n_heads: Number of heads H.
            d_model: Width D, which sets the spread of the initial values, D^-0.5.
            bidirectional: True in the encoder, False in the decoder.
            n_buckets: Number of buckets.
            max_distance: Distance from which on all share the last bucket, in tokens.

        Raises:
            ValueError: Sizes without buckets.

        Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.
        """
        super().__init__()
        self.buckets: dict[str, Any] = {
            "bidirectional": bidirectional, "n_buckets": n_buckets, "max_distance": max_distance
        }  # fmt: skip
        relative_position_bucket(torch.arange(1), **self.buckets)  # refuses what has no buckets
        self.weight = nn.Parameter(torch.empty(n_buckets, n_heads))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, query_len: int, key_len: int) -> Tensor:
        """Look up the bias between the last query_len positions and all key_len positions.

        Args:
            query_len: Number of queries T, in tokens.
            key_len: Number of keys S >= T, in tokens.

        Returns:
            float (H, T, S).
        """
        key = torch.arange(key_len, device=self.weight.device)
        distance = key[None, :] - key[key_len - query_len :, None]  # (T, S)
        bucket = relative_position_bucket(distance, **self.buckets)
        return F.embedding(bucket, self.weight).permute(2, 0, 1)


class T5Attention(nn.Module):
    """Attention in n_heads subspaces of width K, which need not be D / H, without 1 / sqrt(K).

    The scale is in the initial weights of the queries instead.
    """

    def __init__(
        self, d_model: int, n_heads: int, d_head: int, *, dropout_prob: float = 0.0
    ) -> None:
        """Make the four matrices.

        Args:
            d_model: Width D.
            n_heads: Number of heads H.
            d_head: Width K of each head.
            dropout_prob: Probability with which an attention weight is dropped in training.

        Source: Raffel et al. 2020 (arXiv:1910.10683) and its released code.
        """
        super().__init__()
        self.n_heads = n_heads
        self.query = linear(d_model, n_heads * d_head, std=(d_model * d_head) ** -0.5)
        self.key = linear(d_model, n_heads * d_head, std=d_model**-0.5)
        self.value = linear(d_model, n_heads * d_head, std=d_model**-0.5)
        self.output = linear(n_heads * d_head, d_model, std=(n_heads * d_head) ** -0.5)
        self.dropout = Dropout(dropout_prob)

    def keys_values(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Make what can be attended to.

        Args:
            source: float (B, S, D).

        Returns:
            Keys and values, float (B, H, S, K).
        """
        return self._heads(self.key(source)), self._heads(self.value(source))

    def weights(self, x: Tensor, keys: Tensor, bias: Tensor | None = None) -> Tensor:
        """Compute how much each position of x takes from each key.

        Args:
            x: float (B, T, D). Gives the queries.
            keys: float (B, H, S, K).
            bias: float, broadcastable to (B, H, T, S), added to the scores: the relative bias,
                and minus infinity where a query may not look.

        Returns:
            float (B, H, T, S), each row summing to 1.
        """
        scores = self._heads(self.query(x)) @ keys.transpose(-2, -1)  # (B, H, T, S)
        if bias is not None:
            scores = scores + bias
        return scores.softmax(dim=-1)

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None = None
    ) -> Tensor:
        """Let each position of x gather from the values.

        Args:
            x: float (B, T, D). Gives the queries.
            keys: float (B, H, S, K), from `keys_values` of x itself or of another sequence.
            values: float (B, H, S, K).
            bias: As in `weights`.

        Returns:
            float (B, T, D).
        """
        mixed = self.dropout(self.weights(x, keys, bias)) @ values  # (B, H, T, K)
        out: Tensor = self.output(mixed.transpose(1, 2).flatten(2))  # (B, T, D)
        return out

    def _heads(self, x: Tensor) -> Tensor:
        """Cut (B, T, H K) into heads (B, H, T, K)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
