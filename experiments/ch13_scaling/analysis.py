# SPDX-License-Identifier: MIT
"""Analysis of the runs of the study of scaling: joint laws, straight lines, checkpoints."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.ch13_scaling.plan import Cell, Plan, size
from pretrain_lab.scaling.bootstrap import bootstrap_laws, r_squared, residuals
from pretrain_lab.scaling.isoflop import power_law
from pretrain_lab.scaling.laws import Law, Runs, fit_law
from pretrain_lab.statistics.intervals import percentiles

Losses = Mapping[Cell, list[float]]  # loss of each seed by cell


def parameters(cell: Cell) -> int:
    """Return N of a cell, without embeddings."""
    return size(cell.width)[0]


def to_runs(plan: Plan, losses: Losses) -> Runs:
    """Put cells into columns, one row for each seed."""
    rows = [
        (parameters(cell), plan.n_characters(cell), loss)
        for cell, seeds in losses.items()
        for loss in seeds
    ]
    n, d, loss = np.array(rows, dtype=float).T
    return Runs(n, d, loss)


def law_record(
    plan: Plan, runs: Runs, fit: Callable[..., Any]
) -> tuple[Any, list[Any], dict[str, Any]]:
    """Fit one form of law (`fit_law` or `fit_kaplan`) with its bootstrap.

    Returns the law, its bootstrap, and JSON values: constants with 95 % intervals, R², errors.
    """
    law = fit(runs)
    drawn = bootstrap_laws(
        runs, partial(fit, near=law), rng=np.random.default_rng(13), n_resamples=plan.n_resamples
    )
    made: dict[str, Any] = {
        name: [value, *percentiles([getattr(other, name) for other in drawn])]
        for name, value in law._asdict().items()
    }
    if isinstance(law, Law):
        made["n_exponent"] = [law.n_exponent, *percentiles([o.n_exponent for o in drawn])]
    errors = residuals(law, runs)
    made["r_squared"] = r_squared(runs.loss, law.loss(runs.n, runs.d))
    made["error_percent"] = {
        "root_mean_square": 100 * float(np.sqrt((errors**2).mean())),
        "worst": 100 * float(np.abs(errors).max()),
    }
    return law, drawn, made


def name_of(cell: Cell) -> str:
    """Name a cell as "width x level"."""
    return f"{cell.width} x {cell.level}"


def redraw(losses: Losses, rng: np.random.Generator) -> dict[Cell, list[float]]:
    """Draw the seeds of each cell with replacement; the grid stays whole."""
    return {cell: rng.choice(seeds, size=len(seeds)).tolist() for cell, seeds in losses.items()}


def power_laws(plan: Plan, losses: Losses) -> dict[str, Any]:
    """Fit straight lines: loss over text for each size, loss over size for each amount of text."""
    found: dict[str, Any] = {"over_text": {}, "over_size": {}}
    for kind, axis in (("over_text", 0), ("over_size", 1)):
        for fixed in sorted({cell[axis] for cell in losses}):
            mine = {cell: seeds for cell, seeds in losses.items() if cell[axis] == fixed}
            if len(mine) < 4:
                continue
            runs = to_runs(plan, mine)
            x = runs.d if kind == "over_text" else runs.n
            found[kind][str(fixed)] = line(plan, x, mine)
    return found


def line(plan: Plan, x: NDArray[np.float64], losses: Losses) -> dict[str, Any]:
    """Fit one straight line; exponent with an interval over redrawn seeds, R², number of points."""
    rng, law = np.random.default_rng(23), power_law(x, to_runs(plan, losses).loss)
    drawn = [
        power_law(x, to_runs(plan, redraw(losses, rng)).loss).exponent
        for _ in range(plan.n_resamples)
    ]
    return {
        "constant": law.constant, "exponent": [law.exponent, *percentiles(drawn)],
        "r_squared": law.r_squared, "n_cells": len(losses),
    }  # fmt: skip


def schedule_record(
    plan: Plan, losses: Losses, passed: Mapping[int, list[dict[str, float]]]
) -> dict[str, Any]:
    """Compare runs that ended with checkpoints of longer runs at the same amount of text.

    `passed` holds by width the losses on the way of each seed's longest run. Returns JSON values:
    both losses by cell, and the law fitted to either kind.
    """
    longest = plan.levels[-1]
    ended: dict[Cell, list[float]] = {}
    stopped: dict[Cell, list[float]] = {}
    for width, seeds in passed.items():
        for level in plan.levels:
            cell = Cell(width, level)
            ended[cell] = losses[cell]
            last = level == longest
            stopped[cell] = losses[cell] if last else [seed[str(level)] for seed in seeds]
    pairs = {name_of(cell): {"ended": ended[cell], "on_the_way": stopped[cell]} for cell in ended}
    return {
        "cells": pairs,
        "law, ended": law_record(plan, to_runs(plan, ended), fit_law)[2],
        "law, on the way": law_record(plan, to_runs(plan, stopped), fit_law)[2],
    }
