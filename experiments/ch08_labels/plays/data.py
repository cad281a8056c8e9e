# SPDX-License-Identifier: MIT
"""Questions about sentences of plays, with labels that the plays themselves give.

Training, validation and test sentences come from different plays. Each class has as many sentences
as the others, play by play, so that a constant answer is right half of the time.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Generator

from pretrain_lab.corpora.scenes import load_scenes
from pretrain_lab.tasks.speakers import load_speaker_changes

N_WORDS = (4, 24)  # of a sentence
MAX_LEN = 256  # characters that are read
_SENTENCE = re.compile(r"[^.?!]+[.?!]")


class Question(NamedTuple):
    """One text with its label."""

    text: str
    label: int  # 0 or 1
    play: str


def sentences(split: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the play and the sentences of each speech, with their marks, on one line."""
    for scene in load_scenes(split):
        for speech in scene.speeches:
            text = " ".join(speech.text.split())
            yield scene.play, [found.strip() for found in _SENTENCE.findall(text)]


def fits(sentence: str) -> bool:
    """Say whether a sentence has a usual length."""
    return N_WORDS[0] <= len(sentence.split()) <= N_WORDS[1]


def read_marks(split: str) -> Iterator[Question]:
    """Ask of a sentence without its mark whether it ended with "?" (1) or "." (0)."""
    for play, said in sentences(split):
        for sentence in said:
            if fits(sentence) and sentence[-1] in "?.":
                yield Question(sentence[:-1], int(sentence[-1] == "?"), play)


def read_orders(split: str) -> Iterator[Question]:
    """Ask of two neighbouring sentences of a speech whether they were exchanged (1) or not (0)."""
    generator = Generator().manual_seed(11)
    for play, said in sentences(split):
        for first, second in pairwise(said):
            if fits(first) and fits(second):
                swapped = int(torch.randint(2, (1,), generator=generator))
                pair = (second, first) if swapped else (first, second)
                yield Question(" ".join(pair), swapped, play)


def read_changes(split: str) -> Iterator[Question]:
    """Ask of two neighbouring sentences whether another speaker says the second (1) or not (0)."""
    for pair in load_speaker_changes(split, generator=Generator().manual_seed(12)):
        yield Question(f"{pair.first} {pair.second}", pair.label, pair.play)


def read_swaps(split: str) -> Iterator[Question]:
    """Ask of a sentence whether two neighbouring words in it were exchanged (1) or not (0).

    The first and the last word stay, because their capital and mark would tell.
    """
    generator = Generator().manual_seed(13)
    for play, said in sentences(split):
        for sentence in said:
            words = sentence.split()
            if not fits(sentence):
                continue
            place = 1 + int(torch.randint(len(words) - 3, (1,), generator=generator))
            swapped = int(torch.randint(2, (1,), generator=generator))
            if swapped:
                words[place : place + 2] = words[place + 1], words[place]
            if words[place] != words[place + 1]:
                yield Question(" ".join(words), swapped, play)


TASKS: dict[str, Callable[[str], Iterator[Question]]] = {
    "mark": read_marks,
    "speaker": read_changes,
    "order": read_orders,
    "swap": read_swaps,
}


@cache
def questions(task: str, split: str, n: int | None) -> tuple[Question, ...]:
    """Draw questions of a split, as many of each label in each play; at most n in all, spread."""
    generator = Generator().manual_seed(14)
    by_class: dict[tuple[str, int], list[Question]] = {}
    for question in TASKS[task](split):
        if len(question.text) <= MAX_LEN:
            by_class.setdefault((question.play, question.label), []).append(question)
    found = []
    for play in sorted({play for play, _ in by_class}):
        both = [by_class.get((play, label), []) for label in (0, 1)]
        keep = min(map(len, both))
        for members in both:
            order = torch.randperm(len(members), generator=generator)[:keep].sort().values
            found += [members[i] for i in order.tolist()]
    step = max(1, len(found) // (n or len(found)))
    return tuple(found[::step][:n])
