# SPDX-License-Identifier: MIT
"""Answers as plain values, and words for what an answer is.

Readers hand over Python numbers, lists, arrays and tensors. Here they become one thing, without
an import of the libraries that they come from.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_SHOWN = 60
"""Longest piece of an answer that a message repeats, in characters."""


class WrongKindError(Exception):
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
        raise WrongKindError(f"expected {asks_for}, got {described(answer)}")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        what = "rows of different lengths" if isinstance(value, list) else described(answer)
        raise WrongKindError(f"expected {asks_for}, got {what}") from None
    if not np.isfinite(array).all():
        kind = "NaN" if np.isnan(array).any() else "infinity"
        where = "" if array.size == 1 else " among the numbers"
        raise WrongKindError(f"expected {asks_for}, got {kind}{where}")
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
