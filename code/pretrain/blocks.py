# SPDX-License-Identifier: MIT
"""The Transformer block that all three models are stacked from.

Papers: Vaswani et al. 2017 (arXiv:1706.03762), section 3; Xiong et al. 2020 (arXiv:2002.04745)
for the two places of the norm.

A block is handed its attention, its feed-forward layer and its kind of norm: BERT and GPT take
those of this book's chapters 2 to 5, T5 its own (`t5.py`). Left out: parallel layers.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.attention import MultiHeadAttention

EMPTY: Mapping[str, Any] = MappingProxyType({})
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


class FeedForward(nn.Module):
    """Two linear layers with a non-linearity between, applied to each position alone."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str = "gelu") -> None:
        """Make the layers; "gelu_tanh" is GPT-2's, "gelu" Hugging Face's BERT, "relu" of 2017."""
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = find_activation(activation)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D), each position by itself."""
        return self.down(self.activation(self.up(x)))


class Block(nn.Module):
    """One layer of the stack: attention, then feed-forward, each in a residual branch.

    Pre-norm: x + f(norm(x)). Post-norm: norm(x + f(x)).
    """

    attention: Any
    cross_attention: Any
    feed_forward: Any

    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        make_norm: Callable[[], nn.Module],
        *,
        cross_attention: nn.Module | None = None,
        norm: str = "pre",
        dropout: float = 0.0,
    ) -> None:
        """Put the parts together.

        Args:
            attention: Maps (B, T, D) and a mask to (B, T, D).
            feed_forward: Maps (B, T, D) to (B, T, D).
            make_norm: Makes a norm over D; called once for each part.
            cross_attention: Reads another sequence between the two; None = there is none.
            norm: "pre" (GPT-2, T5) or "post" (2017, GPT-1, BERT).
            dropout: Dropout of each branch's output.

        Source: Vaswani et al. 2017 (arXiv:1706.03762); Xiong et al. 2020 (arXiv:2002.04745).
        """
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"expected norm 'pre' or 'post', got {norm!r}")
        self.pre_norm = norm == "pre"
        self.attention_norm = make_norm()
        self.attention = attention
        if cross_attention is not None:
            self.cross_norm = make_norm()
            self.cross_attention = cross_attention
        self.feed_forward_norm = make_norm()
        self.feed_forward = feed_forward
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        memory_options: Mapping[str, Any] = EMPTY,
        **attention_options: Any,
    ) -> Tensor:
        """Run the sublayers.

        Args:
            x: float (B, T, D).
            mask: bool, broadcastable to (B, H, T, S); True = may attend. S = T, or with a cache
                all tokens read so far.
            memory: float (B, S, D), what cross-attention reads.
            memory_mask: bool, broadcastable to (B, H, T, S).
            memory_options: More for the cross-attention: T5's `cache`.
            attention_options: More for the self-attention: `cache`, and T5's `bias`.

        Returns:
            float (B, T, D).
        """
        y = self.attention_norm(x) if self.pre_norm else x
        x = x + self.dropout(self.attention(y, mask, **attention_options))
        x = x if self.pre_norm else self.attention_norm(x)
        if memory is not None:
            y = self.cross_norm(x) if self.pre_norm else x
            x = x + self.dropout(
                self.cross_attention(y, memory_mask, memory=memory, **memory_options)
            )
            x = x if self.pre_norm else self.cross_norm(x)
        y = self.feed_forward_norm(x) if self.pre_norm else x
        x = x + self.dropout(self.feed_forward(y))
        return x if self.pre_norm else self.feed_forward_norm(x)


def find_activation(name: str) -> Callable[[Tensor], Tensor]:
    """Find the function that a configuration calls by its name."""
    if name not in ACTIVATIONS:
        raise ValueError(f"expected activation in {sorted(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]


def make_block(
    d_model: int,
    n_heads: int,
    d_ff: int,
    *,
    dropout: float = 0.0,
    attention_dropout: float | None = None,
    norm: str = "pre",
    norm_eps: float = 1e-5,
    activation: str = "gelu",
    cross_attention: bool = False,
) -> Block:
    """Make the block of BERT and GPT: multi-head attention, two linear layers, LayerNorm."""
    of_weights = dropout if attention_dropout is None else attention_dropout
    reader = MultiHeadAttention(d_model, n_heads, dropout=of_weights)
    other = MultiHeadAttention(d_model, n_heads, dropout=of_weights) if cross_attention else None
    return Block(
        reader,
        FeedForward(d_model, d_ff, activation=activation),
        partial(nn.LayerNorm, d_model, eps=norm_eps),
        cross_attention=other,
        norm=norm,
        dropout=dropout,
    )


def init_weights(model: nn.Module, n_layers: int, *, std: float = 0.02) -> None:
    """Draw all matrices and embeddings from N(0, std), and set biases to zero, in place.

    The last matrix of each residual branch is drawn smaller, by 1 / sqrt(2 n_layers), so that the
    variance of the residual stream does not grow with depth at the start.

    Source: Radford et al. 2019 (GPT-2), section 2.3. differs: BERT draws every matrix from a
        truncated normal of 0.02, the end of a branch too.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            ends_branch = name.endswith(("attention.output", "feed_forward.down"))
            scale = std / math.sqrt(2 * n_layers) if ends_branch else std
            nn.init.normal_(module.weight, std=scale)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
