# SPDX-License-Identifier: MIT
"""T5: an encoder that reads a text and a decoder that writes another, joined by cross-attention.

Papers: Raffel et al. 2020 (arXiv:1910.10683); Shazeer 2020 (arXiv:2002.05202) for the gated
feed-forward layer of version 1.1.

Implemented: the original and version 1.1, by options; a cache for writing; the decoder's shifted
input; the published sizes. The layers are in `pretrain.t5_layers`. Left out: the ablations that
share parameters between encoder and decoder.
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.attention import KVCache
from pretrain.embeddings import check_attention_mask, check_ids, look_up
from pretrain.objectives import IGNORE_INDEX
from pretrain.t5_attention import linear
from pretrain.t5_layers import LayerCache, T5Stack


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


def shift_right(labels: Tensor, *, pad_id: int = 0) -> Tensor:
    """Make the decoder's input from its labels: what stands one place before each of them.

    Args:
        labels: int64 (..., T), with IGNORE_INDEX (-100) where nothing is predicted.
        pad_id: Stands in front, as the start id, and where a label is ignored.

    Returns:
        int64 (..., T); the last label is not in it.

    Raises:
        ValueError: No label at all.

    Source: Raffel et al. 2020 (arXiv:1910.10683); the released code starts with the padding id.
    """
    if labels.dim() < 1 or labels.shape[-1] < 1:
        raise ValueError(f"expected labels (..., T) with T >= 1, got shape {tuple(labels.shape)}")
    before = F.pad(labels[..., :-1], (1, 0), value=pad_id)
    return before.masked_fill(before == IGNORE_INDEX, pad_id)


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

T5_SIZES: dict[str, dict[str, Any]] = {
    "t5-small": {"d_model": 512, "n_layers": 6, "n_heads": 8, "d_head": 64, "d_ff": 2_048},
    "t5-base": {"d_model": 768, "n_layers": 12, "n_heads": 12, "d_head": 64, "d_ff": 3_072},
    "t5-large": {"d_model": 1_024, "n_layers": 24, "n_heads": 16, "d_head": 64, "d_ff": 4_096},
    "t5-3b": {"d_model": 1_024, "n_layers": 24, "n_heads": 32, "d_head": 128, "d_ff": 16_384},
    "t5-11b": {"d_model": 1_024, "n_layers": 24, "n_heads": 128, "d_head": 128, "d_ff": 65_536},
    "t5-v1_1-small": {
        "d_model": 512, "n_layers": 8, "n_heads": 6, "d_head": 64, "d_ff": 1_024, **_V1_1
    },
    "t5-v1_1-base": {
        "d_model": 768, "n_layers": 12, "n_heads": 12, "d_head": 64, "d_ff": 2_048, **_V1_1
    },
    "t5-v1_1-large": {
        "d_model": 1_024, "n_layers": 24, "n_heads": 16, "d_head": 64, "d_ff": 2_816, **_V1_1
    },
    "t5-v1_1-xl": {
        "d_model": 2_048, "n_layers": 24, "n_heads": 32, "d_head": 64, "d_ff": 5_120, **_V1_1
    },
    "t5-v1_1-xxl": {
        "d_model": 4_096, "n_layers": 24, "n_heads": 64, "d_head": 64, "d_ff": 10_240, **_V1_1
    },
}  # fmt: skip
"""Options of the published models, to be used as `T5(32_128, **T5_SIZES["t5-small"])`."""
