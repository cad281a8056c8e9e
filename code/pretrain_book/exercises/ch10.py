# SPDX-License-Identifier: MIT
"""Checkers of chapter 10: a cone by hand, a measured one, heads, a tie, discoveries, a claim."""

import itertools

import numpy as np

from pretrain_book.exercises.answer_types import Choice, Number, Words
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import (
    Mistake,
    between,
    equals,
    near,
    percent_for_share,
    wrong_sign,
)

VECTORS = ((3.0, 1.0, 0.0, 0.0), (3.0, 0.0, 1.0, 0.0), (3.0, 0.0, 0.0, 1.0))
CONE = {"embeddings": 0.61, "middle": 1.00, "last": 0.79}
CONE_WITHOUT = {"embeddings": 0.51, "middle": 0.95, "last": 0.53}
HEADS, NULL = {"previous": 1.00, "last": 0.12}, 0.05
"""What the solutions print for the packaged models: mean cosines, and weights of the best heads."""
N_SENTENCES, N_SAME = 12, 6
N_HEADS, ALPHA = 72, 0.05
NEEDED = {"untrained encoder", "control task", "interval of the best layer", "intervention"}
MISLEADING = {"names", "senses", "heads"}


def by_hand() -> Checker:
    """Compute mean cosines of three vectors with a large common part."""
    vectors = np.array(VECTORS)
    plain, centred = _mean_cosine(vectors), _mean_cosine(vectors - vectors.mean(axis=0))
    as_is = Part(
        Number("mean cosine"),
        near(plain),
        (
            Mistake(near(9.0), "that is the dot product; divide by both lengths."),
            Mistake(
                near((3 + 6 * plain) / 9, rel=2e-3),
                "leave the pairs of a vector with itself out.",
            ),
            Mistake(near(0.0, abs_=1e-3), "the common part points in one direction for all."),
        ),
        "dot product of two of them, divided by both lengths.",
    )
    without_mean = Part(
        Number("mean cosine"),
        near(centred),
        (
            wrong_sign(centred, "after centring the three sum to 0, so they point apart."),
            Mistake(
                near(0.0, abs_=1e-3),
                "for very many vectors, nearly; three that sum to 0 cannot all be at right angles.",
            ),
            Mistake(near(-1 / 3), "that is the dot product; divide by both lengths."),
        ),
        "subtract the mean of the three from each, then take cosines.",
    )
    without_first = Part(
        Number("mean cosine"),
        near(0.0, abs_=1e-3),
        (
            Mistake(near(plain), "set the first number of each to 0 before."),
            Mistake(near(1.0), "what is left of two vectors shares no dimension."),
        ),
        "what is left of each vector stands in a dimension of its own.",
    )
    parts = {"as they are": as_is, "centred": without_mean, "without the first": without_first}
    explanation = (
        "Centred vectors of one length have a mean cosine of −1/(n − 1), whatever they are."
    )
    return Checker("ex-lab-mean", "warm-up", parts, explanation)


def cone() -> Checker:
    """Measure the cone of the packaged decoder."""
    centred = Mistake(
        between(-0.4, 0.2), "that looks centred: it is near 0 by construction, for any model."
    )
    middle = Part(
        Number("mean cosine"),
        near(CONE["middle"], rel=0, abs_=0.012),
        (
            Mistake(near(CONE["embeddings"], rel=0.03), "those are the embeddings."),
            Mistake(
                near(CONE_WITHOUT["middle"], rel=0.02), "that is without the three dimensions."
            ),
            centred,
        ),
        "pool the states up to the middle layer, and take the mean cosine of the sentences.",
    )
    last = Part(
        Number("mean cosine"),
        near(CONE["last"], rel=0, abs_=0.03),
        (
            Mistake(near(CONE["middle"], rel=0.02), "that is the middle; take the last layer."),
            Mistake(near(CONE_WITHOUT["last"], rel=0.05), "that is without the three dimensions."),
            centred,
        ),
        "pool the states of the last layer, and take the mean cosine of the sentences.",
    )
    last_without = Part(
        Number("mean cosine"),
        near(CONE_WITHOUT["last"], rel=0, abs_=0.03),
        (
            Mistake(near(CONE["last"], rel=0.03), "all dimensions are still in it."),
            Mistake(near(CONE_WITHOUT["middle"], rel=0.02), "that is the middle layer."),
            centred,
        ),
        "find the three largest means in size, set them to 0, and measure again.",
    )
    parts = {"middle": middle, "last": last, "last without": last_without}
    explanation = "Three of 576 dimensions carry much of the cone at the end, not in the middle."
    return Checker("ex-lab-cone", "experiment", parts, explanation)


def heads() -> Checker:
    """Find two heads of the packaged encoder."""
    chance = Mistake(near(NULL, rel=0.3), "that is what the best head of permuted rows reaches.")
    previous = Part(
        Number("mean weight"),
        near(HEADS["previous"], rel=0, abs_=0.02),
        (
            chance,
            Mistake(near(HEADS["last"], rel=0.25), "that is the head for the last token."),
            percent_for_share(HEADS["previous"], rel=0.02),
        ),
        "search with the relation previous, choose on validation rows and judge on test rows.",
    )
    last = Part(
        Number("mean weight"),
        near(HEADS["last"], rel=0, abs_=0.03),
        (
            Mistake(near(HEADS["previous"], rel=0.02), "that is the previous-token head."),
            percent_for_share(HEADS["last"], rel=0.25),
            chance,
        ),
        "[SEP] is the last token of each row: search with the relation last.",
    )
    explanation = "Both lie above their permuted rivals, and only one of them is large."
    return Checker("ex-lab-named", "experiment", {"previous": previous, "last": last}, explanation)


def tie() -> Checker:
    """Prove the accuracy at a word that has seen no clue."""
    right = (N_SAME - 1) / (N_SENTENCES - 1)
    accuracy = Part(
        Number("share"),
        near(right, rel=0.012),
        (
            Mistake(near(0.5), "chance it is, but a sentence is no neighbour of its own."),
            Mistake(
                near(N_SAME / (N_SENTENCES - 1)), "the sentence itself is not among its neighbours."
            ),
            Mistake(near((N_SAME - 1) / N_SENTENCES), "it has eleven neighbours to choose from."),
            Mistake(near(1.0, 0.0, abs_=1e-6), "all states are equal, so the nearest is any."),
            percent_for_share(right),
        ),
        "among the others, how many have the same sense?",
    )
    depth = Part(
        Choice(("grows", "falls", "stays")),
        equals("stays"),
        (
            Mistake(equals("grows"), "every layer reads the same two words; depth adds none."),
            Mistake(equals("falls"), "equal states stay equal in every layer."),
        ),
        "what can the second word read, in any layer?",
    )
    explanation = "No training changes this; only more context does."
    return Checker(
        "ex-lab-causal", "derivation", {"accuracy": accuracy, "depth": depth}, explanation
    )


def discoveries() -> Checker:
    """Count what single tests find in untrained models."""
    expected = Part(
        Number("heads"),
        near(N_HEADS * ALPHA, rel=0.12),
        (
            Mistake(near(1 - (1 - ALPHA) ** N_HEADS), "that is the chance of at least one."),
            Mistake(near(ALPHA), "that is for one head; there are 72."),
            Mistake(near(99 * ALPHA), "5 % of the heads, not of the permutations."),
            Mistake(equals(0), "an untrained head still passes one test in twenty by chance."),
        ),
        "heads times the chance that a single test errs.",
    )
    found = Part(
        Number("heads a model, on average"),
        between(5, 20),
        (
            Mistake(between(0, 4.99), "permute rows and places of the mask, and leave the model."),
            Mistake(between(20.01, 360), "the mean of the five models, not their sum."),
        ),
        "count, for each model, the heads with p at most 0.05.",
    )
    verdict = Part(
        Choice(("chance", "true but tiny", "true and large")),
        equals("true but tiny"),
        (
            Mistake(
                equals("chance"), "more are found than expected: equal tokens have equal vectors."
            ),
            Mistake(
                equals("true and large"), "compare the best head's score with the average one."
            ),
        ),
        "look at the p of the best head, and at its size.",
    )
    parts = {"expected": expected, "found": found, "effect": verdict}
    explanation = "Significance is not size: the best head is hardly above the average one."
    return Checker("ex-lab-discoveries", "experiment", parts, explanation)


def claim() -> Checker:
    """Name what a claim about a probe leaves out."""
    needs = Part(
        Words(4, "controls"),
        lambda words: set(words) == NEEDED,
        (
            Mistake(
                lambda words: "larger probe" in words,
                "a larger probe remembers more, which is what a control task has to rule out.",
            ),
            Mistake(
                lambda words: "higher accuracy" in words,
                "a number without a rival says no more when it is higher.",
            ),
            Mistake(lambda words: len(set(words)) < 4, "name four different controls."),
        ),
        "use the names given: a rival, a check of memory, an interval, a test of use.",
    )
    records = Part(
        Words(what="records"),
        lambda words: set(words) == MISLEADING,
        (
            Mistake(
                lambda words: "cone" in words,
                "the cone was tested by leaving out dimensions, which could have failed.",
            ),
            Mistake(
                lambda words: set(words) < MISLEADING,
                "there are more: where was a simple rival as good, or an effect small?",
            ),
        ),
        "use the names given, and think of untrained and bag-of-words rivals.",
    )
    explanation = "Can be read at layer 9 is not the same as happens at layer 9."
    return Checker("ex-lab-claim", "extension", {"a": needs, "b": records}, explanation)


def _mean_cosine(vectors: np.ndarray) -> float:
    """Average the cosines of all pairs of different vectors."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float(np.mean([a @ b for a, b in itertools.combinations(unit, 2)]))


CHECKERS = {
    "ex-lab-mean": by_hand,
    "ex-lab-cone": cone,
    "ex-lab-named": heads,
    "ex-lab-causal": tie,
    "ex-lab-discoveries": discoveries,
    "ex-lab-claim": claim,
}
