# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 1, computed."""

import json
import math
from fractions import Fraction
from typing import Any

import torch

from pretrain.objectives import causal_targets
from pretrain.paths import data_file


def _record(name: str) -> dict[str, Any]:
    """Read a recorded study."""
    found: dict[str, Any] = json.loads(data_file("runs", f"{name}.json").read_text())
    return found


def quiz_rev_causal() -> str:
    """Count the targets that the causal objective makes of 12 tokens."""
    _, targets = causal_targets(torch.arange(12))
    return f"{len(targets)} tokens"


def quiz_rev_sum() -> str:
    """Add the surprises of three probabilities, in bits."""
    total = sum(-math.log2(prob) for prob in (1 / 2, 1 / 8, 1 / 8))
    return f"{total:g} bits."


def quiz_rev_interval() -> str:
    """Read the recorded interval of the gain on verdicts: its sign, and its upper end."""
    found = _record("label_study")["differences"]["mlm - scratch"]["2048"]
    low, high = 100 * found["low"], 100 * found["high"]
    said = {
        "worse": high < 0,
        "a large one is excluded": low < 0 < high < 3,  # MiniLM gains over ten on the same labels
        "0 lies inside": low < 0 < high and high >= 3,
    }
    return next(words for words, holds in said.items() if holds)


def quiz_rev_best() -> str:
    """Find the highest recorded F1 of names, over all methods and numbers of labels."""
    study = _record("name_study")
    said = {
        "mlm": "pre-trained with masks",
        "features": "logistic regression",
        "scratch": "from scratch",
    }
    best = {
        words: max(found["mean"] for found in study["arms"][name]["f1"].values())
        for name, words in said.items()
    }
    best["The rule without labels"] = study["rules"]["unseen"]["mean"]
    return max(best, key=best.__getitem__)


def quiz_rev_tasks() -> str:
    """Divide the price of a pre-training by what the labels of one task save."""
    price, n_labels, dollars, k = 2000, 500, Fraction(1, 5), 5
    saved = (k - 1) * n_labels * dollars
    tasks = Fraction(price) / saved
    return f"After {tasks} tasks" if saved > 0 else "Never."


def quiz_rev_passes() -> str:
    """Divide the tokens drawn from a corpus by its size, in billions."""
    drawn = Fraction(20, 100) * 300
    return f"{drawn / 10} times."
