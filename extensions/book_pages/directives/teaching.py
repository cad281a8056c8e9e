# SPDX-License-Identifier: MIT
"""The directives ``{sessions}`` and ``{exercise_tests}``: tables for teachers.

    :::{sessions}
    1, Monday | 1 2 | What attention is | ex-trf-scale ex-trf-count
    :::

makes a plan whose running times come from the receipts. ``{exercise_tests}`` lists every exercise
of the book with its purpose, which its checker states, and what it tests, which
``data/exercises.toml`` states in one line each. An exercise without such a line, and a
session with a chapter that has not run, are errors.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book_pages.directives.exercises import TWINS, Exercise, exercises_of
from book_pages.provenance.receipts import RECEIPTS, duration, load_chapter_receipts
from book_pages.theme.numbering import SUB_PAGES

TESTS = "data/exercises.toml"
CHECKERS = "code/pretrain_book/exercises"
_PURPOSE = re.compile(r'\w+\(\s*"(ex-[a-z0-9-]+)",\s*"(warm-up|derivation|experiment|extension)"')


class Session(NamedTuple):
    """One lecture or block of a plan."""

    when: str
    chapters: list[int]
    topic: str
    exercises: list[str]


def register(app: Sphinx) -> None:
    """Add the directives."""
    app.add_directive("sessions", SessionsDirective)
    app.add_directive("exercise_tests", ExerciseTestsDirective)


def read_tests(root: Path) -> dict[str, str]:
    """Read what each exercise tests: label → half a sentence."""
    tests: dict[str, str] = tomllib.loads((root / TESTS).read_text(encoding="utf-8"))["tests"]
    return tests


def read_purposes(root: Path) -> dict[str, str]:
    """Read from the checkers' sources what each exercise is for: label → purpose."""
    sources = sorted((root / CHECKERS).glob("*.py"))
    found = [pair for path in sources for pair in _PURPOSE.findall(path.read_text("utf-8"))]
    return dict(found)


def session_of(line: str) -> Session:
    """Read one line of a plan: ``when | chapter numbers | topic | exercise labels`` (may be empty).

    Raises:
        ValueError: There are not four fields, or a chapter is no number.
    """
    fields = [field.strip() for field in line.split("|")]
    if len(fields) != 4 or not all(number.isdigit() for number in fields[1].split()):
        raise ValueError(f"expected 'when | 1 2 | topic | ex-a-b', got {line!r}")
    when, numbers, topic, exercises = fields
    return Session(when, [int(number) for number in numbers.split()], topic, exercises.split())


def session_lines(
    sessions: list[Session], pages: Mapping[int, str], receipts: Mapping[str, Mapping[str, float]]
) -> list[str]:
    """Write a plan of one or more sessions as the lines of a Markdown table.

    Args:
        pages: Chapter number → page name without folder.
        receipts: Page name → its last run's cost.

    Raises:
        ValueError: A session names a chapter without page or receipt.
    """
    lines = [
        "| session | chapters | topic | time to run | exercises |",
        "|:--|:--|:--|--:|:--|",
    ]
    for one in sessions:
        names = [pages.get(number, "") for number in one.chapters]
        absent = [n for n, name in zip(one.chapters, names, strict=True) if name not in receipts]
        if absent:
            raise ValueError(f"{one.when}: no receipt of chapter {absent}; make run writes it")
        time = duration(sum(receipts[name]["wall"] for name in names)) if names else "–"
        chapters = ", ".join(
            f"{{doc}}`{number} </chapters/{name}>`"
            for number, name in zip(one.chapters, names, strict=True)
        )
        exercises = ", ".join(f"{{ref}}`{label}`" for label in one.exercises) or "–"
        lines.append(f"| {one.when} | {chapters or '–'} | {one.topic} | {time} | {exercises} |")
    return lines


def test_lines(
    exercises: list[Exercise], tests: Mapping[str, str], purposes: Mapping[str, str]
) -> list[str]:
    """Write one chapter's exercises as the lines of a Markdown table; none without exercises.

    Args:
        exercises: In the chapter's order.
        tests: Label → what it tests.
        purposes: Label → purpose; a missing one is an open question.

    Raises:
        ValueError: An exercise has no line that says what it tests.
    """
    missing = [one.label for one in exercises if not tests.get(one.label)]
    if missing:
        raise ValueError(f"{TESTS} does not say what {', '.join(missing)} tests")
    rows = [
        f"| {{ref}}`{one.label}` | {one.title} | {purposes.get(one.label, 'open question')} | "
        f"{tests[one.label]} |"
        for one in exercises
    ]
    head = ["| exercise | title | purpose | tests whether the reader can |", "|:--|:--|:--|:--|"]
    return [*head, *rows, ""] if rows else []


class _TeachingDirective(SphinxDirective):
    """What both directives share: the pages that the book lists, and parsing a table."""

    def pages(self) -> list[Path]:
        """List the twins of the notebooks in the table of contents."""
        twins = sorted((Path(self.env.srcdir) / TWINS).glob("[0-9][0-9]_*.md"))
        return [path for path in twins if f"chapters/{path.stem}" in self.env.found_docs]

    def parsed(self, lines: list[str], css: str) -> list[nodes.Node]:
        """Parse Markdown with the page's parser, into a container."""
        container = nodes.container(classes=[css])
        self.state.nested_parse(StringList(lines, source=TESTS), 0, container)
        return [container]


class SessionsDirective(_TeachingDirective):
    """``{sessions}``: its lines are the sessions of a plan."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Build the table.

        Raises:
            docutils.utils.SystemMessage: A line is malformed, or a chapter has no receipt.
        """
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / RECEIPTS))
        lessons = [path.stem for path in self.pages() if not path.stem.endswith(SUB_PAGES)]
        pages = {int(name[:2]): name for name in lessons}
        try:
            sessions = [session_of(line) for line in self.content if line.strip()]
            return self.parsed(
                session_lines(sessions, pages, load_chapter_receipts(root)), "sessions"
            )
        except ValueError as error:
            raise self.error(str(error)) from error


class ExerciseTestsDirective(_TeachingDirective):
    """``{exercise_tests}``: all exercises of the book, chapter by chapter."""

    def run(self) -> list[nodes.Node]:
        """Build the tables.

        Raises:
            docutils.utils.SystemMessage: It is not said what an exercise tests.
        """
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / TESTS))
        tests, purposes = read_tests(root), read_purposes(root)
        lines: list[str] = []
        for path in self.pages():
            self.env.note_dependency(str(path))
            exercises = list(exercises_of(path.read_text(encoding="utf-8")))
            try:
                table = test_lines(exercises, tests, purposes)
            except ValueError as error:
                raise self.error(str(error)) from error
            lines += [f"{{doc}}`/chapters/{path.stem}`", "", *table] if table else []
        return self.parsed(lines, "exercise-tests")
