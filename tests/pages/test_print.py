# SPDX-License-Identifier: MIT
"""The printed book: everything open, nothing of the screen, and a table of contents that works."""

import re
import subprocess
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tools.chapters.store import ChapterError
from tools.editions import building, printed

PAGE = """<html><head><script src="_static/theme.js"></script></head><body>
<div class="bd-sidebar-primary">menu</div><button>go</button>
<article><section id="book"><h1>The book</h1><p>Welcome.</p>
<div class="toctree-wrapper"><section id="one"><h3>1 One<a class="headerlink" href="#one">#</a></h3>
<section id="first"><h4>1.1 First</h4>
<details><summary>fold</summary><p>inside the fold</p></details>
<div class="cell"><details class="hide"><summary>Show the code</summary><pre>a = 1</pre></details>
<p>what it printed</p></div>
<div class="solution dropdown admonition"><p>the solution</p></div></section></section>
<section id="two"><h3>2 Two</h3><p><math><mi>x</mi></math></p>
<p><a class="external" href="https://example.org/x">out</a></p>
</section></div></section></article></body></html>"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The printable page of a book of two chapters."""
    (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
    return printed.one_page(tmp_path)


def test_the_page_is_open_without_what_only_a_screen_needs(page: Path):
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    assert soup.select("details:not([open]), .dropdown, .headerlink, button") == []
    assert "menu" not in soup.get_text()
    assert soup.select("script") == []
    assert "inside the fold" in soup.get_text()
    assert "what it printed" in soup.get_text()
    assert "a = 1" not in soup.get_text()  # folded code


@pytest.mark.parametrize("level", [2, 3])
def test_chapters_are_the_highest_headings_wherever_the_builder_puts_them(level: int):
    text = PAGE.replace("h4>", f"h{level + 1}!>").replace("h3>", f"h{level}>").replace("!>", ">")
    soup = BeautifulSoup(text, "html.parser")
    printed.prepare(soup)
    assert [one.get_text() for one in soup.select(".toctree-wrapper h1")] == ["1 One", "2 Two"]
    assert [one.get_text() for one in soup.select(".toctree-wrapper h2")] == ["1.1 First"]


def test_the_contents_lead_to_the_chapters_and_their_sections(page: Path):
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    links = soup.select(".printed-contents a")
    assert [(a["href"], a.get_text()) for a in links] == [
        ("#one", "1 One"), ("#first", "1.1 First"), ("#two", "2 Two"),
    ]  # fmt: skip
    assert all(soup.find(id=a["href"][1:]) for a in links)


def test_the_browser_prints_it_with_an_outline(page: Path, tmp_path: Path):
    try:
        building.find_browser()
    except ChapterError:
        pytest.skip("no browser here to print with")
    printed.print_page(page, tmp_path / "out" / "book.pdf")
    content = (tmp_path / "out" / "book.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page[^s]", content)) == 4  # contents, welcome, two chapters
    assert b"/Outlines" in content
    assert content.count(b"/Subtype /Link") + content.count(b"/Subtype/Link") >= 4


def test_without_a_browser_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(building, "BROWSERS", ("no-such-browser",))
    with pytest.raises(ChapterError, match="apt-get install chromium"):
        building.find_browser()


def test_a_browser_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(building, "find_browser", lambda: "false")
    with pytest.raises(ChapterError, match="the browser stopped with"):
        building.run_browser("about:blank")

    def never(*arguments, **options):
        raise subprocess.TimeoutExpired("browser", 3)

    monkeypatch.setattr(building.subprocess, "run", never)
    with pytest.raises(ChapterError, match="more than 3 seconds"):
        building.run_browser("about:blank", seconds=3)


def test_an_empty_folder_is_refused(tmp_path: Path):
    with pytest.raises(ChapterError, match="no page in"):
        printed.one_page(tmp_path)
