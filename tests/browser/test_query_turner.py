# SPDX-License-Identifier: MIT
"""The query that can be turned: its weights are attention's, by pointer and by keyboard."""

import math
import re

import pytest
import torch
from applets import SIZES_AND_THEMES, find, open_applet
from chapter_places import applet_page
from playwright.sync_api import Locator, expect
from visiting import Visitor

from pretrain.attention import attention

PAGE = applet_page("query-turner")
KEYS = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
VALUES = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
pytestmark = pytest.mark.applet


def expected(degrees: float, length: float) -> tuple[list[float], list[float]]:
    """Attend with a query of this direction and length: the weights, and the mixture."""
    angle = math.radians(degrees)
    query = length * torch.tensor([[math.cos(angle), math.sin(angle)]])
    mixed, weights = attention(query, KEYS, VALUES)
    return weights[0].tolist(), mixed[0].tolist()


def shown(panel: Locator) -> tuple[list[float], list[float]]:
    """Read the bars' numbers and the sentence."""
    weights = [float(one) for one in panel.locator(".bar-number").all_inner_texts()]
    said = panel.locator("[role=status]").inner_text()
    return weights, [float(one) for one in re.findall(r"\d\.\d\d", said)]


def holds(panel: Locator, degrees: float, length: float) -> None:
    """Check what is shown for a query."""
    for got, right in zip(shown(panel), expected(degrees, length), strict=True):
        assert got == pytest.approx(right, abs=0.006)


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_it_begins_with_the_example_of_the_chapter(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    holds(open_applet(opened, "query-turner"), 0, 2)
    assert opened.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_by_keyboard(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "query-turner", by_keyboard=True)
    for _ in range(18):
        opened.page.keyboard.press("ArrowRight")  # 5 degrees each
    holds(panel, 90, 2)
    opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("Home")
    holds(panel, 90, 0)


def test_by_pointer(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "query-turner")
    picture = panel.locator("svg")
    opened.page.wait_for_load_state("networkidle")  # then nothing above it moves it any more
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box
    mouse = opened.page.mouse
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(middle[0] + 60, middle[1])
    mouse.down()
    mouse.move(middle[0], middle[1] - 2 * box["height"] / 8.8)
    mouse.up()
    expect(panel.get_by_label("Direction")).to_have_value("90")
    expect(panel.get_by_label("Length")).to_have_value("2")
    holds(panel, 90, 2)


def test_the_address_brings_a_query_back(visit: Visitor):
    opened = visit(f"{PAGE}#applet-query-turner&angle=-45&length=3.5")
    holds(open_applet(opened, "query-turner"), -45, 3.5)


def test_without_scripts_the_figure_and_the_sentence_stay(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "query-turner")
    expect(applet.locator("figure svg").first).to_be_visible()
    expect(applet.get_by_text("The query is an arrow")).to_be_visible()
