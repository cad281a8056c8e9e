# SPDX-License-Identifier: MIT
"""Every row of what the book must teach leads to a label that its page has."""

import tomllib
from pathlib import Path

import pytest

from tools.chapters import back_matter, store

ROWS = tomllib.loads(Path(__file__).with_name("rows.toml").read_text(encoding="utf-8"))
PAGES = {path.stem: path for path in back_matter.sources(store.ROOT)}


@pytest.mark.parametrize("page", ROWS)
def test_every_row_leads_to_something_that_exists(page: str):
    labels = set(back_matter.labels(PAGES[page]))
    assert {row: label for row, label in ROWS[page].items() if label not in labels} == {}


def test_labels_are_unique_in_the_book():
    found = [label for path in PAGES.values() for label in back_matter.labels(path)]
    assert len(set(found)) == len(found)
