"""Train a small BERT on a text and judge it on hidden characters of unseen text.

Chapter 5 of the book in one file: corruption, encoder, loss, and the table of the chapter against
baselines that need no training. Needs torch and nothing else.

    python bert.py plays.txt --seed 0

Made from the book's package by `make scripts`; edit that, not this file.
"""

import argparse
import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

# torch works without NumPy, which this file does not need, and would warn about it.
warnings.filterwarnings("ignore", "Failed to initialize NumPy", UserWarning)


import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

# ---- pretrain.dropout: Dropout with cheap random bits.


def dropout(x: Tensor, prob: float) -> Tensor:
    """Zero each value with probability prob and scale the others by 1 / (1 - prob).

    Args:
        x: float, any shape.
        prob: Probability in 0..1 (1 excluded). 0 returns x itself.

    Returns:
        The same shape.

    Raises:
        ValueError: prob lies outside [0, 1).

    Source: Srivastava et al. 2014, JMLR 15:1929-1958.
    """
    if not 0.0 <= prob < 1.0:
        raise ValueError(f"expected a dropout probability in [0, 1), got {prob}")
    threshold = min(round(prob * 65_536), 65_535)
    if threshold == 0:
        return x
    n_words = (x.numel() + 3) // 4
    words = torch.empty(n_words, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    bits = words.view(torch.int16)[: x.numel()].view(x.shape)  # uniform in -32768..32767
    first_kept = threshold - 32_768
    # Clamping whole numbers to two neighbours is a comparison, and many times faster than one on
    # a CPU: a kept value gives 1, a dropped one 0.
    kept = bits.clamp_(first_kept - 1, first_kept).sub_(first_kept - 1).to(x.dtype)
    return x * kept.mul_(65_536 / (65_536 - threshold))


class Dropout(nn.Module):
    """The same as a layer: active in training, the identity in evaluation."""

    def __init__(self, prob: float) -> None:
        """Keep the probability.

        Args:
            prob: Probability in [0, 1) with which a value is dropped.

        Raises:
            ValueError: prob lies outside [0, 1).
        """
        super().__init__()
        if not 0.0 <= prob < 1.0:
            raise ValueError(f"expected a dropout probability in [0, 1), got {prob}")
        self.prob = prob

    def forward(self, x: Tensor) -> Tensor:
        """Drop values of x (any shape) in training, return it unchanged otherwise."""
        return dropout(x, self.prob) if self.training else x


# ---- pretrain.masks: Who may look at whom: the boolean attention masks of BERT, GPT and T5.


def padding_mask(attention_mask: Tensor) -> Tensor:
    """Hide padding from every query.

    Args:
        attention_mask: bool or int (B, S). True or 1 = real token, False or 0 = padding.

    Returns:
        bool (B, 1, 1, S), the same for every head and every query.

    Raises:
        ValueError: The mask is not two-dimensional, holds something other than 0 and 1, or a
            sequence has no real token at all (its softmax would be over nothing).
    """
    if attention_mask.dim() != 2:
        raise ValueError(f"expected attention_mask of shape (B, S), got {_shape(attention_mask)}")
    real = attention_mask.bool()
    if not torch.equal(real.to(attention_mask.dtype), attention_mask):
        values = sorted(set(attention_mask.flatten().tolist()))[:5]
        raise ValueError(f"expected attention_mask to hold only 0 and 1, got {values}")
    empty = (~real).all(dim=1).nonzero().flatten().tolist()
    if empty:
        raise ValueError(f"expected a real token in every sequence, got none in rows {empty}")
    return real[:, None, None, :]


def additive_mask(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Turn a boolean mask into the one that is added to the scores.

    `(1 - mask) * -inf` would give NaN at every allowed place, because 0 * inf is undefined;
    filling the hidden places avoids the product.

    Args:
        mask: bool, any shape. True = may attend.
        dtype: Floating-point type of the scores.

    Returns:
        The same shape: 0 where the mask is True, minus infinity where it is False.

    Raises:
        ValueError: The mask is not boolean, or dtype is not a floating-point type.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"expected a boolean mask, got {mask.dtype}")
    if not dtype.is_floating_point:
        raise ValueError(f"expected a floating-point dtype, got {dtype}")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(
        ~mask, float("-inf")
    )


def _shape(tensor: Tensor) -> tuple[int, ...]:
    """Give a tensor's shape as a plain tuple, for messages."""
    return tuple(tensor.shape)


# ---- pretrain.attention: Scaled dot-product attention, multi-head attention and its key-value
# cache.


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
        key: float (..., S, K).
        value: float (..., S, K).
        mask: bool, broadcastable to (..., T, S). True = may attend; None = all may.
            A query that may attend to nothing gets zeros.
        dropout_prob: Probability with which a weight is dropped.

    Returns:
        The mixed values (..., T, K) and the weights (..., T, S). Each row sums to 1, unless a
        query may attend to nothing or weights were dropped.

    Raises:
        ValueError: The widths, lengths or the mask do not fit together.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), equation (1).
    """
    if query.shape[-1] != key.shape[-1] or key.shape[:-1] != value.shape[:-1]:
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


# ---- pretrain.layers: The Transformer block that all three models are stacked from.

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


# ---- pretrain.positions: How a model is told the order of its tokens.


def sinusoidal_positions(max_len: int, d_model: int) -> Tensor:
    """Make the fixed table of sines and cosines.

    Channel 2i holds sin(p / 10000^(2i / d_model)), channel 2i + 1 the cosine of the same angle.

    Args:
        max_len: Number of positions, in tokens.
        d_model: Width D; must be even.

    Returns:
        float32 (max_len, D).

    Raises:
        ValueError: max_len < 1, or d_model is not a positive even number.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.5.
    """
    if max_len < 1 or d_model < 2 or d_model % 2:
        raise ValueError(f"expected max_len >= 1 and an even d_model, got {max_len} and {d_model}")
    position = torch.arange(max_len, dtype=torch.float64)[:, None]
    channel = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10_000 ** (channel / d_model)  # (max_len, D / 2)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (max_len, D / 2, 2)
    return table.flatten(1).float()


# ---- pretrain.embeddings: The first layer of BERT and GPT: tokens, positions and, in BERT,
# segments, added up.


class Embeddings(nn.Module):
    """Add token, position and segment vectors; remember how far training reached.

    `trained_len` is the longest sequence seen in training (training mode, gradients on), in
    tokens. A learned position beyond it holds the noise it was initialised with, so generation
    never goes there.
    """

    trained_len: Tensor
    sinusoids: Tensor

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        max_len: int,
        *,
        positions: str = "learned",
        n_segments: int = 0,
    ) -> None:
        """Make the tables.

        Args:
            vocab_size: Number of token ids V.
            d_model: Width D.
            max_len: Most positions, in tokens.
            positions: "learned" (BERT, GPT) or "sinusoidal" (2017; tokens are then scaled by
                sqrt(D), as there).
            n_segments: Number of segment ids; 0 = no segment table.

        Raises:
            ValueError: A size below 1, or an unknown kind of positions.
        """
        super().__init__()
        if min(vocab_size, d_model, max_len) < 1:
            raise ValueError(
                "expected vocab_size, d_model and max_len >= 1, got "
                f"{vocab_size}, {d_model} and {max_len}"
            )
        if positions not in ("learned", "sinusoidal"):
            raise ValueError(f"expected positions 'learned' or 'sinusoidal', got {positions!r}")
        self.max_len = max_len
        self.token = nn.Embedding(vocab_size, d_model)
        self.learned = positions == "learned"
        if self.learned:
            self.position = nn.Embedding(max_len, d_model)
        else:
            table = sinusoidal_positions(max_len, d_model)
            self.register_buffer("sinusoids", table, persistent=False)
        self.segment = nn.Embedding(n_segments, d_model) if n_segments else None
        self.register_buffer("trained_len", torch.zeros((), dtype=torch.int64))

    def forward(self, ids: Tensor, segment_ids: Tensor | None = None, *, n_past: int = 0) -> Tensor:
        """Look up and add the vectors.

        Args:
            ids: int64 (B, T), token ids.
            segment_ids: int64 (B, T), or None for segment 0 throughout.
            n_past: Position of the first token, in tokens (those before it are in a cache).

        Returns:
            float (B, T, D).

        Raises:
            ValueError: Wrong shape or type, ids that the tables do not have, more tokens than
                positions, segments not expected.
        """
        self._check(ids, segment_ids, n_past)
        end = n_past + ids.shape[1]
        x = look_up(self.token, ids, "ids")
        if self.learned:
            x = x + self.position.weight[n_past:end]
        else:
            x = x * math.sqrt(x.shape[-1]) + self.sinusoids[n_past:end]
        if self.segment is not None:
            segments = torch.zeros_like(ids) if segment_ids is None else segment_ids
            x = x + look_up(self.segment, segments, "segment_ids")
        if self.training and torch.is_grad_enabled():
            self.trained_len.clamp_(min=end)
        return x

    def _check(self, ids: Tensor, segment_ids: Tensor | None, n_past: int) -> None:
        """Refuse ids and segments that the tables cannot serve."""
        check_ids(ids)
        if n_past + ids.shape[1] > self.max_len:
            raise ValueError(
                f"expected at most max_len = {self.max_len} tokens, got {n_past + ids.shape[1]}"
            )
        if segment_ids is not None and self.segment is None:
            raise ValueError("expected no segment_ids: this model was made with n_segments=0")
        if segment_ids is not None and segment_ids.shape != ids.shape:
            raise ValueError(
                f"expected segment_ids of shape {tuple(ids.shape)}, got {tuple(segment_ids.shape)}"
            )


def check_ids(ids: Tensor, name: str = "ids") -> None:
    """Refuse what is not a batch of token sequences.

    Args:
        ids: Must be int64 or int32 (B, T) with T >= 1.
        name: What the caller calls them.

    Raises:
        ValueError: Wrong shape or type.
    """
    if ids.dim() != 2 or ids.shape[1] < 1 or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"expected integer {name} of shape (B, T) with T >= 1, got {ids.dtype} "
            f"of shape {tuple(ids.shape)}"
        )


def look_up(table: nn.Embedding, ids: Tensor, name: str) -> Tensor:
    """Read rows of a table, and say which ids were expected when it does not have them.

    Args:
        table: Table with one row per id, (V, D).
        ids: int64 (B, T).
        name: What the caller calls them.

    Returns:
        float (B, T, D).

    Raises:
        ValueError: An id that the table does not have.
    """
    try:
        rows: Tensor = table(ids)
    except IndexError:
        low, high = int(ids.min()), int(ids.max())
        raise ValueError(
            f"expected {name} in 0..{table.num_embeddings - 1}, got {low}..{high}"
        ) from None
    return rows


def check_attention_mask(attention_mask: Tensor, ids: Tensor) -> None:
    """Refuse an attention mask that does not belong to these ids.

    Args:
        attention_mask: bool or int (B, T), True or 1 = real token.
        ids: int64 (B, T).

    Raises:
        ValueError: The shapes differ.
    """
    if attention_mask.shape != ids.shape:
        raise ValueError(
            f"expected attention_mask of shape {tuple(ids.shape)}, the shape of ids, "
            f"got {tuple(attention_mask.shape)}"
        )


# ---- pretrain.bert: BERT: the same stack under no mask but padding, trained to restore hidden
# tokens.


class BERT(nn.Module):
    """An encoder-only Transformer: every position sees every real position."""

    def __init__(
        self,
        vocab_size: int,
        *,
        d_model: int,
        n_layers: int,
        n_heads: int,
        max_len: int,
        d_ff: int | None = None,
        dropout_prob: float = 0.0,
        norm: str = "post",
        norm_eps: float = 1e-12,
        positions: str = "learned",
        n_segments: int = 0,
        activation: str = "gelu",
        tie_head: bool = True,
        init_std: float = 0.02,
    ) -> None:
        """Build the model.

        Args:
            vocab_size: Number of token ids V.
            d_model: Width D.
            n_layers: Number of blocks N.
            n_heads: Number of heads H.
            max_len: Most positions, in tokens.
            d_ff: Inner width of the feed-forward layers; None = 4 D.
            dropout_prob: Dropout of embeddings, attention weights and branches.
            norm: "post" (BERT: the embeddings are normed, the blocks end in a norm) or "pre"
                (a norm before each branch and a final one).
            norm_eps: Added to the variance in LayerNorm.
            positions: "learned" or "sinusoidal".
            n_segments: Number of segment ids (2 in BERT); 0 = no segment table.
            activation: "gelu", "gelu_tanh" or "relu".
            tie_head: Whether the output matrix is the embedding matrix itself.
            init_std: Standard deviation of the initial weights.

        Raises:
            ValueError: Sizes or names that the parts refuse.

        Source: Devlin et al. 2019 (arXiv:1810.04805), section 3 and figure 2. differs: the initial
            weights, see `init_weights`.
        """
        super().__init__()
        self.options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self.embeddings = Embeddings(
            vocab_size, d_model, max_len, positions=positions, n_segments=n_segments
        )
        post_norm = norm == "post"
        self.embedding_norm = nn.LayerNorm(d_model, eps=norm_eps) if post_norm else nn.Identity()
        self.dropout = Dropout(dropout_prob)
        self.blocks = nn.ModuleList(
            Block(
                d_model,
                n_heads,
                4 * d_model if d_ff is None else d_ff,
                dropout_prob=dropout_prob,
                norm=norm,
                norm_eps=norm_eps,
                activation=activation,
            )
            for _ in range(n_layers)
        )
        self.final_norm = nn.Identity() if post_norm else nn.LayerNorm(d_model, eps=norm_eps)
        tied: Any = self.embeddings.token.weight if tie_head else None
        self.head = MaskedLMHead(
            d_model,
            vocab_size,
            norm_eps=norm_eps,
            activation=activation,
            tied=tied,
            init_std=init_std,
        )
        init_weights(self, n_layers, std=init_std)

    @property
    def max_len(self) -> int:
        """Most positions, in tokens."""
        return self.embeddings.max_len

    def encode(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        segment_ids: Tensor | None = None,
    ) -> Tensor:
        """Give every position a vector that depends on both of its sides.

        Args:
            ids: int64 (B, T), token ids.
            attention_mask: bool or int (B, T), True = real token; None = all real.
            segment_ids: int64 (B, T), 0 = first segment; None = 0 throughout.

        Returns:
            Hidden states, float (B, T, D).

        Raises:
            ValueError: Wrong shapes, more tokens than max_len, segments not expected.
        """
        x = self.dropout(self.embedding_norm(self.embeddings(ids, segment_ids)))
        mask = None
        if attention_mask is not None:
            check_attention_mask(attention_mask, ids)
            mask = padding_mask(attention_mask)
        for block in self.blocks:
            x = block(x, mask)
        states: Tensor = self.final_norm(x)
        return states

    def forward(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        segment_ids: Tensor | None = None,
        *,
        predict: Tensor | None = None,
    ) -> Tensor:
        """Score every vocabulary entry at every position, or only where it is asked for.

        Args:
            ids: int64 (B, T), corrupted token ids.
            attention_mask: As in `encode`.
            segment_ids: As in `encode`.
            predict: bool (B, T), n of them True: the positions to predict. The head is then run
                on these alone, as BERT's own code does.

        Returns:
            Logits, float (B, T, V), or (n, V) in row-major order when predict is given.

        Raises:
            ValueError: As `encode`, or predict is not a bool tensor of the shape of ids.
        """
        x = self.encode(ids, attention_mask, segment_ids)
        if predict is not None:
            if predict.dtype != torch.bool or predict.shape != ids.shape:
                raise ValueError(
                    f"expected predict to be bool of shape {tuple(ids.shape)}, "
                    f"got {predict.dtype} of shape {tuple(predict.shape)}"
                )
            x = x[predict]  # (n, D)
        logits: Tensor = self.head(x)
        return logits


class MaskedLMHead(nn.Module):
    """Dense, activation, LayerNorm, then the output matrix and one bias per token.

    The matrix is usually the embedding matrix itself; the dense layer exists only for
    pre-training and is thrown away afterwards.
    """

    def __init__(
        self,
        d_model: int,
        vocab_size: int,
        *,
        norm_eps: float,
        activation: str,
        tied: nn.Parameter | None = None,
        init_std: float = 0.02,
    ) -> None:
        """Make the layers.

        Args:
            d_model: Width D.
            vocab_size: Number of token ids V.
            norm_eps: Added to the variance in LayerNorm.
            activation: Non-linearity after the dense layer.
            tied: Matrix (V, D) to share as output matrix; None = an own one.
            init_std: Standard deviation of an own matrix.

        Source: Devlin et al. 2019 (arXiv:1810.04805) and its released pre-training code.
        """
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model, eps=norm_eps)
        self.activation = ACTIVATIONS[activation]
        if tied is None:
            tied = nn.Parameter(torch.empty(vocab_size, d_model).normal_(std=init_std))
        self.output_weight = tied
        self.output_bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, x: Tensor) -> Tensor:
        """Map hidden states (..., D) to logits (..., V)."""
        x = self.norm(self.activation(self.dense(x)))
        return F.linear(x, self.output_weight, self.output_bias)


# ---- pretrain.tokenization: A tokeniser of single characters, with the special tokens that the
# objectives need.

PAD = "[PAD]"

MASK = "[MASK]"


class CharTokenizer:
    """Map characters to ids and back. Special tokens hold the first ids."""

    def __init__(self, characters: Sequence[str], specials: Sequence[str] = (PAD, MASK)) -> None:
        """Fix the vocabulary.

        Args:
            characters: The single characters, in the order of their ids.
            specials: Special tokens; [PAD] and [MASK] must be among them.

        Raises:
            ValueError: A character is not one character, a token comes twice, or a special is
                missing.
        """
        wrong = [c for c in characters if len(c) != 1]
        if wrong or len(set(characters)) != len(characters):
            raise ValueError(f"expected distinct single characters, got {wrong or characters!r}")
        if PAD not in specials or MASK not in specials:
            raise ValueError(f"expected specials with {PAD} and {MASK}, got {tuple(specials)}")
        if len({*specials, *characters}) < len(specials) + len(characters):
            raise ValueError(
                f"expected every token once, got specials {tuple(specials)} beside {characters!r}"
            )
        self.specials = tuple(specials)
        self.characters = tuple(characters)
        self.tokens = (*self.specials, *self.characters)
        self.ids = {token: i for i, token in enumerate(self.tokens)}

    @classmethod
    def from_text(cls, text: str) -> "CharTokenizer":
        """Take every character of a text, sorted.

        Args:
            text: Text that holds each character at least once.

        Raises:
            ValueError: The text is empty.
        """
        if not text:
            raise ValueError("expected a text with at least one character, got an empty one")
        return cls(sorted(set(text)))

    @classmethod
    def from_dict(cls, state: dict[str, list[str]]) -> "CharTokenizer":
        """Rebuild a tokeniser from what `to_dict` gave."""
        return cls(state["characters"], state["specials"])

    def to_dict(self) -> dict[str, list[str]]:
        """Give the vocabulary as plain lists, for JSON."""
        return {"characters": list(self.characters), "specials": list(self.specials)}

    @property
    def vocab_size(self) -> int:
        """Number of ids V, special tokens included."""
        return len(self.tokens)

    @property
    def pad_id(self) -> int:
        """Id of [PAD]."""
        return self.ids[PAD]

    @property
    def mask_id(self) -> int:
        """Id of [MASK]."""
        return self.ids[MASK]

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Ids of all special tokens."""
        return tuple(range(len(self.specials)))

    def encode(self, text: str) -> Tensor:
        """Turn a text into ids, one per character.

        Args:
            text: Text of T characters of the vocabulary.

        Returns:
            int64 (T,).

        Raises:
            ValueError: A character is not in the vocabulary; the message names it and its place.
        """
        try:
            return torch.tensor([self.ids[c] for c in text], dtype=torch.int64)
        except KeyError as error:
            place = text.index(error.args[0])
            raise ValueError(
                f"expected characters of the vocabulary ({len(self.characters)} of them), "
                f"got {error.args[0]!r} at index {place}"
            ) from None

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """Turn ids back into text; special tokens appear by their names.

        Args:
            ids: int64 (T,), or a sequence of ids.

        Returns:
            The text.

        Raises:
            ValueError: Not one-dimensional, or an id outside 0..V-1.
        """
        return "".join(self.tokens[i] for i in checked_ids(ids, len(self.tokens)))


def checked_ids(ids: Tensor | Sequence[int], vocab_size: int) -> list[int]:
    """Refuse ids that a vocabulary does not have.

    Args:
        ids: int64 (T,), or a sequence of ids.
        vocab_size: Number of token ids V.

    Returns:
        The ids as a list.

    Raises:
        ValueError: Not one-dimensional, or an id outside 0..V-1; the message names the first.
    """
    values = torch.as_tensor(ids)
    if values.dim() != 1:
        raise ValueError(f"expected ids (T,), got shape {tuple(values.shape)}")
    wrong = ((values < 0) | (values >= vocab_size)).nonzero().flatten()
    if len(wrong):
        place = int(wrong[0])
        raise ValueError(
            f"expected ids in 0..{vocab_size - 1}, got {int(values[place])} at index {place}"
        )
    return values.long().tolist()


# ---- pretrain.objectives: What a model is asked to predict: the next token, or the hidden ones.

IGNORE_INDEX = -100
"""Label of a position that is not predicted; `cross_entropy` skips it."""

BatchLoss = Callable[[nn.Module, Generator], Tensor]
"""Draws a batch with the generator and returns the model's mean loss, in nats per prediction."""


class Corrupted(NamedTuple):
    """What `corrupt_mlm` returns; each (B, T)."""

    ids: Tensor
    """int64: what the model reads."""
    labels: Tensor
    """int64: the original token where one was selected, IGNORE_INDEX elsewhere."""
    fates: Tensor
    """int8: the drawn fate, an index into FATES."""


FATES = ("not selected", "masked", "random", "kept")


def corrupt_mlm(
    ids: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: Sequence[int],
    generator: Generator,
    select_prob: float = 0.15,
    mask_prob: float = 0.8,
    random_prob: float = 0.1,
) -> Corrupted:
    """Select tokens to predict and hide most of them.

    Each ordinary token is selected independently with select_prob. A selected token becomes
    [MASK] with mask_prob, a token drawn uniformly from the ordinary vocabulary with random_prob
    (which may by chance be the original), and otherwise stays.
    differs: BERT's released code selects an exact count per sequence and draws random tokens
    from the whole vocabulary, special tokens included.

    Args:
        ids: int64 (B, T), token ids; left unchanged.
        mask_id: Id of [MASK].
        vocab_size: Number of token ids V.
        special_ids: Ids that are never selected nor drawn at random.
        generator: Source of randomness.
        select_prob: Probability that a token is predicted.
        mask_prob: Probability that a selected token becomes [MASK].
        random_prob: Probability that a selected token becomes a random one.

    Returns:
        The corrupted ids, the labels and the drawn fates.

    Raises:
        ValueError: Probabilities or ids outside their range, or no ordinary token to draw.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1 and appendix A.1.
    """
    if not 0.0 < select_prob <= 1.0:
        raise ValueError(f"expected select_prob in (0, 1], got {select_prob}")
    if min(mask_prob, random_prob) < 0 or mask_prob + random_prob > 1 + 1e-9:
        raise ValueError(
            "expected mask_prob, random_prob >= 0 with a sum of at most 1, got "
            f"{mask_prob} and {random_prob}"
        )
    low, high = (int(ids.min()), int(ids.max())) if ids.numel() else (0, 0)
    if not 0 <= low <= high < vocab_size or not 0 <= mask_id < vocab_size:
        raise ValueError(
            f"expected ids and mask_id in 0..{vocab_size - 1}, got {low}..{high} and {mask_id}"
        )
    outside = [i for i in special_ids if not 0 <= i < vocab_size]
    if outside:
        raise ValueError(f"expected special_ids in 0..{vocab_size - 1}, got {outside}")
    ordinary = torch.ones(vocab_size, dtype=torch.bool)
    ordinary[list(special_ids)] = False
    choices = ordinary.nonzero().flatten()  # ids that may be drawn
    if len(choices) == 0:
        raise ValueError(f"expected an ordinary token among {vocab_size}, got only special ones")
    selected = (torch.rand(ids.shape, generator=generator) < select_prob) & ordinary[ids]
    fate = torch.rand(ids.shape, generator=generator)
    masked = selected & (fate < mask_prob)
    random = selected & (fate >= mask_prob) & (fate < mask_prob + random_prob)
    drawn = choices[torch.randint(len(choices), ids.shape, generator=generator)]
    corrupted = torch.where(random, drawn, ids).masked_fill(masked, mask_id)
    fates = torch.zeros_like(ids, dtype=torch.int8).masked_fill(selected, FATES.index("kept"))
    fates = fates.masked_fill(random, FATES.index("random"))
    fates = fates.masked_fill(masked, FATES.index("masked"))
    return Corrupted(corrupted, ids.masked_fill(~selected, IGNORE_INDEX), fates)


def random_windows(ids: Tensor, batch_size: int, seq_len: int, *, generator: Generator) -> Tensor:
    """Cut windows at random places of one long sequence.

    Args:
        ids: int64 (L,), the tokens of a corpus.
        batch_size: Number of windows B.
        seq_len: Length T of each, in tokens.
        generator: Source of randomness.

    Returns:
        int64 (B, T).

    Raises:
        ValueError: ids is not one-dimensional or shorter than one window.
    """
    if ids.dim() != 1 or len(ids) < seq_len:
        raise ValueError(
            f"expected ids (L,) with L >= seq_len = {seq_len}, got shape {tuple(ids.shape)}"
        )
    starts = torch.randint(len(ids) - seq_len + 1, (batch_size,), generator=generator)
    return ids.unfold(0, seq_len, 1)[starts]


def masked_lm_loss(
    ids: Tensor,
    *,
    batch_size: int,
    seq_len: int,
    mask_id: int,
    vocab_size: int,
    special_ids: Sequence[int],
    select_prob: float = 0.15,
    mask_prob: float = 0.8,
    random_prob: float = 0.1,
) -> BatchLoss:
    """Make the loss of masked-token prediction on random windows, masked anew at each visit.

    Args:
        ids: int64 (L,), the tokens of the corpus.
        batch_size: Windows in a batch B.
        seq_len: Tokens in each, T.
        mask_id: Id of [MASK].
        vocab_size: Number of token ids V.
        special_ids: Ids that are never selected nor drawn at random.
        select_prob: Probability that a token is predicted.
        mask_prob: Probability that a selected token becomes [MASK].
        random_prob: Probability that a selected token becomes a random one.

    Returns:
        A function of model and generator; mean loss in nats per selected token. The model is
        called with `predict`, so its head runs on the selected positions only.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1.
    """

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows, corrupt them and score the selected tokens."""
        windows = random_windows(ids, batch_size, seq_len, generator=generator)
        corrupted, labels, _ = corrupt_mlm(
            windows,
            mask_id=mask_id,
            vocab_size=vocab_size,
            special_ids=special_ids,
            generator=generator,
            select_prob=select_prob,
            mask_prob=mask_prob,
            random_prob=random_prob,
        )
        selected = labels != IGNORE_INDEX
        total = F.cross_entropy(
            model(corrupted, predict=selected), labels[selected], reduction="sum"
        )
        return total / max(int(selected.sum()), 1)  # a batch may select nothing

    return note_settings(
        loss, ids, kind="masked", batch_size=batch_size, seq_len=seq_len, mask_id=mask_id,
        special_ids=list(special_ids), select_prob=select_prob, mask_prob=mask_prob,
        random_prob=random_prob,
    )  # fmt: skip


# ---- pretrain.evaluation: Judging a model on text that it has not seen.


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch dropout off, and afterwards back to what it was.

    Args:
        model: Changed only inside the `with` block.
    """
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


@torch.no_grad()
def masked_log_probs(
    model: BERT, corrupted: Tensor, labels: Tensor, *, batch_size: int = 64
) -> tuple[Tensor, Tensor]:
    """Give the model's distribution at every selected position.

    Args:
        model: A BERT; dropout is switched off meanwhile.
        corrupted: int64 (N, T), what it reads.
        labels: int64 (N, T), the answer where one is asked, IGNORE_INDEX elsewhere.
        batch_size: Rows at once.

    Returns:
        Log-probabilities, float (n, V), and answers, int64 (n,), in row-major order.

    Raises:
        ValueError: The shapes differ, or nothing is asked.
    """
    if corrupted.shape != labels.shape or corrupted.dim() != 2:
        raise ValueError(
            "expected corrupted and labels of one shape (N, T), got "
            f"{tuple(corrupted.shape)} and {tuple(labels.shape)}"
        )
    asked = labels != IGNORE_INDEX
    if not asked.any():
        raise ValueError("expected at least one label, got only IGNORE_INDEX")
    with evaluating(model):
        parts = [
            model(batch, predict=where).log_softmax(dim=-1)
            for batch, where in zip(
                torch.split(corrupted, batch_size), torch.split(asked, batch_size), strict=True
            )
            if where.any()
        ]
    return torch.cat(parts), labels[asked]


def top_k_hits(scores: Tensor, answers: Tensor, k: int) -> Tensor:
    """Say of each row whether its answer is among the k highest scores.

    Args:
        scores: float (n, V).
        answers: int64 (n,).
        k: How many guesses count, 1..V.

    Returns:
        bool (n,).

    Raises:
        ValueError: k outside 1..V.
    """
    if not 1 <= k <= scores.shape[-1]:
        raise ValueError(f"expected k in 1..{scores.shape[-1]}, got {k}")
    return (scores.topk(k, dim=-1).indices == answers[:, None]).any(dim=-1)


# ---- pretrain.step: The step that every training of this book takes: gradients of a batch, then
# one update.


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    losses: Iterable[Tensor],
    *,
    clip_norm: float,
    backward: Callable[[Tensor], Any] = torch.autograd.backward,
    clip: Callable[..., Any] = nn.utils.clip_grad_norm_,
    total: Callable[[Tensor], float] | None = None,
) -> float:
    """Add up the gradients of the losses and change the parameters once.

    Each loss is used before the next one is asked for, so a generator that computes them holds
    the activations of one part of a batch at a time.

    Args:
        model: Changed in place.
        optimizer: Holds the parameters and the learning rate.
        losses: Scalars whose sum is the loss of the step, at least one.
        clip_norm: Largest allowed global norm of the gradient.
        backward: Adds the gradients of one loss.
        clip: Takes the parameters and clip_norm, and scales the gradients down.
        total: Turns this process's sum into the loss of the step; None = it is that already.

    Returns:
        The loss before the update, in nats per predicted token.

    Raises:
        FloatingPointError: The loss is not finite. The parameters are those from before.
    """
    optimizer.zero_grad()
    parts: list[Tensor] = []
    for loss in losses:
        parts.append(loss.detach())
        backward(loss)
    whole = parts[0] if len(parts) == 1 else torch.stack(parts).sum()
    value = float(whole if total is None else total(whole))
    if not math.isfinite(value):
        raise FloatingPointError(f"expected a finite loss, got {value}")
    clip(model.parameters(), clip_norm)
    optimizer.step()
    return value


# ---- pretrain.training: One training loop for every objective.


def learning_rate(step: int, *, n_steps: int, peak: float, n_warmup: int, final: float) -> float:
    """Rise linearly to the peak, then fall along half a cosine.

    Args:
        step: Steps done before this one, 0..n_steps - 1.
        n_steps: Length of the run, in steps.
        peak: Highest learning rate.
        n_warmup: Steps of the rise.
        final: Share of the peak that is left at step n_steps, which is no longer taken.

    Returns:
        The learning rate of this step.

    Source: Radford et al. 2018 (GPT-1), section 4.1.
    """
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    progress = (step - n_warmup) / max(1, n_steps - n_warmup)
    return peak * (final + (1 - final) * 0.5 * (1 + math.cos(math.pi * progress)))


def make_optimizer(
    model: nn.Module,
    *,
    lr: float,
    betas: tuple[float, float],
    weight_decay: float,
    relative: bool = False,
) -> torch.optim.AdamW:
    """Make AdamW; matrices decay, biases and norms do not.

    Args:
        model: Its parameters are optimised.
        lr: Learning rate.
        betas: Decay rates of the two moments.
        weight_decay: Decay of all parameters with two or more dimensions.
        relative: Whether every parameter is a group of its own, for `set_learning_rate`.

    Returns:
        The optimiser, in torch's fused form.

    Source: Loshchilov & Hutter 2019 (arXiv:1711.05101).
    """
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    groups: list[dict[str, Any]] = [
        {"params": part, "weight_decay": decay, "relative": relative}
        for params, decay in ((decayed, weight_decay), (plain, 0.0))
        for part in ([[p] for p in params] if relative else [params])
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the rate of all groups, for relative ones times the size of the parameter now.

    AdamW moves every entry by about its rate, whatever the entry's size. T5 is drawn on very
    different scales: 1 for embeddings, (D K)^-0.5 for queries, which replaces the division by
    sqrt(K) in attention. One rate is then too small for the former and too large for the latter.

    Args:
        optimizer: Of `make_optimizer`.
        rate: Learning rate, or share of a parameter's size by which a step changes it.

    Source: Shazeer & Stern 2018 (arXiv:1804.04235), section 8, the step size of T5's optimiser:
        the rate times max(1e-3, root mean square of the parameter). differs: AdamW's step.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate * (_size(group["params"][0]) if group["relative"] else 1.0)


@torch.no_grad()
def _size(parameter: Tensor) -> float:
    """Give the root mean square of a parameter, and not less than 1e-3."""
    norm: Any = parameter.norm()
    if hasattr(norm, "full_tensor"):  # this process holds one part of a sharded parameter
        norm = norm.full_tensor()
    return max(1e-3, norm.item() / parameter.numel() ** 0.5)


def train_step(
    model: nn.Module,
    batch_loss: BatchLoss,
    optimizer: torch.optim.Optimizer,
    generator: Generator,
    *,
    clip_norm: float,
) -> float:
    """Draw a batch, compute the loss, and update the parameters once.

    Args:
        model: Changed in place.
        batch_loss: Draws a batch and returns its loss.
        optimizer: Holds the parameters and the learning rate.
        generator: Source of randomness of the batch.
        clip_norm: Largest allowed global norm of the gradient.

    Returns:
        The loss before the update, in nats per predicted token.

    Raises:
        FloatingPointError: The loss is not finite.
    """
    loss = batch_loss(model, generator)
    return update(model, optimizer, [loss], clip_norm=clip_norm)


# ---- single_file.shared: What all three scripts need: two texts, a training loop, a table, and a
# record of the run.


def parse_options(description: str, n_steps: int) -> argparse.Namespace:
    """Read the command line.

    Args:
        description: First lines of the help text.
        n_steps: Steps when the command names no number: those of the chapter.

    Returns:
        train, unseen, seed, steps and json.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("train", type=Path, help="text to train on")
    parser.add_argument("--unseen", type=Path, help="text to judge on (default: the last tenth)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (default 0)")
    parser.add_argument("--steps", type=int, default=n_steps, help=f"updates (default {n_steps:,})")
    parser.add_argument("--json", type=Path, help="file for losses and table")
    return parser.parse_args()


def read_texts(options: argparse.Namespace) -> tuple[str, str]:
    """Read both texts, or cut the last tenth of the lines off the one there is.

    Args:
        options: Of `parse_options`.

    Returns:
        Text to train on and unseen text.
    """
    train_text = options.train.read_text(encoding="utf-8")
    if options.unseen:
        return train_text, options.unseen.read_text(encoding="utf-8")
    lines = train_text.splitlines(keepends=True)
    cut = len(lines) - max(1, len(lines) // 10)
    return "".join(lines[:cut]), "".join(lines[cut:])


def note_settings(loss: BatchLoss, ids: Tensor, **settings: Any) -> BatchLoss:
    """Leave a loss as it is; the package notes here what a resumed run must agree with."""
    return loss


def train(
    model: nn.Module,
    batch_loss: BatchLoss,
    *,
    n_steps: int,
    lr: float,
    n_warmup: int,
    final_lr: float,
    generator: Generator,
) -> list[float]:
    """Train a model with AdamW, warm-up and cosine decay, as every chapter does.

    Args:
        model: Changed in place; left in evaluation mode.
        batch_loss: Draws a batch with the generator and returns the mean loss, in nats.
        n_steps: Number of updates.
        lr: Peak learning rate.
        n_warmup: Steps over which the rate rises from zero.
        final_lr: Share of the peak rate that the decay ends in.
        generator: Source of randomness of the batches.

    Returns:
        Loss of each step before its update, in nats per prediction.
    """
    optimizer = make_optimizer(model, lr=lr, betas=(0.9, 0.95), weight_decay=0.1)
    losses = []
    model.train()
    for step in range(n_steps):
        rate = learning_rate(step, n_steps=n_steps, peak=lr, n_warmup=n_warmup, final=final_lr)
        set_learning_rate(optimizer, rate)
        losses.append(train_step(model, batch_loss, optimizer, generator, clip_norm=1.0))
        if (step + 1) % max(1, n_steps // 10) == 0:
            print(f"step {step + 1:>5,} of {n_steps:,}: loss {losses[-1]:.3f} nats", flush=True)
    model.eval()
    return losses


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their columns, the first column to the left, the others to the right.

    Args:
        columns: Their names.
        rows: One text for each column.
    """
    cells = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    print()
    for row in cells:
        first, *others = (cell.ljust(w) if i == 0 else cell.rjust(w)
                          for i, (cell, w) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        print("  ".join([first, *others]))


def save_run(options: argparse.Namespace, losses: list[float], **results: Any) -> None:
    """Write what a run gave, when the command names a file.

    Args:
        options: Of `parse_options`.
        losses: Loss of each step.
        results: JSON values.
    """
    if options.json:
        record = {"seed": options.seed, "n_steps": options.steps, "losses": losses, **results}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


SIZES: dict[str, Any] = {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_len": 32}


def shares(scores: Tensor, answers: Tensor, fates: Tensor) -> dict[str, float]:
    """Say how often the truth is the best guess, or among the five best.

    Args:
        scores: float (n, V), higher = more likely.
        answers: int64 (n,).
        fates: int8 (n,), indices into FATES.

    Returns:
        Shares: top1, top5, and top1 for each fate.
    """
    hits = top_k_hits(scores, answers, 1).double()
    found = {"top1": hits.mean().item()}
    found["top5"] = top_k_hits(scores, answers, 5).double().mean().item()
    for code, fate in enumerate(FATES[1:], start=1):
        found[f"top1_{fate}"] = hits[fates == code].mean().item()
    return found


def judge(
    models: dict[str, BERT], train_ids: Tensor, unseen: Tensor, tokenizer: CharTokenizer
) -> dict[str, dict[str, float]]:
    """Ask models and baselines for the hidden characters of 500 unseen windows.

    Args:
        models: Name → model.
        train_ids: int64 (L,), for the frequencies.
        unseen: int64 (T,).
        tokenizer: The vocabulary.

    Returns:
        Name → shares, of `shares`.
    """
    windows = random_windows(unseen, 500, 32, generator=Generator().manual_seed(6))
    read, labels, fates = corrupt_mlm(
        windows, generator=Generator().manual_seed(7), mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.vocab_size, special_ids=tokenizer.special_ids,
    )  # fmt: skip
    asked = labels != IGNORE_INDEX
    answers = labels[asked]
    counts = torch.bincount(train_ids, minlength=tokenizer.vocab_size).double()
    unigram = (counts / counts.sum()).expand(len(answers), -1)
    seen = read[asked]
    copying = unigram.clone()  # what stands there first, unless it is hidden
    visible = (seen != tokenizer.mask_id).nonzero().flatten()
    copying[visible, seen[visible]] = 2.0
    scores = {"unigram": unigram, "copying": copying}
    scores |= {name: masked_log_probs(model, read, labels)[0] for name, model in models.items()}
    return {name: shares(score, answers, fates[asked]) for name, score in scores.items()}


def main() -> None:
    """Train and print the table of the chapter."""
    options = parse_options("Train a small BERT on a text (chapter 5).", n_steps=1200)
    train_text, unseen_text = read_texts(options)
    tokenizer = CharTokenizer(sorted({*train_text, *unseen_text}))
    train_ids, unseen = tokenizer.encode(train_text), tokenizer.encode(unseen_text)
    torch.manual_seed(options.seed)
    model, untrained = (BERT(tokenizer.vocab_size, init_std=0.08, **SIZES) for _ in range(2))
    loss = masked_lm_loss(
        train_ids, batch_size=32, seq_len=32, mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.vocab_size, special_ids=tokenizer.special_ids,
    )  # fmt: skip
    losses = train(
        model, loss, n_steps=options.steps, lr=5e-3, n_warmup=min(120, options.steps),
        final_lr=0.05, generator=Generator().manual_seed(options.seed),
    )  # fmt: skip
    names = {"unigram": "unigram: the most frequent", "random_encoder": "BERT, untrained"}
    names |= {"copying": "copying, else the most frequent"}
    names |= {"bert": f"BERT after {options.steps:,} steps"}
    found = judge({"random_encoder": untrained.eval(), "bert": model}, train_ids, unseen, tokenizer)
    rows = [[names[name], *(f"{share:.1%}" for share in found[name].values())] for name in names]
    print_table(["text corrupted at 15 %", "top-1", "top-5", *FATES[1:]], rows)
    save_run(options, losses, shares=found)


if __name__ == "__main__":
    main()
