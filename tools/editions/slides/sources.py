# SPDX-License-Identifier: MIT
"""What a slide may show: figures, tables, formulas, code and numbers as the chapters store them.

Everything is found by the label or the words that the chapter itself uses. If a label is gone or a
cell has not been run, no slides are made.
"""

import base64
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nbformat import NotebookNode

from tools.chapters.store import ROOT, ChapterError, notebook_paths, read_notebook
from tools.editions.slides.faces import with_faces

RECORD = "application/papermill.record/text/plain"
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_GLUE = re.compile(r"\{glue:text\}`(?:(?P<page>\w+)\.ipynb::)?(?P<key>[\w-]+)(?::\w+)?`")
_ROLE = re.compile(r" ?\{[a-z:]+\}`(?:(?P<words>[^`<]*?) *<[^`]*>|[^`]*)`")


class Figure(NamedTuple):
    """A chapter's image: SVG or PNG, alternative text, the caption's claim, where it stands."""

    image: bytes
    alt: str
    claim: str
    chapter: str

    @property
    def aspect(self) -> float:
        """Width over height, read from the SVG's first line or from the PNG's header."""
        if box := re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', self.image):
            return float(box[1]) / float(box[2])
        width, height = (int.from_bytes(self.image[at : at + 4], "big") for at in (16, 20))
        return width / height

    @property
    def address(self) -> str:
        """The image as a data address; a drawing brings its letters along."""
        is_drawn = self.image.startswith(b"<svg")
        data = with_faces(self.image.decode()).encode() if is_drawn else self.image
        kind = "svg+xml" if is_drawn else "png"
        return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


class Chapters:
    """The stored notebooks, read once."""

    def __init__(self, root: Path = ROOT) -> None:
        """Remember the repository's folder; nothing is read yet."""
        self._paths = {path.stem: path for path in notebook_paths(root)}
        self._read = cache(read_notebook)

    def cells(self, chapter: str = "") -> list[tuple[str, NotebookNode]]:
        """List pairs of page and cell, of one chapter with its sub-pages, or of all.

        `chapter` is the lesson's file name without ending; empty = all.

        Raises:
            ChapterError: There is no such chapter.
        """
        if chapter and chapter not in self._paths:
            raise ChapterError(f"no chapter {chapter!r}; there are: {', '.join(self._paths)}")
        names = [name for name in self._paths if name.startswith(chapter)]
        return [(name, cell) for name in names for cell in self._read(self._paths[name]).cells]

    def figure(self, label: str) -> Figure:
        """Find a drawn figure with its texts by its label, such as ``fig-gpt-loss``.

        Raises:
            ChapterError: No cell has this label, or it stores no image.
        """
        for name, cell in self.cells():
            settings = cell.metadata.get("mystnb", {})
            if settings.get("figure", {}).get("name") != label:
                continue
            for output in cell.outputs:
                data = output.get("data", {})
                if "image/svg+xml" in data or "image/png" in data:
                    drawn = str(data.get("image/svg+xml", "")).encode()
                    image = drawn or base64.b64decode(data["image/png"])
                    alt = str(settings["image"]["alt"]).strip()
                    bold = _BOLD.search(str(settings["figure"]["caption"]))
                    claim = plain(bold[1]) if bold else ""
                    return Figure(image, alt, claim, name)
            raise ChapterError(f"{name}: {label} has no stored image; make run")
        raise ChapterError(f"no figure {label!r} in the chapters")

    def value(self, chapter: str, key: str) -> str:
        """Find a reported number by its key, as the chapter prints it, unit included.

        Raises:
            ChapterError: The chapter stores no such value.
        """
        for _, cell in self.cells(chapter):
            for output in cell.get("outputs", []):
                name = output.get("metadata", {}).get("scrapbook", {}).get("name")
                if name == key and RECORD in output.get("data", {}):
                    return str(output["data"][RECORD]).strip("'\"")
        raise ChapterError(f"{chapter} reports no value {key!r}")

    def output(self, chapter: str, words: str, n_rows: int | None = None) -> str:
        """Find the stored table or bars of the cell whose code alone holds some words, as HTML.

        `n_rows` is the number of rows below the head that a slide shows; None = all.

        Raises:
            ChapterError: No cell, or several, hold these words, or it stores no HTML.
        """
        cell = self._cell(chapter, words)
        for output in cell.outputs:
            if "text/html" in output.get("data", {}):
                shown = str(output["data"]["text/html"])
                rows = re.findall(r"<tr\b.*?</tr>", shown, re.S)
                for row in rows[1 + n_rows :] if n_rows is not None else []:
                    shown = shown.replace(row, "", 1)
                return shown
        raise ChapterError(f"{chapter}: the cell with {words!r} stores no table; make run")

    def code(self, chapter: str, words: str) -> str:
        """Find code by words in it: the one definition that they begin, or else the whole cell.

        Raises:
            ChapterError: No cell, or several, hold these words.
        """
        source = str(self._cell(chapter, words).source)
        lines = source.split("\n")
        start = next((n for n, line in enumerate(lines) if line.startswith(words)), None)
        if start is None or not re.match(r"def |class ", words):
            return source
        inside = [n for n in range(start + 1, len(lines)) if re.match(r"[^\s)]", lines[n])]
        return "\n".join(lines[start : inside[0] if inside else len(lines)]).strip()

    def equation(self, label: str) -> str:
        """Find a displayed formula by its label and return its LaTeX."""
        return self._text(rf"^\$\$\n([^$]*)^\$\$ \({label}\)$", label).strip()

    def table(self, label: str, n_rows: int | None = None) -> str:
        """Find a table by its label, such as ``tab-gpt-versions``: its Markdown, roles as words.

        `n_rows` is the number of rows that a slide shows; None = all.

        Raises:
            ChapterError: No chapter has this table.
        """
        text = self._text(
            rf"^:::+\{{table\}}[^\n]*\n(?::[^\n]*\n)*?:name: {label}\n(.*?)^:::", label
        )
        page = self.page_of("table", label)
        text = _GLUE.sub(lambda m: self.value(m["page"] or page, m["key"]), text)
        lines = [line for line in text.split("\n") if line.startswith("|")]
        return plain("\n".join(lines[: None if n_rows is None else 2 + n_rows]))

    def page_of(self, kind: str, label: str) -> str:
        """Name the page that a figure, an equation or a table comes from, by its label.

        Raises:
            ChapterError: No chapter has it.
        """
        if kind == "figure":
            return self.figure(label).chapter
        wanted = f"$$ ({label})" if kind == "equation" else f":name: {label}\n"
        for name, cell in self.cells():
            if cell.cell_type == "markdown" and wanted in f"{cell.source}\n":
                return name
        raise ChapterError(f"no {label!r} in the chapters")

    def _cell(self, chapter: str, words: str) -> NotebookNode:
        """Find the one code cell of a chapter's first page with some words that holds them."""
        code = [(name, cell) for name, cell in self.cells(chapter) if cell.cell_type == "code"]
        having = [(name, cell) for name, cell in code if words in cell.source]
        found = [cell for name, cell in having if name == having[0][0]]
        if len(found) != 1:
            raise ChapterError(f"{chapter}: {len(found)} cells hold {words!r}, expected one")
        return found[0]

    def _text(self, pattern: str, label: str) -> str:
        """Find what a pattern catches in any Markdown cell."""
        for _, cell in self.cells():
            match = re.search(pattern, cell.source, re.M | re.S)
            if match and cell.cell_type == "markdown":
                return match[1]
        raise ChapterError(f"no {label!r} in the chapters")


def plain(text: str) -> str:
    """Replace MyST roles by their words, or by nothing, since a slide links to no other page."""
    words = _ROLE.sub(lambda m: f" {m['words']}" if m["words"] else "", text)
    return words.replace(" ()", "").strip()  # a bracket that held nothing but a link
