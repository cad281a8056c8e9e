# SPDX-License-Identifier: MIT
"""The block of T5 and the stack, of which T5 has two: an encoder and a decoder.

Papers: Raffel et al. 2020 (arXiv:1910.10683), section 2.1; Shazeer 2020 (arXiv:2002.05202) for
the gate of version 1.1; Zhang & Sennrich 2019 (arXiv:1910.07467) for RMSNorm.

Implemented: feed-forward layer, plain and gated; block; stack with one relative bias that all its
layers add; dropout in all the places of the original. No linear layer and no norm has a bias.

Left out: the float32 island of the published norm (ours computes in the dtype of its input).
"""

from dataclasses import dataclass

from torch import Tensor, nn

from pretrain.attention import KVCache
from pretrain.dropout import Dropout
from pretrain.layers import ACTIVATIONS
from pretrain.masks import additive_mask, causal_mask, padding_mask
from pretrain.t5_attention import RelativeBias, T5Attention, linear


class T5FeedForward(nn.Module):
    """activation(x up) down or, with a gate, (activation(x gate) * x up) down."""

    def __init__(
        self, d_model: int, d_ff: int, *, activation: str, gated: bool, dropout_prob: float = 0.0
    ) -> None:
        """Make the two or three matrices.

        Args:
            d_model: Width D.
            d_ff: Inner width F.
            activation: "relu" (T5), "gelu_tanh" (1.1) or "gelu".
            gated: Whether a gate multiplies the inner layer (1.1).
            dropout_prob: Dropout of the inner layer, which BERT and GPT do not have.

        Raises:
            ValueError: The activation is not one of those.

        Source: Raffel et al. 2020 (arXiv:1910.10683); Shazeer 2020 (arXiv:2002.05202), equation
            (6), for the gate.
        """
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"expected activation in {sorted(ACTIVATIONS)}, got {activation!r}")
        self.gate = linear(d_model, d_ff, std=d_model**-0.5) if gated else None
        self.up = linear(d_model, d_ff, std=d_model**-0.5)
        self.down = linear(d_ff, d_model, std=d_ff**-0.5)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout_prob)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D), each position by itself."""
        if self.gate is None:
            inner = self.activation(self.up(x))
        else:
            inner = self.activation(self.gate(x)) * self.up(x)
        out: Tensor = self.down(self.dropout(inner))
        return out


@dataclass
class LayerCache:
    """What one decoder block keeps between two calls."""

    own: KVCache
    """Keys and values of the tokens written so far."""
    source: tuple[Tensor, Tensor] | None = None
    """Keys and values of the encoder's states, (B, H, S, K), computed at the first call."""


class T5Block(nn.Module):
    """Self-attention, in the decoder cross-attention, feed-forward: each x + f(norm(x))."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_ff: int,
        *,
        cross_attention: bool,
        activation: str,
        gated: bool,
        norm_eps: float,
        dropout_prob: float,
    ) -> None:
        """Make the sublayers and their norms.

        Args:
            d_model: Width D.
            n_heads: Number of heads H.
            d_head: Width K of each head.
            d_ff: Inner width F of the feed-forward layer.
            cross_attention: Whether a middle sublayer reads the encoder's states.
            activation: Non-linearity of the feed-forward layer.
            gated: Whether the feed-forward layer has a gate.
            norm_eps: Added to the mean square in RMSNorm.
            dropout_prob: Dropout of attention weights, inner layer and each branch's output.

        Raises:
            ValueError: An unknown activation.

        Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.
        """
        super().__init__()
        self.attention_norm = nn.RMSNorm(d_model, eps=norm_eps)
        self.attention = T5Attention(d_model, n_heads, d_head, dropout_prob=dropout_prob)
        if cross_attention:
            self.cross_norm = nn.RMSNorm(d_model, eps=norm_eps)
            self.cross_attention = T5Attention(d_model, n_heads, d_head, dropout_prob=dropout_prob)
        self.feed_forward_norm = nn.RMSNorm(d_model, eps=norm_eps)
        self.feed_forward = T5FeedForward(
            d_model, d_ff, activation=activation, gated=gated, dropout_prob=dropout_prob
        )
        self.dropout = Dropout(dropout_prob)

    def forward(
        self,
        x: Tensor,
        bias: Tensor,
        *,
        source: Tensor | None = None,
        source_bias: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Run the sublayers.

        Args:
            x: float (B, T, D).
            bias: float, broadcastable to (B, H, T, S): relative bias and mask.
            source: float (B, S, D), the encoder's states, in the decoder alone.
            source_bias: float, broadcastable to (B, H, T, S): minus infinity at padding.
            cache: What the block computed for earlier tokens; read and extended.

        Returns:
            float (B, T, D).
        """
        normed = self.attention_norm(x)
        keys, values = self.attention.keys_values(normed)
        if cache is not None:
            keys, values = cache.own.append(keys, values)
        x = x + self.dropout(self.attention(normed, keys, values, bias))
        if source is not None:
            keys, values = self._source(source, cache)
            x = x + self.dropout(
                self.cross_attention(self.cross_norm(x), keys, values, source_bias)
            )
        out: Tensor = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return out

    def _source(self, source: Tensor, cache: LayerCache | None) -> tuple[Tensor, Tensor]:
        """Make the encoder's keys and values, or take those of the first call."""
        if cache is None:
            return self.cross_attention.keys_values(source)
        if cache.source is None:
            cache.source = self.cross_attention.keys_values(source)
        return cache.source


class T5Stack(nn.Module):
    """Blocks with one relative bias for all of them, and a norm at the end."""

    def __init__(
        self,
        d_model: int,
        n_layers: int,
        n_heads: int,
        d_head: int,
        d_ff: int,
        *,
        is_decoder: bool,
        n_buckets: int,
        max_distance: int,
        activation: str,
        gated: bool,
        norm_eps: float,
        dropout_prob: float,
    ) -> None:
        """Make the blocks.

        Args:
            d_model: Width D.
            n_layers: Number of blocks N.
            n_heads: Number of heads H.
            d_head: Width K of each head.
            d_ff: Inner width F of the feed-forward layers.
            is_decoder: True: causal, with cross-attention. False: every position sees all.
            n_buckets: Buckets of the relative bias.
            max_distance: Distance from which on all share the last bucket, in tokens.
            activation: Non-linearity of the feed-forward layers.
            gated: Whether the feed-forward layers have a gate.
            norm_eps: Added to the mean square in RMSNorm.
            dropout_prob: Dropout of the embeddings, in the blocks and of the final states.

        Raises:
            ValueError: An unknown activation, or sizes without buckets.

        Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.
        """
        super().__init__()
        self.is_decoder = is_decoder
        self.relative_bias = RelativeBias(
            n_heads,
            d_model,
            bidirectional=not is_decoder,
            n_buckets=n_buckets,
            max_distance=max_distance,
        )
        self.blocks = nn.ModuleList(
            T5Block(
                d_model,
                n_heads,
                d_head,
                d_ff,
                cross_attention=is_decoder,
                activation=activation,
                gated=gated,
                norm_eps=norm_eps,
                dropout_prob=dropout_prob,
            )
            for _ in range(n_layers)
        )
        self.final_norm = nn.RMSNorm(d_model, eps=norm_eps)
        self.dropout = Dropout(dropout_prob)

    def forward(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        *,
        source: Tensor | None = None,
        cache: list[LayerCache] | None = None,
    ) -> Tensor:
        """Run the blocks.

        Args:
            x: float (B, T, D), embedded tokens.
            attention_mask: bool or int, True or 1 = real token of the encoder's sequence: (B, T)
                in the encoder, (B, S) in the decoder. None = all real.
            source: float (B, S, D), the encoder's states, in the decoder alone.
            cache: One per block, in the decoder alone; x then continues what was read before.

        Returns:
            float (B, T, D).
        """
        n_past = cache[0].own.length if cache else 0
        padding = None
        if attention_mask is not None:
            padding = additive_mask(padding_mask(attention_mask), x.dtype)  # (B, 1, 1, S)
        seq_len = x.shape[1]
        bias = self.relative_bias(seq_len, n_past + seq_len)  # (H, T, n_past + T)
        if self.is_decoder and seq_len > 1:
            causal = causal_mask(seq_len, n_past=n_past, device=x.device)
            bias = bias + additive_mask(causal, x.dtype)
        elif padding is not None and not self.is_decoder:
            bias = bias + padding  # (B, H, T, T)
        x = self.dropout(x)
        for i, block in enumerate(self.blocks):
            x = block(
                x, bias, source=source, source_bias=padding, cache=cache[i] if cache else None
            )
        states: Tensor = self.dropout(self.final_norm(x))
        return states
