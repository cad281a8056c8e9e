# SPDX-License-Identifier: MIT
"""What a label of the book is called, and where it stands, as the build numbered it."""

from typing import NamedTuple

from docutils import nodes
from sphinx.environment import BuildEnvironment

from book_pages.theme.numbering import short_name

NAMES = {
    "figure": "Figure",
    "table": "Table",
    "code-block": "Listing",
    "definition": "Definition",
    "theorem": "Theorem",
    "exercise": "Exercise",
    "displaymath": "Equation",
}
STRAIGHT = str.maketrans("“”‘’", "\"\"''")
"""Marks that the build curls, as the notebooks have them."""


class Target(NamedTuple):
    """What a reference leads to."""

    page: str  # relative to the root, such as ``chapters/05_bert``
    section: str  # heading below which it stands; empty = the page's title
    number: str  # such as "5.2"; empty where nothing counts
    name: str  # such as "Figure 5.2", or a section's title


def collect(env: BuildEnvironment) -> dict[str, Target]:
    """Return every label with its target; equations have theirs without "equation-"."""
    found: dict[str, Target] = {}
    for page, kinds in env.toc_fignumbers.items():
        headings = _headings(env.get_doctree(page))
        for kind, numbers in kinds.items():
            for anchor, parts in numbers.items():
                number = ".".join(map(str, parts))
                label = anchor.removeprefix("equation-")
                name = f"{NAMES.get(kind, kind.capitalize())} {number}"
                found[label] = Target(page, headings.get(anchor, ""), number, name)
    for label, (page, anchor, title) in env.get_domain("std").data["labels"].items():
        if page.startswith("chapters/") and label not in found:
            headings = _headings(env.get_doctree(page))
            number = ".".join(map(str, _section_number(env, page, anchor)))
            found[label] = Target(page, headings.get(anchor, ""), number, title)
    return found


def page_titles(env: BuildEnvironment) -> dict[str, str]:
    """Return what to call every page in a sentence."""
    return {page: short_name(page, title.astext()) for page, title in env.titles.items()}


def _section_number(env: BuildEnvironment, page: str, anchor: str) -> tuple[int, ...]:
    """Return the number of a section by any of its ids; empty for anything else."""
    numbers = env.toc_secnumbers.get(page, {})
    for section in env.get_doctree(page).findall(nodes.section):
        if anchor in section["ids"]:
            return next((numbers[f"#{i}"] for i in section["ids"] if f"#{i}" in numbers), ())
    return ()


def _headings(doctree: nodes.document) -> dict[str, str]:
    """Return for every id of a page the heading of the nearest section below the title."""
    found: dict[str, str] = {}
    for section in doctree.findall(nodes.section):  # inner ones come after the one they are in
        title = next(section.findall(nodes.title), None)
        if title is not None and isinstance(section.parent, nodes.section):
            inside = [one for node in section.findall(nodes.Element) for one in node.get("ids", [])]
            found |= dict.fromkeys(inside, title.astext().translate(STRAIGHT))
    return found
