# SPDX-License-Identifier: MIT
"""The race of the three objectives can be run again: models, losses and their costs."""

import json
from typing import Any

import pytest
from torch import Generator

from experiments.ch07_worldview import three_objectives as study
from experiments.ch07_worldview.contest import Contest, make_loss, totals
from pretrain_lab.paths import RUNS

IDS = study.load_ids()["validation"][:20_000]


def contest(*, short_windows: bool) -> Contest:
    """Give each model the middle one of its rates."""
    recipes: dict[str, Any] = {
        name: study.recipe_of(name, rates[1], short_windows=short_windows)
        for name, rates in study.RATES.items()
    }
    return study.contest_of(recipes)


@pytest.mark.parametrize("name", list(study.OWN))
def test_each_objective_starts(name: str) -> None:
    """Each stage gives a finite loss near that of a uniform guess, with gradients."""
    race = contest(short_windows=True)
    model = race.new_model(name, 0)
    for stage in race.stages(name, 1 / 1000):
        loss = make_loss(name, IDS, {**stage, "batch_size": 2})(model, Generator())
        loss.backward()
        assert 4 < loss.item() < 50  # log 3,000 is 8; T5's output layer is wide at the start
    assert all(p.grad is not None for p in model.parameters() if p.requires_grad)


@pytest.mark.parametrize("short_windows", [False, True])
def test_budgets_are_spent_alike(short_windows: bool) -> None:
    """The planned stages of the three cost equally many operations, whatever they choose."""
    race = contest(short_windows=short_windows)
    for name in study.OWN:
        assert totals(race.stages(name))["flops"] == pytest.approx(study.BUDGET, rel=0.01)


def test_no_chosen_rate_is_at_the_edge_of_those_tried() -> None:
    """The record lists every trial, at least six short ones each, and the best has neighbours."""
    record = json.loads((RUNS / "three_objectives.json").read_text())
    for name, found in record["tried"].items():
        short = [one for one in found if one["share"] == min(study.TRIAL_SHARES)]
        assert {one["lr"] for one in short} == set(study.RATES[name])
        assert len(short) == 2 * len(study.RATES[name]) >= 6
        chosen = record["recipe"]["models"][name]["stages"][0]["lr"]
        assert min(study.RATES[name]) < chosen < max(study.RATES[name])


def test_sizes_are_alike() -> None:
    """The three have within three per cent as many weights."""
    race = contest(short_windows=True)
    sizes = [sum(p.numel() for p in race.new_model(name, 0).parameters()) for name in study.OWN]
    assert max(sizes) / min(sizes) < 1.03
