# SPDX-License-Identifier: MIT
"""What a run stores, records and refuses."""

import json
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.chapters import receipts, run, store

READS = """\
import json
from pathlib import Path

import pretrain_lab.paths

text = Path("../data/sources.toml").read_text()
_ = pretrain_lab.paths.data_file("checkpoints", "seen_by_compiled_code.bin")
with open("../data/runs/receipts_of_a_test.tmp", "w") as file:
    _ = file.write("[]")
"""


class TestExecution:
    def test_counts_run_from_one_and_outputs_are_stored(self, executed: Path):
        cells = [c for c in store.read_notebook(executed).cells if c.cell_type == "code"]
        assert [cell.execution_count for cell in cells] == [1, 2]
        assert cells[0].outputs[0].text == "total: 7\n"
        assert cells[1].outputs[0].data["text/plain"] == "14"

    def test_data_files_that_were_read_are_recorded(self, tmp_path: Path):
        for name in ("chapters", "data/runs"):
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / "data" / "sources.toml").write_text("", encoding="utf-8")
        notebook = new_notebook(cells=[new_code_cell(READS)])
        files, receipt = run.execute(notebook, Path("07_planted.ipynb"), tmp_path)
        assert files == ["data/sources.toml"]  # not the file that was only written
        assert receipt["cpu"] > 0
        assert receipt["peak"] > 10

    def test_a_cell_that_raises_is_named(self):
        notebook = new_notebook(cells=[new_code_cell("1"), new_code_cell("1 / 0")])
        with pytest.raises(store.ChapterError, match=r"07_planted.*cell 1 raised") as caught:
            run.execute(notebook, Path("07_planted.ipynb"))
        assert "ZeroDivisionError" in str(caught.value)


def test_clean_keeps_results_and_drops_the_rest():
    widget = {run.WIDGET_VIEW: {}, "text/html": "<p>kept</p>"}
    outputs = [new_output("display_data", widget)]
    outputs.append(new_output("display_data", {run.WIDGET_VIEW: {}}))
    cell = new_code_cell("1", outputs=outputs, metadata={"execution": {"t": "1"}, "tags": []})
    notebook = new_notebook(cells=[cell], metadata={"widgets": {}})
    run.clean(notebook)
    assert notebook.metadata == {**store.NOTEBOOK_METADATA, store.NOTE: {}}
    assert notebook.cells[0].metadata == {"tags": []}
    assert [dict(one.data) for one in notebook.cells[0].outputs] == [{"text/html": "<p>kept</p>"}]


def test_neighbouring_pieces_of_a_stream_become_one():
    def stream(text: str, name: str = "stdout") -> NotebookNode:
        return new_output("stream", name=name, text=text)

    shown = new_output("display_data", {"text/plain": "7"})
    outputs = [stream("a\n"), stream("b\n"), shown, stream("c\n"), stream("d\n", "stderr")]
    whole = run.joined(outputs)
    assert [one.get("text") for one in whole] == ["a\nb\n", None, "c\n", "d\n"]
    assert [one.get("name") for one in whole] == ["stdout", None, "stdout", "stderr"]


def test_error_stream_is_refused():
    output = new_output("stream", name="stderr", text="UserWarning: careful")
    notebook = new_notebook(cells=[new_code_cell("1", outputs=[output], execution_count=3)])
    with pytest.raises(store.ChapterError, match=r"cell \[3\] wrote to the error stream"):
        run.refuse_noise(notebook, "07_planted.ipynb")


def test_notebook_that_differs_from_its_twin_is_not_run(planted: Path):
    notebook = nbformat.read(planted, as_version=4)
    notebook.cells[1].source = "1 + 1"
    nbformat.write(notebook, planted)
    with pytest.raises(store.ChapterError, match="make sync first"):
        run.run_chapter(planted)


def test_receipts_of_other_chapters_stay(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(receipts, "RECEIPTS", tmp_path / "runs" / "receipts.json")
    for chapter in ("05_bert", "04_gpt"):
        receipts.store_receipt(chapter, {"wall": 1.5, "cpu": 2.5, "peak": 300.0})
    stored = json.loads((tmp_path / "runs" / "receipts.json").read_text(encoding="utf-8"))
    assert list(stored["chapters"]) == ["04_gpt", "05_bert"]
    assert stored["chapters"]["04_gpt"]["cpu"] == 2.5
    assert "torch" in stored["versions"]
