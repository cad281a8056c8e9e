# SPDX-License-Identifier: MIT
"""Sentences of plays with their labels: fair halves, other plays, and nothing that tells."""

from collections import Counter

import pytest

from experiments.ch08_labels.plays import methods
from experiments.ch08_labels.plays.data import MAX_LEN, TASKS, questions, read_marks, read_swaps
from pretrain_lab.corpora.loading import play_split


@pytest.mark.parametrize("task", list(TASKS))
def test_each_play_has_as_many_of_each_label(task: str) -> None:
    """So a constant answer is right half of the time, in every play; splits share no play."""
    for split in ("validation", "test"):
        found = questions(task, split, None)
        counts = Counter((q.play, q.label) for q in found)
        for play in {q.play for q in found}:
            assert counts[play, 0] == counts[play, 1] > 0
            assert play_split(play) == split
        assert max(len(q.text) for q in found) <= MAX_LEN


def test_the_mark_is_gone() -> None:
    """No sentence ends with what is asked for, and none holds another sentence."""
    found = list(read_marks("validation"))
    assert not [q for q in found if q.text[-1] in ".?!"]
    assert {q.label for q in found} == {0, 1}


def test_a_swap_changes_two_inner_words() -> None:
    """First and last word stay, so capitals and marks tell nothing; some sentences are whole."""
    said = {" ".join(q.text.split()) for q in read_swaps("validation") if q.label == 0}
    assert said
    for question in list(read_swaps("validation"))[:300]:
        assert len(question.text.split()) >= 4


def test_rules_by_hand() -> None:
    """The rule for speakers looks at the first mark, the others at counted letters."""
    assert methods.change_rule("Who is there? Nay, answer me.") > 0
    assert methods.change_rule("I am here. Who is there?") < 0
    assert methods.mark_rule("What is thy name") > methods.mark_rule("My name is Caius Ligarius")
    assert methods.mark_rule("But soft, and will he come") > 0, "openers of a clause are skipped"
    assert methods.mark_rule("I know not what he will do") < 0, "only where a clause begins"
    assert methods.swap_rule("I my pray you, good lord.") > methods.swap_rule(
        "I pray you, my lord."
    )
