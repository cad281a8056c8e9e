# SPDX-License-Identifier: MIT
"""One exercise's checker, and the verdict on an answer to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pretrain.checkers.kinds import Kind
from pretrain.checkers.plain_values import WrongKindError, described
from pretrain.checkers.predicates import Mistake, Predicate

Purpose = Literal["warm-up", "derivation", "experiment", "extension"]
OPEN = "Put your answer in place of the three dots."
WHOLE = ""
"""Name of the one part of an exercise that asks one thing."""


@dataclass(frozen=True)
class Part:
    """One thing that is asked for.

    Attributes:
        wanted: Its kind and unit.
        right: Accepts the right answers.
        mistakes: Known wrong answers, the more special ones first.
        otherwise: Hint for any other wrong answer; it does not give the answer away.
    """

    wanted: Kind
    right: Predicate
    mistakes: tuple[Mistake, ...]
    otherwise: str

    def complaint(self, answer: object) -> str:
        """Say what is wrong with an answer.

        Args:
            answer: Anything.

        Returns:
            A hint; empty = it is right.
        """
        try:
            value: Any = self.wanted.read(answer)
        except WrongKindError as error:
            return f"{error}."
        if self.right(value):
            return ""
        return next((m.hint for m in self.mistakes if m.when(value)), self.otherwise)


@dataclass(frozen=True)
class Checker:
    """What is right and what goes wrong in one exercise.

    Attributes:
        exercise: Its label, such as ``"ex-gpt-topp"``.
        purpose: What the exercise is for.
        parts: What is asked for, by name; an exercise that asks one thing has one part, WHOLE.
        follows: One sentence on what follows from the right answer.
    """

    exercise: str
    purpose: Purpose
    parts: Mapping[str, Part]
    follows: str

    def verdict(self, answer: object) -> str:
        """Judge an answer.

        Args:
            answer: Anything; for several parts a dict by their names. Three dots are an answer
                that is not given yet.

        Returns:
            The line that :func:`pretrain.check.check` prints.
        """
        if answer is ...:
            return OPEN
        if WHOLE in self.parts:
            hint = self.parts[WHOLE].complaint(answer)
            return f"Not yet: {hint}" if hint else f"Right. {self.follows}"
        if not isinstance(answer, Mapping) or set(answer) != set(self.parts):
            return f"Not yet: {self._expected_parts(answer)}"
        return self._verdict_on_parts(answer)

    def _verdict_on_parts(self, answers: Mapping[str, object]) -> str:
        """Judge part by part; the first mistake is named, open parts are asked for last."""
        given = [name for name in self.parts if answers[name] is not ...]
        for name in given:
            if hint := self.parts[name].complaint(answers[name]):
                return f"Not yet: ({name}) {hint}"
        missing = [f"({name})" for name in self.parts if name not in given]
        if not missing:
            return f"Right. {self.follows}"
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


def one(
    exercise: str,
    purpose: Purpose,
    wanted: Kind,
    right: Predicate,
    *mistakes: Mistake,
    otherwise: str,
    follows: str,
) -> Checker:
    """Make the checker of an exercise that asks one thing; the arguments are its fields."""
    part = Part(wanted, right, mistakes, otherwise)
    return Checker(exercise, purpose, {WHOLE: part}, follows)
