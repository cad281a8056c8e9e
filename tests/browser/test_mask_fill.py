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
from axe import axe_complaints
from chapter_places import applet_page
from panels import fits
from playwright.sync_api import Locator, expect
from visiting import Visitor

from pretrain.evaluation import cloze_log_probs
from pretrain_lab.checkpoints import load_model

PAGE = applet_page("mask-fill")
START = "The film is better than the book."
N_GUESSES = 6
pytestmark = pytest.mark.applet


def best(probs: torch.Tensor, names: tuple[str, ...]) -> dict[str, float]:
    top = probs.topk(N_GUESSES)
    return {names[i]: 100 * p for i, p in zip(top.indices, top.values.tolist(), strict=True)}


def letter_shares(sentence: str, place: int, model: str) -> dict[str, float]:
    """Ask PyTorch for the best guesses for one letter, in percent."""
    bert, tokenizer = load_model(model)
    text = tokenizer.encode(f"\n{sentence}\n")[None]
    where = torch.tensor([place + 1])
    probs = cloze_log_probs(bert, text, where, mask_id=tokenizer.mask_id)[0].exp()
    return best(probs, tokenizer.tokens)


def word_shares(sentence: str, hidden: str, is_covered: bool = False) -> dict[str, float]:
    """Ask PyTorch for the word BERT's best guesses for one word, in percent."""
    bert, tokenizer = load_model("bert_words")
    ids = [tokenizer.cls_id, *tokenizer.encode(sentence).tolist(), tokenizer.sep_id]
    place = ids.index(tokenizer.tokens.index(hidden))
    ids[place] = tokenizer.mask_id
    ids = ids[: place + 1] if is_covered else ids
    with torch.inference_mode():
        return best(bert(torch.tensor([ids]))[0, place].softmax(dim=-1), tokenizer.tokens)


def shown(panel: Locator) -> dict[str, float]:
    """Read the bars: token, percentage, perhaps a mark."""
    found = {}
    for line in panel.locator(".bars li").all_inner_texts():
        token, number = re.fullmatch(r"(\S+?)\s*(?:< )?([\d.]+) %.*", line.strip()).groups()
        found[{"␣": " ", "↵": "\n"}.get(token, token)] = float(number)
    return found


def settled(panel: Locator) -> None:
    expect(panel).not_to_have_attribute("aria-busy", "true", timeout=MILLISECONDS)


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_the_guesses_are_those_of_pytorch(visit: Visitor, width: int, theme: str):
    page = visit(PAGE, width=width, theme=theme)
    panel = open_applet(page, "mask-fill")
    expected = word_shares(START, "better")
    assert list(shown(panel)) == list(expected)
    assert shown(panel) == pytest.approx(expected, abs=0.6)
    expect(panel.locator(".bars li.marked")).to_contain_text("yours")
    expect(panel.get_by_role("status").first).to_be_attached()
    expect(panel.get_by_text(f"BERT expects “{next(iter(expected))}”.")).to_be_visible()
    assert fits(page)
    assert axe_complaints(page.page, "pt-mask-fill") == []


def test_without_what_follows_the_left_side_alone_answers(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-fill")
    panel.get_by_role("button", name="Cover what follows").click()
    settled(panel)
    assert shown(panel) == pytest.approx(word_shares(START, "better", is_covered=True), abs=0.6)
    expect(panel.get_by_text("Without what follows, BERT expects")).to_be_visible()
    panel.get_by_role("button", name="Cover what follows").click()
    settled(panel)
    assert shown(panel) == pytest.approx(word_shares(START, "better"), abs=0.6)


def test_marks_stay_with_their_words(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-fill")
    sentence = "The film is a bit better than the book."
    panel.get_by_label("Your sentence").fill(sentence)
    settled(panel)
    expect(panel.locator("[aria-pressed=true]")).to_have_attribute(
        "aria-label", re.compile("^Place 6, better, hidden")
    )
    assert shown(panel) == pytest.approx(word_shares(sentence, "better"), abs=0.6)


def test_a_word_of_several_pieces_is_one_mask(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-fill")
    panel.get_by_label("Your sentence").fill("The unknowable king is dead.")
    panel.get_by_role("button", name="unknowable").click()
    expect(panel.get_by_text("“unknowable” is no single word of BERT’s list")).to_be_visible()
    expect(panel.locator(".bars")).to_have_count(1)


@pytest.mark.parametrize("model", ["bert_chars", "bert_plays"])
def test_letters_can_be_hidden_too(visit: Visitor, model: str):
    panel = open_applet(visit(PAGE), "mask-fill")
    panel.locator("summary").click()
    panel.get_by_label("BERT reads").select_option(model)
    expect(panel.get_by_label("BERT reads")).to_be_enabled(timeout=MILLISECONDS)
    panel.get_by_label("Your sentence").fill("My lord, go.")
    panel.locator("button.token").nth(3).click()
    settled(panel)
    assert shown(panel) == pytest.approx(letter_shares("My lord, go.", 3, model), abs=0.6)


def test_without_the_letters_the_words_go_on(visit: Visitor):
    panel = open_applet(visit(PAGE, missing=["**/bert_chars.safetensors*"]), "mask-fill")
    panel.locator("summary").click()
    panel.get_by_label("BERT reads").select_option("bert_chars")
    expect(panel.get_by_role("alert")).to_contain_text("bert_chars.safetensors could not be loaded")
    expect(panel.get_by_label("BERT reads")).to_have_value("bert_words")
    expect(panel.locator(".bars li")).to_have_count(N_GUESSES)


def test_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "mask-fill", by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Control+a")
    keyboard.type("My lord, go.")
    keyboard.press("Tab")
    assert focused_text(opened.page) == "Place 1, My"
    keyboard.press("ArrowRight")
    assert focused_text(opened.page) == "Place 2, lord"
    keyboard.press("Enter")
    settled(panel)
    assert focused_text(opened.page).startswith("Place 2, lord, hidden, filled with ")
    keyboard.press("Home")
    keyboard.press("Space")
    expect(panel.locator("h3")).to_have_text(["Place 1", "Place 2"])


def test_silly_input_is_answered(visit: Visitor):
    panel = open_applet(visit(PAGE), "mask-fill")
    field = panel.get_by_label("Your sentence")
    field.fill("I have 3 dogs 😀 at home.")
    expect(panel.locator(".unread")).to_have_text(["😀"])
    expect(panel.get_by_text("Struck out")).to_be_visible()
    panel.get_by_role("button", name="dogs").click()
    settled(panel)
    expect(panel.locator(".bars li")).to_have_count(N_GUESSES)
    field.fill("")
    expect(panel.get_by_text("Write a sentence.")).to_be_visible()
    expect(panel.locator(".bars")).to_have_count(0)
    field.fill("king " * 1000)
    expect(panel.get_by_text("The model reads the first 126 words")).to_be_visible()
    panel.locator("button.token").nth(2).click()
    expect(panel.locator(".bars li")).to_have_count(N_GUESSES)
    for place in range(3, 9):
        panel.locator("button.token").nth(place).click()
    expect(panel.get_by_text("At most 6 can be hidden.")).to_be_visible()
    expect(panel.locator("[aria-pressed=true]")).to_have_count(6)


def test_a_missing_model_gives_the_message_and_can_be_retried(visit: Visitor):
    expect_message_without(visit, PAGE, "mask-fill", "**/*.safetensors*")


def test_without_scripts_the_figure_and_the_sentence_stay(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "mask-fill")
    expect(applet.locator("figure svg").first).to_be_visible()
    expect(applet.get_by_text("One sentence with one gap")).to_be_visible()
    expect(applet.locator("button")).to_have_count(0)
