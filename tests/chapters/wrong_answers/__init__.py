# SPDX-License-Identifier: MIT
"""Answers planted in the exercises: right ones, and wrong ones with words of the hint due to them.

One module a chapter, named as the module of its checkers. Right answers are computed in another
way than the checker computes them, by hand where that is feasible.
"""

from importlib import import_module
from typing import Any, NamedTuple

from pretrain_book.exercises.grader import MODULES


class Planted(NamedTuple):
    """Answers to one exercise."""

    right: Any
    wrong: tuple[tuple[Any, str], ...]  # an answer, and words that its hint must hold
    also_right: tuple[Any, ...] = ()  # rounded, or of another type


def but(right: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Spoil some parts of a right answer; `_` in a name stands for a blank."""
    spoiled = {name.replace("_", " "): value for name, value in changes.items()}
    assert set(spoiled) <= set(right), f"{set(spoiled)} are no parts of {set(right)}"
    return {**right, **spoiled}


def planted() -> dict[str, Planted]:
    """Collect the answers of all chapters by the labels of the exercises."""
    found: dict[str, Planted] = {}
    for module in MODULES.values():
        found |= import_module(f"wrong_answers.{module}").PLANTED
    return found
