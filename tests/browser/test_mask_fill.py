# SPDX-License-Identifier: MIT
"""The mask-fill explorer answers as PyTorch does, by mouse and by keyboard."""

import re

import pytest
import torch
from applets import (
    MILLISECONDS,
    SIZES_AND_THEMES,
    expect_message_without,
    find,
    focused_text,
    open_applet,
)
from chapter_places import applet_page
from playwright.sync_api import expect
from visiting import Visitor

from pretrain.evaluation import cloze_log_probs
from pretrain_lab.checkpoints import load_model

PAGE = applet_page("mask-fill")
pytestmark = pytest.mark.applet


def shares(sentence: str, place: int, model: str = "bert_chars") -> dict[str, float]:
    """Ask PyTorch for the eight best guesses in percent."""
    bert, tokenizer = load_model(model)
    text = tokenizer.encode(f"\n{sentence}\n")[None]
    places = torch.tensor([place + 1])
    probs = cloze_log_probs(bert, text, places, mask_id=tokenizer.mask_id)[0].exp()
    top = probs.topk(8)
    return {
        tokenizer.tokens[i]: 100 * p for i, p in zip(top.indices, top.values.tolist(), strict=True)
    }


def word_shares(sentence: str, hidden: str) -> dict[str, float]:
    """Ask PyTorch for the word-piece BERT's eight best guesses for one word, in percent."""
    bert, tokenizer = load_model("bert_words")
    ids = [tokenizer.cls_id, *tokenizer.encode(sentence).tolist(), tokenizer.sep_id]
    place = ids.index(tokenizer.tokens.index(hidden))
    ids[place] = tokenizer.mask_id
    with torch.inference_mode():
        top = bert(torch.tensor([ids]))[0, place].softmax(dim=-1).topk(8)
    return {
        tokenizer.tokens[i]: 100 * p for i, p in zip(top.indices, top.values.tolist(), strict=True)
    }


def shown(lines: list[str]) -> dict[str, float]:
    """Read the bars: token, percentage, perhaps a mark."""
    found = {}
    for line in lines:
        token, number = re.fullmatch(r"(\S+?)\s*(?:< )?([\d.]+) %.*", line.strip()).groups()
        found[{"␣": " ", "↵": "\n"}.get(token, token)] = float(number)
    return found


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_the_guesses_are_those_of_pytorch(visit: Visitor, width: int, theme: str):
    page = visit(PAGE, width=width, theme=theme)
    panel = open_applet(page, "mask-fill")
    expected = shares("I will not speak to him.", 12)
    got = shown(panel.locator(".bars li").all_inner_texts())
    assert list(got) == list(expected)
    assert got == pytest.approx(expected, abs=0.6)
    expect(panel.locator(".bars li.marked")).to_contain_text("yours")
    assert page.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_a_sentence_of_ones_own_by_mouse(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-fill")
    panel.get_by_label("Your sentence").fill("The king is dead.")
    expect(panel.locator("[role=status]")).to_contain_text("Nothing is hidden yet.")
    for place in (13, 14):
        panel.locator(".token").nth(place).click()
    expect(panel.locator(".bars")).to_have_count(2)
    panel.locator(".token").nth(13).click()
    expect(panel.locator(".bars")).to_have_count(1)
    got = shown(panel.locator(".bars li").all_inner_texts())
    assert got == pytest.approx(shares("The king is dead.", 14), abs=0.6)


def test_the_strong_model_reads_letters_too(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-fill")
    panel.get_by_label("What BERT reads").select_option("bert_plays")
    expect(panel.get_by_label("What BERT reads")).to_be_enabled(timeout=MILLISECONDS)
    sentence = "I will not speak to him."
    got = shown(panel.locator(".bars li").all_inner_texts())
    assert got == pytest.approx(shares(sentence, 12, "bert_plays"), abs=0.6)
    panel.locator(".token").nth(13).click()
    expect(panel.locator("h3")).to_have_text(["Place 13", "Place 14"])


def test_words_are_filled_by_the_other_model(visit: Visitor):
    """What is read first is kept; a sentence of one's own has nothing hidden."""
    panel = open_applet(visit(PAGE), "mask-fill")
    panel.get_by_label("What BERT reads").select_option("bert_words")
    expect(panel.locator("h3")).to_have_text("Place 4", timeout=MILLISECONDS)
    expect(panel).to_contain_text("at most 126 pieces")
    got = shown(panel.locator(".bars li").all_inner_texts())
    assert got == pytest.approx(word_shares("I will not speak to him.", "speak"), abs=0.6)
    panel.get_by_label("Your sentence").fill("The unknowable king is naïve, 3 times.")
    expect(panel.locator("[role=status]")).to_contain_text("Nothing is hidden yet.")
    panel.get_by_role("button", name="king").click()
    got = shown(panel.locator(".bars li").all_inner_texts())
    sentence = "The unknowable king is naïve, 3 times."
    assert got == pytest.approx(word_shares(sentence, "king"), abs=0.6)
    panel.get_by_label("Your sentence").fill("king " * 127)
    expect(panel.locator("[role=alert]")).to_contain_text(
        "at most 126 pieces; the sentence has 127"
    )
    panel.get_by_label("What BERT reads").select_option("bert_chars")
    expect(panel.locator(".token")).to_have_count(126)


def test_without_the_words_the_letters_go_on(visit: Visitor):
    panel = open_applet(visit(PAGE, missing=["**/bert_words.safetensors*"]), "mask-fill")
    panel.get_by_label("What BERT reads").select_option("bert_words")
    expect(panel.get_by_role("alert")).to_contain_text("bert_words.safetensors could not be loaded")
    expect(panel.get_by_label("What BERT reads")).to_have_value("bert_chars")
    expect(panel.locator("h3")).to_have_text("Place 13")


def test_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "mask-fill", by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Control+a")
    keyboard.type("My lord, go.")
    keyboard.press("Tab")  # to the choice of what is read
    keyboard.press("Tab")
    assert focused_text(opened.page) == "capital M"
    for _ in range(3):
        keyboard.press("ArrowRight")
    assert focused_text(opened.page) == "l"
    keyboard.press("Enter")
    expect(panel.locator("h3")).to_have_text(["Place 4"])
    keyboard.press("End")
    keyboard.press("Space")
    expect(panel.locator("h3")).to_have_text(["Place 4", "Place 12"])


def test_characters_that_the_model_does_not_know_are_named(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-fill")
    panel.get_by_label("Your sentence").fill("naïve 3")
    expect(panel.locator("[role=alert]")).to_contain_text("knows no ï 3")
    expect(panel.locator(".token")).to_have_count(0)


def test_no_model_is_loaded_before_a_reader_asks(visit: Visitor):
    opened = visit(PAGE)
    asked: list[str] = []
    opened.page.on("request", lambda request: asked.append(request.url))
    find(opened, "mask-fill").scroll_into_view_if_needed()
    opened.page.wait_for_timeout(300)
    assert not [one for one in asked if "models/" in one]
    open_applet(opened, "mask-fill")
    assert [one for one in asked if "bert_chars.safetensors.gz?v=" in one]


def test_a_missing_model_gives_the_message_and_can_be_retried(visit: Visitor):
    expect_message_without(visit, PAGE, "mask-fill", "**/*.safetensors*")


def test_without_scripts_the_figure_and_the_sentence_stay(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "mask-fill")
    expect(applet.locator("img")).to_be_visible()
    expect(applet.get_by_text("Three sentences, one blank each.")).to_be_visible()
    expect(applet.locator("button")).to_have_count(0)


def test_print_shows_the_static_form_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "mask-fill")
    opened.page.emulate_media(media="print")
    expect(panel).to_be_hidden()
    expect(find(opened, "mask-fill").locator("img")).to_be_visible()
