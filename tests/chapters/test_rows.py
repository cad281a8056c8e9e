"""Every row of what the book must teach still has its place."""

import re
import tomllib
from pathlib import Path

import pytest

import chapters

ROWS = tomllib.loads(Path(__file__).with_name("rows.toml").read_text(encoding="utf-8"))
DEFINITIONS = (
    r"^\(([a-z0-9-]+)\)=$",  # a section
    r"^:(?:label|name): ([a-z0-9-]+)$",  # a definition, an exercise, a table
    r"^\$\$ \(([a-z0-9-]+)\)$",  # an equation
    r"^ +name: ([a-z0-9-]+)$",  # a figure
)


def labels(page: str) -> set[str]:
    """Return the labels that a page defines."""
    (twin,) = chapters.twin_paths(only=page)
    text = twin.read_text(encoding="utf-8")
    return {label for pattern in DEFINITIONS for label in re.findall(pattern, text, re.M)}


@pytest.mark.parametrize("page", ROWS)
def test_every_row_has_its_label(page: str):
    missing = {row: label for row, label in ROWS[page].items() if label not in labels(page)}
    assert missing == {}


def test_row_ids_are_well_formed_and_unique():
    ids = [row for rows in ROWS.values() for row in rows]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Z][A-Z\d]{1,2}-[TEFDRXQ]\d", row) for row in ids)


def test_labels_are_unique_in_the_book():
    found = [label for path in chapters.twin_paths() for label in labels(path.stem)]
    assert len(set(found)) == len(found)
