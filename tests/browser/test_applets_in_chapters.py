# SPDX-License-Identifier: MIT
"""Each applet opens in its chapter, where everything else is too; the rest is tested on a stand."""

import re
from pathlib import Path

import pytest
from applets import open_applet
from chapter_places import applet_page
from panels import fits
from stand import APPLET, StandVisitor, Window
from visiting import Visitor

APPLETS = [
    ("verdict-game", ""),
    ("fill-blank", ""),
    ("next-letter", ""),
    ("attention-explorer", ""),
    ("query-turner", ""),
    ("mask-explorer", ""),
    ("tokenizer", ""),
    ("generation", ""),
    ("time-machine", "model=gpt"),
    ("be-bert", ""),
    ("mask-fill", ""),
    ("time-machine", "model=bert"),
    ("span-corruption", ""),
    ("task-prefix", ""),
    ("three-models", ""),
    ("which-line", ""),
    ("label-ruler", ""),
    ("compress-sentence", ""),
    ("compute-budget", ""),
]
"""Name of each applet, with the data that tell two of a name apart."""
FRONT = "three-questions"
"""The one of the first page, which has no panel; see test_three_questions."""


def test_the_list_of_applets_is_whole(html: Path):
    found = []
    for path in sorted((html / "chapters").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        on_stand = [match[1].removeprefix("pt-") for match in APPLET.finditer(text)]
        assert on_stand == re.findall(r"<pt-([a-z-]+)", text), path.name
        found += on_stand
    assert sorted(found) == sorted([FRONT, *(name for name, _ in APPLETS)])


@pytest.mark.parametrize(("name", "data"), APPLETS)
def test_it_opens_in_its_chapter(visit: Visitor, name: str, data: str):
    opened = visit(applet_page(name, data), width=390, theme="dark", reduced_motion=True)
    panel = open_applet(opened, name, by_keyboard=True)
    assert panel.inner_text().strip()
    assert fits(opened)


def test_the_stand_complains_as_a_chapter_does(window: Window):
    visit = StandVisitor(window)
    opened = visit("chapters/05_bert.html")
    opened.page.evaluate("""() => {
      console.error("so it goes");
      return Promise.allSettled([fetch("https://api.example.org/"), fetch("gone.json")]);
    }""")
    with pytest.raises(
        AssertionError, match=r"api\.example\.org.*so it goes.*gone\.json: status 404"
    ):
        visit.close()
    assert visit("chapters/05_bert.html").problems() == []
    visit("chapters/05_bert.html", missing=["**/start.js*"])
    visit.close()


def test_a_stand_is_the_same_in_every_visit(window: Window):
    visit = StandVisitor(window)
    opened = visit("chapters/05_bert.html", width=390, theme="dark", reduced_motion=True)
    state = """() => [innerWidth, document.documentElement.dataset.theme,
      matchMedia("(prefers-reduced-motion: reduce)").matches, matchMedia("print").matches]"""
    assert opened.page.evaluate(state) == [390, "dark", True, False]
    opened.page.emulate_media(media="print")
    again = visit("chapters/05_bert.html")
    assert again.page.evaluate(state) == [1280, "light", False, False]
    assert re.search(r"chapters/05_bert\.html$", again.page.url)
