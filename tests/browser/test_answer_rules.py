# SPDX-License-Identifier: MIT
"""The page judges an answer as Python does: every planted answer that can be typed there."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from pretrain_book.exercises.answer_types import Choice, Words, plain
from pretrain_book.exercises.grader import SINGLE, Checker, Part, find_checker, labels
from pretrain_book.exercises.page_rules import page_rules

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "chapters"))
from wrong_answers import planted  # noqa: E402 – below the path that it needs

SCRIPT = ROOT / "chapters" / "assets" / "answer-rules.js"
PLANTED = planted()
RULES = {label: page_rules(find_checker(label)) for label in labels()}
ANSWERABLE = [label for label, rule in RULES.items() if rule["parts"]]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A blank page with the script that judges."""
    opened = browser.new_page()
    opened.add_script_tag(path=SCRIPT)
    yield opened
    opened.close()


def judge(page: Page, rule: dict[str, Any], given: dict[str, str]) -> dict[str, str]:
    """Judge in the page: a state and a line."""
    verdict: dict[str, str] = page.evaluate(
        "([rule, given]) => answerRules.judge(rule, given)", [rule, given]
    )
    return verdict


def typed(part: Part, answer: Any) -> str | None:
    """Write an answer to one part as a reader would; None for what no field can hold."""
    value = plain(answer)
    if isinstance(part.wanted, Choice):
        chosen = value.strip().casefold() if isinstance(value, str) else value
        return next((one for one in part.wanted.options if one.casefold() == chosen), None)
    if isinstance(part.wanted, Words):
        is_words = isinstance(value, list) and all(isinstance(word, str) for word in value)
        return ", ".join(value) if is_words else None
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None
    if isinstance(value, str) or numbers.ndim > 2 or not np.isfinite(numbers).all():
        return None
    rows = np.atleast_1d(numbers) if numbers.ndim < 2 else numbers
    lines = rows[None] if rows.ndim == 1 else rows
    return "\n".join(" ".join(f"{x:.17g}" for x in line) for line in lines)


def given(checker: Checker, answer: Any) -> dict[str, str] | None:
    """Write an answer to all parts that a page has; None if one of them cannot be typed."""
    answers = {SINGLE: answer} if SINGLE in checker.parts else answer
    if not isinstance(answers, dict) or set(answers) != set(checker.parts):
        return None
    names = [part["name"] for part in RULES[checker.exercise]["parts"]]
    texts = {name: typed(checker.parts[name], answers[name]) for name in names}
    return None if None in texts.values() else {k: v for k, v in texts.items() if v is not None}


def is_about_the_page(label: str, line: str) -> bool:
    """Tell whether Python's complaint is about a part that the page asks for."""
    return not any(line.startswith(f"Not yet: ({name})") for name in RULES[label]["python"])


@pytest.mark.parametrize("label", ANSWERABLE)
def test_page_and_python_agree_on_planted_answers(label: str, page: Page):
    checker, cases = find_checker(label), PLANTED[label]
    for answer in (cases.right, *cases.also_right):
        texts = given(checker, answer)
        assert texts is not None, f"a right answer cannot be typed: {answer}"
        assert judge(page, RULES[label], texts)["state"] == "right", texts
    compared = 0
    for answer, _ in cases.wrong:
        line = checker.grade(answer)
        texts = given(checker, answer)
        if texts is None or not is_about_the_page(label, line):
            continue
        verdict = judge(page, RULES[label], texts)
        assert verdict == {"state": "wrong", "line": line}
        compared += 1
    assert compared >= len(RULES[label]["parts"])


def test_nearly_all_planted_answers_are_compared():
    """Left over are those to functions, and those of a type that no field can hold."""
    typeable = total = 0
    for label in ANSWERABLE:
        checker = find_checker(label)
        for answer, _ in PLANTED[label].wrong:
            if is_about_the_page(label, checker.grade(answer)):
                total += 1
                typeable += given(checker, answer) is not None
    assert typeable > 0.95 * total, f"{typeable} of {total}"


NUMBER = {"name": "", "asks": "one number", "kind": "number", "whole": False, "mistakes": []}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.25", 0.25), (" 1/4 ", 0.25), (".25", 0.25), ("−3", -3), ("-3", -3), ("1,000", 1000),
        ("85,054,464", 85_054_464), ("6e3", 6000), ("2 × 10^6", 2e6), ("2*10^6", 2e6),
        ("2 · 10⁶", 2e6), ("10²⁰", 1e20), ("2^10", 1024), ("67 %", 67), ("[4]", 4),
    ],
)  # fmt: skip
def test_a_number_is_read_as_people_write_it(text: str, value: float, page: Page):
    part = {**NUMBER, "right": ["==", ["answer"], value], "hint": "another number."}
    rule = {"parts": [part], "python": [], "explanation": "So it is."}
    assert judge(page, rule, {"": text}) == {"state": "right", "line": "Right. So it is."}


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("abc", "text 'abc'"),
        ("1,2", "a list of 2"),
        ("1 2 3", "a list of 3"),
        ("1/2/3", "text '1/2/3'"),
        ("1/0", "text '1/0'"),
        ("1e999", "text '1e999'"),
        ("--1", "text '--1'"),
        ("alert(1)", "text 'alert(1)'"),
    ],
)
def test_what_is_no_number_is_said(text: str, got: str, page: Page):
    part = {**NUMBER, "right": ["==", ["answer"], 1], "hint": "another number."}
    rule = {"parts": [part], "python": [], "explanation": "So it is."}
    line = f"Not yet: expected one number, got {got}."
    assert judge(page, rule, {"": text}) == {"state": "wrong", "line": line}


def test_open_and_partly_right_answers(page: Page):
    parts = [{**NUMBER, "name": n, "right": ["==", ["answer"], 1], "hint": "no."} for n in "ab"]
    rule = {"parts": parts, "python": ["f"], "explanation": "So it is."}
    assert judge(page, rule, {"a": "", "b": " "})["state"] == "open"
    partly = judge(page, rule, {"a": "1", "b": ""})
    assert partly == {"state": "partly", "line": "So far right: (a). Still to answer: (b)."}
    assert judge(page, rule, {"a": "", "b": "2"})["line"] == "Not yet: (b) no."
    assert "(f), is checked in the notebook" in judge(page, rule, {"a": "1", "b": "1"})["line"]
