# SPDX-License-Identifier: MIT
"""Which tokens span corruption cuts out: how many, in how many spans, and where.

Paper: Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4 and 3.3.4.

Implemented: the exact counts, all admissible choices equally likely, and the option of the released
code that evens out the positions; and, for a model whose readers choose the gaps, noise that is
drawn token by token, so that a text may have one gap or many.

Span corruption: cut spans out of a text, and ask for them in order.

Paper: Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4 and 3.3.

Implemented: the encoder's input and the decoder's target with their sentinels, for random and for
given spans, and the way back to the text; `pretrain.span_corruption` draws the spans. Left out: the
other corruptions of the 2020 study.

The target's end differs between the paper, whose figure 2 closes it with one more sentinel, and
the released code, which closes it with the end-of-sequence id (both sequences get one). Here
`final_sentinel` and `eos_id` say which; the paper's form is the default.
"""

from collections.abc import Sequence
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
        ids: int64 (B, T) or (T,), texts of T >= 2 tokens, B >= 1; left unchanged.
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
        ValueError: Wrong shape or type, sentinels in the text, too few of them, or as
            `count_spans`.

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
    corrupted = cut_out(
        text,
        noise,
        first_sentinel_id=first_sentinel_id,
        n_sentinels=n_sentinels,
        final_sentinel=final_sentinel,
        eos_id=eos_id,
        pad_id=pad_id,
    )
    return corrupted if ids.dim() == 2 else SpanCorrupted(*(x[0] for x in corrupted))


def apply_spans(
    ids: Tensor,
    spans: Sequence[tuple[int, int]],
    *,
    first_sentinel_id: int,
    n_sentinels: int = 100,
    final_sentinel: bool = True,
    eos_id: int | None = None,
) -> SpanCorrupted:
    """Cut given spans out of one text.

    Args:
        ids: int64 (T,), the text.
        spans: (start, end) of each span, in tokens, end excluded; in order, with at least one
            token between two of them.
        first_sentinel_id: Id of the first sentinel; the others count down from it.
        n_sentinels: Number of ids that are sentinels; none of them may be in the text.
        final_sentinel: Whether one more sentinel closes the target.
        eos_id: Id that closes input and target; None = none.

    Returns:
        Input (S,), target (T,), their masks, which are True throughout, and what was cut out.

    Raises:
        ValueError: ids is not (T,) or no whole numbers; spans that are empty, touch, overlap or
            leave the text; sentinels in the text, or too few of them.

    Source: Raffel et al. 2020 (arXiv:1910.10683), figure 2.
    """
    if ids.dim() != 1:
        raise ValueError(f"expected ids (T,), got shape {tuple(ids.shape)}")
    noise = torch.zeros(ids.shape, dtype=torch.bool)
    earliest = 0
    for start, end in spans:
        if not earliest <= start < end <= len(ids):
            raise ValueError(
                f"expected spans (start, end) inside 0..{len(ids)}, in order, not empty and not "
                f"touching, got {list(spans)}"
            )
        noise[start:end] = True
        earliest = end + 1
    corrupted = cut_out(
        ids[None],
        noise[None],
        first_sentinel_id=first_sentinel_id,
        n_sentinels=n_sentinels,
        final_sentinel=final_sentinel,
        eos_id=eos_id,
        pad_id=0,
    )
    return SpanCorrupted(*(x[0] for x in corrupted))


def restore_spans(
    inputs: Tensor,
    targets: Tensor,
    *,
    first_sentinel_id: int,
    n_sentinels: int = 100,
    eos_id: int | None = None,
) -> Tensor:
    """Put the spans back: the text that `corrupt_spans` was given.

    Args:
        inputs: int64 (S,), without padding.
        targets: int64 (T,), without padding; the corruption's, or what a model wrote.
        first_sentinel_id: Id of the first sentinel.
        n_sentinels: Number of ids that are sentinels.
        eos_id: Id that may close input and target.

    Returns:
        The text, int64 (L,).

    Raises:
        ValueError: The sentinels of targets are not those of inputs, with at most one more at
            the end, a sentinel comes twice, or inputs and targets are not (S,) and (T,).
    """
    if inputs.dim() != 1 or targets.dim() != 1:
        raise ValueError(
            f"expected inputs (S,) and targets (T,), got shapes {tuple(inputs.shape)} and "
            f"{tuple(targets.shape)}"
        )
    kept, written = _without_eos(inputs, eos_id), _without_eos(targets, eos_id)
    sentinels = range(first_sentinel_id - n_sentinels + 1, first_sentinel_id + 1)
    asked = [token for token in kept if token in sentinels]
    given = [token for token in written if token in sentinels]
    repeated = len(set(given)) < len(given)
    if len(given) == len(asked) + 1 and written[-1] == given[-1]:  # the final one marks an end only
        given, written = given[:-1], written[:-1]
    if repeated or given != asked or written[:1] != given[:1]:
        raise ValueError(
            f"expected targets that start with a sentinel and have those of inputs, {asked}, "
            f"got {written}"
        )
    spans: dict[int, list[int]] = {}
    for token in written:
        if token in sentinels:
            span = spans.setdefault(token, [])
        else:
            span.append(token)
    pieces = [spans[token] if token in sentinels else [token] for token in kept]
    return torch.tensor([token for piece in pieces for token in piece], dtype=torch.int64)


def cut_out(
    text: Tensor,
    cut: Tensor,
    *,
    first_sentinel_id: int,
    n_sentinels: int = 100,
    final_sentinel: bool = True,
    eos_id: int | None = None,
    pad_id: int = 0,
) -> SpanCorrupted:
    """Cut chosen tokens out of texts: `corrupt_spans` for a choice that was made elsewhere.

    Args:
        text: int64 (B, T), token ids, B >= 1; left unchanged.
        cut: bool (B, T), True = cut out; each run of True is a span.
        first_sentinel_id: Id of the first sentinel; the others count down from it.
        n_sentinels: Number of ids that are sentinels; none of them may be in the text.
        final_sentinel: Whether one more sentinel closes the target.
        eos_id: Id that closes input and target; None = none.
        pad_id: Fills rows up to the longest one.

    Returns:
        Inputs, targets, their masks, and cut itself.

    Raises:
        ValueError: Shapes that differ, no text, another type than whole numbers and bool,
            sentinels in the text, or too few of them.
    """
    if text.dim() != 2 or cut.shape != text.shape or len(text) < 1:
        raise ValueError(
            f"expected text and cut of one shape (B, T), B >= 1, got {tuple(text.shape)} and "
            f"{tuple(cut.shape)}"
        )
    if text.is_floating_point() or cut.dtype != torch.bool:  # ~ of whole numbers is not "not"
        raise ValueError(
            f"expected text in whole numbers and cut in bool, got {text.dtype} and {cut.dtype}"
        )
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


def _without_eos(ids: Tensor, eos_id: int | None) -> list[int]:
    """Give one sequence as a list, without an end-of-sequence id at its end."""
    tokens: list[int] = ids.tolist()
    return tokens[:-1] if eos_id is not None and tokens[-1:] == [eos_id] else tokens
