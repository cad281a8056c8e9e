# SPDX-License-Identifier: MIT
"""The fall of the loss with parameters and with text, each read once (SCL-R1, SCL-R2).

Writes data/runs/scaling.json. Character GPTs of seven sizes read five amounts of the training
plays, every character once, three seeds each; all runs below a ceiling of compute are fitted.
Then `data/runs/scaling_prediction.json` is written: what larger runs will lose. Only then are
these trained. Losses are those of the test plays; learning rates were chosen on validation plays.

Every run has a schedule that ends where its text ends. A checkpoint in the middle of a longer run
still has a high rate, so its loss is not what that amount of text can give. Hoffmann et al. 2022
(arXiv:2203.15556) held this against the runs of Kaplan et al.; Porian et al. 2024
(arXiv:2406.19146) found that warm-up, the head's share of compute and rates that do not fit the
size weigh more. So warm-up here is a share of the run, compute counts the head, and rates follow
size and text by a rule fitted to validation losses. Losses of checkpoints are recorded beside, to
show what counting them would do.

    python -m experiments.ch13_scaling --plan                  # sizes, and minutes measured here
    python -m experiments.ch13_scaling --stop-before-held-out  # then commit the prediction
    python -m experiments.ch13_scaling                         # goes on from there

Finished runs are kept, so a killed study goes on where it stopped. `--quick` trains tiny versions
and writes nothing.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from experiments.ch13_scaling import analysis, plan
from experiments.ch13_scaling import isoflop_curves as curves
from experiments.ch13_scaling import prediction as predicting
from experiments.ch13_scaling.plan import Cell
from experiments.ch13_scaling.runs import VOCAB_SIZE, RateRule, best_rate, run
from experiments.common.memory import FinishedArms
from experiments.common.records import rounded

Get = Callable[..., Any]
"""Gives the result of an arm: its name, a function and what the function takes."""
N_MORE_RATES = 3
"""Further rates tried at most, when the best of a cell is the first or the last."""


def tune(get: Get, cell: Cell) -> dict[str, Any]:
    """Try the rates at one cell, and further ones as long as the best is at an end.

    Args:
        get: Gives arms.
        cell: Size and amount of text.

    Returns:
        JSON values: rates, their losses on validation plays, the best, whether it lies inside.
    """
    losses: dict[float, float] = {}

    def try_rate(lr: float) -> None:
        """Train at one rate."""
        name = f"tune {analysis.name_of(cell)} rate {lr:g}"
        losses[lr] = get(name, run, cell, lr, plan.TUNING_SEED, "validation")["loss"]

    for lr in plan.RATES:
        try_rate(lr)
    for _ in range(N_MORE_RATES):
        rates = sorted(losses)
        best = min(rates, key=losses.__getitem__)
        if best not in (rates[0], rates[-1]):
            break
        try_rate(best / 2 if best == rates[0] else best * 2)
    rates = sorted(losses)
    values = [losses[lr] for lr in rates]
    lr, inside = best_rate(rates, values)
    return {"rates": rates, "losses": values, "best": lr, "inside": inside}


def rate_rule(tuned: dict[Cell, dict[str, Any]]) -> RateRule:
    """Fit the rule that gives every run its rate, the held-out ones too."""
    n = [float(analysis.parameters(cell)) for cell in tuned]
    d = [float(plan.n_characters(cell)) for cell in tuned]
    return RateRule(n, d, [made["best"] for made in tuned.values()])


def train(
    get: Get, rule: RateRule, cells: dict[Cell, tuple[int, ...]], *, on_the_way: bool = False
) -> dict[Cell, list[Any]]:
    """Train all seeds of some cells and report on the test plays.

    Args:
        get: Gives arms.
        rule: Gives the learning rates.
        cells: Seeds by cell.
        on_the_way: Whether to look at the checkpoints of the longest runs.
    """
    return {
        cell: [
            get(
                f"run {analysis.name_of(cell)} seed {seed}",
                partial(run, on_the_way=on_the_way and cell.level == plan.LEVELS[-1]),
                cell, rule(analysis.parameters(cell), plan.n_characters(cell)), seed, "test",
            )
            for seed in seeds
        ]
        for cell, seeds in cells.items()
    }  # fmt: skip


def losses_of(trained: dict[Cell, list[Any]]) -> dict[Cell, list[float]]:
    """Keep the losses alone."""
    return {cell: [made["loss"] for made in runs] for cell, runs in trained.items()}


def describe(cell: Cell, runs: list[Any]) -> dict[str, Any]:
    """Put sizes, costs and losses of a trained cell together."""
    n, n_all, cost = plan.size(cell.width, VOCAB_SIZE)
    d = plan.n_characters(cell)
    return {
        "width": cell.width, "level": cell.level, "n": n, "n_with_embeddings": n_all, "d": d,
        "n_steps": plan.n_steps(cell), "flops": d * cost, "flops_6nd": 6 * n * d,
        "lr": runs[0]["lr"], "losses": [made["loss"] for made in runs],
        "cpu_seconds": [made["cpu_seconds"] for made in runs],
    }  # fmt: skip


def recipe() -> dict[str, Any]:
    """List everything that decides what a run does; another value starts the study anew."""
    names = (
        "SEQ_LEN", "BATCH_SIZE", "N_LAYERS", "SHORTEST", "LEVELS", "WIDTHS", "CEILING", "SEEDS",
        "TUNING_SEED", "TUNING_LEVELS", "RATES", "N_WINDOWS", "INIT_GAIN", "WARMUP_SHARE",
        "FINAL_LR", "BETAS", "HELD_OUT_WIDTH",
    )  # fmt: skip
    return {name.lower(): getattr(plan, name) for name in names}


def study(get: Get, *, stop: bool, publish: Callable[[Any], None]) -> dict[str, Any] | None:
    """Tune, train, predict, train what was predicted, compare.

    Args:
        get: Gives arms.
        stop: Whether to end before the held-out runs.
        publish: Given the prediction before the first held-out run starts.

    Returns:
        The record; None after a stop.
    """
    tuned = {cell: tune(get, cell) for cell in plan.tuned_cells()}
    rule = rate_rule(tuned)
    below = dict.fromkeys(plan.fitted_cells(VOCAB_SIZE), plan.SEEDS)
    fitted = train(get, rule, below, on_the_way=True)
    cells, losses = plan.held_out(VOCAB_SIZE), losses_of(fitted)
    prediction = predicting.checked(get("prediction", predicting.predict, losses, list(cells)))
    publish(prediction)
    if stop:
        return None
    later = train(get, rule, cells)
    return {
        "question": "How does the loss fall with parameters and with text, each read once?",
        "unit": "nats per character of unread test plays",
        "interval": "laws: 95 % over resampled cells; lines and curves: over resampled seeds",
        "recipe": recipe(),
        "tuning": [{**cell._asdict(), **made} for cell, made in tuned.items()],
        "rate_rule": {"weights": rule.weights.tolist(), "worst_factor": rule.worst_factor},
        "cells": [describe(cell, runs) for cell, runs in fitted.items()],
        **conclusions(fitted),
        "law": prediction["content"]["law"],
        "kaplan_law": prediction["content"]["kaplan_law"],
        "prediction": prediction,
        "held_out": [
            describe(cell, runs) | {"started": [made["started"] for made in runs]}
            for cell, runs in later.items()
        ],
        "misses": predicting.misses(prediction, losses_of(later)),
    }


def conclusions(fitted: dict[Cell, list[Any]]) -> dict[str, Any]:
    """Read lines, curves and checkpoints off the runs below the ceiling."""
    losses, longest = losses_of(fitted), plan.LEVELS[-1]
    passed = {
        cell.width: [made["on_the_way"] for made in trained]
        for cell, trained in fitted.items()
        if cell.level == longest
    }
    return {
        "power_laws": analysis.power_laws(losses),
        "isoflop": curves.isoflop_record(losses),
        "schedule": analysis.schedule_record(losses, passed),
    }


def shrink() -> None:
    """Make everything tiny, for a trial."""
    vars(plan).update(
        SHORTEST=4, WIDTHS=(16, 24, 32, 48), LEVELS=(1, 2, 4, 8), HELD_OUT_WIDTH=64, SEEDS=(0, 1),
        RATES=(4e-3, 8e-3, 16e-3), TUNING_LEVELS=(1, 2), CEILING=3.6e9,
        N_WINDOWS={"validation": 32, "test": 64},
    )  # fmt: skip
    vars(analysis)["N_RESAMPLES"], vars(curves)["MIN_SIZES"] = 5, 3


def print_plan() -> None:
    """Measure a step of every size and print what the study will cost."""
    widths = sorted({*plan.WIDTHS, plan.HELD_OUT_WIDTH})
    step = {width: plan.step_seconds(width, VOCAB_SIZE) for width in widths}
    rows = plan.plan_table(VOCAB_SIZE, step)
    parts = [name for name in rows[0] if name.endswith("minutes")]
    print("width       N  FLOPs/char  ms/step  " + "  ".join(f"{part:>17}" for part in parts))
    for row in rows:
        minutes = "  ".join(f"{row[part]:17.1f}" for part in parts)
        print(
            f"{row['width']:5d} {row['n']:7d}  {row['flops_per_character']:10.2e}  "
            f"{row['ms_per_step']:7.1f}  {minutes}   steps x {plan.SHORTEST}: "
            f"{row['fit: levels']}, held out {row['held out: levels']}"
        )
    total = sum(row[part] for row in rows for part in parts)
    print(f"{total:.0f} CPU-minutes in all, and about 2 for the fits")


def main() -> None:
    """Run the study and write it, or only print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plan", action="store_true", help="print sizes and minutes")
    parser.add_argument("--quick", action="store_true", help="tiny runs; print, write nothing")
    parser.add_argument("--stop-before-held-out", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.quick:
        shrink()
    if chosen.plan:
        print_plan()
        return
    arms = FinishedArms("scaling", recipe(), keep=not chosen.quick)

    def get(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an arm unless it is there, and say so."""
        value = arms.get(name, partial(function, *arguments))
        loss = f", loss {value['loss']:.4f}" if "loss" in value else ""
        print(f"{arms.cpu_seconds:6.0f} CPU-seconds so far: {name}{loss}", flush=True)
        return value

    publish = (lambda made: print(rounded(made))) if chosen.quick else predicting.publish
    record = study(get, stop=chosen.stop_before_held_out, publish=publish)
    if record is None:
        print("stopped: the prediction stands in data/runs/scaling_prediction.json")
        return
    arms.conclude({**record, "cpu_minutes_total": arms.cpu_seconds / 60})


if __name__ == "__main__":
    main()
