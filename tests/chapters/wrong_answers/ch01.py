# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 1."""

import math

import numpy as np

from wrong_answers import Planted, but


def lost(w, c):
    """Sum the squared error over the axes: the variance left after the projection."""
    left = np.eye(len(w)) - np.outer(w, w)
    return np.trace(left @ c @ left)


def moved(w, c):
    """Pull along C w, and back along w by what lies on w."""
    pull = c @ w
    return pull - w * (pull @ w)


def causal(words):
    """Shift by one."""
    return " ".join(words[:-1]), " ".join(words[1:])


def masked(words, places):
    """Write the masks into a copy."""
    hidden = list(words)
    for place in places:
        hidden[place] = "[MASK]"
    return " ".join(hidden), " ".join(words[place] for place in sorted(places))


def span(words, spans):
    """Cut from the right, so that earlier places stay where they are."""
    read, answer = list(words), []
    for number, (first, last) in reversed(list(enumerate(spans, start=1))):
        answer = [f"<{number}>", *words[first:last], *answer]
        read[first:last] = [f"<{number}>"]
    return " ".join(read), " ".join(answer)


def overwritten(words, places):
    """Look up the answers after the masks are written."""
    for place in places:
        words[place] = "[MASK]"
    return " ".join(words), " ".join(words[place] for place in places)


def bare(words, spans):
    """Leave the numbers out of the answer."""
    return span(words, spans)[0], " ".join(w for a, b in spans for w in words[a:b])


ASK = {"causal": causal, "masked": masked, "span": span}
SEES = {"causal": [19, 10, 190], "masked": [3, 17, 51], "span": [3, 18, 54]}
BLANK = {
    "second": 2,
    "miss": 15.2877,
    "model": [1.43, 5.57, 0.16],
    "zero": "infinitely many bits",
}
NEXT = {"paid": [0.08, 0.31, 2.43, 1.38], "expected": [0.39, 1.0, 2.69, 3.13], "least sure": 4}
AUDIT = {"a": 3, "b": 61, "c": 292, "d": [5212 / 9242, 1207 / 2000], "split": "c"}
PCA = {"error": lost, "change": moved}
VECTORS = {"nearest": ["henry", "he", "life"], "cannot": "tell two uses of a word apart"}
NATS = math.log(2)

PLANTED = {
    "ex-rev-ask": Planted(
        ASK,
        (
            (but(ASK, causal=lambda w: (" ".join(w), " ".join(w[1:]))), "not read"),
            (but(ASK, causal=lambda w: (" ".join(w), " ".join(w))), "its own answer"),
            (but(ASK, causal=lambda w: (" ".join(w[1:]), " ".join(w))), "all words but"),
            (
                but(ASK, masked=lambda w, p: (masked(w, p)[0], " ".join(w[n] for n in p))),
                "the order of the text",
            ),
            (but(ASK, masked=overwritten), "copy the list"),
            (but(ASK, masked=lambda w, p: causal(w)), "the words with [MASK]"),
            (but(ASK, span=lambda w, s: span(w, [(a, b + 1) for a, b in s])), "the last place"),
            (but(ASK, span=bare), "each number stands"),
            (but(ASK, span=lambda w, s: causal(w)), "cut each span"),
        ),
        (),
    ),
    "ex-rev-sees": Planted(
        SEES,
        (
            (but(SEES, causal=[20, 9.5, 190]), "not asked"),
            (but(SEES, causal=[19, 19, 361]), "stands before"),
            (but(SEES, causal=[20, 10.5, 210]), "itself"),
            (but(SEES, causal=[20, 20, 400]), "how many stand before each"),
            (but(SEES, masked=[3, 19, 57]), "other masks"),
            (but(SEES, masked=[3, 20, 60]), "no known token"),
            (but(SEES, masked=[1, 17, 17]), "of its own"),
            (but(SEES, span=[3, 17, 51]), "has written"),
            (but(SEES, span=[3, 19, 57]), "before it is written"),
            (but(SEES, span=[3, 20, 60]), "marks"),
        ),
        ({name: tuple(found) for name, found in SEES.items()},),
    ),
    "ex-rev-blank": Planted(
        BLANK,
        (
            (but(BLANK, second=1.386), "nats"),
            (but(BLANK, second=0.25), "its probability"),
            (but(BLANK, second=1), "first guess"),
            (but(BLANK, second=3), "third guess"),
            (but(BLANK, second=4), "which probability"),
            (but(BLANK, miss=10.597), "nats"),
            (but(BLANK, miss=3), "it is shared"),
            (but(BLANK, miss=12.288), "an eighth"),
            (but(BLANK, miss=2.5e-5), "the probability"),
            (but(BLANK, model=[-1.43, -5.57, -0.16]), "minus the logarithm"),
            (but(BLANK, model=[1.43 * NATS, 5.57 * NATS, 0.16 * NATS]), "nats"),
            (but(BLANK, model=[0.371, 0.021, 0.895]), "probabilities"),
            (but(BLANK, model=[1, 3, 1]), "cloze_log_probs"),
            (but(BLANK, zero="nothing"), "turns up"),
            (but(BLANK, zero="one bit"), "½"),
        ),
        (but(BLANK, miss=15.3, model=(1.43, 5.57, 0.16)),),
    ),
    "ex-rev-next": Planted(
        NEXT,
        (
            (but(NEXT, paid=[-0.08, -0.31, -2.43, -1.38]), "minus the logarithm"),
            (but(NEXT, paid=[0.0555, 0.215, 1.684, 0.957]), "nats"),
            (but(NEXT, paid=[0.946, 0.807, 0.186, 0.384]), "probabilities"),
            (but(NEXT, paid=[1, 1, 3, 1]), "last row"),
            (but(NEXT, expected=NEXT["paid"]), "that is paid"),
            (but(NEXT, expected=[0.27, 0.693, 1.865, 2.17]), "nats"),
            (but(NEXT, expected=[-0.39, -1.0, -2.69, -3.13]), "minus a logarithm"),
            (but(NEXT, expected=[5.954] * 4), "even guess"),
            (but(NEXT, expected=[1, 1, 2, 2]), "probability times surprise"),
            (but(NEXT, least_sure=3), "paid most"),
            (but(NEXT, least_sure=1), "surest"),
            (but(NEXT, least_sure=0), "from 1"),
        ),
        (but(NEXT, paid=np.array(NEXT["paid"]), expected=(0.39, 1.0, 2.69, 3.13)),),
    ),
    "ex-rev-audit": Planted(
        AUDIT,
        (
            (but(AUDIT, a=2), "different windows"),
            (but(AUDIT, a=1), "words_of"),
            (but(AUDIT, a=8), "eight words"),
            (but(AUDIT, a=38), "look each test sentence up"),
            (but(AUDIT, b=9), "test sentences"),
            (but(AUDIT, b=49), "at most two"),
            (but(AUDIT, b=69), "dash"),
            (but(AUDIT, c=96), "underscores"),
            (but(AUDIT, c=14), "small letters"),
            (but(AUDIT, c=1348), "training sentences"),
            (but(AUDIT, c=63), "those are films"),
            (but(AUDIT, d=[56.4, 60.35]), "percentages"),
            (but(AUDIT, d=[0.6035, 0.564]), "training first"),
            (but(AUDIT, d=[0.436, 0.3965]), "blame"),
            (but(AUDIT, split="a"), "removing copies"),
            (but(AUDIT, split="b"), "any split"),
            (but(AUDIT, split="d"), "baseline"),
        ),
        (but(AUDIT, c=294, d=(0.564, 0.604)),),
    ),
    "ex-rev-pca": Planted(
        PCA,
        (
            (but(PCA, error=lambda w, c: w @ c @ w), "kept"),
            (but(PCA, error=lambda w, c: np.trace(c)), "nothing is restored"),
            (but(PCA, error=lambda w, c: np.trace(c) - 2 * w @ c @ w), "square"),
            (but(PCA, error=lambda w, c: np.trace(c) + w @ c @ w), "cross term"),
            (but(PCA, error=lambda w, c: 0.0), "length 1"),
            (but(PCA, change=lambda w, c: -moved(w, c)), "sign"),
            (but(PCA, change=lambda w, c: c @ w), "keeps w short"),
            (but(PCA, change=lambda w, c: c @ w - w), "mean of h²"),
            (but(PCA, change=lambda w, c: c @ w - (w @ c @ w) / (w @ w) * w), "need not"),
            (but(PCA, change=lambda w, c: 0 * w), "mean of h x"),
        ),
        (but(PCA, change=lambda w, c: list(moved(w, c))),),
    ),
    "ex-rev-vectors": Planted(
        VECTORS,
        (
            (but(VECTORS, nearest=["king", "she", "death"]), "its own nearest"),
            (but(VECTORS, nearest=["prince", "her", "the"]), "raw counts"),
            (but(VECTORS, nearest=["henry", "loved", "cry"]), "length 1"),
            (but(VECTORS, nearest=["liege", "he", "heart"]), "weakest"),
            (but(VECTORS, nearest=["queen", "he", "life"]), "both sides"),
            (but(VECTORS, cannot="tell frequent words from rare ones"), "how often"),
            (but(VECTORS, cannot="learn without labels"), "which label"),
        ),
        (but(VECTORS, nearest=("henry", "he", "life")),),
    ),
}
