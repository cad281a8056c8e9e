# SPDX-License-Identifier: MIT
"""T5: an encoder that reads a text and a decoder that writes another, joined by cross-attention.

Papers: Raffel et al. 2020 (arXiv:1910.10683); Shazeer 2020 (arXiv:2002.05202) for the gate of
version 1.1; Zhang & Sennrich 2019 (arXiv:1910.07467) for RMSNorm.

From the bottom up: one number a distance that is added to the scores (there are no position
vectors), attention without 1 / √K, a feed-forward layer with or without a gate, the stack, of which
T5 has two, and the model. No linear layer and no norm has a bias vector. The block is the one of
BERT and GPT, handed these parts.

Left out: the ablations that share parameters between encoder and decoder; the float32 island of the
published norm (ours computes in the dtype of its input).
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.attention import KVCache, attention
from pretrain.blocks import Block, find_activation
from pretrain.embeddings import check_attention_mask, look_up
from pretrain.masks import causal_mask, padding_mask
from pretrain.positions import relative_position_bucket


@dataclass(frozen=True)
class T5Config:
    """Sizes and choices of a T5, by default the original's. There is no longest input."""

    vocab_size: int  # V, sentinels included
    d_model: int  # D, the width
    n_layers: int  # N blocks in the encoder, and again in the decoder
    n_heads: int  # H
    d_head: int | None = None  # K, the width of each head; None = D / H
    d_ff: int | None = None  # F, the inner width of the feed-forward layers; None = 4 D
    dropout: float = 0.0  # of embeddings, attention weights, inner layers, branches, final states
    norm_eps: float = 1e-6  # added to the mean square in RMSNorm
    n_buckets: int = 32  # of the relative bias, in each stack
    max_distance: int = 128  # from which on all share the last bucket, in tokens
    activation: str = "relu"  # "relu" (T5), "gelu_tanh" (1.1) or "gelu"
    gated: bool = False  # a gate in the feed-forward layers (1.1)
    tie_head: bool = True  # the embedding matrix is the output matrix, with states times D^-0.5
    # (T5); otherwise it is an own one, without the scale (1.1)

    def __post_init__(self) -> None:
        """Refuse no heads, and heads that D cannot be cut into."""
        if self.d_model < 1 or self.n_heads < 1:
            raise ValueError(
                f"expected d_model >= 1 and n_heads >= 1, got {self.d_model} and {self.n_heads}"
            )
        if self.d_head is None and self.d_model % self.n_heads:
            raise ValueError(
                "expected d_model divisible by n_heads, or a d_head, got "
                f"{self.d_model} and {self.n_heads}"
            )


class RelativeBias(nn.Module):
    """One number per head and bucket of distances, added to the scores of every layer.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.
    """

    def __init__(self, config: T5Config, *, bidirectional: bool) -> None:
        """Make the table of an encoder (bidirectional) or of a decoder."""
        super().__init__()
        self.bucket = partial(
            relative_position_bucket,
            bidirectional=bidirectional,
            n_buckets=config.n_buckets,
            max_distance=config.max_distance,
        )
        self.weight = nn.Parameter(torch.empty(config.n_buckets, config.n_heads))
        nn.init.normal_(self.weight, std=config.d_model**-0.5)

    def forward(self, query_len: int, key_len: int) -> Tensor:
        """Look up the bias between the last query_len of key_len positions and all: (H, T, S)."""
        key = torch.arange(key_len, device=self.weight.device)
        distance = key[None, :] - key[key_len - query_len :, None]  # (T, S)
        return F.embedding(self.bucket(distance), self.weight).permute(2, 0, 1)


class T5Attention(nn.Module):
    """Attention in n_heads subspaces of width K, which need not be D / H, without 1 / √K.

    The scale is in the initial weights of the queries instead, so the four matrices stay apart.

    Source: Raffel et al. 2020 (arXiv:1910.10683) and its released code.
    """

    def __init__(self, config: T5Config) -> None:
        """Make the four matrices."""
        super().__init__()
        self.n_heads, self.dropout = config.n_heads, config.dropout
        d_model, d_head = config.d_model, config.d_head or config.d_model // config.n_heads
        inner = config.n_heads * d_head
        self.query = linear(d_model, inner, std=(d_model * d_head) ** -0.5)
        self.key = linear(d_model, inner, std=d_model**-0.5)
        self.value = linear(d_model, inner, std=d_model**-0.5)
        self.output = linear(inner, d_model, std=inner**-0.5)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        bias: Tensor | None = None,
        memory: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Let each position of x gather what it may see, float (B, T, D).

        Takes what `MultiHeadAttention` takes, and a bias, float (H, T, S), added to the scores. In
        cross-attention the cache holds keys and values of the memory, from the first call on.
        """
        if memory is not None and cache is not None and cache.length:
            key, value = cache.read()
        else:
            key, value = self._heads(self.key, x, memory), self._heads(self.value, x, memory)
            if cache is not None:
                key, value = cache.append(key, value)
        if bias is not None:  # scores take a bias, and minus infinity where the mask hides a key
            mask = bias if mask is None else bias.where(mask, -torch.inf)
        mixed = F.scaled_dot_product_attention(
            self._heads(self.query, x), key, value, attn_mask=mask, scale=1.0,
            dropout_p=self.dropout if self.training else 0.0,
        )  # fmt: skip
        return self.output(mixed.transpose(1, 2).flatten(2))  # (B, T, D)

    def weights(
        self, x: Tensor, mask: Tensor | None = None, *, bias: Tensor | None = None,
        memory: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Compute the attention weights alone, (B, H, T, S), for looking at them."""
        key = self._heads(self.key, x, memory)
        return attention(self._heads(self.query, x), key, key, mask, bias=bias, scale=1.0)[1]

    def _heads(self, matrix: nn.Linear, x: Tensor, memory: Tensor | None = None) -> Tensor:
        """Project memory, or x (B, T, D), and cut it into heads (B, H, T, K)."""
        projected: Tensor = matrix(x if memory is None else memory)
        return projected.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class T5FeedForward(nn.Module):
    """activation(x up) down or, with a gate, (activation(x gate) * x up) down.

    Source: Raffel et al. 2020 (arXiv:1910.10683); Shazeer 2020 (arXiv:2002.05202), equation (6).
    """

    def __init__(self, config: T5Config) -> None:
        """Make the two or three matrices; the inner layer has dropout, unlike BERT's and GPT's."""
        super().__init__()
        d_model, d_ff = config.d_model, config.d_ff or 4 * config.d_model
        self.activation = find_activation(config.activation)
        self.gate = linear(d_model, d_ff, std=d_model**-0.5) if config.gated else None
        self.up = linear(d_model, d_ff, std=d_model**-0.5)
        self.down = linear(d_ff, d_model, std=d_ff**-0.5)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D), each position by itself."""
        if self.gate is None:
            inner = self.activation(self.up(x))
        else:
            inner = self.activation(self.gate(x)) * self.up(x)
        return self.down(self.dropout(inner))


class LayerCache(NamedTuple):
    """What one decoder block keeps between two calls."""

    own: KVCache
    """Of the tokens written so far."""
    memory: KVCache
    """Of the encoder's states."""


class T5Stack(nn.Module):
    """Blocks with one relative bias for all of them, and a norm at the end.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.
    """

    def __init__(self, config: T5Config, *, is_decoder: bool) -> None:
        """Make a decoder (causal, with cross-attention) or an encoder (every position sees all)."""
        super().__init__()
        self.is_decoder = is_decoder
        norm = partial(nn.RMSNorm, config.d_model, eps=config.norm_eps)
        self.relative_bias = RelativeBias(config, bidirectional=not is_decoder)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            reader = T5Attention(config)
            cross = T5Attention(config) if is_decoder else None
            feed_forward = T5FeedForward(config)
            self.blocks.append(
                Block(reader, feed_forward, norm, cross_attention=cross, dropout=config.dropout)
            )
        self.final_norm = norm()
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        *,
        memory: Tensor | None = None,
        cache: list[LayerCache] | None = None,
    ) -> Tensor:
        """Run the blocks.

        Args:
            x: float (B, T, D), embedded tokens.
            attention_mask: bool or int, True or 1 = real token of the encoder's sequence: (B, T)
                in the encoder, (B, S) in the decoder. None = all real.
            memory: float (B, S, D), the encoder's states, in the decoder alone.
            cache: One per block, in the decoder alone; x then continues what was read before.

        Returns:
            float (B, T, D).
        """
        seq_len = x.shape[1]
        past_length = cache[0].own.length if cache else 0
        bias = self.relative_bias(seq_len, past_length + seq_len)  # (H, T, past + T)
        real = None if attention_mask is None else padding_mask(attention_mask)  # (B, 1, 1, S)
        mask = real
        if self.is_decoder:
            mask = causal_mask(seq_len, past_length=past_length, device=x.device)
        x = self.dropout(x)
        for i, block in enumerate(self.blocks):
            own, seen = cache[i] if cache else (None, None)
            x = block(
                x, mask, bias=bias, cache=own, memory=memory, memory_mask=real,
                memory_options={"cache": seen},
            )  # fmt: skip
        return self.dropout(self.final_norm(x))


class T5(nn.Module):
    """An encoder-decoder Transformer: the output's token t sees all of the input and 1..t."""

    def __init__(self, config: T5Config) -> None:
        """Build the model.

        Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1 and its released code; the
            initial weights are those of that code (an own head is drawn with D^-0.5, where
            `transformers` has 1).
        """
        super().__init__()
        self.config = config
        self.token = nn.Embedding(config.vocab_size, config.d_model)  # drawn from N(0, 1)
        self.encoder = T5Stack(config, is_decoder=False)
        self.decoder = T5Stack(config, is_decoder=True)
        d_model, vocab_size = config.d_model, config.vocab_size
        self.head = None if config.tie_head else linear(d_model, vocab_size, std=d_model**-0.5)

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
        """
        return self.decode(decoder_ids, self.encode(ids, attention_mask), attention_mask)

    def encode(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Give every position of the input a vector that depends on both sides: (B, S, D)."""
        check_attention_mask(attention_mask, ids)
        return self.encoder(look_up(self.token, ids), attention_mask)

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
            cache: From `make_cache`; decoder_ids are then only the tokens not read before.

        Returns:
            Logits, float (B, T, V). Row t scores the token after decoder_ids[t].
        """
        if states.dim() != 3 or len(states) != len(decoder_ids):
            raise ValueError(
                f"expected states (B, S, D) of {len(decoder_ids)} inputs, one for each row of "
                f"decoder_ids, got shape {tuple(states.shape)}"
            )
        check_attention_mask(attention_mask, states[..., 0])
        embedded = look_up(self.token, decoder_ids, "decoder_ids")
        x: Tensor = self.decoder(embedded, attention_mask, memory=states, cache=cache)
        if self.head is None:
            return F.linear(x * x.shape[-1] ** -0.5, self.token.weight)
        return self.head(x)

    def make_cache(self, max_len: int, memory_len: int) -> list[LayerCache]:
        """Make an empty cache per decoder block: max_len tokens to write, memory_len to read."""
        return [LayerCache(KVCache(max_len), KVCache(memory_len)) for _ in self.decoder.blocks]


def linear(n_in: int, n_out: int, *, std: float) -> nn.Linear:
    """Make a linear layer without bias vector, its weights drawn from N(0, std)."""
    layer = nn.Linear(n_in, n_out, bias=False)
    nn.init.normal_(layer.weight, std=std)
    return layer
