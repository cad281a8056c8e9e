# SPDX-License-Identifier: MIT
"""The tasks: prefixes in place, answers in words, nothing that two splits share."""

from collections import Counter
from functools import cache

import pytest

from pretrain_lab.corpora.loading import SPLITS, load_plots, load_reviews, load_shakespeare
from pretrain_lab.tasks.text_to_text import (
    GENRES,
    PASSAGE_LEN,
    SENTENCE_LENS,
    SENTIMENTS,
    TASKS,
    Example,
    bare,
)


@cache
def examples_of(name: str, split: str) -> list[Example]:
    """Read each split once for all tests."""
    return TASKS[name].examples(split)


@pytest.mark.parametrize("name", TASKS)
def test_no_group_is_in_two_splits(name: str) -> None:
    """Plays, films and words: what is trained on is never asked."""
    groups = [{e.group for e in examples_of(name, split)} for split in SPLITS]
    assert all(groups)
    assert len(set.union(*groups)) == sum(map(len, groups))
    sources = [{e.source for e in examples_of(name, split)} for split in SPLITS]
    assert len(sources[0] & sources[2]) == 0


@pytest.mark.parametrize("name", TASKS)
def test_every_source_has_its_prefix_once(name: str) -> None:
    """The prefix ends with a blank, and something stands behind it."""
    task = TASKS[name]
    assert task.prefix == f"{name}: "
    for example in task.examples("validation"):
        assert example.source.startswith(task.prefix)
        text = example.source.removeprefix(task.prefix)
        assert text == text.strip() != ""
        assert not text.startswith(task.prefix)
        assert example.target.removeprefix(" ") == example.target.strip() != ""


def test_reversed_words_are_spelled_backwards() -> None:
    """Each letter stands alone; reading the target backwards gives the word."""
    examples = examples_of("reverse", "test")
    for example in examples:
        assert example.source == "reverse: " + " ".join(example.group)
        assert example.target.split()[::-1] == list(example.group)
        assert 3 <= len(example.group) <= 8
    share = len(examples) / sum(len(examples_of("reverse", split)) for split in SPLITS)
    assert share == pytest.approx(0.15, abs=0.02)


def test_genres_are_those_of_the_plays() -> None:
    """Every genre has a word of its own; passages of a play have that of the play."""
    genre = {play.slug: GENRES[play.genre] for play in load_shakespeare()}
    assert set(genre.values()) == set(GENRES.values())
    assert len(set(GENRES.values())) == len(GENRES)
    examples = examples_of("genre", "test")
    assert {e.group for e in examples} == {play.slug for play in load_shakespeare("test")}
    for example in examples:
        assert example.target == genre[example.group]
        assert len(example.source.removeprefix("genre: ").split()) == PASSAGE_LEN


def test_passages_do_not_name_the_speakers() -> None:
    """The first speech of Macbeth stands there without the name of who says it."""
    first = next(e for e in examples_of("genre", "test") if e.group == "macbeth")
    assert first.source.startswith("genre: When shall we three meet again")
    assert "Witch:" not in first.source


def test_sentiments_are_the_labels() -> None:
    """1 is fresh, 0 is rotten, sentence by sentence."""
    reviews, examples = load_reviews("test"), examples_of("sentiment", "test")
    for review, example in zip(reviews, examples, strict=True):
        assert example.source == f"sentiment: {review.sentence}"
        assert example.target == SENTIMENTS[review.label]
    assert SENTIMENTS[1] == "fresh"
    counts = Counter(e.target for e in examples)
    assert counts["fresh"] == sum(review.label for review in reviews)


def test_titles_have_blanks() -> None:
    """All plots are asked, and no name keeps the file's underscores."""
    examples = [e for split in SPLITS for e in examples_of("title", split)]
    assert len(examples) == len(load_plots())
    assert not any("_" in e.target for e in examples)
    titles = {e.group: e.target for e in examples}
    assert titles["about_a_boy"] == "about a boy"


@pytest.mark.parametrize("name", TASKS)
def test_unknown_split_is_refused(name: str) -> None:
    """A misspelled split gives an error, not an empty list."""
    with pytest.raises(ValueError, match="expected a split from"):
        TASKS[name].examples("dev")


def test_restorations_lose_capitals_and_marks_only() -> None:
    """The words of source and target are the same, in the same order."""
    assert bare("Nay,--I'll not!  O, THAT'S Rome...") == "nay i'll not o that's rome"
    for example in examples_of("restore", "test"):
        words = example.source.removeprefix("restore: ")
        assert bare(example.target) == words
        assert len(words.split()) in SENTENCE_LENS
        assert example.target[0].isupper()
        assert example.target[-1] in ".?!"


def sentences_of(example: Example) -> tuple[str, list[str]]:
    """Part a question about a story into the name asked for and the story's sentences."""
    question, story = example.source.removeprefix("answer: Where is ").split("? ", 1)
    return question, [f"{part}." for part in story.removesuffix(".").split(". ")]


def test_where_somebody_is_was_said_last() -> None:
    """The answer is the last sentence about the person, not always the last of the story."""
    n_elsewhere = 0
    for example in examples_of("answer", "test"):
        person, said = sentences_of(example)
        last = [sentence for sentence in said if sentence.startswith(f"{person} ")][-1]
        assert example.target.strip() == last
        n_elsewhere += last != said[-1]
    assert n_elsewhere > 300


def test_stories_of_the_test_split_have_names_of_their_own() -> None:
    """Else a model could have learned the people instead of reading the story."""
    names = [
        {line.split()[0] for e in examples_of("answer", split) for line in sentences_of(e)[1]}
        for split in SPLITS
    ]
    assert len(names[2]) > 50
    assert len(set.union(*names)) == sum(map(len, names))
