# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 11."""

from wrong_answers import Planted, but

PRICE = {"without": 328_000, "with": 40_288, "days": 0.288}
CALIBRATION = {"raw": "tie", "calibrated": [12 / 47, 20 / 47, 15 / 47], "can harm": "yes"}
LEAK = {"enough": "copying", "fall": 8}
TLDR = {"model": 0.08, "first words": 0.11, "decided": "no"}

PLANTED = {
    "ex-icl-price": Planted(
        PRICE,
        (
            (but(PRICE, without=288_000), "each question has tokens"),
            (but(PRICE, without=328), "a thousand"),
            (but(PRICE, without=40_288), "for every question"),
            (but(PRICE, without=76_000), "behind all eight"),
            (but(PRICE, **{"with": 40_000}), "read once"),
            (but(PRICE, **{"with": 328_000}), "without the cache"),
            (but(PRICE, **{"with": 328}), "a thousand"),
            (but(PRICE, **{"with": 36_040}), "each question once"),
            (but(PRICE, days=0.096), "three forward passes"),
            (but(PRICE, days=0.2529), "either way"),
            (but(PRICE, days=3.472), "turned around"),
            (but(PRICE, days=82_944), "in tokens"),
            (but(PRICE, days=12), "in a day"),
        ),
        (but(PRICE, days=0.29),),
    ),
    "ex-icl-calibration": Planted(
        CALIBRATION,
        (
            (but(CALIBRATION, raw="second"), "before calibration"),
            (but(CALIBRATION, raw="third"), "least likely"),
            (but(CALIBRATION, calibrated=[0.8, 1.333, 1]), "sum to 1"),
            (but(CALIBRATION, calibrated=[0.4, 0.4, 0.2]), "nothing is divided"),
            (but(CALIBRATION, calibrated=[0.556, 0.333, 0.111]), "you multiply"),
            (but(CALIBRATION, calibrated=[0.4167, 0.25, 0.3333]), "turned around"),
            (but(CALIBRATION, calibrated=[0, 1, 0]), "label by label"),
            (but(CALIBRATION, can_harm="no"), "zero-shot in the study"),
        ),
        (but(CALIBRATION, calibrated=[0.255, 0.426, 0.319]),),
    ),
    "ex-icl-leak": Planted(
        LEAK,
        (
            (but(LEAK, enough="sentiment"), "stands in the question"),
            (but(LEAK, enough="form"), "not what"),
            (but(LEAK, fall=-8), "positive"),
            (but(LEAK, fall=0), "opposite label"),
            (but(LEAK, fall=40), "percentage"),
            (but(LEAK, fall=-50), "minus right answers"),
            (but(LEAK, fall=0.4), "expected one whole number (answers of 20), got 0.4"),
        ),
    ),
    "ex-icl-tldr": Planted(
        TLDR,
        (
            (but(TLDR, model=8), "percentage"),
            (but(TLDR, model=0.9), "not with the plot"),
            (but(TLDR, model=-0.1), "six films of F1 against"),
            (but(TLDR, first_words=11), "percentage"),
            (but(TLDR, first_words=0.7), "come from the plot"),
            (but(TLDR, first_words=-1), "first twelve words"),
            (but(TLDR, decided="yes"), "one more film"),
        ),
    ),
}
