# SPDX-License-Identifier: MIT
"""Twin and notebook: what sync makes, keeps and refuses."""

from pathlib import Path

import pytest

from tools.chapters import store, sync


@pytest.fixture
def twin(planted: Path) -> Path:
    """The twin of the planted chapter, synced."""
    path = store.twin_of(planted)
    planted.unlink()
    sync.notebook_from_twin(path)
    return path


@pytest.fixture
def with_outputs(twin: Path, executed: Path) -> Path:
    """The notebook of that twin, with the outputs of its run."""
    path = store.notebook_of(twin)
    notebook = store.read_notebook(path)
    sync.keep_outputs(store.read_notebook(executed), notebook)
    store.write_notebook(path, notebook)
    return path


def change(path: Path, old: str, new: str) -> None:
    """Replace a piece of a text file that must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def outputs(path: Path) -> list[int]:
    """Count the outputs of each code cell."""
    cells = store.read_notebook(path).cells
    return [len(cell.outputs) for cell in cells if cell.cell_type == "code"]


def test_new_twin_makes_a_notebook(twin: Path):
    notebook = store.read_notebook(store.notebook_of(twin))
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds == ["markdown", "code", "markdown", "code"]
    assert store.inputs(notebook) == store.inputs(store.read_twin(twin))


def test_second_sync_changes_nothing(with_outputs: Path):
    before = with_outputs.read_bytes()
    twin = store.twin_of(with_outputs)
    assert sync.notebook_from_twin(twin) == "unchanged"
    assert with_outputs.read_bytes() == before


def test_changed_cell_loses_its_outputs_and_others_keep_theirs(with_outputs: Path):
    change(store.twin_of(with_outputs), "total * 2", "total * 3")
    sync.notebook_from_twin(store.twin_of(with_outputs))
    assert outputs(with_outputs) == [1, 0]


def test_changed_prose_keeps_all_outputs(with_outputs: Path):
    change(store.twin_of(with_outputs), "The second cell", "This cell")
    sync.notebook_from_twin(store.twin_of(with_outputs))
    assert outputs(with_outputs) == [1, 1]


def test_cell_ids_depend_on_content_alone(with_outputs: Path):
    before = [cell["id"] for cell in store.read_notebook(with_outputs).cells]
    change(store.twin_of(with_outputs), "The second cell", "This cell")
    sync.notebook_from_twin(store.twin_of(with_outputs))
    after = [cell["id"] for cell in store.read_notebook(with_outputs).cells]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False, True]


def test_edited_notebook_is_refused_with_the_way_back(with_outputs: Path, monkeypatch):
    monkeypatch.setattr(sync, "ROOT", with_outputs.parents[1])
    change(with_outputs, "total * 2", "total * 4")
    with pytest.raises(store.ChapterError, match=r"make sync FROM=notebook CHAPTER=07"):
        sync.notebook_from_twin(store.twin_of(with_outputs))


def test_edited_notebook_can_be_brought_to_the_twin(with_outputs: Path):
    change(with_outputs, "total * 2", "total * 4")
    twin = store.twin_of(with_outputs)
    sync.twin_from_notebook(twin)
    assert "total * 4" in twin.read_text(encoding="utf-8")
    assert sync.notebook_from_twin(twin) == "unchanged"


def test_twin_made_from_a_notebook_reads_the_same(with_outputs: Path):
    twin = store.twin_of(with_outputs)
    before = twin.read_text(encoding="utf-8")
    sync.twin_from_notebook(twin)
    assert twin.read_text(encoding="utf-8").strip() == before.strip()


@pytest.mark.parametrize("path", store.twin_paths(), ids=lambda path: path.stem)
def test_real_twins_survive_the_round_trip(path: Path, tmp_path: Path):
    notebook = store.read_twin(path)
    copy = tmp_path / path.name
    store.write_twin(copy, notebook)
    assert store.inputs(store.read_twin(copy)) == store.inputs(notebook)


@pytest.mark.parametrize("path", store.twin_paths(), ids=lambda path: path.stem)
def test_a_notebook_remembers_the_twin_that_made_it(path: Path):
    notebook = store.read_notebook(store.notebook_of(path))
    assert notebook.metadata[sync.NOTE]["twin"] == sync.digest(sync.inputs(notebook)), (
        "else the next change of the twin is refused"
    )


def test_code_is_formatted_in_the_twin(twin: Path):
    change(twin, "total * 2", "total*2")
    sync.notebook_from_twin(twin)
    assert "total * 2" in twin.read_text(encoding="utf-8")


def test_imports_are_sorted_in_the_twin(twin: Path):
    change(twin, "total * 2", "import torch\nimport math\n\ntotal * math.pi")
    sync.notebook_from_twin(twin)
    assert "import math\n\nimport torch\n" in twin.read_text(encoding="utf-8")


def test_cell_options_survive_formatting(twin: Path):
    options = "```{code-cell} python\n:tags: [hide-input]\n\ntotal*2"
    change(twin, "```{code-cell} python\ntotal * 2", options)
    sync.notebook_from_twin(twin)
    assert options.replace("*", " * ") in twin.read_text(encoding="utf-8")


def test_front_matter_is_refused(twin: Path):
    twin.write_text("---\ntitle: x\n---\n" + twin.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(store.ChapterError, match="remove the front matter"):
        sync.notebook_from_twin(twin)


def test_broken_cell_options_are_explained(twin: Path):
    options = "---\nmystnb:\n  image:\n    alt: left: right\n---\ntotal * 2"
    change(twin, "total * 2", options)
    with pytest.raises(store.ChapterError, match=r"(?s)07_planted.md: Code cell .* needs quotes"):
        sync.notebook_from_twin(twin)


def test_solution_code_is_folded_in_jupyter(twin: Path):
    text = twin.read_text(encoding="utf-8")
    start, end = ":::{solution-start} ex-x\n:::\n\n", "\n:::{solution-end}\n:::\n"
    twin.write_text(text.replace("The second cell", f"{start}The second cell") + end)
    sync.notebook_from_twin(twin)
    notebook = store.read_notebook(store.notebook_of(twin))
    folded = [cell.metadata for cell in notebook.cells if cell.cell_type == "code"]
    assert folded == [{}, {"jupyter": {"source_hidden": True}}]


def test_unknown_chapter_is_named():
    with pytest.raises(store.ChapterError, match="no chapter starts with '99'"):
        store.twin_paths(only="99")


def test_a_number_needs_no_zero():
    assert [path.stem for path in store.twin_paths(only="4")] == [
        path.stem for path in store.twin_paths(only="04")
    ]
