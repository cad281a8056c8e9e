# SPDX-License-Identifier: MIT
"""Applets open by themselves, in the room that is kept, and remember their state in the address."""

import json
import re

import pytest
from applets import MILLISECONDS, find, open_applet
from axe import axe_complaints
from chapter_places import applet_page
from playwright.sync_api import Page, expect
from visiting import Visit, Visitor

NAMES = [
    *("generation", "mask-fill", "three-models", "span-corruption", "task-prefix"),
    "compress-sentence",
]
PAGE = applet_page("mask-fill")
SAVE_DATA = """Object.defineProperty(navigator, "connection",
  { value: { saveData: true }, configurable: true });"""
TOP = "(one) => one.getBoundingClientRect().top"
LONG_TASKS = """window.longTasks = [];
new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(
  ({ duration }) => duration))).observe({ type: "longtask" });
null"""


def models_asked(visit: Visit) -> list[str]:
    return [address for address in visit.asked if "/models/" in address]


def visit_sparing(visit: Visitor, page: str) -> Visit:
    """Open a page for a reader who asked to save data."""
    opened = visit(page)
    opened.page.add_init_script(SAVE_DATA)
    opened.asked.clear()
    opened.page.reload()
    return opened


def test_nothing_is_fetched_before_the_reader_comes_near(visit: Visitor):
    name = "time-machine"  # far down its page
    opened = visit(applet_page(name, "model=bert"))
    expect(find(opened, name)).to_have_attribute("data-state", "waiting")
    opened.page.wait_for_timeout(300)
    assert models_asked(opened) == []
    find(opened, name).evaluate(
        "(one) => scrollBy(0, one.getBoundingClientRect().top - innerHeight - 500)"
    )
    expect(find(opened, name)).to_have_attribute("data-state", "open", timeout=MILLISECONDS)
    assert any("bert_00000.safetensors.gz?v=" in one for one in models_asked(opened))
    assert opened.page.evaluate("document.activeElement === document.body"), "the focus moved"


def test_who_saves_data_is_asked_first(visit: Visitor):
    opened = visit_sparing(visit, PAGE)
    applet = find(opened, "mask-fill")
    applet.scroll_into_view_if_needed()
    expect(applet.get_by_text(re.compile(r"^loads \d+ kB$"))).to_be_visible()
    expect(applet.locator("figure svg").first).to_be_visible()
    assert models_asked(opened) == []
    applet.get_by_role("button", name="Hide words of your own sentence").click()
    expect(applet.locator(".panel")).to_be_visible(timeout=MILLISECONDS)
    expect(applet.get_by_label("Your sentence")).to_be_focused()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [1280, 390])
def test_the_address_of_an_applet_brings_it_open_and_into_view(
    visit: Visitor, name: str, width: int
):
    opened = visit(applet_page(name), width=width)
    applet = find(opened, name)
    opened.page.evaluate("(id) => { location.hash = id; }", f"applet-{name}")
    expect(applet).to_have_attribute("data-state", "open", timeout=MILLISECONDS)
    opened.page.wait_for_function(
        "(one) => { const { top } = one.getBoundingClientRect(); return top >= 0 && top < 200; }",
        arg=applet.element_handle(),
    )
    top = applet.evaluate(TOP)
    opened.page.wait_for_timeout(500)
    assert abs(applet.evaluate(TOP) - top) < 5, "it moves when it is open"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.applet
def test_the_room_that_is_kept_is_the_panels(visit: Visitor, name: str, width: int):
    opened = visit(applet_page(name), width=width, reduced_motion=True)
    applet = find(opened, name)
    kept = float(applet.evaluate("(one) => getComputedStyle(one).minHeight").removesuffix("px"))
    open_applet(opened, name)
    opened.page.wait_for_timeout(200)
    needed = applet.evaluate("(one) => { one.style.minHeight = 0; return one.offsetHeight; }")
    assert abs(kept - needed) <= 40


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.applet
def test_the_answer_stands_right_below_what_is_asked(visit: Visitor, name: str, width: int):
    answers = {
        "generation": ".written",
        "mask-fill": ".bars",
        "three-models": ".verdict tbody",
        "span-corruption": ".pair .sequence:nth-of-type(2)",
        "task-prefix": "dd",
        "compress-sentence": ".letters",
    }
    panel = open_applet(visit(applet_page(name), width=width, reduced_motion=True), name)
    asked = panel.locator("input, textarea").first.bounding_box()
    answer = panel.locator(answers[name]).first.bounding_box()
    assert asked
    assert answer
    assert answer["y"] - (asked["y"] + asked["height"]) <= 400


def test_a_section_of_the_address_opens_its_applet(visit: Visitor):
    opened = visit(PAGE)
    section = find(opened, "mask-fill").evaluate("(one) => one.closest('section').id")
    opened.page.evaluate("(id) => { location.hash = id; }", section)
    expect(find(opened, "mask-fill")).to_have_attribute("data-state", "open", timeout=MILLISECONDS)


def test_the_static_form_is_for_paper_once_the_panel_is_there(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "mask-fill")
    image = find(opened, "mask-fill").locator("figure svg").first
    expect(image).to_be_hidden()
    expect(find(opened, "mask-fill").get_by_text("with JavaScript")).to_be_hidden()
    opened.page.emulate_media(media="print")
    expect(panel).to_be_hidden()
    expect(image).to_be_visible()


def test_a_state_is_kept_in_the_address_and_comes_back(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "mask-fill")
    panel.get_by_label("Your sentence").fill("My lord, I know not what to say.")
    panel.locator(".token").nth(4).click()
    expect(panel.locator("[aria-pressed=true]")).to_have_count(1)
    opened.page.wait_for_function("location.hash.includes('hide=1')")
    opened.page.reload()
    again = find(opened, "mask-fill").locator(".panel")
    expect(again.get_by_label("Your sentence")).to_have_value(
        "My lord, I know not what to say.", timeout=MILLISECONDS
    )
    expect(again.locator("[aria-pressed=true]")).to_have_attribute(
        "aria-label", re.compile("^Place 5, know, hidden")
    )


def test_without_a_worker_the_page_does_the_work_itself(visit: Visitor):
    opened = visit(PAGE, missing=["**/engine/worker.mjs*"])
    panel = open_applet(opened, "mask-fill")
    expect(panel.locator(".bars li.marked")).to_contain_text("yours")


def busiest(page: Page) -> float:
    return max(json.loads(page.evaluate("JSON.stringify(window.longTasks)")), default=0)


@pytest.mark.parametrize(
    "name", ["mask-fill", "three-models", "span-corruption", "compress-sentence"]
)
@pytest.mark.applet
def test_a_press_leaves_the_page_free(visit: Visitor, name: str):
    """On a processor four times as slow no press blocks the page for long; the limit is wide."""
    opened = visit(applet_page(name), reduced_motion=True)
    panel = open_applet(opened, name)
    session = opened.page.context.new_cdp_session(opened.page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    opened.page.evaluate(LONG_TASKS)
    for place in (0, 2):
        panel.locator("button.token").nth(place).click()
        expect(panel).not_to_have_attribute("aria-busy", "true", timeout=MILLISECONDS)
    assert busiest(opened.page) < 400
    session.send("Emulation.setCPUThrottlingRate", {"rate": 1})


@pytest.mark.applet
def test_bars_and_pressed_keys_are_seen_in_forced_colours(visit: Visitor):
    opened = visit(applet_page("three-models"), reduced_motion=True)
    panel = open_applet(opened, "three-models")
    panel.locator("summary").click()
    opened.page.emulate_media(forced_colors="active", reduced_motion="reduce")
    look = "(one) => { const { backgroundImage, backgroundColor } = getComputedStyle(one); "
    bar = panel.locator(".bar").first
    expect(bar).to_be_visible(timeout=MILLISECONDS)
    assert "gradient" in bar.evaluate(f"{look} return backgroundImage; }}")
    pressed, other = (
        panel.locator(f"button.token[aria-pressed={state}]").first.evaluate(
            f"{look} return backgroundColor; }}"
        )
        for state in ("true", "false")
    )
    assert pressed != other
    assert axe_complaints(opened.page, "pt-three-models") == []
    opened.page.emulate_media(forced_colors="none")
