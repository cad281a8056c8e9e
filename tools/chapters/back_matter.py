# SPDX-License-Identifier: MIT
"""Read what the appendices must agree with: labels, bold terms, links, glossary entries.

Everything here works on text files, so that the tests of the appendices need no build.
"""

import re
from pathlib import Path
from typing import NamedTuple

LABELS = (
    r"^\(([a-z0-9-]+)\)=$",  # a section
    r"^:(?:label|name): ([a-z0-9-]+)$",  # a definition, an exercise, a table
    r"^\$\$ \(([a-z0-9-]+)\)$",  # an equation
    r"^ +name: ([a-z0-9-]+)$",  # a figure
    r"^:{3,}\{quiz\} ([a-z0-9-]+)$",  # a question of a quiz
)
_SECTION = re.compile(r"^\((sec-[a-z0-9-]+)\)=$")
_LINK = re.compile(r"\{(?:ref|numref|eq|prf:ref)\}`(?:[^`<]*<)?([a-z0-9-]+)>?`")
_DOC = re.compile(r"\{doc\}`(?:[^`<]*<)?/?(?:chapters/)?([\w-]+)>?`")
_CELL = re.compile(r"^```\{code-cell\}.*?^```$", re.M | re.S)
_BOLD = re.compile(r"\*\*(.+?)\*\*")


class Bold(NamedTuple):
    """A term in bold: as printed, the page's name, and the section's label ("" = before any)."""

    term: str
    page: str
    section: str


class Entry(NamedTuple):
    """A glossary entry: its names, and the labels and pages to which it links."""

    names: tuple[str, ...]
    links: frozenset[str]
    pages: frozenset[str]


def sources(root: Path) -> list[Path]:
    """List the text of every page: the twins, and the plain pages beside the notebooks."""
    folder = root / "chapters"
    return sorted((folder / "_text").glob("[0-9][0-9]_*.md")) + sorted(folder.glob("*.md"))


def labels(path: Path) -> list[str]:
    """List the labels that a page defines, unordered.

    They are of sections, definitions, exercises, tables, equations and figures.
    """
    text = path.read_text(encoding="utf-8")
    return [label for pattern in LABELS for label in re.findall(pattern, text, re.M)]


def links(text: str) -> list[str]:
    """List the labels to which a text links, in order."""
    return _LINK.findall(text)


def bold_terms(twin: Path) -> list[Bold]:
    """Find, in order, the terms that a chapter prints in bold in its prose.

    Numbers and run-in headings, which end in a full stop, colon, question or exclamation mark, are
    no terms. Code cells and tables are left out.
    """
    found, section = [], ""
    for line in _CELL.sub("", twin.read_text(encoding="utf-8")).splitlines():
        if match := _SECTION.match(line):
            section = match[1]
        if line.startswith("|"):
            continue
        for term in _BOLD.findall(line):
            if not re.search(r"[.:?!]$", term) and not re.fullmatch(r"[\d\s.,%]+", term):
                found.append(Bold(term, twin.stem, section))
    return found


def normal(term: str) -> str:
    """Write a term as the glossary compares it: lower case, no marks of code, no plural s."""
    word = term.lower().strip("`*")
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def glossary(page: Path) -> list[Entry]:
    """Read the entries of a page's `{glossary}` in order.

    Names are the lines without indent above an indented one.
    """
    text = page.read_text(encoding="utf-8")
    body = text.split(":::{glossary}", 1)[1].split("\n:::", 1)[0]
    entries: list[Entry] = []
    names: list[str] = []
    for line in body.splitlines():
        if line.startswith(" ") and line.strip():
            entries.append(
                Entry(tuple(names), frozenset(links(line)), frozenset(_DOC.findall(line)))
            )
            names = []
        elif line.strip() and not line.startswith(":"):
            names.append(line.strip())
    return entries
