# SPDX-License-Identifier: MIT
"""The arms of the corruption study: what they compare, and that they begin as recorded."""

import json

import pytest

from experiments.ch05_bert import corruption, setup
from pretrain_lab.paths import RUNS
from tests.support.first_steps import first_losses


def test_paired_arms_make_equally_many_predictions() -> None:
    """Selected share times steps is the same in both arms of a pair, and the fates are too."""
    arms = corruption.arms()
    for higher, lower in corruption.EQUAL_PREDICTIONS.values():
        one, other = arms[higher], arms[lower]
        assert one.select_prob * one.n_steps == pytest.approx(other.select_prob * other.n_steps)
        assert one.select_prob > other.select_prob
        assert (one.mask_prob, one.random_prob) == (other.mask_prob, other.random_prob)


@pytest.mark.parametrize("name", ["fates 80/10/10", "rate 0.80", corruption.FEWER])
def test_an_arm_starts_with_the_recorded_losses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first steps of an arm's first seed, taken again, give the losses of the record."""
    record = json.loads((RUNS / "bert_corruption.json").read_text())
    data, arm = corruption.prepare(), corruption.arms()[name]
    seed, expected = record["seeds"][0], record["first_losses"][name]
    found = first_losses(
        monkeypatch, setup, lambda: corruption.run_arm(arm, seed, data), len(expected)
    )
    assert found == pytest.approx(expected, abs=1e-3)
