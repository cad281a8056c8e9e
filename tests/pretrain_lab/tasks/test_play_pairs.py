# SPDX-License-Identifier: MIT
"""Two versions of a text of which one stands in the play."""

from collections import Counter

import pytest

from pretrain_lab.corpora.loading import load_shakespeare, play_split
from pretrain_lab.tasks.play_pairs import MAX_LEN, N_LINES, TASKS, read_pairs


@pytest.mark.parametrize("task", list(TASKS))
def test_the_right_version_alone_stands_in_the_play(task: str) -> None:
    """Both have the same letters, and splits share no play."""
    for split in ("validation", "test"):
        texts = {play.slug: " ".join(play.text.split()) for play in load_shakespeare(split)}
        found = read_pairs(task, split, 200)
        assert len(found) == 200
        for pair in found:
            assert play_split(pair.play) == split
            assert " ".join(pair.right.split()) in texts[pair.play]
            assert pair.right != pair.wrong
            if task != "marks":
                assert sorted(pair.right) == sorted(pair.wrong)
            assert len(pair.right) == len(pair.wrong) <= MAX_LEN


def test_each_play_asks_as_often_for_each_mark() -> None:
    """So "always a full stop" is right half of the time."""
    kinds = Counter((pair.play, pair.right[-1]) for pair in read_pairs("marks", "test", None))
    for play, _ in kinds:
        assert kinds[play, "?"] == kinds[play, "."] > 0


def test_two_lines_change_places() -> None:
    """The heading and all other lines stay where they are."""
    for pair in read_pairs("lines", "validation", 300):
        right, wrong = (text.split("\n") for text in (pair.right, pair.wrong))
        moved = [i for i, (a, b) in enumerate(zip(right, wrong, strict=True)) if a != b]
        assert len(moved) == 2
        assert moved[1] == moved[0] + 1 > 1
        assert len(right) > N_LINES


def test_an_unknown_task_is_refused() -> None:
    """The error names the tasks that there are."""
    with pytest.raises(ValueError, match="lines, words, sentences, marks; got 'letters'"):
        read_pairs("letters", "test")
