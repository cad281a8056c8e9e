# SPDX-License-Identifier: MIT
"""A number in the prose leads to the cell that computed it; a page shows what each run read."""

import ast
import json
import re
from pathlib import Path

import nbformat
import pytest

from book_pages.provenance import run_inputs
from book_pages.provenance.number_links import reporting_cells
from tools.chapters import store
from tools.checks import pages


def notebook(source: str, key: str = "", count: int = 1) -> nbformat.NotebookNode:
    """A notebook with one executed cell, which glued a key."""
    cell = nbformat.v4.new_code_cell(source, execution_count=count)
    if key:
        data = {"text/plain": "'4'"}
        metadata = {"scrapbook": {"name": key, "mime_prefix": ""}}
        cell.outputs = [nbformat.v4.new_output("display_data", data, metadata=metadata)]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 7 Seven"), cell])


class TestReportingCells:
    def test_a_key_belongs_to_the_cell_that_glued_it(self, tmp_path: Path):
        path = tmp_path / "07_planted.ipynb"
        nbformat.write(notebook("report('four', 4)", "four", count=3), path)
        assert reporting_cells(path) == {"four": 3}

    def test_a_page_of_text_has_none(self, tmp_path: Path):
        assert reporting_cells(tmp_path / "live.md") == {}


class TestSeeds:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("g = Generator().manual_seed(7)", [7]),
            ("fit(model, seed=3); LogisticRegression(random_state=0)", [0, 3]),
            ("np.random.default_rng(11).normal()", [11]),
            ("for seed in range(3):\n    torch.manual_seed(seed)", []),
            ("!ls", []),
            ("draw(seed=True)", []),
        ],
    )
    def test_numbers_handed_to_generators(self, source: str, expected: list[int]):
        assert run_inputs.seeds(notebook(source)) == expected

    def test_a_box_names_seeds_files_and_versions(self):
        one = notebook("g = Generator().manual_seed(7)")
        inputs = {
            "data": {"data/repairs.toml": "0123456789abcdef"},
            "definitions": {"pretrain": "f"},
        }
        text = "\n".join(run_inputs.input_lines("07_planted", one, inputs, {"torch": "2.13.0"}))
        assert "7 Seven" in text
        assert "Seeds in its code: 7." in text
        assert "| `data/repairs.toml` | `0123456789abcdef` |" in text
        assert "torch 2.13.0" in text


def glued_texts(path: Path) -> dict[int, set[str]]:
    """Collect what each cell of a chapter glued: execution count → texts."""
    texts: dict[int, set[str]] = {}
    for cell in store.read_notebook(path).cells:
        for output in cell.get("outputs", []):
            if "scrapbook" in output.get("metadata", {}):
                glued = next(
                    text for kind, text in output.data.items() if kind.endswith("text/plain")
                )
                texts.setdefault(cell.execution_count, set()).add(ast.literal_eval(glued))
    return texts


def test_a_number_leads_to_the_cell_that_glued_it(html: Path):
    n_linked = 0
    for path in store.notebook_paths():
        page = pages.parsed(html / "chapters" / f"{path.stem}.html")
        texts = glued_texts(path)
        cells = {one["id"] for one in page.select("div.cell[id^=cell-]")}
        links = page.select("a.from-cell")
        for link in links:
            assert link["href"].removeprefix("#") in cells
            count = int(link["href"].removeprefix("#cell-"))
            assert link.get_text() in texts[count], (path.stem, link)
        assert page.select(":is(h1, h2, h3, h4, a) a.from-cell") == []
        n_linked += len(links)
    print(f"\nnumbers that lead to their cells: {n_linked}")
    assert n_linked > 300


def test_the_receipts_page_lists_every_chapter_and_every_package(html: Path):
    text = pages.parsed(html / "chapters" / "receipts.html").get_text()
    lock = json.loads((store.ROOT / run_inputs.LOCK).read_text(encoding="utf-8"))
    for name, entry in lock.items():
        assert all(digest in text for digest in entry["data"].values()), name
    hashes = re.findall(r"\b[0-9a-f]{64}\b", text)
    sources = (store.ROOT / "data" / "sources.toml").read_text(encoding="utf-8")
    assert sorted(hashes) == sorted(re.findall(r'^sha256 = "(.*)"$', sources, re.M))
