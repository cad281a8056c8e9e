# SPDX-License-Identifier: MIT
"""A chapter's outputs are stale when, and only when, something it depends on changed."""

from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

import chapters
import fingerprints

MODULE = '''"""What the module is for."""

from pretrain import base


def double(x: int) -> int:
    """Double a number."""
    return 2 * base.ONE * x  # the plain way
'''


@pytest.mark.parametrize("path", chapters.notebook_paths(), ids=lambda path: path.stem)
def test_chapter_is_fresh(path: Path):
    reasons = fingerprints.stale_reasons(chapters.read_notebook(path))
    assert reasons == [], f"make run CHAPTER={path.name[:2]} executes it again"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A repository with three modules and one data file."""
    package = tmp_path / "code" / "pretrain"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""The package."""\n', encoding="utf-8")
    (package / "base.py").write_text("ONE = 1\n", encoding="utf-8")
    (package / "double.py").write_text(MODULE, encoding="utf-8")
    (package / "unused.py").write_text("TWO = 2\n", encoding="utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "run.json").write_text("[1]", encoding="utf-8")
    return tmp_path


@pytest.fixture
def fresh(book: Path) -> NotebookNode:
    """A chapter of that repository, executed now."""
    cell = new_code_cell("%matplotlib inline\nfrom pretrain.double import double\n\ndouble(2)")
    notebook = new_notebook(cells=[cell])
    inputs = fingerprints.take(notebook, ["data/run.json"], book)
    notebook.metadata[chapters.NOTE] = {"inputs": inputs}
    return notebook


def edit(path: Path, old: str, new: str) -> None:
    """Replace a piece of a file that must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_imports_are_followed(fresh: NotebookNode):
    modules = fresh.metadata[chapters.NOTE]["inputs"]["modules"]
    assert list(modules) == ["pretrain", "pretrain.base", "pretrain.double"]


def test_nothing_changed(fresh: NotebookNode, book: Path):
    assert fingerprints.stale_reasons(fresh, book) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # the plain way", ""),
        ('"""Double a number."""', '"""Return a number twice as large."""'),
        ("What the module is for.", "Another sentence."),
        ("2 * base.ONE * x", "(2 * base.ONE) * x"),
    ],
    ids=["comment", "docstring", "module docstring", "brackets"],
)
def test_words_and_layout_do_not_count(old: str, new: str, fresh: NotebookNode, book: Path):
    edit(book / "code" / "pretrain" / "double.py", old, new)
    assert fingerprints.stale_reasons(fresh, book) == []


def test_unused_module_does_not_count(fresh: NotebookNode, book: Path):
    edit(book / "code" / "pretrain" / "unused.py", "2", "3")
    assert fingerprints.stale_reasons(fresh, book) == []


def test_imported_module_counts(fresh: NotebookNode, book: Path):
    edit(book / "code" / "pretrain" / "double.py", "2 *", "3 *")
    assert fingerprints.stale_reasons(fresh, book) == ["module pretrain.double changed"]


def test_module_behind_a_module_counts(fresh: NotebookNode, book: Path):
    edit(book / "code" / "pretrain" / "base.py", "1", "5")
    assert fingerprints.stale_reasons(fresh, book) == ["module pretrain.base changed"]


def test_data_file_counts(fresh: NotebookNode, book: Path):
    (book / "data" / "run.json").write_text("[2]", encoding="utf-8")
    assert fingerprints.stale_reasons(fresh, book) == ["data file data/run.json changed"]


def test_missing_data_file_counts(fresh: NotebookNode, book: Path):
    (book / "data" / "run.json").unlink()
    assert fingerprints.stale_reasons(fresh, book) == ["data file data/run.json changed"]


def test_code_cell_counts(fresh: NotebookNode, book: Path):
    fresh.cells[0].source += "\ndouble(3)"
    assert fingerprints.stale_reasons(fresh, book) == ["its code cells changed"]


def test_unexecuted_chapter_is_stale(fresh: NotebookNode, book: Path):
    del fresh.metadata[chapters.NOTE]["inputs"]
    assert fingerprints.stale_reasons(fresh, book) == ["it was never executed by make run"]


def test_receipts_are_no_input(book: Path):
    (book / "data" / "runs").mkdir()
    (book / "data" / "runs" / "receipts.json").write_text("{}", encoding="utf-8")
    assert fingerprints.data_fingerprints(["data/runs/receipts.json"], book) == {}
