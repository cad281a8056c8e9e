# SPDX-License-Identifier: MIT
"""The attention explorer: masks and counts, the heads' weights, and texts under another mask."""

import math
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
)
from chapter_places import applet_page
from playwright.sync_api import Locator, expect
from torch import Tensor
from visiting import Visitor
from workshop import Workshop, spans_of, unpacked

from pretrain import masks
from pretrain.bert import BERT
from pretrain.span_corruption import corrupt_given_spans
from pretrain.t5 import T5
from pretrain_lab.checkpoints import load_model

PAGE = applet_page("attention-explorer")
SENTENCE = "\nTo be, or not to be\n"
QUERY = 13  # the place, from 1, that is looked at first
NAMES = ("gpt_chars", "bert_chars", "t5_chars")
pytestmark = pytest.mark.applet


def padding(length: int, n: int) -> Tensor:
    """The last n of T places are filler; no query may look at them, bool (T, T)."""
    hides = masks.padding_mask(torch.arange(length)[None] < length - n)
    return hides.expand(1, 1, length, length)[0, 0]


def joined(length: int, n: int) -> Tensor:
    """Encoder, cross-attention and decoder as one matrix, the source first."""
    target = length - n
    source = torch.ones(1, n).bool()
    above = torch.cat([masks.bidirectional_mask(n), torch.zeros(n, target).bool()], dim=1)
    below = torch.cat([masks.cross_mask(target, source)[0, 0], masks.causal_mask(target)], dim=1)
    return torch.cat([above, below])


OF_PACKAGE = {
    "causal": lambda length, n: masks.causal_mask(length),
    "bidirectional": lambda length, n: masks.bidirectional_mask(length),
    "prefix": lambda length, n: masks.prefix_lm_mask(torch.tensor([n]), length)[0, 0],
    "padding": padding,
    "causal-padding": lambda length, n: masks.causal_mask(length) & padding(length, n),
    "encoder-decoder": joined,
}


@pytest.mark.parametrize("kind", OF_PACKAGE)
@pytest.mark.parametrize("length", [1, 2, 6, 8])
def test_masks_and_counts_are_those_of_the_package(workshop: Workshop, kind: str, length: int):
    script = """async ([kind, length]) => {
      const { MASKS, countAllowed, keysOf } = await import("/engine/masks.mjs");
      return Array.from({ length: length + 1 }, (_, n) => {
        const allows = MASKS[kind].allows(length, n);
        return [Array.from({ length }, (__, t) => keysOf(allows, length, t)),
          countAllowed(allows, length), MASKS[kind].formula(length, n)[1]];
      });
    }"""
    for n, (rows, count, formula) in enumerate(workshop.run(script, [kind, length])):
        # The package has no sequences without a real token, and none without source or target.
        if ("padding" in kind and n == length) or (kind == "encoder-decoder" and n in (0, length)):
            continue
        expected = OF_PACKAGE[kind](length, n)
        assert rows == [row.nonzero().flatten().tolist() for row in expected], n
        assert count == formula == int(expected.sum()), n


def test_every_mask_that_can_be_chosen_is_compared(workshop: Workshop):
    script = 'async () => Object.keys((await import("/engine/masks.mjs")).MASKS)'
    assert sorted(workshop.run(script)) == sorted(OF_PACKAGE)


def test_positions_in_words(workshop: Workshop):
    script = 'async (places) => (await import("/engine/masks.mjs")).inWords(places)'
    expected = {(0,): "1", (0, 1): "1 and 2", (0, 1, 2): "1 to 3", (0, 1, 2, 5): "1 to 3 and 6",
                (): "", (1, 3, 4, 6, 7, 8): "2, 4, 5 and 7 to 9"}  # fmt: skip
    for places, words in expected.items():
        assert workshop.run(script, list(places)) == words


def run_blocks(model, ids: Tensor, mask: Tensor) -> Tensor:
    """Logits of a GPT or a BERT, states of T5's encoder, under any mask; ids (T,)."""
    if isinstance(model, T5):
        bias = model.encoder.relative_bias(len(ids), len(ids))
        x = model.token(ids[None])
        for block in model.encoder.blocks:
            x = block(x, mask, bias=bias)
        return model.encoder.final_norm(x)
    x = model.embeddings(ids[None])
    if isinstance(model, BERT):
        x = model.embedding_norm(x)
    for block in model.blocks:
        x = block(x, mask)
    return model.logits(model.final_norm(x))


def weights_of(model, ids: Tensor, mask: Tensor) -> list[np.ndarray]:
    """Collect each layer's attention weights (H, T, T) in PyTorch, as Chapter 7 does."""
    found: list[Tensor] = []

    def keep(layer, given, options) -> None:
        """Repeat the softmax of a layer on its inputs."""
        found.append(layer.weights(*given, **options)[0])

    layers = model.encoder if isinstance(model, T5) else model
    hooks = [
        layer.register_forward_pre_hook(keep, with_kwargs=True)
        for name, layer in layers.named_modules()
        if name.endswith("attention")
    ]
    with torch.inference_mode():
        run_blocks(model, ids, mask)
    for hook in hooks:
        hook.remove()
    return [one.numpy() for one in found]


def both_masks(length: int) -> dict[str, Tensor]:
    """The triangle and the square."""
    return {
        "causal": masks.causal_mask(length),
        "bidirectional": masks.bidirectional_mask(length),
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mask", ["causal", "bidirectional"])
def test_the_weights_are_those_of_pytorch(workshop: Workshop, name: str, mask: str):
    model, tokenizer = load_model(name)
    ids = tokenizer.encode(SENTENCE)
    script = """async ([file, ids, mask]) => {
      const { model } = await load(file);
      const trace = [];
      const options = { mask: (await import("/engine/models.mjs"))[mask], trace };
      if (model.encode) model.encode(ids, options);
      else model.forward(ids, options);
      return trace.map(pack);
    }"""
    answer = workshop.run(script, [f"full/{name}.safetensors", ids.tolist(), mask])
    got = [unpacked(one) for one in answer]
    expected = weights_of(model, ids, both_masks(len(ids))[mask])
    assert [one.shape for one in got] == [one.shape for one in expected]
    assert max(np.abs(a - b).max() for a, b in zip(got, expected, strict=True)) <= 1e-5


def price(name: str, mask: Tensor | None = None) -> float:
    """Average what a character of the sentence costs in PyTorch, in bits."""
    model, tokenizer = load_model(name)
    ids = tokenizer.encode(SENTENCE)
    asked, total = 0, 0.0
    turns = [None] if name == "gpt_chars" else range(1, 8)
    for first in turns:
        places = [] if first is None else list(range(first, len(ids) - 1, 7))
        with torch.inference_mode():
            if name == "gpt_chars":
                read, answers = ids[:-1], ids[1:]
                logits = run_blocks(model, read, mask[:-1, :-1])[0]
            elif name == "bert_chars":
                read = ids.clone()
                read[places] = tokenizer.mask_id
                answers = ids[places]
                logits = run_blocks(model, read, mask)[0, places]
            else:
                cut = corrupt_given_spans(
                    ids, [(place, place + 1) for place in places], spans_of(tokenizer)
                )
                own = both_masks(len(cut.inputs))["causal" if not mask[0, 1] else "bidirectional"]
                states = run_blocks(model, cut.inputs, own)
                start = torch.cat([cut.targets.new_zeros(1), cut.targets[:-1]])
                letters = cut.targets >= len(tokenizer.specials)
                answers = cut.targets[letters]
                logits = model.decode(start[None], states)[0, letters]
        log_probs = logits.log_softmax(dim=-1).gather(1, answers[:, None])
        total -= log_probs.sum().item() / math.log(2)
        asked += len(answers)
    assert asked == (len(ids) - 1 if name == "gpt_chars" else len(ids) - 2)
    return total / asked


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mask", ["causal", "bidirectional"])
def test_prices_under_both_masks_are_those_of_pytorch(workshop: Workshop, name: str, mask: str):
    function = {"gpt": "bitsOfNext", "bert": "bitsOfMasked", "t5": "bitsOfSpans"}
    script = f"""async ([file, text, mask]) => {{
      const {{ model, tokenizer }} = await load(file);
      const {{ {function[name.split("_")[0]]}: cost }} = await import("/engine/looking.mjs");
      const allows = (await import("/engine/models.mjs"))[mask];
      return cost(model, tokenizer.encode(text), allows, tokenizer);
    }}"""
    got = workshop.run(script, [f"full/{name}.safetensors", SENTENCE, mask])
    assert got == pytest.approx(price(name, both_masks(len(SENTENCE))[mask]), abs=1e-3)


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


def views(panel: Locator) -> tuple[Locator, Locator]:
    """The two pictures that are there from the start."""
    return panel.locator(".view.gpt"), panel.locator(".view.bert")


def looks_at(view: Locator) -> tuple[int, list[tuple[str, int, int]]]:
    """Read a sentence: the query's place, and letter, distance and percentage of each key."""
    text = view.locator("[role=status]").inner_text()
    place = int(re.search(r"at place (\d+) looks at", text)[1])
    keys = re.findall(r"“([^”]+)” (?:\((itself)\)|\((\d+) (before|after)\)) (\d+(?:\.\d)?) %", text)
    found = []
    for letter, itself, distance, side, share in keys:
        offset = 0 if itself else int(distance) * (1 if side == "after" else -1)
        found.append((letter, offset, float(share)))
    return place, found


def chosen_head(view: Locator) -> tuple[int, int]:
    """Read which layer and head are shown."""
    layer, head = view.get_by_label("Head, and what").input_value().split()
    return int(layer), int(head)


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_what_a_head_looks_at(visit: Visitor, width: int, theme: str):
    """The sentence below each picture says what PyTorch says, in half precision."""
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, "attention-explorer")
    for view, name, mask in zip(views(panel), NAMES, both_masks(len(SENTENCE)), strict=False):
        model, tokenizer = load_model(name)
        ids = tokenizer.encode(SENTENCE)
        layer, head = chosen_head(view)
        place, keys = looks_at(view)
        weights = weights_of(model, ids, both_masks(len(ids))[mask])[layer][head, place - 1]
        assert place == QUERY
        side = {"causal": -1, "bidirectional": 1}[mask]
        assert keys[0][1] * side > 0, "GPT's first head looks back, BERT's where a GPT cannot look"
        for _, offset, share in keys:
            assert share == pytest.approx(100 * weights[place - 1 + offset], abs=0.6)
    assert opened.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_by_mouse(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "attention-explorer")
    grid = panel.locator("table.grid")
    said = panel.locator(".block").first.locator("[role=status]")
    expect(said).to_contain_text("21 of 36 pairs are allowed: T (T + 1) / 2 with T = 6.")
    grid.get_by_role("button", name="not").click()
    expect(said).to_contain_text("Place 4, “not”, may look at places 1 to 4:")
    panel.get_by_label("Mask").first.select_option(label="bidirectional (BERT)")
    expect(said).to_contain_text("may look at places 1 to 6:")
    expect(said).to_contain_text("36 of 36")
    expect(grid.locator("td", has_text="●")).to_have_count(36)
    panel.get_by_label("Mask").first.select_option(value="encoder-decoder")
    expect(said).to_contain_text("24 of 36")
    assert [grid.locator("td", has_text=one).count() for one in "■◆●"] == [9, 9, 6]

    panel.get_by_label("Your sentence").fill("My lord, my lord!")
    gpt, bert = views(panel)
    gpt.get_by_role("group", name="GPT").locator("button").nth(5).click()
    assert looks_at(gpt)[0] == looks_at(bert)[0] == 6
    bert.get_by_role("group", name="BERT").locator("button").nth(7).hover()
    assert looks_at(gpt)[0] == looks_at(bert)[0] == 8
    # A click in the picture: the last row of BERT's. Query 19 of 19.
    canvas = bert.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] - 2})
    assert looks_at(gpt)[0] == looks_at(bert)[0] == 19
    # The first row of GPT's: nothing but itself is there to look at.
    gpt.locator("canvas").click(position={"x": 2, "y": 2})
    assert looks_at(gpt) == (1, [("line end", 0, 100.0)])
    assert max(offset for _, offset, _ in looks_at(bert)[1]) > 0


def test_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "attention-explorer", by_keyboard=True)
    press = opened.page.keyboard.press
    said = panel.locator(".block").first.locator("[role=status]")
    press("ArrowDown")  # in the choice of masks
    expect(said).to_contain_text("36 of 36")
    press("Tab")
    press("Tab")
    press("ArrowDown")
    press("Enter")
    expect(said).to_contain_text("Place 2, “be”")
    press("Tab")
    press("Control+a")
    opened.page.keyboard.type("Go, go.")
    press("Tab")
    for _ in range(3):
        press("ArrowRight")
    assert focused_text(opened.page).startswith("place 4, comma, ")
    press("Enter")
    gpt, bert = views(panel)
    assert looks_at(gpt)[0] == looks_at(bert)[0] == 4
    assert focused_text(opened.page).startswith("place 4, comma, looked at ")


def test_the_prices_are_shown_and_the_wrong_mask_costs_more(visit: Visitor):
    panel = open_applet(visit(PAGE), "attention-explorer")
    for view, name in zip(views(panel), NAMES, strict=False):
        line = view.get_by_text("Bits for ")
        expect(line).to_contain_text("under its own mask", timeout=MILLISECONDS)
        own, other = map(float, re.findall(r"\d+\.\d\d", line.text_content()))
        triangle, square = both_masks(len(SENTENCE)).values()
        expected = [price(name, triangle), price(name, square)]
        if name == "bert_chars":
            expected.reverse()
        assert [own, other] == pytest.approx(expected, abs=0.01)
        assert other > own


def test_t5_is_fetched_when_a_reader_adds_it(visit: Visitor):
    opened = visit(PAGE)
    asked: list[str] = []
    opened.page.on("request", lambda request: asked.append(request.url))
    panel = open_applet(opened, "attention-explorer")
    assert not [one for one in asked if "t5_chars" in one]
    panel.get_by_role("button", name="Add T5’s encoder").click()
    view = panel.locator(".view.t5")
    expect(view.locator("canvas")).to_be_visible(timeout=MILLISECONDS)
    expect(panel.get_by_role("button", name="Add T5’s encoder")).to_have_count(0)
    view.locator(".token").nth(5).click()
    for one in panel.locator(".view [role=status]").all():
        expect(one).to_contain_text("at place 6 looks at")


def test_t5_that_cannot_be_had_leaves_the_others(visit: Visitor):
    opened = visit(PAGE, missing=["**/t5_chars.safetensors*"])
    panel = open_applet(opened, "attention-explorer")
    panel.get_by_role("button", name="Add T5’s encoder").click()
    expect(panel.locator("[role=alert]").last).to_contain_text(
        "could not be loaded", timeout=MILLISECONDS
    )
    expect(panel.locator(".view canvas")).to_have_count(2)
    expect(panel.get_by_role("button", name="Add T5’s encoder")).to_be_enabled()


def test_another_mask_changes_what_a_head_may_look_at(visit: Visitor):
    panel = open_applet(visit(PAGE), "attention-explorer")
    gpt, bert = views(panel)
    assert gpt.locator(".looked .barred").count() == len(SENTENCE) - QUERY
    assert bert.locator(".looked .barred").count() == 0
    for view in (gpt, bert):
        view.get_by_text("Another mask").click()
    gpt.get_by_label("Mask").select_option(label="BERT’s: open")
    bert.get_by_label("Mask").select_option(label="GPT’s: causal")
    assert gpt.locator(".looked .barred").count() == 0
    assert bert.locator(".looked .barred").count() == len(SENTENCE) - QUERY


def test_characters_that_the_models_do_not_know_are_struck_out(visit: Visitor):
    panel = open_applet(visit(PAGE), "attention-explorer")
    gpt, _ = views(panel)
    panel.get_by_label("Your sentence").fill("naïve 7 😀")
    expect(panel.locator("[role=alert]").last).to_contain_text("Struck out: ï 7 😀.")
    letters = gpt.locator(".looked .token").all_inner_texts()
    assert "".join(letters) == "↵nave␣␣↵", "the picture is that of the rest"


def test_an_empty_field_shows_no_picture_and_says_so(visit: Visitor):
    panel = open_applet(visit(PAGE), "attention-explorer")
    for text in ("", "123"):
        panel.get_by_label("Your sentence").fill(text)
        expect(panel.locator("canvas").first).to_be_hidden()
        expect(panel.locator("[role=alert]").last).to_contain_text("there is nothing to look at")
    panel.get_by_label("Your sentence").fill("a")
    expect(panel.locator("canvas").first).to_be_visible()
    words = panel.get_by_label("Up to 8 words")
    words.fill("  ")
    expect(panel.locator("table.grid")).to_be_hidden()
    expect(panel.locator("[role=alert]").first).to_contain_text("Type a word")
    words.fill("one two three four five six seven eight nine")
    expect(panel.locator("table.grid tbody tr")).to_have_count(8)
    expect(panel.locator("[role=alert]").first).to_contain_text("first 8 of 9 words")


def test_a_dot_means_may_attend_in_table_and_picture(visit: Visitor):
    """Where GPT may not look, its square stays empty; where it may, there is a dot at least."""
    panel = open_applet(visit(PAGE), "attention-explorer")
    painted = """(canvas, n) => {
      const cell = canvas.width / (n + 1), paint = canvas.getContext("2d");
      return Array.from({ length: n }, (_, t) => Array.from({ length: n }, (__, s) =>
        paint.getImageData((s + 1.5) * cell, (t + 1.5) * cell, 1, 1).data[3] > 0));
    }"""
    n = len(SENTENCE)
    for view, mask in zip(views(panel), both_masks(n).values(), strict=True):
        view.locator("canvas").scroll_into_view_if_needed()
        panel.page.wait_for_timeout(100)
        assert view.locator("canvas").evaluate(painted, n) == mask.tolist()
    expect(panel).to_contain_text("A dot means “may attend”")
    expect(panel.locator("table.grid td", has_text="●")).to_have_count(21)


def test_a_missing_model_gives_the_message(visit: Visitor):
    expect_message_without(visit, PAGE, "attention-explorer", "**/*.safetensors*")


def test_without_scripts_the_figure_and_the_sentence_stay(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "attention-explorer")
    expect(applet.locator("figure svg").first).to_be_visible()
    expect(applet.get_by_text("The permissions are the lines")).to_be_visible()
