# SPDX-License-Identifier: MIT
"""Marked names: those of the headings, in context, and new in validation and test."""

from functools import cache

import pytest

from pretrain_lab.corpora.loading import SPLITS, load_shakespeare, play_split
from pretrain_lab.corpora.scenes import is_proper, normalise_word, training_words
from pretrain_lab.tasks.character_ner import PASSAGE_LEN, NamePassage, cast_names, read_names


@cache
def passages(split: str, *, lowercase: bool = True) -> list[NamePassage]:
    """Read the passages of a split once for all tests."""
    return read_names(split, lowercase=lowercase)


def marked(passage: NamePassage) -> list[str]:
    """Give the words that are tagged, bare."""
    return [
        normalise_word(w) for w, tag in zip(passage.words, passage.tags, strict=True) if tag != "O"
    ]


def test_cast_of_macbeth() -> None:
    """Headings in capitals name; roles and common words do not."""
    cast = cast_names("macbeth")
    assert {("macbeth",), ("lady", "macbeth"), ("banquo",)} <= cast
    assert not {("lady",), ("first", "witch"), ("witch",), ("all",)} & cast
    assert ("bottom",) not in cast_names("a-midsummer-night-s-dream")


def test_core_and_proper() -> None:
    """Marks and the possessive go; what is written small somewhere is no name."""
    assert [normalise_word(w) for w in ("Macbeth's,", "(Banquo!", "'tis", "--")] == [
        "macbeth", "banquo", "tis", "",
    ]  # fmt: skip
    assert is_proper("macbeth")
    assert not is_proper("king")
    assert not is_proper("of")


@pytest.mark.parametrize("split", SPLITS)
def test_passages_are_the_speeches(split: str) -> None:
    """Words in order, in lower case, one tag each, from plays of the split."""
    for passage in passages(split):
        assert play_split(passage.play) == split
        assert len(passage.words) == len(passage.tags) <= PASSAGE_LEN
        assert all(word == word.lower() for word in passage.words)
        assert set(passage.tags) <= {"O", "B", "I"}
    words = sum(len(passage.words) for passage in passages(split))
    spoken = sum(
        len(speech.text.split()) for play in load_shakespeare(split) for speech in play.speeches
    )
    assert words == spoken if split == "train" else 0.8 * spoken < words < spoken


@pytest.mark.parametrize("split", ["validation", "test"])
def test_no_name_was_seen_in_training(split: str) -> None:
    """No proper word of a marked name occurs in any training play, spoken or as a heading."""
    names = {word for p in passages(split) for word in marked(p) if is_proper(word)}
    assert len(names) > 40
    assert not names & training_words()
    trained = {word for p in passages("train") for word in marked(p) if is_proper(word)}
    assert not names & trained


def test_every_name_of_the_cast_is_marked() -> None:
    """No capitalised word that is alone a name of the cast is left out."""
    for passage in passages("test", lowercase=False):
        cast = cast_names(passage.play)
        for word, tag in zip(passage.words, passage.tags, strict=True):
            if (normalise_word(word),) in cast and word[0].isupper():
                assert tag != "O", word


def test_names_of_two_words() -> None:
    """A first name and its second are one name; two persons with a comma between are two."""
    found = [
        (p.words[i : i + 2], p.tags[i : i + 2])
        for p in passages("train", lowercase=False)
        for i in range(len(p.words) - 1)
        if p.play == "antony-and-cleopatra"
        and p.words[i] == "Mark"
        and p.words[i + 1].startswith("Antony")
    ]
    assert found
    assert {tags for _, tags in found} <= {("B", "I")}


def test_capitals_are_kept_on_request() -> None:
    """The same tags, with the words as they are written."""
    for small, written in zip(passages("test"), passages("test", lowercase=False), strict=True):
        assert small.tags == written.tags
        assert small.words == tuple(word.lower() for word in written.words)
