# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 3."""

import math
from itertools import product

import numpy as np

from wrong_answers import Planted, but

MERGE = {"tied": ["eat", "sea"], "count": 2, "merges": ["ea", "tea", "team", "sea", "steam"]}
BLANK = {"blank": 291, "blank and case": 719}
FAIR = {"English by tokens": 78, "first by bytes": "Chinese", "last by bytes": "Hindi"}
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
    "ex-tok-blank": Planted(
        BLANK,
        (
            (but(BLANK, blank=582), "both of each pair"),
            (but(BLANK, blank=2_586), "different strings"),
            (but(BLANK, blank=2_877), "all tokens of letters"),
            (but(BLANK, blank=300), "drop the blank, and compare"),
            (but(BLANK, blank_and_case=428), "what capitals add"),
            (but(BLANK, blank_and_case=2_158), "different strings"),
            (but(BLANK, blank_and_case=291), "add some more"),
            (but(BLANK, blank_and_case=700), "drop the blank first"),
        ),
    ),
    "ex-tok-fair": Planted(
        FAIR,
        (
            (but(FAIR, English_by_tokens=79), "round down"),
            (but(FAIR, English_by_tokens=21), "by bytes"),
            (but(FAIR, English_by_tokens=13), "one sentence"),
            (but(FAIR, English_by_tokens=1_024), "divide the window"),
            (but(FAIR, English_by_tokens=78.8), "expected one whole number (sentences), got 78.8"),
            (but(FAIR, first_by_bytes="English"), "say much"),
            (but(FAIR, first_by_bytes="Hindi"), "three bytes each"),
            (but(FAIR, first_by_bytes="Turkish"), "count bytes"),
            (but(FAIR, last_by_bytes="Chinese"), "how many characters"),
            (but(FAIR, last_by_bytes="Greek"), "two bytes a letter"),
            (but(FAIR, last_by_bytes="German"), "most bytes"),
        ),
    ),
}
