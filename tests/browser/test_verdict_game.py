# SPDX-License-Identifier: MIT
"""The game of the first page: praise or pan, by mouse and by keyboard, counted truly."""

import json
from typing import Any

import pytest
from applets import SIZES_AND_THEMES, expect_message_without, open_applet
from axe import axe_complaints
from chapter_places import applet_page
from playwright.sync_api import expect
from visiting import Visitor

from pretrain_lab.paths import DATA

NAME = "verdict-game"
PAGE = applet_page(NAME)
pytestmark = pytest.mark.applet


def items() -> list[dict[str, Any]]:
    """Read what is asked."""
    found: list[dict[str, Any]] = json.loads(
        (DATA / "applets" / "verdicts.json").read_text(encoding="utf-8")
    )["items"]
    return found


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_all_sentences_are_judged_and_counted(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, NAME)
    for number, item in enumerate(items(), start=1):
        expect(panel.locator(".quote")).to_have_text(item["sentence"])
        panel.get_by_role("button", name="Praise").click()
        truth = ("Pan", "Praise")[item["label"]]
        verdict = "right" if item["label"] else "wrong"
        expect(panel.get_by_text(f"{truth}: you are {verdict}.")).to_be_visible()
        expect(panel.get_by_text(f"Right so far, of {number}")).to_be_visible()
        if number == 1:
            assert axe_complaints(opened.page, f"pt-{NAME}") == []
            assert opened.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        if number < len(items()):
            panel.get_by_role("button", name="Next sentence").click()
    right = {"you": sum(item["label"] for item in items())}
    for key, name in (
        ("published", "pre-trained network"), ("random", "untrained network"),
        ("counts", "counted words"),
    ):  # fmt: skip
        right[name] = sum((i["praise"][key] > 0.5) == bool(i["label"]) for i in items())
    line = ", ".join(f"{name} {n}" for name, n in right.items())
    expect(panel.get_by_text(f"of {len(items())}: {line}.")).to_be_visible()


def test_it_can_be_played_by_keyboard_and_again(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, NAME, by_keyboard=True)
    for _ in items():
        panel.get_by_role("button", name="Pan").press("Enter")
        opened.page.keyboard.press("Enter")
    expect(panel.locator(".quote")).to_have_text(items()[0]["sentence"])


def test_without_its_data_it_says_so(visit: Visitor):
    expect_message_without(visit, PAGE, NAME, "**/verdicts.json*")
