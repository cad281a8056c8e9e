# SPDX-License-Identifier: MIT
"""Pairs of segments: which follow each other, and where those that do not come from."""

from itertools import pairwise

import pytest
import torch
from torch import Generator, Tensor

from pretrain_lab.tasks.sentence_pairs import (
    Segments,
    find_segments,
    next_sentence_pairs,
    sentence_order_pairs,
    true_pairs,
)

N = 4000


def sentences(*lengths: int, start: int = 10) -> list[Tensor]:
    """Make sentences of these lengths whose tokens count upwards."""
    bounds = [start + sum(lengths[:i]) for i in range(len(lengths) + 1)]
    return [torch.arange(a, b) for a, b in pairwise(bounds)]


@pytest.fixture
def segments() -> Segments:
    """Give segments of at most 5 tokens from three documents of 30 sentences with 1 to 4 tokens."""
    lengths = [1 + (7 * i) % 4 for i in range(30)]
    return find_segments([sentences(*lengths, start=1000 * d) for d in (1, 2, 3)], 5)


def test_segments_by_hand() -> None:
    """Whole sentences as long as they fit, never across documents, a long one without its end."""
    found = find_segments([sentences(2, 2, 3, 9), sentences(1, 1, start=90)], 5)
    assert found.lens.tolist() == [4, 5, 3, 5, 2, 1]
    assert found.ends.tolist() == [2, 3, 3, 4, 6, 6]
    assert found.documents.tolist() == [0, 0, 0, 0, 1, 1]
    assert found.tokens(torch.tensor([1]))[0].tolist() == [12, 13, 14, 15, 16]
    assert found.tokens(torch.tensor([3, 4]))[0].tolist() == [17, 18, 19, 20, 21]


def test_segments_of_one_token() -> None:
    """Each sentence keeps its first token alone."""
    found = find_segments([sentences(2, 1, 3)], 1)
    assert found.lens.tolist() == [1, 1, 1]
    assert [part.tolist() for part in found.tokens(torch.arange(3))] == [[10], [12], [13]]


def test_no_pairs_at_all(segments: Segments, generator: Generator) -> None:
    """None may be asked for, though not fewer."""
    assert all(len(part) == 0 for part in true_pairs(segments, 0, generator=generator))
    with pytest.raises(ValueError, match="expected n_pairs >= 0, got -1"):
        true_pairs(segments, -1, generator=generator)


def test_a_last_document_of_one_sentence(generator: Generator) -> None:
    """What stands before it is not followed by it; only the first sentence is followed."""
    found = find_segments([sentences(3, 3), sentences(3)], 4)
    pairs = true_pairs(found, 50, generator=generator)
    assert set(pairs.first.tolist()) == {0}
    assert set(pairs.second.tolist()) == {1}


def test_true_pairs_follow_each_other(segments: Segments, generator: Generator) -> None:
    """The second begins with the token behind the first's last, in the same document."""
    pairs = true_pairs(segments, N, generator=generator)
    for a, b in zip(segments.tokens(pairs.first), segments.tokens(pairs.second), strict=True):
        assert int(b[0]) == int(a[-1]) + 1
        assert int(b[0]) // 1000 == int(a[0]) // 1000
    assert not pairs.labels.any()
    assert len(set(pairs.first.tolist())) > 80  # nearly every sentence can come first


def test_false_pairs_come_from_another_document(segments: Segments, generator: Generator) -> None:
    """Half of the pairs, within 4 sigma; the others are true."""
    pairs = next_sentence_pairs(segments, N, generator=generator)
    same = segments.documents[pairs.first] == segments.documents[pairs.second]
    assert torch.equal(same, pairs.labels == 0)
    assert torch.equal((pairs.second == segments.ends[pairs.first]), pairs.labels == 0)
    assert abs(float(pairs.labels.double().mean()) - 0.5) < 4 * 0.5 / N**0.5


@pytest.mark.parametrize("reach", [6, 10**6])
def test_hard_false_pairs_come_from_near(
    segments: Segments, generator: Generator, reach: int
) -> None:
    """The same document, at most reach sentences away, and no overlap with the true pair."""
    pairs = next_sentence_pairs(segments, N, generator=generator, reach=reach)
    false = pairs.labels == 1
    assert abs(float(false.double().mean()) - 0.5) < 4 * 0.5 / N**0.5
    first, second = pairs.first[false], pairs.second[false]
    assert torch.equal(segments.documents[first], segments.documents[second])
    true = segments.ends[first]
    assert int((second - true).abs().max()) <= reach
    before, behind = segments.ends[second] <= first, second >= segments.ends[true]
    assert (before | behind).all()
    assert before.any()
    assert behind.any()
    assert torch.equal(pairs.second[~false], segments.ends[pairs.first[~false]])


def test_a_false_segment_may_touch_the_true_pair(generator: Generator) -> None:
    """Of three sentences, the one that is in no pair stands directly before or behind it."""
    found = find_segments([sentences(1, 1, 1)], 1)
    pairs = next_sentence_pairs(found, 200, generator=generator, reach=2)
    seen = set(zip(*(part.tolist() for part in pairs), strict=True))
    assert seen == {(0, 1, 0), (0, 2, 1), (1, 2, 0), (1, 0, 1)}
    with pytest.raises(ValueError, match="false pairs for reach=1, got"):  # none is that near to 2
        next_sentence_pairs(found, 200, generator=generator, reach=1)


def test_swapped_pairs(segments: Segments, generator: Generator) -> None:
    """Label 1 means that the second segment ends where the first begins."""
    pairs = sentence_order_pairs(segments, N, generator=generator)
    swapped = pairs.labels == 1
    assert torch.equal(segments.ends[pairs.first] == pairs.second, ~swapped)
    assert (segments.ends[pairs.second[swapped]] == pairs.first[swapped]).all()
    assert abs(float(swapped.double().mean()) - 0.5) < 4 * 0.5 / N**0.5


def test_same_generator_same_pairs(segments: Segments) -> None:
    """The draw depends on nothing but the generator."""
    drawn = [
        next_sentence_pairs(segments, 50, generator=Generator().manual_seed(seed), reach=8)
        for seed in (3, 3, 4)
    ]
    assert all(torch.equal(a, b) for a, b in zip(drawn[0], drawn[1], strict=True))
    assert not torch.equal(drawn[0].first, drawn[2].first)
    recorded = [88, 89, 86, 43, 32, 52, 78, 48]  # earlier runs stay repeatable
    assert drawn[0].second[:8].tolist() == recorded
    swapped = [
        sentence_order_pairs(segments, 50, generator=Generator().manual_seed(seed))
        for seed in (3, 3, 4)
    ]
    assert all(torch.equal(a, b) for a, b in zip(swapped[0], swapped[1], strict=True))
    assert not torch.equal(swapped[0].first, swapped[2].first)


def test_bad_arguments_are_named(generator: Generator) -> None:
    """What was expected, and what came."""
    for documents in ([], [[]], [[torch.arange(0)]]):
        with pytest.raises(ValueError, match="expected sentences, none empty"):
            find_segments(documents, 5)
    with pytest.raises(ValueError, match="max_tokens >= 1, got 1 sentences and 0"):
        find_segments([sentences(3)], 0)
    with pytest.raises(ValueError, match="two segments behind each other"):
        true_pairs(find_segments([sentences(2), sentences(2)], 5), 3, generator=generator)
    with pytest.raises(ValueError, match="false pairs for reach=None, got 3 of 3"):
        next_sentence_pairs(find_segments([sentences(3, 3, 3)], 4), 3, generator=generator)


def test_a_reach_below_one_is_refused() -> None:
    """Nothing lies at most -1 sentences away; an index outside was drawn."""
    segments = find_segments([[torch.arange(2)] * 4], 2)
    with pytest.raises(ValueError, match="reach >= 1 or None, got -1"):
        next_sentence_pairs(segments, 2, generator=torch.Generator(), reach=-1)
