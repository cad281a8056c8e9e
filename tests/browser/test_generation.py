# SPDX-License-Identifier: MIT
"""The generation walkthrough writes as PyTorch does, shows each choice, and takes it back."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from applets import (
    MILLISECONDS,
    SIZES_AND_THEMES,
    expect_message_without,
    focused_text,
    open_applet,
)
from axe import axe_complaints
from chapter_places import applet_page
from panels import fits, load_as_shipped, with_modules
from playwright.sync_api import Locator, expect
from visiting import Visitor

from pretrain.generation import Sampling, generate

PAGE = applet_page("generation")
PROMPT = "JULIET:\nO, what a"
pytestmark = pytest.mark.applet


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The GPT as the pages get it, and its tokeniser."""
    return load_as_shipped("gpt_chars", tmp_path_factory.mktemp("models"))


def scores(gpt: tuple[Any, Any], text: str) -> torch.Tensor:
    """Score the next character, float64 (V,); special tokens cannot be written."""
    model, tokenizer = gpt
    with torch.no_grad():
        logits = model(tokenizer.encode(text)[None])[0, -1].double()
    logits[list(tokenizer.special_ids)] = -math.inf
    return logits


def rows(panel: Locator) -> dict[str, tuple[float, float]]:
    """Read the candidates: character, percentage of the model, percentage that is drawn from."""
    found = {}
    for line in panel.locator(".candidates button").all_inner_texts():
        parts = re.fullmatch(
            r"(\S)\s*(?:< )?([\d.]+) % → (?:(?:< )?([\d.]+) %|cut off)( ◂)?", line.strip()
        )
        assert parts, line
        token = {"␣": " ", "↵": "\n"}.get(parts[1], parts[1])
        found[token] = float(parts[2]), float(parts[3] or 0)
    return found


def expect_distribution(panel: Locator, gpt: tuple[Any, Any], text: str, **cuts: Any) -> None:
    """Compare the candidates with PyTorch: before and after temperature and cuts."""
    logits = scores(gpt, text)
    before = 100 * logits.softmax(dim=-1)
    after = 100 * Sampling(**cuts).distribution(logits)
    ids = gpt[1].ids
    shown = rows(panel)
    assert len(shown) == 10
    likeliest = [gpt[1].tokens[i] for i in before.topk(9).indices]
    assert list(shown)[:9] == likeliest
    for token, found in shown.items():
        expected = (before[ids[token]].item(), after[ids[token]].item())
        assert found == pytest.approx(expected, abs=0.6), token
        assert (found[1] == 0) == (expected[1] == 0), f"{token} is cut off, or is not"
    n_left = int((after > 0).sum())
    expect(panel).to_contain_text(f"{n_left} of 62 characters can be drawn")


def text_of(panel: Locator) -> str:
    """Read the text so far."""
    return panel.locator(".written").evaluate("one => one.textContent").removesuffix("▏")


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_the_distribution_is_that_of_pytorch(
    visit: Visitor, gpt: tuple[Any, Any], width: int, theme: str
):
    opened = visit(PAGE, width=width, theme=theme)
    panel = open_applet(opened, "generation")
    expect_distribution(panel, gpt, PROMPT, top_p=0.9)
    panel.get_by_label("Temperature").fill("0.5")
    panel.get_by_label("Top-p").fill("1")
    expect_distribution(panel, gpt, PROMPT, temperature=0.5)
    panel.get_by_label("Temperature").fill("1.6")
    panel.get_by_label("Top-k").fill("4")
    panel.get_by_role("button", name="Step", exact=True).click()
    expect_distribution(panel, gpt, text_of(panel), temperature=1.6, top_k=4)
    panel.locator("details summary").click()
    assert fits(opened)
    assert axe_complaints(opened.page, "pt-generation") == []


def test_the_strong_model_takes_over(visit: Visitor, tmp_path: Path):
    strong = load_as_shipped("gpt_plays", tmp_path)
    opened = visit(PAGE, reduced_motion=True)
    panel = open_applet(opened, "generation")
    panel.get_by_label("Model").select_option("gpt_plays")
    expect(panel).to_contain_text("at most 256 fit", timeout=MILLISECONDS)
    expect_distribution(panel, strong, PROMPT, top_p=0.9)
    panel.get_by_role("button", name="Run 40").click()
    expect(panel.locator("[role=status]")).to_contain_text("Step 40:", timeout=MILLISECONDS)
    expect_distribution(panel, strong, text_of(panel), top_p=0.9)
    long = "O Romeo, " * 20
    panel.get_by_label("Prompt").fill(long)
    panel.get_by_label("Model").select_option("gpt_chars")
    expect(panel).to_contain_text("The model reads all 128 characters; at most 128 fit.")
    expect(panel.get_by_label("Prompt")).to_have_value(long[:128])


def test_without_the_strong_model_the_small_one_goes_on(visit: Visitor):
    opened = visit(PAGE, missing=["**/gpt_plays.safetensors*"])
    panel = open_applet(opened, "generation")
    panel.get_by_role("button", name="Greedy").click()
    text = text_of(panel)
    panel.get_by_label("Model").select_option("gpt_plays")
    expect(panel.get_by_role("alert")).to_contain_text("gpt_plays.safetensors could not be loaded")
    expect(panel.get_by_label("Model")).to_have_value("gpt_chars")
    assert text_of(panel) == text


def test_every_way_to_choose_by_mouse(visit: Visitor, gpt: tuple[Any, Any]):
    panel = open_applet(visit(PAGE), "generation")
    press = lambda name: panel.get_by_role("button", name=name, exact=True).click()  # noqa: E731
    chosen = panel.locator(".candidates .next .bar-token").inner_text()
    press("Step")
    assert text_of(panel) == PROMPT + chosen.replace("␣", " ").replace("↵", "\n")
    expect(panel.locator("[role=status]")).to_contain_text("Step 1:")
    press("Undo")
    assert text_of(panel) == PROMPT
    press("Greedy")
    best = gpt[1].tokens[int(scores(gpt, PROMPT).argmax())]
    assert text_of(panel) == PROMPT + best
    third = panel.locator(".candidates button").nth(2)
    letter = third.locator(".bar-token").inner_text().replace("␣", " ")
    third.click()
    assert text_of(panel) == PROMPT + best + letter
    panel.locator("details summary").click()
    assert "you" in panel.locator("tbody tr").first.inner_text()
    assert panel.locator("tbody tr td:nth-child(5)").first.inner_text() == "3"
    press("Run 40")
    expect(panel.locator("[role=status]")).to_contain_text("Step 42:", timeout=MILLISECONDS)
    text = text_of(panel)
    assert len(text) == len(PROMPT) + 42
    with torch.no_grad():
        log_probs = gpt[0](gpt[1].encode(text)[None])[0, :-1].double()
    log_probs[:, list(gpt[1].special_ids)] = -math.inf
    written = gpt[1].encode(text)[len(PROMPT) :]
    costs = -log_probs.log_softmax(dim=-1)[len(PROMPT) - 1 :].gather(1, written[:, None])
    mean = costs.mean().item() / math.log(2)
    expect(panel.locator("summary")).to_have_text(f"The path: 42 characters, mean {mean:.2f} bits")
    press("Start over")
    assert text_of(panel) == PROMPT
    expect(panel.get_by_role("button", name="Undo")).to_be_disabled()


def test_by_keyboard_alone(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "generation", by_keyboard=True)
    keyboard = opened.page.keyboard
    keyboard.press("Control+a")
    keyboard.type("HAMLET:")
    keyboard.press("Tab")
    keyboard.press("Home")
    expect(panel.get_by_label("Temperature")).to_have_attribute("aria-valuetext", "0.1")
    for _ in range(50):
        keyboard.press("Tab")
        if focused_text(opened.page) == "Step":
            break
    keyboard.press("Enter")
    assert text_of(panel) == "HAMLET:\n"
    for _ in range(20):
        keyboard.press("Tab")
        if "→" in focused_text(opened.page):
            break
    keyboard.press("ArrowDown")
    second = focused_text(opened.page)
    keyboard.press("Enter")
    assert len(text_of(panel)) == len("HAMLET:\n") + 1
    assert text_of(panel)[-1] == second.split(",")[0].removeprefix("capital ")
    assert "→" in focused_text(opened.page), "the focus stays on the candidates"


def test_the_seed_decides_and_the_sliders_move_the_shares(visit: Visitor):
    panel = open_applet(visit(PAGE, reduced_motion=True), "generation")
    sentence = panel.get_by_text(re.compile("The seed's number for step 1"))
    number = re.search(r"is (0\.\d+)", sentence.inner_text())[1]
    line = panel.locator(".line")
    widths = line.locator("span").evaluate_all("all => all.map((one) => one.style.flexGrow)")
    panel.get_by_label("Temperature").fill("2")
    expect(sentence).to_contain_text(number)
    assert widths != line.locator("span").evaluate_all("all => all.map((o) => o.style.flexGrow)")
    texts = []
    for seed in ("7", "8", "7"):
        panel.get_by_label("Seed").fill(seed)
        panel.get_by_role("button", name="Start over").click()
        panel.get_by_role("button", name="Run 40").click()
        expect(panel.locator("[role=status]")).to_contain_text("Step 40:")
        texts.append(text_of(panel))
    assert texts[0] == texts[2] != texts[1]


def test_a_drawn_number_falls_into_each_part_as_often_as_it_is_long(visit: Visitor):
    found = with_modules(visit(PAGE)).evaluate(
        """async (probs) => {
          const { fallsInto, layOut, numberOfStep } = await use("engine/writing");
          const parts = layOut(probs);
          const numberOf = numberOfStep(3);
          const counts = probs.map(() => 0);
          for (let n = 0; n < 20000; n++) counts[fallsInto(parts, numberOf(n)).id] += 1;
          const same = numberOfStep(3);
          return { parts, counts, again: [5, 0, 5].map(same), first: [0, 5].map(numberOf) };
        }""",
        probs := [0.1, 0.0, 0.6, 0.05, 0.25],
    )
    assert [part["id"] for part in found["parts"]] == [2, 4, 0, 3]
    assert found["parts"][-1]["to"] == pytest.approx(1)
    for count, p in zip(found["counts"], probs, strict=True):
        assert abs(count - 20_000 * p) <= 4 * math.sqrt(20_000 * p * (1 - p))
    assert found["again"] == [found["first"][i] for i in (1, 0, 1)]


WRITER = """const { Writer } = await use("engine/writing");
const { getModel } = await use("ui/files");
const { best } = await use("engine/sampling");
const { model, tokenizer } = await getModel("gpt_chars");
const start = (text) => new Writer(model, tokenizer.encode(text), tokenizer.specials.length);
const greedy = (writer) => writer.add(best(writer.probs, 1)[0].id);
const state = ({ logits, cache, path, ids }) => JSON.stringify([
  ids, path.map(({ id }) => id), [...logits], cache.map(({ length, keys, values }) =>
    [length, keys.shape, [...keys.data], [...values.data]])]);
"""


def test_greedy_text_is_that_of_generate_beyond_the_context(visit: Visitor, gpt: tuple[Any, Any]):
    """300 characters: the context of 128 overflows, and slides three times."""
    got = with_modules(visit(PAGE)).evaluate(
        f"""async (prompt) => {{ {WRITER}
          const writer = start(prompt);
          for (let n = 0; n < 300; n++) greedy(writer);
          return {{ ids: writer.ids, nForgotten: writer.nForgotten, read: writer.cache[0].length }};
        }}""",
        PROMPT,
    )
    model, tokenizer = gpt
    expected = generate(model, tokenizer.encode(PROMPT)[None], 300, Sampling(greedy=True))[
        0
    ].tolist()
    assert got["ids"] == expected
    assert got["nForgotten"] + got["read"] == len(expected)
    assert got["read"] <= model.config.max_len == 128


def test_the_context_begins_where_generate_lets_it_begin(visit: Visitor):
    limits = [1, 2, 3, 7, 64, 128]
    got = with_modules(visit(PAGE)).evaluate(
        """async (limits) => {
          const { contextStart } = await use("engine/writing");
          return limits.map((limit) => Array.from({ length: 400 }, (_, i) =>
            contextStart(i + 1, limit)));
        }""",
        limits,
    )
    for limit, starts in zip(limits, got, strict=True):
        start = 0
        for end, found in enumerate(starts, start=1):
            if end - start > limit:  # the rule of pretrain.generation
                start = end - limit // 2 - limit % 2
            assert found == start, (limit, end)


@pytest.mark.parametrize("length", [20, 123])
def test_undo_restores_cache_and_distribution_exactly(visit: Visitor, length: int):
    """Bit for bit, also over the step at which the context slides (from 123 on)."""
    found = with_modules(visit(PAGE)).evaluate(
        f"""async (text) => {{ {WRITER}
          const writer = start(text);
          const seen = [state(writer)];
          for (let n = 0; n < 12; n++) {{ greedy(writer); seen.push(state(writer)); }}
          const equal = [];
          for (let n = 11; n >= 4; n--) {{ writer.undo(); equal.push(state(writer) === seen[n]); }}
          for (let n = 5; n <= 12; n++) {{ greedy(writer); equal.push(state(writer) === seen[n]); }}
          const fresh = start(tokenizer.decode(writer.ids).slice(writer.nForgotten));
          equal.push(JSON.stringify([...fresh.logits]) === JSON.stringify([...writer.logits]));
          for (let n = 0; n < 20; n++) writer.undo();
          equal.push(state(writer) === seen[0]);
          return {{ equal, nForgotten: start(text + "a".repeat(5)).nForgotten,
            distinct: new Set(seen).size }};
        }}""",
        ("To be, or not to be, that is the question: " * 4)[:length],
    )
    assert found["distinct"] == 13
    assert found["equal"] == [True] * 18


def test_a_full_context_is_told(visit: Visitor):
    panel = open_applet(visit(PAGE, reduced_motion=True), "generation")
    panel.get_by_label("Prompt").fill("a" * 100)
    expect(panel).to_contain_text("The model reads all 100 characters; at most 128 fit.")
    panel.get_by_role("button", name="Run 40").click()
    expect(panel).to_contain_text("the first 65, in italics, are forgotten. It now reads 75.")
    assert panel.locator(".written .forgotten").count() == 65


def test_a_prompt_that_cannot_be_read_is_refused_in_words(visit: Visitor):
    panel = open_applet(visit(PAGE), "generation")
    panel.get_by_label("Prompt").fill("100 %")
    expect(panel.get_by_role("alert")).to_contain_text("knows no 1 0 %")
    panel.get_by_label("Prompt").fill("")
    expect(panel.get_by_role("alert")).to_contain_text("at least one character")
    expect(panel.get_by_role("button", name="Step")).to_be_hidden()
    panel.get_by_label("Prompt").fill("Go")
    expect(panel.get_by_role("alert")).to_be_empty()
    panel.get_by_role("button", name="Greedy").click()
    assert len(text_of(panel)) == 3


def test_a_cache_cannot_be_cut_to_more_than_it_holds(visit: Visitor):
    message = with_modules(visit(PAGE)).evaluate(
        """async () => {
          const { KeyValueCache } = await use("engine/attention");
          const cache = new KeyValueCache();
          const row = () => ({ data: new Float32Array([1, 2]), shape: [1, 2] });
          cache.append(row(), row());
          try { cache.cut(2); } catch (error) { return error.message; }
          return null;
        }"""
    )
    assert message == "expected to keep 0 to 1 tokens, got 2"


def test_a_missing_model_gives_the_message(visit: Visitor):
    expect_message_without(visit, PAGE, "generation", "**/*.safetensors*")


def test_without_scripts_the_recorded_texts_stay(visit: Visitor):
    applet = visit(PAGE, javascript=False).page.locator("pt-generation")
    expect(applet.locator("table")).to_contain_text("top-p, p = 0.9")
    expect(applet.get_by_text("Recorded texts of the book")).to_be_visible()


def test_the_folder_of_models_is_where_the_page_says(visit: Visitor, html: Path):
    applet = visit(PAGE).page.locator("pt-generation")
    files = html / "_static" / "applets" / "models"
    small, strong = (
        (files / f"{name}.safetensors.gz").stat().st_size / 1000
        for name in ("gpt_chars", "gpt_plays")
    )
    assert applet.get_attribute("data-size") == f"loads {round(small)} kB"
    assert json.loads(applet.get_attribute("data-more")) == {"gpt_plays": f"{strong / 1000:.1f} MB"}
