# SPDX-License-Identifier: MIT
"""The directive ``{chapter_map}``: the book at a glance, every box a link.

    :::{chapter_map}
    1: Why text is a teacher
    2-3: Parts and tokens
    Appendices: To look up
    :::

Each line is a stage of the map: the numbers of its chapters, or the caption of a part of
``_toc.yml``, and what the stage is for. The boxes come from ``_toc.yml``, their titles from it or
from the pages, their times from the receipts. A chapter that no stage names is an error, so the map
cannot lag behind the book. It is a list of links inside a ``nav`` element, for keyboards, screen
readers and narrow windows.
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

from book_pages.provenance.receipts import RECEIPTS, duration, load_chapter_receipts
from book_pages.theme.numbering import chapter_number

PARADIGMS = {"_gpt": "gpt", "_bert": "bert", "_t5": "t5"}  # end of a page's name → CSS class
NO_BREAK = "\N{NO-BREAK SPACE}"
_STAGE = re.compile(r"(?P<which>\d+(?:-\d+)?|[^\d:][^:]*): (?P<aim>.+)")


class Box(NamedTuple):
    """One page on the map."""

    page: str  # relative to the root, such as ``chapters/04_gpt``
    title: str
    number: int | None
    part: str  # caption of its part; empty outside of any


class Stage(NamedTuple):
    """One row of boxes."""

    aim: str
    boxes: list[Box]


class chapter_map(nodes.General, nodes.Element):
    """Node of the whole map."""


def register(app: Sphinx) -> None:
    """Add the directive and its node."""
    both = (_pass, _pass)
    app.add_node(chapter_map, html=(visit_map, depart_map), latex=both, text=both)
    app.add_directive("chapter_map", ChapterMapDirective)


def visit_map(translator: Any, node: chapter_map) -> None:
    """Open the landmark."""
    translator.body.append('<nav class="chapter-map" aria-label="Map of the chapters">\n')


def depart_map(translator: Any, node: chapter_map) -> None:
    """Close the landmark."""
    translator.body.append("</nav>\n")


def _pass(translator: object, node: nodes.Node) -> None:
    """Render the lists alone in other formats."""


def boxes_of(toc: Mapping[str, Any], root: Path) -> list[Box]:
    """List a box for each page of ``_toc.yml``, in order; the first page itself has none."""
    return [
        Box(
            page=entry["file"],
            title=entry.get("title") or page_title(root / entry["file"]),
            number=chapter_number(entry["file"]),
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
        ValueError: A line is malformed, a part does not exist, or a chapter is in no stage.
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
    missing = [box.page for box in boxes if box.number and box.page not in shown]
    if missing:
        raise ValueError(f"no stage of the map names {', '.join(missing)}")
    return [stage for stage in stages if stage.boxes]


def stage_lines(stage: Stage, receipts: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Write one stage as Markdown: a paragraph and a list of links, chapters with their run time.

    `receipts` map a page name without folder to its last run's cost.
    """
    lines = [stage.aim, ""]
    for box in stage.boxes:
        receipt = receipts.get(box.page.rsplit("/", 1)[-1])
        time = f"({duration(receipt['wall'])})" if receipt and box.number else ""
        text = f"{box.title} {time.replace(' ', NO_BREAK)}".strip()
        lines.append(f"- {{doc}}`{text} </{box.page}>`")
    return lines


class ChapterMapDirective(SphinxDirective):
    """``{chapter_map}``: its lines are the stages."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Build the map: one node with a container for each stage.

        Raises:
            docutils.utils.SystemMessage: The stages do not fit the table of contents.
        """
        root = Path(self.env.srcdir)
        for name in ("_toc.yml", RECEIPTS):
            self.env.note_dependency(str(root / name))
        toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
        try:
            stages = stages_of(list(self.content), boxes_of(toc, root))
        except ValueError as error:
            raise self.error(str(error)) from error
        whole = chapter_map()
        for stage in stages:
            whole += self._row(stage, stage_lines(stage, load_chapter_receipts(root)))
        return [whole]

    def _row(self, stage: Stage, lines: list[str]) -> nodes.container:
        """Parse one stage and mark the boxes of the paradigms."""
        row = nodes.container(classes=["chapter-map-stage"])
        self.state.nested_parse(StringList(lines, source="_toc.yml"), 0, row)
        for item, box in zip(row.findall(nodes.list_item), stage.boxes, strict=True):
            item["classes"] += [css for end, css in PARADIGMS.items() if box.page.endswith(end)]
        return row
