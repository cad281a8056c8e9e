# SPDX-License-Identifier: MIT
"""Checkers of chapter 4: the objective, top-p, its gradient, context, positions, typical tokens."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers
from pretrain_book.exercises.grader import Checker, Part, single_answer
from pretrain_book.exercises.predicates import (
    Mistake,
    acts_like,
    between,
    equals,
    nats_for_bits,
    near,
    wrong_sign,
)

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
    explanation = (
        "The loss is the cross-entropy to what followed, and counts would reach its minimum."
    )
    return Checker("ex-gpt-objective", "derivation", parts, explanation)


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


PROBS = (0.5, 0.2, 0.15, 0.1, 0.05)
ODDS, TARGET, N_POSITIONS = (4.0, 2.0, 1.0, 1.0), 1, 10
"""Exponentials of the logits at one position, the token that follows, and the positions."""
LOSSES = {1: 3.66, 4: 2.38, 16: 2.21, 120: 2.17}
"""Bits per character of the book model by characters of context, as the solution's table prints."""
TYPICAL_CASES = (
    ([0.5, 0.2, 0.15, 0.1, 0.05], 0.3),
    ([0.35, 0.25, 0.2, 0.15, 0.05], 0.6),
    ([0.04, 0.9, 0.035, 0.025], 0.5),
    ([0.1, 0.42, 0.18, 0.3], 0.95),
)
Order = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def top_p() -> Checker:
    """Cut a distribution by top-p, with and without a temperature."""
    probs = np.array(PROBS)
    kept = probs * [1, 1, 1, 0, 0]
    new = Part(
        Numbers((5,), "probabilities"),
        near(kept / kept.sum(), abs_=6e-3),
        (
            Mistake(near(kept), "these are the kept ones as they were; rescale them to sum to 1."),
            Mistake(
                near(probs * [1, 1, 0, 0, 0] / 0.7, abs_=1e-3),
                "two tokens fall short of p. The one that crosses it stays.",
            ),
            Mistake(
                near(probs * [1, 1, 1, 1, 0] / 0.95, abs_=1e-3),
                "three tokens reach p already; the fourth is one too many.",
            ),
            Mistake(near(kept / 0.8, abs_=1e-3), "divide by what the kept ones sum to, not by p."),
            Mistake(near(probs), "nothing is cut off yet."),
        ),
        "add up from the largest until p is reached; the others become 0, the rest is rescaled.",
    )
    n_kept = Part(
        Number("tokens", whole=True),
        equals(4),
        (
            Mistake(
                equals(2), "so few are left when the temperature sharpens: 2 means the square root."
            ),
            Mistake(equals(3), "that is without the temperature; a flatter law needs more tokens."),
            Mistake(equals(5), "the last one is not needed to reach p."),
        ),
        "take square roots, rescale, and add up again.",
    )
    return Checker(
        "ex-gpt-topp",
        "warm-up",
        {"a": new, "b": n_kept},
        "A high temperature before top-p lets more of the tail in.",
    )


def gradient() -> Checker:
    """Derive the gradient of the loss with respect to the logits of one position."""
    probs = np.array(ODDS) / sum(ODDS)
    target = np.eye(4)[TARGET]
    right = (probs - target) / N_POSITIONS
    return single_answer(
        "ex-gpt-gradient",
        "derivation",
        Numbers((4,), "one derivative a token"),
        near(right, abs_=6e-4),
        wrong_sign(right, "descent subtracts the gradient, and would lower the true logit here."),
        Mistake(
            near(right * N_POSITIONS, abs_=1e-6), "the loss is a mean: each position has a share."
        ),
        Mistake(
            near(probs / N_POSITIONS, abs_=1e-6),
            "that is the derivative of the log of the sum alone; the true logit has a term too.",
        ),
        Mistake(
            near(probs, abs_=1e-6),
            "those are the softmax probabilities; which term does the true token add?",
        ),
        Mistake(
            near(right * target, abs_=1e-6),
            "the sum in the softmax holds every logit, so none has derivative 0.",
        ),
        Mistake(
            lambda values: abs(values.sum()) > 1e-4,
            "the four must sum to 0: a shift of all logits changes nothing.",
        ),
        default_hint="differentiate minus the true logit plus the log of the sum of exponentials.",
        explanation="Only the true token's logit is pushed up, by what is missing to 1.",
    )


def context() -> Checker:
    """Measure how much the loss falls with more characters of context."""
    parts = {
        "1 to 4": _gain(1, 4, 0.04, 3.58 - 2.23),
        "4 to 16": _gain(4, 16, 0.04, None),
        "16 to 120": _gain(16, 120, 0.025, None),
    }
    explanation = "Most of what helps stands close by; a hundred characters more hardly matter."
    return Checker("ex-gpt-context", "experiment", parts, explanation)


def typical() -> Checker:
    """Write locally typical sampling."""
    return single_answer(
        "ex-gpt-typical",
        "extension",
        Function(
            "typical(probs, share)",
            TYPICAL_CASES,
            tuple(Numbers((len(probs),), "probabilities") for probs, _ in TYPICAL_CASES),
        ),
        acts_like(_typical, TYPICAL_CASES),
        _typical_mistake(
            "that keeps the likeliest, as top-p does. Sort by distance to the entropy.",
            lambda p: -p,
        ),
        _typical_mistake(
            "that keeps the least typical tokens first; small distances go first.",
            lambda p: -_distance(p),
        ),
        _typical_mistake(
            "entropy and surprise have different units here: use one logarithm for both.",
            lambda p: np.abs(-np.log(p) - _entropy(p) / math.log(2)),
        ),
        _typical_mistake("rescale what is kept, so that it sums to 1.", rescale=False),
        _typical_mistake("the token that crosses the share stays.", crossing=False),
        Mistake(
            acts_like(lambda probs, share: np.array(probs), TYPICAL_CASES), "nothing is cut off."
        ),
        default_hint="sort by distance of surprise to entropy, keep up to the share, rescale.",
        explanation="The likeliest token itself can be cut, which top-k, top-p and min-p never do.",
    )


def _gain(low: int, high: int, tolerance: float, counted: float | None) -> Part:
    """Ask for the fall of the loss from one length of context to a longer one."""
    gain = LOSSES[low] - LOSSES[high]
    mistakes = [
        wrong_sign(gain, "the loss falls; give the fall as a positive number.", rel=0.1),
        Mistake(
            near(LOSSES[low], LOSSES[high], rel=0.01),
            "that is a loss; take the difference of two.",
        ),
    ]
    if counted is not None:
        mistakes.append(Mistake(near(counted, rel=0.01), "that is what Kneser–Ney gains."))
        mistakes.append(nats_for_bits(gain, rel=0.03))
    default_hint = f"score the same characters with {low} and with {high} before them, in bits."
    right = near(gain, rel=0, abs_=tolerance)
    return Part(Number("bits per character"), right, tuple(mistakes), default_hint)


def positions() -> Checker:
    """Train a GPT of one block without positions, and say what it still knows of the order."""
    bits = {
        "with": ((2.8, 3.15), (3.25, 3.56), "that is without positions; are the two swapped?"),
        "without": ((3.25, 3.56), (2.8, 3.15), "did that model have positions? Set them to zero."),
    }
    parts = {
        name: Part(
            Number("bits per character"),
            between(*right),
            (
                Mistake(between(*other), hint),
                Mistake(
                    between(right[0] * math.log(2), right[1] * math.log(2)),
                    "that is in nats, from the natural logarithm. Bits take the logarithm to base "
                    "2.",
                ),
            ),
            "train it for 800 steps, and ask `bits_of`.",
        )
        for name, (right, other, hint) in bits.items()
    }
    parts["b"] = Part(
        Choice(("yes", "no")),
        equals("no"),
        (),
        "which of the keys and values say where a character stood?",
    )
    parts["c"] = Part(
        Choice(("yes", "no")),
        equals("yes"),
        (),
        "which characters does the state of the tenth position depend on?",
    )
    explanation = "A causal mask brings in the order, but only from the second block on."
    return Checker("ex-gpt-positions", "experiment", parts, explanation)


def _entropy(probs: NDArray[np.float64]) -> float:
    """Compute the entropy in nats."""
    return float(-(probs * np.log(probs)).sum())


def _distance(probs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Measure how far each token's surprise is from the entropy, in nats."""
    return np.abs(-np.log(probs) - _entropy(probs))


def _typical(
    probs: list[float],
    share: float,
    key: Order = _distance,
    rescale: bool = True,
    crossing: bool = True,
) -> NDArray[np.float64]:
    """Keep tokens in the order of a key until they hold the share; options make the mistakes."""
    law = np.array(probs)
    order = np.argsort(key(law))
    upto = law[order].cumsum()
    kept = upto - law[order] < share if crossing else upto <= share
    left = np.zeros_like(law)
    left[order[kept]] = law[order[kept]]
    return left / left.sum() if rescale and left.any() else left


def _typical_mistake(hint: str, key: Order = _distance, **options: Any) -> Mistake:
    """Recognise a variant of the rule."""
    wrong = acts_like(lambda p, share: _typical(p, share, key, **options), TYPICAL_CASES)
    return Mistake(wrong, hint)


CHECKERS = {
    "ex-gpt-topp": top_p,
    "ex-gpt-objective": objective,
    "ex-gpt-gradient": gradient,
    "ex-gpt-context": context,
    "ex-gpt-positions": positions,
    "ex-gpt-typical": typical,
}
