# SPDX-License-Identifier: MIT
"""Keys of the quizzes: each computes words that only the right option of its question contains.

One module a chapter, ``ch04_gpt.py`` for ``04_gpt``; one function a question, ``quiz_gpt_passes``
for the label ``quiz-gpt-passes``. A key computes its words with the package, from a record in
``data/runs/`` or by a derivation in code. It never returns a typed constant.
"""

import ast
import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from textwrap import dedent

from book_pages.quiz_text import Quiz

Key = Callable[[], str]


def key_modules() -> dict[str, str]:
    """List the modules of keys by the chapter they belong to, such as ``04_gpt``."""
    return {path.stem[2:]: path.stem for path in sorted(Path(__file__).parent.glob("ch*.py"))}


def keys_of(chapter: str) -> dict[str, Key]:
    """Collect a chapter's keys by the labels of their questions; none without a module."""
    if chapter not in key_modules():
        return {}
    module = import_module(f"quiz_keys.{key_modules()[chapter]}")
    found = inspect.getmembers(module, inspect.isfunction)
    return {
        name.replace("_", "-"): function
        for name, function in found
        if function.__module__ == module.__name__ and not name.startswith("_")
    }


def complaints(quiz: Quiz, words: str) -> list[str]:
    """Compare a question with what its key has computed.

    Args:
        quiz: The question.
        words: What the key returns.

    Returns:
        One line for each complaint; empty = the marked option, and no other, holds the words.
    """
    if not words.strip():
        return [f"{quiz.label}: the key returned no words"]
    holding = [n for n, option in enumerate(quiz.options) if holds(option.text, words)]
    if len(holding) != 1:
        return [f"{quiz.label}: {len(holding)} options contain {words!r}, expected one"]
    if holding[0] != quiz.right:
        marked = quiz.options[quiz.right].text
        return [f"{quiz.label}: the key computes {words!r}, but this is marked: {marked!r}"]
    return []


def holds(text: str, words: str) -> bool:
    """Tell whether whole words stand in a text, in either case: 3 does not stand in 13 or 3.5."""
    inside = re.escape(" ".join(words.casefold().split()))
    pattern = rf"(?<!\w)(?<!\d[.,]){inside}(?!\w|[.,]\d)"
    return re.search(pattern, " ".join(text.casefold().split())) is not None


def computes(key: Key) -> bool:
    """Tell whether a key does more than return one typed text; it may choose between several."""
    (function,) = ast.parse(dedent(inspect.getsource(key))).body
    nodes = list(ast.walk(function))
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    typed = [value for value in returned if isinstance(value, ast.Constant)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return bool(calls) and not (len(returned) == len(typed) == 1)
