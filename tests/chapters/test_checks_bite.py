# SPDX-License-Identifier: MIT
"""Every check of the chapters turns red on a planted mistake, and only then."""

import base64
import io
from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib import image
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from nbval_process import nbval

from tools.chapters import hygiene

Spoil = Callable[[NotebookNode], None]


def png(side: int) -> str:
    """Return a PNG of random pixels, which no compression shrinks."""
    pixels = np.random.default_rng(0).integers(0, 255, (side, side, 3), dtype=np.uint8)
    stream = io.BytesIO()
    image.imsave(stream, pixels, format="png")
    return base64.b64encode(stream.getvalue()).decode()


def code_cell(notebook: NotebookNode) -> NotebookNode:
    """Return the first code cell."""
    return next(cell for cell in notebook.cells if cell.cell_type == "code")


def show(notebook: NotebookNode, kind: str, content: str) -> None:
    """Add a displayed output to the first code cell."""
    code_cell(notebook).outputs.append(new_output("display_data", {kind: content}))


def say(notebook: NotebookNode, text: str, stream: str = "stdout") -> None:
    """Add printed text to the first code cell."""
    code_cell(notebook).outputs.append(new_output("stream", name=stream, text=text))


def describe(notebook: NotebookNode, alt: str, caption: str = "A caption.") -> None:
    """Give the first code cell the metadata of a figure."""
    settings = {"image": {"alt": alt}, "figure": {"name": "fig-x", "caption": caption}}
    code_cell(notebook).metadata["mystnb"] = settings


def misspelled_tag(notebook: NotebookNode) -> None:
    code_cell(notebook).metadata["tags"] = ["nbval-ignore-ouptut"]


def ignored_without_reason(notebook: NotebookNode) -> None:
    code_cell(notebook).metadata["tags"] = ["nbval-ignore-output"]


def missing_count(notebook: NotebookNode) -> None:
    code_cell(notebook).execution_count = None


def count_gap(notebook: NotebookNode) -> None:
    code_cell(notebook).execution_count = 5


def long_cell(notebook: NotebookNode) -> None:
    code_cell(notebook).source = "\n".join(f"x{i} = {i}" for i in range(26))


def semicolon(notebook: NotebookNode) -> None:
    code_cell(notebook).source += ";"


def no_sentence(notebook: NotebookNode) -> None:
    notebook.cells.append(new_code_cell("1", execution_count=3))


def proof_in_a_lesson(notebook: NotebookNode) -> None:
    code_cell(notebook).source += "\nassert total"


def number_in_a_drawing(notebook: NotebookNode) -> None:
    code_cell(notebook).metadata["tags"] = ["hide-input"]
    code_cell(notebook).source += '\nif total:\n    report("total", total)'


def wrong_title(notebook: NotebookNode) -> None:
    notebook.cells[0].source = "# 8 A planted chapter"


def stored_error(notebook: NotebookNode) -> None:
    code_cell(notebook).outputs = [new_output("error", ename="ValueError", evalue="", traceback=[])]


def image_without_alt(notebook: NotebookNode) -> None:
    show(notebook, "image/png", png(8))
    describe(notebook, "")


def image_with_path_as_alt(notebook: NotebookNode) -> None:
    show(notebook, "image/png", png(8))
    describe(notebook, "../_images/0123456789abcdef.png")


def image_without_caption(notebook: NotebookNode) -> None:
    show(notebook, "image/png", png(8))
    describe(notebook, "A square of random pixels", caption="")


def large_image(notebook: NotebookNode) -> None:
    show(notebook, "image/png", png(200))
    describe(notebook, "A square of random pixels")


def large_drawing(notebook: NotebookNode) -> None:
    show(notebook, "image/svg+xml", f"<svg>{png(200)}</svg>")
    describe(notebook, "A square of random pixels")


def photograph(notebook: NotebookNode) -> None:
    show(notebook, "image/jpeg", png(8))
    describe(notebook, "A square of random pixels")


def markdown_image_without_alt(notebook: NotebookNode) -> None:
    notebook.cells.append(new_markdown_cell("![](assets/x.png)"))


def figure_directive_without_alt(notebook: NotebookNode) -> None:
    notebook.cells.append(new_markdown_cell(":::{figure} assets/x.png\nA caption.\n:::"))


MISTAKES: dict[str, tuple[Spoil, str]] = {
    "misspelled tag": (misspelled_tag, "unknown tag 'nbval-ignore-ouptut'"),
    "ignored without reason": (ignored_without_reason, "needs a reason"),
    "missing count": (missing_count, "execution counts"),
    "gap in the counts": (count_gap, "execution counts"),
    "long cell": (long_cell, "26 lines of code"),
    "semicolon": (semicolon, "trailing ';'"),
    "no sentence before a cell": (no_sentence, "needs a sentence"),
    "proof in a lesson": (proof_in_a_lesson, "assert in a cell that readers see"),
    "number in a drawing": (number_in_a_drawing, "report in a cell that readers see"),
    "wrong chapter number": (wrong_title, "expected a title"),
    "error": (stored_error, "stored error ValueError"),
    "error stream": (lambda n: say(n, "careful", "stderr"), "error stream"),
    "warning": (lambda n: say(n, "x.py: UserWarning: y"), "a warning"),
    "path": (lambda n: say(n, "saved /home/me/x"), "an absolute path"),
    "Windows path": (lambda n: say(n, r"saved C:\Users"), "a Windows path"),
    "web address": (lambda n: say(n, "see https://example.org"), "a web address"),
    "memory address": (lambda n: say(n, "<object at 0x7f3a5c0d2e10>"), "a memory address"),
    "progress bar": (lambda n: say(n, " 45%|████ | 9/20"), "a progress bar"),
    "address in HTML": (lambda n: show(n, "text/html", "<script src='http://x'>"), "a web address"),
    "widget": (lambda n: show(n, hygiene.WIDGET, "{}"), "stored widget view"),
    "image without alt": (image_without_alt, "needs written alt text"),
    "path as alt": (image_with_path_as_alt, "needs written alt text"),
    "image without caption": (image_without_caption, "figure caption"),
    "large image": (large_image, "at most 100,000"),
    "photograph": (photograph, "expected one SVG or PNG image"),
    "large drawing": (large_drawing, "at most 100,000"),
    "Markdown image": (markdown_image_without_alt, "needs written alt text"),
    "figure directive": (figure_directive_without_alt, "needs written alt text"),
}


def test_clean_chapter_has_no_complaint(planted: Path):
    assert hygiene.problems(planted) == []


@pytest.mark.parametrize(("spoil", "complaint"), MISTAKES.values(), ids=MISTAKES)
def test_hygiene_bites(spoil: Spoil, complaint: str, planted: Path, notebook: NotebookNode):
    spoil(notebook)
    nbformat.write(notebook, planted)
    found = hygiene.problems(planted)
    assert len(found) == 1
    assert complaint in found[0]


def test_back_matter_has_no_number_in_its_title(planted: Path, notebook: NotebookNode):
    page = planted.with_name("90_planted.ipynb")
    nbformat.write(notebook, page)
    assert hygiene.problems(page) == [
        "90_planted.ipynb: expected a title '# …', got '# 7 A planted chapter'"
    ]
    notebook.cells[0].source = notebook.cells[0].source.replace("# 7 A", "# A")
    nbformat.write(notebook, page)
    assert hygiene.problems(page) == []


@pytest.mark.parametrize(
    ("kind", "content"), [("image/png", png(8)), ("image/svg+xml", "<svg><text>a</text></svg>")]
)
def test_good_figure_has_no_complaint(
    kind: str, content: str, planted: Path, notebook: NotebookNode
):
    show(notebook, kind, content)
    describe(notebook, "A square of random pixels")
    nbformat.write(notebook, planted)
    assert hygiene.problems(planted) == []


class TestNbval:
    def test_clean_chapter_passes(self, planted: Path):
        done = nbval(planted)
        assert done.returncode == 0, done.stdout

    def test_broken_notebook_fails(self, planted: Path, notebook: NotebookNode):
        code_cell(notebook).source = "raise ValueError('planted')"
        nbformat.write(notebook, planted)
        done = nbval(planted)
        assert done.returncode == 1
        assert "ValueError: planted" in done.stdout

    @pytest.mark.parametrize("kind", ["text/plain", "text/html", "text/markdown"])
    def test_stale_output_fails(self, kind: str, planted: Path, notebook: NotebookNode):
        cell = code_cell(notebook)
        cell.source = f"display({{{kind!r}: 'fresh'}}, raw=True)"
        cell.outputs = [new_output("display_data", {kind: "stale"})]
        nbformat.write(notebook, planted)
        done = nbval(planted)
        assert done.returncode == 1
        assert "stale" in done.stdout
        assert "fresh" in done.stdout

    def test_stale_print_fails(self, planted: Path, notebook: NotebookNode):
        code_cell(notebook).outputs[0].text = "total: 8\n"
        nbformat.write(notebook, planted)
        done = nbval(planted)
        assert done.returncode == 1
        assert "total: 8" in done.stdout

    def test_stale_glued_number_fails(self, planted: Path, notebook: NotebookNode):
        cell = code_cell(notebook)
        cell.source = "from myst_nb import glue\n\nglue('loss', '1.47', display=False)"
        data = {"application/papermill.record/text/plain": "'1.48'"}
        metadata = {"scrapbook": {"mime_prefix": "application/papermill.record/", "name": "loss"}}
        cell.outputs = [new_output("display_data", data, metadata=metadata)]
        nbformat.write(notebook, planted)
        done = nbval(planted)
        assert done.returncode == 1
        assert "1.48" in done.stdout

    def test_image_is_not_compared(self, planted: Path, notebook: NotebookNode):
        cell = code_cell(notebook)
        cell.source = f"total = 7\ndisplay({{'image/png': {png(4)!r}}}, raw=True)"
        cell.outputs = [new_output("display_data", {"image/png": png(5)})]
        nbformat.write(notebook, planted)
        done = nbval(planted)
        assert done.returncode == 0, done.stdout

    @pytest.mark.parametrize(
        ("stored", "code"),
        [
            ('<svg><text x="1">0.4</text></svg>', 1),
            ('<svg><text x="1" style="fill: #0072b2">0.5</text></svg>', 1),
            ('<svg><text x="1.01">0.5</text></svg>', 0),
        ],
        ids=["another word", "another colour", "moved a little"],
    )
    def test_words_and_colours_of_a_drawing_are_compared_places_are_not(
        self, stored: str, code: int, planted: Path, notebook: NotebookNode
    ):
        cell = code_cell(notebook)
        fresh = '<svg><text x="1">0.5</text></svg>'
        cell.source = f"total = 7\ndisplay({{'image/svg+xml': {fresh!r}}}, raw=True)"
        cell.outputs = [new_output("display_data", {"image/svg+xml": stored})]
        nbformat.write(notebook, planted)
        assert nbval(planted).returncode == code
