# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 2."""

import math

import numpy as np

from wrong_answers import Planted, but

SCALE = {"spread": lambda d: d**0.5, "softmax": "one key takes all"}
RANK = {"scores": 8, "weights": 40}
PACKED = [
    [1, 0, 0, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0, 0],
    [1, 1, 1, 0, 0, 0, 0],
    [0, 0, 0, 1, 0, 0, 0],
    [0, 0, 0, 1, 1, 0, 0],
    [0, 0, 0, 1, 1, 1, 0],
    [0, 0, 0, 1, 1, 1, 1],
]
MASK = np.array(PACKED, dtype=bool)
TRIANGLE = np.tri(7, dtype=bool)
CORNER = MASK.copy()
CORNER[3, 2] = True
TOO_FEW = MASK.copy()
TOO_FEW[6, 3] = False

PLANTED = {
    "ex-trf-count": Planted(
        116_534_784,
        (
            (85_054_464, "blocks alone"),
            (116_534_784 + 40_478 * 768, "twice"),
            (116_534_784 + 1_536, "no final norm"),
            (116_534_784 - 12 * 13 * 768, "biases"),
            (116_534_784 - 512 * 768, "positions"),
            (117e6, "usually quoted"),
            (124_439_808, "add the twelve blocks"),  # GPT-2
            (116.5, "expected one whole number (parameters), got 116.5"),
        ),
        (np.int64(116_534_784),),
    ),
    "ex-trf-scale": Planted(
        SCALE,
        (
            (but(SCALE, spread=lambda d: d), "variance"),
            (but(SCALE, spread=lambda d: 1.0), "one term"),
            (but(SCALE, spread=lambda d: d**-0.5), "multiplied by"),
            (but(SCALE, spread=lambda d: (2 * d) ** 0.5), "do not add"),
            (but(SCALE, spread=lambda d: math.log(d)), "add up d independent"),
            (but(SCALE, spread=lambda: 1), "stopped with TypeError"),
            (but(SCALE, softmax="flat"), "come close"),
            (but(SCALE, softmax="unchanged"), "shift"),
        ),
    ),
    "ex-trf-rank": Planted(
        RANK,
        (
            (but(RANK, scores=64), "width of the layer"),
            (but(RANK, scores=40), "inner side"),
            (but(RANK, scores=1), "one channel"),
            (but(RANK, scores=16), "Which is its inner side"),
            (but(RANK, weights=8), "linear"),
            (but(RANK, weights=64), "more rank than it has rows"),
            (but(RANK, weights=1), "same mixture"),
            (but(RANK, weights=39), "softmax over keys first"),
        ),
    ),
    "ex-trf-packing": Planted(
        PACKED,
        (
            (MASK.T, "turned over"),
            (TRIANGLE, "through your triangle"),
            (MASK | MASK.T, "later keys"),
            (~MASK, "forbids"),
            (MASK & ~np.eye(7, dtype=bool), "itself"),
            (CORNER, "permits a pair"),
            (TOO_FEW, "at or before it"),
            (np.where(MASK, 0.0, -np.inf), "got infinity"),
            (MASK[None], "got numbers of shape 1 × 7 × 7"),
        ),
        (MASK,),
    ),
}
