# SPDX-License-Identifier: MIT
"""The sense sentences are as their file says; neighbours and cosines by hand."""

from collections import Counter

import pytest
import torch

from pretrain_lab.tasks.word_senses import cosines, load_senses, mean_cosine, neighbour_hits


def test_sentences_are_balanced() -> None:
    """At least four words of two senses, twelve sentences each, six for each side of the clue."""
    senses = load_senses()
    counts = Counter((s.word, s.sense, s.clue) for s in senses)
    assert set(counts.values()) == {6}
    assert len({s.word for s in senses}) * 4 == len(counts) >= 16
    assert len({s.text for s in senses}) == len(senses)


def test_words_stand_where_the_clue_says() -> None:
    """Last with the clue on the left, second behind "The" with the clue on the right."""
    for sentence in load_senses():
        words = [w.strip(".,").lower() for w in sentence.text.split()]
        assert words.count(sentence.word) == 1, sentence
        if sentence.clue == "left":
            assert sentence.place == len(words) - 1
        else:
            assert sentence.text.startswith(f"The {sentence.word}")
            assert sentence.place == 1


def test_cosines_by_hand() -> None:
    """Equal directions, a right angle, opposite ones."""
    vectors = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])
    assert cosines(vectors)[0].tolist() == [1.0, 1.0, 0.0, -1.0]
    assert mean_cosine(vectors[:3]) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="at least two vectors, got 1"):
        mean_cosine(vectors[:1])


def test_the_length_of_a_vector_does_not_count() -> None:
    """However short: of vectors below 1e-12 the cosine came out near 0."""
    vectors = torch.tensor([[1e-40, 0.0], [2e-40, 0.0], [3e-13, 0.0]])
    assert mean_cosine(vectors) == pytest.approx(1)


def test_neighbours_stay_in_their_group() -> None:
    """The nearest of all has another label, but stands in another group."""
    vectors = torch.tensor([[1.0, 0.0], [0.9, 0.5], [1.0, 0.1], [0.0, 1.0]])
    hits = neighbour_hits(vectors, ["a", "a", "b", "b"], ["x", "x", "y", "y"])
    assert hits.tolist() == [1, 1, 1, 1]
    hits = neighbour_hits(vectors, ["a", "a", "b", "b"], ["x"] * 4)
    assert hits.tolist() == [0, 0, 0, 0]


def test_ties_give_chance() -> None:
    """Vectors that are all alike: one of three others has the same label."""
    hits = neighbour_hits(torch.ones(4, 3), list("aabb"), ["x"] * 4)
    assert hits.tolist() == pytest.approx([1 / 3] * 4)


def test_neighbours_refuse() -> None:
    """Wrong numbers, and a group of one."""
    with pytest.raises(ValueError, match=r"got shape \(2, 2\), 1 and 2"):
        neighbour_hits(torch.ones(2, 2), ["a"], ["x", "x"])
    with pytest.raises(ValueError, match="two vectors in every group"):
        neighbour_hits(torch.ones(2, 2), ["a", "b"], ["x", "y"])


def test_vectors_of_zeros_have_the_mean_cosine_zero() -> None:
    """Their cosine with themselves is 0, too, and 1 was taken off for each: -1 came out."""
    assert mean_cosine(torch.zeros(2, 3)) == 0
    assert mean_cosine(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])) == pytest.approx(1 / 3)
