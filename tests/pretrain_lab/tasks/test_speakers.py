# SPDX-License-Identifier: MIT
"""The labels of the plays: exact, without leaks through form, and split by play."""

import re
from functools import cache

import pytest
from torch import Generator

from pretrain_lab.corpora.loading import SPLITS, load_shakespeare, play_split
from pretrain_lab.corpora.scenes import load_scenes
from pretrain_lab.tasks.speakers import (
    CONTEXT_LEN,
    MIN_SPEAKERS,
    SpeakerChange,
    SpeakerQuestion,
    load_speaker_changes,
    read_speakers,
)


@cache
def changes(split: str) -> list[SpeakerChange]:
    """Read the pairs of a split once for all tests."""
    return load_speaker_changes(split, generator=Generator().manual_seed(0))


@cache
def questions(split: str) -> list[SpeakerQuestion]:
    """Read the questions of a split once for all tests."""
    return read_speakers(split, generator=Generator().manual_seed(0))


@pytest.mark.parametrize("split", SPLITS)
def test_scenes_are_the_plays(split: str) -> None:
    """Cutting at headings loses no speech and changes none."""
    spoken = [(scene.play, speech) for scene in load_scenes(split) for speech in scene.speeches]
    whole = [(play.slug, s) for play in load_shakespeare(split) for s in play.speeches]
    assert spoken == whole
    assert len(load_scenes(split)) > 5 * len(load_shakespeare(split))


def test_splits_share_no_play() -> None:
    """Each example belongs to a play of its split."""
    for split in SPLITS:
        assert {play_split(pair.play) for pair in changes(split)} == {split}
        assert {play_split(question.play) for question in questions(split)} == {split}


@pytest.mark.parametrize("split", SPLITS)
def test_changes_are_balanced_in_each_play(split: str) -> None:
    """Half of the pairs change, in every play, so neither the class nor the play tells."""
    for play in {pair.play for pair in changes(split)}:
        labels = [pair.label for pair in changes(split) if pair.play == play]
        assert sum(labels) * 2 == len(labels) > 0


def test_changes_stand_in_the_text() -> None:
    """The two sentences follow each other within a speech, or across one heading."""
    texts = {play.slug: play.text for play in load_shakespeare("test")}
    flat = {slug: text.replace("\n", " ") for slug, text in texts.items()}
    for pair in changes("test")[::10]:
        if pair.label:
            between = rf"{re.escape(pair.first)}  [^:]+: {re.escape(pair.second)}"
            assert re.search(between, flat[pair.play])
        else:
            assert f"{pair.first} {pair.second}" in flat[pair.play]


def test_changes_show_no_form() -> None:
    """Both classes end and begin alike, and no line break or heading is left."""
    for pair in changes("test"):
        assert pair.first[-1] in ".?!"
        assert pair.second[0].isupper()
        assert "\n" not in pair.first + pair.second
    shares = [
        sum(pair.first[-1] == mark for pair in changes("test") if pair.label == label)
        for mark in ".?!"
        for label in (0, 1)
    ]
    assert max(shares[0::2]) < 3 * max(shares[1::2])  # no mark belongs to one class


def test_another_generator_draws_other_pairs() -> None:
    """The draw is the generator's, and the same one repeats it."""
    again = load_speaker_changes("test", generator=Generator().manual_seed(0))
    other = load_speaker_changes("test", generator=Generator().manual_seed(1))
    assert again == changes("test") != other
    assert len(other) == len(again)


@pytest.mark.parametrize("split", SPLITS)
def test_answers_are_the_heading_above(split: str) -> None:
    """Walking up from the line, the first heading is the answer, where the span says."""
    for question in questions(split):
        context = question.context
        assert context.count(question.line) == 1
        above = context[: context.index(question.line)].rsplit("\n\n", 1)[-1]
        assert above.split(":\n")[0] == question.answer
        assert context[question.end] == ":"
        assert question.start == 0 or context[question.start - 2 : question.start] == "\n\n"


@pytest.mark.parametrize("split", SPLITS)
def test_contexts_have_the_stated_size(split: str) -> None:
    """Not longer than stated, and enough speakers that a guess is worth little."""
    for question in questions(split):
        assert len(question.context.split()) <= CONTEXT_LEN
        names = set(re.findall(r"(?:^|\n\n)([^:\n]+):\n", question.context))
        assert len(names) >= MIN_SPEAKERS


def test_only_training_contexts_overlap() -> None:
    """A line of a test play is in one context at most."""
    places: dict[str, int] = {}
    for question in questions("test"):
        text = next(p.text for p in load_shakespeare("test") if p.slug == question.play)
        start = text.index(question.context, places.get(question.play, 0))
        places[question.play] = start + len(question.context)
    assert len(questions("train")) > 2 * 1632  # what disjoint contexts would give


def test_unknown_split_is_refused() -> None:
    """A misspelled split gives an error, not an empty list."""
    with pytest.raises(ValueError, match="expected a split from"):
        load_scenes("dev")
