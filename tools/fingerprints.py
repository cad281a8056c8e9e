# SPDX-License-Identifier: MIT
"""The inputs on which a chapter's stored outputs depend, as hashes.

A chapter is *stale* when its code cells, a module of ``pretrain`` that it imports (directly or
through other modules), or a data file that it opened differ from those of its last run. Comments,
docstrings and layout do not count.
"""

import ast
import hashlib
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from chapters import NOTE, ROOT, digest
from opening_cell import is_opening

PACKAGE = "pretrain"
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NOT_AN_INPUT = ("data/runs/receipts.json",)  # written after each run


def code_fingerprint(notebook: NotebookNode) -> str:
    """Hash the sources of all code cells; the opening one, where it works, has no output."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code" and not is_opening(cell))
    return digest([cell.source for cell in cells])


def module_fingerprints(notebook: NotebookNode, root: Path = ROOT) -> dict[str, str]:
    """Hash every module of the package that a notebook imports, transitively.

    Args:
        notebook: A chapter.
        root: The repository.

    Returns:
        Dotted module name → hash of its syntax tree without docstrings.
    """
    sources = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    waiting = {name for source in sources for name in _imported(source, root)}
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        source = _module_path(name, root).read_text(encoding="utf-8")
        found[name] = digest(_tree(ast.parse(source)))
        waiting |= _imported(source, root) - set(found)
    return dict(sorted(found.items()))


def data_fingerprints(files: list[str], root: Path = ROOT) -> dict[str, str]:
    """Hash data files by content.

    Args:
        files: Paths relative to the repository.
        root: The repository.

    Returns:
        Path → hash; a file that is gone has the hash ``missing``.
    """
    found = {}
    for name in sorted(set(files) - set(NOT_AN_INPUT)):
        path = root / name
        content = path.read_bytes() if path.is_file() else None
        found[name] = "missing" if content is None else hashlib.sha256(content).hexdigest()[:16]
    return found


def take(notebook: NotebookNode, files: list[str], root: Path = ROOT) -> dict[str, Any]:
    """Take a chapter's complete fingerprint.

    Args:
        notebook: A chapter.
        files: The data files that it opened, relative to the repository.
        root: The repository.

    Returns:
        Hashes of its code, its modules and its data.
    """
    return {
        "code": code_fingerprint(notebook),
        "modules": module_fingerprints(notebook, root),
        "data": data_fingerprints(files, root),
    }


def stale_reasons(notebook: NotebookNode, root: Path = ROOT) -> list[str]:
    """List what changed since a chapter was last executed.

    Args:
        notebook: A chapter as it is stored.
        root: The repository.

    Returns:
        One line for each changed input; empty = the outputs are fresh.
    """
    stored = notebook.metadata.get(NOTE, {}).get("inputs")
    if not stored:
        return ["it was never executed by make run"]
    current = take(notebook, list(stored["data"]), root)
    reasons = ["its code cells changed"] if current["code"] != stored["code"] else []
    for kind, what in (("modules", "module"), ("data", "data file")):
        for name in sorted({*current[kind], *stored[kind]}):
            if current[kind].get(name) != stored[kind].get(name):
                reasons.append(f"{what} {name} changed")
    return reasons


def _imported(source: str, root: Path) -> set[str]:
    """Return the package's modules that a piece of source imports, with their parents."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(_without_magics(source))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    names = {name for name in names if name.split(".")[0] == PACKAGE}
    parents = {".".join(n.split(".")[:end]) for n in names for end in range(1, n.count(".") + 1)}
    return {name for name in names | parents if _module_path(name, root).is_file()}


def _without_magics(source: str) -> str:
    """Drop IPython's magic lines, which Python's parser does not know."""
    return "\n".join(
        "" if line.lstrip().startswith(("%", "!")) else line for line in source.split("\n")
    )


def _module_path(name: str, root: Path) -> Path:
    """Return the file of a module or package of ``code/``, whether it exists or not."""
    base = root / "code" / Path(*name.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _tree(node: object) -> object:
    """Turn a syntax tree into nested lists that do not depend on the Python version."""
    if isinstance(node, ast.AST):
        fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            fields["body"] = node.body[1:]
        return [type(node).__name__, {name: _tree(value) for name, value in fields.items()}]
    if isinstance(node, list):
        return [_tree(item) for item in node]
    return repr(node)
