# SPDX-License-Identifier: MIT
"""The time machines: stored weights give in the page what they give in PyTorch, look by look."""

import json
import re
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
from panels import fits, with_modules
from playwright.sync_api import Locator, expect
from visiting import Visit, Visitor

from pretrain.evaluation import cloze_log_probs
from pretrain_lab.checkpoints import load_quantized
from pretrain_lab.paths import CHECKPOINTS, data_file

PAGES = {name: applet_page("time-machine", f"model={name}") for name in ("gpt", "bert")}
RECORD = json.loads(data_file("runs", "time_machine.json").read_text(encoding="utf-8"))
LINE = RECORD["line"]
pytestmark = pytest.mark.applet


def steps(kind: str) -> list[int]:
    """List the recorded steps."""
    return [look["step"] for look in RECORD[kind]["looks"]]


def load(kind: str, step: int) -> tuple[Any, Any]:
    """Load the stored weights of a look in PyTorch."""
    model, tokenizer, found = load_quantized(
        CHECKPOINTS / "time_machine" / f"{kind}_{step:05d}.safetensors"
    )
    assert found == step
    return model, tokenizer


def wait_for(panel: Locator, kind: str, step: int) -> None:
    """Wait until the look of a step is shown, with its recorded loss."""
    bits = next(look["bits"] for look in RECORD[kind]["looks"] if look["step"] == step)
    unit = {"gpt": "character", "bert": "gap"}[kind]
    told = f"After {step:,} steps: {bits:.2f} bits per {unit} of unseen plays."
    expect(panel.locator("[role=status]").first).to_have_text(told, timeout=MILLISECONDS)


def open_machine(visit: Visitor, kind: str, **how: Any) -> tuple[Visit, Locator]:
    """Open a time machine for a reader who wants no motion: it stands at the last look."""
    opened = visit(PAGES[kind], reduced_motion=True, **how)
    panel = open_applet(opened, "time-machine")
    wait_for(panel, kind, steps(kind)[-1])
    return opened, panel


def written(panel: Locator) -> str:
    """Read the text that is drawn by the seed, once the model has answered."""
    expect(panel).not_to_have_attribute("aria-busy", "true", timeout=MILLISECONDS)
    text: str = panel.locator("pre").first.evaluate("one => one.textContent")
    return text


def read_aloud(text: str) -> str:
    """Write what the page shows as the characters that it means."""
    return text.replace("␣", " ").replace("↵", "\n")


def asked_files(visit: Visit) -> list[str]:
    """List which stored weights were fetched, in order."""
    return [
        address.split("time_machine/")[1].split(".")[0]
        for address in visit.asked
        if "/time_machine/" in address
    ]


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_scores_of_every_stored_look_are_those_of_pytorch(visit: Visitor, kind: str):
    got = with_modules(visit(PAGES[kind])).evaluate(
        """async ([kind, steps, text]) => {
          const { getModel } = await use("ui/files");
          const found = [];
          for (const step of steps) {
            const name = `time_machine/${kind}_${String(step).padStart(5, "0")}`;
            const { model, tokenizer, metadata } = await getModel(name);
            const { data, shape } = model.forward(tokenizer.encode(text));
            found.push({ step: Number(metadata.step), shape, logits: [...data] });
          }
          return found;
        }""",
        [kind, steps(kind), LINE],
    )
    assert [one["step"] for one in got] == steps(kind)
    for one in got:
        model, tokenizer = load(kind, one["step"])
        with torch.no_grad():
            expected = model(tokenizer.encode(LINE)[None])[0]
        logits = torch.tensor(one["logits"]).view(one["shape"])
        assert (logits - expected).abs().max() < 1e-4, one["step"]
        assert torch.equal(logits.argmax(dim=-1), expected.argmax(dim=-1))


def write_greedily(model: Any, tokenizer: Any, prompt: str) -> str:
    """Write the likeliest characters, never a special token."""
    ids = tokenizer.encode(prompt)[None]
    n_special = len(tokenizer.special_ids)
    for _ in range(RECORD["text_len"]):
        with torch.no_grad():
            logits = model(ids)[0, -1]
        logits[:n_special] = -torch.inf
        ids = torch.cat([ids, logits.argmax()[None, None]], dim=1)
    text: str = tokenizer.decode(ids[0, len(prompt) :])
    return text


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_gpt_travels_and_writes(visit: Visitor, width: int, theme: str):
    opened, panel = open_machine(visit, "gpt", width=width, theme=theme)
    scrubber = panel.get_by_label("Training step")
    for index in (0, 3, 7):
        step = steps("gpt")[index]
        scrubber.fill(str(index))
        wait_for(panel, "gpt", step)
        greedy = panel.locator("pre").nth(1).evaluate("one => one.textContent")
        assert greedy == write_greedily(*load("gpt", step), RECORD["prompt"])
        marked = f"marked: {RECORD['gpt']['looks'][index]['bits']:.2f} at step {step}"
        expect(panel.locator("svg")).to_have_attribute("aria-label", re.compile(marked))
    assert fits(opened)
    assert axe_complaints(opened.page, "pt-time-machine") == []


def test_special_tokens_are_never_written(visit: Visitor):
    """At the first look a special token is sometimes the likeliest, and is drawn."""
    page = with_modules(visit(PAGES["gpt"]))
    written = page.evaluate(
        """async ([files, text]) => {
          const { writeText } = await use("time-machine");
          const { getModel } = await use("ui/files");
          const found = [];
          for (const file of files) {
            const { model, tokenizer } = await getModel(file);
            const nSpecial = tokenizer.specials.length;
            const first = (probs) => { // the likeliest of the special ones, were it allowed
              const p = [...probs];
              if (p.slice(0, nSpecial).some((one) => one > 0)) return 0;
              return p.indexOf(Math.max(...p));
            };
            found.push(...writeText(model, tokenizer.encode(text), 20, nSpecial, first)
              .map((id) => id >= nSpecial));
          }
          return found;
        }""",
        [[f"time_machine/gpt_{step:05d}" for step in steps("gpt")[:2]], "\n\n"],
    )
    assert len(written) == 40
    assert all(written)


@pytest.mark.parametrize(("width", "theme"), SIZES_AND_THEMES)
def test_bert_travels_and_guesses(visit: Visitor, width: int, theme: str):
    opened, panel = open_machine(visit, "bert", width=width, theme=theme)
    for index in (0, 2, 6):
        step = steps("bert")[index]
        panel.get_by_label("Training step").fill(str(index))
        wait_for(panel, "bert", step)
        model, tokenizer = load("bert", step)
        lists = panel.locator(".bars")
        expect(lists).to_have_count(len(RECORD["places"]))
        for n, place in enumerate(RECORD["places"]):
            log_probs = cloze_log_probs(
                model, tokenizer.encode(LINE)[None], torch.tensor([place]),
                mask_id=tokenizer.mask_id,
            )  # fmt: skip
            best = int(log_probs[0].argmax())
            first = lists.nth(n).locator("li").first
            assert read_aloud(first.locator(".bar-token").inner_text()) == tokenizer.tokens[best]
            share = float(first.locator(".bar-number").inner_text().split(" %")[0])
            assert share == pytest.approx(100 * log_probs[0, best].exp().item(), abs=0.6)
    assert fits(opened)
    assert axe_complaints(opened.page, "pt-time-machine") == []


def test_files_come_one_at_a_time_and_each_once(visit: Visitor):
    opened = visit(PAGES["gpt"], reduced_motion=True)
    panel = open_applet(opened, "time-machine")
    wait_for(panel, "gpt", 1500)
    assert asked_files(opened) == ["gpt_00000", "gpt_01500"]
    for index, step in ((1, 50), (2, 150), (1, 50), (2, 150)):
        panel.get_by_label("Training step").fill(str(index))
        wait_for(panel, "gpt", step)
    assert asked_files(opened) == ["gpt_00000", "gpt_01500", "gpt_00050", "gpt_00150"]
    panel.get_by_text("How the looks are stored").click()
    expect(panel).to_contain_text("4 of its 8 looks are loaded")


def test_it_plays_by_itself_once(visit: Visitor):
    opened = visit(PAGES["bert"])
    panel = open_applet(opened, "time-machine")
    panel.scroll_into_view_if_needed()
    wait_for(panel, "bert", 50)
    expect(panel.get_by_role("button", name="Pause")).to_be_visible()
    wait_for(panel, "bert", steps("bert")[-1])
    expect(panel.get_by_role("button", name="Play")).to_be_visible()
    opened.page.wait_for_timeout(1500)
    wait_for(panel, "bert", steps("bert")[-1])


def test_play_walks_to_the_end_and_pauses(visit: Visitor):
    _, panel = open_machine(visit, "bert")
    panel.get_by_role("button", name="Play").click()
    wait_for(panel, "bert", 0)
    wait_for(panel, "bert", 50)
    panel.get_by_role("button", name="Pause").click()
    expect(panel.get_by_role("button", name="Play")).to_be_visible()
    panel.get_by_label("Training step").fill("5")
    wait_for(panel, "bert", 800)
    panel.get_by_role("button", name="Play").click()
    wait_for(panel, "bert", 1200)
    expect(panel.get_by_role("button", name="Play")).to_be_visible()


def test_the_curve_is_dragged(visit: Visitor):
    opened, panel = open_machine(visit, "gpt")
    curve = panel.locator("svg.curve")
    curve.scroll_into_view_if_needed()
    box = curve.bounding_box()
    middle = box["y"] + box["height"] / 2
    opened.page.mouse.move(box["x"] + box["width"] - 2, middle)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 4, middle, steps=3)
    opened.page.mouse.up()
    wait_for(panel, "gpt", 0)
    expect(panel.get_by_label("Training step")).to_have_value("0")


def test_by_keyboard_alone(visit: Visitor):
    opened, panel = open_machine(visit, "bert")
    keyboard = opened.page.keyboard
    panel.get_by_role("button", name="Play").focus()
    keyboard.press("Tab")
    keyboard.press("Home")
    wait_for(panel, "bert", 0)
    keyboard.press("ArrowRight")
    wait_for(panel, "bert", 50)
    keyboard.press("Tab")
    keyboard.press("Control+a")
    keyboard.type("My lord, go.")
    keyboard.press("Tab")
    assert focused_text(opened.page).startswith("Place 1, capital M")
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    expect(panel.locator(".bars")).to_have_count(1)
    for _ in range(10):
        keyboard.press("Tab")
        if focused_text(opened.page).startswith("place 1, "):
            break
    before = panel.get_by_text("looks most at").inner_text()
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    assert panel.get_by_text("looks most at").inner_text() != before


def test_what_bert_shows_all_follows_the_typed_text(visit: Visitor):
    """Letters, guesses and attention are those of the same text; what is unknown is struck out."""
    _, panel = open_machine(visit, "bert")
    n_marks = panel.locator(".sentence .token[aria-pressed=true]").count()
    field = panel.get_by_label("Your sentence")
    field.press("End")
    field.press_sequentially(" ä9")
    expect(panel.locator(".sentence .unread")).to_have_count(2)
    assert panel.locator(".sentence .token[aria-pressed=true]").count() == n_marks, "marks stay"
    expect(panel).not_to_have_attribute("aria-busy", "true")
    read = "".join(panel.locator(".looked .token").all_inner_texts())
    assert (
        read
        == "↵"
        + "".join(
            "▢" if place == RECORD["places"][0] else c
            for place, c in enumerate(LINE.strip() + " ", start=1)
        ).replace(" ", "␣")
        + "↵"
    )
    field.fill("")
    expect(panel).to_contain_text("There is nothing to read: type a few words.")
    expect(panel.locator("canvas")).to_be_hidden()


def test_the_head_that_is_shown_first_is_the_one_that_learned(visit: Visitor):
    for kind in ("gpt", "bert"):
        _, panel = open_machine(visit, kind)
        shown = json.loads(data_file("applets", "time_machine.json").read_text("utf-8"))["heads"]
        layer, head = shown[kind]["layer"], shown[kind]["head"]
        expect(panel.get_by_role("combobox", name="Head")).to_have_value(f"{layer} {head}")
        before, after = (f"{100 * share:.0f}" for share in shown[kind]["shares"])
        expect(panel).to_contain_text(
            re.compile(rf"1 to the left grew from {before}(\.\d)? % to {after} %")
        )


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_attention_is_that_of_the_weights(visit: Visitor, kind: str):
    """The sentence that is told names the true three largest weights of a chosen head."""
    _, panel = open_machine(visit, kind)
    panel.get_by_label("Training step").fill("4")
    wait_for(panel, kind, steps(kind)[4])
    panel.get_by_role("combobox", name="Head").select_option("1 2")
    model, tokenizer = load(kind, steps(kind)[4])
    ids = tokenizer.encode(LINE if kind == "bert" else LINE.rstrip("\n"))
    if kind == "bert":
        ids[RECORD["places"][0]] = tokenizer.mask_id
    weights = head_weights(model, ids, layer=1, head=2)
    place = RECORD["places"][2]
    expected = weights[place].topk(3)
    told = panel.get_by_text("looks most at").inner_text()
    assert told.startswith(f"Place {place + 1}, “g”, looks most at ")
    for s, weight in zip(expected.indices.tolist(), expected.values.tolist(), strict=True):
        assert f"at {s + 1} ({weight:.2f})" in told


def head_weights(model: Any, ids: torch.Tensor, *, layer: int, head: int) -> torch.Tensor:
    """Compute a head's weights (T, T) from its queries and keys."""
    seen: list[torch.Tensor] = []
    attention = model.blocks[layer].attention
    hook = attention.qkv.register_forward_hook(lambda *call: seen.append(call[2].detach()))
    with torch.no_grad():
        model(ids[None])
    hook.remove()
    query, key, _ = seen[0][0].chunk(3, dim=-1)
    width = query.shape[-1] // model.config.n_heads
    part = slice(head * width, (head + 1) * width)
    scores = query[:, part] @ key[:, part].T / width**0.5
    if type(model).__name__ == "GPT":
        allowed = torch.ones_like(scores, dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    return scores.softmax(dim=-1)


def test_the_seed_and_the_beginning_decide_the_drawn_text(visit: Visitor):
    _, panel = open_machine(visit, "gpt")
    texts = []
    for seed in ("1", "2", "1"):
        panel.get_by_label("Seed").fill(seed)
        texts.append(written(panel))
    assert texts[0] == texts[2] != texts[1]
    assert len(texts[0]) == RECORD["text_len"]
    panel.get_by_label("Beginning of the text").fill("ROMEO:")
    assert written(panel).startswith("ROMEO:")
    panel.get_by_label("Beginning of the text").fill("10 KING")
    expect(panel.get_by_role("alert")).to_contain_text("Struck out: 1 0.")
    assert written(panel).startswith(" KING")
    panel.get_by_label("Beginning of the text").fill("")
    panel.get_by_label("It reads").fill("4 go")
    expect(panel.get_by_role("alert")).to_contain_text("Struck out: 4.")
    expect(panel.locator(".looked .token")).to_have_text(["↵", "␣", "g", "o"])


def test_an_answer_that_a_later_letter_made_old_is_never_shown(visit: Visitor):
    """The model is asked in pieces; what a later letter made old is never shown."""
    _, panel = open_machine(visit, "gpt")
    panel.locator("pre").first.evaluate(
        """(pre) => { globalThis.shown = [];
          new MutationObserver(() => shown.push(pre.textContent)).observe(pre, { childList: true });
        }"""
    )
    panel.get_by_label("Beginning of the text").evaluate(
        """(field) => { for (const text of ["A", "AB", "ABC"]) {
          field.value = text;
          field.dispatchEvent(new Event("input"));
        } }"""
    )
    assert written(panel).startswith("ABC")
    shown = panel.page.evaluate("shown")
    assert [text[:3] for text in shown] == ["ABC"]


def test_a_look_that_cannot_be_had_is_told_and_the_last_one_stays(visit: Visitor):
    opened = visit(PAGES["gpt"], missing=["**/gpt_00150.safetensors*"], reduced_motion=True)
    panel = open_applet(opened, "time-machine")
    wait_for(panel, "gpt", 1500)
    panel.get_by_label("Training step").fill("1")
    wait_for(panel, "gpt", 50)
    panel.get_by_label("Training step").fill("2")
    expect(panel.get_by_role("alert")).to_contain_text("could not be loaded", timeout=MILLISECONDS)
    wait_for(panel, "gpt", 50)
    expect(panel.get_by_label("Training step")).to_have_value("1")
    panel.get_by_label("Training step").fill("3")
    wait_for(panel, "gpt", 300)
    expect(panel.get_by_role("alert")).to_be_empty()


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_missing_files_give_the_message(visit: Visitor, kind: str):
    expect_message_without(visit, PAGES[kind], "time-machine", "**/time_machine*")


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_without_scripts_the_figure_stays(visit: Visitor, kind: str):
    applet = visit(PAGES[kind], javascript=False).page.locator("pt-time-machine")
    assert applet.get_attribute("data-model") == kind
    expect(applet.locator("figure svg").first).to_be_visible()
    expect(applet.get_by_text(re.compile(r"at each (look|checkpoint)\.")).first).to_be_visible()
