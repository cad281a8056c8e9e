# SPDX-License-Identifier: MIT
"""The three games can be played, by mouse and by keyboard, and charge what Python says."""

import math

import pytest
import torch
from applets import SIZES_AND_THEMES, expect_message_without, find, focused_text, open_applet
from axe import axe_complaints
from game_facts import PAGES, chapter_rule, game
from playwright.sync_api import Locator, expect
from scipy import stats
from visiting import Visit, Visitor

from pretrain_lab.checkpoints import load_model

pytestmark = pytest.mark.applet


def scores(panel: Locator) -> dict[str, list[float]]:
    """Read the table of scores: player → last, mean, sum."""
    rows = panel.locator(".scores tbody tr")
    return {
        row.locator("th").inner_text(): [float(one) for one in row.locator("td").all_inner_texts()]
        for row in rows.all()
    }


def tries_cost(guesses: list[str], truth: str, n: int) -> float:
    """What the exercises of Chapter 1 charge."""
    shares = [0.5, 0.25, 0.125][: len(guesses)]
    hit = sum(share for guess, share in zip(guesses, shares, strict=True) if guess == truth)
    return -math.log2(hit + (1 - sum(shares)) / n)


def expect_clean(visit: Visit, name: str) -> None:
    """Nothing is wider than the window, and axe finds nothing in the applet."""
    assert visit.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert axe_complaints(visit.page, f"pt-{name}") == []


@pytest.mark.parametrize("name", PAGES)
class TestEach:
    def test_without_its_data_it_says_so(self, visit: Visitor, name: str):
        file = f"**/{name.replace('-', '_')}.json*"
        expect_message_without(visit, PAGES[name], name, file)

    def test_the_static_form_stands_alone_and_tells_no_answer(self, visit: Visitor, name: str):
        applet = find(visit(PAGES[name], javascript=False), name)
        expect(applet.locator("table, pre")).to_be_visible()
        expect(applet.locator("button")).to_have_count(0)
        shown = applet.inner_text()
        assert "Where scripts run" in shown
        filled = {
            "fill-blank": [i["left"] + i["word"] for i in game("fill_blank")["items"]],
            "next-letter": [i["rest"] for i in game("next_letter")["lines"]],
            "be-bert": [i["left"][-5:] + i["truth"] for i in game("be_bert")["items"]],
        }
        assert not [text for text in filled[name] if text in shown]

    def test_it_is_not_printed(self, visit: Visitor, name: str):
        opened = visit(PAGES[name])
        panel = open_applet(opened, name)
        opened.page.emulate_media(media="print")
        expect(panel).to_be_hidden()


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_twelve_words_by_mouse(visit: Visitor, width: int, theme: str):
    opened = visit(PAGES["fill-blank"], width=width, theme=theme)
    panel = open_applet(opened, "fill-blank")
    data = game("fill_blank")
    paid = []
    for number, item in enumerate(data["items"]):
        guesses = [["king", "zounds"], [item["word"]], ["life", "love", item["word"]]][number % 3]
        for place, guess in enumerate(guesses):
            panel.locator("input").nth(place).fill(guess)
        panel.get_by_role("button", name="Show the word").click()
        paid.append(tries_cost(guesses, item["word"], data["vocab_size"]))
        expect(panel.locator("strong")).to_have_text(item["word"])
        expect(panel.locator(".bars li", has_text="true")).to_contain_text(item["word"])
        if number == 0:
            expect(panel).to_contain_text("“zounds” is no piece of its vocabulary.")
            expect_clean(opened, "fill-blank")
        if number < 11:
            panel.get_by_role("button", name="Next line").click()
    table = scores(panel)
    for name, key in (("book BERT", "bert"), ("neighbours counted", "counts"),
                      ("word frequencies", "unigram")):  # fmt: skip
        assert table[name][2] == pytest.approx(sum(i["bits"][key] for i in data["items"]), abs=0.06)
    assert table["you"][2] == pytest.approx(sum(paid), abs=0.06)
    low, high = stats.ttest_rel(
        paid, [i["bits"]["bert"] for i in data["items"]]
    ).confidence_interval()
    expect(panel).to_contain_text(f"interval {low:+.1f} to {high:+.1f}".replace("-", "−"))
    expect_clean(opened, "fill-blank")
    panel.get_by_role("button", name="Play again").click()
    expect(panel.locator("h3")).to_contain_text("Line 1 of 12")


def test_a_word_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGES["fill-blank"])
    panel = open_applet(opened, "fill-blank", by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.type("very good")
    keyboard.press("Enter")
    expect(panel.locator("[role=alert]")).to_contain_text("got “very good”")
    keyboard.press("Control+a")
    keyboard.type("King")
    keyboard.press("Tab")
    keyboard.type("full")
    keyboard.press("Enter")
    expect(panel.locator("strong")).to_have_text("full")
    assert scores(panel)["you"][0] == 2.0
    assert focused_text(opened.page) == "Next line"
    keyboard.press("Enter")
    expect(panel.locator("h3")).to_contain_text("Line 2 of 12")
    keyboard.type("hand")
    expect(panel.locator("input").first).to_have_value("hand")


def gpt_bits(line: dict[str, str]) -> list[float]:
    """Ask PyTorch what the rest of a line costs, character by character."""
    gpt, tokenizer = load_model("gpt_chars")
    ids = tokenizer.encode(line["context"] + line["start"] + line["rest"])
    n = len(line["rest"])
    with torch.inference_mode():
        found = gpt(ids[None, :-1])[0, -n:].log_softmax(dim=-1)
    bits: list[float] = (-found.gather(1, ids[-n:, None])[:, 0] / math.log(2)).tolist()
    return bits


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_a_line_by_mouse_costs_gpt_what_pytorch_says(visit: Visitor, width: int, theme: str):
    opened = visit(PAGES["next-letter"], width=width, theme=theme)
    panel = open_applet(opened, "next-letter")
    line = game("next_letter")["lines"][1]
    panel.get_by_label("A line from").select_option("1")
    paid = []
    for number, truth in enumerate(line["rest"]):
        guesses = [truth * 3, "e" + truth, "xyz"][number % 3]
        panel.get_by_label("Next character").fill(guesses)
        panel.get_by_role("button", name="Show the character").click()
        paid.append(tries_cost(list(guesses), truth, 62))
        expect(panel.locator("pre")).to_contain_text(line["start"] + line["rest"][: number + 1])
        if number == 2:
            expect_clean(opened, "next-letter")
    rows = panel.locator(".letters tbody tr")
    mine, model = ([float(x) for x in rows.nth(i).locator("td").all_inner_texts()] for i in (0, 1))
    assert mine == pytest.approx(paid, abs=0.051)
    assert model == pytest.approx(gpt_bits(line), abs=0.06)
    table = scores(panel)
    assert table["you"][2] == pytest.approx(sum(paid), abs=0.06)
    assert table["GPT"][2] == pytest.approx(sum(gpt_bits(line)), abs=0.1)
    expect(panel).to_contain_text("ranks nobody")
    expect_clean(opened, "next-letter")
    panel.get_by_role("button", name="Another line").click()
    expect(panel.get_by_label("A line from")).to_have_value("2")


def test_a_character_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGES["next-letter"])
    panel = open_applet(opened, "next-letter", by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(panel.locator("[role=alert]")).to_have_text("Type one to three characters first.")
    keyboard.type("3")
    keyboard.press("Enter")
    expect(panel.locator("[role=alert]")).to_contain_text("The plays have no 3")
    keyboard.press("Backspace")
    keyboard.type("hw")
    keyboard.press("Enter")
    expect(panel.locator("strong")).to_have_text("“w”")
    assert scores(panel)["you"][0] == 2.0
    keyboard.type(" ea")
    expect(panel.get_by_label("Next character")).to_have_value(" ea")


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_eight_blanks_by_mouse(visit: Visitor, width: int, theme: str):
    opened = visit(PAGES["be-bert"], width=width, theme=theme)
    panel = open_applet(opened, "be-bert")
    my_bits, paid = chapter_rule(), []
    items = game("be_bert")["items"]
    for number, item in enumerate(items):
        panel.get_by_role("button", name="e, 0 points", exact=True).click()
        panel.get_by_role("button", name="space, 0 points", exact=True).click()
        panel.get_by_label("Points on “e”").fill("9")
        panel.get_by_label("Points on “e”").blur()
        if number == 0:
            panel.get_by_label("Points on “e”").fill("40")
            panel.get_by_label("Points on “e”").blur()
            expect(panel.get_by_label("Points on “e”")).to_have_value("14")
            expect_clean(opened, "be-bert")
        points = {"e": 14 if number == 0 else 9, " ": 1}
        expect(panel).to_contain_text(f"{15 - sum(points.values())} of 15 points left")
        panel.get_by_role("button", name="Show the character").click()
        paid.append(my_bits(points, item["truth"]))
        assert scores(panel)["you"][0] == pytest.approx(paid[-1], abs=0.051)
        expect(panel.locator(".bars li", has_text="true")).to_have_count(2)
        if number < 7:
            panel.get_by_role("button", name="Next blank").click()
    table = scores(panel)
    for name, key in (("unigram", "unigram"), ("GPT, left only", "gpt"), ("BERT", "bert")):
        mean = sum(item["bits"][key] for item in items) / 8
        assert table[name][1] == pytest.approx(mean, abs=0.051)
    assert table["you"][1] == pytest.approx(sum(paid) / 8, abs=0.051)
    expect(panel).to_contain_text("95 % interval")
    expect_clean(opened, "be-bert")


def test_points_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGES["be-bert"])
    panel = open_applet(opened, "be-bert", by_keyboard=True)
    keyboard = opened.page.keyboard
    assert focused_text(opened.page) == "space, 0 points"
    keyboard.press("Enter")
    keyboard.press("Space")
    keyboard.press("ArrowRight")
    assert focused_text(opened.page) == "a, 0 points"
    keyboard.type("eeet")
    keyboard.press("Backspace")
    expect(panel).to_contain_text("10 of 15 points left")
    expect(panel.get_by_label("Points on “e”")).to_have_value("3")
    for _ in range(12):
        keyboard.press("s")
    expect(panel).to_contain_text("0 of 15 points left")
    expect(panel.get_by_label("Points on “s”")).to_have_value("10")
    for _ in range(4):  # the three fields, then the button
        keyboard.press("Tab")
    assert focused_text(opened.page) == "Show the character"
    keyboard.press("Enter")
    assert scores(panel)["you"][0] == pytest.approx(-math.log2((2 + 1 / 62) / 16), abs=0.051)
    assert focused_text(opened.page) == "Next blank"
    keyboard.press("Enter")
    expect(panel.locator("h3")).to_have_text("Blank 2 of 8")
    keyboard.press("e")
    expect(panel).to_contain_text("14 of 15 points left")
