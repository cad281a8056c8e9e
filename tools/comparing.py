# SPDX-License-Identifier: MIT
"""Compare an executed notebook with the stored one, cell by cell, byte for byte.

Texts are streams, plain text, HTML, Markdown, glued values and errors. As in nbval, the pieces in
which a stream arrives do not count, nor do the order between different kinds of output and the
execution counts, which :mod:`hygiene` checks. Unlike in nbval, images count: by their bytes or,
where these differ, by their decoded pixels. A reader's environment, without the press, glues
nothing; then glued values do not count, whose characters are printed in the same cell.
"""

import base64
import io
from dataclasses import dataclass, field
from typing import Any

from matplotlib import image
from nbformat import NotebookNode

GLUED = "application/papermill.record/"
PNG = "image/png"
QUOTED = 160
"""Characters of a line that a difference quotes."""


@dataclass(frozen=True)
class Difference:
    """Where a cell's output first differs."""

    cell: int
    """Index among all cells, from zero."""
    kind: str
    stored: str
    found: str

    def __str__(self) -> str:
        """Say it on three lines."""
        return f"cell {self.cell}, {self.kind}\n  stored: {self.stored}\n  found:  {self.found}"


@dataclass
class Comparison:
    """What is equal and what is not."""

    identical: int = 0
    """Code cells with the same texts and the same pixels."""
    ignored: int = 0
    """Code cells tagged nbval-ignore-output."""
    not_run: int = 0
    """Code cells that an error kept from running."""
    differing: list[Difference] = field(default_factory=list)
    """One for each other code cell."""
    images_same_bytes: int = 0
    images_same_pixels: int = 0
    """Images whose files differ, but whose pixels do not."""
    images_differing: int = 0

    def summary(self) -> str:
        """Say it in half a line."""
        words = [f"{self.identical} cells identical, {len(self.differing)} differing"]
        words += [f"{self.ignored} ignored"] if self.ignored else []
        words += [f"{self.not_run} not run"] if self.not_run else []
        parts = {
            "same bytes": self.images_same_bytes, "same pixels": self.images_same_pixels,
            "differing": self.images_differing,
        }  # fmt: skip
        pictures = [f"{n} {what}" for what, n in parts.items() if n]
        return ", ".join(words) + (f"; images: {', '.join(pictures)}" if pictures else "")


def compare(stored: NotebookNode, found: NotebookNode) -> Comparison:
    """Compare the outputs of two notebooks that hold the same cells.

    Args:
        stored: As in the repository.
        found: As executed now; a cell without an execution count did not run.

    Returns:
        Counts, and the first difference of each cell that differs.

    Raises:
        ValueError: The notebooks hold different cells.
    """
    if [cell.source for cell in stored.cells] != [cell.source for cell in found.cells]:
        raise ValueError("expected the same cells in both notebooks, but their sources differ")
    result = Comparison()
    glues = any(kind.startswith("glued ") for cell in found.cells for kind in _kinds(cell))
    for index, (old, new) in enumerate(zip(stored.cells, found.cells, strict=True)):
        if old.cell_type != "code":
            continue
        if new.execution_count is None and new.source.strip():
            result.not_run += 1
        elif "nbval-ignore-output" in old.metadata.get("tags", []):
            result.ignored += 1
        else:
            _compare_cells(result, index, old, new, glues)
    return result


def contents(cell: NotebookNode) -> dict[str, list[str]]:
    """Sort a cell's outputs by kind.

    Args:
        cell: A code cell.

    Returns:
        Kind → the contents in order; a stream is one content, a glued value's kind has its name.
    """
    found: dict[str, list[str]] = {}
    for output in cell.outputs:
        if output.output_type == "stream":
            kind = f"stream {output.name}"
            found[kind] = ["".join(found.get(kind, [])) + output.text]
        elif output.output_type == "error":
            found.setdefault("error", []).append(f"{output.ename}: {output.evalue}")
        for kind, content in output.get("data", {}).items():
            if kind.startswith(GLUED):
                name = output.metadata.get("scrapbook", {}).get("name", "")
                kind = f"glued {name!r}, {kind.removeprefix(GLUED)}"
            found.setdefault(kind, []).append(_text(content))
    return found


def differing_pixels(stored: str, found: str) -> int | None:
    """Count the pixels in which two images differ.

    Args:
        stored: PNG in base64.
        found: Another one.

    Returns:
        Their number; None where the images have different sizes.
    """
    one, other = (image.imread(io.BytesIO(base64.b64decode(png))) for png in (stored, found))
    if one.shape != other.shape:
        return None
    return int((one != other).reshape(*one.shape[:2], -1).any(axis=-1).sum())


def first_difference(stored: str, found: str) -> tuple[str, str]:
    """Quote the first line in which two texts differ.

    Args:
        stored: A text.
        found: Another one.

    Returns:
        The line in each, with its number, from a little before the first character that differs.
    """
    old, new = (text.split("\n") for text in (stored, found))
    pairs = enumerate(zip(old, new, strict=False))
    line = next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))
    a, b = (lines[line] if line < len(lines) else None for lines in (old, new))
    both = zip(a or "", b or "", strict=False)
    start = next((i for i, (x, y) in enumerate(both) if x != y), min(len(a or ""), len(b or "")))
    return _quote(a, line, start), _quote(b, line, start)


def _kinds(cell: NotebookNode) -> list[str]:
    """List the kinds of a cell's outputs; Markdown has none."""
    return list(contents(cell)) if cell.cell_type == "code" else []


def _compare_cells(
    result: Comparison, index: int, old: NotebookNode, new: NotebookNode, glues: bool
) -> None:
    """Compare the outputs of one cell, images last, and count it."""
    stored, found = contents(old), contents(new)
    if not glues:
        stored = {kind: text for kind, text in stored.items() if not kind.startswith("glued ")}
    pictures = _compare_images(result, stored.pop(PNG, []), found.pop(PNG, []))
    for kind in stored | found:
        if stored.get(kind) != found.get(kind):
            quoted = _first_of(stored.get(kind, []), found.get(kind, []))
            result.differing.append(Difference(index, kind, *quoted))
            return
    if pictures:
        result.differing.append(Difference(index, PNG, *pictures))
    else:
        result.identical += 1


def _compare_images(
    result: Comparison, stored: list[str], found: list[str]
) -> tuple[str, str] | None:
    """Compare images and count them; describe the first that differs."""
    stored, found = ([png.replace("\n", "") for png in pngs] for pngs in (stored, found))
    described = None
    for one, other in zip(stored, found, strict=False):
        pixels = 0 if one == other else differing_pixels(one, other)
        result.images_same_bytes += one == other
        result.images_same_pixels += one != other and pixels == 0
        result.images_differing += pixels != 0
        if pixels != 0 and described is None:
            described = ("an image", f"{pixels or 'all'} of its pixels differ")
    if len(stored) != len(found):
        return (f"{len(stored)} images", f"{len(found)} images")
    return described


def _first_of(stored: list[str], found: list[str]) -> tuple[str, str]:
    """Quote the first of several contents that differs."""
    for one, other in zip(stored, found, strict=False):
        if one != other:
            return first_difference(one, other)
    if not stored or not found:
        only = (stored or found)[0]
        here = _quote(only.split("\n")[0], 0, 0)
        return (here, "nothing") if stored else ("nothing", here)
    return f"{len(stored)} such outputs", f"{len(found)} such outputs"


def _quote(line: str | None, number: int, start: int) -> str:
    """Quote a line around a place in it."""
    if line is None:
        return f"ends before line {number + 1}"
    begin = 0 if len(line) <= QUOTED else max(0, start - QUOTED // 4)
    piece = line[begin : begin + QUOTED]
    return f"line {number + 1}: {'…' * (begin > 0)}{piece!r}{'…' * (begin + QUOTED < len(line))}"


def _text(content: Any) -> str:
    """Give an output's content as text; JSON contents by their representation."""
    return content if isinstance(content, str) else repr(content)
