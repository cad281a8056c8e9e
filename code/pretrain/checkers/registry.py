# SPDX-License-Identifier: MIT
"""Which module holds the checkers of which chapter.

The name of a module says it: ``ch04_gpt`` checks the exercises ``ex-gpt-…`` of chapter 4. No list
is kept here, so a new chapter's module changes nothing that the others' outputs depend on. Each
defines CHECKERS, a dict from the label of an exercise to a function that makes its checker. The
values that a checker compares with are computed then, not on import.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from operator import attrgetter
from pkgutil import iter_modules

from pretrain import checkers
from pretrain.checkers.checker import Checker

MODULES = {
    module.name.split("_", 1)[1]: module.name
    for module in sorted(iter_modules(checkers.__path__), key=attrgetter("name"))
    if module.name.startswith("ch") and "_" in module.name
}
"""Short name in the labels of a chapter → its module in pretrain.checkers."""


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
        f"pretrain.checkers.{MODULES[name]}"
    ).CHECKERS
    return table


def _short_name(exercise: str) -> str:
    """Take the chapter's name out of a label: ex-gpt-topp → gpt."""
    return exercise.split("-")[1] if exercise.count("-") >= 2 else ""
