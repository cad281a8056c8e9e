# SPDX-License-Identifier: MIT
"""The methods of the label study, each with the settings that it may choose from.

Four settings each (`bow_more` has 16, to see whether the simplest baseline was starved). The mini
models have one size; book_bert is the book's larger BERT, pre-trained on the same films and plays
with some ten times the operations, and `scratch_book` is its shape without pre-training. MiniLM,
too, has a twin of its shape with random weights; both have five settings, whose rates reach up to
those that suit the twin.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from experiments.ch08_labels.data import N_LABELS, USED, Sentences

Setting = dict[str, Any]
BATCH_SIZE = 16
STEPS = dict(zip(N_LABELS, (60, 120, 250, 500, 1200), strict=True))
"""Updates by number of labels: thirty passes over the fewest labels, two over all."""
WARMUP = 0.1  # share of the steps


@dataclass(frozen=True)
class Plan:
    """How much is trained and asked."""

    sentences: Sentences = field(default_factory=Sentences)
    steps: Mapping[int, int] = field(default_factory=lambda: STEPS)
    curve: Mapping[str, int] = field(default_factory=lambda: {"n": 2048, "points": 8, "every": 4})
    """Learning curves: at how many labels, how many points, every which test sentence is asked."""
    used: Mapping[int, int] = field(default_factory=lambda: USED)
    """Number of labels → the one whose chosen setting it takes."""
    seeds: tuple[int, ...] | None = None  # None = each method's own
    n_resamples: int = 2000
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Try everything on a few sentences."""
        return cls(
            Sentences(128, 30, 40),
            {32: 1, 128: 2},
            {"n": 128, "points": 2, "every": 4},
            {32: 32, 128: 32},
            seeds=(0, 1),
            n_resamples=50,
            keep=False,
        )


WORDS: list[Setting] = [
    {"n_gram": 1, "weights": "tf-idf", "C": 1.0},
    {"n_gram": 2, "weights": "tf-idf", "C": 1.0},
    {"n_gram": 2, "weights": "tf-idf", "C": 10.0},
    {"n_gram": 2, "weights": "counts", "C": 0.1},
]
MORE_WORDS: list[Setting] = [
    {"n_gram": n_gram, "weights": weights, "C": strength * (10 if weights == "tf-idf" else 1)}
    for n_gram, weights, strength in product((1, 2), ("tf-idf", "counts"), (0.03, 0.1, 0.3, 1.0))
]
STRENGTHS: list[Setting] = [{"C": strength} for strength in (0.001, 0.01, 0.1, 1.0)]
RATES: list[Setting] = [{"lr": lr} for lr in (3e-4, 1e-3, 3e-3, 1e-2)]
RELATIVE: list[Setting] = [{"lr": lr} for lr in (3e-3, 1e-2, 3e-2, 1e-1)]
PUBLISHED: list[Setting] = [{"lr": lr} for lr in (2e-5, 5e-5, 1e-4, 2e-4, 5e-4)]


@dataclass(frozen=True)
class Arm:
    """One method."""

    title: str
    group: str  # "words", "frozen" or "fine-tuned"
    backbone: str | None  # None, "random", a mini model's name, "book", "minilm" or "random_" …
    grid: list[Setting]
    seeds: tuple[int, ...] = (0, 1, 2)

    @property
    def reader(self) -> str:
        """Return how sentences are encoded for it."""
        found = {"minilm": "published", "book": "book"}
        return found.get((self.backbone or "").removeprefix("random_"), "mini")


FIVE = (0, 1, 2, 3, 4)
ARMS = {
    "bow": Arm("bag of words", "words", None, WORDS, FIVE),
    "bow_more": Arm("bag of words, 16 settings", "words", None, MORE_WORDS, FIVE),
    "frozen_random": Arm("untrained, frozen", "frozen", "random", STRENGTHS, FIVE),
    "frozen_mlm": Arm("masked, frozen", "frozen", "bert", STRENGTHS),
    "frozen_clm": Arm("causal, frozen", "frozen", "gpt", STRENGTHS),
    "frozen_span": Arm("spans, frozen", "frozen", "t5", STRENGTHS),
    "scratch": Arm("from scratch", "fine-tuned", "random", RATES, FIVE),
    "mlm": Arm("masked, fine-tuned", "fine-tuned", "bert", RATES, FIVE),
    "clm": Arm("causal, fine-tuned", "fine-tuned", "gpt", RATES),
    "span": Arm("spans, fine-tuned", "fine-tuned", "t5", RELATIVE),
    "frozen_book": Arm("book_bert, frozen", "frozen", "book", STRENGTHS, FIVE),
    "scratch_book": Arm("book_bert's shape from scratch", "fine-tuned", "random_book", RATES),
    "book": Arm("book_bert, fine-tuned", "fine-tuned", "book", RATES),
    "frozen_minilm": Arm("MiniLM, frozen", "frozen", "minilm", STRENGTHS, FIVE),
    "random_minilm": Arm("MiniLM's shape from scratch", "fine-tuned", "random_minilm", PUBLISHED),
    "minilm": Arm("MiniLM, fine-tuned", "fine-tuned", "minilm", PUBLISHED),
}
