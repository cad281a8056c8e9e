# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 3."""

import math
import re
from itertools import product

import numpy as np

from wrong_answers import Planted, but

MERGE = {"tied": ["eat", "sea"], "count": 2, "merges": ["ea", "tea", "team", "sea", "steam"]}
SPACE = {"merge": 6, "token": ["the tea"], "lengths": [2, 1, 2, 2]}
FAIR = {"tokens per word": [1.3, 2.33, 6.29], "longest": "Greek", "times": 1.77}
UNKNOWN = [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 1, 2, 0, 0], [1, 1, 1, 1, 0]]


def cuts(word):
    """List all cuts of a word, one for each set of places between its letters."""
    for marks in product([False, True], repeat=len(word) - 1):
        ends = [i + 1 for i, mark in enumerate(marks) if mark] + [len(word)]
        yield [word[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def products(word, probs):
    """Return the probability of each cut."""
    return [math.prod(probs.get(piece, 0.0) for piece in cut) for cut in cuts(word)]


def total(word, probs):
    """Sum over a list of all cuts, without the recursion."""
    return sum(products(word, probs))


def spoiled(*changes):
    """Change cells of the table of unknowns."""
    table = np.array(UNKNOWN)
    for row, column, value in changes:
        table[row, column] = value
    return table


def encoded(text, merges, tokens):
    """Merge inside the pieces, one merge and one place at a time, and look up places."""
    ids = []
    for piece in re.findall(r" ?[A-Za-z]+|\s", text):
        parts = list(piece)
        for left, right in merges:
            at = 0
            while at + 1 < len(parts):
                if parts[at] == left and parts[at + 1] == right:
                    parts[at : at + 2] = [left + right]
                at += 1
        ids += [tokens.index(part) for part in parts]
    return ids


def across(text, merges, tokens):
    """Merge without the first cut."""
    parts = list(text)
    for left, right in merges:
        at = 0
        while at + 1 < len(parts):
            if parts[at] == left and parts[at + 1] == right:
                parts[at : at + 2] = [left + right]
            at += 1
    return [tokens.index(part) for part in parts]


def longest(text, merges, tokens):
    """Take the longest token from the left."""
    ids = []
    while text:
        best = max((one for one in tokens if text.startswith(one)), key=len)
        ids.append(tokens.index(best))
        text = text.removeprefix(best)
    return ids


PLANTED = {
    "ex-tok-merge": Planted(
        MERGE,
        (
            (but(MERGE, tied=["sea", "eat", "qu"]), "written down once"),
            (but(MERGE, tied=["sea"]), "second pair"),
            (but(MERGE, tied=["se", "at"]), "only seat and quay"),
            (but(MERGE, tied="sea"), "got text 'sea'"),
            (but(MERGE, count=1), "as often as the word"),
            (but(MERGE, count=4), "merged already"),
            (but(MERGE, count=3), "once for each time"),
            (but(MERGE, merges=["ea", "tea", "team", "steam", "sea"]), "before the fourth"),
            (but(MERGE, merges=["ea", "tea", "team", "sea", "seal"]), "left out"),
            (but(MERGE, merges=["ea", "tea", "sea", "team", "steam"]), "tea·m still"),
            (but(MERGE, merges=["te", "ea", "am", "st", "se"]), "after each merge"),
            (but(MERGE, merges=["ea", "tea", "team", "sea"]), "expected a list of 5 merges"),
        ),
        (but(MERGE, tied=("sea", "eat"), count=2.0),),
    ),
    "ex-tok-sum": Planted(
        total,
        (
            (lambda w, p: max(products(w, p)), "best cut alone"),
            (lambda w, p: sum(x > 0 for x in products(w, p)), "counts the cuts"),
            (lambda w, p: math.prod(p.get(c, 0.0) for c in w), "single letters"),
            (lambda w, p: p.get(w, 0.0), "as one piece"),
            (lambda w, p: 0.0, "probability 1"),
            (lambda w, p: total(w, p) / len(products(w, p)), "for each last piece"),
            (lambda w, p: p[w], "stopped with KeyError"),
            (0.02676, "expected a function total(word, probs), got 0.02676"),
        ),
    ),
    "ex-tok-unknown": Planted(
        UNKNOWN,
        (
            (spoiled((3, 4, 1)), "made of bytes"),
            (spoiled((2, 2, 1)), "marks each unknown one"),
            (spoiled((2, 1, 2)), "gives up on the whole word"),
            (spoiled((0, 3, 1), (1, 3, 1)), "accents off"),
            (spoiled((2, 3, 2)), "has both"),
            (spoiled((3, 3, 0)), "spells this sign"),
            (spoiled((1, 0, 0)), "no play has this word"),
            (spoiled((0, 2, 0)), "does the vocabulary lack"),
            (np.array(UNKNOWN).T, "got numbers of shape 5 × 4"),
        ),
        (np.array(UNKNOWN),),
    ),
    "ex-tok-own": Planted(
        encoded,
        (
            (across, "cross from one piece"),
            (lambda text, merges, tokens: [tokens.index(c) for c in text], "no merge was applied"),
            (longest, "longest token from the left"),
            (lambda text, merges, tokens: [0] * len(text), "in their order"),
            (lambda text, merges, tokens: text, "should return something else"),
        ),
    ),
    "ex-tok-space": Planted(
        SPACE,
        (
            (but(SPACE, merge=5), "number 1"),
            (but(SPACE, merge=3), "ends with a space"),
            (but(SPACE, merge=9), "both sides of a space"),
            (but(SPACE, token=["the "]), "stands at the end"),
            (but(SPACE, token=["tea"]), "spaces included"),
            (but(SPACE, lengths=[1, 1, 1, 1]), "most frequent form"),
            (but(SPACE, lengths=[1, 1, 2, 2]), "how often does that come"),
            (but(SPACE, lengths=[4, 4, 4, 4]), "ask book.split"),
        ),
    ),
    "ex-tok-fair": Planted(
        FAIR,
        (
            (but(FAIR, tokens_per_word=[0.769, 0.4286, 0.159]), "words per token"),
            (but(FAIR, tokens_per_word=[13, 21, 44]), "divide by the words"),
            (but(FAIR, tokens_per_word=[1, 1, 1]), "tokens of each sentence"),
            (but(FAIR, longest="German"), "two bytes"),
            (but(FAIR, longest="English"), "not letters"),
            (but(FAIR, times=0.565), "other way round"),
            (but(FAIR, times=3.385), "count bytes"),
            (but(FAIR, times=2), "divide its bytes"),
        ),
        (but(FAIR, tokens_per_word=(1.3, 2.333, 6.286), times=85 / 48),),
    ),
}
