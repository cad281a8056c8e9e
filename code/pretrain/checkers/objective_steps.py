# SPDX-License-Identifier: MIT
"""Checker of chapter 4, second part: the causal objective, one step at a time."""

from itertools import pairwise

import numpy as np

from pretrain.checkers.checker import Checker, Part
from pretrain.checkers.kinds import Number, Numbers
from pretrain.checkers.predicates import Mistake, equals, nats_for_bits, near, wrong_sign

MODEL = {"a": {"a": 1 / 2, "b": 1 / 4, ".": 1 / 4}, "b": {"a": 1 / 4, "b": 1 / 4, ".": 1 / 2}}
"""P(next | the character just read), as the exercise's table has it."""
TEXTS = ("aab.", "baa")
PAIRS = [pair for text in TEXTS for pair in pairwise(text)]
N_FIRST = len(TEXTS[0]) - 1
"""Predictions of both texts in a row, and how many of them belong to the first."""


def objective() -> Checker:
    """Go from the chain rule to the cross-entropy, with a number at each step."""
    surprises = np.array([-np.log2(MODEL[old][new]) for old, new in PAIRS])
    parts = {
        "text": _probability(surprises),
        "bits": _bits(surprises),
        "loss": _loss(surprises),
        "contexts": _contexts(),
        "best": _best(float(surprises.mean())),
    }
    follows = "The loss is the cross-entropy to what followed, and counts would reach its minimum."
    return Checker("ex-gpt-objective", "derivation", parts, follows)


def _probability(surprises: np.ndarray) -> Part:
    """Ask for the probability of the first text, given its first character."""
    first = 0.5 ** surprises[:N_FIRST]
    return Part(
        Number("probability"),
        near(first.prod()),
        (
            Mistake(near(first.sum()), "those are added. Which operation joins the factors?"),
            Mistake(
                near(first.mean()), "that is a mean of the factors; the chain rule multiplies."
            ),
            Mistake(near(0.5 ** surprises.sum()), "that is for both texts; only the first one."),
            Mistake(
                near(first.prod() / 3, first.prod() / 2),
                "the first character is given, so it adds no factor.",
            ),
        ),
        "read the table once for each character but the first, and multiply.",
    )


def _bits(surprises: np.ndarray) -> Part:
    """Ask for the surprise of the first text."""
    right = float(surprises[:N_FIRST].sum())
    return Part(
        Number("bits"),
        near(right),
        (
            wrong_sign(right, "the logarithm of a probability is negative; take minus it."),
            nats_for_bits(right),
            Mistake(near(right / 3), "that is the mean; here the sum is asked for."),
            Mistake(near(surprises.sum()), "that is for both texts; only the first one."),
        ),
        "each factor of step (a) becomes a term, minus its logarithm to base 2.",
    )


def _loss(surprises: np.ndarray) -> Part:
    """Ask for the mean over the predictions of both texts."""
    by_text = surprises[:N_FIRST].mean(), surprises[N_FIRST:].mean()
    return Part(
        Number("bits per prediction"),
        near(surprises.mean()),
        (
            nats_for_bits(surprises.mean()),
            Mistake(
                near(np.mean(by_text)),
                "that is a mean of two means; each prediction counts once, whatever its text.",
            ),
            Mistake(near(surprises.sum()), "that is the sum; divide by the number of predictions."),
            Mistake(
                near(surprises.sum() / sum(map(len, TEXTS))),
                "nothing predicts a first character: there are fewer predictions than characters.",
            ),
            Mistake(near(surprises.sum() / 2), "that is per text; divide by the predictions."),
        ),
        "add the surprises of all predictions in both texts, and divide by their number.",
    )


def _counts(old: str) -> np.ndarray:
    """Count what followed a character in the two texts."""
    return np.array([PAIRS.count((old, new)) for new in MODEL[old]], dtype=float)


def _entropies() -> tuple[np.ndarray, np.ndarray]:
    """Give, for a and b, the entropy of what followed and the model's cross-entropy to it."""
    shares = [_counts(old) / _counts(old).sum() for old in MODEL]
    own = [-sum(q * np.log2(q) for q in share if q) for share in shares]
    rows = [np.array(list(MODEL[old].values())) for old in MODEL]
    crossed = [-(share @ np.log2(row)) for share, row in zip(shares, rows, strict=True)]
    return np.array(own), np.array(crossed)


def _contexts() -> Part:
    """Ask for the cross-entropy after each of the two characters."""
    own, crossed = _entropies()
    rows = np.array([list(row.values()) for row in MODEL.values()])
    return Part(
        Numbers((2,), "bits, after a and after b"),
        near(crossed),
        (
            nats_for_bits(crossed),
            Mistake(near(crossed[::-1]), "these two are swapped: first after a, then after b."),
            Mistake(near(own), "that is the entropy of what followed. Where is the model?"),
            Mistake(
                near(-(rows * np.log2(rows)).sum(axis=1)),
                "that is the entropy of the model's rows; weigh by what followed in the texts.",
            ),
            Mistake(
                near(-np.log2(rows).mean(axis=1)),
                "that weighs every character alike; weigh by how often each one followed.",
            ),
        ),
        "collect what followed each character, and average the surprises over it.",
    )


def _best(loss: float) -> Part:
    """Ask for the smallest loss that a table of this kind can have on the texts."""
    own, _ = _entropies()
    n = np.array([_counts(old).sum() for old in MODEL])
    right = float(own @ n / n.sum())
    return Part(
        Number("bits per prediction"),
        near(right, rel=3e-3),
        (
            nats_for_bits(right, rel=3e-3),
            Mistake(
                equals(0), "a was followed by two things: no table that reads one character knows."
            ),
            Mistake(near(own.mean(), rel=3e-3), "weigh the two by the number of predictions."),
            Mistake(near(loss), "that is this model's loss; another table does better."),
            Mistake(near(loss - right), "that is the gap to it, the divergence of the two."),
        ),
        "which row makes a cross-entropy smallest? Put in the shares of what followed.",
    )
