# SPDX-License-Identifier: MIT
"""The mask to paint: its verdicts and sums are worked out again here, by other means."""

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import pytest
from applets import MILLISECONDS, SIZES_AND_THEMES, find, focused_text, open_applet
from axe import axe_complaints
from chapter_places import applet_page
from panels import fits
from playwright.sync_api import Browser, Locator, Page, expect
from visiting import Visitor
from workshop import Workshop

NAME = "mask-painter"
PAGE = applet_page(NAME)
LANGUAGE = {
    "I drink hot tea": Fraction(3, 8),
    "I drink cold tea": Fraction(1, 8),
    "I eat hot soup": Fraction(1, 8),
    "we drink hot tea": Fraction(1, 8),
    "we eat hot soup": Fraction(1, 8),
    "we eat cold soup": Fraction(1, 8),
}
TEXTS = {tuple(text.split()): share for text, share in LANGUAGE.items()}
STRINGS = list(itertools.product(("I", "we"), ("drink", "eat"), ("hot", "cold"), ("tea", "soup")))
GPT = ["1000", "1100", "1110", "1111"]
OPEN, EMPTY = ["1111"] * 4, ["1000", "0100", "0010", "0001"]
PLACES = range(4)
pytestmark = pytest.mark.applet

Uses = dict[int, set[int]]


class Judged(NamedTuple):
    """What the page says of a mask and its questions."""

    kind: str
    is_exact: bool
    uses: Uses
    products: list[float]


def words_in_use(mask: list[str], asks: str, asked: list[int], is_deep: bool) -> Uses:
    """Say for each asked word which words its question may use: powers of a matrix."""
    once = [{s for s in PLACES if s == t or mask[t][s] == "1"} for t in PLACES]
    reached = once
    for _ in PLACES if is_deep else ():
        reached = [{s for via in reached[t] for s in once[via]} for t in PLACES]
    uses = {}
    for word in asked:
        row = word - 1 if asks == "next" else word
        hidden = {"next": set(), "hidden": set(asked), "turn": {word}}[asks]
        uses[word] = (reached[row] if row >= 0 else set()) - hidden
    return uses


def share(text: tuple[str, ...], places: set[int]) -> Fraction:
    agree = (p for one, p in TEXTS.items() if all(one[s] == text[s] for s in places))
    return sum(agree, Fraction(0))


def product(text: tuple[str, ...], uses: Uses) -> Fraction:
    """Multiply the answers that the questions get for a text."""
    whole = Fraction(1)
    for word, used in uses.items():
        if word not in used:
            seen = share(text, used)
            whole *= share(text, used | {word}) / seen if seen else Fraction(1, 2)
    return whole


def kind_of(uses: Uses) -> str:
    """Judge by trying every order of the words."""
    if not uses:
        return "nothing"
    if any(word in used for word, used in uses.items()):
        return "leaks"
    orders = itertools.permutations(uses)
    if not any(
        all(not uses[word] & set(order[i:]) for i, word in enumerate(order)) for order in orders
    ):
        return "pseudo"
    has_links = any(used & set(uses) for used in uses.values())
    return "independent" if len(uses) > 1 and not has_links else "likelihood"


def is_exact(uses: Uses) -> bool:
    given = set(PLACES) - set(uses)
    return all(
        product(text, uses) == TEXTS.get(text, Fraction(0)) / share(text, given)
        for text in STRINGS
        if share(text, given)
    )


def judged(workshop: Workshop, cases: list[tuple]) -> Iterator[Judged]:
    """Ask the module about many cases at once."""
    script = """async (cases) => {
      const engine = await import("/engine/painted.mjs");
      return cases.map(([mask, asks, asked, isDeep]) => {
        const rows = mask.map((row) => [...row].map((one) => one === "1"));
        const questions = engine.questionsOf(rows, asks, asked, isDeep);
        const { kind, isExact } = engine.judge(questions);
        const products = Object.fromEntries(engine.STRINGS.map((text) =>
          [engine.wordsOf(text).join(" "), engine.productOf(text, questions)]));
        return [kind, isExact, questions.map(({ word, uses }) => [word, uses]), products];
      });
    }"""
    for kind, exact, uses, products in workshop.run(script, cases):
        in_order = [products[" ".join(text)] for text in STRINGS]
        yield Judged(kind, exact, {word: set(used) for word, used in uses}, in_order)


def all_questions() -> list[tuple[str, list[int]]]:
    subsets = [[s for s in PLACES if n >> s & 1] for n in range(16)]
    return [(asks, asked) for asks in ("next", "hidden", "turn") for asked in subsets]


def test_verdicts_and_products_of_a_thousand_masks(workshop: Workshop):
    chance = random.Random(7)
    masks = [GPT, OPEN, EMPTY, ["1100", "1100", "1110", "1111"]]
    masks += [["".join(chance.choice("01") for _ in PLACES) for _ in PLACES] for _ in range(16)]
    cases = [
        (mask, asks, asked, is_deep)
        for mask in masks
        for asks, asked in all_questions()
        for is_deep in (True, False)
    ]
    seen = set()
    for case, found in zip(cases, judged(workshop, cases), strict=True):
        uses = words_in_use(*case)
        assert found.uses == uses, case
        assert found.kind == kind_of(uses), case
        assert found.is_exact == is_exact(uses), case
        assert found.products == pytest.approx([float(product(x, uses)) for x in STRINGS]), case
        seen.add(found.kind)
    assert seen == {"nothing", "leaks", "pseudo", "independent", "likelihood"}


def test_the_sums_that_the_chapter_tells(workshop: Workshop):
    every = [0, 1, 2, 3]
    cases = [
        (GPT, "next", every, True),
        (OPEN, "hidden", every, True),
        (OPEN, "turn", every, True),
        (OPEN, "next", every, True),
        (EMPTY, "next", every, True),
        (["1000", "1110", "1110", "1111"], "next", every, True),
    ]
    sums = [sum(found.products) for found in judged(workshop, cases)]
    assert sums == pytest.approx([1, 1, 37 / 16, 8, 1, 2])


def test_the_language_and_the_masks_to_start_from(workshop: Workshop):
    script = """async () => {
      const { STRINGS, PRESETS, paint, truth, wordsOf } = await import("/engine/painted.mjs");
      return [STRINGS.map((text) => [wordsOf(text).join(" "), truth(text)]),
        Object.values(PRESETS).map((one) => paint(one).map((row) => row.map(Number).join("")))];
    }"""
    texts, masks = workshop.run(script)
    assert {text: p for text, p in texts if p} == {text: float(p) for text, p in LANGUAGE.items()}
    assert sorted(text for text, _ in texts) == sorted(" ".join(text) for text in STRINGS)
    assert masks == [GPT, OPEN, ["1100", "1100", "1110", "1111"], EMPTY]


def verdict(panel: Locator) -> Locator:
    return panel.locator("[role=status]")


def cell(panel: Locator, query: str, key: str) -> Locator:
    return panel.get_by_role("button", name=f"{query}, reads word", exact=False).and_(
        panel.locator(f"[aria-label*=', {key}']")
    )


def product_of(panel: Locator, text: str) -> float:
    """Read what a text gets."""
    row = panel.locator(".texts tr").filter(has_text=text)
    return float(row.locator("td").last.inner_text())


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_it_begins_with_a_likelihood(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, NAME)
    expect(verdict(panel)).to_contain_text("Likelihood")
    expect(verdict(panel)).to_contain_text("Sum: 1.00.")
    assert product_of(panel, "I drink hot tea") == 0.375
    assert product_of(panel, "we eat cold soup") == 0.125
    assert fits(opened)
    assert axe_complaints(opened.page, f"pt-{NAME}") == []
    cell(panel, "drink", "hot").click()
    expect(verdict(panel)).to_contain_text("Leaks at word 3")
    assert fits(opened)
    assert axe_complaints(opened.page, f"pt-{NAME}") == []


def test_the_four_verdicts_by_mouse(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    said, asks = verdict(panel), panel.get_by_label("What is asked")
    cell(panel, "drink", "hot").click()
    expect(said).to_contain_text("Leaks at word 3")
    expect(said).to_contain_text("Sum: 2.00, 0.25 of it on texts that never occur.")
    panel.get_by_role("button", name="BERT").click()
    expect(said).to_contain_text("Leaks at words 2 to 4")
    expect(said).to_contain_text("Sum: 8.00")
    asks.select_option("turn")
    expect(said).to_contain_text("Pseudo-likelihood")
    expect(said).to_contain_text("Sum: 2.31.")
    asks.select_option("hidden")
    expect(said).to_contain_text("Independent guesses")
    expect(said).to_contain_text("“I drink hot soup” never occurs, and gets 0.188")
    panel.get_by_role("button", name="we eat hot soup").click()
    expect(said).to_contain_text("0.50 of it on texts that never occur")
    assert product_of(panel, "we drink hot tea") == 0.25


def test_words_can_be_given(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    panel.get_by_role("button", name="prefix LM").click()
    expect(verdict(panel)).to_contain_text("the other words being given")
    head = panel.get_by_role("button", name="Word 2, drink: ask for it")
    expect(head).to_have_attribute("aria-pressed", "false")
    head.click()
    expect(verdict(panel)).to_contain_text("Leaks at word 2")
    for word in ("Word 2", "Word 3", "Word 4"):
        panel.get_by_role("button", name=word).first.click()
    expect(verdict(panel)).to_contain_text("Nothing is asked")


def test_layers_carry_a_word_further(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    cell(panel, "drink", "tea").click()
    expect(verdict(panel)).to_contain_text("reads “hot” through place 4")
    panel.get_by_label("one layer only").check()
    expect(verdict(panel)).to_contain_text("Pseudo-likelihood")


def test_a_drag_paints_one_cell_after_the_other(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, NAME)
    panel.get_by_role("button", name="empty").click()
    panel.locator(".grid").scroll_into_view_if_needed()
    drag(opened.page, cell(panel, "tea", "I"), cell(panel, "tea", "hot"))
    opened.page.mouse.move(0, 0)
    expect(panel.locator("[data-at^='3'][aria-pressed=true]")).to_have_count(3)
    expect(panel.locator("[data-at][aria-pressed=true]")).to_have_count(3)
    drag(opened.page, cell(panel, "tea", "hot"), cell(panel, "tea", "drink"))
    expect(panel.locator("[data-at][aria-pressed=true]")).to_have_count(1)


def middle(one: Locator) -> tuple[float, float]:
    box = one.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, start: Locator, end: Locator) -> None:
    """Press on one cell and let go on another."""
    page.mouse.move(*middle(start))
    page.mouse.down()
    page.mouse.move(*middle(end), steps=8)
    page.mouse.up()


def test_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, NAME, by_keyboard=True)
    press = opened.page.keyboard.press
    press("ArrowDown")
    expect(verdict(panel)).to_contain_text("Independent guesses")
    press("ArrowUp")
    press("Tab")
    press("ArrowRight")
    press("Enter")
    expect(verdict(panel)).to_contain_text("Leaks at words 2 to 4")
    press("Tab")
    assert focused_text(opened.page) == "Word 1, I: ask for it"
    press("Tab")
    press("ArrowDown")
    press("ArrowRight")
    assert focused_text(opened.page).startswith("Word 2, drink, reads word 3, hot")
    press("Space")
    expect(cell(panel, "drink", "hot")).to_have_attribute("aria-pressed", "false")
    press("Enter")
    expect(cell(panel, "drink", "hot")).to_have_attribute("aria-pressed", "true")


def test_by_touch(browser: Browser, stand_address: str):
    with browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    ) as context:
        page = context.new_page()
        page.goto(stand_address + PAGE)
        panel = page.locator(f"pt-{NAME} .panel")
        panel.wait_for(timeout=MILLISECONDS)
        cell(panel, "drink", "hot").tap()
        expect(verdict(panel)).to_contain_text("Leaks at word 3")
        cell(panel, "drink", "hot").tap()
        expect(verdict(panel)).to_contain_text("Likelihood")
        panel.get_by_role("button", name="prefix LM").tap()
        expect(verdict(panel)).to_contain_text("given")
        swipe(page, cell(panel, "I", "hot"), cell(panel, "I", "tea"))
        expect(panel.locator("[data-at^='0'][aria-pressed=true]")).to_have_count(3)


def swipe(page: Page, start: Locator, end: Locator) -> None:
    """Draw a finger from one cell to another."""
    send = page.context.new_cdp_session(page).send
    (x, y), (to_x, to_y) = middle(start), middle(end)
    steps = [(x + (to_x - x) * i / 8, y + (to_y - y) * i / 8) for i in range(9)]
    for i, (at_x, at_y) in enumerate(steps):
        kind = "touchMove" if i else "touchStart"
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": at_x, "y": at_y}]})
    send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_the_address_brings_a_painted_mask_back(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, NAME)
    cell(panel, "I", "tea").click()
    panel.get_by_label("What is asked").select_option("turn")
    panel.get_by_label("one layer only").check()
    panel.get_by_role("button", name="we eat hot soup").click()
    shown = verdict(panel).inner_text(), panel.locator(".grid").inner_text()
    opened.page.wait_for_url("**layers=one**")
    again = visit(opened.page.url.removeprefix(visit.address))
    panel = open_applet(again, NAME)
    assert (verdict(panel).inner_text(), panel.locator(".grid").inner_text()) == shown
    expect(panel.get_by_label("one layer only")).to_be_checked()


@pytest.mark.parametrize(
    "state",
    ["mask=2&asks=what&words=&text=99&layers=-1", "mask=1&words=9%F0%9F%98%80&text=x", "text=0.5"],
)
def test_a_silly_address_is_answered(visit: Visitor, state: str):
    panel = open_applet(visit(f"{PAGE}#applet-{NAME}&{state}"), NAME)
    assert verdict(panel).inner_text().startswith(("Nothing is asked", "Likelihood"))
    assert panel.locator("[aria-pressed=true]").count() >= 1


def test_nothing_moves_under_the_pointer(visit: Visitor):
    panel = open_applet(visit(PAGE, width=390), NAME)
    before = middle(cell(panel, "drink", "hot"))
    cell(panel, "drink", "hot").click()
    expect(verdict(panel)).to_contain_text("Leaks")
    assert middle(cell(panel, "drink", "hot")) == pytest.approx(before, abs=2)


def test_without_scripts_the_static_form_stands(visit: Visitor):
    plain = find(visit(PAGE, javascript=False), NAME)
    expect(plain.locator("p").last).to_be_visible()
    expect(plain.locator("button")).to_have_count(0)
