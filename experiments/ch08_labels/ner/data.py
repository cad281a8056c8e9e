# SPDX-License-Identifier: MIT
"""Passages of the name study: words of plays, a tag for each, and how each model reads them.

Passages come as they stand in the plays: most hold no name, and whoever labels reads those as well.
The names of validation and test passages stand nowhere in the training plays.
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from experiments.ch07_worldview.questions import SEQ_LEN, TOKENIZER
from experiments.ch08_labels.data import draw_nested
from pretrain_lab.finetuning.token_classification import Words
from pretrain_lab.tasks.character_ner import TAGS, NamePassage, read_names

N_PASSAGES = (512, 2048, 8192)  # of labelled passages; the study adds all of them
TUNED_AT = {512: 512, 2048: 2048, 8192: 2048}
"""Number of passages -> the number at which its setting is chosen; for all, with all."""


def encode_words(words: tuple[str, ...]) -> Words:
    """Encode words between two [SEP], as the mini models met texts; a word's place is its last."""
    pieces: list[Tensor] = [torch.tensor([TOKENIZER.sep_id])]
    ends: list[int] = []
    for place, word in enumerate(words):
        pieces.append(TOKENIZER.encode(f" {word}" if place else word))
        ends.append(sum(map(len, pieces)) - 1)
    return Words(torch.cat([*pieces, pieces[0]]), torch.tensor(ends))


@cache
def _spread(split: str, n: int | None) -> tuple[NamePassage, ...]:
    """Take n evenly spaced passages of those that fit into the mini models' window; None = all."""
    found = [
        passage for passage in read_names(split) if len(encode_words(passage.words).ids) <= SEQ_LEN
    ]
    step = max(1, len(found) // (n or len(found)))
    return tuple(found[::step][:n])


@cache
def _encoded(split: str, n: int | None) -> list[Words]:
    """Encode them once."""
    return [encode_words(passage.words) for passage in _spread(split, n)]


@dataclass(frozen=True)
class Plan:
    """How many passages of each split there are, None = all, and how long is trained."""

    train: int | None = None
    validation: int | None = 1000
    test: int | None = None
    max_steps: int = 6300  # updates, three passes over all passages
    seeds: tuple[int, ...] = (0, 1, 2)
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Take a few passages and two steps; both seeds have the mini models of seed 0."""
        return cls(600, 100, 200, 2, seeds=(0, 100), keep=False)

    def passages(self, split: str) -> tuple[NamePassage, ...]:
        """Return the passages of a split."""
        return _spread(split, getattr(self, split))

    def encoded(self, split: str) -> list[Words]:
        """Encode the passages of a split."""
        return _encoded(split, getattr(self, split))

    def classes(self, split: str) -> list[list[int]]:
        """Return the places in TAGS of the tags of a split."""
        return [[TAGS.index(tag) for tag in passage.tags] for passage in self.passages(split)]

    def n_passages(self) -> list[int]:
        """List the numbers of labelled passages, all of them last."""
        n_all = len(self.passages("train"))
        return [*(n for n in N_PASSAGES if n < n_all), n_all]

    def tuned_at(self, n: int) -> int:
        """Give the number of passages at which the setting for n is chosen."""
        return TUNED_AT.get(n, self.n_passages()[-1])

    def subset(self, n: int, seed: int) -> list[int]:
        """Draw n of the training passages; a smaller n gives the first of a larger one.

        Raises:
            ValueError: More passages than there are.
        """
        return draw_nested(len(self.passages("train")), n, 7000 + seed)
