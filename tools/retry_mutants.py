# SPDX-License-Identifier: MIT
"""Try the mutants that survived again, after new tests: ``make mutate OPTIONS=--again``.

A whole run of :mod:`mutate` takes hours. What it recorded of a survivor, the lines before and after
the change, is enough to make it again: this module writes the changed module into a copy and runs
the module's tests in a forked process, which has loaded torch already. Where the line stands in the
function several times, each place is changed in turn, and the mutant counts as caught only when the
tests notice every one.
"""

import ast
import os
import signal
import sys
from pathlib import Path
from typing import Any

LIMIT = 120
"""Seconds after which tests that do not end have noticed something, too."""


class RetryError(Exception):
    """A survivor cannot be made again; the message says which, and why."""


def retry(source: Path, survivors: list[dict[str, str]], tests: list[str]) -> list[dict[str, str]]:
    """Make survivors again and run the tests on them.

    Args:
        source: The module in the copy, ``src/pretrain/NAME.py``; it is as before afterwards.
        survivors: As recorded: function, lines before and after.
        tests: Files of tests in the copy, such as ``tests/test_masks.py``.

    Returns:
        Those that no test notices still, in their order.

    Raises:
        RetryError: The tests fail without any change, or a line is not in its function.
    """
    original = source.read_text(encoding="utf-8")
    folder = source.parents[2]
    try:
        if run_tests(folder, tests):
            raise RetryError(f"{source.stem}: its tests fail before any change")
        return [
            one
            for one in survivors
            if any(_passes(source, text, folder, tests) for text in variants(original, one))
        ]
    finally:
        source.write_text(original, encoding="utf-8")


def variants(text: str, survivor: dict[str, str]) -> list[str]:
    """Write the module with the change, once for every place where it may stand.

    Args:
        text: The unchanged module.
        survivor: Function, lines before and after, each side joined by blanks.

    Returns:
        Changed modules, each of them valid Python.

    Raises:
        RetryError: The lines before the change are not in the function, or what comes out is no
            Python: the code has changed since the record.
    """
    lines = text.splitlines()
    found = []
    for start, end in _function_lines(lines, survivor["function"]):
        for first in range(start, end):
            for last in range(first + 1, min(first + 16, end) + 1):
                if " ".join(line.strip() for line in lines[first:last]) == survivor["before"]:
                    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
                    changed = [*lines[:first], indent + survivor["after"], *lines[last:]]
                    found.append("\n".join(changed) + "\n")
    try:
        for one in found:
            ast.parse(one)
    except SyntaxError as error:
        raise RetryError(f"{survivor['function']}: {survivor['after']}: {error}") from error
    if not found:
        raise RetryError(f"{survivor['function']}: no line is {survivor['before']!r} now")
    return found


def _function_lines(lines: list[str], name: str) -> list[tuple[int, int]]:
    """List where functions of a name begin and end; methods and nested ones, too."""
    found = []
    for start, line in enumerate(lines):
        if line.strip().startswith((f"def {name}(", f"def {name}[")):
            depth = len(line) - len(line.lstrip())
            end = start + 1
            while end < len(lines) and not _ends(lines[end], depth):
                end += 1
            found.append((start, end))
    return found


def _ends(line: str, depth: int) -> bool:
    """Say whether a line stands behind a function: as far left as it, but no bracket's end."""
    return bool(line.strip()) and len(line) - len(line.lstrip()) <= depth and line.strip()[0] != ")"


def _passes(source: Path, text: str, folder: Path, tests: list[str]) -> bool:
    """Run the tests on a changed module."""
    source.write_text(text, encoding="utf-8")
    return run_tests(folder, tests, LIMIT) == 0


def run_tests(folder: Path, tests: list[str], limit: int = 0) -> int:
    """Run tests on the package in a folder, in a process of their own.

    Args:
        folder: The copy, with ``src/`` and ``tests/``.
        tests: Files in it.
        limit: Seconds until the process is ended; 0 = it may take its time.

    Returns:
        pytest's exit code; negative when the process was ended.
    """
    child = os.fork()
    if not child:
        _test_and_exit(folder, tests, limit)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _test_and_exit(folder: Path, tests: list[str], limit: int) -> None:
    """Be the child: never return."""
    code = 3
    try:
        signal.alarm(limit)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.chdir(folder)
        sys.path.insert(0, str(folder / "src"))
        sys.dont_write_bytecode = True
        code = int(_pytest()([*tests, "-q"]))
    finally:
        os._exit(code)


def _pytest() -> Any:
    """Give pytest's main, with what takes long to load."""
    import pytest
    import torch  # noqa: F401

    return pytest.main


def preload() -> None:
    """Load what the tests load, once for all children; not the package, which changes."""
    import hypothesis  # noqa: F401
    import transformers.models.t5.modeling_t5  # noqa: F401

    _pytest()
