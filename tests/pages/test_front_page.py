# SPDX-License-Identifier: MIT
"""The first page: three lines with stored answers, three numbers, the map, a short path."""

import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from book_pages.directives.front_page import ANSWERS, N_SHOWN, guesses_html, line_html
from book_pages.directives.thumbnails import PICTURES, may_look, picture
from book_pages.provenance.chapter_times import WORDS_PER_MINUTE
from pretrain_book.style import STYLE
from tools.checks import pages
from tools.editions import cover

INDEX = "chapters/index.html"
GLUED = r"\*\*\{glue:text\}`(\w+)\.ipynb::(\w+):s`"


@pytest.fixture(scope="module")
def index(html: Path) -> BeautifulSoup:
    """The built first page."""
    return pages.parsed(html / INDEX)


@pytest.fixture(scope="module")
def stored(repository: Path) -> dict:
    """The stored answers."""
    return json.loads((repository / ANSWERS).read_text("utf-8"))


def words_of(line: Tag, kind: str) -> list[str]:
    """Read the words of a line that are seen, dark or gaps."""
    return [one.get_text() for one in line.select(f".word.is-{kind}")]


def test_gpt_sees_the_left_side_alone_and_the_others_both():
    lines = {
        model: BeautifulSoup(line_html(model, "One, two three.", [1]), "html.parser")
        for model in STYLE
        if model != "baseline"
    }
    assert words_of(lines["gpt"], "seen") == ["One,"]
    assert words_of(lines["gpt"], "dark") == ["three."]
    for model in ("bert", "t5"):
        assert words_of(lines[model], "seen") == ["One,", "three."]
        assert words_of(lines[model], "gap") == ["▢"]


def test_the_true_word_is_marked():
    rows = BeautifulSoup(guesses_html("it 50.0, a<b 20.4, we 0.3", "we"), "html.parser")
    assert [row.get_text(" ").split() for row in rows.select("li")] == [
        ["it", "50", "%"], ["a<b", "20", "%"], ["we", "0", "%"],
    ]  # fmt: skip
    assert [row.get_text() for row in rows.select(".is-true span:first-child")] == ["we"]


def test_the_page_shows_the_stored_answers(index: BeautifulSoup, stored: dict):
    questions = index.select(".question")
    assert [one["data-model"] for one in questions] == ["gpt", "bert", "t5"]
    for question in questions:
        hidden = stored["start"][question["data-model"]]
        answers = stored["answers"][question["data-model"]][" ".join(map(str, hidden))]
        lists = question.select("ol.guesses")
        assert len(lists) == len(answers) == len(question.select(".gap"))
        for shown, answer in zip(lists, answers, strict=True):
            rows = [row.select_one("span").get_text() for row in shown.select("li")]
            assert rows == [guess.split()[0] for guess in answer.split(", ")[:N_SHOWN]]
        assert question.select(".is-true"), "the open gaps show what the models know best"


def test_findings_are_numbers_of_chapters_with_a_link_to_them(
    index: BeautifulSoup, repository: Path
):
    text = (repository / "chapters" / "index.md").read_text("utf-8")
    glued = re.findall(GLUED, text)
    items = index.select("#three-findings li")
    assert len(items) == len(glued) == 3
    for item, (name, key) in zip(items, glued, strict=True):
        cells = json.loads((repository / "chapters" / f"{name}.ipynb").read_text("utf-8"))["cells"]
        outputs = [one for cell in cells for one in cell.get("outputs", ())]
        (value,) = [
            one["data"]["application/papermill.record/text/plain"].strip("'")
            for one in outputs
            if one.get("metadata", {}).get("scrapbook", {}).get("name") == key
        ]
        assert item.select_one("strong").get_text().startswith(value)
        assert any(name in link["href"] for link in item.select("a"))


def test_every_chapter_is_a_card_with_a_picture_and_minutes(index: BeautifulSoup):
    cards = index.select("nav.chapter-map .card-of-chapter")
    assert len(cards) == len(PICTURES) == 16
    assert all(len(card.select("a[href]")) == 1 for card in cards)
    assert all(card.select("svg") for card in cards)
    minutes = [int(card.select_one(".minutes").get_text().split()[0]) for card in cards]
    assert all(1 <= one < 60 for one in minutes)
    assert len({picture(number) for number in PICTURES}) == len(PICTURES)


def test_masks_are_those_of_the_cover():
    for model, mask in zip(("gpt", "bert", "t5"), cover.masks(), strict=True):
        for query, row in enumerate(mask.tolist()):
            assert [may_look(model, query, key) for key in range(len(row))] == row


def test_the_short_path_takes_ninety_minutes_at_most(index: BeautifulSoup, html: Path):
    (path,) = [one for one in index.select("#where-to-start li") if "ninety" in one.get_text()]
    links = [link["href"].split("#") for link in path.select("a")]
    assert len(links) == 6
    n_words = 0
    for page, anchor in links:
        section = pages.parsed(html / "chapters" / page).find(id=anchor).find_parent("section")
        n_words += len(section.get_text(" ").split())
    assert 20 < n_words / WORDS_PER_MINUTE <= 90, "code and outputs are counted as prose"


def test_no_other_page_loads_the_style_of_the_first(html: Path):
    with_style = [
        name for name in pages.built_pages(html)
        if "front.css" in (html / name).read_text("utf-8")
    ]  # fmt: skip
    assert with_style == [INDEX]


def test_a_returning_reader_finds_the_place_to_go_on(index: BeautifulSoup):
    (link,) = index.select(".front-buttons a[data-continue]")
    assert link.has_attr("hidden")


def test_binder_is_spoken_of_only_where_chapters_have_its_button(html: Path):
    told = "Binder" in pages.parsed(html / "chapters" / "scripts.html").get_text()
    assert told == ("mybinder.org" in (html / "chapters" / "04_gpt.html").read_text("utf-8"))
