# SPDX-License-Identifier: MIT
"""The ruler of chapter 8 measures as definition and study do, by pointer and by keyboard."""

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from applets import SIZES_AND_THEMES, expect_message_without, find, open_applet
from axe import axe_complaints
from chapter_places import applet_page
from panels import fits, with_modules
from playwright.sync_api import Locator, Page, expect
from visiting import Visit, Visitor

from experiments.applets.label_ruler import METHODS, REFERENCES
from experiments.common.statistics import needed_labels
from pretrain_lab.paths import RUNS

NAME = "label-ruler"
PAGE = applet_page(NAME)
FIRST = "MiniLM is right in 71 %. Its twin from random weights needs 1,960 for that"
pytestmark = pytest.mark.applet


def record() -> dict[str, Any]:
    """Read the study."""
    found: dict[str, Any] = json.loads((RUNS / "label_study.json").read_text(encoding="utf-8"))
    return found


def run(page: Page, code: str, argument: object = None) -> Any:
    """Evaluate an expression of the engine's module `w`, the stored study `study` and `a`."""
    start = """const w = await use("engine/label-worth");
      const { getJson } = await use("ui/files"); const study = await getJson("label_ruler.json");"""
    return page.evaluate(f"async (a) => {{ {start} return {code}; }}", argument)


def open_at(visit: Visitor, method: str, reference: str, n: int) -> Locator:
    """Open the panel with a state in the address."""
    state = f"method={method}&reference={reference}&n={n}"
    return open_applet(visit(f"{PAGE}#applet-{NAME}&{state}", reduced_motion=True), NAME)


def said(panel: Locator) -> Locator:
    """Find the sentence."""
    return panel.get_by_role("status")


class TestNumbers:
    @pytest.fixture
    def page(self, visit: Visitor) -> Page:
        """A page that can import the modules."""
        return with_modules(visit(PAGE))

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("reference", REFERENCES)
    def test_k_is_the_studys_at_every_measured_number(
        self, page: Page, method: str, reference: str
    ):
        found = run(page, "study.n_labels.map((n) => w.worth(study, ...a, n))", [method, reference])
        for got, right in zip(found, record()["worth"][method][reference].values(), strict=True):
            assert got["k"] == pytest.approx(right["k"], rel=1e-4)
            assert got["labels"] == pytest.approx(right["labels"], rel=1e-4)
            assert got["where"] == (
                "more" if right["more_than_all"]
                else "fewer" if right["fewer_than_least"] else "inside"
            )  # fmt: skip

    def test_it_reads_a_curve_as_python_does(self, page: Page):
        rng = np.random.default_rng(0)
        n_labels = record()["n_labels"]
        for _ in range(40):
            curve, target = rng.uniform(0.5, 0.8, len(n_labels)), rng.uniform(0.5, 0.8)
            labels, where = needed_labels(n_labels, curve, target)
            got = run(page, "w.neededLabels(...a)", [n_labels, curve.tolist(), target])
            assert got["labels"] == pytest.approx(labels)
            assert got["where"] == where

    def test_the_chapters_example_by_hand(self, page: Page):
        got = run(page, "w.neededLabels(...a)", [[100, 1000], [0.6, 0.7], 0.65])
        assert got["labels"] == pytest.approx(math.sqrt(100 * 1000))

    def test_between_measured_numbers_a_straight_line_in_log_n(self, page: Page):
        n_labels = record()["n_labels"]
        curve = [0.5, 0.7, 0.65, 0.8, 0.9]
        for n in (32, 45, 128, 300, 5000, 9242):
            got = run(page, "w.valueAt(...a)", [n_labels, curve, n])
            assert got == pytest.approx(np.interp(math.log(n), np.log(n_labels), curve))

    def test_the_slider_stops_at_every_measured_number(self, page: Page):
        n_labels = record()["n_labels"]
        stops = run(page, "w.stopsOf(study.n_labels)")
        assert set(n_labels) <= set(stops)
        assert stops == sorted(set(stops))
        assert all(isinstance(n, int) for n in stops)
        steps = np.diff(np.log10(stops))
        assert steps.max() < 0.09, "a twentieth of a power of ten, rounded"
        for odd in (0, -3, 1e9, 130, 131.5):
            place = run(page, "w.nearest(w.stopsOf(study.n_labels), a)", odd)
            assert 0 <= place < len(stops)

    def test_numbers_are_written(self, page: Page):
        assert run(page, "[0.2219, 0.948, 0.951, 1, 9.94, 15.33, 53.3].map(w.factor)") == [
            "0.22", "0.95", "1.0", "1.0", "9.9", "15", "53",
        ]  # fmt: skip
        assert run(page, "[491.8, 1962.38, 6817.4].map(w.count)") == ["492", "1,960", "6,820"]


class TestPanel:
    @pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
    def test_it_opens_with_the_lesson(self, visit: Visitor, width: int, theme: str):
        opened = visit(PAGE, width=width, theme=theme)
        panel = open_applet(opened, NAME)
        expect(said(panel)).to_contain_text(FIRST)
        expect(said(panel)).to_contain_text("15 times as many")
        expect(panel.locator(".note")).to_have_text("95 % interval of the factor: 7.1 to 41.")
        plot = panel.locator(".plot")
        expect(plot).to_have_attribute(
            "aria-label", re.compile("needs 1,960 for that: 15 times as many")
        )
        expect(plot.locator(".times")).to_have_text("15×")
        expect(plot.locator(".name")).to_have_text(["MiniLM", "random twin"])
        arrow = plot.locator(".arrow").bounding_box()
        box = plot.bounding_box()
        assert arrow
        assert box
        assert arrow["width"] > box["width"] / 3, "a long arrow"
        answer = said(panel).bounding_box()
        assert answer
        for control in ("select", "input", ".plot"):
            asked = panel.locator(control).first.bounding_box()
            assert asked
            assert abs(answer["y"] - asked["y"]) <= 400
        assert axe_complaints(opened.page, f"pt-{NAME}") == []
        assert fits(opened)

    def test_by_keyboard_alone(self, visit: Visitor):
        opened = visit(PAGE)
        panel = open_applet(opened, NAME, by_keyboard=True)
        keyboard = opened.page.keyboard
        keyboard.press("Tab")
        keyboard.press("Tab")
        keyboard.press("End")
        slider = panel.get_by_role("slider", name="Labels")
        expect(slider).to_have_attribute("aria-valuetext", "9,242")
        expect(said(panel)).to_contain_text("does not get there with as many")
        keyboard.press("Home")
        expect(slider).to_have_attribute("aria-valuetext", "32")
        expect(said(panel)).to_contain_text("needs 492 for that: 15 times as many.")
        keyboard.press("ArrowRight")
        expect(said(panel)).to_contain_text("With 36 labels")
        expect(panel.locator(".note")).to_contain_text("nothing was measured")

    def test_by_pointer(self, visit: Visitor):
        opened = visit(PAGE)
        panel = open_applet(opened, NAME)
        drag(opened, panel, 0.5, 0.995)
        expect(panel.get_by_role("slider")).to_have_attribute("aria-valuetext", "9,242")
        drag(opened, panel, 0.9, -0.3)
        expect(panel.get_by_role("slider")).to_have_attribute("aria-valuetext", "32")

    def test_the_handle_stands_below_the_slider(self, visit: Visitor):
        panel = open_applet(visit(PAGE), NAME)
        handle, slider = (panel.locator(one).bounding_box() for one in (".handle", "input"))
        assert handle
        assert slider
        share = int(panel.locator("input").input_value()) / int(
            panel.locator("input").get_attribute("max") or 1
        )
        thumb = slider["x"] + 8 + share * (slider["width"] - 16)
        assert abs(handle["x"] + handle["width"] / 2 - thumb) < 4

    def test_method_and_reference_can_be_changed(self, visit: Visitor):
        panel = open_applet(visit(PAGE), NAME)
        panel.get_by_label("Method").select_option(label="our masked mini model")
        panel.get_by_label("Reference").select_option(label="a mini BERT from random weights")
        expect(said(panel)).to_contain_text("The same network from random weights needs ")
        k = record()["worth"]["mlm"]["scratch"]["128"]["k"]
        expect(said(panel)).to_contain_text(f"{k:.1f} times as many")
        expect(panel.locator(".own.bert.curve")).to_have_count(1)
        link = panel.page.locator(f"pt-{NAME} .foot a")
        address = f"#applet-{NAME}&method=mlm&reference=scratch&n=128"
        expect(link).to_have_attribute("href", address)

    @pytest.mark.parametrize(
        ("state", "words", "times", "interval"),
        [
            (("minilm", "random_minilm", 512), "needs more than all 9,242 for that: more than 18 "
             "times as many", "> 18×", "15 to more than 18"),
            (("minilm", "scratch", 2048), "more than 4.5 times", "> 4.5×", "all more than 4.5"),
            (("mlm", "bow", 32), "reaches that with 32, the fewest that were tried: less than 1.0 "
             "times as many", "< 1.0×", "all less than 1.0"),
            (("mlm", "scratch", 128), "1.2 times as many", "1.2×", "less than 0.25 to 2.8"),
            (("frozen_minilm", "bow", 9242), "0.70 times as many", "0.70×",
             "0.33 to more than 1.0"),
        ],
    )  # fmt: skip
    def test_bounds_are_said(
        self,
        visit: Visitor,
        state: tuple[str, str, int],
        words: str,
        times: str,
        interval: str,
    ):
        panel = open_at(visit, *state)
        expect(said(panel)).to_contain_text(words)
        expect(panel.locator(".times")).to_have_text(times)
        expect(panel.locator(".note")).to_contain_text(f"factor: {interval}.")

    @pytest.mark.parametrize(
        "state", ["n=-5&method=gpt5", "n=many&reference=%F0%9F%98%80", "n=" + "9" * 900, "n="]
    )
    def test_an_odd_address_gives_a_view(self, visit: Visitor, state: str):
        opened = visit(f"{PAGE}#applet-{NAME}&{state}", width=390)
        panel = open_applet(opened, NAME)
        expect(said(panel)).to_contain_text("MiniLM is right in")
        assert "NaN" not in panel.inner_html()
        assert fits(opened)

    def test_no_word_leaves_the_picture_and_the_sentence_keeps_its_room(self, visit: Visitor):
        opened = visit(PAGE, width=390)
        open_applet(opened, NAME)
        found = find(opened, NAME).evaluate(
            """(one, [methods, references]) => {
              const heights = new Set(), out = new Set();
              for (const method of methods) for (const reference of references)
                for (const n of one.stops) {
                  Object.assign(one.chosen, { method, reference, n });
                  one.show();
                  heights.add(one.said.offsetHeight);
                  const box = one.picture.firstElementChild.getBoundingClientRect();
                  for (const text of one.picture.querySelectorAll("text")) {
                    const { left, right, bottom } = text.getBoundingClientRect();
                    if (left < box.left - 1 || right > box.right + 1 || bottom > box.bottom + 1)
                      out.add(`${method} ${reference} ${n}: ${text.textContent}`);
                  }
                }
              return [[...heights], [...out]];
            }""",
            [list(METHODS), list(REFERENCES)],
        )
        assert found[1] == []
        assert len(found[0]) == 1, "nothing moves while the handle does"

    def test_without_its_data_it_says_so(self, visit: Visitor):
        expect_message_without(visit, PAGE, NAME, "**/label_ruler.json*")

    def test_without_scripts_the_figure_stays(self, visit: Visitor):
        applet = find(visit(PAGE, javascript=False), NAME)
        expect(applet.locator("figure svg").first).to_be_visible()
        expect(applet.locator("button")).to_have_count(0)


def drag(opened: Visit, panel: Locator, start: float, end: float) -> None:
    """Press on the picture at a share of its width, and move to another."""
    plot = panel.locator(".plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    mouse, height = opened.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + start * box["width"], height)
    mouse.down()
    mouse.move(box["x"] + end * box["width"], height)
    mouse.up()
