# SPDX-License-Identifier: MIT
"""Checkers of chapter 13: a budget, the best division, a fit to less, a smaller model in use."""

from pretrain_book.exercises.answer_types import Number
from pretrain_book.exercises.grader import Checker, Part
from pretrain_book.exercises.predicates import Mistake, between, equals, near, off_by_factor
from pretrain_lab.scaling.laws import Law

N, D, PEAK, REACHED = 1e9, 20e9, 1e14, 0.4
"""Parameters, tokens, operations a second at best, and the share of them that is reached."""
LLAMA = 8e9, 15e12
REFITTED = Law(1.8172, 482.01, 0.3478, 2085.43, 0.3658)
"""Besiroglu et al. 2024 (arXiv:2404.10102)."""
BIG, TEXT, SMALL = 70e9, 1.4e12, 35e9
LEFT_OUT, CELLS, MISSES = 9, 32, {"sum": 0.973, "kaplan": 2.269}
"""Cells above a quarter of the ceiling, cells in all, and the mean misses on them in per cent."""


def budget() -> Checker:
    """Count operations, hours, and tokens a parameter."""
    flops = 6 * N * D
    hours = flops / (PEAK * REACHED) / 3600
    ratio = LLAMA[1] / LLAMA[0]
    cost = Part(
        Number("operations"),
        near(flops),
        (
            Mistake(near(2 * N * D), "that is the forward pass; training goes back, too."),
            Mistake(near(4 * N * D), "that is the backward pass; the forward pass comes first."),
            Mistake(near(N * D), "how many operations does a weight take part in for a token?"),
        ),
        "six operations for each pair of a parameter and a token.",
    )
    time = Part(
        Number("hours"),
        near(hours, rel=2e-3),
        (
            Mistake(near(hours * REACHED, rel=2e-3), "the machine does not reach its best speed."),
            Mistake(near(hours * 3600, rel=2e-3), "those are seconds."),
            Mistake(near(hours / 24, rel=2e-3), "those are days."),
            Mistake(near(hours * REACHED**2, rel=2e-3), "divide by the share that is reached."),
        ),
        "operations over operations a second that are reached, in hours.",
    )
    tokens = Part(
        Number("tokens a parameter"),
        near(ratio),
        (
            Mistake(near(1 / ratio), "turned around: tokens over parameters."),
            Mistake(near(20), "that is the reading of Chinchilla's table, not this model."),
        ),
        "trillions are 10¹², billions are 10⁹.",
    )
    parts = {"flops": cost, "hours": time, "ratio": tokens}
    return Checker("ex-scl-budget", "warm-up", parts, "Three numbers make a plan.")


def optimum() -> Checker:
    """Derive what the exponents say about the best division."""
    alpha, beta = REFITTED.alpha, REFITTED.beta
    power, rest = beta / (alpha + beta), alpha / (alpha + beta)
    exponent = Part(
        Number("power"),
        near(power, rel=2e-3),
        (
            Mistake(near(rest, rel=2e-3), "that is the power for the text."),
            Mistake(near(alpha, beta), "that is an exponent of the loss, not of the best size."),
            Mistake(near(beta / alpha), "divide by the sum of the exponents."),
            Mistake(near(0.5, rel=1e-4), "near, but these constants do not give exactly that."),
        ),
        "put D = C / 6N into the optimum and solve for N.",
    )
    text = Part(
        Number("times"),
        near(1000**rest, rel=5e-3),
        (
            Mistake(near(1000**power, rel=5e-3), "that is the growth of the size."),
            Mistake(near(1000**0.5, rel=5e-3), "not exactly the square root."),
            Mistake(near(1000), "size grows as well, and the product is the budget."),
            Mistake(near(1000**beta, 1000**alpha, rel=5e-3), "use the power of compute."),
        ),
        "the powers of size and text add up to 1.",
    )
    quotient = Part(
        Number("quotient"),
        near(beta / alpha, rel=2e-3),
        (
            Mistake(near(alpha / beta, rel=2e-3), "turned around."),
            Mistake(equals(1), "the derivatives are equal there, not the prices."),
        ),
        "divide the first equation of the optimum by what is not asked for.",
    )
    parts = {"power": exponent, "text": text, "quotient": quotient}
    explanation = "Nearly equal prices are what a good division looks like."
    return Checker("ex-scl-optimum", "derivation", parts, explanation)


def less() -> Checker:
    """Fit both laws to cheap runs and foretell dear ones."""
    cells = Part(
        Number("cells", whole=True),
        equals(LEFT_OUT),
        (
            Mistake(equals(CELLS - LEFT_OUT), "those are the cells that are kept."),
            Mistake(equals(3 * LEFT_OUT), "those are runs; a cell has three seeds."),
            Mistake(equals(CELLS), "those are all cells."),
        ),
        "count the cells whose compute lies above a quarter of the ceiling.",
    )
    parts = {"cells": cells} | {name: _miss(name) for name in MISSES}
    explanation = "Holding out the dear runs is a test that needs no new run."
    return Checker("ex-scl-less", "experiment", parts, explanation)


def _miss(name: str) -> Part:
    """Ask for the mean miss of one law, in per cent."""
    (other,) = set(MISSES) - {name}
    value = MISSES[name]
    return Part(
        Number("%"),
        near(value, rel=0.03),
        (
            off_by_factor(value, 0.01, "that is a share; multiply it by 100 for percent.", 0.03),
            Mistake(near(MISSES[other], rel=0.03), "that is the other law's."),
            Mistake(between(-100, 0), "signs aside: take absolute values before the mean."),
            Mistake(between(0, 0.8 * min(MISSES.values())), "were the left-out cells fitted too?"),
        ),
        "mean over the left-out cells of the distance between measured and predicted.",
    )


def serve() -> Checker:
    """Train a smaller model as good, and pay it back in use."""
    law = REFITTED
    rest = float(law.loss(BIG, TEXT)) - law.e - law.a / SMALL**law.alpha
    read = (law.b / rest) ** (1 / law.beta)
    extra = SMALL * read - BIG * TEXT
    tokens = Part(
        Number("tokens"),
        near(read, rel=0.01),
        (
            Mistake(near(2 * TEXT), "equal compute does not give equal loss."),
            Mistake(near(TEXT), "then the smaller model loses more."),
            Mistake(near(20 * SMALL), "that is best for a budget, but the loss is given here."),
            off_by_factor(read, 1e-12, "in tokens, not in trillions.", 0.01),
        ),
        "what remains of the loss after floor and size is the price of the text.",
    )
    factor = Part(
        Number("times"),
        near(SMALL * read / (BIG * TEXT), rel=0.01),
        (
            Mistake(near(read / TEXT, rel=0.01), "that is the text; the model is smaller."),
            Mistake(near(BIG * TEXT / (SMALL * read), rel=0.01), "turned around."),
            Mistake(near(extra / (BIG * TEXT), rel=0.01), "as a factor: add the whole."),
        ),
        "compare parameters times tokens.",
    )
    used = Part(
        Number("tokens"),
        near(6 * extra / (2 * (BIG - SMALL)), rel=0.02),
        (
            Mistake(near(extra / (BIG - SMALL), rel=0.02), "training costs three times as much."),
            Mistake(near(6 * extra / (2 * BIG), rel=0.02), "both are used; take the gain."),
            Mistake(near(SMALL * read * 3 / (BIG - SMALL), rel=0.02), "only what it costs more."),
        ),
        "extra operations of training, over operations saved with each token.",
    )
    parts = {"read": tokens, "factor": factor, "used": used}
    explanation = "The best model for training is not the best one for use."
    return Checker("ex-scl-serve", "extension", parts, explanation)


CHECKERS = {
    "ex-scl-budget": budget,
    "ex-scl-optimum": optimum,
    "ex-scl-less": less,
    "ex-scl-serve": serve,
}
