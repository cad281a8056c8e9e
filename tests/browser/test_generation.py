# SPDX-License-Identifier: MIT
"""GPT writes in the page as PyTorch does, shows what else could stand, and goes on from it."""

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
    find,
    focused_text,
    open_applet,
)
from axe import axe_complaints
from chapter_places import applet_page
from panels import fits, load_as_shipped, with_modules
from playwright.sync_api import Locator, expect
from visiting import Visit, Visitor

from pretrain.generation import Sampling, generate

PAGE = applet_page("generation")
OPENING = "JULIET:\nO Romeo, "
N_RUN = 200
pytestmark = pytest.mark.applet


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The strong GPT as the pages get it, and its tokeniser."""
    return load_as_shipped("gpt_plays", tmp_path_factory.mktemp("models"))


def scores(gpt: tuple[Any, Any], text: str) -> torch.Tensor:
    """Score the next character, float64 (V,); special tokens cannot be written."""
    model, tokenizer = gpt
    with torch.no_grad():
        logits = model(tokenizer.encode(text)[None])[0, -1].double()
    logits[list(tokenizer.special_ids)] = -math.inf
    return logits


def opened_still(visit: Visitor, **options: Any) -> tuple[Visit, Locator]:
    """Open the applet for a reader who wants no motion: the text is finished at once."""
    opened = visit(PAGE, reduced_motion=True, **options)
    panel = open_applet(opened, "generation")
    expect_written(panel, N_RUN)
    return opened, panel


def expect_written(panel: Locator, n: int) -> None:
    expect(panel.locator(".written .new")).to_have_count(n, timeout=MILLISECONDS)
    expect(panel).not_to_have_attribute("aria-busy", "true")


def rows(panel: Locator) -> dict[str, float]:
    """Read the candidates: character and percentage that is drawn from."""
    found = {}
    for line in panel.locator(".candidates button").all_inner_texts():
        parts = re.fullmatch(r"(\S)\s*(?:(?:< )?([\d.]+) %|cut off)", line.strip())
        assert parts, line
        found[{"␣": " ", "↵": "\n"}.get(parts[1], parts[1])] = float(parts[2] or 0)
    return found


def expect_distribution(panel: Locator, gpt: tuple[Any, Any], text: str, **cuts: Any) -> None:
    """Compare the candidates with PyTorch, after temperature and cuts."""
    logits = scores(gpt, text)
    after = 100 * Sampling(**cuts).distribution(logits)
    shown = rows(panel)
    likeliest = [gpt[1].tokens[i] for i in logits.topk(5).indices]
    assert list(shown)[:5] == likeliest
    for token, found in shown.items():
        assert found == pytest.approx(after[gpt[1].ids[token]].item(), abs=0.6), token


def text_of(panel: Locator) -> str:
    """Read the text so far; a line end has a character of its own in the opening alone."""
    found: str = panel.locator(".written").evaluate(
        """(one) => [...one.children].map((line) =>
          line.textContent.replace(/\\n$/, "")).join("\\n")"""
    )
    return found


def start_with(panel: Locator, opening: str) -> None:
    """Type an opening: nothing is written behind it yet."""
    panel.get_by_label("Your opening").fill(opening)
    expect_written(panel, 0)


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_the_distribution_is_that_of_pytorch(
    visit: Visitor, gpt: tuple[Any, Any], width: int, theme: str
):
    opened, panel = opened_still(visit, width=width, theme=theme)
    start_with(panel, OPENING)
    expect_distribution(panel, gpt, OPENING, temperature=0.8)
    panel.get_by_label("Temperature").fill("1.6")
    panel.locator("summary").click()
    panel.get_by_label("Top-k").fill("4")
    expect_distribution(panel, gpt, OPENING, temperature=1.6, top_k=4)
    panel.get_by_role("button", name="One more").click()
    expect_written(panel, 1)
    assert fits(opened)
    assert axe_complaints(opened.page, "pt-generation") == []


def test_it_types_by_itself_once_and_can_be_paused(visit: Visitor):
    opened = visit(PAGE)
    panel = open_applet(opened, "generation")
    new = panel.locator(".written .new")
    expect(new.nth(5)).to_be_attached(timeout=MILLISECONDS)
    panel.get_by_role("button", name="Pause").click()
    n = new.count()
    opened.page.wait_for_timeout(300)
    assert new.count() == n < N_RUN
    panel.get_by_role("button", name="Write on").click()
    expect(new.nth(n)).to_be_attached()
    panel.get_by_role("button", name="Restart").click()
    expect_written(panel, 0)
    opened.page.wait_for_timeout(300)
    assert new.count() == 0, "it writes by itself once"


def test_what_it_writes_is_drawn_from_the_models_distribution(visit: Visitor, gpt: tuple[Any, Any]):
    """The seed's numbers, laid against PyTorch's distribution, give the same text."""
    opened, panel = opened_still(visit)
    numbers = with_modules(opened).evaluate(
        """async (n) => {
          const numberOf = (await use("engine/writing")).numberOfStep(1);
          return Array.from({ length: n }, (_, i) => numberOf(i));
        }""",
        N_RUN,
    )
    written = text_of(panel)[len(OPENING) :]
    context, agreed = OPENING, 0
    for number, character in zip(numbers[:40], written, strict=False):
        probs = Sampling(temperature=0.8).distribution(scores(gpt, context))
        order = probs.argsort(descending=True, stable=True)
        place = int((probs[order].cumsum(0) <= number).sum())
        agreed += gpt[1].tokens[order[place]] == character
        context += character
    assert agreed >= 39, "at a border the last digit may decide"


def test_another_choice_takes_the_place_of_a_character(visit: Visitor, gpt: tuple[Any, Any]):
    _, panel = opened_still(visit)
    before = text_of(panel)
    panel.locator(".written .new").nth(9).hover()
    expect_distribution(panel, gpt, before[: len(OPENING) + 9], temperature=0.8)
    second = panel.locator(".candidates button:not(.next)").first
    letter = second.locator(".bar-token").inner_text().replace("␣", " ").replace("↵", "\n")
    second.click()
    expect_written(panel, 10)
    assert text_of(panel) == before[: len(OPENING) + 9] + letter
    expect(panel.get_by_text("You chose it; no number was drawn.")).to_be_visible()
    panel.get_by_role("button", name="Back").click()
    expect_written(panel, 9)
    panel.get_by_role("button", name="One more").click()
    expect_written(panel, 10)
    assert text_of(panel) == before[: len(OPENING) + 10], "the same number falls again"


def test_a_speaker_is_a_heading(visit: Visitor):
    _, panel = opened_still(visit)
    start_with(panel, "HAMLET:\nTo be, or not to be.\n\nFirst Clown:\n")
    expect(panel.locator(".speaker")).to_have_text(["HAMLET:", "First Clown:"])


def test_by_keyboard_alone(visit: Visitor):
    opened, panel = opened_still(visit)
    keyboard = opened.page.keyboard
    panel.locator(".written").focus()
    keyboard.press("Home")
    expect(panel.get_by_text("Character 1:")).to_be_attached()
    keyboard.press("ArrowRight")
    expect(panel.get_by_text("Character 2:")).to_be_attached()
    for _ in range(20):
        keyboard.press("Tab")
        if "%" in focused_text(opened.page):
            break
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect_written(panel, 2)


def test_the_seed_decides(visit: Visitor):
    _, panel = opened_still(visit)
    panel.locator("summary").click()
    texts = []
    for seed in ("7", "8", "7"):
        panel.get_by_label("Seed").fill(seed)
        panel.get_by_role("button", name="Restart").click()
        expect_written(panel, 0)
        panel.get_by_role("button", name="Write on").click()
        expect_written(panel, N_RUN)
        texts.append(text_of(panel))
    assert texts[0] == texts[2] != texts[1]


def test_the_small_model_takes_over(visit: Visitor, tmp_path: Path):
    _, panel = opened_still(visit)
    expect(panel.get_by_role("heading", name="A play by GPT")).to_contain_text("the strong model")
    panel.locator("summary").click()
    panel.get_by_label("Model").select_option("gpt_chars")
    expect(panel.get_by_label("Model")).to_be_enabled(timeout=MILLISECONDS)
    expect(panel.get_by_role("heading", name="A play by GPT")).to_contain_text("the small model")
    expect_written(panel, 0)
    small = load_as_shipped("gpt_chars", tmp_path)
    expect_distribution(panel, small, OPENING, temperature=0.8)


def test_without_the_small_model_the_strong_one_goes_on(visit: Visitor):
    _, panel = opened_still(visit, missing=["**/gpt_chars.safetensors*"])
    panel.locator("summary").click()
    panel.get_by_label("Model").select_option("gpt_chars")
    expect(panel.get_by_role("alert")).to_contain_text("gpt_chars.safetensors could not be loaded")
    expect(panel.get_by_label("Model")).to_have_value("gpt_plays")
    expect_written(panel, N_RUN)


def test_silly_openings_are_answered(visit: Visitor):
    _, panel = opened_still(visit)
    for opening, struck in (("I have 3 dogs 😀", ["3", "😀"]), ("", []), ("a" * 5000, [])):
        start_with(panel, opening)
        expect(panel.locator(".written s")).to_have_text(struck)
        panel.get_by_role("button", name="One more").click()
        expect_written(panel, 1)


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


READER = """const { Reader, Writer } = await use("engine/writing");
const { getModel } = await use("ui/files");
const { best } = await use("engine/sampling");
const { model, tokenizer } = await getModel("gpt_chars");
const start = (text, reader = new Reader(model)) => new Writer((ids) => reader.scores(ids),
  model.maxLength, tokenizer.encode(text), tokenizer.specials.length).read();
const greedy = (writer) => writer.add(best(writer.probs, 1)[0].id);
"""
PROMPT = "JULIET:\nO, what a"


def test_greedy_text_is_that_of_generate_beyond_the_context(visit: Visitor, tmp_path: Path):
    """300 characters: the context of 128 overflows, and slides three times."""
    got = with_modules(visit(PAGE)).evaluate(
        f"""async (prompt) => {{ {READER}
          const writer = await start(prompt);
          for (let n = 0; n < 300; n++) await greedy(writer);
          return {{ ids: writer.ids, nForgotten: writer.nForgotten }};
        }}""",
        PROMPT,
    )
    model, tokenizer = load_as_shipped("gpt_chars", tmp_path)
    expected = generate(model, tokenizer.encode(PROMPT)[None], 300, Sampling(greedy=True))[
        0
    ].tolist()
    assert got["ids"] == expected
    assert 0 < len(expected) - got["nForgotten"] <= model.config.max_len == 128


@pytest.mark.parametrize("length", [20, 123])
def test_going_back_restores_the_distribution_exactly(visit: Visitor, length: int):
    """Bit for bit, also over the step at which the context slides (from 123 on)."""
    found = with_modules(visit(PAGE)).evaluate(
        f"""async (text) => {{ {READER}
          const writer = await start(text);
          const seen = [String(writer.logits)];
          for (let n = 0; n < 12; n++) {{ await greedy(writer); seen.push(String(writer.logits)); }}
          writer.backTo(4);
          const equal = [String(writer.logits) === seen[4]];
          for (let n = 5; n <= 12; n++) {{
            await greedy(writer);
            equal.push(String(writer.logits) === seen[n]);
          }}
          const fresh = await start(tokenizer.decode(writer.ids).slice(writer.nForgotten));
          equal.push(String(fresh.logits) === String(writer.logits));
          writer.backTo(0);
          equal.push(String(writer.logits) === seen[0]);
          return {{ equal, distinct: new Set(seen).size }};
        }}""",
        ("To be, or not to be, that is the question: " * 4)[:length],
    )
    assert found["distinct"] == 13
    assert found["equal"] == [True] * 11


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


def test_without_scripts_a_text_stays(visit: Visitor):
    applet = find(visit(PAGE, javascript=False), "generation")
    expect(applet.locator("pre")).to_contain_text("JULIET:")
    expect(applet.get_by_text("A sample from the model.")).to_be_visible()


def test_the_folder_of_models_is_where_the_page_says(visit: Visitor, html: Path):
    applet = find(visit(PAGE), "generation")
    files = html / "_static" / "applets" / "models"
    small, strong = (
        (files / f"{name}.safetensors.gz").stat().st_size / 1000
        for name in ("gpt_chars", "gpt_plays")
    )
    assert applet.get_attribute("data-size") == f"loads {round(strong)} kB"
    assert json.loads(applet.get_attribute("data-more")) == {"gpt_chars": f"{small / 1000:.1f} MB"}
