# SPDX-License-Identifier: MIT
"""Span corruption: cut spans out of a text, and ask for them in order.

Paper: Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4 and 3.3.

From the bottom up: how many tokens and spans, where they lie, the encoder's input and the decoder's
target with their sentinels, and the way back to the text. The target's end differs between the
paper, whose figure 2 closes it with one more sentinel, and the released code, which closes it with
the end-of-sequence id (both sequences get one); `final_sentinel` and `eos_id` say which.

Left out: the other corruptions of the 2020 study.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor


@dataclass(frozen=True)
class SpanCorruption:
    """How spans are cut out and marked. The i-th span has the sentinel first_sentinel_id - i."""

    first_sentinel_id: int
    n_sentinels: int = 100  # ids that are sentinels, counted down; none may be in the text
    noise_density: float = 0.15  # share of the tokens that is cut out
    mean_noise_span_length: float = 3.0  # in tokens
    random_roll: bool = False  # turn the pattern of spans, see `random_noise`
    final_sentinel: bool = True  # one more sentinel closes the target
    eos_id: int | None = None  # closes input and target; None = nothing does
    pad_id: int = 0  # fills rows up to the longest one, and is what a decoder starts from

    def __post_init__(self) -> None:
        """Refuse what marks nothing."""
        if not 1 <= self.n_sentinels <= self.first_sentinel_id + 1:
            raise ValueError(
                f"expected n_sentinels in 1..{self.first_sentinel_id + 1}, counted down from "
                f"{self.first_sentinel_id}, got {self.n_sentinels}"
            )

    @property
    def sentinels(self) -> range:
        """All ids that are sentinels, the lowest (last used) one first."""
        return range(self.first_sentinel_id - self.n_sentinels + 1, self.first_sentinel_id + 1)


class SpanCounts(NamedTuple):
    """How many tokens of a sequence are cut out, and how many spans they form."""

    n_noise: int
    n_spans: int


class SpanCorrupted(NamedTuple):
    """What the corrupting functions return; without B when one sequence was given."""

    inputs: Tensor  # int64 (B, S): what the encoder reads, padded on the right
    targets: Tensor  # int64 (B, T): what the decoder is to write, padded on the right
    input_mask: Tensor  # bool (B, S): True = real token of inputs
    target_mask: Tensor  # bool (B, T): True = real token of targets
    noise: Tensor  # bool, the shape of the text: True = cut out


def count_spans(
    seq_len: int, *, noise_density: float = 0.15, mean_noise_span_length: float = 3.0
) -> SpanCounts:
    """Say how many tokens are cut out of a sequence, and in how many spans.

    round(noise_density T) tokens in round(tokens / mean_noise_span_length) spans, at least one
    each, and so few that a token stays before every span.

    Source: Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4 and 3.3.4, and its released code.
    """
    if seq_len < 2 or not 0 < noise_density < 1 or not mean_noise_span_length >= 1:
        raise ValueError(
            "expected seq_len >= 2, noise_density in (0, 1) and mean_noise_span_length >= 1, got "
            f"{seq_len}, {noise_density} and {mean_noise_span_length}"
        )
    n_noise = min(max(round(noise_density * seq_len), 1), seq_len - 1)
    n_spans = min(max(round(n_noise / mean_noise_span_length), 1), seq_len - n_noise)
    return SpanCounts(n_noise, n_spans)


def random_segments(n_rows: int, n_items: int, n_segments: int, *, generator: Generator) -> Tensor:
    """Cut rows of n_items into segments, none of them empty, all ways equally likely.

    Returns:
        Lengths of the segments, int64 (n_rows, n_segments); each row sums to n_items.

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
    noise_density: float = 0.15,
    mean_noise_span_length: float = 3.0,
    random_roll: bool = False,
) -> Tensor:
    """Choose the tokens that are cut out: spans in turn with kept tokens, kept ones first.

    So the first token always stays and the last is always cut out. With random_roll, the whole
    pattern is turned by a random offset; then every position is cut equally often, but a span may
    be divided between the two ends of the text and count as two.

    Returns:
        bool (B, T), True = cut out; the counts in each row are those of `count_spans`.

    Source: Raffel et al. 2020 (arXiv:1910.10683), released code (where the roll is off too).
    """
    n_noise, n_spans = count_spans(
        seq_len, noise_density=noise_density, mean_noise_span_length=mean_noise_span_length
    )
    kept = random_segments(batch_size, seq_len - n_noise, n_spans, generator=generator)
    cut = random_segments(batch_size, n_noise, n_spans, generator=generator)
    lengths = torch.stack([kept, cut], dim=2)  # (B, n_spans, 2): kept, cut, kept, cut ...
    is_cut = torch.tensor([False, True]).repeat(batch_size * n_spans)
    noise = is_cut.repeat_interleave(lengths.flatten()).view(batch_size, seq_len)
    if not random_roll:
        return noise
    offsets = torch.randint(seq_len, (batch_size, 1), generator=generator)
    return noise.gather(1, (torch.arange(seq_len) - offsets) % seq_len)


def find_spans(noise: Tensor) -> list[tuple[int, int]]:
    """List (start, end) of each span of one sequence, end excluded; noise is bool (T,)."""
    edges = F.pad(noise.long(), (1, 1)).diff()
    starts, ends = ((edges == sign).nonzero().flatten().tolist() for sign in (1, -1))
    return list(zip(starts, ends, strict=True))


def corrupt_spans(ids: Tensor, spans: SpanCorruption, *, generator: Generator) -> SpanCorrupted:
    """Cut random spans out of texts: the input keeps the rest, the target the spans.

    Args:
        ids: int64 (B, T) or (T,), texts of T >= 2 tokens; left unchanged.
        spans: How much is cut out, and what marks it.

    Returns:
        Inputs, targets, their masks, and what was cut out.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.4 and figure 2.
    """
    if ids.dim() not in (1, 2):
        raise ValueError(f"expected ids (B, T) or (T,), got shape {tuple(ids.shape)}")
    text = ids if ids.dim() == 2 else ids[None]
    noise = random_noise(
        *text.shape,
        generator=generator,
        noise_density=spans.noise_density,
        mean_noise_span_length=spans.mean_noise_span_length,
        random_roll=spans.random_roll,
    )
    corrupted = corrupt_with_noise_mask(text, noise, spans)
    return corrupted if ids.dim() == 2 else SpanCorrupted(*(x[0] for x in corrupted))


def corrupt_given_spans(
    ids: Tensor, places: Sequence[tuple[int, int]], spans: SpanCorruption
) -> SpanCorrupted:
    """Cut given spans out of one text.

    Args:
        ids: int64 (T,), the text.
        places: (start, end) of each span, in tokens, end excluded; in order, with at least one
            token between two of them.
        spans: What marks them.

    Returns:
        Input (S,), target (T,), their masks, which are True throughout, and what was cut out.
    """
    if ids.dim() != 1:
        raise ValueError(f"expected ids (T,), got shape {tuple(ids.shape)}")
    noise = torch.zeros(ids.shape, dtype=torch.bool)
    earliest = 0
    for start, end in places:
        if not earliest <= start < end <= len(ids):
            raise ValueError(
                f"expected spans (start, end) inside 0..{len(ids)}, in order, not empty and not "
                f"touching, got {list(places)}"
            )
        noise[start:end] = True
        earliest = end + 1
    corrupted = corrupt_with_noise_mask(ids[None], noise[None], spans)
    return SpanCorrupted(*(x[0] for x in corrupted))


def corrupt_with_noise_mask(text: Tensor, noise: Tensor, spans: SpanCorruption) -> SpanCorrupted:
    """Cut chosen tokens out of texts.

    Args:
        text: int64 (B, T), token ids, B >= 1; left unchanged.
        noise: bool (B, T), True = cut out; each run of True is a span.
        spans: What marks them.

    Returns:
        Inputs, targets, their masks, and the noise itself.

    Raises:
        ValueError: Sentinels in the text, or more spans than there are sentinels.
    """
    if text.dim() != 2 or noise.shape != text.shape or len(text) < 1 or noise.dtype != torch.bool:
        raise ValueError(
            "expected text (B, T), B >= 1, and noise bool of the same shape, got "
            f"{tuple(text.shape)} and {noise.dtype} {tuple(noise.shape)}"
        )
    starts = noise & ~F.pad(noise, (1, 0))[:, :-1]  # (B, T): first token of each span
    n_spans = starts.sum(dim=1, keepdim=True)  # (B, 1)
    _check_sentinels(text, int(n_spans.max()) + spans.final_sentinel, spans)
    sentinels = spans.first_sentinel_id + 1 - starts.cumsum(dim=1)
    # Before each token stands the sentinel of a span that would start there. The input keeps the
    # sentinels of real starts and the tokens outside, the target the same ones and those inside.
    read = written = torch.stack([sentinels, text], dim=2).flatten(1)  # (B, 2 T)
    keep_read = torch.stack([starts, ~noise], dim=2).flatten(1)
    keep_written = torch.stack([starts, noise], dim=2).flatten(1)
    if spans.final_sentinel:
        written = torch.cat([written, spans.first_sentinel_id - n_spans], dim=1)
        keep_written = F.pad(keep_written, (0, 1), value=True)
    if spans.eos_id is not None:
        read, written = (F.pad(x, (0, 1), value=spans.eos_id) for x in (read, written))
        keep_read, keep_written = (F.pad(x, (0, 1), value=True) for x in (keep_read, keep_written))
    inputs, input_mask = _pack(read, keep_read, spans.pad_id)
    targets, target_mask = _pack(written, keep_written, spans.pad_id)
    return SpanCorrupted(inputs, targets, input_mask, target_mask, noise)


def fill_spans(inputs: Tensor, targets: Tensor, spans: SpanCorruption) -> Tensor:
    """Put the spans back: the text that `corrupt_spans` was given.

    Args:
        inputs: int64 (S,), without padding.
        targets: int64 (T,), without padding; the corruption's, or what a model wrote.
        spans: What marks them.

    Returns:
        The text, int64 (L,).

    Raises:
        ValueError: The sentinels of targets are not those of inputs, with at most one more at
            the end, or a sentinel comes twice.
    """
    kept, written = (_without_eos(ids, spans.eos_id) for ids in (inputs, targets))
    asked = [token for token in kept if token in spans.sentinels]
    given = [token for token in written if token in spans.sentinels]
    repeated = len(set(given)) < len(given)
    if len(given) == len(asked) + 1 and written[-1] == given[-1]:  # the final one marks an end only
        given, written = given[:-1], written[:-1]
    if repeated or given != asked or written[:1] != given[:1]:
        raise ValueError(
            f"expected targets that start with a sentinel and have those of inputs, {asked}, "
            f"got {written}"
        )
    found: dict[int, list[int]] = {}
    for token in written:
        if token in spans.sentinels:
            span = found.setdefault(token, [])
        else:
            span.append(token)
    pieces = [found[token] if token in spans.sentinels else [token] for token in kept]
    return torch.tensor([token for piece in pieces for token in piece], dtype=torch.int64)


def _check_sentinels(text: Tensor, n_used: int, spans: SpanCorruption) -> None:
    """Refuse a text with sentinels in it, and more spans than there are sentinels."""
    if n_used > spans.n_sentinels:
        raise ValueError(f"expected at most {spans.n_sentinels} sentinels, got a need of {n_used}")
    last, first = spans.sentinels[0], spans.sentinels[-1]
    inside = text[(text >= last) & (text <= first)]
    if len(inside):
        raise ValueError(
            f"expected a text without the sentinels {last}..{first}, "
            f"got {sorted(set(inside.tolist()))[:5]}"
        )


def _pack(values: Tensor, keep: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    """Move what is kept of each row, (B, L), to the left, and fill up with padding."""
    n_kept = keep.sum(dim=1, keepdim=True)
    order = (~keep).long().argsort(dim=1, stable=True)[:, : int(n_kept.max())]
    real = torch.arange(order.shape[1]) < n_kept
    return values.gather(1, order).masked_fill(~real, pad_id), real


def _without_eos(ids: Tensor, eos_id: int | None) -> list[int]:
    """Give one sequence as a list, without an end-of-sequence id at its end."""
    tokens: list[int] = ids.tolist()
    return tokens[:-1] if eos_id is not None and tokens[-1:] == [eos_id] else tokens
