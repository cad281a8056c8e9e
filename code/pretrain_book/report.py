# SPDX-License-Identifier: MIT
"""Report a number once: printed in its cell, and the same characters in the page's prose.

Implements the two functions with which every number of a chapter reaches the reader. The printed
line is what a run shows; the glued string is what ``{glue:text}`key` `` puts into the prose of the
book. Both are made from one string, so they cannot disagree. Two more hold a live run to the band
that the page stands for, and tell a reader how their own run compares with it.

Leaves out: gluing figures or tables. Figures are numbered where they are drawn, and glued bytes
would be compared on every run.
"""

import importlib.util
import math
import re
import sys
from typing import Any, SupportsFloat

from pretrain_lab.progress import is_interactive, running_shell

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_reported: dict[str, tuple[str, int]] = {}  # key -> (string, execution count of its cell)


def report(key: str, value: SupportsFloat | str, fmt: str = ".2f", unit: str = "") -> None:
    """Print ``key: value unit`` and glue the same ``value unit`` for the page.

    Prose reads it as ``{glue:text}`key` ``, on other pages as ``{glue:text}`NN_slug.ipynb::key` ``.

    Args:
        key: A letter, then letters, digits, ``_`` or ``-``; unique in a chapter.
        value: A finite number (Python, NumPy or a tensor of one element), or text taken as it is.
        fmt: Format specification of the number, such as ``".2f"``, ``","`` or ``".1%"``.
        unit: Unit that follows the number after a space, such as ``"nats per token"`` or ``"%"``.

    Raises:
        ValueError: The key is malformed or already stands for another string; the value is not
            finite or does not fit ``fmt``.
    """
    _publish(key, _with_unit(_formatted(key, value, fmt), unit))


def report_interval(
    key: str,
    estimate: SupportsFloat,
    low: SupportsFloat,
    high: SupportsFloat,
    fmt: str = ".2f",
    unit: str = "",
) -> None:
    """Print and glue an estimate with its interval, as in ``1.44 [1.41, 1.47] bits``.

    Args:
        key: Name of the number, as for :func:`report`.
        estimate: The point estimate.
        low: Lower end of the interval, at most the estimate.
        high: Upper end of the interval, at least the estimate.
        fmt: Format specification of all three numbers.
        unit: Unit that follows the interval.

    Raises:
        ValueError: As for :func:`report`, or the three numbers are not in ascending order.
    """
    middle, bottom, top = (_formatted(key, number, fmt) for number in (estimate, low, high))
    if not float(low) <= float(estimate) <= float(high):
        raise ValueError(
            f"report_interval({key!r}) expects low <= estimate <= high, "
            f"got low {bottom}, estimate {middle}, high {top}"
        )
    _publish(key, _with_unit(f"{middle} [{bottom}, {top}]", unit))


def hold_to_band(what: str, value: SupportsFloat, low: float, high: float) -> None:
    """Refuse a number of a live run that lies outside the band that the page stands for.

    Proof cells call it; in the reader's notebook :func:`compare_with_page` takes its place.

    Args:
        what: What the number is, in a reader's words, such as ``"loss at the end (nats)"``.
        value: The run's number (Python, NumPy or a tensor of one element).
        low: Lower end of the band.
        high: Upper end of the band.

    Raises:
        ValueError: The number lies outside, or is none.
    """
    if not low <= float(value) <= high:
        raise ValueError(f"{what} expected in {low:g} to {high:g}, got {float(value):.4g}")


def compare_with_page(what: str, value: SupportsFloat, low: float, high: float) -> None:
    """Print how a number of the reader's run compares with the band of the page's.

    The arguments are those of :func:`hold_to_band`; nothing is refused.
    """
    band = f"this page's band, {low:g} to {high:g}"
    if low <= float(value) <= high:
        print(f"{what}: {float(value):.3g}, inside {band}")
    else:
        print(f"{what}: {float(value):.3g}, outside {band}, as expected when you change something")


def _formatted(key: str, value: SupportsFloat | str, fmt: str) -> str:
    """Format one value; a number must be finite, and text passes through unchanged."""
    if isinstance(value, str):
        return value
    item = getattr(value, "item", None)  # NumPy scalars and tensors of one element
    number: Any = item() if callable(item) else value
    if not math.isfinite(number):
        raise ValueError(f"report of {key!r} expects a finite number, got {number}")
    try:
        return format(number, fmt)
    except ValueError as error:
        raise ValueError(f"report of {key!r}: {number!r} does not fit fmt {fmt!r}") from error


def _with_unit(text: str, unit: str) -> str:
    """Append the unit after a space."""
    return f"{text} {unit}" if unit else text


def _publish(key: str, text: str) -> None:
    """Check the key, print the line and glue the string."""
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"report expects a key of letters, digits, '_' and '-' that starts with a letter, "
            f"got {key!r}"
        )
    count = int(getattr(running_shell(), "execution_count", 0))
    old_text, old_count = _reported.get(key, (text, -1))
    # A reader may change a cell and run it again; a chapter that is run from the top may not.
    known = key in _reported and (old_count == count or not is_interactive())
    if known and old_text != text:
        raise ValueError(f"report key {key!r} already stands for {old_text!r}, got {text!r}")
    _reported[key] = (text, count)
    print(f"{key}: {text}")
    if not known:  # the page refuses a key that is glued twice
        _glue(key, text)


def _glue(key: str, text: str) -> None:
    """Store the string in the cell's outputs under a type that no front end displays."""
    if running_shell() is None or importlib.util.find_spec("myst_nb") is None:
        return
    from myst_nb import glue

    sys.stdout.flush()  # the line is stored before the record, in every run
    glue(key, text, display=False)
