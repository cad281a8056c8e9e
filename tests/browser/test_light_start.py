# SPDX-License-Identifier: MIT
"""A page is ready soon on a slow phone: the browser styles and lays out nothing twice.

No test here measures a time; each keeps what once cost most of it.
"""

import re

import pytest
from applets import open_applet
from chapter_places import applet_page
from playwright.sync_api import expect
from visiting import Visitor

THEME_SCRIPT = "**/scripts/pydata-sphinx-theme.js*"
CHAPTER = "chapters/05_bert.html"
IN_FOLDS = "document.querySelectorAll('article details:not([open]) pre')"
DEBOUNCE = 600  # ms; the theme's look came 300 ms after a change


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_are_there_before_the_themes_script(visit: Visitor, theme: str):
    page = visit(CHAPTER, theme=theme, missing=[THEME_SCRIPT]).page
    assert page.evaluate("document.documentElement.dataset.theme") == theme


def test_a_chosen_colour_mode_outlives_a_reload(visit: Visitor):
    page = visit(CHAPTER, theme="dark").page
    page.evaluate("localStorage.setItem('mode', 'light'); localStorage.setItem('theme', 'light')")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_closed_folds_are_left_alone_until_they_open(visit: Visitor):
    """A look at a box in a closed fold lets the browser lay the fold out."""
    page = visit(CHAPTER).page
    assert page.evaluate(f"{IN_FOLDS}.length") > 0
    page.evaluate("document.querySelector('article h1').append(document.createElement('i'))")
    page.wait_for_timeout(DEBOUNCE)
    touched = f"[...{IN_FOLDS}].filter((box) => box.hasAttribute('tabindex'))"
    assert page.evaluate(f"{touched}.length") == 0


@pytest.mark.applet
def test_the_worker_fetches_the_model(visit: Visitor):
    opened = visit(applet_page("mask-fill"))
    open_applet(opened, "mask-fill")
    assert any("bert_words.safetensors" in one for one in opened.asked)
    names = "performance.getEntriesByType('resource').map(({ name }) => name)"
    assert not [one for one in opened.page.evaluate(names) if ".safetensors" in one]


def test_sections_far_away_are_left_out_until_the_reader_comes_near(visit: Visitor):
    page = visit(CHAPTER).page
    last = page.locator("section > section").last
    expect(last).to_have_class(re.compile("can-be-far"))
    is_drawn = "(one) => one.checkVisibility({ contentVisibilityAuto: true })"
    paragraph = last.locator("p, li").last
    assert not paragraph.evaluate(is_drawn)
    height = page.evaluate("document.documentElement.scrollHeight")
    paragraph.scroll_into_view_if_needed()
    page.wait_for_function(f"() => ({is_drawn})(document.querySelector('#summary li'))")
    assert abs(page.evaluate("document.documentElement.scrollHeight") - height) < 20


def test_a_figure_wider_than_the_text_is_not_cut(visit: Visitor):
    """Sections that are left out while they are far away clip what stands out of them."""
    page = visit("chapters/03_tokens.html", width=390).page
    expect(page.locator("section.can-be-far:has(#fig-tok-share)")).to_have_count(1)
    page.wait_for_function(
        """() => {
          const svg = document.querySelector("#fig-tok-share svg");
          svg.scrollIntoView({ block: "center" });
          const { left, right, top, height } = svg.getBoundingClientRect();
          return [left + 2, right - 2].every((x) =>
            svg.contains(document.elementFromPoint(x, top + height / 2)));
        }""",
        timeout=20_000,
    )
