# SPDX-License-Identifier: MIT
"""T5: an encoder that reads a text and a decoder that writes another, joined by cross-attention.

Papers: Raffel et al. 2020 (arXiv:1910.10683); Shazeer 2020 (arXiv:2002.05202) for the gated
feed-forward layer of version 1.1.

Implemented: the original and version 1.1, by options; a cache for writing; the decoder's shifted
input; the published sizes. The layers are in `pretrain.t5`. Left out: the ablations that
share parameters between encoder and decoder.

T5's attention: no scale, no bias vectors, and one number a distance added to the scores.

Paper: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.

Implemented: the table of relative biases; attention with heads of any width, to its own sequence
or to another one, whose keys and values a caller may keep; the initial weights of the released
code. Buckets and dropout are those that the other chapters use.

This layer stands apart from `pretrain.attention.MultiHeadAttention` because the papers differ in
all that the latter does: stacked projections with biases, D / H wide heads, scaled scores, a mask
and nothing else added. One layer with a switch for each would be harder to read than two.

The block of T5 and the stack, of which T5 has two: an encoder and a decoder.

Papers: Raffel et al. 2020 (arXiv:1910.10683), section 2.1; Shazeer 2020 (arXiv:2002.05202) for
the gate of version 1.1; Zhang & Sennrich 2019 (arXiv:1910.07467) for RMSNorm.

Implemented: feed-forward layer, plain and gated; block; stack with one relative bias that all its
layers add; dropout in all the places of the original. No linear layer and no norm has a bias.

Left out: the float32 island of the published norm (ours computes in the dtype of its input).
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.attention import KVCache
from pretrain.blocks import ACTIVATIONS
from pretrain.dropout import Dropout
from pretrain.embeddings import check_attention_mask, check_ids, look_up
from pretrain.masks import additive_mask, causal_mask, padding_mask
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


class T5(nn.Module):
    """An encoder-decoder Transformer: the output's token t sees all of the input and 1..t."""

    def __init__(
        self,
        vocab_size: int,
        *,
        d_model: int,
        n_layers: int,
        n_heads: int,
        d_head: int | None = None,
        d_ff: int | None = None,
        dropout_prob: float = 0.0,
        norm_eps: float = 1e-6,
        n_buckets: int = 32,
        max_distance: int = 128,
        activation: str = "relu",
        gated: bool = False,
        tie_head: bool = True,
    ) -> None:
        """Build the model. There is no longest input: positions are distances.

        Args:
            vocab_size: Number of token ids V, sentinels included.
            d_model: Width D.
            n_layers: Number of blocks N in the encoder, and again in the decoder.
            n_heads: Number of heads H.
            d_head: Width K of each head; None = D / H.
            d_ff: Inner width F of the feed-forward layers; None = 4 D.
            dropout_prob: Dropout of embeddings, attention weights, inner layers, branches and
                final states.
            norm_eps: Added to the mean square in RMSNorm.
            n_buckets: Buckets of the relative bias, in each stack.
            max_distance: Distance from which on all share the last bucket, in tokens.
            activation: "relu" (T5), "gelu_tanh" (1.1) or "gelu".
            gated: Whether the feed-forward layers have a gate (1.1).
            tie_head: Whether the output matrix is the embedding matrix itself, with the states
                scaled by D^-0.5 (T5); otherwise it is an own one, without the scale (1.1).

        Raises:
            ValueError: A size below 1, widths that do not fit, or names that the parts refuse.

        Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1 and its released code; the
            initial weights are those of that code (an own head is drawn with D^-0.5, where
            `transformers` has 1).
        """
        super().__init__()
        self.options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        _check_sizes(self.options)
        sizes = (d_model, n_layers, n_heads, d_head or d_model // n_heads, d_ff or 4 * d_model)
        parts: dict[str, Any] = {
            "n_buckets": n_buckets, "max_distance": max_distance, "activation": activation,
            "gated": gated, "norm_eps": norm_eps, "dropout_prob": dropout_prob,
        }  # fmt: skip
        self.token = nn.Embedding(vocab_size, d_model)  # drawn from N(0, 1)
        self.encoder = T5Stack(*sizes, is_decoder=False, **parts)
        self.decoder = T5Stack(*sizes, is_decoder=True, **parts)
        self.head = None if tie_head else linear(d_model, vocab_size, std=d_model**-0.5)

    def forward(
        self, ids: Tensor, decoder_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Read an input, and predict each token of the output from those before it.

        Args:
            ids: int64 (B, S), what the encoder reads.
            decoder_ids: int64 (B, T), what the decoder reads: `shift_right` of the labels. Its
                padding goes to the right, where no real token looks, and needs no mask.
            attention_mask: bool or int (B, S), True = real token of ids; None = all real.

        Returns:
            Logits, float (B, T, V). Row t scores the label at t.

        Raises:
            ValueError: Wrong shapes or ids, or an input without a real token.
        """
        return self.decode(decoder_ids, self.encode(ids, attention_mask), attention_mask)

    def encode(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Give every position of the input a vector that depends on both of its sides.

        Args:
            ids: int64 (B, S), token ids.
            attention_mask: bool or int (B, S), True = real token; None = all real.

        Returns:
            Hidden states, float (B, S, D).

        Raises:
            ValueError: Wrong shapes or ids, or an input without a real token.
        """
        check_ids(ids)
        if attention_mask is not None:
            check_attention_mask(attention_mask, ids)
        states: Tensor = self.encoder(look_up(self.token, ids, "ids"), attention_mask)
        return states

    def decode(
        self,
        decoder_ids: Tensor,
        states: Tensor,
        attention_mask: Tensor | None = None,
        *,
        cache: list[LayerCache] | None = None,
    ) -> Tensor:
        """Predict the output's tokens from the encoder's states.

        Args:
            decoder_ids: int64 (B, T), the start id and the output so far.
            states: float (B, S, D), from `encode`.
            attention_mask: bool or int (B, S), the one that was given to `encode`.
            cache: From `make_cache`; decoder_ids are then only the tokens not read before. The
                keys and values of the states are computed at the first call and kept.

        Returns:
            Logits, float (B, T, V). Row t scores the token after decoder_ids[t].

        Raises:
            ValueError: Wrong shapes or ids, or a full cache.
        """
        check_ids(decoder_ids, "decoder_ids")
        if states.dim() != 3 or len(states) != len(decoder_ids):
            raise ValueError(
                f"expected states (B, S, D) of {len(decoder_ids)} inputs, one for each row of "
                f"decoder_ids, got shape {tuple(states.shape)}"
            )
        if attention_mask is not None:
            check_attention_mask(attention_mask, states[..., 0])
        embedded = look_up(self.token, decoder_ids, "decoder_ids")
        x: Tensor = self.decoder(embedded, attention_mask, source=states, cache=cache)
        if self.head is None:
            return F.linear(x * x.shape[-1] ** -0.5, self.token.weight)
        logits: Tensor = self.head(x)
        return logits

    def make_cache(self, max_len: int) -> list[LayerCache]:
        """Make one empty cache per decoder block.

        Args:
            max_len: Most tokens that the decoder will read.
        """
        return [LayerCache(KVCache(max_len)) for _ in self.decoder.blocks]


def _check_sizes(options: dict[str, Any]) -> None:
    """Refuse sizes of which nothing can be made."""
    names = ("vocab_size", "d_model", "n_layers", "n_heads", "d_head", "d_ff")
    given = {name: options[name] for name in names if options[name] is not None}
    if min(given.values()) < 1:
        raise ValueError(f"expected sizes >= 1, got {given}")
    if options["d_head"] is None and options["d_model"] % options["n_heads"]:
        raise ValueError(
            "expected d_model divisible by n_heads, or a d_head, got "
            f"{options['d_model']} and {options['n_heads']}"
        )


_V1_1 = {"activation": "gelu_tanh", "gated": True, "tie_head": False}
