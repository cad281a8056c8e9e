# SPDX-License-Identifier: MIT
"""A page shows what each run read: seeds, data files, versions."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from book_pages.provenance import run_inputs
from tools.chapters import store
from tools.checks import pages


def notebook(source: str) -> nbformat.NotebookNode:
    """A notebook with one executed cell."""
    cell = nbformat.v4.new_code_cell(source, execution_count=1)
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 7 Seven"), cell])


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


def test_the_receipts_page_lists_every_chapter_and_every_package(html: Path):
    text = pages.parsed(html / "chapters" / "receipts.html").get_text()
    lock = json.loads((store.ROOT / run_inputs.LOCK).read_text(encoding="utf-8"))
    for name, entry in lock.items():
        assert all(digest in text for digest in entry["data"].values()), name
    hashes = re.findall(r"\b[0-9a-f]{64}\b", text)
    sources = (store.ROOT / "data" / "sources.toml").read_text(encoding="utf-8")
    assert sorted(hashes) == sorted(re.findall(r'^sha256 = "(.*)"$', sources, re.M))
