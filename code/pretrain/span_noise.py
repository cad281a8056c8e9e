# SPDX-License-Identifier: MIT
"""Which tokens span corruption cuts out: how many, in how many spans, and where.

Paper: Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4 and 3.3.4.

Implemented: the exact counts, all admissible choices equally likely, and the option of the released
code that evens out the positions; and, for a model whose readers choose the gaps, noise that is
drawn token by token, so that a text may have one gap or many.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor


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
        ValueError: More segments than items, or none; or n_rows < 0.

    Source: Raffel et al. 2020 (arXiv:1910.10683), released code: cuts at a random choice of gaps.
    """
    if not 1 <= n_segments <= n_items:
        raise ValueError(f"expected n_segments in 1..{n_items}, got {n_segments}")
    if n_rows < 0:
        raise ValueError(f"expected n_rows >= 0, got {n_rows}")
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
        ValueError: As `count_spans`, or batch_size < 0.

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


def geometric_noise(
    batch_size: int,
    seq_len: int,
    *,
    generator: Generator,
    noise_shares: tuple[float, float] = (0.03, 0.3),
    mean_span_len: float = 3.0,
    max_spans: int = 99,
) -> Tensor:
    """Choose spans token by token: each sequence has a share of its own, and spans of any length.

    A token is cut out with a chance that depends only on whether the one before it was: so the
    lengths of the spans, and those of the runs between them, are geometric.

    Args:
        batch_size: Number of sequences B.
        seq_len: Length T of each, in tokens, at least 2.
        generator: Source of randomness.
        noise_shares: Least and greatest expected share of tokens that is cut out; each sequence
            draws its own between them.
        mean_span_len: Mean length of a span, in tokens, if none met the end of the text.
        max_spans: Spans after these are left out.

    Returns:
        bool (B, T), True = cut out. The first token always stays, and each row has a span.

    Raises:
        ValueError: A shorter text, shares outside (0, 1) or in the wrong order, a mean length or
            a number of spans below 1, a share too large for the mean length, or batch_size < 0.
    """
    if batch_size < 0:
        raise ValueError(f"expected batch_size >= 0, got {batch_size}")
    low, high = noise_shares
    if seq_len < 2 or not 0 < low <= high < 1 or not mean_span_len >= 1 or max_spans < 1:
        raise ValueError(
            "expected seq_len >= 2, 0 < noise_shares in order < 1, mean_span_len >= 1 and "
            f"max_spans >= 1, got {seq_len}, {noise_shares}, {mean_span_len} and {max_spans}"
        )
    if high > mean_span_len / (1 + mean_span_len):
        raise ValueError(
            f"expected a share of at most {mean_span_len / (1 + mean_span_len):.3f}, or there "
            f"would be no room between the spans, got {high}"
        )
    share = low + (high - low) * torch.rand(batch_size, 1, generator=generator)
    start = share / (1 - share) / mean_span_len  # chance after a kept token
    go_on = 1 - 1 / mean_span_len  # chance after one that was cut out
    draws = torch.rand(batch_size, seq_len, generator=generator)
    noise = torch.zeros(batch_size, seq_len, dtype=torch.bool)
    for t in range(1, seq_len):
        noise[:, t] = draws[:, t] < torch.where(noise[:, t - 1], go_on, start[:, 0])
    place = torch.randint(1, seq_len, (batch_size,), generator=generator)
    empty = ~noise.any(dim=1)
    noise[empty, place[empty]] = True
    starts = noise & ~F.pad(noise, (1, 0))[:, :-1]
    return noise & (starts.cumsum(dim=1) <= max_spans)


def find_spans(noise: Tensor) -> list[tuple[int, int]]:
    """List the spans of one sequence.

    Args:
        noise: bool (T,), True = cut out.

    Returns:
        (start, end) of each span, in tokens, end excluded.

    Raises:
        ValueError: noise is not (T,).
    """
    if noise.dim() != 1:
        raise ValueError(f"expected noise (T,), got shape {tuple(noise.shape)}")
    edges = F.pad(noise.long(), (1, 1)).diff()
    starts, ends = ((edges == sign).nonzero().flatten().tolist() for sign in (1, -1))
    return list(zip(starts, ends, strict=True))
