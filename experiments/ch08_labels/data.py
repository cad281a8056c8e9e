# SPDX-License-Identifier: MIT
"""Labelled sentences of the label study: splits by film, nested subsets, and how each model reads.

Labels are drawn from the sentences of the training films. For one seed, the 32 labels are the first
of the 128, and so on: a curve over the number of labels adds to what it had.
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Generator, Tensor

from experiments.ch07_worldview.questions import SEQ_LEN, TOKENIZER
from pretrain_lab.corpora.loading import Review, load_reviews
from pretrain_lab.hub.tokenizers import load_published_tokenizer
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

N_LABELS = (32, 128, 512, 2048, 9242)  # the last one: all sentences of the training films
# Number of labels → seeds with which the settings are tried.
TUNED_AT = {128: (100, 101), 2048: (100,), 9242: (100,)}
# Number of labels → the number at which its setting was chosen.
USED = {32: 128, 128: 128, 512: 2048, 2048: 2048, 9242: 9242}
MAX_LEN = 128  # tokens; no sentence is longer


@cache
def _spread(split: str, n: int | None) -> tuple[Review, ...]:
    """Take n evenly spaced sentences of a split; None = all."""
    reviews = load_reviews(split)
    step = max(1, len(reviews) // (n or len(reviews)))
    return tuple(reviews[::step][:n])


@cache
def _encoded(split: str, n: int | None, reader: str) -> list[Tensor]:
    """Encode them once."""
    return [read_text(review.sentence, reader) for review in _spread(split, n)]


@dataclass(frozen=True)
class Sentences:
    """Labelled sentences of three splits: all (None), or as many as given, spread over films."""

    train: int | None = None
    validation: int | None = None
    test: int | None = None

    def of(self, split: str) -> tuple[Review, ...]:
        """Return the sentences of a split."""
        return _spread(split, getattr(self, split))

    def labels(self, split: str) -> Tensor:
        """Return the labels of a split, int64 (N,): 1 = fresh, 0 = rotten."""
        return torch.tensor([review.label for review in self.of(split)])

    def films(self, split: str) -> list[str]:
        """Name the film of each sentence of a split."""
        return [review.film for review in self.of(split)]

    def subset(self, n: int, seed: int) -> list[int]:
        """Draw n places in `of("train")`; those of a smaller n are the first of a larger one.

        Raises:
            ValueError: More labels than there are.
        """
        return draw_nested(len(self.of("train")), n, 5000 + seed)

    def encoded(self, split: str, reader: str) -> list[Tensor]:
        """Encode a split for a "mini", "book" or "published" model, int64 (T_i,) each."""
        return _encoded(split, getattr(self, split), reader)

    def uncut(self, split: str) -> Tensor:
        """Mark which sentences of a split the mini models read whole, bool (N,)."""
        lengths = [len(TOKENIZER.encode(review.sentence)) for review in self.of(split)]
        return torch.tensor(lengths) <= SEQ_LEN - 2


def draw_nested(n_all: int, n: int, seed: int) -> list[int]:
    """Draw n of n_all places; with the same seed a smaller n gives the first of a larger one.

    Raises:
        ValueError: More than there are, or none.
    """
    if not 1 <= n <= n_all:
        raise ValueError(f"expected n in 1..{n_all}, got {n}")
    order = torch.randperm(n_all, generator=Generator().manual_seed(seed))
    places: list[int] = order[:n].tolist()
    return places


@cache
def tokenizer_of(reader: str) -> SubwordTokenizer:
    """Load the vocabulary of a "mini", "book" or "published" model once."""
    if reader == "published":
        return load_published_tokenizer("bert-base-uncased")
    return load_tokenizer("book_wordpiece") if reader == "book" else TOKENIZER


def read_text(text: str, reader: str) -> Tensor:
    """Encode a sentence, int64 (T,), as a kind of model met texts in its pre-training.

    `reader` "mini": between two [SEP], at most SEQ_LEN tokens; "book" and "published": [CLS], the
    pieces, [SEP], at most MAX_LEN tokens.
    """
    tokenizer, mini = tokenizer_of(reader), reader == "mini"
    pieces = tokenizer.encode(text)[: (SEQ_LEN if mini else MAX_LEN) - 2]
    ends = torch.tensor([tokenizer.sep_id if mini else tokenizer.cls_id, tokenizer.sep_id])
    return torch.cat([ends[:1], pieces, ends[1:]])
