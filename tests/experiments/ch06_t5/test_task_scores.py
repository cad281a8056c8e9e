# SPDX-License-Identifier: MIT
"""How the scripts of chapter 6 choose what they ask, and what the answers are compared with."""

import pytest

from experiments.ch06_t5.task_scores import (
    CommonForms,
    closed,
    judge_who,
    kind_of,
    share_restored,
    spread,
)
from pretrain_lab.tasks.text_to_text import Example

LINE = "What news, my lord?"
SCENE = f"{LINE}\n\nROMEO:\nGood morrow.\n\nFIRST WITCH:\n{LINE}\n\nROMEO:\nNo."


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


def test_rules_of_who_speaks() -> None:
    """The name above the line is right; the others do not read it."""
    found = judge_who(["FIRST WITCH"], [Example(f"who: {SCENE}", "FIRST WITCH", "macbeth")])
    assert {name: share[0] for name, share in found["accuracy"].items()} == {
        "t5": 1, "commonest_name": 0, "first_name": 0, "name_above": 1,
    }  # fmt: skip
    assert found["share_no_name"] == 0


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("fresh", "sentiment"),
        ("d a e h", "reverse"),
        ("FIRST WITCH", "who"),
        ("Good morrow.", "restore"),
        ("good morrow", "other"),
    ],
)
def test_kinds_of_answers(answer: str, kind: str) -> None:
    """Each task's answers are told by their form."""
    assert kind_of(answer, SCENE) == kind
