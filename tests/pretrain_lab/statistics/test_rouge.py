# SPDX-License-Identifier: MIT
"""ROUGE on cases counted by hand, and what must hold for any two texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretrain_lab.statistics.rouge import Rouge, rouge_l, rouge_n, words

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8).map(" ".join)
REFERENCE = "police killed the gunman"


def test_words_are_letters_and_digits_in_lower_case() -> None:
    """Punctuation and case do not count; digits do."""
    assert words("The 39 Steps, re-shot!") == ["the", "39", "steps", "re", "shot"]
    assert words("?!") == []


@pytest.mark.parametrize(
    ("written", "rouge_1", "rouge_2", "longest"),
    [
        ("police kill the gunman", (3, 4, 4), (1, 3, 3), 3),
        ("the gunman kill police", (3, 4, 4), (1, 3, 3), 2),
        ("the gunman police killed", (4, 4, 4), (2, 3, 3), 2),
        ("police", (1, 1, 4), (0, 0, 3), 1),
        ("the the the", (1, 3, 4), (0, 2, 3), 1),
    ],
)
def test_hand_counted(
    written: str, rouge_1: tuple[int, ...], rouge_2: tuple[int, ...], longest: int
) -> None:
    """Shared, written and wanted n-grams, and the longest common subsequence; first: Lin 2004.

    In the last row "the" counts once, as often as the reference has it.
    """
    for n, (shared, n_written, n_reference) in ((1, rouge_1), (2, rouge_2)):
        result = rouge_n(written, REFERENCE, n)
        if not shared:
            assert result == Rouge(0.0, 0.0, 0.0)
            continue
        precision, recall = shared / n_written, shared / n_reference
        f1 = 2 * precision * recall / (precision + recall)
        assert result == pytest.approx((precision, recall, f1))
    result = rouge_l(written, REFERENCE)
    assert result.precision == pytest.approx(longest / len(written.split()))
    assert result.recall == pytest.approx(longest / 4)


def test_subsequence_may_have_gaps_but_keeps_the_order() -> None:
    """a c e is common to both; b and d are not in both."""
    assert rouge_l("a b c e", "a c d e").recall == pytest.approx(3 / 4)
    assert rouge_l("e d c b a", "a b c d e").recall == pytest.approx(1 / 5)


@given(TEXTS)
def test_identical_texts_score_one(text: str) -> None:
    """All three kinds, as soon as there is an n-gram."""
    n_words = len(text.split())
    for n in (1, 2):
        assert rouge_n(text, text, n) == Rouge(*3 * (float(n_words >= n),))
    assert rouge_l(text, text) == Rouge(*3 * (float(n_words >= 1),))


@given(TEXTS, TEXTS)
def test_disjoint_texts_score_zero(first: str, second: str) -> None:
    """No word of the second text is in the first."""
    other = second.upper().translate(str.maketrans("ABCD", "WXYZ"))
    assert rouge_n(first, other) == rouge_l(first, other) == Rouge(0.0, 0.0, 0.0)


@given(TEXTS, TEXTS)
def test_swapping_the_texts_swaps_precision_and_recall(first: str, second: str) -> None:
    """F1 stays; and ROUGE-L finds no more than ROUGE-1, which ignores the order."""
    for score in (lambda a, b: rouge_n(a, b, 1), lambda a, b: rouge_n(a, b, 2), rouge_l):
        one, two = score(first, second), score(second, first)
        assert (one.precision, one.recall, one.f1) == (two.recall, two.precision, two.f1)
    assert rouge_l(first, second).recall <= rouge_n(first, second).recall


def test_n_below_one_is_refused() -> None:
    """The message names what came."""
    with pytest.raises(ValueError, match="expected n >= 1, got 0"):
        rouge_n("a", "a", 0)
