# SPDX-License-Identifier: MIT
"""Scoring of the name study: whole names, and from which chance on a word counts as one.

Names are one word in eighty, so a tagger that ranks words well may never reach a chance of one
half. For every arm the threshold is therefore chosen on the validation plays.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.common.statistics import Array
from pretrain_lab.tasks.character_ner import TAGS, NamePassage
from pretrain_lab.tasks.rule_baselines import bio_spans

THRESHOLDS = tuple(np.linspace(-5, 5, 41).tolist())
"""Log-odds of "name" against "no name" that are tried; 0 = one half."""


class Choice(NamedTuple):
    """A threshold and its F1 on the passages that it was chosen on."""

    threshold: float
    f1: float


def count_names(marked: list[list[int]], passages: Sequence[NamePassage]) -> list[list[int]]:
    """Count for each passage the names found, marked and there; `marked` are places in TAGS."""
    counts = []
    for row, passage in zip(marked, passages, strict=True):
        found, true = set(bio_spans([TAGS[i] for i in row])), set(bio_spans(passage.tags))
        counts.append([len(found & true), len(found), len(true)])
    return counts


def f1(counts: Array) -> Array:
    """Compute F1 from counts of names found, marked and there, (..., 3)."""
    return 2 * counts[..., 0] / np.maximum(counts[..., 1] + counts[..., 2], 1)


def mark(log_probs: Sequence[Array], threshold: float) -> list[list[int]]:
    """Mark words whose log-odds of being (part of) a name are above a threshold.

    `log_probs` are (W, 3) for each passage, in the order of TAGS; so are the places returned.
    """
    marked = []
    for rows in log_probs:
        odds = np.logaddexp(rows[:, 1], rows[:, 2]) - rows[:, 0]
        kind = np.where(rows[:, 2] > rows[:, 1], 2, 1)
        marked.append(np.where(odds > threshold, kind, 0).tolist())
    return marked


def choose_threshold(log_probs: Sequence[Array], passages: Sequence[NamePassage]) -> Choice:
    """Find the threshold with the highest F1; of equal ones that nearest to one half."""
    tried = []
    for threshold in THRESHOLDS:
        counts = np.array(count_names(mark(log_probs, threshold), passages), dtype=float)
        tried.append(Choice(threshold, float(f1(counts.sum(axis=0)))))
    return max(tried, key=lambda choice: (choice.f1, -abs(choice.threshold)))
