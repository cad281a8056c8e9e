# SPDX-License-Identifier: MIT
"""Checks of a stored chapter, as a list of complaints.

nbval compares outputs; it says nothing about missing counts, misspelled tags (which it ignores in
silence), figures without alternative text or a path of somebody's machine. These checks do.
"""

import ast
import base64
import gzip
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from tools.chapters.opening_cell import is_opening
from tools.chapters.store import page_kind, read_notebook

TAGS = {
    "hide-input",
    "hide-output",
    "hide-cell",
    "remove-input",
    "remove-output",
    "remove-cell",
    "raises-exception",
    "nbval-ignore-output",
}
PROOF = {"remove-cell", "hide-cell"}
DRAWING = {"hide-input", "remove-input"}
MAX_CODE_LINES = 25
MAX_IMAGE_BYTES = 100_000
MIN_ALT_LETTERS = 12
NOT_IN_OUTPUT = {
    "an absolute path": r"(?<![\w.<])/(?:home|root|Users|tmp|usr|opt|var|mnt|work|content)/",
    "a Windows path": r"\b[A-Z]:\\\w",
    "a web address": r"https?://",
    "a memory address": r"\b0x[0-9a-f]{8,}",
    "a progress bar": r"\d+%\|| it/s\]|█|▌",
    "a warning": r"\b(?:User|Future|Deprecation|Runtime)Warning\b",
}
WIDGET = "application/vnd.jupyter.widget-view+json"
_MARKDOWN_IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)]*)\)")
_FIGURE = re.compile(r"^(?P<fence>[`:]{3,})\{(?:figure|image)\}.*?^(?P=fence)", re.M | re.S)


def problems(path: Path) -> list[str]:
    """Check one notebook file: one line for each complaint, with the place."""
    notebook = read_notebook(path)
    found = [f"{path.name}: {complaint}" for complaint in _whole(notebook, path)]
    for index, cell in enumerate(notebook.cells):
        for check in CELL_CHECKS[cell.cell_type]:
            found += [f"{path.name}, cell {index}: {complaint}" for complaint in check(cell)]
    return found


def _whole(notebook: NotebookNode, path: Path) -> Iterator[str]:
    """Check what concerns the notebook as a whole: schema, title, counts, order of cells."""
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        yield f"breaks the notebook schema: {error.message}"
    title = _heading(notebook.cells[0].source) if notebook.cells else ""
    start = _title_start(path)
    if page_kind(path.stem) == "exercises":
        fits = title == start
    else:
        fits = re.match(rf"{re.escape(start)}[^\s\d]", title) is not None
    if not fits:
        yield f"expected a title '{start}…', got {title!r}"
    if page_kind(path.stem) != "behind" and any(
        "hide-cell" in cell.metadata.get("tags", []) for cell in notebook.cells
    ):
        yield "a proof folded with its output (hide-cell) belongs on a behind page"
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts must run 1, 2, 3 … without gaps (make run), got {counts}"
    kinds = [(index, kind_of(cell)) for index, cell in enumerate(notebook.cells)]
    met = [("", "none"), *(pair for pair in kinds if pair[1] in ("markdown", "raw", "lesson"))]
    for (_, before), (index, kind) in itertools.pairwise(met):
        if kind == "lesson" and before != "markdown":
            yield f"cell {index}: a lesson cell needs a sentence in a Markdown cell before it"


def _heading(source: str) -> str:
    """Return the first line of a Markdown cell that is no label."""
    return next((line for line in source.split("\n") if not line.startswith("(")), "")


def _title_start(path: Path) -> str:
    """Return how a page's title starts: with its number, but in front and back matter (00, 9x)."""
    number = int(path.name[:2])
    if not 0 < number < 90:
        return "# "
    sub_pages = {
        "behind": f"# Behind chapter {number}: ",
        "exercises": f"# Exercises for chapter {number}",
    }
    return sub_pages.get(page_kind(path.stem), f"# {number} ")


def kind_of(cell: NotebookNode) -> str:
    """Name the kind of a cell: "markdown", "raw", or of code "lesson", "drawing" or "proof".

    A lesson cell stands open; of a drawing (or the imports) the page folds the code and shows what
    it made; a proof (assertions, numbers for the prose) is on no page, or folded with its output
    on a behind page, and runs with the others.
    """
    if cell.cell_type != "code":
        return str(cell.cell_type)
    tags = set(cell.metadata.get("tags", []))
    return "proof" if tags & PROOF else "drawing" if tags & DRAWING else "lesson"


def open_code(notebook: NotebookNode) -> tuple[int, int]:
    """Count the lesson cells of a page, and their lines."""
    sources = [cell.source for cell in notebook.cells if kind_of(cell) == "lesson"]
    return len(sources), sum(source.count("\n") + 1 for source in sources)


def _lesson(cell: NotebookNode) -> Iterator[str]:
    """Keep what proves and what reports out of the cells that a reader meets."""
    if kind_of(cell) == "proof":
        return
    try:
        tree = ast.parse(cell.source)
    except SyntaxError:  # a magic
        return
    for node in ast.walk(tree):
        called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Assert) or called in ("report", "report_interval"):
            yield f"{called or 'assert'} in a cell that readers see; proofs: tag remove-cell"


def _tags(cell: NotebookNode) -> Iterator[str]:
    """Allow only tags that something reads, and an ignored output only with a reason."""
    tags = cell.metadata.get("tags", [])
    for tag in tags:
        if tag not in TAGS:
            yield f"unknown tag {tag!r}; allowed: {', '.join(sorted(TAGS))}"
    if "nbval-ignore-output" in tags and len(str(cell.metadata.get("reason", ""))) < 10:
        yield "nbval-ignore-output needs a reason in the cell's metadata"


def _source(cell: NotebookNode) -> Iterator[str]:
    """Keep code cells short, and free of the semicolon that nbval does not honour."""
    lines = cell.source.rstrip().split("\n")
    n_lines = len(lines) - _n_import_lines(cell.source)
    if n_lines > MAX_CODE_LINES and not is_opening(cell):  # that one is folded, and no page's
        yield f"{n_lines} lines of code beside imports, at most {MAX_CODE_LINES}"
    if lines[-1].rstrip().endswith(";"):
        yield "trailing ';': write _ = … instead"


def _n_import_lines(source: str) -> int:
    """Count the lines of imports; a cell that Python cannot parse (a magic) has none."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return 0
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum((node.end_lineno or 0) - node.lineno + 1 for node in imports)


def _outputs(cell: NotebookNode) -> Iterator[str]:
    """Refuse errors, the error stream, widgets and text that differs between machines."""
    tags = cell.metadata.get("tags", [])
    for output in cell.outputs:
        if output.output_type == "error" and "raises-exception" not in tags:
            yield f"stored error {output.ename}"
        if output.get("name") == "stderr":
            yield "stored output of the error stream"
        if WIDGET in output.get("data", {}):
            yield "stored widget view (make run strips it)"
        for what, pattern in NOT_IN_OUTPUT.items():
            if match := re.search(pattern, _output_text(output)):
                yield f"stored output holds {what}: {match.group(0)!r}"


def _images(cell: NotebookNode) -> Iterator[str]:
    """Require of each drawn image: SVG or PNG, small, one a cell, with name, caption, alt text."""
    bundles = [output.data for output in cell.outputs if "data" in output]
    kinds = [kind for data in bundles for kind in data if kind.startswith("image/")]
    if not kinds:
        return
    if not set(kinds) <= {"image/png", "image/svg+xml"} or len(kinds) > 1:
        yield f"expected one SVG or PNG image, got {', '.join(kinds)}"
    for data in bundles:
        drawing = str(data.get("image/svg+xml", "")).encode()
        size = len(base64.b64decode(data.get("image/png", ""))) + len(gzip.compress(drawing))
        if size > MAX_IMAGE_BYTES:
            yield f"image of {size:,} bytes, at most {MAX_IMAGE_BYTES:,}"
    settings: dict[str, Any] = cell.metadata.get("mystnb", {})
    yield from _alt(str(settings.get("image", {}).get("alt", "")))
    for key in ("name", "caption"):
        if not settings.get("figure", {}).get(key):
            yield f"image without mystnb figure {key}"


def _markdown_images(cell: NotebookNode) -> Iterator[str]:
    """Require alternative text of the images in Markdown, in either notation."""
    for match in _MARKDOWN_IMAGE.finditer(cell.source):
        yield from _alt(match["alt"])
    for match in _FIGURE.finditer(cell.source):
        written = re.search(r"^:alt:\s*(.*)$", match.group(0), re.M)
        yield from _alt(written.group(1) if written else "")


def _alt(text: str) -> Iterator[str]:
    """Complain about alternative text that is missing, a file name, or a mere word."""
    if len(text.strip()) < MIN_ALT_LETTERS or "_images/" in text:
        yield f"image needs written alt text (at least {MIN_ALT_LETTERS} letters), got {text!r}"


def _output_text(output: NotebookNode) -> str:
    """Join the text that an output stores, images left out."""
    texts = [output.get("text", "")]
    texts += [str(v) for kind, v in output.get("data", {}).items() if not kind.startswith("image/")]
    return "\n".join(texts)


CELL_CHECKS: dict[str, list[Callable[[NotebookNode], Iterator[str]]]] = {
    "code": [_tags, _source, _lesson, _outputs, _images],
    "markdown": [_tags, _markdown_images],
    "raw": [_tags],
}
