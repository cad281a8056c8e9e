# SPDX-License-Identifier: MIT
"""A chapter's three pages: numbers that count on, links between them, numbers of a sister page."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from book_pages.notebooks.reader import values_of
from book_pages.provenance.chapter_times import chapter_pages
from tools.chapters import store
from tools.checks import pages

LESSONS = [
    path.stem
    for path in store.twin_paths()
    if store.page_kind(path.stem) == "lesson" and 0 < int(path.stem[:2]) < 15
]  # chapter 15 looks back on others and has nothing to prove behind its lesson
BORROWED = re.compile(r"\{glue:text\}`(?P<page>\w+)\.ipynb::(?P<key>[\w-]+):s`")


def test_every_chapter_has_its_two_sub_pages():
    names = {path.stem for path in store.twin_paths()}
    assert {f"{one}_{end}" for one in LESSONS for end in store.SUB_PAGES} <= names


def test_links_to_the_pages_of_a_chapter():
    book = {"chapters/05_a", "chapters/05_a_exercises", "chapters/05_a_behind", "chapters/06_b"}
    links = chapter_pages("chapters/05_a_behind", book, lambda page: f"../{page}.html")
    found = BeautifulSoup(links, "html.parser")
    assert [a["href"] for a in found.select("a")] == [
        "../chapters/05_a.html",
        "../chapters/05_a_exercises.html",
    ]
    assert found.select_one("[aria-current]").get_text() == "Behind the chapter"
    assert chapter_pages("chapters/06_b", book, str) == ""


@pytest.mark.parametrize("lesson", LESSONS)
class TestBuilt:
    def test_figures_and_the_like_count_on_and_sections_of_sub_pages_do_not(
        self, lesson: str, html: Path
    ):
        names = [lesson, *(f"{lesson}_{end}" for end in store.SUB_PAGES)]
        built = [pages.parsed(html / "chapters" / f"{name}.html") for name in names]
        for kind in ("Figure", "Table", "Exercise"):
            captions = [
                " ".join(one.get_text().split())
                for page in built
                for one in page.select(".caption-number, .admonition-title .caption-number")
            ]
            number = re.compile(rf"{kind} {int(lesson[:2])}\.(\d+)")
            counted = [int(match[1]) for text in captions if (match := number.match(text))]
            assert counted == list(range(1, len(counted) + 1)), kind
        assert built[0].select("article h2 .section-number")
        for page in built[1:]:
            assert page.select("article h2 .section-number") == []

    def test_each_of_its_pages_leads_to_the_others(self, lesson: str, html: Path):
        for end in ("", "_behind", "_exercises"):
            page = pages.parsed(html / "chapters" / f"{lesson}{end}.html")
            assert len(page.select("nav.chapter-pages a")) == 2
            assert len(page.select("nav.chapter-pages [aria-current=page]")) == 1


def test_a_number_of_a_sister_page_is_the_one_that_it_reports(html: Path):
    n_found = 0
    for twin in store.twin_paths():
        text = (
            pages.parsed(html / "chapters" / f"{twin.stem}.html").select_one("article").get_text()
        )
        for match in BORROWED.finditer(twin.read_text(encoding="utf-8")):
            stored = store.read_notebook(store.ROOT / "chapters" / f"{match['page']}.ipynb")
            value = values_of(stored)[match["key"]]
            assert value in text.replace("\N{NO-BREAK SPACE}", " "), (twin.stem, match["key"])
            n_found += 1
    assert n_found > 0
