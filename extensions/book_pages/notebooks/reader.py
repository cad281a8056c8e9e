# SPDX-License-Identifier: MIT
"""Write the reader's notebooks at the end of a build.

The cells are those of the committed notebooks, with their outputs. Lesson cells stay open, drawing
cells keep their code collapsed, proof cells are left out. Where a proof holds a live run to a band
(`pretrain_book.report.hold_to_band`), the reader gets a cell that compares their own run with it.
A solution becomes one Markdown cell that folds.
"""

import ast
import base64
import json
import platform
import re
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from pybtex.database import parse_file
from sphinx.application import Sphinx

from book_pages.links.repository import Repository
from book_pages.notebooks.labels import collect, page_titles
from book_pages.notebooks.plain_markdown import Book, PlainError, details, plain
from book_pages.provenance.receipts import duration, load_chapter_receipts

BUILDERS = ("html", "dummy")
"""Those that write them: of the pages, and the one that writes no page."""
FOLDER = "notebooks"
"""Folder of the notebooks in a build's output."""
RECORD = "application/papermill.record/text/plain"
OPENING = "opening"
PROOF = {"remove-cell", "hide-cell"}
EXPLORER = 'class="explore"'
"""What the stored states of `pretrain_book.slider` stand in; run, its cell shows a live slider."""
SVG = "image/svg+xml"
"""JupyterLab shows no such output of a notebook that it has not run, but HTML with an image."""
HELD, COMPARED = "hold_to_band", "compare_with_page"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": platform.python_version(),
    },
}
_GATE = re.compile(r"^:{3,}\{solution-(?P<side>start|end)\}.*?(?:^:{3,}$)", re.M | re.S)


def register(app: Sphinx) -> None:
    """Write the notebooks when a build ends."""
    app.connect("build-finished", write_all)


def write_all(app: Sphinx, error: Exception | None) -> None:
    """Write every notebook of the table of contents below the build's output.

    Raises:
        PlainError: A page holds something that has no plain form.
    """
    if error is not None or app.builder.name not in BUILDERS:
        return
    root = Path(app.srcdir)
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    sources = {
        Path(page).name: nbformat.read(path, as_version=4)
        for page in sorted(app.env.found_docs)
        if (path := root / f"{page}.ipynb").exists()
    }
    shared: dict[str, Any] = {
        "targets": collect(app.env),
        "values": {name: values_of(notebook) for name, notebook in sources.items()},
        "citations": read_citations(root / "chapters" / "references.bib"),
        "titles": {Path(page).name: title for page, title in page_titles(app.env).items()},
        "durations": {
            name: duration(one["wall"]) for name, one in load_chapter_receipts(root).items()
        },
        "site": app.config.html_baseurl or "",
    }
    known = app.config.book_repository
    address = Repository(*known).url if known is not None else ""
    for name, notebook in sources.items():
        try:
            written = readers_notebook(notebook, Book(page=name, **shared), address)
        except PlainError as problem:
            raise PlainError(f"{name}: {problem}") from problem
        nbformat.write(written, folder / f"{name}.ipynb")


def values_of(notebook: NotebookNode) -> dict[str, str]:
    """Return the numbers that a notebook hands to the prose, by their keys."""
    return {
        output["metadata"]["scrapbook"]["name"]: str(output["data"][RECORD]).strip("'\"")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if RECORD in output.get("data", {})
    }


def read_citations(path: Path) -> dict[str, tuple[str, str, str]]:
    """Return of every publication its authors in short, its year and its address."""
    found = {}
    for key, entry in parse_file(str(path)).entries.items():
        people = entry.persons.get("author", []) or entry.persons.get("editor", [])
        names = [" ".join(one.prelast_names + one.last_names).strip("{}") for one in people]
        short = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        if len(names) == 2 and names[1] == "others":
            short = f"{names[0]} et al."
        fields = entry.fields
        address = fields.get("url", "")
        if fields.get("eprint"):
            address = f"https://arxiv.org/abs/{fields['eprint']}"
        elif fields.get("doi"):
            address = f"https://doi.org/{fields['doi']}"
        found[key] = (short, fields.get("year", ""), address)
    return found


def readers_notebook(notebook: NotebookNode, book: Book, address: str = "") -> NotebookNode:
    """Return the reader's form of one committed notebook.

    `address` is that of the repository, which the opening cell brings; empty = it asks the reader.

    Raises:
        PlainError: Its text holds something that has no plain form.
    """
    made: list[NotebookNode] = []
    solution: list[str] | None = None  # the parts of the solution that is being read
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            at = 0
            for gate in _GATE.finditer(cell.source):
                part = plain(cell.source[at : gate.start()], book)
                at = gate.end()
                if gate["side"] == "start":
                    made += _markdown(part)
                    solution = []
                else:
                    made += _markdown(details("Solution", "\n\n".join([*(solution or []), part])))
                    solution = None
            rest = plain(cell.source[at:], book)
            if solution is not None:
                solution.append(rest)
            else:
                made += _markdown(rest)
        elif solution is not None:
            solution += _solution_parts(cell)
        else:
            made += _code(cell, book, address)
    for count, cell in enumerate((one for one in made if one.cell_type == "code"), start=1):
        cell.execution_count = count if cell.outputs else None
    for index, cell in enumerate(made):
        cell["id"] = f"cell-{index:03d}"
    return nbformat.v4.new_notebook(cells=made, metadata=METADATA)


def _markdown(text: str) -> list[NotebookNode]:
    """Return a Markdown cell, or none for no text."""
    return [nbformat.v4.new_markdown_cell(text.strip())] if text.strip() else []


def _code(cell: NotebookNode, book: Book, address: str) -> list[NotebookNode]:
    """Return what a reader gets of one code cell."""
    tags = set(cell.metadata.get("tags", []))
    if cell.get("id") == OPENING:
        opening = _copied(cell, {"cellView": "form", "jupyter": {"source_hidden": True}})
        opening.source = opening.source.replace('address=""', f"address={json.dumps(address)}", 1)
        return [opening]
    if tags & PROOF:
        return _comparison(cell)
    hidden: dict[str, bool] = {}
    if tags & {"hide-input", "remove-input"}:
        hidden["source_hidden"] = True
    if "hide-output" in tags:
        hidden["outputs_hidden"] = True
    form = {"cellView": "form"} if "source_hidden" in hidden else {}  # so that Colab folds it too
    copy = _copied(cell, {**form, "jupyter": hidden} if hidden else {})
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    caption = plain(str(figure.get("caption", "")), book)
    if not caption:
        return [copy]
    number = book.targets[figure["name"]].name if figure.get("name") in book.targets else "Figure"
    return [copy, *_markdown(f"**{number}.** {caption}")]


def _copied(cell: NotebookNode, metadata: dict[str, Any]) -> NotebookNode:
    """Copy a code cell with other metadata, without what only the build reads."""
    outputs = []
    for output in json.loads(json.dumps(cell.get("outputs", []))):
        if RECORD in output.get("data", {}):
            continue
        if "metadata" in output:
            output["metadata"] = {}
        data = output.get("data", {})
        if EXPLORER in "".join(data.get("text/html", "")):
            data["text/html"] = _first_state("".join(data["text/html"]))
        if SVG in data:
            data["text/html"] = _image(cell, data)
            del data[SVG]
        outputs.append(nbformat.from_dict(output))
    return nbformat.v4.new_code_cell(cell.source, metadata=metadata, outputs=outputs)


def _image(cell: NotebookNode, data: dict[str, Any]) -> str:
    """Write a cell's figure as HTML, with its description."""
    alt = str(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "Figure")).strip()
    kind = SVG if SVG in data else "image/png"
    image = "".join(data[kind])
    if kind == SVG:
        image = base64.b64encode(image.encode()).decode()
    return f'<img alt="{escape(alt)}" src="data:{kind};base64,{image.replace(chr(10), "")}">'


def _first_state(html: str) -> str:
    """Keep the first state of a stored slider: Jupyter shows hidden ones too, and moves none."""
    soup = BeautifulSoup(html, "html.parser")
    for one in soup.select(".explore-state[hidden], .explore input, style"):
        one.decompose()
    return str(soup)


def _comparison(cell: NotebookNode) -> list[NotebookNode]:
    """Return a cell that compares the reader's run with each band of a proof; none without."""
    calls = [
        ast.get_source_segment(cell.source, node) or ""
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == HELD
    ]
    if not calls:
        return []
    lines = [f"from pretrain_book.report import {COMPARED}", ""]
    lines += [call.replace(HELD, COMPARED, 1) for call in calls]
    made = nbformat.v4.new_code_cell("\n".join(lines))
    return [made]


def _solution_parts(cell: NotebookNode) -> list[str]:
    """Write a solution's cell as Markdown: its code, then what it printed or drew."""
    if PROOF & set(cell.metadata.get("tags", [])):
        return []
    parts = [f"```python\n{cell.source}\n```"]
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if output.output_type == "stream":
            parts.append(f"```text\n{output.text.rstrip()}\n```")
        elif "text/html" in data:
            parts.append(re.sub(r"\n\s*\n", "\n", str(data["text/html"])))
        elif SVG in data or "image/png" in data:
            parts.append(_image(cell, data))
        elif "text/plain" in data:
            parts.append(f"```text\n{data['text/plain']}\n```")
    return parts
