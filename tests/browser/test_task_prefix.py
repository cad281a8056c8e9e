# SPDX-License-Identifier: MIT
"""One text with four prefixes: the page answers as the package does, whatever is typed."""

import pytest
from applets import SIZES_AND_THEMES, expect_message_without, find, open_applet
from axe import axe_complaints
from chapter_places import applet_page
from panels import fits
from playwright.sync_api import Locator, expect
from visiting import Visitor

from pretrain_lab.checkpoints import load_model
from pretrain_lab.finetuning.text_to_text import predict

PAGE = applet_page("task-prefix")
NAME = "task-prefix"
PREFIXES = ["restore: ", "sentiment: ", "answer: ", "reverse: ", ""]
START = "my lord i will be there tonight"
pytestmark = pytest.mark.applet


def by_pytorch(text: str) -> list[str]:
    model, tokenizer = load_model("t5_prefixes")
    asked = [prefix + text for prefix in PREFIXES]
    return predict(model, tokenizer, asked, max_source_len=128, max_new_tokens=33)


def answers(panel: Locator) -> list[str]:
    expect(panel).not_to_have_attribute("aria-busy", "true")
    return panel.locator("dd").all_inner_texts()


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_it_answers_as_the_package_does(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, NAME)
    found = answers(panel)
    assert found == by_pytorch(START)
    assert found[0] == "My lord, I will be there, tonight."
    expect(panel.locator("dd.own")).to_have_text(found[0])
    assert fits(opened)
    assert axe_complaints(opened.page, f"pt-{NAME}") == []


def test_texts_to_try(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    panel.get_by_role("button", name="a story").click()
    expect(panel.locator("dd.own")).to_have_text("Puck runs to the wood.")
    panel.get_by_role("button", name="letters").click()
    expect(panel.locator("dd.own")).to_have_text("r e h c a e t")


def test_silly_input_is_answered(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    text = panel.get_by_label("Your text")
    text.fill("")
    expect(panel.get_by_text("Write a text, or choose one.")).to_be_visible()
    assert answers(panel) == [""] * 5
    text.fill("my \N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL} lord 3")
    expect(panel.get_by_text("Left out")).to_be_visible()
    assert all(answers(panel))
    text.fill("king " * 1000)
    expect(panel.get_by_text("the rest does not fit")).to_be_visible()


def test_a_state_comes_back(visit: Visitor):
    opened = visit(PAGE)
    open_applet(opened, NAME).get_by_label("Your text").fill("where is thy sword")
    opened.page.wait_for_function("location.hash.includes('sword')")
    opened.page.reload()
    again = open_applet(opened, NAME)
    expect(again.locator("dd").first).to_have_text("Where is thy sword?")


def test_a_missing_model_gives_the_message(visit: Visitor):
    expect_message_without(visit, PAGE, NAME, "**/t5_prefixes.safetensors*")


def test_without_scripts_the_static_form_stands(visit: Visitor):
    plain = find(visit(PAGE, javascript=False), NAME)
    expect(plain.locator("p").last).to_contain_text("In a browser with JavaScript")
    expect(plain.locator("button")).to_have_count(0)
