# SPDX-License-Identifier: MIT
"""Every row of what the book must teach is found in the built pages, by its label."""

import tomllib
from pathlib import Path

import pytest

import pages

ROWS = Path(__file__).parents[1] / "chapters" / "rows.toml"


def anchors(page: Path) -> set[str]:
    """List the ids of a page; an equation's carries a prefix of the builder's."""
    found = {str(tag["id"]) for tag in pages.parsed(page).find_all(id=True)}
    return found | {name.removeprefix("equation-") for name in found}


def missing(rows: dict[str, dict[str, str]], html: Path) -> list[str]:
    """List the rows whose label is no id of their page."""
    gone = []
    for page, labels in rows.items():
        known = anchors(html / "chapters" / f"{page}.html")
        gone += [f"{row}: {label} on {page}" for row, label in labels.items() if label not in known]
    return gone


@pytest.mark.slow
def test_every_row_is_on_its_built_page(html: Path, capsys: pytest.CaptureFixture[str]):
    rows = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    gone = missing(rows, html)
    n_rows = sum(map(len, rows.values()))
    with capsys.disabled():
        print(f"\nrows found in the built pages: {n_rows - len(gone)} of {n_rows}")
    assert gone == []


def test_a_label_that_is_gone_would_be_found(tmp_path: Path):
    (tmp_path / "chapters").mkdir()
    body = '<section id="sec-one"><div id="equation-eq-one"></div></section>'
    (tmp_path / "chapters" / "04_planted.html").write_text(f"<html><body>{body}</body></html>")
    rows = {"GPT-T1": "sec-one", "GPT-E1": "eq-one", "GPT-T2": "sec-two"}
    assert missing({"04_planted": rows}, tmp_path) == ["GPT-T2: sec-two on 04_planted"]
