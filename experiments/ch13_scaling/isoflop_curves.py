# SPDX-License-Identifier: MIT
"""Curves of equal compute of the study of scaling, and how the best size grows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.ch13_scaling.analysis import Losses, redraw, to_runs
from experiments.ch13_scaling.plan import Plan, size
from pretrain_lab.scaling.isoflop import SizeRuns, isoflop_curve, isoflop_minimum, power_law
from pretrain_lab.statistics.intervals import percentiles

N_LEVELS = 8


def by_width(plan: Plan, losses: Losses) -> dict[int, SizeRuns]:
    """Put the runs of each size together, one row for each seed."""
    found = {}
    for width in sorted({cell.width for cell in losses}):
        mine = to_runs(plan, {cell: seeds for cell, seeds in losses.items() if cell.width == width})
        n, _, cost = size(width)
        found[width] = SizeRuns(n, cost, mine.d, mine.loss)
    return {width: runs for width, runs in found.items() if len(np.unique(runs.d)) >= 3}


def minima(plan: Plan, losses: Losses, levels: list[float]) -> list[list[float]]:
    """Return [best N, its loss, whether it lies inside] at each compute; NaN without a bend."""
    sizes, found = by_width(plan, losses), []
    for flops in levels:
        lowest = isoflop_minimum(*isoflop_curve(sizes, flops))
        found.append([float("nan")] * 3 if lowest is None else [float(v) for v in lowest])
    return found


def isoflop_record(plan: Plan, losses: Losses) -> dict[str, Any]:
    """Read the curves of equal compute off the grid, with the best size of each.

    Returns JSON values: the curves with their minima (intervals over redrawn seeds), and the power
    of compute with which the best size grows over the curves whose minimum lies inside.
    """
    sizes = by_width(plan, losses)
    levels = [plan.ceiling / 2**k for k in range(N_LEVELS, -1, -1)]
    levels = [c for c in levels if len(isoflop_curve(sizes, c)[0]) >= plan.min_sizes]
    rng, found = np.random.default_rng(19), np.array(minima(plan, losses, levels))
    again = np.array([minima(plan, redraw(losses, rng), levels) for _ in range(plan.n_resamples)])
    curves = [
        curve_record(isoflop_curve(sizes, flops), found[i], again[:, i, 0]) | {"flops": flops}
        for i, flops in enumerate(levels)
    ]
    inside = [i for i, curve in enumerate(curves) if curve["interior"]]
    exponent = growth(np.array(levels), found, again, inside)
    return {"curves": curves, "n_exponent": exponent}


def curve_record(
    curve: tuple[NDArray[Any], NDArray[Any]], found: NDArray[Any], again: NDArray[Any]
) -> dict[str, Any]:
    """Describe one curve of parameters and losses as JSON values.

    `found` is of `minima`, for all runs; `again` is best N after redrawing the seeds, NaN where the
    curve did not bend. "best_n" with its interval is None when the curve does not bend upwards.
    """
    bent = again[np.isfinite(again)]
    made: dict[str, Any] = {"n": curve[0].tolist(), "loss": curve[1].tolist()}
    made |= {"bent_share": len(bent) / len(again), "interior": bool(found[2] == 1)}
    if not np.isfinite(found[0]) or not len(bent):
        return made | {"best_n": None, "best_loss": None}
    return made | {
        "best_n": [float(found[0]), *percentiles(bent)],
        "best_loss": float(found[1]),
    }


def growth(
    levels: NDArray[Any], found: NDArray[Any], again: NDArray[Any], inside: list[int]
) -> list[float] | None:
    """Fit best N over compute on the curves named; its exponent with an interval, or None."""
    whole = [draw[inside, 0] for draw in again if np.isfinite(draw[inside, 0]).all()]
    if len(inside) < 2 or not whole:
        return None
    exponents = [power_law(levels[inside], best).exponent for best in whole]
    exponent = power_law(levels[inside], found[inside, 0]).exponent
    return [exponent, *percentiles(exponents)]
