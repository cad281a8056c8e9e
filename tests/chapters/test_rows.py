# SPDX-License-Identifier: MIT
"""Every row of what the book must teach still has its place."""

import re
import tomllib
from pathlib import Path

import pytest

import back_matter
import chapters

ROWS = tomllib.loads(Path(__file__).with_name("rows.toml").read_text(encoding="utf-8"))
EXPECTED = tomllib.loads(Path(__file__).with_name("rows_expected.toml").read_text(encoding="utf-8"))
PAGES = {path.stem: path for path in back_matter.sources(chapters.ROOT)}


def labels(page: str) -> set[str]:
    """Return the labels that a page defines, be it a notebook or plain text."""
    return set(back_matter.labels(PAGES[page]))


@pytest.mark.parametrize("page", ROWS)
def test_every_row_has_its_label(page: str):
    missing = {row: label for row, label in ROWS[page].items() if label not in labels(page)}
    assert missing == {}


def test_row_ids_are_well_formed_and_unique():
    ids = [row for rows in ROWS.values() for row in rows]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Z][A-Z\d]{1,2}-(?:[TEFDRXQI]\d|[A-S])", row) for row in ids)


def test_every_row_that_the_book_must_carry_has_a_place():
    expected = [f"{part}-{row}" for part, rows in EXPECTED.items() for row in rows]
    placed = {row for rows in ROWS.values() for row in rows}
    assert len(set(expected)) == len(expected) == 285
    assert placed == set(expected)


def test_labels_are_unique_in_the_book():
    found = [label for page in PAGES for label in labels(page)]
    assert len(set(found)) == len(found)
