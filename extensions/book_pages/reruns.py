# SPDX-License-Identifier: MIT
"""The directive ``{reruns}``: what the chapters did elsewhere, by the record of ``make rerun``.

One table for each setting: threads, cores, memory, folder and interpreter.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .markdown import parse_markdown
from .receipts import duration, memory

RERUNS = "data/runs/reruns.json"
FOLDERS = {"root": "the repository's folder", "chapters": "`chapters/`"}


def register(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("reruns", RerunsDirective)


class RerunsDirective(SphinxDirective):
    """``{reruns}``: for every setting, how each chapter's outputs compare with the stored ones."""

    def run(self) -> list[nodes.Node]:
        """Write the tables as Markdown and let the page's parser read it.

        Returns:
            The tables' nodes.
        """
        path = Path(self.env.srcdir) / RERUNS
        self.env.note_dependency(str(path))
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        known = [one for one in runs if f"chapters/{one['chapter']}" in self.env.found_docs]
        return parse_markdown(self, tables(known), RERUNS, "receipts")


def tables(runs: list[dict[str, Any]]) -> list[str]:
    """Write a folded table for every setting.

    Args:
        runs: As :mod:`rerun_chapters` records them.

    Returns:
        Lines of Markdown.
    """
    by_setting: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        by_setting.setdefault(described(run["setting"], run["seen"]), []).append(run)
    lines = []
    for setting, its_runs in by_setting.items():
        n_equal = sum(run["passed"] for run in its_runs)
        result = f"{n_equal} of {len(its_runs)} chapters equal"
        if n_equal < len(its_runs) and all(map(_has_equal_texts, its_runs)):
            result += ", the others but for pixels of a figure"
        lines += [f":::{{admonition}} {setting}: {result}"]
        lines += [":class: note dropdown", ""]
        lines += ["| chapter | outputs | time | peak memory |", "|:--|:--|--:|--:|"]
        lines += [*map(_row, its_runs), ":::", ""]
    return lines


def described(setting: dict[str, Any], seen: dict[str, Any]) -> str:
    """Say in a phrase how the kernels were started.

    Args:
        setting: As recorded.
        seen: What a kernel with this setting found.
    """
    threads = setting["threads"]
    words = [f"{threads} thread{'s' * (threads > 1)}"]
    words += ["one core"] if setting["one_core"] else []
    words += [f"{setting['memory_mb'] / 1000:.0f} GB"] if setting["memory_mb"] else []
    words += ["a user who may not write"] if setting["read_only"] else []
    words += ["another environment"] if setting["python"] == "foreign" else []
    words += [f"from {FOLDERS[setting['place']]}"]
    return ", ".join(words) + f" (torch {seen['versions']['torch'].partition('+')[0]})"


def _has_equal_texts(run: dict[str, Any]) -> bool:
    """Say whether a run ended and printed what is stored; figures may differ."""
    return run["error"] is None and all(_is_figure(one) for one in run["differing"])


def _is_figure(difference: dict[str, Any]) -> bool:
    """Say whether what differs is a figure."""
    return str(difference["kind"]).startswith("image/")


def _row(run: dict[str, Any]) -> str:
    """Write a chapter's row."""
    n_cells = run["identical"] + len(run["differing"]) + run["not_run"]
    outputs = f"{run['identical']} of {n_cells} equal"
    if figures := sum(map(_is_figure, run["differing"])):
        outputs += f", {figures} but for pixels of a figure"
    if run["error"]:
        outputs += ", stopped" if run["not_run"] else ", over its limit"
    texts = (duration(run["wall"]), memory(run["peak"])) if "wall" in run else ("–", "–")
    time, peak = (text.replace(" ", "\N{NO-BREAK SPACE}") for text in texts)
    return f"| {{doc}}`/chapters/{run['chapter']}` | {outputs} | {time} | {peak} |"
