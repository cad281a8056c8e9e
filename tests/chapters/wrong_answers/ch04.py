# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 4."""

import math

from wrong_answers import Planted, but

TOP_P = {"a": [0.588, 0.235, 0.176, 0, 0], "b": 4}
POSITIONS = {"with": 2.98, "without": 3.44, "b": "no", "c": "yes"}
CONTEXT = {"1 to 4": 1.28, "4 to 16": 0.17, "16 to 120": 0.04}
OBJECTIVE = {
    "text": 1 / 2 * 1 / 4 * 1 / 2,
    "bits": 1 + 2 + 1,
    "loss": (1 + 2 + 1 + 2 + 1) / 5,
    "contexts": [(1 + 2 + 1) / 3, (1 + 2) / 2],
    "best": (3 * 0.9183 + 2 * 1) / 5,  # two of three, and one of two
}
GRADIENT = [0.05, -0.075, 0.0125, 0.0125]


def surprises(probs, base=math.e):
    """Return each token's surprise, and the entropy."""
    each = [-math.log(p, base) for p in probs]
    return each, sum(p * s for p, s in zip(probs, each, strict=True))


def cut(probs, share, ranking, rescale=True, crossing=True):
    """Keep tokens by a ranking, one at a time."""
    kept, mass = set(), 0.0
    for token in ranking:
        if mass >= share or (not crossing and mass + probs[token] > share):
            break
        kept.add(token)
        mass += probs[token]
    scale = mass if rescale and mass else 1.0
    return [p / scale if i in kept else 0.0 for i, p in enumerate(probs)]


def typical(probs, share, **options):
    """Keep the tokens whose surprise is nearest to the entropy."""
    each, entropy = surprises(probs)
    ranking = sorted(range(len(probs)), key=lambda i: abs(each[i] - entropy))
    return cut(probs, share, ranking, **options)


def likeliest(probs, share):
    """Do top-p instead."""
    return cut(probs, share, sorted(range(len(probs)), key=lambda i: -probs[i]))


def farthest(probs, share):
    """Begin at the wrong end."""
    each, entropy = surprises(probs)
    return cut(probs, share, sorted(range(len(probs)), key=lambda i: -abs(each[i] - entropy)))


def mixed_units(probs, share):
    """Compare surprises in nats with an entropy in bits."""
    (each, _), (_, entropy) = surprises(probs), surprises(probs, 2)
    return cut(probs, share, sorted(range(len(probs)), key=lambda i: abs(each[i] - entropy)))


PLANTED = {
    "ex-gpt-objective": Planted(
        OBJECTIVE,
        (
            (but(OBJECTIVE, text=1.25), "Which operation"),
            (but(OBJECTIVE, text=1.25 / 3), "mean of the factors"),
            (but(OBJECTIVE, text=1 / 128), "only the first one"),
            (but(OBJECTIVE, text=1 / 32), "adds no factor"),
            (but(OBJECTIVE, text=0.3), "read the table once"),
            (but(OBJECTIVE, bits=-4), "take minus it"),
            (but(OBJECTIVE, bits=2.7726), "in nats"),
            (but(OBJECTIVE, bits=4 / 3), "the sum is asked for"),
            (but(OBJECTIVE, bits=7), "only the first one"),
            (but(OBJECTIVE, bits=16), "becomes a term"),
            (but(OBJECTIVE, loss=0.9704), "in nats"),
            (but(OBJECTIVE, loss=(4 / 3 + 3 / 2) / 2), "mean of two means"),
            (but(OBJECTIVE, loss=7), "divide by the number"),
            (but(OBJECTIVE, loss=1), "fewer predictions"),
            (but(OBJECTIVE, loss=3.5), "per text"),
            (but(OBJECTIVE, loss=2), "add the surprises"),
            (but(OBJECTIVE, contexts=[0.9242, 1.0397]), "in nats"),
            (but(OBJECTIVE, contexts=[3 / 2, 4 / 3]), "swapped"),
            (but(OBJECTIVE, contexts=[0.9183, 1]), "Where is the model"),
            (but(OBJECTIVE, contexts=[1.5, 1.5]), "entropy of the model's rows"),
            (but(OBJECTIVE, contexts=[5 / 3, 5 / 3]), "every character alike"),
            (but(OBJECTIVE, contexts=[1, 2]), "collect what followed"),
            (but(OBJECTIVE, best=0.6592), "in nats"),
            (but(OBJECTIVE, best=0), "no table that reads one"),
            (but(OBJECTIVE, best=0.9591), "weigh the two"),
            (but(OBJECTIVE, best=1.4), "another table"),
            (but(OBJECTIVE, best=0.449), "the gap"),
            (but(OBJECTIVE, best=1.2), "which row"),
        ),
        (but(OBJECTIVE, text=0.0625, best=0.95, contexts=[1.333, 1.5]),),
    ),
    "ex-gpt-topp": Planted(
        TOP_P,
        (
            (but(TOP_P, a=[0.5, 0.2, 0.15, 0, 0]), "rescale them"),
            (but(TOP_P, a=[0.714, 0.286, 0, 0, 0]), "fall short"),
            (but(TOP_P, a=[0.526, 0.2105, 0.158, 0.105, 0]), "one too many"),
            (but(TOP_P, a=[0.625, 0.25, 0.1875, 0, 0]), "not by p"),
            (but(TOP_P, a=[0.5, 0.2, 0.15, 0.1, 0.05]), "nothing is cut"),
            (but(TOP_P, a=[1, 0, 0, 0, 0]), "add up from the largest"),
            (but(TOP_P, a=[0.588, 0.235, 0.176]), "got a list of 3 numbers"),
            (but(TOP_P, b=2), "sharpens"),
            (but(TOP_P, b=3), "without the temperature"),
            (but(TOP_P, b=5), "not needed"),
            (but(TOP_P, b=1), "square roots"),
        ),
        (but(TOP_P, a=[0.59, 0.24, 0.18, 0, 0]),),
    ),
    "ex-gpt-positions": Planted(
        POSITIONS,
        (
            (POSITIONS | {"with": 3.44}, "swapped"),
            (POSITIONS | {"with": 2.07}, "in nats"),
            (POSITIONS | {"with": 4.7}, "800 steps"),
            (but(POSITIONS, without=2.98), "Set them to zero"),
            (but(POSITIONS, without=2.39), "in nats"),
            (but(POSITIONS, without=4.7), "800 steps"),
            (but(POSITIONS, b="yes"), "which of the keys"),
            (but(POSITIONS, c="no"), "the tenth position"),
        ),
    ),
    "ex-gpt-gradient": Planted(
        GRADIENT,
        (
            ([-g for g in GRADIENT], "descent subtracts"),
            ([0.5, -0.75, 0.125, 0.125], "mean"),
            ([0.05, 0.025, 0.0125, 0.0125], "log of the sum alone"),
            ([0.5, 0.25, 0.125, 0.125], "softmax probabilities"),
            ([0, -0.075, 0, 0], "holds every logit"),
            ([0.05, 0.075, 0.0125, 0.0125], "sum to 0"),
            ([0.025, -0.075, 0.025, 0.025], "differentiate minus"),
            ([0.05, -0.075], "expected a list of 4 numbers"),
        ),
        ([0.05, -0.075, 0.013, 0.013],),
    ),
    "ex-gpt-context": Planted(
        CONTEXT,
        (
            (but(CONTEXT, **{"1 to 4": -1.28}), "positive"),
            (but(CONTEXT, **{"1 to 4": 2.38}), "that is a loss"),
            (but(CONTEXT, **{"1 to 4": 1.28 * math.log(2)}), "in nats"),
            (but(CONTEXT, **{"1 to 4": 1.35}), "Kneser–Ney"),
            (but(CONTEXT, **{"1 to 4": 0.3}), "score the same characters"),
            (but(CONTEXT, **{"4 to 16": -0.17}), "positive"),
            (but(CONTEXT, **{"4 to 16": 2.21}), "that is a loss"),
            (but(CONTEXT, **{"4 to 16": 0.6}), "with 4 and with 16"),
            (but(CONTEXT, **{"16 to 120": 0.5}), "with 16 and with 120"),
            (but(CONTEXT, **{"16 to 120": math.nan}), "got NaN"),
        ),
        ({"1 to 4": 1.3, "4 to 16": 0.2, "16 to 120": 0.05},),
    ),
    "ex-gpt-typical": Planted(
        typical,
        (
            (likeliest, "as top-p does"),
            (farthest, "least typical"),
            (mixed_units, "different units"),
            (lambda p, s: typical(p, s, rescale=False), "sums to 1"),
            (lambda p, s: typical(p, s, crossing=False), "crosses the share"),
            (lambda p, s: p, "nothing is cut off"),
            (lambda p, s: [1.0] + [0.0] * (len(p) - 1), "keep up to the share"),
            (lambda p, s: p[:2], "expected a list of 5 numbers"),
            (lambda p: p, "stopped with TypeError"),
        ),
    ),
}
