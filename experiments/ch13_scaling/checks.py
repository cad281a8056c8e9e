# SPDX-License-Identifier: MIT
"""Two checks of the study of scaling; writes data/runs/scaling_checks.json.

Floor: the sum and Kaplan's form, each with and without a constant part, are fitted to the recorded
runs below the ceiling, and their predictions are held against the recorded runs above it. So one
sees what the floor alone is worth.

Rates: the rule that gives each run its learning rate was fitted to short runs. The longest and the
largest runs are trained again with a quarter, half and twice the rate, and judged on validation
plays.

Run: python -m experiments.ch13_scaling.checks            (about 65 CPU-minutes; goes on)
     python -m experiments.ch13_scaling.checks --quick    (the floor alone; prints)
"""

import argparse
import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments.ch13_scaling.plan import TUNING_SEED, Cell, Plan
from experiments.ch13_scaling.runs import run
from experiments.common.arm_cache import ArmCache
from pretrain_lab.paths import RUNS
from pretrain_lab.scaling.laws import Array, LogLaw, Runs, fit_log_law

DELTA = 1e-3  # as in `fit_law`
FACTORS = (0.25, 0.5, 1.0, 2.0)
N_LARGEST = 2  # runs below the ceiling, by compute, whose rates are checked
NO_FLOOR = -40.0  # log of a constant part that is none


def columns(cells: list[dict[str, Any]]) -> Runs:
    """Put recorded cells into columns, a row for each seed."""
    rows = [(cell["n"], cell["d"], loss) for cell in cells for loss in cell["losses"]]
    return Runs(*np.array(rows, dtype=float).T)


def sum_law(n: Array, d: Array) -> LogLaw:
    """Give log(A / N^alpha + B / D^beta + E); x = log A, alpha, log B, beta, log E."""

    def log_law(x: Array) -> tuple[Array, Array]:
        """Give the values and their derivatives."""
        terms = np.stack([x[0] - x[1] * n, x[2] - x[3] * d, x[4] + 0 * n])
        total = np.logaddexp.reduce(terms)
        size, data, rest = np.exp(terms - total)
        return total, np.stack([size, -size * n, data, -data * d, rest], axis=1)

    return log_law


def kaplan_law(n: Array, d: Array) -> LogLaw:
    """Give log([size + text]^alpha + E); x = log of both in the middle, ratio, alpha, log E."""

    def log_law(x: Array) -> tuple[Array, Array]:
        """Give the values and their derivatives."""
        terms = np.stack([x[0] - x[2] * n, x[1] - d])
        inner = np.logaddexp.reduce(terms)
        total = np.logaddexp(x[3] * inner, x[4])
        falling, rest = np.exp(x[3] * inner - total), np.exp(x[4] - total)
        size, data = falling * x[3] * np.exp(terms - inner)
        return total, np.stack([size, data, -size * n, falling * inner, rest], axis=1)

    return log_law


FORMS: dict[str, tuple[Callable[[Array, Array], LogLaw], list[list[float]], list[Any]]] = {
    "sum": (
        sum_law,
        [
            [top, a, top, b]
            for top in (-2.0, -1.0)
            for a in (0.1, 0.3, 0.6)
            for b in (0.1, 0.3, 0.6)
        ],
        [(-12.0, 6.0), (0.01, 4.0), (-12.0, 6.0), (0.01, 4.0)],
    ),
    "Kaplan's form": (
        kaplan_law,
        [[2.0 / a, 2.0 / a, r, a] for r in (0.3, 1.0, 2.0) for a in (0.05, 0.1, 0.3, 0.6)]
        + [[-1.0, -1.0, r, a] for r in (0.3, 1.0, 2.0) for a in (0.1, 0.3, 0.6)],
        [(-60.0, 60.0), (-60.0, 60.0), (0.1, 10.0), (0.005, 2.0)],
    ),
}


def floors(record: dict[str, Any]) -> dict[str, Any]:
    """Fit each form with and without a floor; what it misses of each held-out run, in per cent."""
    below = columns(record["cells"])
    n_mid, d_mid = (math.exp(float(np.log(column).mean())) for column in (below.n, below.d))
    log_n, log_d = np.log(below.n / n_mid), np.log(below.d / d_mid)
    top, found = math.log(below.loss.min()), {}
    for form, (make, starts, bounds) in FORMS.items():
        for floored in (True, False):
            ends = (-7.0, top) if floored else (NO_FLOOR, NO_FLOOR)
            begins = [top - 1.0, top - 0.2] if floored else [NO_FLOOR]
            x = fit_log_law(
                make(log_n, log_d),
                [[*start, begin] for start in starts for begin in begins],
                [*bounds, ends],
                np.log(below.loss),
                DELTA,
            )
            errors = make(log_n, log_d)(x)[0] - np.log(below.loss)
            inside = np.abs(errors / DELTA)
            huber = np.where(inside <= 1, inside**2 / 2, inside - 0.5).sum()
            misses = {}
            for cell in record["held_out"]:
                place = (
                    np.array([math.log(cell[k] / mid)]) for k, mid in (("n", n_mid), ("d", d_mid))
                )
                said = math.exp(float(make(*place)(x)[0][0]))
                mean = float(np.mean(cell["losses"]))
                misses[f"{cell['width']} x {cell['level']}"] = 100 * (mean / said - 1)
            found[f"{form}, {'with' if floored else 'without'} floor"] = {
                "floor_nats": math.exp(x[4]) if floored else 0.0,
                "huber": float(huber),
                "mean_absolute_error": float(np.abs(errors).mean()),
                "r_squared": 1
                - float((errors**2).sum() / np.var(np.log(below.loss)) / len(errors)),
                "misses_percent": misses,
            }
    return found


def try_rate(plan: Plan, cell: Cell, lr: float) -> dict[str, Any]:
    """Train a cell at one rate: its loss on validation plays."""
    made = run(plan, cell, lr, TUNING_SEED, "validation")
    print(f"{cell} rate {lr:.5f}: {made['loss']:.4f} nats", flush=True)
    return {"lr": lr, "loss": made["loss"]}


def rates(record: dict[str, Any], cache: ArmCache, plan: Plan) -> list[dict[str, Any]]:
    """Try FACTORS times the rule's rate at the largest cells of the fit and all held-out ones."""
    fitted = sorted(record["cells"], key=lambda cell: float(cell["flops"]))[-N_LARGEST:]
    checked = []
    for made in [*fitted, *record["held_out"]]:
        cell = Cell(made["width"], made["level"])
        tried = {
            str(factor): cache.get(
                f"{cell.width} x {cell.level} rate x {factor}",
                partial(try_rate, plan, cell, factor * made["lr"]),
            )["loss"]
            for factor in FACTORS
        }
        gain = tried["1.0"] - min(tried.values())
        checked.append(
            {"width": cell.width, "level": cell.level, "lr": made["lr"], "validation_loss": tried,
             "held_out": made not in fitted, "gain_nats": gain}
        )  # fmt: skip
    return checked


def main() -> None:
    """Run both checks and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    record, plan = json.loads((RUNS / "scaling.json").read_text()), Plan()
    cache = ArmCache("scaling_checks", [plan.recipe(), FACTORS, N_LARGEST], keep=not quick)
    cache.conclude(
        {
            "question": "What is the floor worth, and are the rates of the largest runs right?",
            "unit": "misses: per cent of the loss; rates: nats per character of validation plays",
            "floors": floors(record),
            "rates": [] if quick else rates(record, cache, plan),
        }
    )


if __name__ == "__main__":
    main()
