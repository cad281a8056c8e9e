# SPDX-License-Identifier: MIT
"""The inputs of a chapter's stored outputs, as hashes in ``data/runs/chapters.lock``.

A chapter is *fresh* when four hashes are those of the lock: its code cells, its stored outputs, the
definitions of the packages that it reaches (:mod:`.definitions`) and the data files that it opened.
Comments, docstrings and layout do not count. What a cell prints of source code itself does not
either; that is compared when all chapters are executed.
"""

import ast
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from tools.chapters.definitions import (
    CHOSEN_BY_NUMBER,
    bound_names,
    imported,
    is_bare_string,
    module_names,
    module_path,
    reached,
    top_level,
)
from tools.chapters.opening_cell import is_opening
from tools.chapters.store import ROOT, ChapterError, digest, notebook_paths, read_notebook

LOCK = "data/runs/chapters.lock"
NOT_AN_INPUT = ("data/runs/receipts.json", LOCK)  # written after each run


def read_lock(root: Path = ROOT) -> dict[str, Any]:
    """Read the lock: chapter's file name without ending → its hashes; empty if there is none yet.

    Raises:
        ChapterError: The file is no JSON, as after a merge that is not finished.
    """
    path = root / LOCK
    try:
        entries: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    except ValueError as error:
        hint = f"take either side (git checkout --ours {LOCK}); make check renews it"
        raise ChapterError(f"{LOCK} is no JSON; after a conflict {hint}") from error
    return entries


def store(chapter: str, entry: dict[str, Any], root: Path = ROOT) -> None:
    """Put a chapter's hashes, as :func:`take` makes them, into the lock."""
    path = root / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lock_text({**read_lock(root), chapter: entry}, root), encoding="utf-8")


def tidy(root: Path = ROOT) -> None:
    """Bring the lock to its one form, without chapters that are gone."""
    text = lock_text(read_lock(root), root)
    if (root / LOCK).exists() and text != (root / LOCK).read_text("utf-8"):
        (root / LOCK).write_text(text, encoding="utf-8")


def lock_text(entries: dict[str, Any], root: Path = ROOT) -> str:
    """Return the lock's text: sorted keys, a line for each hash, the chapters that are there."""
    there = {path.stem for path in notebook_paths(root)}
    kept = {name: entry for name, entry in entries.items() if name in there}
    return json.dumps(kept, indent=1, sort_keys=True) + "\n"


def code_fingerprint(notebook: NotebookNode) -> str:
    """Hash the sources of all code cells; the opening one, where it works, has no output."""
    return digest([cell.source for cell in _code_cells(notebook)])


def output_fingerprint(notebook: NotebookNode) -> str:
    """Hash the stored outputs and counts of all code cells but the opening one."""
    return digest([[cell.execution_count, cell.outputs] for cell in _code_cells(notebook)])


def reached_definitions(path: Path, root: Path = ROOT) -> dict[str, list[ast.stmt]]:
    """Collect the top-level statements that a chapter reaches, and its checkers too, by module."""
    cells = (cell for cell in read_notebook(path).cells if cell.cell_type == "code")
    names = {name for cell in cells for name in imported(_without_magics(cell.source))}
    return reached(names | set(checkers(path.stem[:2], root)), root / "code")


def checkers(chapter: str, root: Path = ROOT) -> list[str]:
    """List the modules that check the exercises of a chapter, which are imported by its number."""
    begin = f"{CHOSEN_BY_NUMBER}ch{chapter}"
    return [name for name in module_names(root / "code") if name.startswith(begin)]


def data_fingerprints(files: list[str], root: Path = ROOT) -> dict[str, str]:
    """Hash data files by content; a file that is gone has the hash ``missing``.

    `files`, and the keys of the result, are paths relative to the repository.
    """
    found = {}
    for name in sorted(set(files) - set(NOT_AN_INPUT)):
        path = root / name
        content = path.read_bytes() if path.is_file() else None
        found[name] = "missing" if content is None else hashlib.sha256(content).hexdigest()[:16]
    return found


def definition_fingerprints(path: Path, root: Path = ROOT) -> dict[str, str]:
    """Hash what a chapter reaches: module → hash of exactly its reached definitions."""
    definitions = reached_definitions(path, root)
    return {name: digest([_tree(one) for one in those]) for name, those in definitions.items()}


def take(path: Path, files: list[str], root: Path = ROOT) -> dict[str, Any]:
    """Compute a chapter's hashes, as they are now.

    `files` are the data files that it opened, relative to the repository. The result has "cells"
    and "outputs": a hash; "definitions": module → hash; "data": file → hash.
    """
    notebook = read_notebook(path)
    return {
        "cells": code_fingerprint(notebook),
        "outputs": output_fingerprint(notebook),
        "definitions": definition_fingerprints(path, root),
        "data": data_fingerprints(files, root),
    }


def stale_reasons(path: Path, root: Path = ROOT) -> list[str]:
    """List what differs from the lock, a line for each changed input; a fresh chapter has none."""
    stored = read_lock(root).get(path.stem)
    if stored is None:
        return ["it is not in the lock"]
    now = take(path, list(stored["data"]), root)
    reasons = [f"its {kind} changed" for kind in ("cells", "outputs") if now[kind] != stored[kind]]
    changed = _changed(now["definitions"], stored["definitions"])
    reached_now = reached_definitions(path, root) if changed else {}
    for name in changed:
        names = _edited(name, reached_now.get(name, []), root)
        reasons.append(f"module {name} changed" + (f": {', '.join(names)}" if names else ""))
    return reasons + [f"data file {name} changed" for name in _changed(now["data"], stored["data"])]


def _changed(now: dict[str, str], stored: dict[str, str]) -> list[str]:
    """List the keys whose hashes differ."""
    return [name for name in sorted({*now, *stored}) if now.get(name) != stored.get(name)]


def _edited(module: str, definitions: list[ast.stmt], root: Path) -> list[str]:
    """Name the definitions that were not so when the lock was last committed, where git knows."""
    git = ["git", "-C", str(root)]
    found = subprocess.run([*git, "log", "-1", "--format=%H", "--", LOCK], capture_output=True)
    file = module_path(module, root / "code").relative_to(root).as_posix()
    revision = found.stdout.decode().strip() or "HEAD"
    shown = subprocess.run([*git, "show", f"{revision}:{file}"], capture_output=True)
    if shown.returncode != 0:
        return []
    before = [_tree(one) for one in top_level(shown.stdout.decode())]
    return sorted({n for one in definitions if _tree(one) not in before for n in bound_names(one)})


def _code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """List the code cells but the opening one."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and not is_opening(cell)]


def _without_magics(source: str) -> str:
    """Drop IPython's magic lines, which Python's parser does not know."""
    return "\n".join(
        "" if line.lstrip().startswith(("%", "!")) else line for line in source.split("\n")
    )


def _tree(node: object) -> object:
    """Turn a syntax tree into nested lists, without bare strings and as every Python has it."""
    if isinstance(node, ast.AST):
        fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
        return [type(node).__name__, {name: _tree(value) for name, value in fields.items()}]
    if isinstance(node, list):
        return [_tree(item) for item in node if not is_bare_string(item)]
    return repr(node)
