# SPDX-License-Identifier: MIT
"""Checker of chapter 5, second part: replaced-token detection."""

import numpy as np

from pretrain.checkers.checker import Checker, Part
from pretrain.checkers.kinds import Number, Numbers
from pretrain.checkers.predicates import Mistake, nats_for_bits, near, share_for_percent

ORIGINAL = ["the", "king", "is", "dead", ",", "long", "live", "the", "king", "."]
READ = ["the", "queen", "is", "dead", ",", "long", "be", "the", "king", "."]
SELECTED = (1, 3, 6)
P_REPLACED = np.array([1, 2, 1, 1, 1, 1, 4, 1, 4, 1]) / 8
"""What the detector answers at each place."""
SAME = 5.6
"""Per cent of draws from the frequencies that hit the character itself, as the solution prints."""


def replaced() -> Checker:
    """Label a corrupted line, count the answers, and compute the detector's loss."""
    labels = np.array([old != new for old, new in zip(ORIGINAL, READ, strict=True)], dtype=float)
    parts = {
        "labels": _labels(labels),
        "answers": _answers(),
        "loss": _loss(labels),
        "same": _same(),
    }
    follows = "A detector is asked at every place, and most of its answers are 'original'."
    return Checker("ex-brt-replaced", "extension", parts, follows)


def _labels(right: np.ndarray) -> Part:
    """Ask which tokens count as replaced."""
    selected = np.isin(np.arange(len(right)), SELECTED).astype(float)
    return Part(
        Numbers((len(right),), "1 = replaced"),
        near(right, abs_=1e-9),
        (
            Mistake(
                near(selected, abs_=1e-9),
                "those are the selected places. What if the draw is the token itself?",
            ),
            Mistake(near(1 - right, abs_=1e-9), "1 stands for replaced, 0 for original."),
            Mistake(near(P_REPLACED), "those are the detector's answers; the labels are 0 or 1."),
            Mistake(
                near((P_REPLACED >= 0.5).astype(float), abs_=1e-9),
                "that is what the detector suspects; compare the two lines.",
            ),
        ),
        "compare what is read with what stood there, place by place.",
    )


def _answers() -> Part:
    """Ask at how many places the detector and a masked model have a loss."""
    n, n_selected = len(ORIGINAL), len(SELECTED)
    return Part(
        Numbers((2,), "detector, masked model"),
        near(np.array([n, n_selected]), abs_=1e-9),
        (
            Mistake(near(np.array([n_selected, n])), "these two are swapped."),
            Mistake(
                near(np.array([n_selected, n_selected])),
                "an original token is a question too: the detector must say so.",
            ),
            Mistake(
                near(np.array([2, n_selected]), np.array([n, 2])),
                "a token that was drawn as itself is asked about all the same.",
            ),
            Mistake(near(np.array([n, n])), "a masked model answers where a token was selected."),
        ),
        "count the places where each of the two models has a term in its loss.",
    )


def _loss(labels: np.ndarray) -> Part:
    """Ask for the detector's mean loss in bits."""
    costs = -np.log2(np.where(labels == 1, P_REPLACED, 1 - P_REPLACED))
    selected = np.isin(np.arange(len(labels)), SELECTED)
    naive = -np.log2(np.where(selected, P_REPLACED, 1 - P_REPLACED))
    turned = -np.log2(np.where(labels == 1, 1 - P_REPLACED, P_REPLACED))
    return Part(
        Number("bits per token"),
        near(costs.mean(), rel=0.01),
        (
            nats_for_bits(costs.mean(), rel=0.01),
            Mistake(near(costs.sum()), "that is the sum; the loss is a mean over the places."),
            Mistake(near(naive.mean()), "'dead' was drawn as itself; which answer is right there?"),
            Mistake(
                near(costs[list(SELECTED)].mean(), costs[labels == 1].mean()),
                "that is the mean over some places only; the others have a loss too.",
            ),
            Mistake(
                near(costs[labels == 1].sum() / len(costs)),
                "an original token costs minus the logarithm of 1 - P(replaced).",
            ),
            Mistake(
                near(turned.mean()), "where the label is 1, the cost comes from P(replaced) itself."
            ),
        ),
        "each place costs minus the logarithm of the probability of its right answer.",
    )


def _same() -> Part:
    """Ask how often a draw from the frequencies hits the character itself."""
    return Part(
        Number("%"),
        near(SAME, rel=0, abs_=0.15),
        (
            share_for_percent(SAME, rel=0.02),
            Mistake(near(100 / 62, rel=0.02), "that is for a uniform draw; spaces are frequent."),
            Mistake(near(100 - SAME), "that is how often the draw is another character."),
            Mistake(near(0.15 * SAME, rel=0.02), "ask it of the selected ones, not of all."),
        ),
        "a character of frequency p is drawn again with probability p; average over the text.",
    )
