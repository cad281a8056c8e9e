# SPDX-License-Identifier: MIT
"""The first page answers at once from the stored file, and then by the models themselves."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect
from visiting import Visit, Visitor

from book_pages.directives.front_page import ANSWERS

PAGE = "chapters/index.html"
MILLISECONDS = 60_000  # a machine under load is slow; no test asserts a time
RUN = """async ([name, text, hidden, typed]) => {
  globalThis.ptBook = { root: new URL("./", location).href, version: "" };
  const { getFile } = await import("./ui/files.mjs");
  const { readModel } = await import("./engine/checkpoint.mjs");
  const { askGaps } = await import("./engine/word-gaps.mjs");
  return askGaps(readModel(await getFile(`contest_${name}.safetensors`)), text, hidden, typed);
}"""


@pytest.fixture(scope="module")
def stored(repository: Path) -> dict:
    """What the page has from the start."""
    return json.loads((repository / ANSWERS).read_text("utf-8"))


def opened(visit: Visitor, **window: object) -> Visit:
    """Open the page and wait until its words can be pressed."""
    seen = visit(PAGE, **window)
    expect(seen.page.locator("button.word").first).to_be_visible(timeout=MILLISECONDS)
    return seen


def question(seen: Visit, model: str) -> Locator:
    """Find the line of a model."""
    return seen.page.locator(f".question.{model}")


def guesses(found: Locator) -> list[str]:
    """Read the first list of guesses."""
    return found.locator(".guesses").first.locator("li > span:first-child").all_text_contents()


def words(answer: str) -> list[str]:
    """Read the five likeliest of a stored answer."""
    return [one.split()[0] for one in answer.split(", ")[:5]]


def models_asked(seen: Visit) -> list[str]:
    """List the models that were fetched."""
    return re.findall(r"contest_(\w+)\.safetensors", " ".join(seen.asked))


def test_every_word_of_the_line_is_answered_from_the_file(visit: Visitor, stored: dict):
    seen = opened(visit, missing=["**/*.safetensors.gz*"])
    for model in ("gpt", "bert"):
        line = question(seen, model)
        for number in (0, 3, 9):
            line.locator(f"[data-number='{number}']").click()
            expected = words(stored["answers"][model][str(number)][0])
            assert [one.rstrip("…") for one in guesses(line)] == expected
    for failure in seen.failures:
        assert "safetensors" in failure.text
    seen.failures.clear()
    seen.errors.clear()


def test_no_model_is_fetched_before_a_touch(visit: Visitor):
    seen = opened(visit)
    seen.page.wait_for_load_state("networkidle")
    assert models_asked(seen) == []
    question(seen, "gpt").locator("[data-number='2']").click()
    for _ in range(MILLISECONDS // 100):  # the worker asks, in its own time
        if len(set(models_asked(seen))) == 3:
            break
        seen.page.wait_for_timeout(100)
    assert sorted(set(models_asked(seen))) == ["bert", "gpt", "t5"]


def test_gpt_sees_nothing_behind_its_gap_and_bert_all(visit: Visitor):
    seen = opened(visit)
    for model, n_dark in (("gpt", 6), ("bert", 0)):
        line = question(seen, model)
        line.locator("[data-number='3']").click()
        expect(line.locator("button.is-dark")).to_have_count(n_dark)
        expect(line.locator("input.gap")).to_be_focused()


def test_t5_has_two_gaps_and_neighbours_are_one(visit: Visitor, stored: dict):
    seen = opened(visit)
    line = question(seen, "t5")
    expect(line.locator("input.gap")).to_have_count(2)
    line.locator("[data-number='7']").click()
    line.locator("[data-number='8']").click()
    expect(line.locator("input.gap")).to_have_count(1)
    assert guesses(line) == words(stored["answers"]["t5"]["7 8"][0])


def test_a_word_of_the_readers_own_gets_its_share(visit: Visitor, stored: dict):
    seen = opened(visit)
    line = question(seen, "gpt")
    known = stored["answers"]["gpt"]["8"][0].split(", ")[1].split()
    line.locator("input.gap").fill(known[0])
    expect(line.locator(".question-said")).to_have_text(f"“{known[0]}”: {float(known[1]):.1f} %.")
    line.locator("input.gap").fill("dagger")  # a word of several pieces: the model is asked
    said = line.locator(".question-said")
    expect(said).to_have_text(re.compile("“dagger”: .*%"), timeout=MILLISECONDS)


def test_a_line_of_the_readers_own_is_asked_of_all_three(visit: Visitor, stored: dict):
    seen = opened(visit)
    before = guesses(question(seen, "bert"))
    own = seen.page.get_by_label("Your own line")
    own.fill("Where is my lord the <king>? & I")
    for model in ("gpt", "bert", "t5"):
        line = question(seen, model)
        expect(line).to_contain_text("Where")
        expect(line).not_to_have_attribute("aria-busy", "true", timeout=MILLISECONDS)
        assert len(guesses(line)) == 5
    assert guesses(question(seen, "bert")) != before
    own.fill("")
    expect(question(seen, "bert")).to_contain_text("still.")
    assert guesses(question(seen, "bert")) == before


def test_what_no_model_can_read_is_left_out_and_said(visit: Visitor):
    seen = opened(visit)
    own = seen.page.get_by_label("Your own line")
    note = seen.page.locator(".questions-own [role=status]")
    own.fill("I have 3 lords and 1 king, 漢")
    expect(note).to_have_text("Left out, as no model here has read it: 3 1 漢")
    bert = question(seen, "bert")
    expect(bert).to_contain_text("have")
    assert "3" not in bert.locator(".question-line").inner_text()
    for text in ("12345", "👩‍👩‍👧", "king"):
        own.fill(text)
        expect(note).to_have_text("Write two words or more, in letters from a to z.")
        expect(bert).to_contain_text("still.")
    own.fill("")
    expect(note).to_have_text(re.compile("^Press any word"))


@pytest.mark.parametrize("model", ["gpt", "bert", "t5"])
def test_the_page_computes_what_python_stored(visit: Visitor, model: str, stored: dict):
    page = visit("_static/applets/start.js").page
    start = " ".join(map(str, stored["start"][model]))
    for key in {start, "0", "4", "9"} | ({"7 8", "3 4"} if model == "t5" else set()):
        found = page.evaluate(RUN, [model, stored["text"], list(map(int, key.split())), []])
        for gap, answer in zip(found, stored["answers"][model][key], strict=True):
            expected = dict(one.split() for one in answer.split(", "))
            for guess in gap["guesses"]:
                assert 100 * guess["share"] == pytest.approx(
                    float(expected[guess["word"]]), abs=0.2
                )


def test_without_scripts_the_stored_answers_stand_there(visit: Visitor):
    page = visit(PAGE, javascript=False).page
    expect(page.locator(".question .gap")).to_have_count(4)
    expect(page.locator(".guesses li")).to_have_count(20)
    assert page.locator("button.word, .questions-own input").count() == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_coming_alive_moves_nothing(visit: Visitor, width: int):
    seen = visit(PAGE, width=width)
    expect(seen.page.locator("button.word").first).to_be_visible(timeout=MILLISECONDS)
    seen.page.wait_for_load_state("networkidle")
    shifts = seen.page.evaluate("window.layoutShifts")
    assert sum(one["score"] for one in shifts) <= 0.05, shifts
