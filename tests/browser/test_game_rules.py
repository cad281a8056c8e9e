# SPDX-License-Identifier: MIT
"""The games' scoring in the page is Python's and the chapters'."""

import math
from typing import Any

import pytest
from game_facts import PAGES, chapter_rule, game
from playwright.sync_api import Page
from scipy import stats
from visiting import Visitor

pytestmark = pytest.mark.applet


def run_rules(page: Page, expression: str, argument: object = None) -> Any:
    """Evaluate an expression of the module of rules, `g`, and an argument, `a`."""
    root = page.evaluate("ptBook.root")
    start = f'async (a) => {{ const g = await import("{root}engine/games.mjs");'
    return page.evaluate(f"{start} return {expression}; }}", argument)


def test_points_cost_what_they_cost_in_the_chapter(visit: Visitor):
    page = visit(PAGES["be-bert"]).page
    my_bits = chapter_rule()
    sheets = [{}, {"e": 15}, {"e": 9, "a": 6}, {"a": 1, " ": 3, "\n": 2}, {"z": 14}]
    for sheet in sheets:
        for truth in ("e", "a", "\n", "Q"):
            got = run_rules(
                page, "g.cost(g.sharesOfPoints(new Map(a[0]), 16), a[1], 62)",
                [list(sheet.items()), truth],
            )  # fmt: skip
            assert got == pytest.approx(my_bits(sheet, truth), abs=1e-12)


def test_tries_cost_what_the_exercise_says(visit: Visitor):
    page = visit(PAGES["fill-blank"]).page
    guesses = ["day", "night", "hour"]
    got = [
        run_rules(page, "g.cost(g.sharesOfTries(a[0]), a[1], 5000)", [guesses, truth])
        for truth in [*guesses, "king"]
    ]
    assert got == pytest.approx([1, 2, 3, math.log2(8 * 5000)], abs=1e-3)
    others = [f"token {i}" for i in range(60)]  # 62 tokens in all, and nothing is lost
    sum_of_all = "a[1].reduce((sum, t) => sum + 2 ** -g.cost(g.sharesOfTries(a[0]), t, 62), 0)"
    for guesses in (["e", "a", "e"], ["e"], ["", "a", ""], []):
        assert run_rules(page, sum_of_all, [guesses, ["e", "a", *others]]) == pytest.approx(1)


def test_the_interval_is_students(visit: Visitor):
    page = visit(PAGES["fill-blank"]).page
    for n_free in (1, 2, 7, 11, 40):
        got = run_rules(page, "g.studentQuantile(a)", n_free)
        assert got == pytest.approx(stats.t.ppf(0.975, n_free), rel=1e-4)
    mine, theirs = [1.0, 15.3, 2, 3, 15.3, 1, 7.5], [3.7, 14.8, 5.4, 11.7, 5.4, 12.3, 1.0]
    got = run_rules(page, "g.meanDifference(...a)", [mine, theirs])
    test = stats.ttest_rel(mine, theirs)
    low, high = test.confidence_interval(0.95)
    mean = sum(mine) / 7 - sum(theirs) / 7
    assert list(got.values()) == pytest.approx([mean, low, high], abs=1e-3)


@pytest.mark.parametrize(
    ("mine", "theirs", "winner", "proof"),
    [
        ([1, 2, 15], [3, 2, 9], "BERT won", "holds 0"),
        ([1, 2, 15], [3, 2, 16], "You won", "holds 0"),
        ([1, 2, 1], [9, 11, 9], "You won", "leaves out 0"),
        ([1, 2, 3], [3, 2, 1], "A draw", "holds 0"),
    ],
)
def test_the_verdict(visit: Visitor, mine: list[int], theirs: list[int], winner: str, proof: str):
    said = run_rules(visit(PAGES["fill-blank"]).page, 'g.verdict(...a, "BERT", "word")',
                     [mine, theirs])  # fmt: skip
    assert said.startswith(winner)
    assert f"The interval {proof}" in said
    assert f"{sum(mine):.1f} bits for 3 words, BERT {sum(theirs):.1f}" in said


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ('g.sharesOfTries(["a", "b", "c", "d"])', "at most 3 guesses, got 4"),
        ('g.sharesOfPoints(new Map([["a", 16]]), 16)', "at most 15 points, got 16"),
        ('g.sharesOfPoints(new Map([["a", 0.5]]), 16)', "whole points, got 0.5"),
        ("g.meanDifference([1], [2])", "two or more pairs, got 1 and 1"),
        ("g.meanDifference([1, 2], [2])", "two or more pairs, got 2 and 1"),
        ('g.readWord("two words")', "one word, got “two words”"),
    ],
)
def test_bad_input_is_named(visit: Visitor, expression: str, complaint: str):
    page = visit(PAGES["fill-blank"]).page
    caught = f"(() => {{ try {{ {expression}; }} catch (e) {{ return e.message; }} }})()"
    assert complaint in run_rules(page, caught)


@pytest.mark.parametrize(
    ("typed", "shown", "word"),
    [
        (" Don’t!! ", "Don’t", "don't"),
        ("“good”,", "good", "good"),
        ("well-known.", "well-known", "well-known"),
    ],
)
def test_marks_around_a_word_do_not_count(visit: Visitor, typed: str, shown: str, word: str):
    read = run_rules(visit(PAGES["fill-blank"]).page, "g.readWord(a)", typed)
    assert read == {"shown": shown, "word": word}


def test_every_word_of_the_vocabulary_can_be_looked_up(visit: Visitor):
    page = visit(PAGES["fill-blank"]).page
    data = game("fill_blank")
    item = data["items"][0]
    for word, share in item["top"]:
        got = run_rules(page, "g.bitsOfWord(...a)", [data, item, word])
        assert got == pytest.approx(-math.log2(share), abs=0.06)
    assert run_rules(page, "g.bitsOfWord(...a)", [data, item, "zounds"]) is None
