# SPDX-License-Identifier: MIT
"""The cell that every chapter's notebook opens with, and no twin and no page shows.

Where the book's package is installed (after ``make setup``, in Binder) it does nothing. In Colab,
or in a Jupyter of the reader's own, it brings the repository unless the notebook lies in it, and
runs ``tools/chapters/bring_package.py``. It is written here once; ``make sync`` puts it into the
notebooks.

The repository's address is ``Repository`` in the table ``[project.urls]`` of ``pyproject.toml``.
Without one, the cell asks the reader for it.
"""

import ast
import json
import tomllib
from pathlib import Path

import nbformat
from nbformat import NotebookNode

CELL_ID = "opening"
PLACE = 1  # after the title and its paragraph
PACKAGES = ("pretrain", "pretrain_lab", "pretrain_book")
_SOURCE = '''\
# @title Where the book's package is missing (Colab, your own Jupyter): bring it
import importlib.util


def _bring_package(address={address}):
    """Install what the chapter needs and what is not there; torch stays as it is."""
    import os
    import runpy
    import subprocess
    from pathlib import Path

    here = Path.cwd()
    roots = [p for p in (here, *here.parents) if (p / "code/pretrain").is_dir()]
    book = roots[0] if roots else here / "book"
    if not book.is_dir():
        address = os.environ.get("BOOK_REPOSITORY_URL") or address
        address = address or input("Address of the book's repository: ")
        clone = ["git", "clone", "--quiet", "--depth", "1", address, str(book)]
        subprocess.run(clone, check=True)
    script = book / "tools/chapters/bring_package.py"
    runpy.run_path(str(script), run_name="__main__")


if importlib.util.find_spec("pretrain") is None:
    _bring_package()'''


def repository_address(pyproject: Path) -> str:
    """Read from ``pyproject.toml`` where the repository is published, or nothing."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return str(project.get("urls", {}).get("Repository", ""))


def opening_cell(address: str = "") -> NotebookNode:
    """Make a code cell, folded in JupyterLab and in Colab, left out of the page.

    `address` is the repository's; empty = the reader is asked.
    """
    cell = nbformat.v4.new_code_cell(
        _SOURCE.format(address=json.dumps(address)),
        metadata={
            "cellView": "form",
            "jupyter": {"source_hidden": True},
            "tags": ["remove-cell"],
        },
    )
    cell["id"] = CELL_ID
    return cell


def is_opening(cell: NotebookNode) -> bool:
    """Return whether a cell is the opening one."""
    return bool(cell.get("id") == CELL_ID)


def needs_opening(notebook: NotebookNode) -> bool:
    """Return whether a notebook imports the package."""
    sources = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    return any(_imports_package(source) for source in sources)


def _imports_package(source: str) -> bool:
    """Return whether a cell imports the package; one that Python cannot parse does not."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return False
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return any(name.split(".")[0] in PACKAGES for name in names)
