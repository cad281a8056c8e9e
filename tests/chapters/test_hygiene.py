# SPDX-License-Identifier: MIT
"""The stored chapters are clean, fresh, and equal to their twins."""

import ast
import tomllib
from pathlib import Path

import pytest

from tools.chapters import hygiene, store

NOTEBOOKS = store.notebook_paths()
CEILINGS = tomllib.loads((Path(__file__).parent / "ceilings.toml").read_text(encoding="utf-8"))


def test_every_twin_has_a_notebook_and_every_notebook_a_twin():
    twins = [store.notebook_of(path) for path in store.twin_paths()]
    assert twins == NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestChapter:
    def test_is_clean(self, path: Path):
        assert hygiene.problems(path) == []

    def test_shows_no_more_code_than_before(self, path: Path):
        n_cells, n_lines = hygiene.open_code(store.read_notebook(path))
        most_cells, most_lines = CEILINGS[path.stem]
        assert n_cells <= most_cells
        assert n_lines <= most_lines

    def test_equals_its_twin(self, path: Path):
        twin = store.read_twin(store.twin_of(path))
        notebook = store.read_notebook(path)
        assert store.inputs(notebook) == store.inputs(twin), "make sync brings them together"

    def test_stores_only_the_metadata_of_the_book(self, path: Path):
        metadata = dict(store.read_notebook(path).metadata)
        assert set(metadata.pop(store.NOTE)) == {"twin"}
        assert metadata == store.NOTEBOOK_METADATA


def test_labels_are_unique_in_the_book():
    owners: dict[str, str] = {}
    for path in NOTEBOOKS:
        for cell in store.read_notebook(path).cells:
            label = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
            assert label not in owners, f"{label} in {path.name} and {owners.get(label)}"
            if label:
                owners[label] = path.name


def definitions(path: Path) -> dict[str, str]:
    """What a page's cells define, proofs left out: name → code, layout aside."""
    found: dict[str, str] = {}
    for cell in store.read_notebook(path).cells:
        if cell.cell_type == "code" and hygiene.kind_of(cell) != "proof":
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found.setdefault(node.name, ast.unparse(node))
    return found


@pytest.mark.parametrize(
    "path",
    [one for one in NOTEBOOKS if store.page_kind(one.stem) != "lesson"],
    ids=lambda p: p.stem,
)
def test_what_a_sub_page_brings_from_its_lesson_is_the_lessons(path: Path):
    lesson = path.with_name(path.name.replace(f"_{store.page_kind(path.stem)}.", "."))
    mine, theirs = definitions(path), definitions(lesson)
    assert {name: mine[name] for name in mine.keys() & theirs.keys()} == {
        name: theirs[name] for name in mine.keys() & theirs.keys()
    }


def names_of(source: str) -> tuple[set[str], set[str]]:
    """List the names that a cell gives a value, and those that it reads."""
    given, read = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            (given if isinstance(node.ctx, ast.Store) else read).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            given.add(node.name)
        elif isinstance(node, ast.arg):
            given.add(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            given |= {(one.asname or one.name).split(".")[0] for one in node.names}
    return given, read


def needs_a_proof(cells: list[tuple[str, bool]]) -> set[str]:
    """List what the cells read that only a proof defines, which no reader's notebook holds."""
    own: set[str] = set()
    of_proofs: set[str] = set()
    needed: set[str] = set()
    for source, is_proof in cells:
        given, read = names_of(source)
        if is_proof:
            of_proofs |= given - own
        else:
            needed |= (read - given - own) & of_proofs
            own |= given
    return needed


def test_what_only_a_proof_defines_is_found():
    assert needs_a_proof([("a = 1", False), ("b = a", True), ("print(a)", False)]) == set()
    assert needs_a_proof([("b = 1", True), ("print(b)", False)]) == {"b"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_readers_notebook_needs_no_proof(path: Path):
    cells = [
        (cell.source, "remove-cell" in cell.metadata.get("tags", []))
        for cell in store.read_notebook(path).cells
        if cell.cell_type == "code"
    ]
    assert needs_a_proof(cells) == set()
