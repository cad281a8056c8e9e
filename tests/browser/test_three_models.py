# SPDX-License-Identifier: MIT
"""Three models on one sentence: their answers and costs are PyTorch's, by mouse and keyboard."""

import math
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
from workshop import spans_of

from pretrain.generation import Sampling, generate
from pretrain.span_corruption import corrupt_given_spans
from pretrain_lab.checkpoints import load_model
from pretrain_lab.scoring.bayes_rescoring import rescored_log_probs
from pretrain_lab.scoring.spans import bert_span_log_probs, gpt_span_log_probs, t5_span_log_probs

PAGE = applet_page("three-models")
NAME = "three-models"
START, HIDDEN = "Fair is foul, and foul is fair.", (8, 12)
pytestmark = pytest.mark.applet


def in_bits(log_probs: torch.Tensor) -> float:
    return -log_probs.double().sum().item() / math.log(2)


def costs_of(sentence: str, start: int, end: int) -> dict[str, float]:
    """Ask PyTorch what a hidden span costs; places count from the start of the sentence."""
    start, end = start + 1, end + 1  # a line end stands before
    (gpt, chars), (bert, _), (t5, own) = map(load_model, ("gpt_chars", "bert_chars", "t5_chars"))
    text, own_text = (one.encode(f"\n{sentence}\n")[None] for one in (chars, own))
    sentinels = (own.ids["<extra_id_0>"], own.ids["<extra_id_1>"])
    spans = t5_span_log_probs(
        t5, own_text, start, end, sentinel_ids=sentinels, eos_id=own.ids["</s>"]
    )
    cut = corrupt_given_spans(own_text[0], [(start, end)], spans_of(own))
    read = torch.cat([torch.tensor([own.pad_id]), cut.targets[:-1]])
    with torch.inference_mode():
        whole = t5(cut.inputs[None], read[None])[0].log_softmax(dim=-1)
    return {
        "GPT, from the left": in_bits(gpt_span_log_probs(gpt, text, start, end)),
        "BERT, one after the other": in_bits(
            bert_span_log_probs(bert, text, start, end, mask_id=chars.mask_id)
        ),
        "T5, the letters": in_bits(spans[:, :-1]),
        "T5, with its ends of gaps": in_bits(whole.gather(1, cut.targets[:, None])),
    }


def shown_costs(panel: Locator) -> dict[str, float]:
    """Read the costs that the panel shows, in bits."""
    expect(panel.locator(".costs li").first).to_be_visible()
    lines = [
        one.locator("span").all_inner_texts() for one in panel.locator(".costs li").all()
    ]  # fmt: skip
    return {line[0]: float(line[-1].removesuffix(" bits")) for line in lines}


def hide(panel: Locator, start: int, end: int) -> None:
    """Show all letters again, then press some."""
    panel.get_by_role("button", name="Show all again").click()
    for place in range(start, end):
        panel.locator(".token").nth(place).click()
    expect(panel.get_by_text(f"{end - start} hidden letter")).to_be_visible(timeout=MILLISECONDS)


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_costs_and_answers_are_those_of_pytorch(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, NAME)
    expect(panel.get_by_text("4 hidden letters")).to_be_visible(timeout=MILLISECONDS)
    shown = shown_costs(panel)
    for name, cost in costs_of(START, *HIDDEN).items():
        assert shown[name] == pytest.approx(cost, abs=0.15), name

    gpt, chars = load_model("gpt_chars")
    left = chars.encode("\n" + START[: HIDDEN[0]])
    written = generate(gpt, left[None], 4, Sampling(greedy=True))[0, -4:]
    text = chars.decode(written.tolist()).replace(" ", "␣")
    expect(panel.locator(".gpt .answer mark")).to_have_text(text)
    expect(panel.locator(".bert .answer mark")).to_have_text(re.compile("^.{4}$"))
    assert fits(opened)
    assert axe_complaints(opened.page, f"pt-{NAME}") == []


def test_each_block_says_what_its_model_may_see(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    n_places = len(START) + 2
    first = HIDDEN[0] + 1
    expect(panel.locator(".gpt .line .barred")).to_have_count(n_places - first)
    expect(panel.locator(".gpt")).to_contain_text(f"Sees the {first} places to the left")
    expect(panel.locator(".bert .line .barred")).to_have_count(0)
    expect(panel.locator(".bert")).to_contain_text(f"Sees all {n_places} places, 4 of them")
    expect(panel.locator(".t5 .line .query")).to_have_text("⟨0⟩")
    # One sentinel for four letters, and its own end.
    expect(panel.locator(".t5 .line span")).to_have_count(n_places - 4 + 2)
    for kind in ("gpt", "bert", "t5"):
        shares = panel.locator(f".{kind} .line span").evaluate_all(
            "(all) => all.map((one) => Number(one.style.getPropertyValue('--share')))"
        )
        assert sum(shares) == pytest.approx(1, abs=1e-3), kind


def test_one_letter_asks_gpt_about_every_letter(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    hide(panel, 9, 10)
    gpt, chars = load_model("gpt_chars")
    text = chars.encode(f"\n{START}\n")[None]
    candidates = torch.arange(len(chars.specials), chars.vocab_size)
    probs = rescored_log_probs(gpt, text, torch.tensor([10]), candidates=candidates)[0]
    truth = (candidates == text[0, 10]).nonzero().item()
    expect(panel.get_by_text("GPT, every letter tried")).to_be_visible(timeout=60_000)
    shown = shown_costs(panel)
    assert shown["GPT, every letter tried"] == pytest.approx(in_bits(probs[truth]), abs=0.15)
    hide(panel, 9, 11)
    expect(panel.get_by_text("GPT, every letter tried")).to_have_count(0)


def test_a_sentence_of_ones_own_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, NAME, by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Control+a")
    keyboard.type("The king is dead.")
    keyboard.press("Tab")
    assert focused_text(opened.page) == "capital T"
    for _ in range(4):
        keyboard.press("ArrowRight")
    assert focused_text(opened.page) == "k"
    for _ in range(4):
        keyboard.press("Enter")
        keyboard.press("ArrowRight")
    expect(panel.get_by_text("4 hidden letters")).to_be_visible(timeout=MILLISECONDS)
    shown = shown_costs(panel)
    for name, cost in costs_of("The king is dead.", 4, 8).items():
        assert shown[name] == pytest.approx(cost, abs=0.15), name


def test_too_many_letters_or_gaps_are_refused(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    panel.get_by_role("button", name="Show all again").click()
    expect(panel.locator("[role=status]")).to_have_text("Nothing is hidden yet.")
    for place in (1, 3, 5, 7, 9):
        panel.locator(".token").nth(place).click()
    expect(panel.locator("[role=alert]")).to_have_text("At most 4 gaps are possible.")
    expect(panel.locator(".token[aria-pressed=true]")).to_have_count(4)
    panel.get_by_role("button", name="Show all again").click()
    for place in range(17):
        panel.locator(".token").nth(place).click()
    expect(panel.locator("[role=alert]")).to_have_text("At most 16 letters can be hidden.")


def test_characters_that_the_models_do_not_know_are_named(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    panel.get_by_label("Your sentence").fill("naïve 3")
    expect(panel.locator("[role=alert]")).to_contain_text("know no ï 3")
    expect(panel.locator(".token")).to_have_count(0)


def test_a_missing_model_gives_the_message(visit: Visitor):
    expect_message_without(visit, PAGE, NAME, "**/t5_chars.safetensors*")


def test_without_scripts_and_on_paper_the_static_form_stands(visit: Visitor):
    plain = find(visit(PAGE, javascript=False), NAME)
    expect(plain.locator("p").last).to_contain_text("Where scripts run")
    expect(plain.locator("button")).to_have_count(0)
    opened = visit(PAGE)
    panel = open_applet(opened, NAME)
    opened.page.emulate_media(media="print")
    expect(panel).to_be_hidden()
