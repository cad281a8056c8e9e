# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 13."""

from wrong_answers import Planted, but

BUDGET = {"flops": 1.2e20, "hours": 833.33, "ratio": 1875}
OPTIMUM = {"power": 0.51261, "text": 28.98, "quotient": 1.05175}
LESS = {"cells": 9, "sum": 0.9726, "kaplan": 2.2695}
SERVE = {"read": 3.647e12, "factor": 1.3026, "used": 2.5418e12}

PLANTED = {
    "ex-scl-budget": Planted(
        BUDGET,
        (
            (but(BUDGET, flops=4e19), "forward pass; training"),
            (but(BUDGET, flops=8e19), "backward pass"),
            (but(BUDGET, flops=2e19), "take part in"),
            (but(BUDGET, flops=1e9), "each pair"),
            (but(BUDGET, hours=333.33), "its best speed"),
            (but(BUDGET, hours=3e6), "seconds"),
            (but(BUDGET, hours=34.722), "days"),
            (but(BUDGET, hours=133.33), "the share that is reached"),
            (but(BUDGET, hours=5), "in hours"),
            (but(BUDGET, ratio=1 / 1875), "turned around"),
            (but(BUDGET, ratio=20), "not this model"),
            (but(BUDGET, ratio=1.875), "billions are"),
        ),
        (but(BUDGET, hours=833),),
    ),
    "ex-scl-optimum": Planted(
        OPTIMUM,
        (
            (but(OPTIMUM, power=0.48739), "for the text"),
            (but(OPTIMUM, power=0.3658), "not of the best size"),
            (but(OPTIMUM, power=1.05175), "sum of the exponents"),
            (but(OPTIMUM, power=0.5), "exactly that"),
            (but(OPTIMUM, power=0.73), "solve for N"),
            (but(OPTIMUM, text=34.5), "growth of the size"),
            (but(OPTIMUM, text=31.62), "square root"),
            (but(OPTIMUM, text=1000), "product is the budget"),
            (but(OPTIMUM, text=12.5), "power of compute"),
            (but(OPTIMUM, text=3), "add up to"),
            (but(OPTIMUM, quotient=0.9508), "turned around"),
            (but(OPTIMUM, quotient=1), "not the prices"),
            (but(OPTIMUM, quotient=4.3), "not asked for"),
        ),
        (but(OPTIMUM, power=0.5126, text=29.0, quotient=1.052),),
    ),
    "ex-scl-less": Planted(
        LESS,
        (
            (but(LESS, cells=23), "that are kept"),
            (but(LESS, cells=27), "three seeds"),
            (but(LESS, cells=32), "all cells"),
            (but(LESS, cells=4), "a quarter"),
            (but(LESS, sum=0.00973), "a share"),
            (but(LESS, sum=2.27), "the other law"),
            (but(LESS, sum=-0.713), "absolute values"),
            (but(LESS, sum=0.5), "fitted too"),
            (but(LESS, sum=5), "measured and predicted"),
            (but(LESS, kaplan=0.0227), "a share"),
            (but(LESS, kaplan=0.973), "the other law"),
        ),
        (but(LESS, sum=0.97, kaplan=2.3),),
    ),
    "ex-scl-serve": Planted(
        SERVE,
        (
            (but(SERVE, read=2.8e12), "equal compute"),
            (but(SERVE, read=1.4e12), "loses more"),
            (but(SERVE, read=7e11), "best for a budget"),
            (but(SERVE, read=3.647), "in trillions"),
            (but(SERVE, read=1e10), "price of the text"),
            (but(SERVE, factor=2.605), "the model is smaller"),
            (but(SERVE, factor=0.7677), "turned around"),
            (but(SERVE, factor=0.3026), "add the whole"),
            (but(SERVE, factor=9), "parameters times tokens"),
            (but(SERVE, used=8.47e11), "three times as much"),
            (but(SERVE, used=1.2709e12), "take the gain"),
            (but(SERVE, used=1.0942e13), "only what it costs more"),
            (but(SERVE, used=1e9), "saved with each token"),
        ),
        (but(SERVE, read=3.65e12, factor=1.3),),
    ),
}
