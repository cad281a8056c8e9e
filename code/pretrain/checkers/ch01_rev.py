# SPDX-License-Identifier: MIT
"""Checkers of chapter 1: what an objective sees, and two guessing games."""

import math

import numpy as np

from pretrain.checkers.checker import Checker, Part
from pretrain.checkers.kinds import Choice, Number, Numbers
from pretrain.checkers.predicates import (
    Mistake,
    Predicate,
    equals,
    nats_for_bits,
    near,
    off_by_factor,
    wrong_sign,
)
from pretrain.checkers.revolution_counting import audit, pca, vectors

N_TOKENS, N_ASKED = 20, 3
N_PIECES, N_CHARACTERS = 5000, 62
BLANKS = (2.66, 5.81, 0.19)
PAID, EXPECTED = (0.08, 0.31, 2.43, 1.38), (0.39, 1.00, 2.69, 3.13)
"""Bits that the book's BERT and its GPT on characters pay; bits that the GPT expects to pay."""


def sees() -> Checker:
    """Count predictions, tokens seen and pairs of three objectives."""
    causal, rest = range(1, N_TOKENS), N_TOKENS - N_ASKED
    span = [rest + written for written in range(N_ASKED)]
    parts = {
        "causal": Part(
            Numbers((3,), "predictions, tokens seen, pairs"),
            _counts(list(causal)),
            (
                Mistake(_counts(list(range(N_TOKENS))), "the first token is given, not asked."),
                Mistake(_counts([N_TOKENS - 1] * (N_TOKENS - 1)), "only what stands before it."),
                Mistake(_counts([*causal, N_TOKENS]), "a token does not see itself."),
            ),
            "which tokens are asked, and how many stand before each?",
        ),
        "masked": Part(
            Numbers((3,), "predictions, tokens seen, pairs"),
            _counts([rest] * N_ASKED),
            (
                Mistake(_counts([N_TOKENS - 1] * N_ASKED), "the other masks hide tokens, too."),
                Mistake(_counts([N_TOKENS] * N_ASKED), "a mask is no known token."),
                Mistake(_counts([rest]), "each mask is a prediction of its own."),
            ),
            "how many are asked, and how many tokens are not masked?",
        ),
        "span": Part(
            Numbers((3,), "predictions, tokens seen, pairs"),
            _counts(span),
            (
                Mistake(_counts([rest] * N_ASKED), "the decoder also sees what it has written."),
                Mistake(
                    _counts([n + 1 for n in span]), "a token is not seen before it is written."
                ),
                Mistake(_counts([n + 2 for n in span]), "leave the marks out."),
            ),
            "the tokens outside the gap, and those of the gap that are written already.",
        ),
    }
    follows = "Many questions with little to go on, or few with much: neither measures learning."
    return Checker("ex-rev-sees", "warm-up", parts, follows)


def _counts(seen: list[int]) -> Predicate:
    """Accept the number of predictions, the mean of what they see, and the sum."""
    return near(np.array([len(seen), sum(seen) / len(seen), sum(seen)]))


def blank() -> Checker:
    """Score guesses in bits, and the model's."""
    miss = math.log2(8 * N_PIECES)
    second = Part(
        Number("bits"),
        near(2.0),
        (
            nats_for_bits(2.0),
            Mistake(near(0.25), "that is its probability; the cost is its −log2."),
            Mistake(near(1.0), "that is the first guess."),
            Mistake(near(3.0), "that is the third guess."),
        ),
        "which probability did the second guess get?",
    )
    missed = Part(
        Number("bits"),
        near(miss),
        (
            nats_for_bits(miss),
            Mistake(near(3.0), "that gives the whole eighth to one word; it is shared."),
            Mistake(near(math.log2(N_PIECES)), "only an eighth is shared among the pieces."),
            Mistake(near(1 / (8 * N_PIECES)), "that is the probability; the cost is its −log2."),
        ),
        "an eighth, shared among all pieces, is the probability of each.",
    )
    model = _paid(
        BLANKS, 3, "the hidden word's log-probability in the model's blank, from model_scores."
    )
    zero = Part(
        Choice(("nothing", "one bit", "infinitely many bits")),
        equals("infinitely many bits"),
        (
            Mistake(equals("nothing"), "only if the word never turns up. It did."),
            Mistake(equals("one bit"), "a bit is what probability ½ costs."),
        ),
        "what does −log2 p do as p falls to 0?",
    )
    parts = {"second": second, "miss": missed, "model": model, "zero": zero}
    follows = "Bits reward who is right, and more who was sure; they punish who was sure and wrong."
    return Checker("ex-rev-blank", "experiment", parts, follows)


def _paid(right: tuple[float, ...], count: int, otherwise: str) -> Part:
    """Ask for the bits that a model pays, one number a line."""
    bits = np.array(right)
    return Part(
        Numbers((count,), "bits"),
        near(bits, rel=0.01, abs_=0.02),
        (
            wrong_sign(bits, "a surprise is minus the logarithm.", rel=0.03),
            off_by_factor(bits, math.log(2), "those are nats; bits take log2.", rel=0.03),
            Mistake(near(2.0**-bits, rel=0.05), "those are probabilities."),
        ),
        otherwise,
    )


def following() -> Checker:
    """Pay for the next character, and say what the model expected to pay."""
    paid = _paid(PAID, 4, "read the last row of the scores, at the true character.")
    bits = np.array(EXPECTED)
    expected = Part(
        Numbers((4,), "bits"),
        near(bits, rel=0.01, abs_=0.02),
        (
            Mistake(near(np.array(PAID), abs_=0.05), "that is paid; weigh all characters."),
            off_by_factor(bits, math.log(2), "those are nats; bits take log2.", rel=0.03),
            wrong_sign(bits, "each surprise is minus a logarithm.", rel=0.03),
            Mistake(
                near(np.full(4, math.log2(N_CHARACTERS)), rel=0.05),
                "that is what an even guess expects; weigh with the model's probabilities.",
            ),
        ),
        "the sum over all characters of probability times surprise.",
    )
    least = Part(
        Number("line", whole=True),
        equals(1 + int(np.argmax(bits))),
        (
            Mistake(equals(1 + int(np.argmax(PAID))), "there it paid most; it expected to less."),
            Mistake(equals(1), "there it is surest."),
            Mistake(equals(0), "lines count from 1."),
        ),
        "where does it expect to pay most?",
    )
    parts = {"paid": paid, "expected": expected, "least sure": least}
    follows = "What is paid depends on the answer; how sure a model is does not."
    return Checker("ex-rev-next", "experiment", parts, follows)


CHECKERS = {
    "ex-rev-blank": blank,
    "ex-rev-next": following,
    "ex-rev-audit": audit,
    "ex-rev-sees": sees,
    "ex-rev-pca": pca,
    "ex-rev-vectors": vectors,
}
