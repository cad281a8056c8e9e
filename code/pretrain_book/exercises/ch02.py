# SPDX-License-Identifier: MIT
"""Checkers of chapter 2: attention, the spread of scores, a count, packing, two experiments."""

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers
from pretrain_book.exercises.grader import Checker, Part, single_answer
from pretrain_book.exercises.predicates import Mistake, acts_like, between, equals, near

WIDTH, VOCAB, PLACES, N_BLOCKS = 768, 40_478, 512, 12
"""GPT-1's sizes."""
DOCUMENT = (0, 0, 0, 1, 1, 1, 1)
"""Number of the document at each place of the packed row."""


def count() -> Checker:
    """Count GPT-1's parameters before it is built."""
    blocks = N_BLOCKS * (12 * WIDTH**2 + 13 * WIDTH)
    total = blocks + (VOCAB + PLACES) * WIDTH
    bare = N_BLOCKS * 12 * WIDTH**2 + (VOCAB + PLACES) * WIDTH
    return single_answer(
        "ex-trf-count",
        "warm-up",
        Number("parameters", whole=True),
        equals(total),
        Mistake(equals(blocks), "those are the blocks alone; the tables come on top."),
        Mistake(
            equals(total + VOCAB * WIDTH),
            "the vocabulary's table is in it twice. A tied output matrix is that table.",
        ),
        Mistake(equals(total + 2 * WIDTH), "a post-norm stack has no final norm."),
        Mistake(equals(bare), "each block also has 13·D biases and norm parameters."),
        Mistake(equals(total - PLACES * WIDTH), "the learned positions are a table too."),
        Mistake(
            equals(117_000_000, 117_000),
            "that is the figure usually quoted. Count exactly, to see whether it holds.",
        ),
        default_hint="add the twelve blocks, the table of tokens and the table of positions.",
        explanation="So 117M is a rounding of the true number.",
    )


def scale() -> Checker:
    """Derive the spread of undivided scores, and what it does to the softmax."""
    widths = ((4,), (64,), (1024,))
    spread = Part(
        Function("spread(d)", widths, Number()),
        acts_like(math.sqrt, widths),
        (
            Mistake(acts_like(float, widths), "that is the variance; the spread is its root."),
            Mistake(
                acts_like(lambda d: 1.0, widths),
                "that is the spread of one term, or of the divided score.",
            ),
            Mistake(
                acts_like(lambda d: 1 / math.sqrt(d), widths),
                "that is the factor which the scores are multiplied by. How far do they spread?",
            ),
            Mistake(
                acts_like(lambda d: math.sqrt(2 * d), widths),
                "variances of the two factors multiply, 1 · 1; they do not add.",
            ),
        ),
        "find the variance of one term, and add up d independent ones.",
    )
    softmax = Part(
        Choice(("one key takes all", "flat", "unchanged")),
        equals("one key takes all"),
        (
            Mistake(equals("flat"), "it would be flat if all scores came close to one another."),
            Mistake(
                equals("unchanged"),
                "a shift of all scores would change nothing; these are stretched.",
            ),
        ),
        "what do exponentials do to scores that lie further and further apart?",
    )
    explanation = "Divided by its spread, a score is as large in a wide layer as in a narrow one."
    return Checker(
        "ex-trf-scale", "derivation", {"spread": spread, "softmax": softmax}, explanation
    )


def attend() -> Checker:
    """Write attention with a mask."""
    cases = _attention_cases()
    return single_answer(
        "ex-trf-attend",
        "warm-up",
        Function("attend(queries, keys, values, mask)", cases, Numbers((None, None))),
        acts_like(_attend, cases),
        Mistake(
            acts_like(partial(_attend, scale=1.0), cases),
            "the scores are not divided by the root of the width.",
        ),
        Mistake(
            acts_like(partial(_attend, forbidden=0.0), cases),
            "a forbidden score of 0 still gets a weight. What does the softmax give 0 to?",
        ),
        Mistake(
            acts_like(partial(_attend, is_late=True), cases),
            "the mask acts after the softmax, so the rows no longer sum to 1.",
        ),
        Mistake(
            acts_like(lambda q, k, v, mask: _attend(q, k, v, np.ones_like(mask)), cases),
            "the mask is not used.",
        ),
        Mistake(
            acts_like(lambda q, k, v, mask: _attend(q, k, v, 1 - np.array(mask)), cases),
            "1 means may read; yours forbids where it should permit.",
        ),
        default_hint="score, scale, forbid, softmax along each row, mix.",
        explanation="Every model of this book is built on these five lines.",
    )


def _attention_cases() -> tuple[tuple[Any, ...], ...]:
    """Give small inputs whose keys are wider than they are many, and narrower."""
    draw = np.random.default_rng(0)
    cases = []
    masks = ([[1, 0, 1], [0, 1, 0], [1, 1, 0]], [[1, 1, 0, 0], [0, 1, 1, 1]])
    for mask, width in zip(masks, (2, 5), strict=True):
        n_queries, n_keys = len(mask), len(mask[0])
        sizes = ((n_queries, width), (n_keys, width), (n_keys, 3))
        rows = [draw.normal(size=size).round(2).tolist() for size in sizes]
        cases.append((*rows, mask))
    return tuple(cases)


def _attend(
    queries: Any,
    keys: Any,
    values: Any,
    mask: Any,
    *,
    scale: float | None = None,
    forbidden: float = -np.inf,
    is_late: bool = False,
) -> NDArray[np.float64]:
    """Mix values by softmax(q kᵀ / √K), or in one of the usual wrong ways."""
    query, key, value = (np.array(rows, dtype=float) for rows in (queries, keys, values))
    allowed = np.array(mask) > 0
    with np.errstate(invalid="ignore"):
        scores = query @ key.T * (1 / math.sqrt(key.shape[1]) if scale is None else scale)
        scores = scores if is_late else np.where(allowed, scores, forbidden)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        mixed: NDArray[np.float64] = (weights * allowed if is_late else weights) @ value
    return mixed


def ablate() -> Checker:
    """Train without positions, and find the part that copying does not need."""
    accuracy = Part(
        Number("share"),
        between(0.15, 0.45),
        (
            Mistake(between(0.9, 1.0), "did that model have positions? Switch them off."),
            Mistake(between(1.5, 100), "give a share from 0 to 1, not per cent."),
            Mistake(
                between(0, 0.149), "it should do a little better than guessing; train 300 steps."
            ),
        ),
        "train `SwitchedTransformer(10, 'positions')` for 300 steps on the task `before`.",
    )
    needless = Part(
        Choice(("feed-forward", "positions", "nothing")),
        equals("feed-forward"),
        (
            Mistake(equals("positions"), "without them, which token is the one before?"),
            Mistake(equals("nothing"), "one of the runs without a part gets nearly all right."),
        ),
        "compare the four accuracies.",
    )
    explanation = "Copying is the work of attention, and it needs to know the places."
    parts = {"without positions": accuracy, "not needed": needless}
    return Checker("ex-trf-ablate", "experiment", parts, explanation)


def leak() -> Checker:
    """Bound an honest loss, and watch a leak go below it."""
    honest, leaking = math.log(4), math.log(4) / 7
    bound = Part(
        Number("nats"),
        near(honest, rel=0.01),
        (
            Mistake(near(2.0, rel=0.01), "that is in bits; the losses here are in nats."),
            Mistake(near(0.0, abs_=0.01), "nothing tells an honest model the next token."),
            Mistake(near(0.25, rel=0.01), "that is the probability. What does it cost in nats?"),
        ),
        "what does the true token cost, if each of the four gets the probability 1/4?",
    )
    reached = Part(
        Number("nats"),
        between(leaking - 0.06, leaking + 0.08),
        (
            Mistake(
                between(honest - 0.06, honest + 0.3), "that is the loss under the causal mask."
            ),
            Mistake(between(0, 0.1), "the last of the seven positions has no answer to look up."),
        ),
        "train with `masks.bidirectional_mask(7)`, and measure on new texts.",
    )
    explanation = "A loss below what is possible shows a leak."
    return Checker("ex-trf-leak", "experiment", {"honest": bound, "leaking": reached}, explanation)


def packing() -> Checker:
    """Draw the mask of a row with two documents."""
    document = np.array(DOCUMENT)
    causal = np.tri(len(document))
    same = (document[:, None] == document[None, :]).astype(float)
    packed = causal * same
    return single_answer(
        "ex-trf-packing",
        "extension",
        Numbers((len(document), len(document)), "a mask of queries × keys"),
        near(packed),
        Mistake(near(packed.T), "rows are queries, columns are keys; yours is turned over."),
        Mistake(near(causal), "the second document reads the first through your triangle."),
        Mistake(near(same), "inside a document your queries read later keys."),
        Mistake(near(1 - packed), "True means may attend; yours forbids where it should permit."),
        Mistake(near(packed - np.eye(len(document))), "every token may read itself."),
        Mistake(
            lambda mask: _permits_outside(mask, packed), "it permits a pair that it should not."
        ),
        default_hint="a query may read a key at or before it, if both are in one document.",
        explanation="Both relations are transitive, so depth opens nothing.",
    )


def _permits_outside(mask: NDArray[np.float64], packed: NDArray[np.float64]) -> bool:
    """Tell whether a mask holds all right permissions and some more."""
    return between(1, np.inf)(float((mask * (1 - packed)).sum())) and bool((mask >= packed).all())


CHECKERS = {
    "ex-trf-attend": attend,
    "ex-trf-count": count,
    "ex-trf-scale": scale,
    "ex-trf-packing": packing,
    "ex-trf-ablate": ablate,
    "ex-trf-leak": leak,
}
