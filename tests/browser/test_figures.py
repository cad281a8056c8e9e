# SPDX-License-Identifier: MIT
"""Figures in the browser: large when pressed, by mouse and keyboard, and dark on a dark page."""

import pytest
from axe import axe_complaints
from playwright.sync_api import Page, expect
from visiting import Visitor

pytestmark = pytest.mark.slow

CHAPTER, FIGURE = "chapters/14_efficiency.html", "#fig-eff-memory"
DIALOG = "dialog.figure-large"


@pytest.fixture
def chapter(visit: Visitor) -> Page:
    """A chapter in a wide window."""
    return visit(CHAPTER).page


def test_the_keyboard_enlarges_a_figure_and_escape_puts_it_back(chapter: Page):
    button = chapter.locator(f"{FIGURE} .figure-enlarge")
    expect(button).to_have_accessible_name("Enlarge Figure 14.1")
    button.focus()
    chapter.keyboard.press("Enter")
    expect(chapter.locator(f"{DIALOG} svg")).to_be_visible()
    assert axe_complaints(chapter, DIALOG) == []
    chapter.keyboard.press("Escape")
    expect(chapter.locator(DIALOG)).to_have_count(0)
    expect(chapter.locator(f"{FIGURE} svg.book-figure")).to_be_visible()
    expect(button).to_be_focused()


def test_a_press_enlarges_a_figure_and_the_page_behind_stays(chapter: Page):
    figure = chapter.locator(FIGURE)
    small = figure.locator("svg").bounding_box()
    height = figure.bounding_box()
    figure.locator("svg").click()
    large = chapter.locator(f"{DIALOG} svg").bounding_box()
    behind = figure.bounding_box()
    assert small is not None
    assert large is not None
    assert height is not None
    assert behind is not None
    assert large["width"] > 1.3 * small["width"]
    assert abs(behind["height"] - height["height"]) < 1
    chapter.locator(".figure-close").click()
    expect(chapter.locator(DIALOG)).to_have_count(0)


def test_a_dark_page_draws_on_its_own_ground(chapter: Page):
    colours = """(svg) => [
        getComputedStyle(svg.querySelector("path")).fill,
        getComputedStyle(document.body).backgroundColor,
    ]"""
    svg = chapter.locator(f"{FIGURE} svg")
    ground, page = svg.evaluate(colours)
    assert ground == "rgb(255, 255, 255)"
    chapter.evaluate("document.documentElement.dataset.theme = 'dark'")
    ground, page = svg.evaluate(colours)
    assert ground == page != "rgb(255, 255, 255)"
