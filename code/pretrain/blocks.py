# SPDX-License-Identifier: MIT
"""The Transformer block that all three models are stacked from.

Papers: Vaswani et al. 2017 (arXiv:1706.03762), section 3; Xiong et al. 2020 (arXiv:2002.04745)
for the two places of the norm.

Implemented: feed-forward layer; block with self-attention, optional cross-attention, pre- or
post-norm; weight initialisation. Left out: gated feed-forward, RMSNorm, parallel layers.
"""

import math
from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.attention import KVCache, MultiHeadAttention
from pretrain.dropout import Dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


class FeedForward(nn.Module):
    """Two linear layers with a non-linearity between, applied to each position alone."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str = "gelu") -> None:
        """Make the two layers.

        Args:
            d_model: Width D.
            d_ff: Inner width F.
            activation: "gelu" (BERT, GPT-1), "gelu_tanh" (GPT-2) or "relu" (2017, T5).

        Raises:
            ValueError: d_ff < 1, or the activation is not one of those.
        """
        super().__init__()
        if d_ff < 1:
            raise ValueError(f"expected d_ff >= 1, got {d_ff}")
        if activation not in ACTIVATIONS:
            raise ValueError(f"expected activation in {sorted(ACTIVATIONS)}, got {activation!r}")
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D), each position by itself."""
        out: Tensor = self.down(self.activation(self.up(x)))
        return out


class Block(nn.Module):
    """One layer of the stack: attention, then feed-forward, each in a residual branch.

    Pre-norm: x + f(norm(x)). Post-norm: norm(x + f(x)).
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout_prob: float = 0.0,
        norm: str = "pre",
        norm_eps: float = 1e-5,
        activation: str = "gelu",
        cross_attention: bool = False,
    ) -> None:
        """Make the sublayers and their norms.

        Args:
            d_model: Width D.
            n_heads: Number of heads H.
            d_ff: Inner width F of the feed-forward layer.
            dropout_prob: Dropout of attention weights and of each branch's output.
            norm: "pre" (GPT-2, T5) or "post" (2017, GPT-1, BERT).
            norm_eps: Added to the variance in LayerNorm.
            activation: Non-linearity of the feed-forward layer.
            cross_attention: Whether a middle sublayer reads a source sequence.

        Raises:
            ValueError: An unknown norm or activation, or sizes that do not fit.

        Source: Vaswani et al. 2017 (arXiv:1706.03762); Xiong et al. 2020 (arXiv:2002.04745).
        """
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"expected norm 'pre' or 'post', got {norm!r}")
        self.pre_norm = norm == "pre"
        self.attention_norm = nn.LayerNorm(d_model, eps=norm_eps)
        self.attention = MultiHeadAttention(d_model, n_heads, dropout_prob=dropout_prob)
        if cross_attention:
            self.cross_norm = nn.LayerNorm(d_model, eps=norm_eps)
            self.cross_attention = MultiHeadAttention(d_model, n_heads, dropout_prob=dropout_prob)
        self.has_cross_attention = cross_attention
        self.feed_forward_norm = nn.LayerNorm(d_model, eps=norm_eps)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation)
        self.dropout = Dropout(dropout_prob)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        source: Tensor | None = None,
        source_mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Run the sublayers.

        Args:
            x: float (B, T, D).
            mask: bool, broadcastable to (B, H, T, S); True = may attend. S = T, or with a cache
                all tokens read so far.
            source: float (B, S, D), what cross-attention reads.
            source_mask: bool, broadcastable to (B, H, T, S).
            cache: Keys and values of earlier tokens (self-attention only).

        Returns:
            float (B, T, D).

        Raises:
            ValueError: A source without cross-attention, or the reverse.
        """
        if self.has_cross_attention != (source is not None):
            expected = "a source" if self.has_cross_attention else "no source"
            raise ValueError(
                f"expected {expected}: this block was made with "
                f"cross_attention={self.has_cross_attention}"
            )
        x = self._add(x, self.attention_norm, lambda y: self.attention(y, mask, cache=cache))
        if source is not None:
            x = self._add(
                x,
                self.cross_norm,
                lambda y: self.cross_attention(y, source_mask, source=source),
            )
        return self._add(x, self.feed_forward_norm, self.feed_forward)

    def _add(self, x: Tensor, norm: nn.Module, branch: Callable[[Tensor], Tensor]) -> Tensor:
        """Add a branch to the residual stream, with its norm before or after."""
        if self.pre_norm:
            out: Tensor = x + self.dropout(branch(norm(x)))
        else:
            out = norm(x + self.dropout(branch(x)))
        return out


def init_weights(model: nn.Module, n_layers: int, *, std: float = 0.02) -> None:
    """Draw all matrices and embeddings from N(0, std), and set biases to zero.

    The last matrix of each residual branch is drawn smaller, by 1 / sqrt(2 n_layers), so that the
    variance of the residual stream does not grow with depth at the start.

    Args:
        model: Any model built from these blocks; changed in place.
        n_layers: Number of blocks in the stack.
        std: Standard deviation.

    Raises:
        ValueError: n_layers < 1.

    Source: Radford et al. 2019 (GPT-2), section 2.3. differs: BERT draws every matrix from a
        truncated normal of 0.02, the end of a branch too.
    """
    if n_layers < 1:
        raise ValueError(f"expected n_layers >= 1, got {n_layers}")
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            ends_branch = name.endswith(("attention.output", "feed_forward.down"))
            scale = std / math.sqrt(2 * n_layers) if ends_branch else std
            nn.init.normal_(module.weight, std=scale)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
