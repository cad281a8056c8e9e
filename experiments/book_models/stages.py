# SPDX-License-Identifier: MIT
"""Training in stages, short windows first, each with its own optimiser and schedule."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Generator, nn

from experiments.common.arm_cache import ArmCache
from experiments.common.run_files import save_in
from pretrain.objectives import Objective
from pretrain.training import Evaluate, History, OptimConfig, fit


class Stage(NamedTuple):
    """One part of a training: its windows and its schedule."""

    seq_len: int
    batch_size: int
    n_steps: int
    lr: float
    n_warmup: int
    final_lr: float
    weight_decay: float = 0.1
    relative_lr: bool = False
    optimizer: str = "adamw"
    mlm_probability: float = 0.15  # of a masked objective
    longest_gap: int = 0  # in characters, of gaps hidden as a whole; 0 = tokens one by one
    repeats: bool = False  # noise that repeats itself instead of text


def stages_of(recipe: dict[str, Any]) -> list[Stage]:
    """Return the stages of a recipe in the order in which they are trained.

    A recipe is a dictionary as the models' cards have it: "stages" lists the sizes and the "fit" of
    each; or there is one stage, as long as the model's windows, after "short_windows" if there are.
    """
    if "stages" in recipe:
        parts = recipe["stages"]
    else:
        parts = [recipe["short_windows"]] if "short_windows" in recipe else []
        parts = [*parts, {"seq_len": recipe["shape"]["max_len"], **recipe}]
    return [Stage(part["seq_len"], part["batch_size"], **part["fit"]) for part in parts]


def shortened(stages: Sequence[Stage], n_steps: int = 12) -> list[Stage]:
    """Take a few steps in each stage, for a quick run."""
    return [stage._replace(n_steps=n_steps, n_warmup=n_steps) for stage in stages]


def train_stages(
    model: nn.Module,
    stages: Sequence[Stage],
    make_loss: Callable[[Stage], Objective],
    make_evaluate: Callable[[int], Callable[[nn.Module], float]],
    cache: ArmCache,
    *,
    seed: int,
    evaluate_every: int,
) -> History:
    """Run the stages; one that was interrupted goes on.

    Args:
        model: Changed in place.
        make_loss: Makes the objective of a stage.
        make_evaluate: Makes what judges a stage of a window length.

    Returns:
        Losses and evaluations of all stages, steps counted through.
    """
    whole, generator = History(), Generator().manual_seed(seed)
    for i, stage in enumerate(stages):
        history = fit(
            model,
            make_loss(stage),
            OptimConfig(
                lr=stage.lr,
                n_warmup=stage.n_warmup,
                final_lr=stage.final_lr,
                weight_decay=stage.weight_decay,
                relative_lr=stage.relative_lr,
                optimizer=stage.optimizer,
            ),
            n_steps=stage.n_steps,
            generator=generator,
            hooks=[
                Evaluate(make_evaluate(stage.seq_len), every=evaluate_every),
                *save_in(cache.path(f"stage {i}"), every=100),
            ],
        )
        n_before = len(whole.losses)
        whole.losses += history.losses
        whole.evaluations += [(n_before + step, loss) for step, loss in history.evaluations]
    return whole


def smooth(losses: list[float], width: int = 100) -> list[float]:
    """Average consecutive losses, so that the card stays small."""
    parts = [losses[i : i + width] for i in range(0, len(losses), width)]
    return [round(sum(part) / len(part), 4) for part in parts]
