# SPDX-License-Identifier: MIT
"""One exercise's checker, and the verdict on an answer to it.

The checkers of the exercises `ex-gpt-…` of chapter 4 are in the module `ch04`. Each module
defines CHECKERS, a dict from the label of an exercise to a function that makes its checker. The
values that a checker compares with are computed then, not on import.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any, Literal

from pretrain_book.exercises.answer_types import (
    AnswerType,
    AnswerTypeError,
    Number,
    Numbers,
    described,
)
from pretrain_book.exercises.predicates import At, Equal, Mistake, Near, Predicate, slips

Purpose = Literal["warm-up", "derivation", "experiment", "extension"]
OPEN = "Put your answer in place of the three dots."
SINGLE = ""
"""Name of the one part of an exercise that asks one thing."""


@dataclass(frozen=True)
class Part:
    """One thing that is asked for.

    Attributes:
        wanted: Its kind and unit.
        right: Accepts the right answers.
        mistakes: Known wrong answers, the more special ones first.
        default_hint: Hint for any other wrong answer; it does not give the answer away.
    """

    wanted: AnswerType
    right: Predicate
    mistakes: tuple[Mistake, ...]
    default_hint: str

    def feedback(self, answer: object) -> str:
        """Say what is wrong with an answer.

        Args:
            answer: Anything.

        Returns:
            A hint; empty = it is right.
        """
        try:
            value: Any = self.wanted.read(answer)
        except AnswerTypeError as error:
            return f"{error}."
        if self.right(value):
            return ""
        return next((m.hint for m in self.all_mistakes if m.when(value)), self.default_hint)

    @property
    def all_mistakes(self) -> tuple[Mistake, ...]:
        """The known ones in their order, and after the last exact one what befalls any number.

        A mistake that is one number is told from a rounded answer by itself; a range that is
        listed after it would claim the rounded answer.
        """
        is_counted = isinstance(self.wanted, Number) and self.wanted.whole
        if is_counted or not isinstance(self.wanted, Number | Numbers):
            return self.mistakes
        exact = [
            n for n, one in enumerate(self.mistakes, 1) if isinstance(one.when, Near | Equal | At)
        ]
        n_first = max(exact, default=0)
        common = slips(self.right, self.wanted.unit)
        return (*self.mistakes[:n_first], *common, *self.mistakes[n_first:])


@dataclass(frozen=True)
class Checker:
    """What is right and what goes wrong in one exercise.

    Attributes:
        exercise: Its label, such as ``"ex-gpt-topp"``.
        purpose: What the exercise is for.
        parts: What is asked for, by name; an exercise that asks one thing has one part, SINGLE.
        explanation: One sentence on what follows from the right answer.
    """

    exercise: str
    purpose: Purpose
    parts: Mapping[str, Part]
    explanation: str

    def grade(self, answer: object) -> str:
        """Judge an answer.

        Args:
            answer: Anything; for several parts a dict by their names. Three dots are an answer
                that is not given yet.

        Returns:
            The line that :func:`pretrain_book.exercises.check` prints.
        """
        if answer is ...:
            return OPEN
        if SINGLE in self.parts:
            hint = self.parts[SINGLE].feedback(answer)
            return f"Not yet: {hint}" if hint else f"Right. {self.explanation}"
        if not isinstance(answer, Mapping) or set(answer) != set(self.parts):
            return f"Not yet: {self._expected_parts(answer)}"
        return self._grade_parts(answer)

    def _grade_parts(self, answers: Mapping[str, object]) -> str:
        """Judge part by part; the first mistake is named, the places of others too."""
        given = [name for name in self.parts if answers[name] is not ...]
        hints = {name: self.parts[name].feedback(answers[name]) for name in given}
        wrong = [name for name in given if hints[name]]
        if wrong:
            first, *others = wrong
            also = (
                f" Not right yet either: {', '.join(f'({n})' for n in others)}." if others else ""
            )
            return f"Not yet: ({first}) {hints[first]}{also}"
        missing = [f"({name})" for name in self.parts if name not in given]
        if not missing:
            return f"Right. {self.explanation}"
        if not given:
            return OPEN
        so_far = ", ".join(f"({name})" for name in given)
        return f"So far right: {so_far}. {OPEN[:-1]} of {', '.join(missing)}."

    def _expected_parts(self, answer: object) -> str:
        """Say which parts a dict must have."""
        shape = ", ".join(f'"{name}": …' for name in self.parts)
        got = described(answer)
        if isinstance(answer, Mapping):
            got = "one with " + (", ".join(map(str, answer)) or "nothing in it")
        return f"expected a dict {{{shape}}}, got {got}."


def single_answer(
    exercise: str,
    purpose: Purpose,
    wanted: AnswerType,
    right: Predicate,
    *mistakes: Mistake,
    default_hint: str,
    explanation: str,
) -> Checker:
    """Make the checker of an exercise that asks one thing; the arguments are its fields."""
    part = Part(wanted, right, mistakes, default_hint)
    return Checker(exercise, purpose, {SINGLE: part}, explanation)


MODULES = {
    "rev": "ch01",
    "trf": "ch02",
    "tok": "ch03",
    "gpt": "ch04",
    "brt": "ch05",
    "t5": "ch06",
    "wld": "ch07",
    "adv": "ch08",
    "ftn": "ch09",
    "lab": "ch10",
    "icl": "ch11",
    "cho": "ch12",
    "scl": "ch13",
    "eff": "ch14",
    "own": "ch15",
}
"""Short name in the labels of a chapter → its module in pretrain_book.exercises."""


@cache
def find_checker(exercise: str) -> Checker:
    """Find the checker of an exercise, and make it on first use.

    Args:
        exercise: Label of the exercise, such as ``"ex-gpt-topp"``.

    Returns:
        Its checker.

    Raises:
        ValueError: No exercise has this label; the message names those with a similar one.
    """
    makers = _makers(_short_name(exercise))
    if exercise not in makers:
        close = get_close_matches(exercise, labels(), n=3, cutoff=0.5) or labels()[:3]
        raise ValueError(f"no exercise {exercise!r}; did you mean {' or '.join(close)}?")
    return makers[exercise]()


def labels(chapter: str | None = None) -> list[str]:
    """List the exercises that have a checker.

    Args:
        chapter: Short name of a chapter, a key of MODULES; None = all chapters.

    Returns:
        Labels, in the order of the book.
    """
    return [label for name in ([chapter] if chapter else MODULES) for label in _makers(name)]


def _makers(name: str) -> Mapping[str, Callable[[], Checker]]:
    """Load one chapter's table of checkers; a name that is none has an empty one."""
    if name not in MODULES:
        return {}
    table: Mapping[str, Callable[[], Checker]] = import_module(
        f"pretrain_book.exercises.{MODULES[name]}"
    ).CHECKERS
    return table


def _short_name(exercise: str) -> str:
    """Take the chapter's name out of a label: ex-gpt-topp → gpt."""
    return exercise.split("-")[1] if exercise.count("-") >= 2 else ""
