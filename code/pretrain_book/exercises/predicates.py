# SPDX-License-Identifier: MIT
"""Tests of an answer, and the mistakes that come back in chapter after chapter.

A predicate takes the plain value that a kind has read (:mod:`pretrain_book.exercises.answer_types`)
and says whether it is the one meant. A mistake is a predicate with a hint that names what went
wrong.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Predicate = Callable[[Any], bool]

REL = 5e-3
"""Default relative tolerance: an answer rounded to three figures still counts."""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that is known.

    Attributes:
        when: Recognises it.
        hint: Names the mistake, without giving the right answer away.
    """

    when: Predicate
    hint: str


def near(*targets: Any, rel: float = REL, abs_: float = 0.0) -> Predicate:
    """Accept what is close to one of some targets, numbers or arrays.

    Args:
        targets: Numbers, or arrays of the answer's shape; another shape is not close.
        rel: Relative tolerance, of the larger of the two sizes.
        abs_: Absolute tolerance; needed where a target is 0.

    Returns:
        A predicate of a number or an array.
    """

    def is_near(value: Any) -> bool:
        """Compare with each target."""
        return any(_close(value, target, rel, abs_) for target in targets)

    return is_near


def between(low: float, high: float) -> Predicate:
    """Accept numbers from low to high, both included."""
    return lambda value: low <= value <= high


def equals(*targets: Any) -> Predicate:
    """Accept exactly one of some targets: words, tuples of words, counts."""
    return lambda value: any(type(value) is not bool and value == target for target in targets)


def like(*outputs: Any, rel: float = 1e-4, abs_: float = 1e-6) -> Predicate:
    """Accept a function's outputs when they are close to these, case by case.

    Args:
        outputs: What the function meant returns, one value a case.
        rel: Relative tolerance.
        abs_: Absolute tolerance.

    Returns:
        A predicate of the tuple that :class:`pretrain_book.exercises.answer_types.Function` reads.
    """

    def is_like(values: Any) -> bool:
        """Compare all cases."""
        return len(values) == len(outputs) and all(
            _close(value, output, rel, abs_) for value, output in zip(values, outputs, strict=True)
        )

    return is_like


def acts_like(
    function: Callable[..., Any], cases: tuple[tuple[Any, ...], ...], rel: float = 1e-4
) -> Predicate:
    """Accept a function's outputs when this function returns the same on the cases."""
    return like(*(function(*case) for case in cases), rel=rel)


def both(first: Predicate, second: Predicate) -> Predicate:
    """Accept what both accept."""
    return lambda value: first(value) and second(value)


def at(index: int, predicate: Predicate) -> Predicate:
    """Judge one element of a list."""
    return lambda values: predicate(values[index])


def off_by_factor(right: Any, factor: float, hint: str, rel: float = REL) -> Mistake:
    """Recognise the right number times a known factor."""
    return Mistake(near(np.multiply(right, factor), rel=rel), hint)


def percent_for_share(right: float, rel: float = REL) -> Mistake:
    """Recognise a percentage where a share between 0 and 1 is asked for."""
    return off_by_factor(right, 100, "that is a percentage; a share lies between 0 and 1.", rel)


def share_for_percent(right: float, rel: float = REL) -> Mistake:
    """Recognise a share where a percentage is asked for."""
    return off_by_factor(right, 0.01, "that is a share; multiply it by 100 for percent.", rel)


def nats_for_bits(right: Any, rel: float = REL) -> Mistake:
    """Recognise nats where bits are asked for."""
    hint = "that is in nats, from the natural logarithm. Bits take the logarithm to base 2."
    return off_by_factor(right, math.log(2), hint, rel)


def wrong_sign(right: Any, hint: str, rel: float = REL) -> Mistake:
    """Recognise the right number with the other sign."""
    return off_by_factor(right, -1, hint, rel)


def off_by_one(right: float, hint: str) -> Mistake:
    """Recognise a count that is one too large or one too small."""
    return Mistake(equals(right - 1, right + 1), hint)


def _close(value: Any, target: Any, rel: float, abs_: float) -> bool:
    """Compare two numbers, or two arrays of one shape, element by element."""
    if isinstance(target, str) or isinstance(value, str):
        return bool(value == target)
    value, target = np.asarray(value, dtype=float), np.asarray(target, dtype=float)
    if value.shape != target.shape:
        return False
    return bool(np.all(np.abs(value - target) <= rel * np.maximum(abs(value), abs(target)) + abs_))
