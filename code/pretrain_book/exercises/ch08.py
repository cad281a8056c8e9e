# SPDX-License-Identifier: MIT
"""Checkers of chapter 8: three references, unequal lengths, counts as a code, and four more.

The four: bytes that pay, k as a formula, two models in one, traces of a leak.
"""

import math
from collections.abc import Callable
from itertools import pairwise
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

MEASURED = (((100, 1000), (0.6, 0.7), 0.65), ((32, 128, 512), (0.5, 0.6, 0.7), 0.66),
            ((10, 40, 90), (0.2, 0.3, 0.9), 0.25))  # fmt: skip
"""Cases: numbers of labels, a reference's accuracies, the accuracy that is asked for."""
FACTORS, LINEAR = (15.33, 12.56, 49.72), (15.63, 13.91, 58.29)
"""What 128 labels for MiniLM are worth by the record, in log n and in n itself."""
PER_CHARACTER, DIGITS, SINGLE_DIGITS = 62, 1459, (1951, 1948)
"""Whole speeches picked per character; digits of Macbeth's start by pairs, by single letters."""
HISTORIES: tuple[tuple[list[int], list[int], int], ...] = (
    ([0, 1, 0, 1, 1], [2, 0], 3),
    ([0, 1, 2, 1, 2, 2], [0, 1], 4),
    ([0, 1], [], 2),
)
"""Cases: a history of symbols, what is known, the number of symbols."""


def reference() -> Checker:
    """Measure k of one model against three references."""

    def needs(ns: Any, accuracies: Any, accuracy: float) -> float:
        """Join the points in log n."""
        return math.exp(np.interp(accuracy, accuracies, np.log(ns)))

    needed = Part(
        Function("needed(ns, accuracies, accuracy)", MEASURED, Number("labels")),
        acts_like(needs, MEASURED),
        (
            Mistake(
                acts_like(lambda n, a, x: np.interp(x, a, n), MEASURED),
                "you join the points in n; the definition does it in log n.",
            ),
            Mistake(
                acts_like(lambda n, a, x: np.interp(x, a, np.log(n)), MEASURED),
                "that is the logarithm of the labels.",
            ),
            Mistake(
                acts_like(lambda n, a, x: np.interp(x, a, np.log10(n)), MEASURED),
                "that is the logarithm of the labels.",
            ),
            Mistake(
                acts_like(lambda n, a, x: needs(n, a, x) / n[0], MEASURED),
                "that is a factor; the function gives the labels.",
            ),
        ),
        "on paper: at an accuracy half way between two points, the labels are √(n₁ n₂).",
    )
    factors = Part(
        Numbers((3,), "times: twin, counted words, small network"),
        near(FACTORS, rel=0.02),
        (
            Mistake(near(LINEAR, rel=0.015), "you joined the points in n, not in log n."),
            off_by_factor(FACTORS, 128, "those are labels; divide by MiniLM's 128.", 0.02),
            Mistake(near(np.divide(1, FACTORS), rel=0.02), "turned around: k is m divided by n."),
            Mistake(
                near(np.divide(FACTORS, 4), rel=0.02), "divide by the labels that MiniLM had, 128."
            ),
        ),
        "for each reference: the labels it needs for MiniLM's accuracy, divided by 128.",
    )
    changes = Part(
        Choice(("the labels", "the size", "the test films")),
        equals("the size"),
        (
            Mistake(equals("the labels"), "both learn from the same labelled sentences."),
            Mistake(equals("the test films"), "both are asked about the same films."),
        ),
        "compare the two networks.",
    )
    parts = {"needed": needed, "factors": factors, "also changes": changes}
    explanation = "One model, three references, three factors; only the twin isolates the weights."
    return Checker("ex-adv-reference", "warm-up", parts, explanation)


def length() -> Checker:
    """Compare texts of different lengths by total bits and by bits per character."""
    total = Part(
        Number("whole speeches"),
        near(0, rel=0, abs_=0.5),
        (
            Mistake(near(100, rel=0, abs_=0.5), "turned around: fewer bits wins."),
            Mistake(near(84, rel=0, abs_=3.5), "that is the original task; cut the last line off."),
        ),
        "compare the bits of the whole speech with those of its beginning.",
    )
    per = Part(
        Number("whole speeches"),
        near(PER_CHARACTER, rel=0, abs_=1.5),
        (
            Mistake(near(100 - PER_CHARACTER, rel=0, abs_=1.5), "turned around: fewer bits wins."),
            Mistake(near(0, rel=0, abs_=0.5), "divide each sum by the length of its own text."),
        ),
        "bits of a text divided by its characters, for both texts.",
    )
    changed = Part(
        Number("answers"),
        near(0, rel=0, abs_=0.5),
        (Mistake(between(1, 100), "both versions have the same length; what does dividing do?"),),
        "count pairs in which the two scorers disagree.",
    )
    prefer = Part(
        Choice(("the right text", "the longer text", "the shorter text")),
        equals("the shorter text"),
        (
            Mistake(equals("the right text"), "here both texts are right, and one always wins."),
            Mistake(equals("the longer text"), "does a further character add bits or remove them?"),
        ),
        "look at which text won in (a).",
    )
    parts = {"total": total, "per character": per, "changed": changed, "prefer": prefer}
    explanation = "Total bits compare texts of equal length; each further character costs some."
    return Checker("ex-adv-length", "experiment", parts, explanation)


def counts() -> Checker:
    """Write a predictor of pair counts, and encode with it."""

    def pairs(history: Any, known: Any, n: int, plus: float = 1, back: int = 0) -> Any:
        """Count the neighbours of the last known symbol: followers, or with back=1 those before."""
        row = np.full(n, plus, dtype=float)
        if not known:
            return np.ones(n)
        for two in pairwise(history):
            if two[back] == known[-1]:
                row[two[1 - back]] += 1
        return row

    mine = Part(
        Function("pair_counts(history, known, n_symbols)", HISTORIES, Numbers((None,), "counts")),
        acts_like(pairs, HISTORIES),
        (
            Mistake(
                acts_like(lambda h, k, n: pairs(h, k, n, plus=0), HISTORIES),
                "add 1 to each count, so that no piece is empty.",
            ),
            Mistake(
                acts_like(lambda h, k, n: pairs(h, k, n, back=1), HISTORIES),
                "that is what came before the symbol; count what came after it.",
            ),
            Mistake(
                acts_like(lambda h, k, n: pairs(h, k[:1], n), HISTORIES),
                "take the last symbol of known, not the first.",
            ),
            Mistake(
                acts_like(lambda h, k, n: pairs(h, k, n) / pairs(h, k, n).sum(), HISTORIES),
                "those are probabilities; encode wants whole numbers.",
            ),
            Mistake(
                acts_like(lambda h, k, n: 1 + np.bincount(h, minlength=n), HISTORIES),
                "those are counts of single symbols; look at the one before.",
            ),
        ),
        "try it by hand on five symbols.",
    )
    digits = Part(
        Number("binary digits"),
        near(DIGITS, rel=0, abs_=1.5),
        (
            Mistake(
                near(*SINGLE_DIGITS, rel=0, abs_=1.5),
                "that is with counts of single characters; use the character before.",
            ),
            off_by_factor(DIGITS, math.log(2), "those are nats; count binary digits.", 2e-3),
            off_by_factor(DIGITS, 1 / 8, "those are bytes; count binary digits.", 5e-3),
            off_by_factor(DIGITS, 1 / 400, "that is per character; give all 400 together.", 5e-3),
        ),
        "the second thing that encode returns, for the first 400 characters.",
    )
    fewer = Part(
        Choice(("mine", "gzip")),
        equals("mine"),
        (Mistake(equals("gzip"), "compare your digits with gzip's bits once more."),),
        "compare the two numbers.",
    )
    without = Part(
        Choice(("the code gets longer", "an unseen pair cannot be coded", "nothing")),
        equals("an unseen pair cannot be coded"),
        (
            Mistake(equals("the code gets longer"), "how wide is the piece of an unseen pair?"),
            Mistake(equals("nothing"), "are there pairs that the plays never had?"),
        ),
        "think of a piece of width 0.",
    )
    parts = {"counts": mine, "digits": digits, "fewer": fewer, "without": without}
    explanation = "Any predictor makes a code, if it leaves every symbol a piece of the interval."
    return Checker("ex-adv-counts", "extension", parts, explanation)


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
    "ex-adv-reference": reference,
    "ex-adv-length": length,
    "ex-adv-counts": counts,
    "ex-adv-paid": paid,
    "ex-adv-k": formula,
    "ex-adv-mix": mixture,
    "ex-adv-leak": leak,
}
