# SPDX-License-Identifier: MIT
"""What an exercise may ask for: a number, numbers, one of some words, words, a function.

A kind *reads* an answer into a plain value that predicates can judge without fear. An answer of
another kind raises AnswerTypeError, whose message says what was expected and what came.
Left out: answers in free text, which no program can judge.

Answers as plain values, and words for what an answer is.

Readers hand over Python numbers, lists, arrays and tensors. Here they become one thing, without
an import of the libraries that they come from.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

MAX_SHOWN = 60
"""Longest piece of an answer that a message repeats, in characters."""


class AnswerTypeError(Exception):
    """An answer is not of the kind that the exercise asks for; the message is for the reader."""


def plain(answer: object) -> Any:
    """Turn arrays and tensors, also inside lists and dicts, into Python's own numbers and lists."""
    to_list = getattr(answer, "tolist", None)
    if callable(to_list) and not isinstance(answer, type):
        try:
            return to_list()
        except Exception:  # such as a tensor without data; it will be refused as no number
            return answer
    if isinstance(answer, list | tuple):
        return [plain(item) for item in answer]
    if isinstance(answer, Mapping):
        return {key: plain(value) for key, value in answer.items()}
    return answer


def described(answer: object) -> str:
    """Say in a few words what an answer is.

    Args:
        answer: Anything.

    Returns:
        Such as ``text 'abc'``, ``a list of 3``, ``nothing (None)`` or ``a function``.
    """
    if answer is None:
        return "nothing (None)"
    if isinstance(answer, str):
        return cut(f"text {answer!r}")
    if isinstance(answer, bool | int | float | complex):
        return cut(f"{answer!r}") if _prints(answer) else "a number too large to print"
    shape = getattr(answer, "shape", None)
    if shape is not None and not isinstance(answer, type):
        return shape_in_words(tuple(shape))
    if isinstance(answer, list | tuple | dict | set):
        return f"a {type(answer).__name__} of {len(answer)}"
    if callable(answer):
        return "a function (call it and hand over what it returns)"
    return f"something of type {type(answer).__name__}"


def as_array(answer: object, asks_for: str) -> NDArray[np.float64]:
    """Turn an answer into finite numbers, or say why it is none."""
    value = plain(answer)
    if not _only_numbers(value):
        raise AnswerTypeError(f"expected {asks_for}, got {described(answer)}")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        what = "rows of different lengths" if isinstance(value, list) else described(answer)
        raise AnswerTypeError(f"expected {asks_for}, got {what}") from None
    if not np.isfinite(array).all():
        kind = "NaN" if np.isnan(array).any() else "infinity"
        where = "" if array.size == 1 else " among the numbers"
        raise AnswerTypeError(f"expected {asks_for}, got {kind}{where}")
    return array


def _only_numbers(value: object) -> bool:
    """Tell whether a plain value holds nothing but real numbers, at any depth."""
    if isinstance(value, list):
        return all(_only_numbers(item) for item in value)
    return isinstance(value, bool | int | float)


def shape_in_words(shape: tuple[int | None, ...]) -> str:
    """Say how many numbers an array holds: one, a list of so many, or a table."""
    if shape == ():
        return "one number"
    if len(shape) == 1:
        return "a list of numbers" if shape[0] is None else f"a list of {shape[0]} numbers"
    return "numbers of shape " + " × ".join("any" if n is None else str(n) for n in shape)


def shown(value: object) -> str:
    """Show one argument of a call on one line."""
    return cut(repr(plain(value)) if _prints(value) else type(value).__name__)


def _prints(value: object) -> bool:
    """Tell whether a value has a repr: Python refuses to print huge integers."""
    try:
        return bool(repr(value))
    except Exception:  # a reader's own class may do anything here
        return False


def cut(text: str) -> str:
    """Keep the first characters of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN - 1]}…"


class AnswerType(Protocol):
    """What is asked for, and how an answer of that kind becomes a plain value."""

    def read(self, answer: object) -> Any:
        """Return the plain value of an answer, or raise AnswerTypeError."""

    @property
    def asks_for(self) -> str:
        """Say in a few words what is expected, as in "one number (bits)"."""


@dataclass(frozen=True)
class Number:
    """One finite number: Python, NumPy or a tensor of one element.

    Attributes:
        unit: What the number counts or measures, shown in messages.
        whole: True = a count, so that 3.5 is of the wrong kind.
    """

    unit: str = ""
    whole: bool = False

    @property
    def asks_for(self) -> str:
        """Name the number and its unit."""
        name = "one whole number" if self.whole else "one number"
        return f"{name} ({self.unit})" if self.unit else name

    def read(self, answer: object) -> float:
        """Return the number as a float.

        Args:
            answer: Whatever the reader handed over.

        Returns:
            A finite float.

        Raises:
            AnswerTypeError: Text, a truth value, several numbers, NaN, infinity, or a fraction
                where a count is asked for.
        """
        array = as_array(answer, self.asks_for)
        if array.size != 1 or isinstance(plain(answer), bool):
            raise AnswerTypeError(f"expected {self.asks_for}, got {described(answer)}")
        value = float(array.reshape(()))
        if self.whole and value != round(value):
            raise AnswerTypeError(f"expected {self.asks_for}, got {value:g}")
        return value


@dataclass(frozen=True)
class Numbers:
    """Finite numbers of one shape: lists, tuples, arrays or tensors.

    Attributes:
        shape: Length of each axis; None = any length.
        unit: What the numbers are, shown in messages.
    """

    shape: tuple[int | None, ...]
    unit: str = ""

    @property
    def asks_for(self) -> str:
        """Name the shape and the unit."""
        what = shape_in_words(self.shape)
        return f"{what} ({self.unit})" if self.unit else what

    def read(self, answer: object) -> NDArray[np.float64]:
        """Return the numbers as an array.

        Args:
            answer: Whatever the reader handed over; True and False count as 1 and 0.

        Returns:
            float64 array of the shape.

        Raises:
            AnswerTypeError: Not numbers, not finite, or of another shape.
        """
        array = as_array(answer, self.asks_for)
        fits = len(array.shape) == len(self.shape) and all(
            wanted in (None, got) for wanted, got in zip(self.shape, array.shape, strict=True)
        )
        if not fits:
            raise AnswerTypeError(f"expected {self.asks_for}, got {shape_in_words(array.shape)}")
        return array


@dataclass(frozen=True)
class Choice:
    """One of some words; blanks around it and capitals do not count.

    Attributes:
        options: The words, as they are written in the exercise.
    """

    options: tuple[str, ...]

    @property
    def asks_for(self) -> str:
        """List the options."""
        return "one of " + ", ".join(repr(option) for option in self.options)

    def read(self, answer: object) -> str:
        """Return the option that an answer names.

        Args:
            answer: Whatever the reader handed over.

        Returns:
            The option, spelled as in ``options``.

        Raises:
            AnswerTypeError: Not text, or none of the options.
        """
        if isinstance(answer, str):
            for option in self.options:
                if answer.strip().casefold() == option.casefold():
                    return option
        raise AnswerTypeError(f"expected {self.asks_for}, got {described(answer)}")


@dataclass(frozen=True)
class Words:
    """A list of strings, in order.

    Attributes:
        count: How many; None = any number of them, at least one.
        what: What they are, shown in messages.
    """

    count: int | None = None
    what: str = "strings"

    @property
    def asks_for(self) -> str:
        """Name the number of strings and what they are."""
        number = "" if self.count is None else f"{self.count} "
        return f"a list of {number}{self.what}"

    def read(self, answer: object) -> tuple[str, ...]:
        """Return the strings.

        Args:
            answer: Whatever the reader handed over.

        Returns:
            The strings as a tuple.

        Raises:
            AnswerTypeError: A single string, no strings, or another number of them.
        """
        if not isinstance(answer, list | tuple) or not all(isinstance(x, str) for x in answer):
            _refuse_pieces(answer, self.asks_for)
            raise AnswerTypeError(f"expected {self.asks_for}, got {described(answer)}")
        if not answer or self.count not in (None, len(answer)):
            raise AnswerTypeError(f"expected {self.asks_for}, got {len(answer)}")
        return tuple(answer)


def _refuse_pieces(answer: object, asks_for: str) -> None:
    """Say how to write strings that came in pieces, as in ("s", "ea") for "sea"."""
    items = answer if isinstance(answer, list | tuple) else ()
    for item in items:
        if isinstance(item, list | tuple) and item and all(isinstance(x, str) for x in item):
            whole = shown("".join(item))
            raise AnswerTypeError(f"expected {asks_for}, got {shown(item)}: write {whole} instead")


@dataclass(frozen=True)
class Function:
    """A function of the reader's, judged by what it returns on cases that are not shown before.

    Attributes:
        signature: How it is called, such as ``"lengths(n_tokens)"``.
        cases: Arguments of each call. The function gets copies, for it may change them.
        returns: Kind of each returned value; its shape may depend on the case, hence one for all
            or one a case.
    """

    signature: str
    cases: tuple[tuple[Any, ...], ...]
    returns: AnswerType | tuple[AnswerType, ...]

    @property
    def asks_for(self) -> str:
        """Name the signature."""
        return f"a function {self.signature}"

    def read(self, answer: object) -> tuple[Any, ...]:
        """Call the function on every case.

        Args:
            answer: Whatever the reader handed over.

        Returns:
            What it returned, one plain value a case.

        Raises:
            AnswerTypeError: Nothing that can be called; it stopped with an error; or it returned
                something of the wrong kind.
        """
        if not callable(answer):
            raise AnswerTypeError(f"expected {self.asks_for}, got {described(answer)}")
        returns = self.returns
        kinds = returns if isinstance(returns, tuple) else (returns,) * len(self.cases)
        return tuple(
            self._one(answer, case, kind) for case, kind in zip(self.cases, kinds, strict=True)
        )

    def _one(self, function: Callable[..., object], case: tuple[Any, ...], kind: AnswerType) -> Any:
        """Call the function once, and turn whatever goes wrong into a message."""
        call = f"{self.signature.split('(')[0]}({', '.join(shown(a) for a in case)})"
        try:
            returned = function(*deepcopy(case))
        except Exception as error:  # the reader's own code: any error may come
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise AnswerTypeError(f"{call} stopped with {cut(what)}") from None
        try:
            return kind.read(returned)
        except AnswerTypeError as error:
            raise AnswerTypeError(f"{call} should return something else: {error}") from None
