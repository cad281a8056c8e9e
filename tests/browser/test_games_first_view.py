# SPDX-License-Identifier: MIT
"""The first view of the games and explorers: its room is kept, its answer is near its input."""

import pytest
from applets import MILLISECONDS, find, open_applet
from axe import axe_complaints
from chapter_places import applet_page
from playwright.sync_api import Locator, expect
from visiting import Visitor

MOST = 400  # px from the top of what is asked to the top of the answer
VIEWS = {
    "tokenizer": ("textarea", ".ladder"),
    "attention-explorer": ("label input", ".looked .token[aria-pressed=true]"),
    "mask-explorer": ("label select", "table.grid"),
    "query-turner": ("svg", ".bars"),
    "compute-budget": (".given input", "[role=status]"),
    "be-bert": (".keys", "[role=status]"),
    "verdict-game": (".row button", "[role=status]"),
    "fill-blank": ("form input", ".tries"),
    "next-letter": ("label input", "[role=status]"),
    "which-line": ("button", "[role=status]"),
    "label-ruler": ("input", "[role=status]"),
    "time-machine gpt": ("input", "pre"),
    "time-machine bert": ("input", ".sentence .tokens"),
}
"""Applet, with the model where it needs one: what is asked, and where the answer begins."""
EACH = pytest.mark.parametrize("view", VIEWS)


def open_view(visit: Visitor, view: str, **how: object) -> tuple[Locator, Locator]:
    """Open an applet for a reader who wants no motion; give it and its panel."""
    name, _, model = view.partition(" ")
    page = applet_page(name, f"model={model}" if model else "")
    opened = visit(page, reduced_motion=True, **how)  # type: ignore[arg-type]
    panel = open_applet(opened, name)
    if model:
        expect(panel.get_by_label("Training step")).not_to_have_value("0", timeout=MILLISECONDS)
    return find(opened, name), panel


@EACH
@pytest.mark.parametrize("width", [1280, 390])
def test_answer_and_room(visit: Visitor, view: str, width: int):
    """In the chapter itself, whose column is narrower than that of the stand."""
    applet, panel = open_view(visit, view, width=width)
    asked, answer = (panel.locator(one).first.bounding_box() for one in VIEWS[view])
    assert asked
    assert answer
    assert abs(answer["y"] - asked["y"]) <= MOST
    kept = float(applet.evaluate("(one) => getComputedStyle(one).minHeight").removesuffix("px"))
    needed = applet.evaluate("(one) => { one.style.minHeight = 0; return one.offsetHeight; }")
    assert abs(kept - needed) <= 80


@EACH
@pytest.mark.applet
def test_forced_colours(visit: Visitor, view: str):
    """What bars and tints say is there in forced colours too, and axe finds nothing."""
    applet, _ = open_view(visit, view)
    page = applet.page
    page.emulate_media(forced_colors="active")
    try:
        name = view.partition(" ")[0]
        assert axe_complaints(page, f"pt-{name}") == []
        for bar in applet.locator(".looked .token[style], .bar").all()[:40]:
            assert bar.evaluate("(one) => getComputedStyle(one).backgroundImage") != "none"
    finally:
        page.emulate_media(forced_colors="none")


STATES = {
    "tokenizer": ("text=Ein%20Wort", "textarea", "Ein Wort"),
    "attention-explorer": ("text=Go%2C%20go&query=2", "label input", "Go, go"),
    "query-turner": ("angle=40&length=3", "input[type=range]", "40"),
    "compute-budget": ("know=budget&budget=3e22", "label input[type=text]", "3e22"),
    "next-letter": ("line=3", "select", "3"),
    "label-ruler": ("method=frozen_minilm&reference=bow&n=512", "select", "frozen_minilm"),
    "time-machine gpt": ("step=300&opening=KING", "input[type=range]", "3"),
    "time-machine bert": ("step=300&text=My%20lord", ".sentence input", "My lord"),
}
"""An address's state, a control, and what the control then holds."""


@pytest.mark.parametrize("view", STATES)
@pytest.mark.applet
def test_the_address_brings_a_state_back(visit: Visitor, view: str):
    state, control, value = STATES[view]
    name, _, model = view.partition(" ")
    page = applet_page(name, f"model={model}" if model else "")
    opened = visit(f"{page}#applet-{view.replace(' ', '-')}&{state}", reduced_motion=True)
    panel = open_applet(opened, name)
    shown = panel.locator(control)
    expect(shown.first).to_have_value(value, timeout=MILLISECONDS)


TYPED = {
    "tokenizer": "textarea",
    "attention-explorer": "label input",
    "mask-explorer": "label input[type=text]",
    "compute-budget": "label input[type=text]",
    "fill-blank": "form input",
    "next-letter": "label input",
    "time-machine gpt": "input[type=text]",
    "time-machine bert": ".sentence input",
}


@pytest.mark.parametrize("view", TYPED)
@pytest.mark.applet
def test_odd_texts_leave_an_answer_or_a_word(visit: Visitor, view: str):
    """Nothing, emoji, 5,000 characters, a digit: no exception, no wider page, something is said."""
    applet, panel = open_view(visit, view, width=390)
    for text in ("", "👩‍👩‍👧 😀", "to be " * 833, "7", "<b>&amp;", "שלום"):
        panel.locator(TYPED[view]).first.fill(text)
        assert panel.inner_text().strip()
    page = applet.page
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
