# SPDX-License-Identifier: MIT
"""The directive ``{exercises}``: every exercise of the book, read from the chapters' own text.

One table a page: the exercise with a link, its title, and what stands below it (a hint, a
checker, a folded solution that is computed or written). Nothing is typed, so nothing can be out of
date. A chapter that is not in the table of contents is left out. Where no exercise has a solution,
as in the edition for students, the tables have no such column.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book_pages.directives.markdown import parse_markdown

TWINS = "chapters/_text"
_EXERCISE = re.compile(
    r"^:{3,}\{exercise(?:-start)?\} *(?P<title>.*)\n:label: (?P<label>\S+)$", re.M
)


class Exercise(NamedTuple):
    """One exercise: its label and title, and what the chapter offers with it."""

    label: str
    title: str
    has_hint: bool
    has_checker: bool
    solution: str  # "computed", "written" or "none"


def register(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("exercises", ExercisesDirective)


def exercises_of(text: str) -> Iterator[Exercise]:
    """Yield the exercises of a chapter's twin in their order."""
    found = list(_EXERCISE.finditer(text))
    for match, after in zip_longest(found, found[1:]):
        part = text[match.start() : after.start() if after else len(text)]
        label = match["label"]
        solution = re.search(
            rf"^:+\{{solution-start\}} {label}$(.*?)^:+\{{solution-end\}}", part, re.M | re.S
        )
        is_written = re.search(rf"^:+\{{solution\}} {label}$", part, re.M)
        kind = "none" if not solution and not is_written else "written"
        if solution and "{code-cell}" in solution[1]:
            kind = "computed"
        yield Exercise(label, match["title"], "*Hint.*" in part, f'check("{label}"' in part, kind)


def chapter_lines(name: str, text: str) -> list[str]:
    """Write one page's exercises as Markdown: the page's link, a table.

    `name` is the file name without ending, `text` the twin. Empty without exercises.
    """
    found = list(exercises_of(text))
    if not found:
        return []
    head = ("exercise", "title", "hint", "checker", "solution")
    rows: list[tuple[str, ...]] = [head, (":--",) * 5]
    for one in found:
        hint, checker = ("yes" if has else "–" for has in (one.has_hint, one.has_checker))
        rows.append((f"{{ref}}`{one.label}`", one.title, hint, checker, one.solution))
    if all(one.solution == "none" for one in found):
        rows = [row[:-1] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"{{doc}}`/chapters/{name}`", "", *lines, ""]


class ExercisesDirective(SphinxDirective):
    """``{exercises}``: all exercises of the chapters in the table of contents."""

    def run(self) -> list[nodes.Node]:
        """Read the twins and let the page's parser read their tables.

        Raises:
            docutils.utils.SystemMessage: No chapter has an exercise.
        """
        lines: list[str] = []
        for path in sorted((Path(self.env.srcdir) / TWINS).glob("[0-9][0-9]_*.md")):
            if f"chapters/{path.stem}" in self.env.found_docs:
                self.env.note_dependency(str(path))
                lines += chapter_lines(path.stem, path.read_text(encoding="utf-8"))
        if not lines:
            raise self.error(f"no exercises in {TWINS}")
        return parse_markdown(self, lines, TWINS)
