# SPDX-License-Identifier: MIT
"""The three games can be played, by mouse and by keyboard, and charge what Python says."""

import math
import re

import pytest
import torch
from applets import SIZES_AND_THEMES, expect_message_without, find, focused_text, open_applet
from axe import axe_complaints
from game_facts import PAGES, chapter_rule, game
from panels import with_modules
from playwright.sync_api import Locator, expect
from scipy import stats
from visiting import Visit, Visitor

from pretrain_lab.checkpoints import load_model

pytestmark = pytest.mark.applet


def scores(panel: Locator) -> dict[str, list[float]]:
    """Read the table of scores: player → last, mean, sum."""
    for fold in panel.locator("details").all():
        fold.evaluate("(one) => { one.open = true; }")  # a click would take the focus
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
        assert re.search("Where scripts run|with JavaScript", shown)
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


def guess_words(panel: Locator, guesses: list[str]) -> None:
    """Type one guess after the other."""
    for guess in guesses:
        panel.get_by_label("Your guess").fill(guess)
        panel.get_by_role("button", name="Guess", exact=True).click()


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_twelve_words_by_mouse(visit: Visitor, width: int, theme: str):
    opened = visit(PAGES["fill-blank"], width=width, theme=theme)
    panel = open_applet(opened, "fill-blank")
    data = game("fill_blank")
    paid = []
    for number, item in enumerate(data["items"]):
        guesses = [["king", "Zounds"], [item["word"]], ["life", "love", item["word"]]][number % 3]
        guess_words(panel, guesses)
        if number == 0:
            tries = panel.locator(".tries li")
            expect(tries.nth(0)).to_contain_text("Not “king”: BERT gave it")
            expect(tries.nth(1)).to_contain_text("“Zounds”, a word that this BERT does not have")
        if number % 3 == 0:
            panel.get_by_role("button", name="Show the word").click()
        paid.append(tries_cost([guess.lower() for guess in guesses], item["word"],
                               data["vocab_size"]))  # fmt: skip
        expect(panel.locator("strong")).to_have_text(item["word"])
        for shown in panel.locator(".bars").all():  # BERT's list and the counter's
            expect(shown.locator("li", has_text="true")).to_contain_text(item["word"])
        if number == 0:
            expect_clean(opened, "fill-blank")
        if number < 11:
            panel.get_by_role("button", name="Next line").click()
    table = scores(panel)
    for name, key in (("BERT", "bert"), ("counting neighbours", "counts"),
                      ("word frequencies", "unigram")):  # fmt: skip
        assert table[name][2] == pytest.approx(sum(i["bits"][key] for i in data["items"]), abs=0.06)
    assert table["you"][2] == pytest.approx(sum(paid), abs=0.06)
    low, high = stats.ttest_rel(
        paid, [i["bits"]["bert"] for i in data["items"]]
    ).confidence_interval()
    expect(panel).to_contain_text(f"interval {low:+.1f} to {high:+.1f}".replace("-", "−"))
    expect_clean(opened, "fill-blank")
    firsts = [sum(next(w for w, _ in i[top] if w[0] != "#") == i["word"] for i in data["items"])
              for top in ("top", "top_counts")]  # fmt: skip
    expect(panel).to_contain_text(f"of 12: you 4, BERT {firsts[0]}, counting {firsts[1]}.")
    panel.get_by_role("button", name="Play again").click()
    expect(panel.locator("h3").first).to_contain_text("Line 1 of 12")


def test_three_misses_show_the_word(visit: Visitor):
    panel = open_applet(visit(PAGES["fill-blank"]), "fill-blank")
    data = game("fill_blank")
    guess_words(panel, ["king", "king", "queen", "duke"])
    expect(panel.locator("strong")).to_have_text(data["items"][0]["word"])
    missed = tries_cost(["king", "queen", "duke"], "", data["vocab_size"])
    assert scores(panel)["you"][0] == pytest.approx(missed, abs=0.051)
    expect(panel).to_contain_text(f"and {missed:.1f} if you do not find it")


def test_the_first_lines_show_what_both_sides_are_worth():
    """Where a newcomer plays first, BERT finds the word at once and counting does not."""
    for item in game("fill_blank")["items"][:3]:
        assert item["source"] == "ours"
        assert item["top"][0][0] == item["word"] != item["top_counts"][0][0]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("Don’t", "Not “Don’t”, a word that this BERT does not have"),
        ("twice-told", "Not “twice-told”, a word that this BERT does not have"),
        ("Zoë", "Not “Zoë”, a word that this BERT does not have"),
        ("very good", "Expected one word, got “very good”."),
        ("7", "Expected one word, got “7”."),
        ("😀", "Expected one word, got “😀”."),
        ("", "Type a word first."),
    ],
)
def test_what_is_typed_is_kept_as_it_was_typed(visit: Visitor, typed: str, told: str):
    panel = open_applet(visit(PAGES["fill-blank"]), "fill-blank")
    guess_words(panel, [typed])
    expect(panel).to_contain_text(told)
    expect(panel.get_by_label("Your guess")).to_have_value(typed)


def test_a_word_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGES["fill-blank"])
    panel = open_applet(opened, "fill-blank", by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.type("King")
    expect(panel.locator(".gap")).to_have_text("King")
    keyboard.press("Enter")
    keyboard.type("full")
    keyboard.press("Enter")
    expect(panel.locator("strong")).to_have_text("full")
    assert scores(panel)["you"][0] == 2.0
    assert focused_text(opened.page) == "Next line"
    keyboard.press("Enter")
    expect(panel.locator("h3")).to_contain_text("Line 2 of 12")
    keyboard.type("hand")
    expect(panel.get_by_label("Your guess")).to_have_value("hand")


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
def test_each_key_of_a_line_is_judged_at_once(visit: Visitor, width: int, theme: str):
    opened = visit(PAGES["next-letter"], width=width, theme=theme)
    panel = open_applet(opened, "next-letter")
    line = game("next_letter")["lines"][1]
    panel.get_by_label("A line from").select_option("1")
    field = panel.get_by_label("Next character")
    trace = panel.locator(".trace li")
    paid, tries = [], []
    for number, truth in enumerate(line["rest"]):
        wrong = [c for c in "XQZ" if c != truth]
        guesses = [[truth], [wrong[0], truth], wrong][number % 3]
        for typed in guesses:
            field.press_sequentially(typed)
        paid.append(tries_cost(guesses, truth, 62))
        tries.append("✗" if truth not in guesses else str(len(guesses)))
        expect(trace).to_have_count(number + 1)
        expect(field).to_have_value("")
        if number == 2:
            expect_clean(opened, "next-letter")
    model = [float(one) for one in trace.locator(".gpt").all_inner_texts()]
    assert trace.locator(".you").all_inner_texts() == tries
    assert "".join(trace.locator("b").all_inner_texts()).replace("␣", " ") == line["rest"]
    assert model == pytest.approx(gpt_bits(line), abs=0.06)
    table = scores(panel)
    assert table["you"][2] == pytest.approx(sum(paid), abs=0.06)
    assert table["GPT"][2] == pytest.approx(sum(gpt_bits(line)), abs=0.1)
    expect(panel).to_contain_text("ranks nobody")
    expect_clean(opened, "next-letter")
    panel.get_by_role("button", name="Another line").click()
    expect(panel.get_by_label("A line from")).to_have_value("2")
    expect(trace).to_have_count(0)


def test_a_character_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGES["next-letter"])
    panel = open_applet(opened, "next-letter", by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Tab")
    keyboard.type("3")
    expect(panel.locator("[role=alert]")).to_contain_text("The plays have no 3")
    keyboard.type("h")
    expect(panel.locator("[role=alert]")).to_be_empty()
    expect(panel.locator("[role=status]").first).to_have_text("Not “h”. Tries left: 2.")
    keyboard.type("hw")
    expect(panel.locator("[role=status]").first).to_contain_text("Yes, “w”. You pay 2.0 bits")
    assert scores(panel)["you"][0] == 2.0
    expect(panel.get_by_label("w: you 2.0 bits")).to_have_count(1)


def key_of(panel: Locator, name: str, points: int = 0) -> Locator:
    """Find the key of a character that has some points."""
    return panel.get_by_role("button", name=f"{name}, {points} points", exact=True)


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_eight_gaps_by_mouse(visit: Visitor, width: int, theme: str):
    opened = visit(PAGES["be-bert"], width=width, theme=theme)
    panel = open_applet(opened, "be-bert")
    my_bits, paid = chapter_rule(), []
    data = game("be_bert")
    for number, place in enumerate(data["order"]):
        item = data["items"][place]
        expect(panel.locator("h3").first).to_contain_text(f"number {place + 1} of the list")
        for given in range(9):
            key_of(panel, "e", given).click()
        key_of(panel, "space").click()
        if number == 0:
            expect_clean(opened, "be-bert")
        expect(panel).to_contain_text("5 of 15 points left: e 9, ␣ 1.")
        panel.get_by_role("button", name="Show the character").click()
        paid.append(my_bits({"e": 9, " ": 1}, item["truth"]))
        assert scores(panel)["you"][0] == pytest.approx(paid[-1], abs=0.051)
        expect(panel.locator(".bars li", has_text="true")).to_have_count(2)
        if number < 7:
            panel.get_by_role("button", name="Next gap").click()
    table = scores(panel)
    for name, key in (("unigram", "unigram"), ("GPT, left only", "gpt"), ("BERT", "bert")):
        mean = sum(item["bits"][key] for item in data["items"]) / 8
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
    expect(panel).to_contain_text("10 of 15 points left: ␣ 2, e 3.")
    for _ in range(12):
        keyboard.press("s")
    expect(panel).to_contain_text("0 of 15 points left: ␣ 2, e 3, s 10.")
    keyboard.press("Tab")
    assert focused_text(opened.page) == "Show the character"
    keyboard.press("Enter")
    assert scores(panel)["you"][0] == pytest.approx(-math.log2((3 + 1 / 62) / 16), abs=0.051)
    assert focused_text(opened.page) == "Next gap"
    keyboard.press("Enter")
    expect(panel.locator("h3").first).to_contain_text("Gap 2 of 8")
    keyboard.press("E")
    expect(panel).to_contain_text("14 of 15 points left: E 1.")


def test_capitals_are_behind_a_key(visit: Visitor):
    panel = open_applet(visit(PAGES["be-bert"]), "be-bert")
    expect(panel.locator(".keys .token")).to_have_count(1 + 26 + 9)
    panel.get_by_role("button", name="Capitals").click()
    key_of(panel, "capital B").click()
    panel.get_by_role("button", name="Capitals").click()
    key_of(panel, "b").click()
    expect(panel).to_contain_text("13 of 15 points left: B 1, b 1.")
    panel.get_by_role("button", name="Take one back").click()
    expect(panel).to_contain_text("14 of 15 points left: B 1.")


def test_windows_begin_and_end_with_whole_words(visit: Visitor):
    page = with_modules(visit(PAGES["be-bert"]))
    cut = page.evaluate(
        """async (items) => {
          const { wholeWords } = await use("engine/games");
          return items.map(wholeWords);
        }""",
        game("be_bert")["items"],
    )
    for item, whole in zip(game("be_bert")["items"], cut, strict=True):
        assert whole["left"].startswith("… ")
        assert whole["right"].endswith(" …")
        for side, shown in (("left", whole["left"][2:]), ("right", whole["right"][:-2])):
            assert shown in item[side]
            assert len(item[side]) - len(shown) < 15
