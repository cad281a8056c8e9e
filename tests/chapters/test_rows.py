# SPDX-License-Identifier: MIT
"""Every row of what the book must teach leads to a label that its page has."""

import re
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


def test_a_numbered_reference_leads_to_a_section_that_has_a_number():
    owners = {label: page for page, path in PAGES.items() for label in back_matter.labels(path)}
    wrong = [
        (page, label)
        for page, path in PAGES.items()
        for label in re.findall(r"\{numref\}`(sec-[\w-]+)`", path.read_text(encoding="utf-8"))
        if not re.match(r"(?!00|9)\d\d_", owners[label])
        or store.page_kind(owners[label]) != "lesson"
    ]
    assert wrong == []
