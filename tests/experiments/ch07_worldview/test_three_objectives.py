# SPDX-License-Identifier: MIT
"""The race of the three objectives can be run again: models, losses and their costs."""

import pytest
from torch import Generator

from experiments.ch07_worldview import three_objectives as study

IDS = study.load_ids()["validation"][:20_000]


@pytest.mark.parametrize("name", list(study.RECIPES))
def test_each_objective_starts(name: str) -> None:
    """Each stage gives a finite loss near that of a uniform guess, with gradients."""
    model = study.new_model(name, 0)
    for stage in study.planned_stages(name, study.BUDGET / 1000):
        loss = study.make_loss(name, IDS, {**stage, "batch_size": 2})(model, Generator())
        loss.backward()
        assert 4 < loss.item() < 40  # log 3,000 is 8; T5's output layer is wide at the start
    assert all(p.grad is not None for p in model.parameters() if p.requires_grad)


def test_budgets_are_spent_alike() -> None:
    """The planned stages of the three cost equally many operations."""
    plans = {name: study.planned_stages(name, study.BUDGET) for name in study.RECIPES}
    costs = {name: study.totals(plan)["flops"] for name, plan in plans.items()}
    for cost in costs.values():
        assert cost == pytest.approx(study.BUDGET, rel=0.01)
