# SPDX-License-Identifier: MIT
"""The role ``{receipt}`` and the directive ``{receipts}``: what the chapters' last runs cost.

Both read ``data/runs/receipts.json`` when the book is built. A cell cannot print it: the file is
written after the cells have run, and differs from run to run.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from book_pages.directives.markdown import parse_markdown
from book_pages.theme.numbering import SUB_PAGES

RECEIPTS = "data/runs/receipts.json"


def register(app: Sphinx) -> None:
    """Add the role and the directive."""
    app.add_role("receipt", ReceiptRole())
    app.add_directive("receipts", ReceiptsDirective)


def load_receipts(root: Path) -> dict[str, dict[str, Any]]:
    """Read every receipt: chapter's file stem → wall and CPU seconds, peak megabytes."""
    chapters: dict[str, dict[str, Any]] = _load(root).get("chapters", {})
    return chapters


def load_chapter_receipts(root: Path) -> dict[str, dict[str, Any]]:
    """Read what each chapter costs with its sub-pages, by the lesson's file stem.

    Times are sums, since every page is a run of its own; memory is that of the largest.
    """
    chapters: dict[str, dict[str, Any]] = {}
    for name, receipt in load_receipts(root).items():
        lesson = next((name.removesuffix(end) for end in SUB_PAGES if name.endswith(end)), name)
        whole = chapters.setdefault(lesson, {"wall": 0.0, "cpu": 0.0, "peak": 0.0})
        whole["wall"] += receipt["wall"]
        whole["cpu"] += receipt.get("cpu", 0.0)
        whole["peak"] = max(whole["peak"], receipt.get("peak", 0.0))
    return chapters


def load_versions(root: Path) -> dict[str, str]:
    """Read with which versions the chapters were last run: package → version."""
    versions: dict[str, str] = _load(root).get("versions", {})
    return versions


def _load(root: Path) -> dict[str, Any]:
    """Read the file; empty before the first run."""
    path = root / RECEIPTS
    content: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return content


def duration(seconds: float) -> str:
    """Write seconds as a reader says them, such as ``1 min 45 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def memory(megabytes: float) -> str:
    """Write megabytes as gigabytes with one decimal, or as megabytes when there are few."""
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"


class ReceiptRole(SphinxRole):
    """``{receipt}`04_gpt` `` → ``1 min 45 s (205 CPU-seconds, 0.9 GB)``, sub-pages included."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the chapter up; a chapter without receipt breaks the strict build."""
        receipt = load_chapter_receipts(Path(self.env.srcdir)).get(self.text)
        self.env.note_dependency(str(Path(self.env.srcdir) / RECEIPTS))
        if receipt is None:
            message = f"no receipt of {self.text!r}: make run CHAPTER={self.text[:2]} writes it"
            return [], [self.inliner.reporter.error(message, line=self.lineno)]
        text = (
            f"{duration(receipt['wall'])} ({receipt['cpu']:.0f} CPU-seconds, "
            f"{memory(receipt['peak'])})"
        )
        return [nodes.inline(text, text, classes=["receipt"])], []


class ReceiptsDirective(SphinxDirective):
    """``{receipts}``: a table of every chapter's time and memory, its sub-pages included."""

    def run(self) -> list[nodes.Node]:
        """Write the table as Markdown and parse it; there is none before the first run."""
        self.env.note_dependency(str(Path(self.env.srcdir) / RECEIPTS))
        rows = [
            _row(name, one)
            for name, one in load_chapter_receipts(Path(self.env.srcdir)).items()
            if f"chapters/{name}" in self.env.found_docs
        ]
        if not rows:
            return []
        head = ["| chapter | time | CPU-seconds | peak memory |", "|:--|--:|--:|--:|"]
        return parse_markdown(self, [*head, *rows], RECEIPTS, "receipts")


def _row(name: str, receipt: dict[str, Any]) -> str:
    """Write a chapter's row; a number and its unit stay on one line of the narrow table."""
    time, peak = (
        text.replace(" ", "\N{NO-BREAK SPACE}")
        for text in (duration(receipt["wall"]), memory(receipt["peak"]))
    )
    return f"| {{doc}}`/chapters/{name}` | {time} | {receipt['cpu']:.0f} | {peak} |"
