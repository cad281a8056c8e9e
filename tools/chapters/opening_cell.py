# SPDX-License-Identifier: MIT
"""The cell that every chapter's notebook opens with, and no twin and no page shows.

Where the book's package is installed (after ``make setup``, in Binder) it does nothing. In Colab,
or in a Jupyter of the reader's own, it brings the repository unless the notebook lies in it, and
runs ``tools/chapters/bring_package.py``. What stops it is said in one line, and a clone that was
stopped leaves nothing that a later run would take for the book. It is written here once; ``make
sync`` puts it into the notebooks.

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


def _bring_package(
    address={address},
    wanted={wanted},
):
    """Bring the book, unless this notebook lies in it, and install what is missing."""
    import os
    import runpy
    import shutil
    import subprocess
    from pathlib import Path

    class Stopped(Exception):
        def _render_traceback_(self):
            return [f"Stopped: {{self}}"]  # one line instead of a traceback

    here, script = Path.cwd(), Path("tools/chapters/bring_package.py")
    places = (here, *here.parents, here / "book")
    roots = [p for p in places if (p / script).is_file()]
    if not roots:
        book, fresh = here / "book", here / "book.part"
        if book.exists():
            raise Stopped(
                f"{{book}} is not the book. Rename it, then run this cell again"
            )
        try:
            address = os.environ.get("BOOK_REPOSITORY_URL") or address
            address = (address or input(f"{{wanted}}: ")).strip()
        except (EOFError, RuntimeError):  # nobody can be asked
            address = ""
        if not address:
            raise Stopped(
                f"no address. {{wanted}} goes into this cell, after address="
            )
        if not shutil.which("git"):
            raise Stopped("git is missing. Install it, then run this cell again")
        print(f"Bringing the book from {{address}}", flush=True)
        shutil.rmtree(fresh, ignore_errors=True)
        clone = ["git", "clone", "--quiet", "--depth", "1", "--", address]
        clone += [str(fresh)]
        silent = {{**os.environ, "GIT_TERMINAL_PROMPT": "0"}}
        done = subprocess.run(clone, capture_output=True, text=True, env=silent)
        if done.returncode:
            said = (done.stderr.strip() or "nothing").splitlines()[-1]
            raise Stopped(f"check the address and the network; git says: {{said}}")
        if not (fresh / script).is_file():
            raise Stopped(f"{{address}} is not the book: it has no {{script}}")
        fresh.rename(book)
        roots = [book]
    runpy.run_path(str(roots[0] / script))["bring"](roots[0])


if importlib.util.find_spec("pretrain") is None:
    _bring_package()'''
BOOK, EDITION = "Address of the book's repository", "Address of your class's edition"


def repository_address(pyproject: Path) -> str:
    """Read from ``pyproject.toml`` where the repository is published, or nothing."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return str(project.get("urls", {}).get("Repository", ""))


def opening_cell(address: str = "", wanted: str = BOOK) -> NotebookNode:
    """Make a code cell, folded in JupyterLab and in Colab, left out of the page.

    `address` is the repository's; empty = the reader is asked for it in the words of `wanted`.
    """
    cell = nbformat.v4.new_code_cell(
        _SOURCE.format(address=json.dumps(address), wanted=json.dumps(wanted)),
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
