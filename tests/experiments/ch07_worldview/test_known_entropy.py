# SPDX-License-Identifier: MIT
"""The race on a known source: the same choice of recipes for all, and equal steps."""

from dataclasses import replace

import pytest

from experiments.ch07_worldview import known_entropy
from experiments.ch07_worldview.known_entropy import FIXED, RATES, Plan
from experiments.common.arm_cache import ArmCache


def test_all_three_choose_from_recipes_of_one_kind() -> None:
    """As many rates, each with short windows and without."""
    assert RATES.keys() == FIXED.keys()
    assert len({len(rates) for rates in RATES.values()}) == 1


def test_short_windows_take_their_steps_from_the_whole() -> None:
    """Steps and tokens are equal with and without; evaluations fall on the same steps."""
    plan = Plan()
    recipes = [{"lr": 1e-3, "short_windows": short} for short in (False, True)]
    plain, mixed = (plan.stages(recipe) for recipe in recipes)
    assert [len(plain), len(mixed)] == [1, 2]
    for stages in (plain, mixed):
        assert sum(stage.n_steps for stage in stages) == plan.n_steps
        assert {s.seq_len * s.batch_size for s in stages} == {plan.seq_len * plan.batch_size}
        assert all(stage.n_steps % plan.every == 0 for stage in stages)
    assert mixed[0].seq_len < plan.seq_len


def test_the_quick_study_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every recipe is tried, the best one is taken, and the curves have the recorded steps."""
    monkeypatch.setattr(known_entropy, "entropy_rate", lambda *_, **__: 1.0)  # takes seconds
    monkeypatch.setattr(known_entropy, "RATES", {name: rates[:2] for name, rates in RATES.items()})
    plan = replace(Plan.quick(), n_windows=10, n_steps=10, every=5, batch_size=8)
    record = known_entropy.study([0, 1], plan, ArmCache("known_entropy", [], keep=False))
    for name, tried in record["tried"].items():
        assert len(tried) == 4
        best = min(tried, key=lambda one: one["gap"])
        assert record["chosen"][name] == best["recipe"]
        for curve in record["curves"][name]:
            assert len(curve) >= len(record["curve_steps"])
