# SPDX-License-Identifier: MIT
"""Every chapter asks its reader; where a right option can be computed, code confirms it."""

from collections import Counter
from collections.abc import Callable

import pytest
from quiz_keys import complaints, holds, keys

from book_pages.directives.quiz_text import LETTERS, Quiz, parse_quiz, quizzes_of
from tools.chapters import store

TEXTS = {
    path.stem: path.read_text(encoding="utf-8")
    for path in store.twin_paths()
    if int(path.stem[:2]) < 90
}
QUIZZES = {page: list(quizzes_of(text)) for page, text in TEXTS.items()}
EVERY = [quiz for found in QUIZZES.values() for quiz in found]


CHAPTERS = sorted({page[:2] for page in TEXTS} - {"00"})


@pytest.mark.parametrize("number", CHAPTERS)
def test_a_chapter_asks_two_to_six_questions_outside_its_exercises(number: str):
    pages = {page: QUIZZES[page] for page in TEXTS if page[:2] == number}
    assert 2 <= sum(len(found) for found in pages.values()) <= 6
    asked = {page for page, found in pages.items() if found}
    assert not {page for page in asked if store.page_kind(page) == "exercises"}


@pytest.mark.parametrize("number", CHAPTERS)
def test_the_questions_of_a_chapter_bear_its_name(number: str):
    labels = [quiz.label for page in TEXTS if page[:2] == number for quiz in QUIZZES[page]]
    assert len({label.split("-")[1] for label in labels}) == 1
    assert all(label.startswith("quiz-") for label in labels)


@pytest.mark.parametrize(("label", "key"), keys().items(), ids=list(keys()))
def test_a_key_finds_the_option_that_is_marked(label: str, key: Callable[[], str]):
    (quiz,) = (quiz for quiz in EVERY if quiz.label == label)
    assert complaints(quiz, key()) == []


def test_options_differ():
    for quiz in EVERY:
        assert len({option.text for option in quiz.options}) == len(quiz.options), quiz.label


def test_right_options_are_not_all_in_one_place():
    places = Counter(LETTERS[quiz.right] for quiz in EVERY)
    assert max(places.values(), default=0) <= max(1, len(EVERY) / 2), places


def test_right_options_are_not_mostly_the_longest():
    longest = []
    for quiz in EVERY:
        lengths = [len(" ".join(option.text.split())) for option in quiz.options]
        if lengths.count(max(lengths)) == 1 and lengths.index(max(lengths)) == quiz.right:
            longest.append(quiz.label)
    assert len(longest) <= len(EVERY) / 2, longest


SAMPLE = """\
How many questions does one pass over 64 characters answer?

- [ ] 6.

  No.
- [x] 63 questions.

  Yes.
- [ ] 163.

  No.
"""


def sample(text: str = SAMPLE) -> Quiz:
    """Read the sample question."""
    return parse_quiz("quiz-sample-passes", text.splitlines())


class TestTheTestsBite:
    def test_the_right_mark_passes(self):
        assert complaints(sample(), "63") == []

    def test_a_wrong_mark_is_caught(self):
        spoiled = SAMPLE.replace("[x]", "[ ]").replace("[ ] 6.", "[x] 6.")
        (line,) = complaints(sample(spoiled), "63")
        assert "this is marked: '6.'" in line

    def test_words_of_no_option_or_of_two_are_caught(self):
        assert "0 options contain '3'" in complaints(sample(), "3")[0]
        two = SAMPLE.replace("163.", "Not 63.")
        assert "2 options contain '63'" in complaints(sample(two), "63")[0]
        assert "no words" in complaints(sample(), " ")[0]

    def test_numbers_are_compared_whole(self):
        assert holds("The sum is 3.", "3")
        assert holds("It is $-0.5$", "-0.5")
        for text in ("13", "3.5", "0.3", "3,000", "x3"):
            assert not holds(text, "3")
