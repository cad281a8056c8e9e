"""The directive ``{benchmarks}``: the table of ``benchmarks/results.json``.

The file is a list of rows (or an object with such a list under ``rows``), each with the keys
``name``, ``ours``, ``peer``, ``ratio`` and ``unit``; other keys are not shown. An option picks
rows whose name starts with a word: ``:name: generation``.
"""

import json
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

RESULTS = "benchmarks/results.json"
COLUMNS = ("name", "ours", "peer", "ratio", "unit")


def register(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("benchmarks", BenchmarksDirective)


def table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Write rows as a Markdown table.

    Args:
        rows: Benchmarks with the five keys.

    Returns:
        The lines of the table.

    Raises:
        KeyError: A row lacks one of the keys.
    """
    head = ["| benchmark | ours | peer | ours / peer | unit |", "|:--|--:|--:|--:|:--|"]
    return head + [f"| {' | '.join(_cell(row[key]) for key in COLUMNS)} |" for row in rows]


def _cell(value: object) -> str:
    """Write a number with three significant digits, anything else as it is."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return "–" if value is None else str(value)


class BenchmarksDirective(SphinxDirective):
    """``{benchmarks}``: a table of the last benchmark run, all rows or some."""

    option_spec: ClassVar = {"name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Read the results and let the page's parser read their table.

        Returns:
            The table's nodes.

        Raises:
            docutils.utils.SystemMessage: There are no results, or none of that name.
        """
        path = Path(self.env.srcdir) / RESULTS
        self.env.note_dependency(str(path))
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        rows = content["rows"] if isinstance(content, dict) else content
        start = self.options.get("name", "")
        rows = [row for row in rows if row["name"].startswith(start)]
        if not rows:
            raise self.error(f"no rows {start!r} in {RESULTS}: make bench writes it")
        container = nodes.container(classes=["benchmarks"])
        self.state.nested_parse(StringList(table_lines(rows), source=RESULTS), 0, container)
        return list(container.children)
