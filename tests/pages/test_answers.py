# SPDX-License-Identifier: MIT
"""Every exercise can be tried in its page, or leads to the notebook; nothing there is dead."""

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from book_pages.directives.answers import form_html, notebook_address
from pretrain_book.exercises.grader import OPEN, find_checker, labels
from pretrain_book.exercises.page_rules import page_rules
from tools.chapters import store
from tools.checks import pages

EXERCISE_PAGES = [
    path.stem for path in store.twin_paths() if store.page_kind(path.stem) == "exercises"
]


@pytest.mark.parametrize("name", EXERCISE_PAGES)
class TestBuilt:
    def test_a_form_or_a_line_stands_below_each_exercise(self, name: str, html: Path):
        page = pages.parsed(html / "chapters" / f"{name}.html")
        asked = [one["id"] for one in page.select(".exercise") if one["id"] in labels()]
        assert asked
        for label in asked:
            rule = page_rules(find_checker(label))
            forms = page.select(f'form.answer[data-exercise="{label}"]')
            assert len(forms) == bool(rule["parts"]), label
            after = page.find(id=label).find_next_siblings(limit=8)
            lines = [one for one in after if "answer-elsewhere" in one.get("class", [])]
            address = lines[0].a["href"]
            assert (html / "chapters" / address).resolve().is_file()
            for form in forms:
                assert json.loads(form["data-rule"]) == rule
                assert len(form.select("input, select, textarea")) == len(rule["parts"])

    def test_each_field_has_a_name(self, name: str, html: Path):
        page = pages.parsed(html / "chapters" / f"{name}.html")
        for field in page.select("form.answer :is(input, select, textarea)"):
            assert page.find("label", attrs={"for": field["id"]}).get_text(strip=True)

    def test_no_cell_waits_for_an_answer_that_the_page_cannot_take(self, name: str, html: Path):
        page = pages.parsed(html / "chapters" / f"{name}.html")
        assert OPEN not in page.article.get_text()

    def test_the_notebook_keeps_its_cell(self, name: str, html: Path):
        notebook = (html / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
        assert "..." in notebook
        assert "check(" in notebook

    def test_the_hint_is_a_fold_between_form_and_solution(self, name: str, html: Path):
        page = pages.parsed(html / "chapters" / f"{name}.html")
        hints = page.select("details.hint")
        exercises = [one for one in page.select(".exercise") if one["id"] in labels()]
        assert [one["id"] for one in hints] == [f"{one['id']}-hint" for one in exercises]
        for hint in hints:
            assert len(hint.get_text(strip=True)) > len("Hint") + 5
            assert "Hint." not in hint.get_text()
            assert "answer-elsewhere" in hint.find_previous_sibling()["class"]
            assert "solution" in hint.find_next_sibling()["class"]


@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        ("04_gpt_exercises", {"practice-memory.js", "answer-rules.js", "answers.js"}),
        ("14_efficiency", {"practice-memory.js", "quiz.js"}),
        ("architecture", set()),
    ],
)
def test_only_pages_that_ask_load_the_scripts(name: str, scripts: set[str], html: Path):
    page = pages.parsed(html / "chapters" / f"{name}.html")
    loaded = {Path(one["src"].split("?")[0]).name for one in page.find_all("script", src=True)}
    ours = {"practice-memory.js", "answer-rules.js", "answers.js", "quiz.js"}
    assert loaded & ours == scripts
    assert bool(page.select('link[href*="practice.css"]')) == bool(scripts)


def test_an_exercise_of_functions_alone_has_no_field():
    made = BeautifulSoup(form_html("ex-tok-sum", "All cuts", "../notebooks/a.ipynb"), "html.parser")
    assert made.form is None
    assert made.get_text(strip=True) == "Answer this one in thenotebook."
    assert made.a["href"] == "../notebooks/a.ipynb"


def test_the_notebook_is_addressed_from_the_page():
    assert notebook_address("chapters/04_gpt") == "../notebooks/04_gpt.ipynb"
    assert notebook_address("index") == "notebooks/index.ipynb"
