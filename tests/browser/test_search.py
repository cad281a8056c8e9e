# SPDX-License-Identifier: MIT
"""The search leads to sections, as one types, from a server and from a disk."""

from pathlib import Path

import pytest
from axe import axe_complaints
from playwright.sync_api import Page, expect
from visiting import Visitor

pytestmark = pytest.mark.slow

DIALOG = "#pst-search-dialog"
FIRST = 3
"""Among how many results the right one must be."""
QUESTIONS = {
    "attention mask": "glossary.html#term-attention-mask",
    "span corruption": "06_t5.html#def-t5-spans",
    "LoRA": "09_fine_tuning.html#lora-from-scratch",
    "perplexity": "04_gpt.html#def-gpt-perplexity",
    "sentinel": "glossary.html#term-sentinel",
    "MLM": "05_bert.html#def-brt-mlm",
    "tokenizer": "03_tokens.html",
    "tokeniser": "03_tokens.html",
    "bert vs gpt": "07_worldview.html",
    "temperature": "04_gpt.html",
    "learning rate": "06_t5_behind.html#does-one-learning-rate-fit-t5",
    "causal mask": "02_transformer_toolkit.html",
    "[MASK]": "glossary.html#term-MASK",
    "KV cache": "glossary.html#term-KV-cache",
    "in context learning": "glossary.html#term-in-context-learning",
    "prefix LM": "glossary.html#term-prefix-LM",
    "pretraining": "01_revolution.html",
    "finetuning": "09_fine_tuning.html",
    "overfitting": "glossary.html#term-overfitting",
    "how many labels do I need": "08_advantage",
}


def ask(page: Page, question: str) -> list[str]:
    """Open the dialog, type, and list where the results lead."""
    if not page.locator(DIALOG).is_visible():
        page.keyboard.press("Control+k")
    page.locator(f"{DIALOG} input").fill(question)
    page.locator(f"{DIALOG} .search-list a").first.wait_for()
    expect(page.locator(f"{DIALOG} .search-count")).to_contain_text("result")
    return page.locator(f"{DIALOG} .search-list a").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('href').split('/').pop())"
    )


def test_questions_lead_to_their_sections(visit: Visitor):
    page = visit("chapters/01_revolution.html").page
    missed = {}
    for question, place in QUESTIONS.items():
        found = ask(page, question)[:FIRST]
        if not any(one.startswith(place) for one in found):
            missed[question] = found
    assert missed == {}, missed


def test_both_spellings_find_the_same(visit: Visitor):
    page = visit("chapters/01_revolution.html").page
    assert ask(page, "tokenizer") == ask(page, "tokeniser")
    assert ask(page, "language modeling") == ask(page, "language modelling")


def test_code_and_lists_of_contents_are_not_found(html: Path):
    index = (html / "_static" / "search-index.js").read_text(encoding="utf-8")
    assert "first_sentinel_id" not in index
    assert "Show the code" not in index
    assert not (html / "searchindex.js").exists()


def test_the_index_waits_for_the_reader(visit: Visitor):
    visited = visit("chapters/01_revolution.html")
    assert not any("search-index" in url for url in visited.asked)
    ask(visited.page, "mask")
    assert any("search-index" in url for url in visited.asked)


def test_results_come_as_one_types_in_groups_and_by_keys(visit: Visitor):
    page = visit("chapters/01_revolution.html").page
    ask(page, "perplex")
    groups = page.locator(f"{DIALOG} .search-list h2").all_inner_texts()
    assert len(groups) == len(set(groups)) > 1
    page.keyboard.press("ArrowDown")
    expect(page.locator(f"{DIALOG} .search-list a").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator(f"{DIALOG} input")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/*.html#*perplexity")


def test_nothing_found_is_said(visit: Visitor):
    page = visit("chapters/01_revolution.html").page
    ask(page, "mask")
    page.locator(f"{DIALOG} input").fill("xylophone")
    expect(page.locator(f"{DIALOG} .search-count")).to_have_text("0 results")


def test_the_page_of_the_search_answers_its_address(visit: Visitor):
    page = visit("search.html?q=perplexity").page
    expect(page.get_by_role("heading", name="Glossary")).to_be_visible()
    expect(page.locator("#search-results a").first).to_be_visible()


def test_it_works_from_a_disk(visit: Visitor, html: Path):
    page = visit((html / "chapters" / "05_bert.html").as_uri()).page
    assert "04_gpt.html#def-gpt-perplexity" in ask(page, "perplexity")[:FIRST]


def test_a_phone_has_the_field_in_its_drawer(visit: Visitor):
    page = visit("chapters/04_gpt.html", width=390).page
    page.locator(".primary-toggle").first.click()
    page.locator("#pst-primary-sidebar-modal .search-button__button").click()
    expect(page.locator(f"{DIALOG} input")).to_be_focused()
    ask(page, "attention mask")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_have_no_fault_of_accessibility(visit: Visitor, theme: str):
    page = visit("chapters/04_gpt.html", theme=theme, reduced_motion=True).page
    ask(page, "attention mask")
    assert axe_complaints(page, DIALOG) == []
