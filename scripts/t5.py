"""Train a small T5 on a text and judge which labels it has learned on unseen text.

Chapter 6 of the book in one file: subwords, span corruption, encoder-decoder, loss, and the table
of the chapter, which takes the mean loss apart. Needs torch and nothing else.

    python t5.py plays.txt --seed 0

Made from the book's package by `make scripts`; edit that, not this file.
"""

import argparse
import heapq
import json
import math
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

# torch works without NumPy, which this file does not need, and would warn about it.
warnings.filterwarnings("ignore", "Failed to initialize NumPy", UserWarning)


import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

# ---- pretrain.span_noise: Which tokens span corruption cuts out: how many, in how many spans,
# and where.


class SpanCounts(NamedTuple):
    """How much of a sequence is cut out."""

    n_noise: int
    """Tokens."""
    n_spans: int
    """Spans that they form."""


def count_spans(
    seq_len: int, *, noise_share: float = 0.15, mean_span_len: float = 3.0
) -> SpanCounts:
    """Say how many tokens are cut out of a sequence, and in how many spans.

    round(noise_share T) tokens in round(tokens / mean_span_len) spans, at least one each, and so
    few that a token stays before every span.

    Args:
        seq_len: Length T of the text, in tokens, at least 2.
        noise_share: Share of the tokens that is cut out.
        mean_span_len: Mean length of a span, in tokens.

    Returns:
        The two counts; they depend on nothing else.

    Raises:
        ValueError: A shorter text, a share outside (0, 1), or a mean length below 1.

    Source: Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4 and 3.3.4, and its released code.
    """
    if seq_len < 2 or not 0 < noise_share < 1 or not mean_span_len >= 1:
        raise ValueError(
            "expected seq_len >= 2, noise_share in (0, 1) and mean_span_len >= 1, got "
            f"{seq_len}, {noise_share} and {mean_span_len}"
        )
    n_noise = min(max(round(noise_share * seq_len), 1), seq_len - 1)
    n_spans = min(max(round(n_noise / mean_span_len), 1), seq_len - n_noise)
    return SpanCounts(n_noise, n_spans)


def random_segments(n_rows: int, n_items: int, n_segments: int, *, generator: Generator) -> Tensor:
    """Cut a row of items into segments, all ways equally likely.

    Args:
        n_rows: Number of independent draws R.
        n_items: Items in each.
        n_segments: Segments, none of them empty, so at most n_items.
        generator: Source of randomness.

    Returns:
        Lengths of the segments, int64 (R, n_segments); each row sums to n_items.

    Raises:
        ValueError: More segments than items, or none.

    Source: Raffel et al. 2020 (arXiv:1910.10683), released code: cuts at a random choice of gaps.
    """
    if not 1 <= n_segments <= n_items:
        raise ValueError(f"expected n_segments in 1..{n_items}, got {n_segments}")
    # In float64 two equal draws, which the sort would not order at random, do not occur.
    draws = torch.rand(n_rows, n_items - 1, generator=generator, dtype=torch.float64)
    cuts = draws.argsort(dim=1)[:, : n_segments - 1].sort(dim=1).values + 1
    return F.pad(F.pad(cuts, (1, 0)), (0, 1), value=n_items).diff(dim=1)


def random_noise(
    batch_size: int,
    seq_len: int,
    *,
    generator: Generator,
    noise_share: float = 0.15,
    mean_span_len: float = 3.0,
    roll: bool = False,
) -> Tensor:
    """Choose the tokens that are cut out: spans in turn with kept tokens, kept ones first.

    So the first token always stays and the last is always cut out. With roll, the whole pattern
    is turned by a random offset; then every position is cut equally often, but a span may be
    divided between the two ends of the text and count as two.

    Args:
        batch_size: Number of sequences B.
        seq_len: Length T of each, in tokens.
        generator: Source of randomness.
        noise_share: Share of the tokens that is cut out.
        mean_span_len: Mean length of a span, in tokens.
        roll: Whether to turn the pattern (an option of the released code, off there as here).

    Returns:
        bool (B, T), True = cut out; the counts in each row are those of `count_spans`.

    Raises:
        ValueError: As `count_spans`.

    Source: Raffel et al. 2020 (arXiv:1910.10683), released code.
    """
    n_noise, n_spans = count_spans(seq_len, noise_share=noise_share, mean_span_len=mean_span_len)
    kept = random_segments(batch_size, seq_len - n_noise, n_spans, generator=generator)
    cut = random_segments(batch_size, n_noise, n_spans, generator=generator)
    lengths = torch.stack([kept, cut], dim=2)  # (B, n_spans, 2): kept, cut, kept, cut ...
    is_cut = torch.tensor([False, True]).repeat(batch_size * n_spans)
    noise = is_cut.repeat_interleave(lengths.flatten()).view(batch_size, seq_len)
    if not roll:
        return noise
    offsets = torch.randint(seq_len, (batch_size, 1), generator=generator)
    return noise.gather(1, (torch.arange(seq_len) - offsets) % seq_len)


# ---- pretrain.spans: Span corruption: cut spans out of a text, and ask for them in order.


class SpanCorrupted(NamedTuple):
    """What the corrupting functions return; without B when one sequence was given."""

    inputs: Tensor
    """int64 (B, S): what the encoder reads, padded on the right."""
    targets: Tensor
    """int64 (B, T): what the decoder is to write, padded on the right."""
    input_mask: Tensor
    """bool (B, S): True = real token of inputs."""
    target_mask: Tensor
    """bool (B, T): True = real token of targets."""
    noise: Tensor
    """bool, the shape of the text: True = cut out."""


def corrupt_spans(
    ids: Tensor,
    *,
    first_sentinel_id: int,
    generator: Generator,
    n_sentinels: int = 100,
    noise_share: float = 0.15,
    mean_span_len: float = 3.0,
    roll: bool = False,
    final_sentinel: bool = True,
    eos_id: int | None = None,
    pad_id: int = 0,
) -> SpanCorrupted:
    """Cut random spans out of texts: the input keeps the rest, the target the spans.

    The i-th span is replaced by the sentinel first_sentinel_id - i, and stands behind the same
    sentinel in the target.

    Args:
        ids: int64 (B, T) or (T,), texts of T >= 2 tokens; left unchanged.
        first_sentinel_id: Id of the first sentinel; the others count down from it.
        generator: Source of randomness.
        n_sentinels: Number of ids that are sentinels; none of them may be in the text.
        noise_share: Share of the tokens that is cut out.
        mean_span_len: Mean length of a span, in tokens.
        roll: Whether to turn the pattern; see `random_noise`.
        final_sentinel: Whether one more sentinel closes the target.
        eos_id: Id that closes input and target; None = none.
        pad_id: Fills rows up to the longest one, which only roll makes necessary.

    Returns:
        Inputs, targets, their masks, and what was cut out.

    Raises:
        ValueError: Wrong shape, sentinels in the text, too few of them, or as `count_spans`.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.4 and figure 2.
    """
    if ids.dim() not in (1, 2):
        raise ValueError(f"expected ids (B, T) or (T,), got shape {tuple(ids.shape)}")
    text = ids if ids.dim() == 2 else ids[None]
    noise = random_noise(
        *text.shape,
        generator=generator,
        noise_share=noise_share,
        mean_span_len=mean_span_len,
        roll=roll,
    )
    corrupted = _cut_out(
        text,
        noise,
        first_sentinel_id=first_sentinel_id,
        n_sentinels=n_sentinels,
        final_sentinel=final_sentinel,
        eos_id=eos_id,
        pad_id=pad_id,
    )
    return corrupted if ids.dim() == 2 else SpanCorrupted(*(x[0] for x in corrupted))


def _cut_out(
    text: Tensor,
    cut: Tensor,
    *,
    first_sentinel_id: int,
    n_sentinels: int,
    final_sentinel: bool,
    eos_id: int | None,
    pad_id: int,
) -> SpanCorrupted:
    """Write inputs and targets of texts (B, T) for a choice of tokens, bool (B, T)."""
    starts = cut & ~F.pad(cut, (1, 0))[:, :-1]  # (B, T): first token of each span
    n_spans = starts.sum(dim=1, keepdim=True)  # (B, 1)
    _check_sentinels(text, int(n_spans.max()) + final_sentinel, first_sentinel_id, n_sentinels)
    sentinels = first_sentinel_id + 1 - starts.cumsum(dim=1)
    # Before each token stands the sentinel of a span that would start there. The input keeps the
    # sentinels of real starts and the tokens outside, the target the same ones and those inside.
    read = written = torch.stack([sentinels, text], dim=2).flatten(1)  # (B, 2 T)
    keep_read = torch.stack([starts, ~cut], dim=2).flatten(1)
    keep_written = torch.stack([starts, cut], dim=2).flatten(1)
    if final_sentinel:
        written = torch.cat([written, first_sentinel_id - n_spans], dim=1)
        keep_written = F.pad(keep_written, (0, 1), value=True)
    if eos_id is not None:
        read, written = (F.pad(x, (0, 1), value=eos_id) for x in (read, written))
        keep_read, keep_written = (F.pad(x, (0, 1), value=True) for x in (keep_read, keep_written))
    inputs, input_mask = _pack(read, keep_read, pad_id)
    targets, target_mask = _pack(written, keep_written, pad_id)
    return SpanCorrupted(inputs, targets, input_mask, target_mask, cut)


def _check_sentinels(text: Tensor, n_used: int, first_sentinel_id: int, n_sentinels: int) -> None:
    """Refuse a text with sentinels in it, and more spans than there are sentinels."""
    last = first_sentinel_id - n_sentinels + 1
    if last < 0:
        raise ValueError(
            f"expected n_sentinels in 1..{first_sentinel_id + 1}, counted down from "
            f"{first_sentinel_id}, got {n_sentinels}"
        )
    if n_used > n_sentinels:
        raise ValueError(f"expected at most {n_sentinels} sentinels, got a need of {n_used}")
    inside = text[(text >= last) & (text <= first_sentinel_id)]
    if len(inside):
        raise ValueError(
            f"expected a text without the sentinels {last}..{first_sentinel_id}, "
            f"got {sorted(set(inside.tolist()))[:5]}"
        )


def _pack(values: Tensor, keep: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    """Move what is kept of each row, (B, L), to the left, and fill up with padding."""
    n_kept = keep.sum(dim=1, keepdim=True)
    order = (~keep).long().argsort(dim=1, stable=True)[:, : int(n_kept.max())]
    real = torch.arange(order.shape[1]) < n_kept
    return values.gather(1, order).masked_fill(~real, pad_id), real


# ---- single_file.merges: Byte-pair encoding in plain Python: the vocabulary of chapter 3 without
# a library.

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "</s>")

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))

WORD = re.compile(r" ?[A-Za-z]+| ?\d| ?[^\sA-Za-z\d]+|\s")

Pair = tuple[int, int]


class Subwords:
    """Map a text to ids of subwords and back: special tokens, pieces, then sentinels."""

    def __init__(self, text: str, vocab_size: int = 3000, n_sentinels: int = 64) -> None:
        """Learn the pieces from a text.

        Args:
            text: Printable ASCII and line breaks.
            vocab_size: Number of ids V, all included.
            n_sentinels: Number of tokens <extra_id_n>, which count down from the last id.

        Raises:
            ValueError: The text holds another character, or is too short for so many pieces.
        """
        if unknown := sorted(set(text) - set(ALPHABET)):
            raise ValueError(f"expected printable ASCII and line breaks, got {unknown[:8]}")
        self.tokens = [*SPECIALS, *ALPHABET]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.ranks: dict[Pair, int] = {}
        self._cache: dict[str, list[int]] = {}
        self._learn(Counter(WORD.findall(text)), vocab_size - n_sentinels)
        self.sentinel_ids = [vocab_size - 1 - n for n in range(n_sentinels)]
        self.tokens += [f"<extra_id_{n}>" for n in reversed(range(n_sentinels))]

    def _learn(self, words: Counter[str], n_pieces: int) -> None:
        """Join the most frequent pair of neighbours, again and again; ties go to the lower ids."""
        spelled = [[self.ids[c] for c in word] for word in words]
        often = list(words.values())
        counts: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)
        for n, word in enumerate(spelled):
            for pair in pairwise(word):
                counts[pair] += often[n]
                places[pair].add(n)
        heap = [(-count, pair) for pair, count in counts.items()]
        heapq.heapify(heap)
        while len(self.tokens) < n_pieces:
            if not heap:
                raise ValueError(f"expected a longer text, got no pair for id {len(self.tokens)}")
            count, pair = heapq.heappop(heap)
            if -count != counts[pair] or not counts[pair]:
                continue  # an old entry; the pair was pushed again when its count changed
            self.ranks[pair] = self._new_piece(pair)
            changed: set[Pair] = set()
            for n in places.pop(pair):
                before = Counter(pairwise(spelled[n]))
                spelled[n] = join(spelled[n], pair, self.ranks[pair])
                after = Counter(pairwise(spelled[n]))
                for other in before.keys() | after.keys():
                    if after[other] != before[other]:
                        counts[other] += often[n] * (after[other] - before[other])
                        changed.add(other)
                    if after[other]:
                        places[other].add(n)
            for other in changed:
                if counts[other] > 0:
                    heapq.heappush(heap, (-counts[other], other))

    def _new_piece(self, pair: Pair) -> int:
        """Give the id of two joined tokens, a new one unless the piece is known."""
        piece = self.tokens[pair[0]] + self.tokens[pair[1]]
        if piece not in self.ids:
            self.ids[piece] = len(self.tokens)
            self.tokens.append(piece)
        return self.ids[piece]

    def encode(self, text: str) -> Tensor:
        """Turn a text into ids: in each word, join the pair that was learned first.

        Args:
            text: Printable ASCII and line breaks.

        Returns:
            int64 (T,).

        Raises:
            ValueError: The text holds another character.
        """
        if unknown := sorted(set(text) - set(ALPHABET)):
            raise ValueError(f"expected printable ASCII and line breaks, got {unknown[:8]}")
        return torch.tensor([i for word in WORD.findall(text) for i in self._word(word)])

    def _word(self, word: str) -> list[int]:
        """Cut one word, each word only once."""
        if word not in self._cache:
            ids = [self.ids[c] for c in word]
            while known := [p for p in pairwise(ids) if p in self.ranks]:
                best = min(known, key=self.ranks.__getitem__)
                ids = join(ids, best, self.ranks[best])
            self._cache[word] = ids
        return self._cache[word]

    def decode(self, ids: Tensor) -> str:
        """Turn ids back into text; special tokens appear by their names.

        Args:
            ids: int64 (T,).

        Returns:
            The text.
        """
        return "".join(self.tokens[i] for i in ids.tolist())


def join(word: list[int], pair: Pair, piece: int) -> list[int]:
    """Replace each occurrence of a pair by its piece, from the left.

    Args:
        word: Ids.
        pair: The two neighbours.
        piece: Their id together.

    Returns:
        Ids.
    """
    joined: list[int] = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            joined.append(piece)
            i += 2
        else:
            joined.append(word[i])
            i += 1
    return joined


# ---- pretrain.objectives: What a model is asked to predict: the next token, or the hidden ones.

IGNORE_INDEX = -100
"""Label of a position that is not predicted; `cross_entropy` skips it."""

BatchLoss = Callable[[nn.Module, Generator], Tensor]
"""Draws a batch with the generator and returns the model's mean loss, in nats per prediction."""


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


# ---- pretrain.attention: Scaled dot-product attention, multi-head attention and its key-value
# cache.


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


# ---- pretrain.layers: The Transformer block that all three models are stacked from.

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}

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


# ---- pretrain.positions: How a model is told the order of its tokens.


def relative_position_bucket(
    distance: Tensor, *, bidirectional: bool, n_buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """Sort relative distances into T5's buckets: exact when near, logarithmic when far.

    Args:
        distance: int64, any shape. Key position minus query position, in tokens.
        bidirectional: True in an encoder, where half the buckets serve keys to the right;
            False in a decoder, where those keys are hidden anyway.
        n_buckets: Number of buckets.
        max_distance: Distance from which on all share the last bucket, in tokens.

    Returns:
        int64, the shape of distance, values in 0..n_buckets - 1.

    Raises:
        ValueError: n_buckets is too small to split, or max_distance does not exceed the number
            of exact buckets.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1; default sizes from the same.
    """
    n_side = n_buckets // 2 if bidirectional else n_buckets
    n_exact = n_side // 2
    if n_exact < 1 or max_distance <= n_exact:
        raise ValueError(
            f"expected n_buckets >= {4 if bidirectional else 2} and max_distance > {n_exact}, "
            f"got {n_buckets} and {max_distance}"
        )
    offset = (distance > 0).long() * n_side if bidirectional else torch.zeros_like(distance)
    length = distance.abs() if bidirectional else (-distance).clamp(min=0)
    log_share = (length.clamp(min=1) / n_exact).log() / math.log(max_distance / n_exact)
    far = (n_exact + (log_share * (n_side - n_exact)).long()).clamp(max=n_side - 1)
    return offset + torch.where(length < n_exact, length, far)


# ---- pretrain.t5_attention: T5's attention: no scale, no bias vectors, and one number a distance
# added to the scores.


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


# ---- pretrain.masks: Who may look at whom: the boolean attention masks of BERT, GPT and T5.


def causal_mask(seq_len: int, *, n_past: int = 0, device: torch.device | None = None) -> Tensor:
    """Let every query read its own position and the ones before it.

    Args:
        seq_len: Number of queries T, in tokens.
        n_past: Keys that precede the first query, in tokens (the part held in a cache).
        device: Where the mask is made.

    Returns:
        bool (T, n_past + T), indexed [query, key]. True = may attend.

    Raises:
        ValueError: seq_len < 1 or n_past < 0.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.3.
    """
    if seq_len < 1 or n_past < 0:
        raise ValueError(f"expected seq_len >= 1 and n_past >= 0, got {seq_len} and {n_past}")
    key = torch.arange(n_past + seq_len, device=device)
    query = key[n_past:]
    return key[None, :] <= query[:, None]  # (T, n_past + T)


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


# ---- pretrain.t5_layers: The block of T5 and the stack, of which T5 has two: an encoder and a
# decoder.


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


# ---- pretrain.embeddings: The first layer of BERT and GPT: tokens, positions and, in BERT,
# segments, added up.


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


# ---- pretrain.t5: T5: an encoder that reads a text and a decoder that writes another, joined by
# cross-attention.


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


# ---- pretrain.seq2seq: Objectives with something to read and something to write: span corruption
# and prefixes.


def seq2seq_loss(
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    input_mask: Tensor | None = None,
    *,
    pad_id: int = 0,
) -> Tensor:
    """Score each label given the input and the labels before it.

    Args:
        model: A T5.
        inputs: int64 (B, S), what the encoder reads.
        labels: int64 (B, T), IGNORE_INDEX where nothing is predicted.
        input_mask: bool (B, S), True = real token of inputs; None = all real.
        pad_id: What the decoder starts from, and reads where a label is ignored.

    Returns:
        Mean loss in nats per label that is not ignored, sentinels and end included.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1: maximum likelihood of the target,
        with the true tokens before it as the decoder's input.
    """
    if input_mask is not None and input_mask.all():
        input_mask = None  # the same logits, without the work of a mask
    logits = model(inputs, shift_right(labels, pad_id=pad_id), input_mask)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX)


def span_corruption_loss(
    ids: Tensor,
    *,
    batch_size: int,
    seq_len: int,
    first_sentinel_id: int,
    n_sentinels: int = 100,
    noise_share: float = 0.15,
    mean_span_len: float = 3.0,
    roll: bool = False,
    final_sentinel: bool = True,
    eos_id: int | None = None,
    pad_id: int = 0,
) -> BatchLoss:
    """Make the loss of T5 on random windows, corrupted anew at each visit.

    Args:
        ids: int64 (L,), the tokens of the corpus, without sentinels.
        batch_size: Windows in a batch B.
        seq_len: Tokens of text in each, before the corruption.
        first_sentinel_id: Id of the first sentinel; the others count down from it.
        n_sentinels: Number of ids that are sentinels.
        noise_share: Share of the tokens that is cut out.
        mean_span_len: Mean length of a span, in tokens.
        roll: Whether to turn the pattern of spans; see `pretrain.span_noise.random_noise`.
        final_sentinel: Whether one more sentinel closes the target.
        eos_id: Id that closes input and target; None = none.
        pad_id: Padding, and what the decoder starts from.

    Returns:
        A function of model and generator; mean loss in nats per token of the target, sentinels
        included and padding not.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.4.
    """

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows, cut spans out and score what was cut out."""
        windows = random_windows(ids, batch_size, seq_len, generator=generator)
        corrupted = corrupt_spans(
            windows,
            first_sentinel_id=first_sentinel_id,
            generator=generator,
            n_sentinels=n_sentinels,
            noise_share=noise_share,
            mean_span_len=mean_span_len,
            roll=roll,
            final_sentinel=final_sentinel,
            eos_id=eos_id,
            pad_id=pad_id,
        )
        labels = corrupted.targets.masked_fill(~corrupted.target_mask, IGNORE_INDEX)
        return seq2seq_loss(model, corrupted.inputs, labels, corrupted.input_mask, pad_id=pad_id)

    return note_settings(
        loss, ids, kind="spans", batch_size=batch_size, seq_len=seq_len,
        first_sentinel_id=first_sentinel_id, n_sentinels=n_sentinels, noise_share=noise_share,
        mean_span_len=mean_span_len, roll=roll, final_sentinel=final_sentinel, eos_id=eos_id,
        pad_id=pad_id,
    )  # fmt: skip


SIZES: dict[str, Any] = {"d_model": 64, "n_layers": 1, "n_heads": 4}

PAD_ID, EOS_ID, FIRST_SENTINEL_ID, N_SENTINELS = 0, 5, 2999, 64

KINDS = {
    "opening": "first sentinel",
    "first": "first token of a span",
    "later": "its other tokens",
    "closing": "sentinel that ends a span",
    "end": "</s>",
}


def kinds_of(targets: Tensor) -> Tensor:
    """Say of each label which kind it is.

    Args:
        targets: int64 (B, T), unpadded.

    Returns:
        int64 (B, T), indices into KINDS.
    """
    names = list(KINDS)
    sentinel = targets > FIRST_SENTINEL_ID - N_SENTINELS
    behind = torch.cat([torch.zeros_like(sentinel[:, :1]), sentinel[:, :-1]], dim=1)
    kinds = torch.where(behind, names.index("first"), names.index("later"))
    kinds = kinds.masked_fill(sentinel, names.index("closing"))
    kinds[:, 0] = names.index("opening")
    return kinds.masked_fill(targets == EOS_ID, names.index("end"))


@torch.inference_mode()
def judge(model: T5, asked: SpanCorrupted, train_ids: Tensor) -> dict[str, dict[str, float]]:
    """Take the loss apart by kinds of labels, and compare the text with frequencies.

    Args:
        model: The trained model.
        asked: Unseen windows with holes.
        train_ids: int64 (L,), for the frequencies.

    Returns:
        Kind → number, nats and top1; "text" → nats, and nats by frequency.
    """
    log_probs = model(asked.inputs, shift_right(asked.targets)).log_softmax(dim=-1)
    nats = -log_probs.gather(-1, asked.targets[..., None])[..., 0]
    right = log_probs.argmax(dim=-1) == asked.targets
    kinds = kinds_of(asked.targets)
    found = {}
    for code, name in enumerate(KINDS):
        here = kinds == code
        found[name] = {"n": int(here.sum()), "nats": nats[here].mean().item()}
        found[name]["top1"] = right[here].double().mean().item()
    text = (kinds == 1) | (kinds == 2)
    counts = torch.bincount(train_ids, minlength=FIRST_SENTINEL_ID + 1) + 1.0
    unigram = -(counts / counts.sum()).log()[asked.targets]
    found["text"] = {"nats": nats[text].mean().item(), "nats_unigram": unigram[text].mean().item()}
    found["special"] = {"nats": nats[~text].mean().item()}
    return found


@torch.inference_mode()
def write(model: T5, inputs: Tensor, n_new: int) -> Tensor:
    """Let the model write, always the most likely token, until it ends.

    Args:
        model: The trained model.
        inputs: int64 (B, S).
        n_new: Most tokens to write.

    Returns:
        int64 (B, n_new), padded behind the end.
    """
    states = model.encode(inputs)
    text = inputs.new_full((len(inputs), 1), PAD_ID)
    ended = torch.zeros(len(inputs), dtype=torch.bool)
    for _ in range(n_new):
        chosen = model.decode(text, states)[:, -1].argmax(dim=-1).masked_fill(ended, PAD_ID)
        text = torch.cat([text, chosen[:, None]], dim=1)
        ended |= chosen == EOS_ID
    return text[:, 1:]


def has_form(written: Tensor, target: Tensor) -> bool:
    """Say whether an output has each special token of its target once and in order."""
    form = [
        [i for i in row.tolist() if i and (i <= EOS_ID or i > FIRST_SENTINEL_ID - N_SENTINELS)]
        for row in (written, target)
    ]
    return form[0] == form[1]


def main() -> None:
    """Train, print the table of the chapter and three answers."""
    options = parse_options("Train a small T5 on a text (chapter 6).", n_steps=500)
    train_text, unseen_text = read_texts(options)
    tokenizer = Subwords(train_text, FIRST_SENTINEL_ID + 1, N_SENTINELS)
    train_ids, unseen = tokenizer.encode(train_text), tokenizer.encode(unseen_text)
    holes: dict[str, Any] = {
        "first_sentinel_id": FIRST_SENTINEL_ID,
        "n_sentinels": N_SENTINELS,
        "eos_id": EOS_ID,
    }
    torch.manual_seed(options.seed)
    model = T5(len(tokenizer.tokens), **SIZES)
    losses = train(
        model, span_corruption_loss(train_ids, batch_size=32, seq_len=32, **holes),
        n_steps=options.steps, lr=5e-3, n_warmup=min(50, options.steps), final_lr=0.05,
        generator=Generator().manual_seed(options.seed),
    )  # fmt: skip
    windows = random_windows(unseen, 200, 32, generator=Generator().manual_seed(1))
    asked = corrupt_spans(windows, generator=Generator().manual_seed(1), **holes)
    found = judge(model, asked, train_ids)
    rows = [
        [name, f"{found[kind]['n']:,}", f"{found[kind]['nats']:.2f}", f"{found[kind]['top1']:.0%}"]
        for kind, name in KINDS.items()
    ]
    print_table(["label", "number", "nats", "top-1"], rows)
    wrote = write(model, asked.inputs, 16)
    n_form = sum(has_form(w, t) for w, t in zip(wrote, asked.targets, strict=True))
    print(f"\ntext: {found['text']['nats']:.2f} nats a token, "
          f"by frequency {found['text']['nats_unigram']:.2f}")  # fmt: skip
    print(f"right form: {n_form} of {len(wrote)} outputs")
    for read, answer in zip(asked.inputs[:3], wrote, strict=False):
        print(f"\nread:  {tokenizer.decode(read)!r}\nwrote: {tokenizer.decode(answer)!r}")
    save_run(options, losses, kinds=found, n_right_form=n_form)


if __name__ == "__main__":
    main()
