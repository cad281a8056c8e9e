# SPDX-License-Identifier: MIT
"""The directive ``{course}``: a course whose minutes add up.

    :::{course} 90
    Attention is a soft lookup | sec-trf-lookup sec-trf-heads | ex-trf-attend ex-trf-scale
    15 | vote on {ref}`one <quiz-trf-turn>`
    75 | the cells of {ref}`sec-trf-lookup`, live

    Masks are permissions | sec-trf-masks | ex-trf-leak
    90 | …
    :::

A session is its topic, the sections to read before, the exercises to do after, and the parts of
the time in class. A table of all sessions comes first, with the words of the sections and the time
that reading and exercises take; then each session has a table. A session whose parts do not fill
the time stops the build, and so does a section, or an exercise, that the book does not have.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book_pages.directives.exercises import TWINS, exercises_of
from book_pages.directives.teaching import read_purposes

WORDS_A_MINUTE = 150  # assumed: slow, because figures, formulas and code are read as well
EXERCISE_MINUTES = {
    "warm-up": 10,
    "derivation": 30,
    "experiment": 60,
    "extension": 180,
    "open question": 20,
}
"""Estimates, as the page for teachers says; an exercise without a checker is an open question."""
_CODE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)$\n?", re.MULTILINE | re.DOTALL)
_OPTION_LINE = re.compile(r"^:[\w-]+:.*$\n?", re.MULTILINE)
_LABEL = re.compile(r"^\((sec-[\w-]+)\)=\n(#+) ", re.MULTILINE)
_HEADING = re.compile(r"^(?:\(sec-[\w-]+\)=\n)?(#+) ", re.MULTILINE)
_MARKS = re.compile(r"^(?:\([\w-]+\)=$|#+ |:{3,}.*$)", re.MULTILINE)  # labels and fences


class Meeting(NamedTuple):
    """One session of a course; `parts` are pairs of minutes and what is done."""

    topic: str
    sections: tuple[str, ...]
    exercises: tuple[str, ...]
    parts: tuple[tuple[int, str], ...]


def register(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("course", CourseDirective)


def read_course(text: str, minutes: int) -> list[Meeting]:
    """Read the sessions of a course, with a blank line between them.

    Raises:
        ValueError: A line has not its form, or a session's parts do not add up to `minutes`.
    """
    found = []
    for block in re.split(r"\n\s*\n", text.strip()):
        head, *lines = [line.strip() for line in block.splitlines()]
        fields = [field.strip() for field in head.split("|")]
        if len(fields) != 3:
            raise ValueError(f"expected 'topic | sections | exercises', got {head!r}")
        pairs = [line.partition("|") for line in lines]
        if bad := [
            line for line, pair in zip(lines, pairs, strict=True) if not pair[0].strip().isdigit()
        ]:
            raise ValueError(f"{fields[0]}: expected 'minutes | what is done', got {bad[0]!r}")
        parts = tuple((int(number), what.strip()) for number, _, what in pairs)
        if (total := sum(number for number, _ in parts)) != minutes:
            raise ValueError(f"{fields[0]}: the parts take {total} minutes, expected {minutes}")
        sections, exercises = (tuple(names.split()) for names in fields[1:])
        found.append(Meeting(fields[0], sections, exercises, parts))
    return found


def count_words(texts: list[str]) -> dict[str, int]:
    """Count the words of every section with a label, without code: label → words.

    A section ends at the next heading of its own or a higher level, so its sub-sections count.
    """
    counts = {}
    for text in texts:
        prose = _OPTION_LINE.sub("", _CODE.sub("", text))
        headings = [(match.start(), len(match[1])) for match in _HEADING.finditer(prose)]
        for match in _LABEL.finditer(prose):
            later = (at for at, level in headings if at > match.start() and level <= len(match[2]))
            section = prose[match.start() : next(later, len(prose))]
            counts[match[1]] = len(_MARKS.sub("", section).split())
    return counts


def course_lines(
    meetings: list[Meeting], words: Mapping[str, int], minutes_of: Mapping[str, int]
) -> list[str]:
    """Write a course as Markdown: a table of all sessions, then one for each.

    Args:
        words: Section → its words.
        minutes_of: Exercise → the minutes that it takes.

    Raises:
        ValueError: A session names a section or an exercise that is not among these.
    """
    used = {name for one in meetings for name in (*one.sections, *one.exercises)}
    if absent := sorted(used - set(words) - set(minutes_of)):
        raise ValueError(f"the book has no {', '.join(absent)}")
    rows, tables, sums = [], [], [0, 0, 0]
    for number, one in enumerate(meetings, start=1):
        in_class = sum(minutes for minutes, _ in one.parts)
        reading = round(sum(words[name] for name in one.sections) / WORDS_A_MINUTE)
        at_home = sum(minutes_of[name] for name in one.exercises)
        sums = [a + b for a, b in zip(sums, (reading, in_class, at_home), strict=True)]
        links = [", ".join(f"{{ref}}`{n}`" for n in names) or "–" for names in one[1:3]]
        rows.append(f"| {number} | {one.topic} | {reading} | {in_class} | {at_home} |")
        tables += [f"```{{rubric}} Session {number}: {one.topic}\n```", "",
                   f"Read before: {links[0]} ({sum(words[n] for n in one.sections):,} words).", "",
                   "| minutes | in class |", "|--:|:--|",
                   *(f"| {minutes} | {what} |" for minutes, what in one.parts),
                   f"| {in_class} | in all |", "", f"Afterwards: {links[1]}.", ""]  # fmt: skip
    hours = [f"{minutes / 60:.0f} hours" for minutes in sums]
    head = ["| session | topic | reading (min) | in class (min) | exercises (min) |",
            "|--:|:--|--:|--:|--:|"]  # fmt: skip
    lines = [*head, *rows, f"| | all {len(meetings)} | {' | '.join(hours)} |", "", *tables]
    return "\n".join(lines).split("\n")


class CourseDirective(SphinxDirective):
    """``{course} MINUTES``: its content are the sessions, its argument their length."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Build the tables.

        Raises:
            docutils.utils.SystemMessage: The course does not add up or names what is not there.
        """
        root = Path(self.env.srcdir)
        twins = sorted((root / TWINS).glob("[0-9][0-9]_*.md"))
        texts = [path.read_text(encoding="utf-8") for path in twins]
        for path in twins:
            self.env.note_dependency(str(path))
        purposes = read_purposes(root)
        labels = [one.label for text in texts for one in exercises_of(text)]
        minutes_of = {n: EXERCISE_MINUTES[purposes.get(n, "open question")] for n in labels}
        try:
            meetings = read_course("\n".join(self.content), int(self.arguments[0]))
            lines = course_lines(meetings, count_words(texts), minutes_of)
        except ValueError as error:
            raise self.error(str(error)) from error
        container = nodes.container(classes=["sessions"])
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, container)
        return [container]
