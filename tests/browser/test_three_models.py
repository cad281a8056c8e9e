# SPDX-License-Identifier: MIT
"""Three models on one sentence: their answers and costs are PyTorch's, by mouse and keyboard."""

import math

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
from workshop import spans_of

from pretrain.generation import Sampling, generate
from pretrain.span_corruption import corrupt_given_spans
from pretrain_lab.checkpoints import load_model
from pretrain_lab.scoring.spans import bert_span_log_probs, gpt_span_log_probs

PAGE = applet_page("three-models")
NAME = "three-models"
START, HIDDEN = "I will not speak to him.", " not"
pytestmark = pytest.mark.applet


def in_bits(log_probs: torch.Tensor) -> float:
    return -log_probs.double().sum().item() / math.log(2)


def costs_of(sentence: str, *words: str) -> dict[str, float]:
    """Ask PyTorch what neighbouring hidden words cost."""
    (gpt, tokenizer), (bert, _), (t5, _) = (
        load_model(f"contest_{kind}") for kind in ("gpt", "bert", "t5")
    )
    ids = tokenizer.encode(f"\n{sentence}\n")
    pieces = tokenizer.split(f"\n{sentence}\n")
    start, end = pieces.index(words[0]), pieces.index(words[-1]) + 1
    cut = corrupt_given_spans(ids, [(start, end)], spans_of(tokenizer))
    read = torch.cat([torch.tensor([tokenizer.pad_id]), cut.targets[:-1]])
    with torch.inference_mode():
        whole = t5(cut.inputs[None], read[None])[0].log_softmax(dim=-1)
    letters = whole.gather(1, cut.targets[:, None])[1 : 1 + end - start]
    mask_id = tokenizer.mask_id
    return {
        "gpt": in_bits(gpt_span_log_probs(gpt, ids[None], start, end)),
        "bert": in_bits(bert_span_log_probs(bert, ids[None], start, end, mask_id=mask_id)),
        "t5": in_bits(letters),
    }


def shown_costs(panel: Locator) -> dict[str, float]:
    """Read the costs that the panel shows, in bits."""
    expect(panel).not_to_have_attribute("aria-busy", "true", timeout=MILLISECONDS)
    return {
        kind: float(panel.locator(f".verdict .{kind} td").last.inner_text().removesuffix(" bits"))
        for kind in ("gpt", "bert", "t5")
    }


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_costs_and_answers_are_those_of_pytorch(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, NAME)
    assert shown_costs(panel) == pytest.approx(costs_of(START, HIDDEN), abs=0.15)
    gpt, tokenizer = load_model("contest_gpt")
    left = tokenizer.encode("\n" + START[: START.index(HIDDEN)])
    written = generate(gpt, left[None], 1, Sampling(greedy=True))[0, -1:]
    text = tokenizer.decode(written.tolist()).strip()
    assert text == HIDDEN.strip(), "all three see enough; both sides make BERT surer"
    for kind in ("gpt", "bert"):
        expect(panel.locator(f".{kind} .answer")).to_have_text(f"{text} ✓")
    assert fits(opened)
    assert axe_complaints(opened.page, f"pt-{NAME}") == []


def test_each_block_says_what_its_model_may_see(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    panel.locator("summary").click()
    tokenizer = load_model("contest_gpt")[1]
    pieces = tokenizer.split(f"\n{START}\n")
    first = pieces.index(HIDDEN)
    expect(panel.locator(".block.gpt .line .hidden")).to_have_count(len(pieces) - first)
    expect(panel.locator(".block.gpt")).to_contain_text(f"Sees the {first} places to the left")
    expect(panel.locator(".block.bert .line .hidden")).to_have_count(0)
    expect(panel.locator(".block.t5 .line .query")).to_have_text("⟨0⟩")
    for kind in ("gpt", "bert", "t5"):
        shares = panel.locator(f".block.{kind} .line span").evaluate_all(
            "(all) => all.map((one) => Number(one.style.getPropertyValue('--share')))"
        )
        assert sum(shares) == pytest.approx(1, abs=1e-3), kind


def test_it_says_why_when_both_sides_do_not_win(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    panel.get_by_label("Your sentence").fill("Give me thy hand, and let us go.")
    panel.get_by_role("button", name="hand").click()
    costs = shown_costs(panel)
    assert min(costs, key=costs.__getitem__) == "gpt"
    assert costs == pytest.approx(costs_of("Give me thy hand, and let us go.", " hand"), abs=0.15)
    expect(panel.get_by_text("GPT wins from the left side alone")).to_be_visible()


def test_a_sentence_of_ones_own_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, NAME, by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Control+a")
    keyboard.type("The king is dead.")
    keyboard.press("Tab")
    assert focused_text(opened.page) == "Place 1, The"
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    expect(panel.locator("[aria-pressed=true]")).to_have_count(2)
    expected = costs_of("The king is dead.", " king", " is")
    assert shown_costs(panel) == pytest.approx(expected, abs=0.15)


def test_too_many_words_or_gaps_are_refused(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    panel.get_by_label("Your sentence").fill("one two three four five six seven eight nine ten")
    for place in (0, 2, 4, 6, 8):
        panel.locator("button.token").nth(place).click()
    expect(panel.get_by_text("At most 4 gaps are possible.")).to_be_visible()
    expect(panel.locator("[aria-pressed=true]")).to_have_count(4)


def test_silly_input_is_answered(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    field = panel.get_by_label("Your sentence")
    field.fill("naïve 3 😀 king")
    expect(panel.locator(".unread").first).to_be_visible()
    panel.get_by_role("button", name="king").click()
    assert len(shown_costs(panel)) == 3
    field.fill("")
    expect(panel.get_by_text("Write a sentence.")).to_be_visible()
    expect(panel.locator(".verdict tbody tr")).to_have_count(0)
    field.fill("king " * 1000)
    expect(panel.get_by_text("the rest does not fit")).to_be_visible()


def test_a_missing_model_gives_the_message(visit: Visitor):
    expect_message_without(visit, PAGE, NAME, "**/contest_t5.safetensors*")


def test_without_scripts_the_static_form_stands(visit: Visitor):
    plain = find(visit(PAGE, javascript=False), NAME)
    expect(plain.locator("p").last).to_contain_text("In a browser with JavaScript")
    expect(plain.locator("button")).to_have_count(0)
