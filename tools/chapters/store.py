# SPDX-License-Identifier: MIT
"""Where the chapters are, and how a chapter's twin and its notebook correspond.

A chapter is edited as ``chapters/_text/NN_slug.md`` (MyST Markdown, its *twin*) and read as
``chapters/NN_slug.ipynb``. The two hold the same cells; only the notebook holds outputs, and the
opening cell (:mod:`.opening_cell`), where the chapter imports one of the packages.

A chapter is a lesson, ``NN_slug``, and its sub-pages: ``NN_slug_behind``, how its results were
judged, and ``NN_slug_exercises``. Each is a notebook with a kernel of its own.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupytext.myst import MystMetadataParsingError
from nbformat import NotebookNode

from tools.chapters.opening_cell import (
    PLACE,
    is_opening,
    needs_opening,
    opening_cell,
    repository_address,
)

ROOT = Path(__file__).resolve().parents[2]
TWIN_FORMAT = {
    "extension": ".md",
    "format_name": "myst",
    "notebook_metadata_filter": "-all",
    "cell_metadata_filter": "all",
}
NOTEBOOK_METADATA: dict[
    str, dict[str, Any]
] = {  # as JupyterLab writes it, so that opening a notebook does not change it
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3.11.7",  # one for all machines; under another Python, saving changes this line
    },
}
NOTE = "pretrain"  # the notebook metadata in which these tools keep their records
SUB_PAGES = ("behind", "exercises")
_SOLUTION = re.compile(r"^:{3,}\s*\{solution-(start|end)\}", re.MULTILINE)


class ChapterError(Exception):
    """A chapter cannot be synced, executed or checked; the message says what to do."""


def notebook_paths(root: Path = ROOT, only: str = "") -> list[Path]:
    """List the chapters' notebooks ``chapters/NN_slug.ipynb`` in order.

    `only` is a chapter number or the start of a file name, such as ``04``; empty = all.

    Raises:
        ChapterError: No notebook starts with ``only``.
    """
    return _matching(sorted((root / "chapters").glob("[0-9][0-9]_*.ipynb")), only)


def twin_paths(root: Path = ROOT, only: str = "") -> list[Path]:
    """List the chapters' twins; arguments and errors as for :func:`notebook_paths`."""
    return _matching(sorted((root / "chapters" / "_text").glob("[0-9][0-9]_*.md")), only)


def page_kind(name: str) -> str:
    """Return "behind" or "exercises" for a sub-page's name without ending, else "lesson"."""
    end = name.rpartition("_")[2]
    return end if end in SUB_PAGES else "lesson"


def twin_of(notebook: Path) -> Path:
    """Return the twin's path of a notebook's path."""
    return notebook.parent / "_text" / f"{notebook.stem}.md"


def notebook_of(twin: Path) -> Path:
    """Return the notebook's path of a twin's path."""
    return twin.parent.parent / f"{twin.stem}.ipynb"


def read_twin(path: Path) -> NotebookNode:
    """Read a twin as a notebook without outputs, solutions marked for Jupyter, opening cell added.

    The notebook has the book's metadata and stable cell ids.

    Raises:
        ChapterError: The file opens with a front matter block, which belongs in no twin, or the
            options of a code cell are no YAML.
    """
    text = path.read_text(encoding="utf-8")
    if text.startswith("---"):
        raise ChapterError(f"{path.name}: remove the front matter, a twin starts with its title")
    try:
        notebook = jupytext.reads(text, fmt=TWIN_FORMAT)
    except MystMetadataParsingError as error:
        hint = "a text with ': ' in it needs quotes, or '|' and a line of its own"
        raise ChapterError(f"{path.name}: {error}\n{hint}") from error
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    _hide_solution_sources(notebook)
    _name_cells(notebook)
    if needs_opening(notebook):
        notebook.cells.insert(PLACE, opening_cell(repository_address(ROOT / "pyproject.toml")))
    return notebook


def write_twin(path: Path, notebook: NotebookNode) -> None:
    """Write a notebook's inputs, without its opening cell, as a twin, overwriting the file."""
    own = [_input_only(cell) for cell in notebook.cells if not is_opening(cell)]
    copy = nbformat.from_dict({**notebook, "cells": own})
    copy.metadata = NotebookNode()
    path.parent.mkdir(exist_ok=True)
    text = re.sub(
        r"^```\{code-cell\}.*$",
        "```{code-cell} python",
        jupytext.writes(copy, TWIN_FORMAT),
        flags=re.M,
    )
    path.write_text(text, encoding="utf-8")


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook file in format 4."""
    return nbformat.read(path, as_version=4)


def write_notebook(path: Path, notebook: NotebookNode) -> None:
    """Check a notebook against its schema and write it in one step.

    Raises:
        nbformat.ValidationError: The notebook breaks the schema.
    """
    nbformat.validate(notebook)
    scratch = path.with_suffix(".tmp")
    nbformat.write(notebook, scratch)
    scratch.replace(path)


def inputs(notebook: NotebookNode) -> list[dict[str, Any]]:
    """Return what twin and notebook share: kind, source and metadata of every cell."""
    return [
        {"kind": cell.cell_type, "source": cell.source.strip("\n"), "metadata": _plain(cell)}
        for cell in notebook.cells
    ]


def digest(value: object) -> str:
    """Hash any JSON value to 16 hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _matching(paths: list[Path], only: str) -> list[Path]:
    """Keep the paths whose names start with a chapter's number or name; 4 is 04."""
    only = only.zfill(2) if only.isdecimal() else only
    found = [path for path in paths if path.name.startswith(only)]
    if only and not found:
        names = ", ".join(path.stem for path in paths) or "none yet"
        raise ChapterError(f"no chapter starts with {only!r}; there are: {names}")
    return found


def _plain(cell: NotebookNode) -> dict[str, Any]:
    """Return a cell's metadata as plain values, without empty entries."""
    metadata: dict[str, Any] = json.loads(json.dumps(cell.metadata))
    return {key: value for key, value in metadata.items() if value not in ({}, [], None)}


def _input_only(cell: NotebookNode) -> NotebookNode:
    """Copy a cell without outputs and without the mark that sync sets by itself."""
    copy = nbformat.from_dict(json.loads(json.dumps(cell)))
    copy.metadata.pop("jupyter", None)
    if copy.cell_type == "code":
        copy.outputs, copy.execution_count = [], None
    return copy


def _hide_solution_sources(notebook: NotebookNode) -> None:
    """Fold the code of solutions in Jupyter, where the page's fold does not exist."""
    inside = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for mark in _SOLUTION.finditer(cell.source):
                inside = mark.group(1) == "start"
        elif inside:
            cell.metadata["jupyter"] = {"source_hidden": True}


def _name_cells(notebook: NotebookNode) -> None:
    """Give every cell an id that depends on its content alone, so that diffs stay small."""
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        key = digest([cell.cell_type, cell.source])
        seen[key] = seen.get(key, 0) + 1
        cell["id"] = digest([key, seen[key]])[:8]
