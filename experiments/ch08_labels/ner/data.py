# SPDX-License-Identifier: MIT
"""Passages of the name study: words of plays, a tag for each, and how the mini models read them.

Passages come as they stand in the plays: most hold no name, and whoever labels reads those as well.
The names of validation and test passages stand nowhere in the training plays.
"""

from functools import cache

import torch
from torch import Tensor

from experiments.ch07_worldview.questions import SEQ_LEN, TOKENIZER
from experiments.ch08_labels.data import draw_nested
from pretrain_lab.finetuning.token_classification import Words
from pretrain_lab.tasks.character_ner import TAGS, NamePassage, read_names

N_PASSAGES = (512, 2048, 8192)
"""Numbers of labelled passages; the study adds all of them."""
TUNED_AT = 2048
"""Here and with all passages the settings are tried; up to here the first choice is taken."""
SIZES = {"validation": 1000}
"""Splits of which evenly spaced passages are taken, and how many."""


def encode_words(words: tuple[str, ...]) -> Words:
    """Encode a passage between two [SEP], as the mini models met texts in their pre-training.

    Args:
        words: Words of a passage.

    Returns:
        The tokens, and the place of each word's last one.
    """
    pieces: list[Tensor] = [torch.tensor([TOKENIZER.sep_id])]
    ends: list[int] = []
    for place, word in enumerate(words):
        pieces.append(TOKENIZER.encode(f" {word}" if place else word))
        ends.append(sum(map(len, pieces)) - 1)
    return Words(torch.cat([*pieces, pieces[0]]), torch.tensor(ends))


@cache
def passages(split: str) -> tuple[NamePassage, ...]:
    """Give the passages of a split that fit into the mini models' window."""
    found = [
        passage for passage in read_names(split) if len(encode_words(passage.words).ids) <= SEQ_LEN
    ]
    step = max(1, len(found) // SIZES.get(split, len(found)))
    return tuple(found[::step][: SIZES.get(split)])


@cache
def encoded(split: str) -> list[Words]:
    """Encode the passages of a split."""
    return [encode_words(passage.words) for passage in passages(split)]


def classes(split: str) -> list[list[int]]:
    """Give the places in TAGS of the tags of a split."""
    return [[TAGS.index(tag) for tag in passage.tags] for passage in passages(split)]


def n_passages() -> list[int]:
    """List the numbers of labelled passages, all of them last."""
    n_all = len(passages("train"))
    return [*(n for n in N_PASSAGES if n < n_all), n_all]


def subset(n: int, seed: int) -> list[int]:
    """Draw passages; those of a smaller n are the first of a larger one.

    Args:
        n: Number of passages.
        seed: Seed of the draw.

    Returns:
        n places in `passages("train")`.

    Raises:
        ValueError: More passages than there are.
    """
    return draw_nested(len(passages("train")), n, 7000 + seed)
