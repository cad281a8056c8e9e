# SPDX-License-Identifier: MIT
"""Checkers of chapter 1, second part: an audit of a corpus, PCA, word vectors by counting."""

import numpy as np
from numpy.typing import NDArray

from pretrain.checkers.checker import Checker, Part
from pretrain.checkers.kinds import Choice, Function, Number, Numbers, Words
from pretrain.checkers.predicates import (
    Mistake,
    acts_like,
    between,
    equals,
    like,
    near,
    off_by_factor,
)

SHARED, TINY, NAMED, PRAISE = 3, 61, 292, (0.564, 0.6035)
NEAREST = ("henry", "he", "life")
"""What the audit of the reviews and the counted word vectors print."""

Vector = NDArray[np.float64]


def audit() -> Checker:
    """Look for copies, scraps, names and shares in the review sentences."""
    praise = np.array(PRAISE)
    parts = {
        "a": Part(
            Number("sentences", whole=True),
            equals(SHARED),
            (
                Mistake(equals(2), "those are different windows; count the test sentences."),
                Mistake(equals(1), "capitals and full stops hide some: cut with words_of."),
                Mistake(equals(0, 8), "windows of eight words."),
            ),
            "collect the windows of all training sentences, then look each test sentence up.",
        ),
        "b": Part(
            Number("sentences", whole=True),
            equals(TINY),
            (
                Mistake(equals(9), "those are the test sentences."),
                Mistake(equals(12, 49), "at most two: one word, or two."),
                Mistake(equals(69), "a dash is no word: cut with words_of."),
            ),
            "how many words has each training sentence?",
        ),
        "c": Part(
            Number("sentences", whole=True),
            between(NAMED - 2, NAMED + 2),
            (
                Mistake(equals(96), "turn underscores into blanks first."),
                Mistake(equals(14), "names are in small letters, sentences are not."),
                Mistake(equals(1348), "those are the training sentences."),
                Mistake(equals(63), "those are films; count the sentences."),
            ),
            "look for the name of its own film in each test sentence.",
        ),
        "d": Part(
            Numbers((2,), "shares"),
            near(praise, rel=0, abs_=1.5e-3),
            (
                off_by_factor(praise, 100, "those are percentages; a share lies below 1."),
                Mistake(near(praise[::-1], rel=2e-3), "training first."),
                Mistake(near(1 - praise, rel=2e-3), "that is blame."),
            ),
            "the mean of the labels, in training and in test.",
        ),
        "split": Part(
            Choice(("a", "b", "c", "d")),
            equals("c"),
            (
                Mistake(equals("a"), "copies speak for removing copies."),
                Mistake(equals("b"), "short sentences stand in any split."),
                Mistake(equals("d"), "unequal shares need another baseline."),
            ),
            "which would let a model know a verdict without reading the sentence?",
        ),
    }
    follows = "Four lines of counting, before any training, and none of them finds wrong labels."
    return Checker("ex-rev-audit", "experiment", parts, follows)


def pca() -> Checker:
    """Derive the error of one linear unit, and the mean change of Oja's neuron."""
    rng = np.random.default_rng(1)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    spread = axes @ np.diag([4.0, 1.0, 0.5]) @ axes.T
    units = tuple((w / np.linalg.norm(w), spread) for w in rng.normal(size=(3, 3)))
    free = tuple((2.0 * w, c) for w, c in units)
    error = Part(
        Function("error(w, C)", units, Number()),
        acts_like(lambda w, c: np.trace(c) - w @ c @ w, units),
        (
            Mistake(acts_like(lambda w, c: w @ c @ w, units), "that is what is kept, not lost."),
            Mistake(acts_like(lambda w, c: np.trace(c), units), "nothing is restored there."),
            Mistake(
                acts_like(lambda w, c: np.trace(c) - 2 * w @ c @ w, units),
                "the square of the restored part is missing.",
            ),
            Mistake(
                acts_like(lambda w, c: np.trace(c) + w @ c @ w, units), "the cross term is minus."
            ),
        ),
        "write the square out, and use that w has length 1.",
    )
    parts = {"error": error, "change": _change(free)}
    follows = "The best code of one number, and a local rule that finds it without any label."
    return Checker("ex-rev-pca", "derivation", parts, follows)


def _change(cases: tuple[tuple[Vector, Vector], ...]) -> Part:
    """Ask for the mean change of Oja's neuron, on vectors of length 2."""
    right = [c @ w - (w @ c @ w) * w for w, c in cases]
    return Part(
        Function("change(w, C)", cases, Numbers((3,))),
        like(*right),
        (
            Mistake(like(*(-change for change in right)), "the sign is turned round."),
            Mistake(like(*(c @ w for w, c in cases)), "the part that keeps w short is missing."),
            Mistake(like(*(c @ w - w for w, c in cases)), "how large is the mean of h² here?"),
            Mistake(
                like(*(c @ w - (w @ c @ w) / (w @ w) * w for w, c in cases)),
                "w need not have length 1 here.",
            ),
        ),
        "the mean of h x, minus the mean of h² times w.",
    )


def vectors() -> Checker:
    """Find nearest words by counted vectors."""
    nearest = Part(
        Words(3, "words"),
        equals(NEAREST),
        (
            Mistake(equals(("king", "she", "death")), "a word is its own nearest; leave it out."),
            Mistake(equals(("prince", "her", "the")), "those are raw counts; take the logarithm."),
            Mistake(equals(("henry", "loved", "cry")), "scale the vectors to length 1."),
            Mistake(equals(("liege", "he", "heart")), "those are the weakest directions."),
        ),
        "count in training plays, four places to both sides, words cut with words_of.",
    )
    cannot = Part(
        Choice(
            (
                "tell frequent words from rare ones",
                "tell two uses of a word apart",
                "learn without labels",
            )
        ),
        equals("tell two uses of a word apart"),
        (
            Mistake(equals("tell frequent words from rare ones"), "counts know how often."),
            Mistake(equals("learn without labels"), "which label did you use?"),
        ),
        "one word, one vector.",
    )
    parts = {"nearest": nearest, "cannot": cannot}
    follows = "Company in this corpus, found by counting, and one vector for all uses of a word."
    return Checker("ex-rev-vectors", "extension", parts, follows)
