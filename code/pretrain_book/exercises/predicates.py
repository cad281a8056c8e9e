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


@dataclass(frozen=True, eq=False)
class Near:
    """Accepts what is close to one of some targets.

    Attributes:
        targets: Numbers, or arrays of the answer's shape; another shape is not close.
        rel: Relative tolerance, of the larger of the two sizes.
        abs_: Absolute tolerance; needed where a target is 0.
    """

    targets: tuple[Any, ...]
    rel: float = REL
    abs_: float = 0.0

    def __call__(self, value: Any) -> bool:
        """Compare a number or an array with each target."""
        return any(_close(value, target, self.rel, self.abs_) for target in self.targets)


@dataclass(frozen=True, eq=False)
class Equal:
    """Accepts exactly one of some targets: words, tuples of words, counts."""

    targets: tuple[Any, ...]

    def __call__(self, value: Any) -> bool:
        """Compare with each target; True and False are no counts."""
        return any(type(value) is not bool and value == target for target in self.targets)


@dataclass(frozen=True, eq=False)
class At:
    """Judges one element of a list."""

    index: int
    predicate: Predicate

    def __call__(self, values: Any) -> bool:
        """Judge the element."""
        return self.predicate(values[self.index])


def near(*targets: Any, rel: float = REL, abs_: float = 0.0) -> Near:
    """Accept what is close to one of some targets, numbers or arrays; see `Near`."""
    return Near(targets, rel, abs_)


def between(low: float, high: float) -> Predicate:
    """Accept numbers from low to high, both included."""
    return lambda value: low <= value <= high


def equals(*targets: Any) -> Equal:
    """Accept exactly one of some targets; see `Equal`."""
    return Equal(targets)


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


def either(first: Predicate, second: Predicate) -> Predicate:
    """Accept what one of two accepts."""
    return lambda value: first(value) or second(value)


def at(index: int, predicate: Predicate) -> At:
    """Judge one element of a list; see `At`."""
    return At(index, predicate)


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


CLOSE = 0.05
"""Relative distance within which a wrong number may be the right one, rounded too early."""
_UNITS: dict[str, dict[str, float]] = {
    "GB": {"megabytes": 1e3, "bytes": 1e9, "gibibytes, of 2³⁰ bytes": 1e9 / 2**30},
    "MWh": {"kilowatt-hours": 1e3},
    "t": {"kilograms": 1e3},
    "hours": {"minutes": 60, "seconds": 3600, "days": 1 / 24},
    "days": {"hours": 24},
    "bits": {"nats": math.log(2)},
    "nats": {"bits": 1 / math.log(2)},
    "share": {"per cent": 100},
    "probability": {"per cent": 100},
    "%": {"a share between 0 and 1": 0.01},
}
"""First word of the unit that is asked for → others, and the factor from the one to the other."""


def slips(right: Predicate, unit: str) -> tuple[Mistake, ...]:
    """List what may happen to any number: another unit, or too few digits.

    Args:
        right: Accepts the right numbers; only of `Near` is it known which these are.
        unit: What is asked for, such as ``"bits per token"``.

    Returns:
        Mistakes that name the unit, or ask for more digits.
    """
    if not isinstance(right, Near):
        return ()
    found = [
        Mistake(
            Near(
                tuple(np.multiply(target, factor) for target in right.targets), max(right.rel, REL)
            ),
            f"that looks like {name}; the question asks for {unit}.",
        )
        for name, factor in _UNITS.get(unit.split(" ")[0], {}).items()
    ]
    is_whole = all(np.equal(np.mod(target, 1), 0).all() for target in right.targets)
    if right.rel < CLOSE and not is_whole:  # whole numbers are counted, not rounded
        hint = "close. If the method is right, the answer needs more digits."
        found.append(Mistake(Near(right.targets, CLOSE, right.abs_), hint))
    return tuple(found)


def _close(value: Any, target: Any, rel: float, abs_: float) -> bool:
    """Compare two numbers, or two arrays of one shape, element by element."""
    if isinstance(target, str) or isinstance(value, str):
        return bool(value == target)
    value, target = np.asarray(value, dtype=float), np.asarray(target, dtype=float)
    if value.shape != target.shape:
        return False
    return bool(np.all(np.abs(value - target) <= rel * np.maximum(abs(value), abs(target)) + abs_))
