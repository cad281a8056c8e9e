# SPDX-License-Identifier: MIT
"""The game of chapter 8: which of two speeches, by mouse, finger and keyboard, counted truly."""

import json
from typing import Any

import pytest
from applets import SIZES_AND_THEMES, expect_message_without, find, focused_text, open_applet
from axe import axe_complaints
from chapter_places import applet_page
from panels import fits, with_modules
from playwright.sync_api import Locator, expect
from visiting import Visitor

from pretrain_lab.paths import DATA

NAME = "which-line"
PAGE = applet_page(NAME)
pytestmark = pytest.mark.applet


def data() -> dict[str, Any]:
    """Read what is asked, and what is known of all pairs."""
    found: dict[str, Any] = json.loads(
        (DATA / "applets" / "which_line.json").read_text(encoding="utf-8")
    )
    return found


def is_gpt_right(item: dict[str, Any]) -> bool:
    """Tell whether the right version costs the model fewer bits."""
    return bool(item["bits"][item["right"]] < item["bits"][1 - item["right"]])


def versions(panel: Locator) -> Locator:
    """Find the two speeches."""
    return panel.locator(".version")


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_all_pairs_are_judged_and_counted(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, NAME)
    items, counted = data()["items"], {"you": 0, "GPT": 0}
    for number, item in enumerate(items, start=1):
        expect(panel.locator("h3")).to_contain_text(f"{number} of 10: {item['speaker']}, in ")
        for i, letter in enumerate("AB"):
            shown = versions(panel).nth(i).locator("span").all_inner_texts()
            assert shown == [letter, *item["versions"][i].split("\n")]
        top = versions(panel).first.bounding_box()
        versions(panel).nth(0).click()
        counted["you"] += item["right"] == 0
        counted["GPT"] += is_gpt_right(item)
        said = panel.get_by_role("status")
        verdict = "wrong" if item["right"] else "right"
        expect(said).to_contain_text(f"{'AB'[item['right']]} is Shakespeare’s: you are {verdict}.")
        first, second = (f"{bits:.1f}" for bits in item["bits"])
        expect(said).to_contain_text(f"GPT pays {first} bits for A and {second} for B")
        expect(said).to_contain_text(f"is {'right' if is_gpt_right(item) else 'wrong'}.")
        score = f"of {number}: you {counted['you']}, GPT {counted['GPT']}; a coin would have"
        expect(said).to_contain_text(f"{score} {number / 2:g} on average.")
        expect(versions(panel).nth(item["right"])).to_contain_text("✓ Shakespeare’s")
        expect(versions(panel).nth(1 - item["right"])).to_contain_text("✗ two lines swapped")
        expect(versions(panel).nth(0)).to_contain_text("your choice")
        expect(panel.locator(".moved")).to_have_count(4)
        answer = said.bounding_box()
        assert top
        assert answer
        assert answer["y"] - top["y"] <= 400
        if number in (1, len(items)):
            assert axe_complaints(opened.page, f"pt-{NAME}") == []
            assert fits(opened)
        if number < len(items):
            panel.get_by_role("button", name="Next speech").click()
    assert counted["GPT"] < len(items), "it errs, too"
    of_all = data()["of_all"]
    expect(said).to_contain_text(f"Over all {of_all['n']:,} such pairs")
    expect(said).to_contain_text(f"GPT is right in {100 * of_all['right']:.0f} %")


def test_it_can_be_played_by_keyboard_and_again(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, NAME, by_keyboard=True)
    items = data()["items"]
    for item in items:
        assert focused_text(opened.page).startswith("A")
        if item["right"]:
            opened.page.keyboard.press("Tab")
        opened.page.keyboard.press("Enter")
        expect(panel.get_by_role("status")).to_contain_text("you are right")
        opened.page.keyboard.press("Enter")
    expect(panel.locator("h3")).to_contain_text("1 of 10")
    versions(panel).first.press("Enter")
    expect(panel.get_by_role("status")).to_contain_text("Right so far, of 1:")


def test_which_version_costs_less_and_which_lines_moved(visit: Visitor):
    page = with_modules(visit(PAGE))
    code = """async ([bits, texts]) => {
      const { choiceOf, swappedLines } = await use("engine/speeches");
      return [choiceOf(bits), swappedLines(...texts)]; }"""
    assert page.evaluate(code, [[3.5, 2], ["a\nb\nc\nd", "a\nc\nb\nd"]]) == [1, ["b", "c"]]
    for item in data()["items"]:
        choice, moved = page.evaluate(code, [item["bits"], item["versions"]])
        assert (choice == item["right"]) == is_gpt_right(item)
        assert len(moved) == 2


def test_it_moves_no_focus_before_it_is_played(visit: Visitor):
    opened = visit(PAGE)
    open_applet(opened, NAME)
    assert opened.page.evaluate("document.activeElement === document.body")


def test_without_its_data_it_says_so(visit: Visitor):
    expect_message_without(visit, PAGE, NAME, "**/which_line.json*")


def test_without_scripts_two_versions_stay(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), NAME)
    expect(applet).to_contain_text("A")
    expect(applet.locator("button")).to_have_count(0)
