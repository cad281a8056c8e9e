# SPDX-License-Identifier: MIT
"""The attention explorer: the weights of a trained BERT's heads, and what a reader is told."""

import re

import numpy as np
import pytest
import torch
from applets import (
    MILLISECONDS,
    SIZES_AND_THEMES,
    expect_message_without,
    find,
    focused_text,
    open_applet,
    retype,
)
from chapter_places import applet_page
from playwright.sync_api import Locator, expect
from visiting import Visitor
from workshop import Workshop, unpacked

from pretrain_lab.checkpoints import load_model
from pretrain_lab.interpretability.hidden_states import hidden_states_and_attentions

PAGE = applet_page("attention-explorer")
START = "The dog saw the cat and it was afraid."
pytestmark = pytest.mark.applet


def weights_of(name: str, text: str) -> tuple[list[int], list[str], list[np.ndarray]]:
    """Compute in PyTorch the ids, the tokens and each layer's weights (H, T, T)."""
    model, tokenizer = load_model(name)
    middle = tokenizer.encode(text).tolist()
    ends = [tokenizer.tokens.index(one) for one in ("[CLS]", "[SEP]")]
    ids = [ends[0], *middle, ends[1]]
    _, layers = hidden_states_and_attentions(model, torch.tensor([ids]))
    return ids, [tokenizer.tokens[i] for i in ids], [layer[0].numpy() for layer in layers]


def test_the_weights_are_those_of_pytorch(workshop: Workshop):
    ids, _, expected = weights_of("bert_words", START)
    script = """async ([file, ids]) => {
      const { model } = await load(file);
      const trace = [];
      model.forward(ids, { trace });
      return trace.map(pack);
    }"""
    got = [unpacked(one) for one in workshop.run(script, ["full/bert_words.safetensors", ids])]
    assert [one.shape for one in got] == [one.shape for one in expected]
    assert max(np.abs(a - b).max() for a, b in zip(got, expected, strict=True)) <= 1e-4


def test_the_habit_of_a_head(workshop: Workshop):
    """Made-up heads: one to the left, itself, the first place, two to the right, nowhere."""
    length = 12
    rows = torch.arange(length)
    heads = torch.zeros(5, length, length)
    heads[0, rows[1:], rows[:-1]] = 1
    heads[1, rows, rows] = 0.75
    heads[2, :, 0] = 0.5
    heads[3, rows[:-2], rows[2:]] = 1
    heads[4] = 1 / length
    script = """async ([data, shape]) => {
      const { habit, topKeys } = await import("/engine/looking.mjs");
      const weights = { data: Float32Array.from(data), shape };
      return [[0, 1, 2, 3, 4].map((head) => habit(weights, head)), topKeys(weights, 1, 5, 2)];
    }"""
    habits, top = workshop.run(script, [heads.flatten().tolist(), list(heads.shape)])
    assert [(one["words"], one["offset"], round(one["share"], 3)) for one in habits] == [
        ("1 to the left", -1, 1),
        ("itself", 0, 0.75),
        ("the first place", None, 0.5),
        ("2 to the right", 2, 1),
        ("no one place", None, 0.083),
    ]
    assert top[0] == {"s": 5, "share": 0.75}


def looks_at(panel: Locator) -> tuple[str, dict[str, int]]:
    """Read the sentence: the query, and the percentage of each key that it names."""
    text = panel.locator(".stack > [role=status]").inner_text()
    query = re.search(r"“([^”]+)” looks at", text)
    assert query
    keys = re.findall(r"(itself|“[^”]+”) \((\d+)(?:\.\d)? %\)", text)
    return query[1], {key.strip("“”"): int(share) for key, share in keys}


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_the_first_view_shows_it_looking_at_the_cat(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, "attention-explorer")
    _, tokens, layers = weights_of("bert_words", START)
    query, keys = looks_at(panel)
    assert query == "it"
    assert max(keys, key=lambda key: keys[key]) == "cat"
    row = layers[3][2, tokens.index("it")]
    assert keys["cat"] == pytest.approx(100 * row[tokens.index("cat")], abs=3)
    assert opened.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_by_mouse(visit: Visitor):
    panel = open_applet(visit(PAGE), "attention-explorer")
    panel.get_by_role("button", name="saw").click()
    assert looks_at(panel)[0] == "saw"
    panel.get_by_label("Head, and where").select_option(value="1.4")
    assert next(iter(looks_at(panel)[1])) == "dog", "this head looks at the piece before"
    panel.get_by_label("Your sentence").fill("the queen saw it")
    expect(panel.locator(".looked .token")).to_have_count(6)
    panel.get_by_role("button", name="place 3, queen").hover()
    query, keys = looks_at(panel)
    assert (query, next(iter(keys))) == ("queen", "the")


def test_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "attention-explorer", by_keyboard=True)
    opened.page.keyboard.press("Control+a")
    opened.page.keyboard.type("go away")
    expect(panel.get_by_role("button", name="place 3, away")).to_be_visible()
    opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("ArrowRight")
    assert focused_text(opened.page).startswith("place 2, go, ")
    opened.page.keyboard.press("Enter")
    assert looks_at(panel)[0] == "go"


def test_a_reader_who_is_ahead_of_the_model_keeps_the_place(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "attention-explorer")
    panel.get_by_role("button", name="place 3, dog").focus()
    retype(panel, "the queen saw it")
    expect(panel.get_by_role("button", name="place 3, queen")).to_be_focused()
    retype(panel, "no")
    expect(panel.get_by_role("button", name="place 3, ")).to_be_focused()
    retype(panel, "o")
    expect(panel.get_by_role("button", name="place 3, ")).to_be_focused()


def test_what_the_model_lacks_is_left_out_and_named(visit: Visitor):
    panel = open_applet(visit(PAGE), "attention-explorer")
    panel.get_by_label("Your sentence").fill("the 👨‍👩‍👧 saw it")
    expect(panel.locator(".note").first).to_contain_text("👨‍👩‍👧", timeout=MILLISECONDS)
    expect(panel.locator(".looked .token")).to_have_count(5)
    panel.get_by_label("Your sentence").fill("to be " * 833)
    expect(panel.locator(".note").first).to_contain_text("reads the first 30 pieces")
    expect(panel.locator(".looked .token")).to_have_count(32)


def test_an_empty_field_shows_no_picture_and_says_so(visit: Visitor):
    panel = open_applet(visit(PAGE), "attention-explorer")
    panel.get_by_label("Your sentence").fill("")
    expect(panel.locator(".looked")).to_be_hidden()
    expect(panel.locator("[role=alert]")).to_contain_text("there is nothing to look at")
    panel.get_by_label("Your sentence").fill("a")
    expect(panel.locator(".looked")).to_be_visible()


def test_a_missing_model_gives_the_message(visit: Visitor):
    expect_message_without(visit, PAGE, "attention-explorer", "**/*.safetensors*")


def test_without_scripts_the_figure_and_the_sentence_stay(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "attention-explorer")
    expect(applet.locator("figure svg").first).to_be_visible()
    expect(applet.get_by_text("In a browser with JavaScript")).to_be_visible()
