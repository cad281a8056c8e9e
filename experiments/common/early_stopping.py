# SPDX-License-Identifier: MIT
"""Train until validation no longer improves, and keep the best weights.

So each arm of a study takes the updates that it needs, and a slow start is not counted as a want of
labels.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from torch import Generator, Tensor, nn

from experiments.common.records import N_FIRST
from pretrain.evaluation import eval_mode
from pretrain.objectives import Objective
from pretrain.training import Hook, OptimConfig, Run, fit


class Converged(Exception):
    """Validation has not improved for so long that the training ends."""


@dataclass
class KeepBest(Hook):
    """Score a model now and then, keep its best weights, and stop when none better come."""

    evaluate: Callable[[Any], tuple[float, Any]]  # score, higher is better, and what goes with it
    every: int  # updates between evaluations
    patience: int  # evaluations without a better one, after which the training ends
    at_least: int = 0  # updates before that
    score: float = float("-inf")
    found: Any = None  # what went with the best score
    step: int = 0  # updates after which the best weights stood
    state: dict[str, Tensor] = field(default_factory=dict)
    first_losses: list[float] = field(default_factory=list)

    def after_step(self, run: Run) -> None:
        """Evaluate when it is time, also at the end.

        Raises:
            Converged: It was time to stop.
        """
        if not run.is_due(self.every):
            return
        self.first_losses = run.history.losses[:N_FIRST]
        with eval_mode(run.model):
            score, found = self.evaluate(run.model)
        if score > self.score:
            self.score, self.found, self.step = score, found, run.step
            self.state = {name: value.clone() for name, value in run.model.state_dict().items()}
        if run.step >= self.at_least and run.step - self.step >= self.patience * self.every:
            raise Converged


def fit_until_converged(
    model: nn.Module,
    loss: Objective,
    optim: OptimConfig,
    keeper: KeepBest,
    *,
    max_steps: int,
    generator: Generator,
) -> None:
    """Train as `fit` does, stop when the keeper says so, and leave the best weights in the model.

    The rate stays at its peak after the warm-up, because nobody knows when the end comes.
    """
    with suppress(Converged):
        fit(model, loss, optim, n_steps=max_steps, generator=generator, hooks=[keeper])
    model.load_state_dict(keeper.state)
