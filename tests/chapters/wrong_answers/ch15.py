# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 15."""

import math

from wrong_answers import Planted, but


def labels(ids, roles):
    """Copy what the assistant says into a row of -100."""
    row = [-100] * len(ids)
    for place, role in enumerate(roles):
        if role == "assistant":
            row[place] = ids[place]
    return row


def of_the_user(ids, roles):
    """Exchange the roles."""
    return [i if role == "user" else -100 for i, role in zip(ids, roles, strict=True)]


def zeros(ids, roles):
    """Write 0 where no loss is."""
    return [max(label, 0) for label in labels(ids, roles)]


def last_answer(ids, roles):
    """Keep the last run of the assistant alone."""
    row = labels(ids, roles)
    for place in range(len(row) - 1, -1, -1):
        if row[place] == -100:
            return [-100] * (place + 1) + row[place + 1 :]
    return row


def loss(chosen, rejected, ref_chosen, ref_rejected, beta):
    """Take the probability of the right order from the four numbers, then its logarithm."""
    odds = math.exp(beta * (chosen - ref_chosen)) / math.exp(beta * (rejected - ref_rejected))
    return -math.log(odds / (1 + odds))


def margin(chosen, rejected, ref_chosen, ref_rejected, beta):
    """Forget the sigmoid."""
    return beta * (chosen - rejected - ref_chosen + ref_rejected)


def fuse(first, second, start=1, better=True):
    """Count, for each text, how many scores are higher."""
    found = []
    for i in range(len(first)):
        total = 0.0
        for scores in (first, second):
            ahead = sum((s > scores[i]) if better else (s < scores[i]) for s in scores)
            total += 1 / (60 + ahead + start)
        found.append(total)
    return found


def one_sort(first, second):
    """Take the order for the ranks."""
    orders = [sorted(range(len(s)), key=lambda i, s=s: -s[i]) for s in (first, second)]
    return [1 / (61 + a) + 1 / (61 + b) for a, b in zip(*orders, strict=True)]


RARITY = {"rare": 6.50354, "common": 0.10575, "once": 6.50354, "twice": 1.375}
MASK = {"labels": labels, "share": 0.675676, "incomparable": "the tokens they average over"}
DPO = {"loss": loss, "at 0": -0.5, "at 3": -0.0474259, "large": "it hardly counts"}
COPIES = {"five": 326, "eight": 2, "report": "eight"}
FUSION = {"fuse": fuse, "first": 1, "why": "the scores have different scales"}
FIT = {"frozen": 2, "trained": 0.64, "per token": 1_481_728, "texts": 7}
CLIENTS = {
    "museum": "sentence encoder",
    "town hall": "rule or counted words",
    "publisher": "decoder",
}

PLANTED = {
    "ex-own-rarity": Planted(
        RARITY,
        (
            (but(RARITY, rare=2.82445), "natural logarithm"),
            (but(RARITY, rare=6.90776), "adds halves"),
            (but(RARITY, rare=0.10575), "the common word"),
            (but(RARITY, rare=1), "999.5 over 1.5"),
            (but(RARITY, common=-2.1928), "above 0"),
            (but(RARITY, common=6.50354), "the rare word"),
            (but(RARITY, once=14.3078), "divide by f + 1.2"),
            (but(RARITY, once=2.95615), "the factor 2.2"),
            (but(RARITY, twice=2), "without the denominator"),
            (but(RARITY, twice=8.94237), "that of (b)"),
        ),
        (but(RARITY, rare=6.5, once=6.5, common=0.1057),),
    ),
    "ex-own-mask": Planted(
        MASK,
        (
            (but(MASK, labels=of_the_user), "turned around"),
            (but(MASK, labels=zeros), "token's id"),
            (but(MASK, labels=last_answer), "all answers"),
            (but(MASK, labels=lambda ids, roles: list(ids)), "−100 elsewhere"),
            (but(MASK, share=12 / 37), "answer's share"),
            (but(MASK, share=25 / 12), "all tokens"),
            (but(MASK, share=67.5676), "per cent"),
            (but(MASK, incomparable="the model"), "same model"),
            (but(MASK, incomparable="the learning rate"), "no step"),
        ),
        (but(MASK, share=0.676),),
    ),
    "ex-own-dpo": Planted(
        DPO,
        (
            (but(DPO, loss=lambda c, r, rc, rr, b: loss(c, r, 0, 0, b)), "reference is missing"),
            (but(DPO, loss=lambda c, r, rc, rr, b: loss(c, r, rc, rr, 1)), "β is missing"),
            (but(DPO, loss=lambda c, r, rc, rr, b: loss(r, c, rr, rc, b)), "exchanged"),
            (but(DPO, loss=margin), "that is the margin"),
            (but(DPO, at_0=0.5), "slope is negative"),
            (but(DPO, at_0=-0.25), "divide by σ"),
            (but(DPO, at_0=0.693147), "loss at 0"),
            (but(DPO, at_3=0.0474259), "slope is negative"),
            (but(DPO, at_3=-0.952574), "not σ(3)"),
            (but(DPO, at_3=0.0485874), "loss at 3"),
            (but(DPO, large="it dominates the step"), "two slopes"),
            (but(DPO, large="it is pushed back"), "keeps its sign"),
        ),
        (but(DPO, at_3=-0.0474),),
    ),
    "ex-own-copies": Planted(
        COPIES,
        (
            (but(COPIES, five=2), "for eight words"),
            (but(COPIES, five=0), "lower case"),
            (but(COPIES, eight=326), "for five words"),
            (but(COPIES, eight=0), "lower case"),
            (but(COPIES, report="five"), "are they copies"),
            (but(COPIES, report="both"), "phrases of the language"),
        ),
    ),
    "ex-own-fusion": Planted(
        FUSION,
        (
            (but(FUSION, fuse=lambda a, b: fuse(a, b, better=False)), "highest score"),
            (but(FUSION, fuse=lambda a, b: fuse(a, b, start=0)), "begin with 1"),
            (
                but(FUSION, fuse=lambda a, b: [x + y for x, y in zip(a, b, strict=True)]),
                "not the scores",
            ),
            (but(FUSION, fuse=one_sort), "second one gives the ranks"),
            (but(FUSION, first=0), "1 and 3"),
            (but(FUSION, first=2), "3 and 2"),
            (but(FUSION, why="they are faster"), "take a sort more"),
            (but(FUSION, why="ranks are never wrong"), "ranks badly"),
        ),
    ),
    "ex-own-fit": Planted(
        FIT,
        (
            (but(FIT, frozen=8), "holds 4"),
            (but(FIT, frozen=16), "half a byte"),
            (but(FIT, trained=64), "one weight in a hundred"),
            (but(FIT, trained=0.16), "16 bytes"),
            (but(FIT, per_token=266_240), "logits are missing"),
            (but(FIT, per_token=1_215_488), "activations are missing"),
            (but(FIT, per_token=4_164_608), "input alone"),
            (but(FIT, texts=8), "a tenth"),
            (but(FIT, texts=7168), "tokens"),
        ),
    ),
    "ex-own-clients": Planted(
        CLIENTS,
        (
            (but(CLIENTS, museum="decoder"), "found, not written"),
            (but(CLIENTS, museum="encoder"), "one vector"),
            (but(CLIENTS, museum="rule or counted words"), "another language"),
            (but(CLIENTS, town_hall="encoder"), "would a list do"),
            (but(CLIENTS, publisher="encoder"), "cannot write"),
            (but(CLIENTS, publisher="rule or counted words"), "no rule"),
        ),
    ),
}
