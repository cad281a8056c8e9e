# SPDX-License-Identifier: MIT
"""Pairs of text segments that follow each other, or do not.

Papers: Devlin et al. 2019 (arXiv:1810.04805), appendix A.2, for next-sentence prediction; Lan et
al. 2020 (ALBERT, arXiv:1909.11942), section 3.1, for the order of two segments. Left out: the
shortening of every tenth row, by which BERT's released code makes pairs of all lengths.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor

_MAX_DRAWS = 100
"""Rounds of drawing negatives anew before the documents are called too short."""


class Segments(NamedTuple):
    """Stretches of whole sentences, one from each sentence of a collection on."""

    ids: Tensor  # int64 (L,), all sentences behind each other
    starts: Tensor  # int64 (n,), the place of each segment's first token in ids
    lens: Tensor  # int64 (n,), in tokens
    ends: Tensor  # int64 (n,), the number of the first sentence behind the segment
    documents: Tensor  # int64 (n,), the number of the document

    def tokens(self, which: Tensor) -> list[Tensor]:
        """Give the ids of some segments, int64 (k,) -> list of int64 (length,)."""
        places = zip(self.starts[which].tolist(), self.lens[which].tolist(), strict=True)
        return [self.ids[start : start + length] for start, length in places]


class Pairs(NamedTuple):
    """Numbers of segments, and what a classifier should say of each pair; each int64 (n,)."""

    first: Tensor
    second: Tensor
    labels: Tensor  # 0 = the second follows the first, 1 = it does not


def find_segments(documents: Sequence[Sequence[Tensor]], max_tokens: int) -> Segments:
    """Gather, from each sentence on, as many whole sentences of its document as fit.

    A first sentence that is too long alone loses its end. So every segment begins where a sentence
    does, and nothing but its content tells what stood beside it. The sentences of each document are
    int64 (length,), none empty.

    Raises:
        ValueError: No sentence, an empty one, or max_tokens < 1.

    Source: Devlin et al. 2019, appendix A.2. differs: there the first segment ends after a random
        number of sentences, and the second fills the row.
    """
    sentences = [sentence for document in documents for sentence in document]
    lens = torch.tensor([len(sentence) for sentence in sentences])
    if not sentences or not lens.all() or max_tokens < 1:
        raise ValueError(
            f"expected sentences, none empty, and max_tokens >= 1, got {len(sentences)} sentences "
            f"and {max_tokens}"
        )
    numbers = torch.tensor([d for d, document in enumerate(documents) for _ in document])
    bounds = torch.cat([torch.zeros(1, dtype=torch.int64), lens.cumsum(dim=0)])  # (n + 1,)
    starts, own = bounds[:-1], torch.arange(len(lens))
    ends = torch.searchsorted(bounds, starts + max_tokens, right=True) - 1
    behind = torch.searchsorted(numbers, numbers, right=True)  # the next document's first
    ends = ends.minimum(behind).maximum(own + 1)
    taken = (bounds[ends] - starts).clamp(max=max_tokens)
    return Segments(torch.cat(sentences), starts, taken, ends, numbers)


def true_pairs(segments: Segments, n_pairs: int, *, generator: Generator) -> Pairs:
    """Draw segments with those that follow them; all labels are 0.

    Raises:
        ValueError: No document has two segments behind each other, or n_pairs < 0.
    """
    if n_pairs < 0:
        raise ValueError(f"expected n_pairs >= 0, got {n_pairs}")
    behind = segments.ends.clamp(max=len(segments.ends) - 1)
    same = segments.documents[behind] == segments.documents
    followed = (same & (segments.ends < len(segments.ends))).nonzero().flatten()
    if not len(followed):
        raise ValueError("expected a document with two segments behind each other, got none")
    first = followed[torch.randint(len(followed), (n_pairs,), generator=generator)]
    return Pairs(first, segments.ends[first], torch.zeros_like(first))


def next_sentence_pairs(
    segments: Segments, n_pairs: int, *, generator: Generator, reach: int | None = None
) -> Pairs:
    """Draw pairs of which half, by chance, do not follow each other (label 1).

    A false second segment comes from another document, as in BERT, or, with `reach`, from the same
    one: at most so many sentences away from the true one, and overlapping neither segment of the
    true pair.

    Raises:
        ValueError: Documents too few or too short for such pairs, n_pairs < 0, or reach < 1.

    Source: Devlin et al. 2019 (arXiv:1810.04805), appendix A.2; the labels are those of its code.
    """
    if reach is not None and reach < 1:
        raise ValueError(f"expected reach >= 1 or None, got {reach}")
    first, true, _ = true_pairs(segments, n_pairs, generator=generator)
    false = _draw_near(segments, true, reach, generator)
    for _ in range(_MAX_DRAWS):
        wrong = _is_wrong(segments, first, true, false, reach)
        if not wrong.any():
            break
        false = torch.where(wrong, _draw_near(segments, true, reach, generator), false)
    else:
        raise ValueError(
            f"expected documents with false pairs for reach={reach}, got {int(wrong.sum())} of "
            f"{n_pairs} first segments without one"
        )
    labels = torch.randint(2, (n_pairs,), generator=generator)
    return Pairs(first, torch.where(labels == 1, false, true), labels)


def sentence_order_pairs(segments: Segments, n_pairs: int, *, generator: Generator) -> Pairs:
    """Draw neighbours of which half, by chance, are swapped (label 1); ValueError as `true_pairs`.

    Source: Lan et al. 2020 (ALBERT, arXiv:1909.11942), section 3.1, sentence-order prediction.
    """
    first, second, _ = true_pairs(segments, n_pairs, generator=generator)
    labels = torch.randint(2, (n_pairs,), generator=generator)
    swapped = labels == 1
    return Pairs(torch.where(swapped, second, first), torch.where(swapped, first, second), labels)


def _draw_near(segments: Segments, true: Tensor, reach: int | None, generator: Generator) -> Tensor:
    """Draw a segment for each true one: any, or one of its document that lies near."""
    if reach is None:
        return torch.randint(len(segments.ends), true.shape, generator=generator)
    numbers, own = segments.documents, segments.documents[true]  # ascending
    low = (true - reach).maximum(torch.searchsorted(numbers, own))
    high = (true + reach + 1).minimum(torch.searchsorted(numbers, own, right=True))
    share = torch.rand(true.shape, generator=generator, dtype=torch.float64)
    return low + (share * (high - low)).long()


def _is_wrong(
    segments: Segments, first: Tensor, true: Tensor, false: Tensor, reach: int | None
) -> Tensor:
    """Say which drawn segments are no false ones: of the same document, or overlapping."""
    if reach is None:
        return segments.documents[false] == segments.documents[first]
    return (false < segments.ends[true]) & (segments.ends[false] > first)
