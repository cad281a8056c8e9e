# SPDX-License-Identifier: MIT
"""The reader's notebooks: nothing raw is left in them, and they run without the proofs."""

import base64
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book_pages.notebooks import reader
from book_pages.notebooks.labels import Target
from book_pages.notebooks.plain_markdown import Book, PlainError, plain
from pretrain_book.slider import slider
from tools.chapters import store

RAW = re.compile(
    r"\{[a-z]+(?::[a-z]+)?\}`|^:::|^`{3,}\{|^\([\w-]+\)=$|^\s*- \[[ x]\]|^:[a-z]+:|\[\]\(", re.M
)
CODE = re.compile(r"^```.*?^```$", re.M | re.S)
PROOFS = re.compile(r"\breport(?:_interval)?\(|\bhold_to_band\(|^\s*assert ", re.M)
NAMES = [path.stem for path in store.notebook_paths()]


@pytest.fixture
def book() -> Book:
    """A book of two chapters."""
    return Book(
        page="05_a",
        targets={
            "fig-a": Target("chapters/05_a", "The first part", "5.1", "Figure 5.1"),
            "sec-b": Target("chapters/04_b", "Why, then?", "4.2", "Why, then?"),
            "eq-a": Target("chapters/05_a", "", "5.3", "Equation 5.3"),
            "ex-a": Target("chapters/05_a", "", "5.1", "Exercise 5.1"),
            "def-a": Target("chapters/05_a", "", "5.1", "Definition 5.1"),
            "tab-a": Target("chapters/05_a", "", "5.1", "Table 5.1"),
        },
        values={"05_a": {"loss": "1.44 nats"}, "04_b": {"share": "38 %"}},
        citations={"x2019": ("Xu et al.", "2019", "https://arxiv.org/abs/1901.00001")},
        titles={"05_a": "Chapter 5", "04_b": "Chapter 4", "glossary": "Glossary"},
        durations={"05_a": "12 s"},
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Loss {glue:text}`loss`.", "Loss 1.44 nats."),
        ("{glue:text}`04_b.ipynb::share:s` right", "38 % right"),
        ("See {numref}`fig-a`.", "See [Figure 5.1](#The-first-part)."),
        ("See {ref}`sec-b`.", "See [Why, then?](04_b.ipynb#Why%2C-then%3F)."),
        ("See {ref}`there <sec-b>`.", "See [there](04_b.ipynb#Why%2C-then%3F)."),
        ("{numref}`sec-b`", "[Section 4.2](04_b.ipynb#Why%2C-then%3F)"),
        ("In {doc}`04_b`, {doc}`/chapters/glossary`.", "In [Chapter 4](04_b.ipynb), *Glossary*."),
        ("By {eq}`eq-a`.", "By (5.3)."),
        ("$$\nx = 1\n$$ (eq-a)", "$$\nx = 1 \\tag{5.3}\n$$"),
        ("(sec-q)=\n## A part", "## A part"),
        ("So {cite:p}`x2019`.", "So ([Xu et al., 2019](https://arxiv.org/abs/1901.00001))."),
        ("{cite:t}`x2019` say", "[Xu et al. (2019)](https://arxiv.org/abs/1901.00001) say"),
        ("It ran in {receipt}`05_a`.", "It ran in 12 s."),
        (
            ":::{table} Of {eq}`eq-a`\n:name: tab-a\n\n| a |\n:::",
            "**Table 5.1.** Of (5.3)\n\n| a |",
        ),
        (
            ":::{exercise} Count\n:label: ex-a\n\nHow many?\n:::",
            "### Exercise 5.1: Count\n\nHow many?",
        ),
        (":::{prf:definition} It\n:label: def-a\n\nIs.\n:::", "> **Definition 5.1 (It).** Is."),
        (":::{warning}\nHot.\n:::", "> **Warning.** Hot."),
        (":::{warning}\n$$\nx\n$$\n:::", "**Warning.** $$\nx\n$$"),  # a formula needs whole lines
        (":::{applet} x\n:files: y\n\nWords.\n:::\n\nAfter.", "After."),
        ("```python\n{ref}`sec-b`\n```", "```python\n{ref}`sec-b`\n```"),
    ],
)
def test_what_the_book_writes_becomes_plain(text: str, expected: str, book: Book):
    assert plain(text, book) == expected


def test_a_quiz_folds_and_does_not_tell_before_it_is_opened(book: Book):
    text = """\
::::{quiz} quiz-a-b
How many?

- [ ] *One*.

  Too few.
- [x] Two.

  As {ref}`sec-b` says.
- [ ] Three.

  Too many.
::::"""
    found = plain(text, book)
    assert found.startswith("**Question 1.** How many?")
    assert re.findall(r"<summary>(.*)</summary>", found) == [
        "A. <em>One</em>.",
        "B. Two.",
        "C. Three.",
    ]
    shut = re.sub(r"</summary>.*?</details>", "", found, flags=re.S)
    assert "Right" not in shut
    assert found.count("**Not this.**") == 2
    assert "**Right.** As [Why, then?]" in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{glue:text}`lost`", "05_a reports no value 'lost'"),
        ("{ref}`sec-lost`", "no label 'sec-lost'"),
        ("{doc}`lost`", "no page 'lost'"),
        ("{cite:p}`lost2019`", "no publication 'lost2019'"),
        ("{role}`x`", "the role 'role' has no plain form"),
        (":::{figure} a.png\n:::", "the directive 'figure' has no plain form"),
        (":::{warning}\nHot.", "not closed"),
    ],
)
def test_what_has_no_plain_form_is_refused(text: str, message: str, book: Book):
    with pytest.raises(PlainError, match=re.escape(message)):
        plain(text, book)


def made(*cells: NotebookNode, book: Book) -> list[NotebookNode]:
    """The reader's cells of a notebook with these cells."""
    return reader.readers_notebook(new_notebook(cells=list(cells)), book).cells


def test_proofs_are_left_out_and_bands_become_a_kind_comparison(book: Book):
    proof = "assert x > 1\nhold_to_band('loss', x, 1, 2)\nreport('loss', x)"
    cells = made(
        new_code_cell("x = 1.5"),
        new_code_cell("assert x > 1", metadata={"tags": ["remove-cell"]}),
        new_code_cell(proof, metadata={"tags": ["hide-cell"]}),
        book=book,
    )
    assert [cell.source for cell in cells] == [
        "x = 1.5",
        "from pretrain_book.report import compare_with_page\n\ncompare_with_page('loss', x, 1, 2)",
    ]


def test_drawings_keep_their_picture_and_get_their_caption(book: Book):
    figure = {"figure": {"name": "fig-a", "caption": "**It falls.** By {eq}`eq-a`."}}
    picture = new_output("display_data", data={"image/png": "aGk="})
    drawing, caption = made(
        new_code_cell(
            "draw()", metadata={"tags": ["hide-input"], "mystnb": figure}, outputs=[picture]
        ),
        book=book,
    )
    assert drawing.metadata == {"cellView": "form", "jupyter": {"source_hidden": True}}
    assert drawing.outputs[0].data == {"image/png": "aGk="}
    assert caption.source == "**Figure 5.1.** **It falls.** By (5.3)."


def test_a_drawing_is_seen_in_a_notebook_that_has_not_run(book: Book):
    image = {"image": {"alt": "A <b>line</b> that falls."}}
    drawn = new_output("display_data", data={"image/svg+xml": "<svg/>", "text/plain": "<Figure>"})
    (cell,) = made(new_code_cell("draw()", metadata={"mystnb": image}, outputs=[drawn]), book=book)
    data = cell.outputs[0].data
    assert set(data) == {"text/html", "text/plain"}
    (shown,) = BeautifulSoup(data["text/html"], "html.parser").find_all("img")
    kind, code = shown["src"].split(";base64,")
    assert (kind, base64.b64decode(code)) == ("data:image/svg+xml", b"<svg/>")
    assert shown["alt"] == "A <b>line</b> that falls."


def test_a_stored_slider_shows_its_first_state_alone(book: Book):
    stored = slider(lambda n: f"{n} squared is {n * n}", [2, 3], "number")._html()
    output = new_output("execute_result", data={"text/html": stored, "text/plain": "slider"})
    (cell,) = made(new_code_cell("slider(…)", outputs=[output]), book=book)
    shown = cell.outputs[0].data["text/html"]
    assert "2 squared is 4" in shown
    assert "3 squared is 9" in stored
    assert not re.search("3 squared|<input|<style", shown)


def test_a_solution_is_one_cell_that_folds(book: Book):
    printed = new_output("stream", name="stdout", text="4\n")
    cells = made(
        new_markdown_cell("Try.\n\n:::{solution-start} ex-a\n:class: dropdown\n:::\n\nAdd."),
        new_code_cell("print(2 + 2)", outputs=[printed]),
        new_code_cell("assert True", metadata={"tags": ["remove-cell"]}),
        new_markdown_cell(":::{solution-end}\n:::\n\nOn."),
        book=book,
    )
    assert [cell.source for cell in cells] == [
        "Try.",
        "<details>\n<summary>Solution</summary>\n\nAdd.\n\n```python\nprint(2 + 2)\n```\n\n"
        "```text\n4\n```\n\n</details>",
        "On.",
    ]


@pytest.fixture(scope="module")
def written(html: Path) -> Callable[[str], NotebookNode]:
    """Read a reader's notebook that came with the pages."""
    return lambda name: nbformat.read(html / "notebooks" / f"{name}.ipynb", as_version=4)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_raw_is_left(name: str, written: Callable[[str], NotebookNode]):
    notebook = written(name)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.startswith("# ")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            assert not RAW.search(CODE.sub("", cell.source)), cell.source[:300]
            assert cell.source.count("<details>") == cell.source.count("</details>")
        else:
            assert not PROOFS.search(cell.source), cell.source
            assert not any(reader.RECORD in one.get("data", {}) for one in cell.outputs)


def test_every_link_between_notebooks_leads_to_a_heading(
    html: Path, written: Callable[[str], NotebookNode]
):
    headings = {
        name: {
            line.lstrip("# ").replace("`", "").replace("*", "")
            for cell in written(name).cells
            if cell.cell_type == "markdown"
            for line in cell.source.split("\n")
            if line.startswith("#")
        }
        for name in NAMES
    }
    lost = []
    for name in NAMES:
        for cell in written(name).cells:
            if cell.cell_type != "markdown":
                continue
            for page, anchor in re.findall(r"\]\((\w*)(?:\.ipynb)?#([^)]+)\)", cell.source):
                wanted = re.sub(r"%(..)", lambda m: chr(int(m[1], 16)), anchor).encode("latin-1")
                spaced = {heading.replace(" ", "-") for heading in headings[page or name]}
                if wanted.decode() not in spaced:
                    lost.append((name, page, anchor))
    assert lost == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_runs_without_the_proofs_in_any_folder(
    name: str, written: Callable[[str], NotebookNode], tmp_path: Path
):
    notebook = written(name)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, resources=resources).execute()
    said = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    assert not [one.text for one in said if one.get("name") == "stderr"]
    compared = [one.text for one in said if "this page's band" in one.get("text", "")]
    assert not [line for line in compared if "outside" in line]
