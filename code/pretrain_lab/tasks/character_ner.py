# SPDX-License-Identifier: MIT
"""Which words of a speech name a character of the same play: labels for every word.

Names of gods, places and persons who never speak count as other words.
"""

from functools import cache
from itertools import combinations
from typing import NamedTuple

from pretrain_lab.corpora.loading import play_split
from pretrain_lab.corpora.scenes import is_proper, load_scenes, normalise_word, training_words

PASSAGE_LEN = 32
MAX_NAME_LEN = 4
TAGS = ("O", "B", "I")
"""Outside a name, its first word, another word of it."""


class NamePassage(NamedTuple):
    """Words of one speech, and which of them name a character of the play."""

    words: tuple[str, ...]
    tags: tuple[str, ...]  # one of TAGS for each word
    play: str


def read_names(split: str, *, lowercase: bool = True) -> list[NamePassage]:
    """Mark the words that name a character who speaks in the same play.

    A name is the longest run of words that stand together in a heading written in capitals (`DUKE
    OF YORK`, not `First Witch`), if one of them occurs nowhere in the plays without a capital:
    `York` and `Duke of York` are names, `Duke` alone is none, and Bottom the weaver goes without.
    Passages with a name that the training plays hold anywhere are left out of validation and test,
    so no list of names helps there. By default the words lose their capitals, which give most names
    away. Passages have at most PASSAGE_LEN words and the order of the text.

    Raises:
        ValueError: The split is not "train", "validation" or "test".
    """
    seen: frozenset[str] = frozenset() if split == "train" else training_words()
    passages = []
    for scene in load_scenes(split):
        cast = cast_names(scene.play)
        for speech in scene.speeches:
            words = speech.text.split()
            tags = _mark(words, cast)
            for start in range(0, len(words), PASSAGE_LEN):
                part = slice(start, start + PASSAGE_LEN)
                marked = zip(words[part], tags[part], strict=True)
                bare = [normalise_word(word) for word, tag in marked if tag != "O"]
                if any(is_proper(word) and word in seen for word in bare):
                    continue
                text = tuple(w.lower() if lowercase else w for w in words[part])
                passages.append(NamePassage(text, tuple(tags[part]), scene.play))
    return passages


@cache
def cast_names(play: str) -> frozenset[tuple[str, ...]]:
    """Give what names a character of a play, known by its file name without ending.

    These are all runs of words of a heading in capitals that hold a proper name, in lower case:
    ("duke", "of", "york"), ("of", "york") and ("york",) for DUKE OF YORK.
    """
    scenes = load_scenes(play_split(play))
    headings = {s.speaker for scene in scenes if scene.play == play for s in scene.speeches}
    names = set()
    for heading in headings:
        for part in heading.split(" and "):
            if part != part.upper():
                continue
            words = [normalise_word(word) for word in part.split()]
            spans = combinations(range(len(words) + 1), 2)
            names |= {tuple(words[i:j]) for i, j in spans if any(map(is_proper, words[i:j]))}
    return frozenset(names)


def _mark(words: list[str], cast: frozenset[tuple[str, ...]]) -> list[str]:
    """Tag the longest name from each place on: B, then I."""
    bare = [normalise_word(word) for word in words]
    first_words = {name[0] for name in cast}
    tags, place = ["O"] * len(words), 0
    while place < len(words):
        end = place
        if bare[place] in first_words:
            ends = range(min(place + MAX_NAME_LEN, len(words)), place, -1)
            end = next((e for e in ends if _is_name(words[place:e], bare[place:e], cast)), place)
        tags[place:end] = ["B", *["I"] * (end - place - 1)][: end - place]
        place = max(end, place + 1)
    return tags


def _is_name(words: list[str], bare: list[str], cast: frozenset[tuple[str, ...]]) -> bool:
    """Say whether words are a name: outer ones with a capital, no mark before the last."""
    capital = all(word.lstrip("'-(")[:1].isupper() for word in (words[0], words[-1]))
    unbroken = all(w.lower() == b for w, b in zip(words[:-1], bare[:-1], strict=True))
    return tuple(bare) in cast and capital and unbroken
