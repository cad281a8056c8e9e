# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 5."""

from functools import partial

import numpy as np

from wrong_answers import Planted, but

FATES = {"asked": 19_660.8, "masked": 15_728.64, "readable": 3 / 88, "true": 0.5}
GRADIENT = {
    "selected": [0.14, -0.16, 0.02],
    "not selected": [0, 0, 0],
    "embeddings": "every token",
}
SPANS = {"scattered": 65, "spans": 35}
FAILURES = {"loss near zero": "kept", "fills a blank": "masked", "distrusts clean text": "random"}
NEXT = {"order": ["other", "same", "near", "order"], "near": 50, "rows differ in": "both"}
REPLACED = {
    "labels": [0, 1, 0, 0, 0, 0, 1, 0, 0, 0],
    "answers": [10, 3],
    "loss": (2 + 1 + 1 + 7 * 0.1926) / 10,
    "same": 5.6,
}

POSITIONS = {"with": 52, "without": 22, "can know": "which characters, but not where"}


def read(ids, selected, mask_id):
    """Hide the selected tokens."""
    return np.where(np.array(selected) == 1, mask_id, ids)


def loss(logits, ids, selected, asked=None, shift=0, mean=np.mean, unit=1.0):
    """Average the surprise at the selected tokens, with the usual mistakes as options."""
    scores = np.array(logits)
    probs = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    costs = -np.log(probs[np.arange(len(ids)), np.roll(ids, -shift)]) / unit
    return float(mean(costs[np.array(selected if asked is None else asked(ids)) == 1]))


BUILD = {"may read": lambda n: np.ones((n, n)), "read": read, "loss": loss}

PLANTED = {
    "ex-brt-build": Planted(
        BUILD,
        (
            (but(BUILD, may_read=np.tri), "triangle"),
            (but(BUILD, may_read=lambda n: 1 - np.eye(n)), "may read itself"),
            (but(BUILD, may_read=lambda n: np.zeros((n, n))), "1 means"),
            (but(BUILD, may_read=lambda n: np.tri(n).T), "which keys"),
            (but(BUILD, read=lambda ids, selected, mask_id: ids), "nothing is hidden"),
            (but(BUILD, read=lambda i, s, m: read(i, 1 - np.array(s), m)), "not selected"),
            (but(BUILD, read=lambda i, s, m: [m] * len(i)), "leave the rest"),
            (but(BUILD, loss=partial(loss, asked=np.ones_like)), "asks everywhere"),
            (but(BUILD, loss=partial(loss, mean=np.sum)), "that is the sum"),
            (but(BUILD, loss=partial(loss, shift=1)), "the next token"),
            (but(BUILD, loss=partial(loss, unit=np.log(2))), "in bits"),
            (
                but(BUILD, loss=lambda z, i, s: loss(z, i, s, mean=np.sum) / len(i)),
                "not by all",
            ),
            (but(BUILD, loss=lambda z, i, s: 0.0), "cross-entropy"),
        ),
    ),
    "ex-brt-positions": Planted(
        POSITIONS,
        (
            (POSITIONS | {"with": 22}, "swapped"),
            (POSITIONS | {"with": 0.52}, "per cent"),
            (POSITIONS | {"with": 90}, "800 steps"),
            (but(POSITIONS, without=52), "Set them to zero"),
            (but(POSITIONS, without=0.22), "per cent"),
            (but(POSITIONS, without=90), "800 steps"),
            (but(POSITIONS, can_know="both neighbours"), "which ones"),
            (but(POSITIONS, can_know="nothing"), "fetches"),
        ),
    ),
    "ex-brt-replaced": Planted(
        REPLACED,
        (
            (but(REPLACED, labels=[0, 1, 0, 1, 0, 0, 1, 0, 0, 0]), "the token itself"),
            (but(REPLACED, labels=[1, 0, 1, 1, 1, 1, 0, 1, 1, 1]), "0 for original"),
            (
                but(REPLACED, labels=[1 / 8, 1 / 4, *[1 / 8] * 4, 1 / 2, 1 / 8, 1 / 2, 1 / 8]),
                "0 or 1",
            ),
            (but(REPLACED, labels=[0, 0, 0, 0, 0, 0, 1, 0, 1, 0]), "suspects"),
            (but(REPLACED, labels=[0] * 10), "place by place"),
            (but(REPLACED, labels=[0, 1]), "expected a list of 10 numbers"),
            (but(REPLACED, answers=[3, 10]), "swapped"),
            (but(REPLACED, answers=[3, 3]), "must say so"),
            (but(REPLACED, answers=[10, 2]), "all the same"),
            (but(REPLACED, answers=[10, 10]), "was selected"),
            (but(REPLACED, answers=[7, 3]), "a term in its loss"),
            (but(REPLACED, loss=0.3707), "in nats"),
            (but(REPLACED, loss=5.348), "the sum"),
            (but(REPLACED, loss=0.8156), "drawn as itself"),
            (but(REPLACED, loss=(2 + 0.1926 + 1) / 3), "some places only"),
            (but(REPLACED, loss=1.5), "some places only"),
            (but(REPLACED, loss=0.3), "1 - P(replaced)"),
            (but(REPLACED, loss=(0.415 + 1 + 1 + 7 * 3) / 10), "itself"),
            (but(REPLACED, loss=5), "its right answer"),
            (but(REPLACED, same=0.056), "multiply it by 100"),
            (but(REPLACED, same=1.6), "uniform"),
            (but(REPLACED, same=94.4), "another character"),
            (but(REPLACED, same=0.84), "the selected ones"),
            (but(REPLACED, same=15), "average over the text"),
        ),
        (but(REPLACED, loss=0.53, same=5.57),),
    ),
    "ex-brt-fates": Planted(
        FATES,
        (
            (but(FATES, asked=131_072), "all tokens"),
            (but(FATES, asked=77), "one row"),
            (but(FATES, asked=15_729), "more are asked"),
            (but(FATES, asked=26_214), "15 % of the tokens"),
            (but(FATES, masked=19_661), "not all of them"),
            (but(FATES, masked=104_858), "not of all tokens"),
            (but(FATES, masked=1_966), "from the asked tokens"),
            (but(FATES, readable=0.03), "do not read [MASK]"),
            (but(FATES, readable=0.2), "turned around"),
            (but(FATES, readable=0.15), "carries most"),
            (but(FATES, readable=3.41), "percentage"),
            (but(FATES, readable=0.5), "count those asked"),
            (but(FATES, true=0.1), "can be read"),
            (but(FATES, true=0.8), "shown as [MASK]"),
            (but(FATES, true=0.9), "two fates"),
        ),
        ({"asked": 19_661, "masked": 15_729, "readable": 0.034, "true": 1 / 2},),
    ),
    "ex-brt-gradient": Planted(
        GRADIENT,
        (
            (but(GRADIENT, selected=[-0.14, 0.16, -0.02]), "descent subtracts"),
            (but(GRADIENT, selected=[0.7 / 32, -0.8 / 32, 0.1 / 32]), "by those selected"),
            (but(GRADIENT, selected=[0.7, -0.8, 0.1]), "mean over the selected"),
            (but(GRADIENT, selected=[0.14, 0.04, 0.02]), "subtract 1"),
            (but(GRADIENT, selected=[0, -0.16, 0]), "minus one-hot"),
            (but(GRADIENT, not_selected=[0.14, -0.16, 0.02]), "stand in no loss"),
            (but(GRADIENT, not_selected=[1, 1, 1]), "which term of the loss"),
            (but(GRADIENT, embeddings="selected tokens"), "attends to all others"),
            (but(GRADIENT, embeddings="tokens of the window"), "the same table"),
        ),
    ),
    "ex-brt-spans": Planted(
        SPANS,
        (
            ({"scattered": 0.65, "spans": 0.35}, "multiply it by 100"),
            (but(SPANS, spans=0.35), "multiply it by 100"),
            ({"scattered": 35, "spans": 65}, "swapped"),
            (but(SPANS, scattered=95), "hidden characters only"),
            (but(SPANS, scattered=15), "until 15 % are hidden"),
            (but(SPANS, spans=65), "on scattered blanks"),
            (but(SPANS, spans=91), "hidden characters only"),
            (but(SPANS, spans=4), "neighbours are hidden"),
        ),
    ),
    "ex-brt-failures": Planted(
        FAILURES,
        (
            (but(FAILURES, loss_near_zero="masked"), "guesses cost"),
            (but(FAILURES, loss_near_zero="random"), "says nothing"),
            (but(FAILURES, fills_a_blank="kept"), "copies"),
            (but(FAILURES, fills_a_blank="random"), "from context"),
            (but(FAILURES, distrusts_clean_text="kept"), "trusts the text"),
            (but(FAILURES, distrusts_clean_text="masked"), "never asked"),
            (but(FAILURES, distrusts_clean_text="none"), "expected one of 'masked'"),
        ),
    ),
    "ex-brt-next": Planted(
        NEXT,
        (
            (but(NEXT, order=["order", "near", "same", "other"]), "lowest first"),
            (but(NEXT, order=["same", "other", "near", "order"]), "another scene"),
            (but(NEXT, order=["other", "same", "near", "far"]), "name each"),
            (but(NEXT, order=["other", "near", "same", "order"]), "the less the rule"),
            (but(NEXT, near=0.5), "multiply it by 100"),
            (but(NEXT, near=67), "strangers"),
            (but(NEXT, near=58), "anywhere in the play"),
            (but(NEXT, near=97), "count those errors"),
            (but(NEXT, near=20), "within 30 segments"),
            (but(NEXT, rows_differ_in="loss"), "running text"),
            (but(NEXT, rows_differ_in="format"), "no NSP loss"),
        ),
        (but(NEXT, order=["other", "same", "order", "near"], near=49),),
    ),
}
