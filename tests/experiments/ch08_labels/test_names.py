# SPDX-License-Identifier: MIT
"""The name study: whole names are counted and thresholds tuned."""

import numpy as np
import pytest

from experiments.ch07_worldview.questions import TOKENIZER
from experiments.ch08_labels.ner.data import encode_words
from experiments.ch08_labels.ner.scoring import (
    THRESHOLDS,
    Choice,
    choose_threshold,
    count_names,
    f1,
    mark,
)
from pretrain_lab.tasks.character_ner import NamePassage


def scores(*names: float) -> np.ndarray:
    """Make log-probabilities of words with these chances to begin a name, and none to go on."""
    chance = np.array(names)
    return np.log(np.stack([1 - chance, chance * 0.999, chance * 0.001], axis=1))


PASSAGES = [
    NamePassage(("good", "romeo", "stay"), ("O", "B", "O"), "a"),
    NamePassage(("so", "be", "it"), ("O", "O", "O"), "a"),
]


def test_names_are_counted_whole() -> None:
    """By hand: one of two found names is right; the true name of two words counts once."""
    passage = NamePassage(("duke", "of", "york", "spoke"), ("B", "I", "I", "O"), "a")
    assert count_names([[1, 2, 2, 1]], [passage]) == [[1, 2, 1]]
    assert count_names([[1, 2, 0, 0]], [passage]) == [[0, 1, 1]]
    assert f1(np.array([1.0, 2.0, 1.0])) == pytest.approx(2 / 3)
    assert f1(np.zeros(3)) == 0


def test_a_tagger_that_ranks_well_is_not_scored_zero() -> None:
    """All chances are below one half, but the name has the highest."""
    ranked = [scores(0.01, 0.3, 0.02), scores(0.05, 0.04, 0.01)]
    assert mark(ranked, 0.0) == [[0, 0, 0], [0, 0, 0]]
    choice = choose_threshold(ranked, PASSAGES)
    assert choice.f1 == 1
    assert np.log(0.05 / 0.95) <= choice.threshold < np.log(0.3 / 0.7)
    assert mark(ranked, choice.threshold) == [[0, 1, 0], [0, 0, 0]]


def test_of_equal_thresholds_the_one_nearest_to_a_half_counts() -> None:
    """A sure tagger keeps the usual rule; one that knows nothing marks nothing at it."""
    assert 0.0 in THRESHOLDS
    sure = [scores(0.001, 0.999, 0.001), scores(0.001, 0.001, 0.001)]
    assert choose_threshold(sure, PASSAGES) == Choice(0.0, 1.0)


def test_a_word_is_read_at_its_last_token() -> None:
    """A left-to-right model has read all of a word only there."""
    words = ("good", "romeo,", "stay")
    text = encode_words(words)
    read = [TOKENIZER.decode(text.ids[1 : end + 1]) for end in text.ends.tolist()]
    assert read == ["good", "good romeo,", "good romeo, stay"]
