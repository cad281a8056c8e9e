# SPDX-License-Identifier: MIT
"""Labels that the plays' own mark-up gives exactly: speaker changes, and who speaks a line.

What the tasks yield without any model is in `pretrain_lab.tasks.rule_baselines`. Half-lines of
verse and stage directions are left out.
"""

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch
from torch import Generator

from pretrain_lab.corpora.cleaning import Speech
from pretrain_lab.corpora.scenes import Scene, load_scenes

CONTEXT_LEN = 60
"""Most words of the piece of a scene that a question is about, headings included."""
MIN_SPEAKERS = 3
_SENTENCE_END = re.compile(r"(?<=[.?!]) (?=[A-Z])")


class SpeakerChange(NamedTuple):
    """Two sentences that follow each other in a scene."""

    first: str
    second: str
    label: int  # 1 = another speaker says the second; 0 = the same one
    play: str


class SpeakerQuestion(NamedTuple):
    """A question about a line, to be answered by a span of the context."""

    context: str  # consecutive speeches, each `NAME:` and its lines
    line: str  # stands once in the context
    start: int  # first character of the answer: the heading above the line
    end: int  # character after the answer
    play: str

    @property
    def answer(self) -> str:
        """The speaker's name as the heading has it."""
        return self.context[self.start : self.end]


def load_speaker_changes(split: str, *, generator: Generator) -> list[SpeakerChange]:
    """Ask of neighbouring sentences whether the speaker changes between them.

    Sentences, not lines: in prose the last line of a speech is short, which would tell. Both kinds
    of pairs end and begin alike: the first with `.`, `?` or `!`, the second with a capital. As many
    pairs change as do not, in each play: the generator draws which of the larger class are kept.

    Raises:
        ValueError: The split is not "train", "validation" or "test".
    """
    found: dict[str, tuple[list[SpeakerChange], list[SpeakerChange]]] = {}
    for scene in load_scenes(split):
        for pair in _neighbours(scene):
            found.setdefault(pair.play, ([], []))[pair.label].append(pair)
    pairs = []
    for classes in found.values():
        n = min(map(len, classes))
        for members in classes:
            order = torch.randperm(len(members), generator=generator)[:n].sort().values
            pairs += [members[i] for i in order.tolist()]
    return pairs


def read_speakers(split: str, *, generator: Generator) -> list[SpeakerQuestion]:
    """Ask who speaks a line of a scene: a question for each fit context of MIN_SPEAKERS or more.

    The speech that is asked about is drawn uniformly from those that have a line of four words or
    more, then one of these lines, so the place of the heading tells little. In training a context
    begins at every speech; in validation and test no two overlap.

    Raises:
        ValueError: The split is not "train", "validation" or "test".
    """
    questions = []
    for scene in load_scenes(split):
        for group in _contexts(scene.speeches, overlap=split == "train"):
            if len({speech.speaker for speech in group}) >= MIN_SPEAKERS:
                questions += _ask(group, scene.play, generator)
    return questions


def _neighbours(scene: Scene) -> Iterator[SpeakerChange]:
    """Yield every pair of neighbouring sentences whose ends look alike in both classes."""
    said = [
        (sentence, number)
        for number, speech in enumerate(scene.speeches)
        for sentence in _SENTENCE_END.split(speech.text.replace("\n", " "))
    ]
    for (first, one), (second, other) in pairwise(said):
        changed = scene.speeches[one].speaker != scene.speeches[other].speaker
        if one != other and not changed:  # two headings of one speaker: neither case
            continue
        if first[-1] in ".?!" and second[0].isupper():
            yield SpeakerChange(first, second, int(changed), scene.play)


def _contexts(speeches: tuple[Speech, ...], *, overlap: bool) -> Iterator[tuple[Speech, ...]]:
    """Yield runs of speeches, each as long as CONTEXT_LEN words allow.

    With overlap a run begins at every speech, unless it only repeats the end of the one before.
    """
    lengths = [len(f"{speech.speaker} {speech.text}".split()) for speech in speeches]
    start = last_end = 0
    while start < len(speeches):
        end = start + sum(n <= CONTEXT_LEN for n in accumulate(lengths[start:]))
        if end > last_end:
            yield speeches[start:end]
        last_end = max(end, last_end)
        start = start + 1 if overlap else max(end, start + 1)


def _ask(group: tuple[Speech, ...], play: str, generator: Generator) -> list[SpeakerQuestion]:
    """Make the question about one context; none when no line of it is fit."""
    parts = [f"{speech.speaker}:\n{speech.text}" for speech in group]
    context = "\n\n".join(parts)
    fit = [[ln for ln in s.text.split("\n") if _fits(ln, context)] for s in group]
    asked = [number for number, lines in enumerate(fit) if lines]
    if not asked:
        return []
    number = asked[_draw(len(asked), generator)]
    line = fit[number][_draw(len(fit[number]), generator)]
    start = sum(len(part) + 2 for part in parts[:number])
    return [SpeakerQuestion(context, line, start, start + len(group[number].speaker), play)]


def _fits(line: str, context: str) -> bool:
    """Say whether a line is long enough and stands once in the context."""
    return len(line.split()) >= 4 and context.count(line) == 1


def _draw(n: int, generator: Generator) -> int:
    """Draw one of 0..n-1."""
    return int(torch.randint(n, (1,), generator=generator))
