# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 2."""

import math

import numpy as np

from wrong_answers import Planted, but

SCALE = {"spread": lambda d: d**0.5, "softmax": "one key takes all"}
ABLATE = {"without positions": 0.27, "not needed": "feed-forward"}
LEAK = {"honest": math.log(4), "leaking": 0.21}
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


def attend(queries, keys, values, mask, *, scale=None, hidden=-np.inf, late=False):
    """Attention in numpy, with the usual mistakes as options."""
    query, key, value = (np.array(rows, dtype=float) for rows in (queries, keys, values))
    allowed = np.array(mask) > 0
    scores = query @ key.T * (key.shape[1] ** -0.5 if scale is None else scale)
    weights = np.exp(scores if late else np.where(allowed, scores, hidden))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return (weights * allowed if late else weights) @ value


PLANTED = {
    "ex-trf-attend": Planted(
        attend,
        (
            (lambda q, k, v, m: attend(q, k, v, m, scale=1), "not divided"),
            (lambda q, k, v, m: attend(q, k, v, m, hidden=0.0), "still gets a weight"),
            (lambda q, k, v, m: attend(q, k, v, m, late=True), "after the softmax"),
            (lambda q, k, v, m: attend(q, k, v, np.ones_like(m)), "not used"),
            (lambda q, k, v, m: attend(q, k, v, 1 - np.array(m)), "permit"),
            (lambda q, k, v, m: np.array(q) @ np.array(k).T @ np.array(v), "softmax along"),
            (lambda q, k: q, "stopped with TypeError"),
        ),
    ),
    "ex-trf-ablate": Planted(
        ABLATE,
        (
            (ABLATE | {"without positions": 1.0}, "Switch them off"),
            (ABLATE | {"without positions": 27}, "not per cent"),
            (ABLATE | {"without positions": 0.1}, "better than guessing"),
            (ABLATE | {"without positions": 0.6}, "300 steps"),
            (ABLATE | {"not needed": "positions"}, "the one before"),
            (ABLATE | {"not needed": "nothing"}, "nearly all right"),
        ),
    ),
    "ex-trf-leak": Planted(
        LEAK,
        (
            (LEAK | {"honest": 2.0}, "in bits"),
            (LEAK | {"honest": 0.0}, "nothing tells"),
            (LEAK | {"honest": 0.25}, "the probability"),
            (LEAK | {"honest": 1.0}, "probability 1/4"),
            (LEAK | {"leaking": 1.39}, "under the causal mask"),
            (LEAK | {"leaking": 0.01}, "last of the seven"),
            (LEAK | {"leaking": 0.8}, "on new texts"),
        ),
    ),
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
            (but(SCALE, softmax="flat"), "came close"),
            (but(SCALE, softmax="unchanged"), "shift"),
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
