# SPDX-License-Identifier: MIT
"""The weight of a page is that of the files it asks for, by kind, against its limit."""

import json
import random
from contextlib import nullcontext
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tools.checks import weigh_pages
from tools.checks.weigh_pages import KINDS, too_heavy, weigh, weigh_all

SERVED = "http://127.0.0.1:1/"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A page with a style, a picture, a script, and a model that it does not open."""
    noise = random.Random(0).randbytes
    files = {
        "a.css": b"p { color: #111 }\n" * 1000,
        "a.js": b"// " + b"x" * 100,
        "a.png": noise(5000),
        "model.safetensors": noise(3000),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "page.html").write_text(
        '<!doctype html><link rel="stylesheet" href="a.css?v=1"><script src="a.js">'
        '</script><link rel="icon" href="data:,"><img src="a.png" alt="Noise"><p>Words</p>',
        encoding="utf-8",
    )
    return tmp_path


def test_kinds_and_compression(folder: Path):
    names = ["page.html", "a.css?v=1", "a.css?v=2", "a.js", "a.png", "gone.js"]
    asked = [SERVED + name for name in names] + ["https://example.org/a.js"]
    weight = weigh(asked, SERVED, folder)
    assert weight["images"] == 5000  # noise does not get smaller
    assert 0 < weight["css"] < 300  # a thousand equal lines do, and count once
    assert 0 < weight["js"] <= 103
    assert 0 < weight["html"] < 250
    assert weight["models"] == weight["fonts"] == weight["other"] == 0


def test_limits():
    weight = dict.fromkeys(KINDS, 0) | {"js": weigh_pages.LIMIT, "images": 10**7}
    assert too_heavy(weight) == []
    (complaint,) = too_heavy(weight | {"css": 1})
    kib = weigh_pages.LIMIT // 1024
    assert complaint == f"{kib} KiB, more than {kib}: css 0, js {kib}, images 9766"
    assert too_heavy(weight | {"models": 1024}) == ["1 KiB of models that nobody asked for"]
    assert too_heavy(weight | {"models": 1024}, may_ask=True) == []


def test_a_browser_weighs_what_it_fetches(browser: Browser, folder: Path):
    weights = weigh_all(browser, folder)
    names = ["page.html", "a.css", "a.js", "a.png"]
    assert weights == {"page.html": weigh([SERVED + name for name in names], SERVED, folder)}


def test_without_pages_it_says_what_builds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(weigh_pages.browsing, "open_browser", nullcontext)
    assert weigh_pages.main([str(tmp_path), "--to", str(tmp_path / "pages.json")]) == 1
    assert "make book builds them" in capsys.readouterr().err
    assert not (tmp_path / "pages.json").exists()


def test_the_record_names_its_limit_and_keeps_it():
    record = json.loads(weigh_pages.RECORD.read_text(encoding="utf-8"))
    assert record["limit"] == weigh_pages.LIMIT
    heavy = [name for name, one in record["pages"].items() if too_heavy(one, may_ask=True)]
    assert heavy == []
