# SPDX-License-Identifier: MIT
"""The directives ``{run-inputs}`` and ``{sources}``: from what the chapters' outputs were made.

``{run-inputs}`` shows for each chapter the seeds that its code names, the data files that its last
run read, each with its hash, and the package versions. ``{sources}`` lists the packages from which
texts and published weights come, with the hash that each download must have.
"""

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book_pages.directives.markdown import parse_markdown
from book_pages.provenance.receipts import load_receipts, load_versions

LOCK = "data/runs/chapters.lock"
SOURCES = "data/sources.toml"
SEEDING = ("manual_seed", "default_rng", "Random")
SEED_NAMES = ("seed", "random_state")


def register(app: Sphinx) -> None:
    """Add the directives."""
    app.add_directive("run-inputs", RunInputsDirective)
    app.add_directive("sources", SourcesDirective)


def seeds(notebook: dict[str, Any]) -> list[int]:
    """Find the whole numbers that a chapter hands to a generator or to an argument called seed."""
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return sorted({seed for cell in cells for seed in _seeds_of("".join(cell["source"]))})


def _seeds_of(source: str) -> Iterator[int]:
    """Yield the seeds of one cell; a cell that Python cannot parse has none."""
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return
    for call in calls:
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        given = call.args[:1] if name in SEEDING else []
        given += [one.value for one in call.keywords if one.arg in SEED_NAMES]
        for value in given:
            if isinstance(value, ast.Constant) and type(value.value) is int:
                yield value.value


def input_lines(
    name: str, notebook: dict[str, Any], inputs: dict[str, Any], versions: dict[str, str]
) -> list[str]:
    """Write what one chapter's outputs were made from, as a folded box in Markdown.

    `inputs` is the chapter's entry in the lock.
    """
    named = ", ".join(map(str, seeds(notebook))) or "none"
    software = ", ".join(f"{package} {version}" for package, version in versions.items())
    files = [f"| `{file}` | `{digest}` |" for file, digest in inputs["data"].items()]
    head = ["| data file | SHA-256, first 16 digits |", "|:--|:--|"] if files else []
    return [
        f":::{{admonition}} {_title(notebook)}",
        ":class: dropdown",
        "",
        f"{{doc}}`/chapters/{name}`. Seeds in its code: {named}.",
        f"Modules of the packages behind it: {len(inputs['definitions'])}. Run with {software}.",
        "",
        *(head + files or ["It reads no data file."]),
        ":::",
        "",
    ]


def source_lines(table: dict[str, dict[str, Any]]) -> list[str]:
    """Write the packages of ``data/sources.toml`` as a list, whose long hashes may wrap."""
    return [
        f"- **{name} {one['version']}**: {one['use']}. Licence: {one['licence']}. "
        f"SHA-256 of the wheel: `{one['sha256']}`"
        for name, one in table.items()
    ]


class RunInputsDirective(SphinxDirective):
    """``{run-inputs}``: a folded box for every chapter of the book that has a receipt."""

    def run(self) -> list[nodes.Node]:
        """Write the boxes as Markdown and parse them; there are none before the first run."""
        lines: list[str] = []
        root = Path(self.env.srcdir)
        lock, versions = _load_lock(root), load_versions(root)
        self.env.note_dependency(str(root / LOCK))
        for name in load_receipts(root):
            if name in lock and f"chapters/{name}" in self.env.found_docs:
                path = root / "chapters" / f"{name}.ipynb"
                self.env.note_dependency(str(path))
                notebook = json.loads(path.read_text(encoding="utf-8"))
                lines += input_lines(name, notebook, lock[name], versions)
        return parse_markdown(self, lines, "chapters", "run-inputs")


class SourcesDirective(SphinxDirective):
    """``{sources}``: the packages that the book fetches."""

    def run(self) -> list[nodes.Node]:
        """Write the list as Markdown and let the page's parser read it."""
        path = Path(self.env.srcdir) / SOURCES
        self.env.note_dependency(str(path))
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return parse_markdown(self, source_lines(table), SOURCES, "run-inputs")


def _load_lock(root: Path) -> dict[str, Any]:
    """Read the lock: chapter → its hashes; empty before the first run."""
    path = root / LOCK
    lock: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return lock


def _title(notebook: dict[str, Any]) -> str:
    """Return a chapter's title, with its number."""
    return "".join(notebook["cells"][0]["source"]).split("\n")[0].removeprefix("# ")
