# SPDX-License-Identifier: MIT
"""Pairs of texts of which one stands in a play, and the other is the same but for one change.

Which of the two did Shakespeare write? Each kind of change is a task, after the minimal pairs of
Warstadt et al. 2020 (arXiv:1912.00582; differs: theirs are made by grammar, ours from a text).
Training, validation and test pairs come from different plays.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Generator

from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.corpora.scenes import load_scenes

N_WORDS = (4, 24)  # of a sentence
N_LINES = 4  # of a speech in verse, at least
MAX_LINE_LEN = 65  # characters of a line of verse; prose runs on
MAX_LEN = 250  # characters of a text
_SPACE_BEHIND_END = re.compile(r"(?<=[.?!])\s+")


class Pair(NamedTuple):
    """Two versions of a text."""

    right: str  # as it stands in the play
    wrong: str
    play: str
    kind: int = 0  # a play has as many pairs of each kind


def _sentences(split: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the play and the sentences of each speech, with their marks, on one line."""
    for scene in load_scenes(split):
        for speech in scene.speeches:
            yield scene.play, _SPACE_BEHIND_END.split(" ".join(speech.text.split()))


def _fits(sentence: str) -> bool:
    """Say whether a sentence ends with a mark and has a usual length."""
    return sentence[-1] in ".?!" and N_WORDS[0] <= len(sentence.split()) <= N_WORDS[1]


def _exchanged(parts: list[str], place: int) -> list[str]:
    """Exchange a part with the next one."""
    return [*parts[:place], parts[place + 1], parts[place], *parts[place + 2 :]]


def _draw(n: int, generator: Generator) -> int:
    """Draw a whole number from 0 to n - 1."""
    return int(torch.randint(n, (), generator=generator))


def _exchange_lines(split: str) -> Iterator[Pair]:
    """Exchange two neighbouring lines of verse; a speech stands below its heading."""
    generator = Generator().manual_seed(15)
    for play in load_shakespeare(split):
        for speech in play.speeches:
            lines = speech.text.split("\n")
            while len("\n".join([speech.speaker + ":", *lines])) > MAX_LEN:
                lines.pop()
            if len(lines) < N_LINES or max(map(len, lines)) > MAX_LINE_LEN:
                continue
            other = _exchanged(lines, _draw(len(lines) - 1, generator))
            if other != lines:
                right, wrong = ("\n".join([speech.speaker + ":", *text]) for text in (lines, other))
                yield Pair(right, wrong, play.slug)


def _exchange_words(split: str) -> Iterator[Pair]:
    """Exchange two neighbouring words of a sentence, neither the first nor the last."""
    generator = Generator().manual_seed(13)
    for play, said in _sentences(split):
        for sentence in filter(_fits, said):
            words = sentence.split()
            other = _exchanged(words, 1 + _draw(len(words) - 3, generator))
            if other != words:
                yield Pair(sentence, " ".join(other), play)


def _exchange_sentences(split: str) -> Iterator[Pair]:
    """Exchange two neighbouring sentences of a speech."""
    for play, said in _sentences(split):
        for first, second in pairwise(said):
            if _fits(first) and _fits(second):
                yield Pair(f"{first} {second}", f"{second} {first}", play)


def _exchange_marks(split: str) -> Iterator[Pair]:
    """Exchange the mark of a question and of a statement; a play gives as many of both."""
    for play, said in _sentences(split):
        for sentence in filter(_fits, said):
            if sentence[-1] in "?.":
                other = {"?": ".", ".": "?"}[sentence[-1]]
                yield Pair(sentence, sentence[:-1] + other, play, int(sentence[-1] == "?"))


TASKS: dict[str, Callable[[str], Iterator[Pair]]] = {
    "lines": _exchange_lines,
    "words": _exchange_words,
    "sentences": _exchange_sentences,
    "marks": _exchange_marks,
}
"""What was exchanged -> how its pairs are made."""


@cache
def read_pairs(task: str, split: str, n: int | None = None) -> tuple[Pair, ...]:
    """Draw pairs of a split, the same at each call, as many of each kind in each play.

    Args:
        task: One of TASKS.
        split: "train", "validation" or "test".
        n: Most pairs; every k-th is taken until there are n, k the whole part of all / n, so that
            some of the last play are left out. None takes all.

    Raises:
        ValueError: The task is not one of TASKS, or the split is unknown.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}; got {task!r}")
    generator = Generator().manual_seed(14)
    by_kind: dict[tuple[str, int], list[Pair]] = {}
    for pair in TASKS[task](split):
        if len(pair.right) <= MAX_LEN:
            by_kind.setdefault((pair.play, pair.kind), []).append(pair)
    found: list[Pair] = []
    for play, kind in sorted(by_kind):
        members = by_kind[play, kind]
        keep = min(len(by_kind[other]) for other in by_kind if other[0] == play)
        order = torch.randperm(len(members), generator=generator)[:keep].sort().values
        found += [members[i] for i in order.tolist()]
    step = max(1, len(found) // (n or len(found)))
    return tuple(found[::step][:n])
