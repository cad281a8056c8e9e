# SPDX-License-Identifier: MIT
"""The directive ``{chapter_map}``: the book at a glance, every card a link.

    :::{chapter_map}
    0-3: Begin here
    4-7: Three questions to one Transformer
    Appendices: To look things up
    :::

Each line is a stage of the map: the numbers of its chapters, or the caption of a part of
``_toc.yml``, and what the stage is for. Chapters become cards with a picture and the minutes that
their lesson takes to read; the pages of a part become a list. Both come from ``_toc.yml``, the
titles from it or from the pages. A chapter that no stage names is an error, so the map cannot lag
behind the book. It is lists of links inside a ``nav`` element, for keyboards, screen readers and
narrow windows.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book_pages.directives.thumbnails import PICTURES, picture
from book_pages.links.prose import n_words
from book_pages.provenance.chapter_times import reading_minutes
from book_pages.theme.numbering import chapter_number

PARADIGMS = {"_gpt": "gpt", "_bert": "bert", "_t5": "t5"}  # end of a page's name → CSS class
FIRST = "chapters/00_"  # how the page before the first chapter begins; the map counts it as 0
_STAGE = re.compile(r"(?P<which>\d+(?:-\d+)?|[^\d:][^:]*): (?P<aim>.+)")


class Box(NamedTuple):
    """One page on the map."""

    page: str  # relative to the root, such as ``chapters/04_gpt``
    title: str
    number: int | None
    part: str  # caption of its part; empty outside of any


class Stage(NamedTuple):
    """One row of cards, or one list of pages."""

    aim: str
    boxes: list[Box]


class chapter_map(nodes.General, nodes.Element):
    """Node of the whole map."""


class minutes_to_read(nodes.General, nodes.Inline, nodes.Element):
    """Node of one page's reading time, which is known when all pages have been read."""


def register(app: Sphinx) -> None:
    """Add the directive and its nodes."""
    both = (_pass, _pass)
    app.add_node(chapter_map, html=(visit_map, depart_map), latex=both, text=both)
    app.add_node(minutes_to_read, html=(visit_minutes, _pass), latex=both, text=both)
    app.add_directive("chapter_map", ChapterMapDirective)


def visit_map(translator: Any, node: chapter_map) -> None:
    """Open the landmark."""
    translator.body.append('<nav class="chapter-map" aria-label="Map of the chapters">\n')


def depart_map(translator: Any, node: chapter_map) -> None:
    """Close the landmark."""
    translator.body.append("</nav>\n")


def visit_minutes(translator: Any, node: minutes_to_read) -> None:
    """Write how long a page's prose takes to read."""
    minutes = reading_minutes(n_words(translator.builder.env.get_doctree(node["page"])))
    translator.body.append(f' <small class="minutes">{minutes}\N{NO-BREAK SPACE}min</small>')


def _pass(translator: object, node: nodes.Node) -> None:
    """Render the lists alone in other formats."""


def boxes_of(toc: Mapping[str, Any], root: Path) -> list[Box]:
    """List a box for each page of ``_toc.yml``, in order; the first page itself has none."""
    return [
        Box(
            page=entry["file"],
            title=page_title(root / entry["file"]),
            number=0 if entry["file"].startswith(FIRST) else chapter_number(entry["file"]),
            part=part["caption"],
        )
        for part in toc["parts"]
        for entry in part["chapters"]
    ]


def page_title(page: Path) -> str:
    """Read a page's first heading; `page` is a notebook or Markdown file, without its ending."""
    notebook = page.with_suffix(".ipynb")
    if notebook.exists():
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        text = "".join(cells[0]["source"])
    else:
        text = page.with_suffix(".md").read_text(encoding="utf-8")
    found = re.search(r"^# (.+)$", text, re.M)
    return found[1] if found else page.name


def stages_of(lines: list[str], boxes: list[Box]) -> list[Stage]:
    """Sort the boxes into the stages that the directive names, those without a page left out.

    `lines` read ``2-3: aim`` or ``Appendices: aim``; empty ones are skipped.

    Raises:
        ValueError: A line is malformed, a part does not exist, or a chapter is in no stage or has
            no picture.
    """
    stages, parts = [], {box.part for box in boxes}
    for line in filter(str.strip, lines):
        match = _STAGE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"expected '2-3: aim' or 'Part: aim', got {line!r}")
        which = match["which"]
        if which[0].isdigit():
            first, _, last = which.partition("-")
            numbers = range(int(first), int(last or first) + 1)
            found = [box for box in boxes if box.number in numbers]
        elif which in parts:
            found = [box for box in boxes if box.part == which]
        else:
            raise ValueError(f"expected a part from {sorted(parts)}, got {which!r}")
        stages.append(Stage(match["aim"], found))
    shown = {box.page for stage in stages for box in stage.boxes}
    missing = [box.page for box in boxes if box.number is not None and box.page not in shown]
    if missing:
        raise ValueError(f"no stage of the map names {', '.join(missing)}")
    if bare := {box.number for box in boxes if box.number is not None} - set(PICTURES):
        raise ValueError(f"no picture in thumbnails.py for the chapters {sorted(bare)}")
    return [stage for stage in stages if stage.boxes]


def stage_lines(stage: Stage) -> list[str]:
    """Write one stage as Markdown: a paragraph and a list of links."""
    return [stage.aim, "", *(f"- {{doc}}`{box.title} </{box.page}>`" for box in stage.boxes)]


class ChapterMapDirective(SphinxDirective):
    """``{chapter_map}``: its lines are the stages."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Build the map: one node with a container for each stage.

        Raises:
            docutils.utils.SystemMessage: The stages do not fit the table of contents.
        """
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / "_toc.yml"))
        toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
        try:
            stages = stages_of(list(self.content), boxes_of(toc, root))
        except ValueError as error:
            raise self.error(str(error)) from error
        whole = chapter_map()
        for stage in stages:
            whole += self._row(stage)
        return [whole]

    def _row(self, stage: Stage) -> nodes.container:
        """Parse one stage, and make cards of its chapters."""
        row = nodes.container(classes=["chapter-map-stage"])
        lines = StringList(stage_lines(stage), source="_toc.yml")
        self.state.nested_parse(lines, 0, row)
        for item, box in zip(row.findall(nodes.list_item), stage.boxes, strict=True):
            if box.number is None:
                continue
            item["classes"] += ["card-of-chapter"]
            item["classes"] += [css for end, css in PARADIGMS.items() if box.page.endswith(end)]
            item.insert(0, nodes.raw("", picture(box.number), format="html"))
            (paragraph,) = item.findall(nodes.paragraph)
            paragraph += minutes_to_read(page=box.page)
        return row
