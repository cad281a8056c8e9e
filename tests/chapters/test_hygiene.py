# SPDX-License-Identifier: MIT
"""The stored chapters are clean, fresh, and equal to their twins."""

from pathlib import Path

import pytest

import chapters
import hygiene

NOTEBOOKS = chapters.notebook_paths()


def test_every_twin_has_a_notebook_and_every_notebook_a_twin():
    twins = [chapters.notebook_of(path) for path in chapters.twin_paths()]
    assert twins == NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestChapter:
    def test_is_clean(self, path: Path):
        assert hygiene.problems(path) == []

    def test_equals_its_twin(self, path: Path):
        twin = chapters.read_twin(chapters.twin_of(path))
        notebook = chapters.read_notebook(path)
        assert chapters.inputs(notebook) == chapters.inputs(twin), "make sync brings them together"

    def test_stores_only_the_metadata_of_the_book(self, path: Path):
        metadata = dict(chapters.read_notebook(path).metadata)
        assert set(metadata.pop(chapters.NOTE)) == {"twin"}
        assert metadata == chapters.NOTEBOOK_METADATA


def test_labels_are_unique_in_the_book():
    owners: dict[str, str] = {}
    for path in NOTEBOOKS:
        for cell in chapters.read_notebook(path).cells:
            label = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
            assert label not in owners, f"{label} in {path.name} and {owners.get(label)}"
            if label:
                owners[label] = path.name
