# SPDX-License-Identifier: MIT
"""The speeches of chapter 8's game: drawn by rule from unseen plays, and what the GPT pays."""

import json
from typing import Any

import pytest

from experiments.applets.which_line import (
    LONGEST,
    MOST_LINES,
    N_A_PLAY,
    N_PAIRS,
    as_name,
    bits_of,
    draw,
)
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import DATA, RUNS


def stored() -> dict[str, Any]:
    """Read what the page gets."""
    found: dict[str, Any] = json.loads(
        (DATA / "applets" / "which_line.json").read_text(encoding="utf-8")
    )
    return found


def test_the_speeches_are_those_that_are_drawn() -> None:
    titles = {play.slug: play.title for play in load_shakespeare("test")}
    items = stored()["items"]
    assert len(items) == N_PAIRS
    for item, (pair, right) in zip(items, draw(), strict=True):
        assert (item["play"], item["right"]) == (titles[pair.play], right)
        speaker, _, text = pair.right.partition(":\n")
        assert item["speaker"] == as_name(speaker)
        assert item["versions"][right] == text
        assert item["versions"][1 - right] == pair.wrong.partition("\n")[2]


def test_they_stand_in_unseen_plays_and_fit_a_telephone() -> None:
    plays = {
        split: "\n".join(play.text for play in load_shakespeare(split))
        for split in ("train", "test")
    }
    items = stored()["items"]
    for item in items:
        right, wrong = item["versions"][item["right"]], item["versions"][1 - item["right"]]
        assert right in plays["test"]
        assert right not in plays["train"]
        assert wrong not in plays["test"]
        lines = right.split("\n")
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines)) <= LONGEST
        assert len(set(lines)) == len(lines), "a line is known by its words"
        moved = [i for i, line in enumerate(wrong.split("\n")) if line != lines[i]]
        assert len(moved) == 2
        assert moved[1] - moved[0] == 1
    asked = [item["play"] for item in items]
    assert max(map(asked.count, asked)) <= N_A_PLAY
    assert sum(item["right"] for item in items) == N_PAIRS // 2, "first as often as second"


def test_the_model_pays_what_is_stored() -> None:
    for item, (pair, right) in list(zip(stored()["items"], draw(), strict=True))[::4]:
        bits = item["bits"]
        assert bits_of(pair.right) == pytest.approx(bits[right], abs=0.01)
        assert bits_of(pair.wrong) == pytest.approx(bits[1 - right], abs=0.01)


def test_its_share_over_all_pairs_is_the_records() -> None:
    record = json.loads((RUNS / "plays_study.json").read_text(encoding="utf-8"))["tasks"]["lines"]
    of_all = stored()["of_all"]
    assert of_all == {"n": record["n_test"], "right": record["arms"]["asked"]["accuracy"]}
    assert 0.5 < of_all["right"] < 1, "it errs, too"


@pytest.mark.parametrize(
    ("speaker", "name"),
    [
        ("DUKE OF YORK", "Duke of York"),
        ("KING RICHARD II", "King Richard II"),
        ("First Citizen", "First Citizen"),
    ],
)
def test_names(speaker: str, name: str) -> None:
    assert as_name(speaker) == name
