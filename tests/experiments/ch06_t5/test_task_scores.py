# SPDX-License-Identifier: MIT
"""How the scripts of chapter 6 choose what they ask, and what the answers are compared with."""

import pytest

from experiments.ch06_t5.task_scores import (
    CommonForms,
    closed,
    judge_questions,
    kind_of,
    share_restored,
    spread,
)
from pretrain_lab.tasks.text_to_text import Example


@pytest.mark.parametrize(
    ("n", "expected"), [(3, [0, 3, 6]), (10, [*range(10)]), (99, [*range(10)])]
)
def test_spread_takes_each_example_at_most_once(n: int, expected: list[int]) -> None:
    """Also when more are asked for than there are: then all of them, once."""
    examples = [Example("source", "target", str(i)) for i in range(10)]
    assert [int(e.group) for e in spread(examples, n)] == expected


def test_words_are_right_with_their_capitals_and_marks() -> None:
    """By hand: four words, one without its comma; a word too many counts as well."""
    assert share_restored("Nay, my good lord.", "Nay, my good lord.") == 1
    assert share_restored("Nay my good lord.", "Nay, my good lord.") == 3 / 4
    assert share_restored("Nay, my my good lord.", "Nay, my good lord.") == 4 / 5
    assert share_restored("", "Nay, my good lord.") == 0


def test_common_forms_prefer_what_stood_before_the_same_word() -> None:
    """Before "my" a comma, at the end a mark, else the form most frequent inside sentences."""
    sentences = ["Nay, my lord!", "Come, Rome calls.", "Nay Rome, he said.", "Is it Rome?"]
    forms = CommonForms([Example("", text, "play") for text in sentences])
    assert forms("nay my rome") == "Nay, my Rome?"
    assert forms("unknown lord") == "Unknown lord!"
    assert closed("nay,") == "Nay."


def test_rules_of_where_somebody_is() -> None:
    """Puck moves twice, and Snug after him: only the last sentence about Puck is right."""
    said = ["Puck goes to the court.", "Puck runs to the wood.", "Snug is in the town."]
    example = Example(f"answer: Where is Puck? {' '.join(said)}", f" {said[1]}", "dream")
    found = judge_questions(["Snug runs to the wood."], [example])
    assert {name: share[0] for name, share in found["accuracy"].items()} == {
        "t5": 0, "last_sentence": 0, "first_about": 0, "last_about": 1,
    }  # fmt: skip
    assert found["place_right"][0] == 1
    assert found["share_no_sentence_of_the_story"] == 1
    assert found["when_named_more_than_once"]["n"] == 1
    right = judge_questions([said[1]], [example])
    assert (right["accuracy"]["t5"][0], right["share_no_sentence_of_the_story"]) == (1, 0)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("fresh", "sentiment"),
        ("d a e h", "reverse"),
        ("Puck runs to the wood.", "answer"),
        ("Good morrow.", "restore"),
        ("good morrow", "other"),
    ],
)
def test_kinds_of_answers(answer: str, kind: str) -> None:
    """Each task's answers are told by their form."""
    assert kind_of(answer) == kind
