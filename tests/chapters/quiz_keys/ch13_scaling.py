# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 13, computed."""

import json
import math
from typing import Any

from pretrain.paths import data_file

KAPLAN_SIZE = -0.076
"""Kaplan et al. 2020 (arXiv:2001.08361), equation (1.1)."""


def _study() -> dict[str, Any]:
    """Read the record of the study of scaling."""
    found: dict[str, Any] = json.loads(data_file("runs", "scaling.json").read_text())
    return found


def quiz_scl_double() -> str:
    """Raise 2 to the power of the exponent and say by how much the loss falls."""
    fall = round(100 * (1 - 2**KAPLAN_SIZE))
    return f"lowers the loss by about {fall} %"


def quiz_scl_hundred() -> str:
    """Divide a hundred times the compute by equal powers; the product is the budget."""
    size = round(math.sqrt(100))
    words = {1: "No", 10: "Ten", 100: "A hundred"}
    return f"{words[size]} times the parameters and {words[100 // size]} times the text"


def quiz_scl_head() -> str:
    """Find the width whose exact count is furthest from 6ND."""
    over = {cell["width"]: cell["flops"] / cell["flops_6nd"] for cell in _study()["cells"]}
    furthest = max(over, key=over.__getitem__)
    return {min(over): "For the narrowest", max(over): "For the widest"}[furthest]


def quiz_scl_checkpoint() -> str:
    """Compare every checkpoint with the runs that ended at the same text."""
    cells = [c for c in _study()["schedule"]["cells"].values() if c["ended"] != c["on_the_way"]]
    worse = [sum(c["on_the_way"]) > sum(c["ended"]) for c in cells]
    if all(worse):
        return "Every checkpoint was worse"
    return "The checkpoints were better" if not any(worse) else "They were the same on average"


def quiz_scl_ruler() -> str:
    """Multiply ten chances of 90 %."""
    whole = math.prod([0.9] * 10)
    return f"In {100 * whole:.0f} % of the cases"
