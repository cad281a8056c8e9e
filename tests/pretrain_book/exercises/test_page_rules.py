# SPDX-License-Identifier: MIT
"""A checker becomes plain data for the page; what no page can do is refused."""

import json
import math
from typing import Any

import numpy as np
import pytest

from pretrain_book.exercises.answer_types import Choice, Function, Number
from pretrain_book.exercises.grader import Checker, Part, find_checker, labels
from pretrain_book.exercises.page_rules import PageRuleError, page_rules, rule
from pretrain_book.exercises.predicates import Mistake, at, between, both, equals, near

KNOWN = {"a", "b"}
TABLE = np.eye(2)


def is_small(value: float) -> bool:
    """Accept what lies between two numbers."""
    return 0 <= value < 1


def is_done_in_two_steps(value: float) -> bool:
    """Accept twice what :func:`is_small` accepts."""
    for _ in range(2):
        value /= 2
    return value < 1


def in_two_lines(value: float) -> bool:
    """Accept by way of a variable."""
    half = value / 2
    return half < 1


@pytest.mark.parametrize("label", labels())
def test_every_checker_can_be_described(label: str):
    described = page_rules(find_checker(label))
    names = [part["name"] for part in described["parts"]]
    assert sorted([*names, *described["python"]]) == sorted(find_checker(label).parts)
    assert json.loads(json.dumps(described, allow_nan=False)) == described


def test_parts_that_are_functions_are_named_only():
    half = Part(Function("half(x)", ((1.0,),), Number()), equals(0.5), (), "halve it.")
    word = Part(Choice(("a", "b")), equals("b"), (Mistake(equals("a"), "no."),), "choose.")
    checker = Checker("ex-x-half", "warm-up", {"half": half, "word": word}, "So it is.")
    assert page_rules(checker) == {
        "parts": [
            {
                "name": "word",
                "asks": "one of 'a', 'b'",
                "kind": "choice",
                "options": ["a", "b"],
                "right": ["or", ["==", ["answer"], "b"]],
                "mistakes": [[["or", ["==", ["answer"], "a"]], "no."]],
                "hint": "choose.",
            }
        ],
        "python": ["half"],
        "explanation": "So it is.",
    }


ANSWER = ["answer"]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (near(0.5, rel=0.1), ["near", ANSWER, [0.5], 0.1, 0.0]),
        (near(np.array([1, 2])), ["near", ANSWER, [[1, 2]], 0.005, 0.0]),
        (between(1, 2), ["and", ["<=", 1, ANSWER], ["<=", ANSWER, 2]]),
        (equals(("x", "y")), ["or", ["==", ANSWER, ["list", "x", "y"]]]),
        (at(1, near(2)), ["near", ["item", ANSWER, 1], [2], 0.005, 0.0]),
        (
            both(equals(1), lambda x: x > 1 / 2),
            ["and", ["or", ["==", ANSWER, 1]], [">", ANSWER, 0.5]],
        ),
        (lambda words: set(words) <= KNOWN, ["<=", ["set", ANSWER], ["set", ["list", "a", "b"]]]),
        (lambda words: not words, ["not", ANSWER]),
        (lambda x: abs(x.sum()) > math.sqrt(4), [">", ["abs", ["sum", ANSWER]], 2.0]),
        (lambda words: words[:2] != ("a",), ["!=", ["item", ANSWER, [0, 2]], ["list", "a"]]),
        (
            lambda x: bool((x * (1 - TABLE)).all()),
            ["bool", ["all", ["*", ANSWER, ["list", ["list", 0.0, 1.0], ["list", 1.0, 0.0]]]]],
        ),
        (is_small, ["and", ["<=", 0, ANSWER], ["<", ANSWER, 1]]),
    ],
)  # fmt: skip
def test_predicates(predicate: Any, expected: Any):
    assert rule(predicate) == expected


def test_infinity_is_a_number_that_json_knows():
    assert json.loads(json.dumps(rule(between(1, np.inf)), allow_nan=False))[2][2] > 1e300


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        (lambda words: sorted(words) == ["a"], "no page can call <built-in function sorted>"),
        (lambda x: x**2 > 1, r"no page can evaluate x \*\* 2"),
        (lambda x: [one + 1 for one in x] == 1, "no page can evaluate"),
        (lambda x: x == print, "no page knows what"),
        (is_done_in_two_steps, "is more than one expression"),
        (in_two_lines, "is more than one expression"),
    ],
)
def test_what_no_page_can_do_is_refused(predicate: Any, message: str):
    with pytest.raises(PageRuleError, match=message):
        rule(predicate)
