# SPDX-License-Identifier: MIT
"""Checkers of chapter 8: bytes that pay, k as a formula, two models in one, traces of a leak."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import (
    Mistake,
    acts_like,
    at,
    between,
    equals,
    near,
    off_by_factor,
    wrong_sign,
)

WEIGHTS, BYTES_EACH, RATES = 70e9, 2, (1.8, 0.8)
"""An invented model: its weights, bytes for each, bits per character of its rival and of itself."""
PAID = {"bzip2": (9.98e6, 48.6e6), "gzip": (2.56e6, 12.0e6), "xz": (4.53e6, 21.4e6)}
"""Characters after which the GPT of characters and that of subwords pay, in the record."""
ERRORS = {"words": (0.4349, 0.3861, 0.3360, 0.2837, 0.2330),
          "minilm": (0.3779, 0.3222, 0.2740, 0.2546, 0.2450)}  # fmt: skip
LABELS, TEN_TIMES = (32, 128, 512, 2048, 9242), 92_420
"""Errors of counted words and of frozen MiniLM in the record, by the number of labels."""
CURVES = ((0.9, 0.2, 0.7, 0.2, 100), (1.0, 0.25, 0.8, 0.1, 50), (1.0, 0.1, 0.9, 0.2, 1000))
TEXTS = ((0.5, 0.5), (1e-6, 1e-9), (0.001, 0.003), (0.02, 0.0))
"""Cases: a, b, c, d and n of two curves; probabilities that two models give to a text."""
MACBETH, KING_JOHN = (2.225, 2.218, 2.104), (2.008, 2.037, 1.920)
"""Bits per character of the counts, of the GPT and of their best mixture."""
GAPS, PAIRS = (0.271, 0.639), (0.962, 1.0)
"""What GPT and counts show of the plays that they have read: bits saved, share of pairs."""


def paid() -> Checker:
    """Count the characters after which a model's bytes are paid."""
    size, (rival, own) = 8 * WEIGHTS * BYTES_EACH, RATES
    after = size / (rival - own)
    invented = Part(
        Number("characters"),
        near(after),
        (
            off_by_factor(after, 1 / 8, "those are bytes saved in bits; a byte has eight."),
            off_by_factor(after, 1 / BYTES_EACH, "each weight takes two bytes."),
            Mistake(near(size / own, size / rival), "each character saves the difference only."),
            off_by_factor(after, 1e-12, "give the number itself, not trillions."),
        ),
        "the model's bits, divided by what each character saves.",
    )
    ours = Part(
        Numbers((2,), "characters, for the GPT of characters and that of subwords"),
        near(PAID["bzip2"], rel=0.02),
        (
            Mistake(near(PAID["bzip2"][::-1], rel=0.02), "the two are swapped."),
            Mistake(near(PAID["gzip"], PAID["xz"], rel=0.02), "take bzip2 as the rival."),
            off_by_factor(PAID["bzip2"], 1e-6, "give the numbers themselves, not millions.", 0.05),
        ),
        "look at files['break_even'], model by model.",
    )
    decides = Part(
        Choice(("number of weights", "bits per character", "length of the text")),
        equals("number of weights"),
        (
            Mistake(equals("bits per character"), "compare the two rates: how far apart are they?"),
            Mistake(
                equals("length of the text"), "both are asked for the length at which they pay."
            ),
        ),
        "compare sizes and rates of the two.",
    )
    parts = {"invented": invented, "ours": ours, "decides": decides}
    explanation = "Nearly the same rate, several times the weights: the smaller model pays first."
    return Checker("ex-adv-paid", "warm-up", parts, explanation)


def formula() -> Checker:
    """Derive k from two power laws, and fit them on the record."""
    b, d, k = _fit()

    def rule(a: float, b: float, c: float, d: float, n: float) -> float:
        """Solve a m^-b = c n^-d for m, and divide by n."""
        return float((a / c) ** (1 / b) * n ** (d / b - 1))

    k_of = Part(
        Function("k(a, b, c, d, n)", CURVES, Number("times")),
        acts_like(rule, CURVES),
        (
            Mistake(
                acts_like(lambda a, b, c, d, n: rule(a, b, c, d, n) * n, CURVES),
                "that is m; how many times n is it?",
            ),
            Mistake(
                acts_like(lambda a, b, c, d, n: 1 / rule(a, b, c, d, n), CURVES),
                "turned around: k is m divided by n.",
            ),
            Mistake(
                acts_like(lambda a, b, c, d, n: rule(c, d, a, b, n), CURVES),
                "the reference, with a and b, is the one that needs m labels.",
            ),
            Mistake(
                acts_like(lambda a, b, c, d, n: a / c * n ** (d - b), CURVES),
                "that is a ratio of errors, not of labels.",
            ),
        ),
        "solve for m: take the root of order b of both sides.",
    )
    falls = Part(
        Choice(("b > d", "b = d", "b < d")),
        equals("b > d"),
        (Mistake(equals("b = d", "b < d"), "then the exponent of n is not below 0."),),
        "look at the sign of the exponent of n.",
    )
    exponents = Part(
        Numbers((2,), "b of the words, d of MiniLM"),
        near([b, d], rel=0.02),
        (
            wrong_sign([b, d], "the slopes fall; the exponents are their sizes.", 0.02),
            Mistake(near([d, b], rel=0.02), "the two are swapped."),
            Mistake(near(_slopes(np.asarray), rel=0.02), "take logarithms of the labels as well."),
            Mistake(near(_slopes(np.log, True), rel=0.02), "take the error, not the accuracy."),
        ),
        "a straight line through logarithms of error and labels, for all five numbers of labels.",
    )
    predicted = Part(
        Number("times"),
        near(k, rel=0.08),
        (
            Mistake(near(1 / k, rel=0.05), "turned around: k is m divided by n."),
            Mistake(
                near(_fit(9242)[2], rel=0.05), "that is for all labels; take ten times as many."
            ),
            Mistake(near(_fit(512)[2], rel=0.05), "that is for 512 labels."),
            Mistake(near(k * TEN_TIMES, rel=0.08), "that is m; how many times n is it?"),
        ),
        "put both fits and 92,420 labels into k.",
    )
    parts = {"k": k_of, "falls": falls, "exponents": exponents, "ten times": predicted}
    explanation = "One number k needs equal exponents; here the words catch up."
    return Checker("ex-adv-k", "derivation", parts, explanation)


def mixture() -> Checker:
    """Mix two models, for a whole text and for each character."""

    def extra(p: float, q: float) -> float:
        """Bits of the mixture with a half, above those of the better model."""
        return 1 + math.log2(max(p, q) / (p + q))

    coin = Part(
        Function("extra_bits(p, q)", TEXTS, Number("bits")),
        acts_like(extra, TEXTS),
        (
            Mistake(acts_like(lambda p, q: extra(p, q) * math.log(2), TEXTS), "that is in nats."),
            Mistake(acts_like(lambda p, q: -extra(p, q), TEXTS), "the mixture costs more bits."),
            Mistake(
                acts_like(lambda p, q: 1.0, TEXTS),
                "one bit is the worst case; with equal probabilities it costs none.",
            ),
            Mistake(
                acts_like(lambda p, q: extra(p, q) - 1, TEXTS),
                "each model has half of the coin's probability.",
            ),
        ),
        "bits of ½p + ½q, minus the bits of the larger of p and q.",
    )
    weight = Part(
        Number("share of the GPT"),
        between(0.4, 0.6),
        (
            Mistake(between(40, 60), "that is a percentage; a weight lies between 0 and 1."),
            Mistake(near(0.0, 1.0, abs_=1e-9), "then only one model is used; try the others."),
        ),
        "try weights from 0 to 1 on King John, and keep the one with the fewest bits.",
    )
    rates = Part(
        Numbers((3,), "bits per character of counts, GPT, mixture"),
        near(MACBETH, rel=0, abs_=0.012),
        (
            off_by_factor(MACBETH, math.log(2), "those are nats; take logarithms to base 2."),
            Mistake(near(KING_JOHN, rel=0.01), "those are of King John; judge on Macbeth."),
            Mistake(
                at(2, near(sum(MACBETH[:2]) / 2, rel=2e-3)), "average probabilities, not bits."
            ),
        ),
        "score the same characters of Macbeth with weight 0, with weight 1 and with yours.",
    )
    verdict = Part(
        Choice(("worse than both", "between them", "better than both")),
        equals("better than both"),
        (
            Mistake(equals("worse than both"), "convexity rules that out."),
            Mistake(equals("between them"), "where one is surprised, the other may not be."),
        ),
        "compare the three rates.",
    )
    parts = {"coin": coin, "weight": weight, "bits": rates, "mixture": verdict}
    explanation = "Two models with the same bits are surprised at different characters."
    return Checker("ex-adv-mix", "experiment", parts, explanation)


def leak() -> Checker:
    """Measure what reading a play leaves behind, in a GPT and in counts."""
    gaps = Part(
        Numbers((2,), "bits per character, GPT and counts"),
        near(GAPS, rel=0, abs_=0.02),
        (
            wrong_sign(GAPS, "subtract the read plays from the others.", 0.05),
            Mistake(near(GAPS[::-1], rel=0.05), "GPT comes first, then the counts."),
            off_by_factor(GAPS, math.log(2), "those are nats; take logarithms to base 2.", 0.04),
        ),
        "mean over the other plays, minus mean over the training plays.",
    )
    pairs = Part(
        Numbers((2,), "shares, GPT and counts"),
        near(PAIRS, rel=0, abs_=0.015),
        (
            off_by_factor(PAIRS, 100, "those are percentages; a share lies between 0 and 1.", 0.02),
            Mistake(
                near(np.subtract(1, PAIRS), rel=0, abs_=0.015),
                "turned around: when has the read play fewer bits?",
            ),
            Mistake(near(PAIRS[::-1], rel=0, abs_=0.015), "GPT comes first, then the counts."),
        ),
        "compare each training play with each other play.",
    )
    rules_out = Part(
        Choice(("few bits", "a late date", "a split before training")),
        equals("a split before training"),
        (Mistake(equals("few bits"), "an easy play has few bits as well, read or not."),),
        "new pages quote old texts: what must be known about the training?",
    )
    parts = {"gaps": gaps, "pairs": pairs, "rules out": rules_out}
    explanation = (
        "Reading leaves a trace, the larger one in counts; the trace alone convicts nobody."
    )
    return Checker("ex-adv-leak", "extension", parts, explanation)


def _slopes(scale: Callable[..., Any], of_accuracy: bool = False) -> list[float]:
    """Fit log error (or log accuracy) by a straight line in scaled labels, for both methods."""
    shares = [np.subtract(1, e) if of_accuracy else np.array(e) for e in ERRORS.values()]
    return [abs(float(np.polyfit(scale(LABELS), np.log(s), 1)[0])) for s in shares]


def _fit(n: int = TEN_TIMES) -> tuple[float, float, float]:
    """Fit both power laws; return their exponents and k at n labels."""
    (slope_b, log_a), (slope_d, log_c) = (
        np.polyfit(np.log(LABELS), np.log(errors), 1) for errors in ERRORS.values()
    )
    b, d = -slope_b, -slope_d
    return float(b), float(d), math.exp((log_a - log_c) / b) * n ** float(d / b - 1)


CHECKERS = {
    "ex-adv-paid": paid,
    "ex-adv-k": formula,
    "ex-adv-mix": mixture,
    "ex-adv-leak": leak,
}
