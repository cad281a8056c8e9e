# SPDX-License-Identifier: MIT
"""The span-corruption playground: its pair, costs and writing are the package's."""

import itertools
import math
import re

import pytest
import torch
from applets import (
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
from workshop import Workshop, spans_of

from pretrain.generation import Sampling, generate_seq2seq
from pretrain.span_corruption import SpanCorrupted, corrupt_given_spans, count_spans
from pretrain_lab.checkpoints import load_model

PAGE = applet_page("span-corruption")
NAME = "span-corruption"
START = "Now is the winter of our discontent"
CUTS = [(11, 17), (21, 24)]
NAMES = {"</s>": "⟨end⟩", "\n": "↵", " ": "␣"}
pytestmark = pytest.mark.applet


def task_of(sentence: str, cuts: list[tuple[int, int]]) -> SpanCorrupted:
    """Let the package cut a sentence, a line end before and after it."""
    _, chars = load_model("t5_chars")
    spans = [(start + 1, end + 1) for start, end in cuts]
    return corrupt_given_spans(chars.encode(f"\n{sentence}\n"), spans, spans_of(chars))


def written_as(ids: torch.Tensor) -> list[str]:
    """Write tokens as the page does."""
    _, chars = load_model("t5_chars")
    names = [chars.tokens[i] for i in ids.tolist()]
    return [NAMES.get(name, re.sub(r"<extra_id_(\d)>", r"⟨\1⟩", name)) for name in names]


def written_by_pytorch(task: SpanCorrupted) -> list[str]:
    """Let PyTorch's T5 write, always the likeliest."""
    t5, chars = load_model("t5_chars")
    most = 2 * len(task.targets) + 8
    end = chars.ids["</s>"]
    ids = generate_seq2seq(t5, task.inputs[None], most, Sampling(greedy=True), eos_id=end)
    return written_as(ids[0])


def rows(panel: Locator) -> list[list[str]]:
    """Read the three sequences: the input, the target, and what is written."""
    return [
        [text if text.strip() else "␣" for text in row.locator("span").all_text_contents()]
        for row in panel.locator(".sequence").all()
    ]


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_the_pair_the_price_and_the_writing(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, NAME)
    task = task_of(START, CUTS)
    inputs, targets, written = rows(panel)
    assert inputs == written_as(task.inputs)
    assert targets == written_as(task.targets)
    assert written == []
    expect(panel.get_by_text(f"The encoder reads ({len(task.inputs)})")).to_be_visible()

    t5, chars = load_model("t5_chars")
    start = torch.cat([torch.tensor([chars.pad_id]), task.targets[:-1]])
    with torch.inference_mode():
        costs = -t5(task.inputs[None], start[None])[0].log_softmax(dim=-1)
    costs = costs.gather(1, task.targets[:, None])[:, 0] / math.log(2)
    is_mark = task.targets < len(chars.specials)
    told = panel.get_by_text("the true target costs").inner_text().split()
    cut, marks = (float(word) for word in told if word[0].isdigit())
    assert cut == pytest.approx(costs[~is_mark].sum().item(), abs=0.15)
    assert marks == pytest.approx(costs[is_mark].sum().item(), abs=0.15)

    panel.get_by_role("button", name="Write to the end").click()
    assert rows(panel)[2] == written_by_pytorch(task)
    expect(panel.get_by_role("button", name="Write one")).to_be_disabled()
    assert fits(opened)
    assert axe_complaints(opened.page, f"pt-{NAME}") == []


def test_step_by_step_and_back(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    expected = written_by_pytorch(task_of(START, CUTS))
    undo = panel.get_by_role("button", name="Undo")
    expect(undo).to_be_disabled()
    for n in range(1, 5):
        panel.get_by_role("button", name="Write one").click()
        expect(panel.locator("[role=status]")).to_contain_text(f"Written: {n}")
        assert rows(panel)[2] == expected[:n]
    undo.click()
    undo.click()
    assert rows(panel)[2] == expected[:2]
    expect(panel.locator(".bars li")).to_have_count(6)
    assert panel.locator(".bars .bar-token").first.inner_text() == expected[2]


def test_the_look_is_the_cross_attention(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    shares = panel.locator(".line span").evaluate_all(
        "(all) => all.map((one) => Number(one.style.getPropertyValue('--share')))"
    )
    t5, chars = load_model("t5_chars")
    kept = []
    layer = t5.decoder.blocks[-1].cross_attention
    hook = layer.register_forward_pre_hook(
        lambda layer, given, more: kept.append(layer.weights(*given, memory=more["memory"])),
        with_kwargs=True,
    )
    with torch.inference_mode():
        t5(task_of(START, CUTS).inputs[None], torch.tensor([[chars.pad_id]]))
    hook.remove()
    expected = kept[0][0].mean(dim=0)[-1].tolist()
    assert shares == pytest.approx(expected, abs=0.01)


def test_chance_cuts_as_the_package_counts(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    n_noise, n_spans = count_spans(len(START), noise_density=0.15, mean_noise_span_length=3)
    seen = set()
    for _ in range(4):
        panel.get_by_role("button", name="Cut by chance").click()
        pressed = panel.locator(".token").evaluate_all(
            "(all) => all.map((one) => one.getAttribute('aria-pressed') === 'true')"
        )
        runs = sum(now and not before for before, now in itertools.pairwise([False, *pressed]))
        assert (sum(pressed), runs) == (n_noise, n_spans)
        seen.add(tuple(pressed))
    assert len(seen) > 1


def test_counts_are_those_of_the_package_everywhere(workshop: Workshop):
    grid = list(itertools.product(range(2, 65), (0.05, 0.15, 0.25, 0.3, 0.5), (1, 2, 3, 8)))
    script = """async (grid) => {
      const { countSpans } = await import("/engine/span-noise.mjs");
      return grid.map(([length, share, mean]) => {
        const { nNoise, nSpans } = countSpans(length, share, mean);
        return [nNoise, nSpans];
      });
    }"""
    expected = [
        list(count_spans(length, noise_density=share, mean_noise_span_length=mean))
        for length, share, mean in grid
    ]
    assert workshop.run(script, grid) == expected


def test_all_places_of_the_cuts_are_equally_likely(workshop: Workshop):
    """Two cuts of three characters out of nine: every admissible pattern comes, about as often."""
    script = """async (n) => {
      const { randomSpans } = await import("/engine/span-noise.mjs");
      const { randomNumbers } = await import("/engine/sampling.mjs");
      const next = randomNumbers(5);
      return Array.from({ length: n }, () => JSON.stringify(randomSpans(9, 1 / 3, 1.5, next)));
    }"""
    n = 4000
    found = workshop.run(script, n)
    counts = {one: found.count(one) for one in set(found)}
    # 5 ways to divide six kept characters in two runs, 2 ways to divide three cut ones.
    assert len(counts) == 10
    assert all(abs(count - n / 10) < 4 * math.sqrt(n * 0.09) for count in counts.values())


def test_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, NAME, by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Control+a")
    keyboard.type("The king is dead.")
    expect(panel.locator(".sequence").first).to_be_hidden()
    keyboard.press("Tab")
    for _ in range(4):
        keyboard.press("ArrowRight")
    assert focused_text(opened.page) == "k"
    for _ in range(4):
        keyboard.press("Enter")
        keyboard.press("ArrowRight")
    for _ in range(4):  # two sliders, the button of chance, then that of the step
        keyboard.press("Tab")
    keyboard.press("Enter")
    assert rows(panel)[0] == written_as(task_of("The king is dead.", [(4, 8)]).inputs)
    assert rows(panel)[2] == written_by_pytorch(task_of("The king is dead.", [(4, 8)]))[:1]


def test_what_cannot_be_cut_is_said(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    text = panel.get_by_label("Your sentence")
    text.fill("naïve 3")
    expect(panel.locator("[role=alert]")).to_contain_text("knows no ï 3")
    expect(panel.locator(".token")).to_have_count(0)
    text.fill("")
    panel.get_by_role("button", name="Cut by chance").click()
    expect(panel.locator("[role=alert]")).to_contain_text("at least two characters")
    text.fill("abcdefghijklmnop")
    for place in range(0, 14, 2):
        panel.locator(".token").nth(place).click()
    expect(panel.locator("[role=alert]")).to_have_text("At most 6 gaps are possible.")
    expect(panel.locator(".token[aria-pressed=true]")).to_have_count(6)


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
