# SPDX-License-Identifier: MIT
"""Every source of the bibliography can be found by a reader: DOI, arXiv id, address or ISBN."""

import re
from pathlib import Path

import pytest

FIELDS = {
    "doi": r"10\.\d{4,9}/\S+",
    "eprint": r"\d{4}\.\d{4,5}|(?:cs|math|stat|physics)/\d{7}",
    "url": r"https?://[\w.-]+/\S*",
    "isbn": r"97[89](?:-?\d){10}",
}
WITHOUT_LINK = {"vincent2008", "krizhevsky2012", "levy2014", "google2018bertcode"}  # to be found


def entries(text: str) -> dict[str, dict[str, str]]:
    """Read the fields that lead to a source, by the entry's key."""
    found = {}
    for entry in re.split(r"^@", text, flags=re.MULTILINE)[1:]:
        key = entry.split("{", 1)[1].split(",", 1)[0]
        fields = re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", entry, re.MULTILINE)
        found[key] = {name: value for name, value in fields if name in FIELDS}
    return found


@pytest.fixture(scope="module")
def sources(repository: Path) -> dict[str, dict[str, str]]:
    """The entries of the bibliography."""
    path = repository / "chapters" / "references.bib"
    return entries(path.read_text(encoding="utf-8"))


def test_every_entry_leads_to_its_source(sources: dict[str, dict[str, str]]):
    assert len(sources) > 150
    assert {key for key, fields in sources.items() if not fields} == WITHOUT_LINK


def test_every_link_is_well_formed(sources: dict[str, dict[str, str]]):
    wrong = [
        (key, name, value)
        for key, fields in sources.items()
        for name, value in fields.items()
        if not re.fullmatch(FIELDS[name], value)
    ]
    assert wrong == []


def test_no_two_entries_lead_to_one_source(sources: dict[str, dict[str, str]]):
    links = [(name, value) for fields in sources.values() for name, value in fields.items()]
    assert sorted(link for link in set(links) if links.count(link) > 1) == []


def test_an_entry_without_a_link_would_be_found():
    text = "@misc{one,\n  title = {{A}},\n  eprint = {1234.56789},\n}\n\n"
    text += "@book{two,\n  year = {1999},\n}\n"
    assert entries(text) == {"one": {"eprint": "1234.56789"}, "two": {}}
