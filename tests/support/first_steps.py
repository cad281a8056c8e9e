# SPDX-License-Identifier: MIT
"""Run the first steps of a study's training again, as the study itself begins it."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from pretrain.training import Hook, Run, fit


class Enough(Exception):
    """So many steps were taken."""


class StopAfter(Hook):
    """End a training after some steps and keep their losses."""

    def __init__(self, n_steps: int) -> None:
        self.n_steps = n_steps
        self.losses: list[float] = []
        self.evaluations: list[tuple[int, float]] = []

    def after_step(self, run: Run) -> None:
        if run.step == self.n_steps:
            self.losses = list(run.history.losses)
            self.evaluations = list(run.history.evaluations)
            raise Enough


def _stopped(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, call: Callable[[], Any], n_steps: int
) -> StopAfter:
    """Call a study's function, whose module trains with `fit`, until the first steps are done."""
    hook = StopAfter(n_steps)

    def watched(*args: Any, hooks: Any = (), **options: Any) -> Any:
        return fit(*args, hooks=[*hooks, hook], **options)

    monkeypatch.setattr(module, "fit", watched)
    with pytest.raises(Enough):
        call()
    return hook


def first_losses(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, call: Callable[[], Any], n_steps: int
) -> list[float]:
    """Return the losses of the first steps of a study's training."""
    return _stopped(monkeypatch, module, call, n_steps).losses


def first_evaluation(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, call: Callable[[], Any], step: int
) -> float:
    """Return what a study's training is judged at for the first time, at a step."""
    [(found, value)] = _stopped(monkeypatch, module, call, step).evaluations
    assert found == step
    return value
