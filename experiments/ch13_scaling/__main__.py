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

from experiments.ch13_scaling import analysis, isoflop_curves, prediction
from experiments.ch13_scaling.plan import TUNING_SEED, Cell, Plan, size, step_seconds
from experiments.ch13_scaling.runs import RateRule, best_rate, run
from experiments.common.arm_cache import ArmCache
from experiments.common.records import rounded

Get = Callable[..., Any]  # name, function and arguments → the arm's result, computed or kept
Run = Callable[..., dict[str, Any]]
N_MORE_RATES = 3  # tried at most, when the best of a cell is the first or the last


def tune(get: Get, plan: Plan, cell: Cell, run: Run = run) -> dict[str, Any]:
    """Try the rates at one cell, and further ones as long as the best is at an end.

    Returns JSON values: rates, their losses on validation plays, the best, whether it lies inside.
    """
    losses: dict[float, float] = {}

    def try_rate(lr: float) -> None:
        """Train at one rate."""
        name = f"tune {analysis.name_of(cell)} rate {lr:g}"
        losses[lr] = get(name, run, plan, cell, lr, TUNING_SEED, "validation")["loss"]

    for lr in plan.rates:
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


def rate_rule(plan: Plan, tuned: dict[Cell, dict[str, Any]]) -> RateRule:
    """Fit the rule that gives every run its rate, the held-out ones too."""
    n = [float(analysis.parameters(cell)) for cell in tuned]
    d = [float(plan.n_characters(cell)) for cell in tuned]
    return RateRule(n, d, [made["best"] for made in tuned.values()])


def train(
    get: Get,
    plan: Plan,
    rule: RateRule,
    cells: dict[Cell, tuple[int, ...]],
    *,
    run: Run = run,
    on_the_way: bool = False,
) -> dict[Cell, list[Any]]:
    """Train all seeds of some cells (`cells`: seeds by cell) and report on the test plays.

    With `on_the_way`, the checkpoints of the longest runs are looked at as well.
    """
    return {
        cell: [
            get(
                f"run {analysis.name_of(cell)} seed {seed}",
                partial(run, on_the_way=on_the_way and cell.level == plan.levels[-1]),
                plan, cell, rule(analysis.parameters(cell), plan.n_characters(cell)), seed, "test",
            )
            for seed in seeds
        ]
        for cell, seeds in cells.items()
    }  # fmt: skip


def losses_of(trained: dict[Cell, list[Any]]) -> dict[Cell, list[float]]:
    """Keep the losses alone."""
    return {cell: [made["loss"] for made in runs] for cell, runs in trained.items()}


def describe(plan: Plan, cell: Cell, runs: list[Any]) -> dict[str, Any]:
    """Combine sizes, costs and losses of a trained cell."""
    n, n_all, cost = size(cell.width)
    d = plan.n_characters(cell)
    return {
        "width": cell.width, "level": cell.level, "n": n, "n_with_embeddings": n_all, "d": d,
        "n_steps": plan.n_steps(cell), "flops": d * cost, "flops_6nd": 6 * n * d,
        "lr": runs[0]["lr"], "losses": [made["loss"] for made in runs],
        "cpu_seconds": [made["cpu_seconds"] for made in runs],
    }  # fmt: skip


def study(
    get: Get, plan: Plan, *, stop: bool, publish: Callable[[Any], None], run: Run = run
) -> dict[str, Any] | None:
    """Tune, train, predict, train what was predicted, compare.

    Args:
        get: Computes and keeps the result of an arm.
        stop: Whether to end before the held-out runs.
        publish: Given the prediction before the first held-out run starts.

    Returns:
        The record; None after a stop.
    """
    tuned = {cell: tune(get, plan, cell, run) for cell in plan.tuned_cells()}
    rule = rate_rule(plan, tuned)
    below = dict.fromkeys(plan.fitted_cells(), plan.seeds)
    fitted = train(get, plan, rule, below, run=run, on_the_way=True)
    cells, losses = plan.held_out(), losses_of(fitted)
    said = prediction.checked(get("prediction", prediction.predict, plan, losses, list(cells)))
    publish(said)
    if stop:
        return None
    later = train(get, plan, rule, cells, run=run)
    return {
        "question": "How does the loss fall with parameters and with text, each read once?",
        "unit": "nats per character of unread test plays",
        "interval": "laws: 95 % over resampled cells; lines and curves: over resampled seeds",
        "recipe": plan.recipe(),
        "tuning": [{**cell._asdict(), **made} for cell, made in tuned.items()],
        "rate_rule": {"weights": rule.weights.tolist(), "worst_factor": rule.worst_factor},
        "cells": [describe(plan, cell, runs) for cell, runs in fitted.items()],
        **conclusions(plan, fitted),
        "law": said["content"]["law"],
        "kaplan_law": said["content"]["kaplan_law"],
        "prediction": said,
        "held_out": [
            describe(plan, cell, runs) | {"started": [made["started"] for made in runs]}
            for cell, runs in later.items()
        ],
        "misses": prediction.misses(said, losses_of(later)),
    }


def conclusions(plan: Plan, fitted: dict[Cell, list[Any]]) -> dict[str, Any]:
    """Read lines, curves and checkpoints off the runs below the ceiling."""
    losses, longest = losses_of(fitted), plan.levels[-1]
    passed = {
        cell.width: [made["on_the_way"] for made in trained]
        for cell, trained in fitted.items()
        if cell.level == longest
    }
    return {
        "power_laws": analysis.power_laws(plan, losses),
        "isoflop": isoflop_curves.isoflop_record(plan, losses),
        "schedule": analysis.schedule_record(plan, losses, passed),
    }


def print_plan(plan: Plan) -> None:
    """Measure a step of every size and print what the study will cost."""
    widths = sorted({*plan.widths, plan.held_out_width})
    step = {width: step_seconds(width) for width in widths}
    rows = plan.table(step)
    parts = [name for name in rows[0] if name.endswith("minutes")]
    print("width       N  FLOPs/char  ms/step  " + "  ".join(f"{part:>17}" for part in parts))
    for row in rows:
        minutes = "  ".join(f"{row[part]:17.1f}" for part in parts)
        print(
            f"{row['width']:5d} {row['n']:7d}  {row['flops_per_character']:10.2e}  "
            f"{row['ms_per_step']:7.1f}  {minutes}   steps x {plan.shortest}: "
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
    plan = Plan.quick() if chosen.quick else Plan()
    if chosen.plan:
        print_plan(plan)
        return
    cache = ArmCache("scaling", plan.recipe(), keep=plan.keep)

    def get(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an arm unless it is there, and say so."""
        value = cache.get(name, partial(function, *arguments))
        loss = f", loss {value['loss']:.4f}" if "loss" in value else ""
        print(f"{cache.cpu_seconds:6.0f} CPU-seconds so far: {name}{loss}", flush=True)
        return value

    publish = prediction.publish if plan.keep else (lambda said: print(rounded(said)))
    record = study(get, plan, stop=chosen.stop_before_held_out, publish=publish)
    if record is None:
        print("stopped: the prediction stands in data/runs/scaling_prediction.json")
        return
    cache.conclude({**record, "cpu_minutes_total": cache.cpu_seconds / 60})


if __name__ == "__main__":
    main()
