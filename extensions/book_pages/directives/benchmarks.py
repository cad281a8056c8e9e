# SPDX-License-Identifier: MIT
"""The directive ``{benchmarks}``: the table of ``benchmarks/results.json``.

The file is a list of rows (or an object with such a list under ``rows``), each with the keys
``name``, ``ours``, ``peer``, ``ratio`` and ``unit``; other keys are not shown. An option picks
rows whose name starts with a word: ``:name: generation``.

``{page-weights}`` shows the heaviest pages of ``benchmarks/pages.json``, which
``tools/checks/weigh_pages.py`` writes, and ``{applet-waits}`` the times of
``benchmarks/waits.json``, which ``tools/checks/applet_waits.py`` writes.
"""

import json
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book_pages.directives.markdown import parse_markdown

RESULTS = "benchmarks/results.json"
WEIGHTS = "benchmarks/pages.json"
N_HEAVIEST = 3
WAITS = "benchmarks/waits.json"
COLUMNS = ("name", "ours", "peer", "ratio", "unit")


def register(app: Sphinx) -> None:
    """Add the directives."""
    app.add_directive("benchmarks", BenchmarksDirective)
    app.add_directive("page-weights", PageWeightsDirective)
    app.add_directive("applet-waits", AppletWaitsDirective)


def table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Write rows as the lines of a Markdown table.

    Raises:
        KeyError: A row lacks one of the five keys.
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
        return parse_markdown(self, table_lines(rows), RESULTS)


def weight_lines(record: dict[str, Any]) -> list[str]:
    """Write the heaviest pages as a table, in KiB, heaviest first.

    `record` has ``limit`` and ``pages``, all in bytes.
    """
    kinds = ("html", "css", "js", "fonts")
    titles = ("text", "style", "scripts", "fonts", "together", "limit", "figures")
    lines = [f"| heaviest pages | {' | '.join(titles)} |", "|:--|" + "--:|" * len(titles)]
    pages = record["pages"]
    totals = {name: sum(w.values()) - w["images"] for name, w in pages.items()}
    for name in sorted(totals, key=lambda one: -totals[one])[:N_HEAVIEST]:
        weight = pages[name]
        sizes = [*(weight[kind] for kind in kinds), totals[name], record["limit"], weight["images"]]
        numbers = " | ".join(f"{size / 1024:.0f}" for size in sizes)
        lines.append(f"| {{doc}}`/{name.removesuffix('.html')}` | {numbers} |")
    return lines


def wait_lines(record: dict[str, Any]) -> list[str]:
    """Write the waits for each applet, longest first, and for one more character, as two tables.

    `record` has ``applets``, by name, and ``next character``; all in milliseconds.
    """
    own, slow = "own line", "10 Mbit/s"
    lines = ["| applet | server on the same machine | line of 10 Mbit/s |", "|:--|--:|--:|"]
    for name, wait in sorted(record["applets"].items(), key=lambda item: -item[1][slow]):
        lines.append(f"| {name} | {wait[own]:.0f} ms | {wait[slow]:.0f} ms |")
    cached, plain = (record["next character"][key] for key in ("with cache", "without"))
    lines += ["", "| one more character | time | ratio |", "|:--|--:|--:|"]
    lines.append(f"| with the key–value cache | {cached:.1f} ms | 1 |")
    lines.append(f"| without | {plain:.1f} ms | {plain / cached:.1f} |")
    return lines


class RecordDirective(SphinxDirective):
    """A table of one record; subclasses say which."""

    record: ClassVar[str]

    def lines(self, record: dict[str, Any]) -> list[str]:
        """Write the record as Markdown."""
        raise NotImplementedError(type(self).__name__)

    def run(self) -> list[nodes.Node]:
        """Read the record and let the page's parser read its table.

        Raises:
            docutils.utils.SystemMessage: There is no record.
        """
        path = Path(self.env.srcdir) / self.record
        self.env.note_dependency(str(path))
        if not path.exists():
            raise self.error(f"no {self.record}: make bench writes it")
        lines = self.lines(json.loads(path.read_text(encoding="utf-8")))
        return parse_markdown(self, lines, self.record)


class PageWeightsDirective(RecordDirective):
    """``{page-weights}``: what the heaviest pages weigh, and their limit."""

    record = WEIGHTS

    def lines(self, record: dict[str, Any]) -> list[str]:
        """Write the heaviest pages."""
        return weight_lines(record)


class AppletWaitsDirective(RecordDirective):
    """``{applet-waits}``: how long a reader waits for the models in the pages."""

    record = WAITS

    def lines(self, record: dict[str, Any]) -> list[str]:
        """Write the waits."""
        return wait_lines(record)
