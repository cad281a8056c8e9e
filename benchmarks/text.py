# SPDX-License-Identifier: MIT
"""The text that the benchmarks train on: the cleaned plays, *Coriolanus* first.

Implemented: the order of the plays, the small split of the published chapter and the large one of
nanoGPT's recipe. Every split is a plain cut, so that both sides of a pair read the same characters.
"""

from typing import NamedTuple

from torch import Tensor

from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.tokenizers.characters import CharTokenizer

FIRST_PLAY = "coriolanus"
SMALL_LEN = 80_000
HELD_OUT_LEN = 20_000
LARGE_LEN = 1_115_394
VALIDATION_SHARE = 0.1


class Split(NamedTuple):
    """One benchmark's text as ids, and the vocabulary of all of it."""

    tokenizer: CharTokenizer
    train: Tensor  # int64 (L,)
    validation: Tensor  # int64 (L,); recipes were chosen on this
    held_out: Tensor  # int64 (L,); scored once, after the choice; may be empty


def benchmark_text() -> str:
    """Join the cleaned plays, *Coriolanus* first and the others by file name.

    There are about 4.8 million characters.
    """
    plays = load_shakespeare("all")
    ordered = sorted(plays, key=lambda play: (play.slug != FIRST_PLAY, play.slug))
    return "\n".join(play.text for play in ordered)


def small_split(text: str) -> Split:
    """Cut the published chapter's text: 72,000 to train, 8,000 to choose, 20,000 held out.

    The text has at least 100,000 characters.
    """
    used = text[: SMALL_LEN + HELD_OUT_LEN]
    tokenizer = CharTokenizer.from_text(used)
    ids = tokenizer.encode(used)
    n_train = round(SMALL_LEN * (1 - VALIDATION_SHARE))
    return Split(tokenizer, ids[:n_train], ids[n_train:SMALL_LEN], ids[SMALL_LEN:])


def large_split(text: str) -> Split:
    """Cut as many characters as nanoGPT's recipe reads, nine tenths of them to train.

    The text has at least 1,115,394 characters.
    """
    used = text[:LARGE_LEN]
    tokenizer = CharTokenizer.from_text(used)
    ids = tokenizer.encode(used)
    n_train = int(len(ids) * (1 - VALIDATION_SHARE))
    return Split(tokenizer, ids[:n_train], ids[n_train:], ids[:0])
