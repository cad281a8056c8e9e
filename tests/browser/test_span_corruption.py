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
START = "What say you, my lord? I pray you, speak."
CUTS = [" lord", " pray you"]
NAMES = {"</s>": "⟨end⟩", "\n": "↵"}
pytestmark = pytest.mark.applet


def task_of(sentence: str, *cuts: str) -> SpanCorrupted:
    """Let the package cut words out of a sentence, a line end before and after it."""
    _, tokenizer = load_model("t5_subwords")
    text = f"\n{sentence}\n"
    ends = list(itertools.accumulate(len(piece) for piece in tokenizer.split(text)))
    spans, at = [], 0
    for cut in cuts:
        at = text.index(cut, at)
        spans.append((ends.index(at) + 1, ends.index(at + len(cut)) + 1))
        at += len(cut)
    return corrupt_given_spans(tokenizer.encode(text), spans, spans_of(tokenizer))


def written_as(ids: torch.Tensor) -> list[str]:
    """Write tokens as the page does."""
    _, tokenizer = load_model("t5_subwords")
    names = [tokenizer.tokens[i] for i in ids.tolist()]
    return [
        NAMES.get(name, re.sub(r"<extra_id_(\d)>", r"⟨\1⟩", name).replace(" ", "␣"))
        for name in names
    ]


def written_by_pytorch(task: SpanCorrupted, n_gaps: int) -> list[str]:
    """Let PyTorch's T5 write, always the likeliest, until it has filled the gaps."""
    t5, tokenizer = load_model("t5_subwords")
    most = 2 * len(task.targets) + 8
    rule = Sampling(greedy=True)
    ids = generate_seq2seq(t5, task.inputs[None], most, rule, eos_id=tokenizer.eos_id)[0]
    names = written_as(ids)
    last = f"⟨{n_gaps}⟩"
    return names[: names.index(last) + 1] if last in names else names


def rows(panel: Locator) -> list[list[str]]:
    """Read the three sequences: the input, what is written, and the target."""
    expect(panel).not_to_have_attribute("aria-busy", "true")
    return [row.locator("> *").all_text_contents() for row in panel.locator(".sequence").all()]


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_the_pair_the_price_and_the_writing(visit: Visitor, width: int, theme: str):
    opened = visit(PAGE, width=width, theme=theme, reduced_motion=True)
    panel = open_applet(opened, NAME)
    task = task_of(START, *CUTS)
    inputs, written, targets = rows(panel)
    assert inputs == written_as(task.inputs)
    assert targets == written_as(task.targets)
    assert written == written_by_pytorch(task, len(CUTS))
    expect(panel.get_by_text("2 of 2 as it was.")).to_be_visible()

    t5, tokenizer = load_model("t5_subwords")
    start = torch.cat([torch.tensor([tokenizer.pad_id]), task.targets[:-1]])
    with torch.inference_mode():
        costs = -t5(task.inputs[None], start[None])[0].log_softmax(dim=-1)
    costs = costs.gather(1, task.targets[:, None])[:, 0] / math.log(2)
    is_mark = torch.tensor([name.startswith("⟨") for name in written_as(task.targets)])
    told = panel.get_by_text("The true target costs").text_content().split()
    cut, marks = (float(word) for word in told if word[0].isdigit())
    assert cut == pytest.approx(costs[~is_mark].sum().item(), abs=0.15)
    assert marks == pytest.approx(costs[is_mark].sum().item(), abs=0.15)
    assert fits(opened)
    assert axe_complaints(opened.page, f"pt-{NAME}") == []


def test_it_writes_by_itself_token_by_token(visit: Visitor):
    panel = open_applet(visit(PAGE), NAME)
    keys = panel.locator(".sequence .token")
    n_tokens = len(written_by_pytorch(task_of(START, *CUTS), 2))
    panel.get_by_role("button", name="Write again").click()
    seen = set()
    while (n := keys.count()) < n_tokens:
        seen.add(n)
    assert len(seen) > 1
    expect(panel.get_by_text("2 of 2 as it was.")).to_be_visible()


def test_one_press_writes_one_token_and_lights_its_hole(visit: Visitor):
    panel = open_applet(visit(PAGE, reduced_motion=True), NAME)
    keys, holes = (
        panel.locator(".sequence .token"),
        panel.locator(".sequence .special[data-filled]"),
    )
    n_tokens = keys.count()
    one = panel.get_by_role("button", name="One token")
    lit, filled = [], []
    for n in range(1, n_tokens + 1):
        one.click()
        expect(keys).to_have_count(n)
        lit.append(panel.locator(".sequence .lit").all_text_contents())
        filled.append(holes.evaluate_all("(all) => all.map((one) => one.dataset.filled.trim())"))
    expect(panel.get_by_text("2 of 2 as it was.")).to_be_visible()
    assert lit == [["⟨0⟩"]] * 2 + [["⟨1⟩"]] * 3 + [[]]
    assert filled[0][:2] == ["", ""]
    assert filled[1][:2] == ["lord", ""]
    assert filled[-1][:2] == ["lord", "pray␣you"]


@pytest.mark.parametrize("width", [1280, 390])
def test_what_stands_below_stays_in_its_place_while_it_writes(visit: Visitor, width: int):
    """At 390 px the rows break, and at the end a sentence comes: both have their room before."""
    panel = open_applet(visit(PAGE, width=width, reduced_motion=True), NAME)
    one, below = panel.get_by_role("button", name="One token"), panel.locator("h3")
    places = []
    for _ in range(panel.locator(".sequence .token").count()):
        one.click()
        places.append(below.evaluate("(h) => h.getBoundingClientRect().top + scrollY"))
    assert len(places) > 3
    assert max(places) - min(places) < 1, places


def test_each_step_can_be_looked_at(visit: Visitor):
    panel = open_applet(visit(PAGE, reduced_motion=True), NAME)
    _, written, _ = rows(panel)
    panel.locator(".sequence .token").nth(3).hover()
    expect(panel.locator("h3")).to_contain_text("Step 4")
    assert panel.locator(".bars .bar-token").first.inner_text() == written[3]
    panel.locator(".sequence .token").nth(0).hover()
    shares = (
        panel.locator(".sequence")
        .first.locator("span")
        .evaluate_all("(all) => all.map((one) => Number(one.style.getPropertyValue('--share')))")
    )
    t5, tokenizer = load_model("t5_subwords")
    kept = []
    layer = t5.decoder.blocks[-1].cross_attention
    hook = layer.register_forward_pre_hook(
        lambda layer, given, more: kept.append(layer.weights(*given, memory=more["memory"])),
        with_kwargs=True,
    )
    with torch.inference_mode():
        t5(task_of(START, *CUTS).inputs[None], torch.tensor([[tokenizer.pad_id]]))
    hook.remove()
    looks = kept[0][0].mean(dim=0)[-1]
    assert shares == pytest.approx((0.6 * looks / looks.max()).tolist(), abs=0.01)


def test_chance_cuts_pieces_in_gaps(visit: Visitor):
    panel = open_applet(visit(PAGE, reduced_motion=True), NAME)
    panel.locator("summary").click()
    _, tokenizer = load_model("t5_subwords")
    n_noise, n_spans = count_spans(
        len(tokenizer.split(START)), noise_density=0.3, mean_noise_span_length=2
    )
    seen = set()
    for _ in range(4):
        panel.get_by_role("button", name="Cut by chance").click()
        pressed = panel.locator(".sentence .token").evaluate_all(
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
    opened = visit(PAGE, reduced_motion=True)
    panel = open_applet(opened, NAME, by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Control+a")
    keyboard.type("The king is dead.")
    expect(panel.locator(".sequence").first).to_be_hidden()
    keyboard.press("Tab")
    keyboard.press("ArrowRight")
    assert focused_text(opened.page) == "Place 2, king"
    keyboard.press("Enter")
    task = task_of("The king is dead.", " king")
    expect(panel.locator(".sequence").first).to_be_visible()
    assert rows(panel)[:2] == [written_as(task.inputs), written_by_pytorch(task, 1)]
    keyboard.press("Tab")
    keyboard.press("End")
    assert focused_text(opened.page).startswith("Step ")


def test_silly_input_is_answered(visit: Visitor):
    panel = open_applet(visit(PAGE, reduced_motion=True), NAME)
    text = panel.get_by_label("Your sentence")
    text.fill("I see 3 😀 kings")
    expect(panel.locator(".unread").last).to_have_text("😀")
    panel.get_by_role("button", name="kings").click()
    assert rows(panel)[1]
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    text.fill(f"my {family} lord")
    expect(panel.locator(".unread").last).to_have_text(family)
    text.fill("")
    expect(panel.get_by_text("Write a sentence.")).to_be_visible()
    panel.locator("summary").click()
    panel.get_by_role("button", name="Cut by chance").click()
    expect(panel.get_by_text("at least two words")).to_be_visible()
    text.fill("a b c d e f g h i j k l m n")
    for place in range(0, 14, 2):
        panel.locator(".sentence .token").nth(place).click()
    expect(panel.get_by_text("At most 6 gaps are possible.")).to_be_visible()
    expect(panel.locator(".sentence [aria-pressed=true]")).to_have_count(6)
    text.fill("king " * 1000)
    expect(panel.get_by_text("the rest does not fit")).to_be_visible()


def test_a_missing_model_gives_the_message(visit: Visitor):
    expect_message_without(visit, PAGE, NAME, "**/t5_subwords.safetensors*")


def test_without_scripts_the_static_form_stands(visit: Visitor):
    plain = find(visit(PAGE, javascript=False), NAME)
    expect(plain.locator("p").last).to_contain_text("In a browser with JavaScript")
    expect(plain.locator("button")).to_have_count(0)
