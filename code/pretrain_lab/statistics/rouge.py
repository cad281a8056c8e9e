# SPDX-License-Identifier: MIT
"""ROUGE: how much of a reference text a written text shares.

Paper: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries". Left out: stemming, stop
words, several references, and ROUGE-L summed over sentences: a text counts as one sentence.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Rouge(NamedTuple):
    """One kind of overlap, each number between 0 and 1."""

    precision: float  # share of what was written that is in the reference
    recall: float  # share of the reference that was written
    f1: float  # harmonic mean of both; 0 when nothing is shared


def words(text: str) -> list[str]:
    """Cut a text into runs of a-z and digits, in lower case; an accented letter ends a word."""
    return re.findall(r"[a-z0-9]+", text.lower())


def rouge_n(written: str, reference: str, n: int = 1) -> Rouge:
    """Compare n-grams, each counted as often as both texts have it; all 0 when one has none.

    Raises:
        ValueError: n < 1.

    Source: Lin 2004, section 2; the paper defines the recall.
    """
    if n < 1:
        raise ValueError(f"expected n >= 1, got {n}")
    grams = [_grams(words(text), n) for text in (written, reference)]
    shared = (grams[0] & grams[1]).total()
    return _scores(shared, grams[0].total(), grams[1].total())


def rouge_l(written: str, reference: str) -> Rouge:
    """Compare by the longest sequence of words that both texts have in this order, with gaps.

    Source: Lin 2004, section 3.1. differs: F1 weighs precision and recall alike.
    """
    a, b = words(written), words(reference)
    return _scores(common_len(a, b), len(a), len(b))


def _grams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    """Count the runs of n neighbouring words."""
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def common_len(a: Sequence[str], b: Sequence[str]) -> int:
    """Compute the length of the longest common subsequence, row by row of the usual table."""
    row = [0] * (len(b) + 1)
    for word in a:
        above = row  # above[j]: for the words of a so far, and the first j of b
        row = [0]
        for j, other in enumerate(b):
            row.append(above[j] + 1 if word == other else max(above[j + 1], row[j]))
    return row[-1]


def _scores(n_shared: int, n_written: int, n_reference: int) -> Rouge:
    """Turn counts into precision, recall and F1."""
    if not n_shared:
        return Rouge(0.0, 0.0, 0.0)
    return Rouge(
        n_shared / n_written, n_shared / n_reference, 2 * n_shared / (n_written + n_reference)
    )
