# SPDX-License-Identifier: MIT
"""Training ends when validation stops improving, with the best weights."""

import torch
from torch import Generator, Tensor, nn

from experiments.common.early_stopping import KeepBest, fit_until_converged
from pretrain.training import OptimConfig


def square(model: nn.Module, _: Generator) -> Tensor:
    """A loss that moves the weights at every step."""
    loss: Tensor = model(torch.ones(1, 2)).square().sum()
    return loss


def test_the_best_weights_and_their_step_are_kept() -> None:
    """Whatever came after them; an equal score is no better one."""
    scores = iter([0.1, 0.5, 0.4, 0.5, 0.2, 0.9])
    seen: list[Tensor] = []

    def evaluate(model: nn.Module) -> tuple[float, int]:
        """Give the next score and how many came before."""
        seen.append(next(model.parameters()).detach().clone())
        return next(scores), len(seen)

    keeper, model = KeepBest(evaluate, every=2, patience=3, at_least=4), nn.Linear(2, 1)
    generator = Generator()
    fit_until_converged(
        model, square, OptimConfig(lr=0.1), keeper, max_steps=100, generator=generator
    )
    assert (keeper.step, keeper.score, keeper.found, len(seen)) == (4, 0.5, 2, 5)
    assert torch.equal(next(model.parameters()), seen[1])
    assert len(keeper.first_losses) == 5


def test_it_goes_on_as_long_as_it_gets_better() -> None:
    """Up to the last step, which is evaluated too; and never stops before its least."""
    steps = iter(range(1000))
    keeper, model = KeepBest(lambda _: (next(steps), None), every=4, patience=1), nn.Linear(2, 1)
    optim, generator = OptimConfig(lr=0.1), Generator()
    fit_until_converged(model, square, optim, keeper, max_steps=10, generator=generator)
    assert keeper.step == 10
    patient = KeepBest(lambda _: (0.0, None), every=1, patience=1, at_least=7)
    fit_until_converged(model, square, optim, patient, max_steps=10, generator=generator)
    assert (patient.step, next(steps)) == (1, 3)
