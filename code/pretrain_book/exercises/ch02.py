# SPDX-License-Identifier: MIT
"""Checkers of chapter 2: the spread of scores, a count, the rank of a head, packed documents."""

import math

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
            Mistake(equals("flat"), "flat it gets when all scores come close to one another."),
            Mistake(
                equals("unchanged"),
                "unchanged it stays under a shift of the scores, not when they are stretched.",
            ),
        ),
        "what do exponentials do to scores that lie further and further apart?",
    )
    explanation = "Divided by its spread, a score is as large in a wide layer as in a narrow one."
    return Checker(
        "ex-trf-scale", "derivation", {"spread": spread, "softmax": softmax}, explanation
    )


def rank() -> Checker:
    """Measure the rank of one head's scores and of its weights."""
    n_tokens, head, layer = 40, 8, 64
    scores = Part(
        Number(whole=True),
        equals(head),
        (
            Mistake(equals(layer), "that is the width of the layer. One head has an eighth of it."),
            Mistake(
                equals(n_tokens),
                "a product of two matrices has at most the rank of their inner side.",
            ),
            Mistake(equals(1), "one channel would give rank 1; a head has more of them."),
        ),
        "the scores are a product of two matrices. Which is its inner side?",
    )
    weights = Part(
        Number(whole=True),
        equals(n_tokens),
        (
            Mistake(
                equals(head),
                "so it would be if the softmax were linear. Measure it after the exponential.",
            ),
            Mistake(equals(layer), "no matrix has more rank than it has rows."),
            Mistake(equals(1), "rank 1 would mean that all queries read the same mixture."),
        ),
        "take the softmax over keys first, then the rank.",
    )
    explanation = "The head's questions live in 8 dimensions, and the softmax lifts that limit."
    return Checker("ex-trf-rank", "experiment", {"scores": scores, "weights": weights}, explanation)


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
    "ex-trf-count": count,
    "ex-trf-scale": scale,
    "ex-trf-rank": rank,
    "ex-trf-packing": packing,
}
