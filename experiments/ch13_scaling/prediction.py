# SPDX-License-Identifier: MIT
"""Predict what larger runs of the study of scaling will lose, before they are trained."""

import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ch13_scaling.analysis import Losses, law_record, name_of, parameters, to_runs
from experiments.ch13_scaling.plan import Cell, Plan
from experiments.common.records import rounded
from pretrain_lab.paths import RUNS
from pretrain_lab.run_state import replacing
from pretrain_lab.scaling.bootstrap import AnyLaw, residuals
from pretrain_lab.scaling.isoflop import power_law
from pretrain_lab.scaling.laws import Runs, fit_kaplan, fit_law
from pretrain_lab.statistics.intervals import percentiles


def predicted(
    plan: Plan, law: AnyLaw, drawn: list[Any], runs: Runs, cells: list[Cell]
) -> dict[str, list[float]]:
    """Predict the loss of single runs: by cell ("width x level") loss and its 95 % interval.

    Each bootstrap law (`drawn`) gives one value, moved by the error of one run of the fit drawn at
    random: the interval holds uncertainty about the law and noise between runs, but not that its
    form is wrong.
    """
    rng, errors, found = np.random.default_rng(17), residuals(law, runs), {}
    for cell in cells:
        n, d = parameters(cell), plan.n_characters(cell)
        values = [float(other.loss(n, d)) for other in drawn]
        moved = np.array(values) * np.exp(rng.choice(errors, size=len(values)))
        found[name_of(cell)] = [float(law.loss(n, d)), *percentiles(moved)]
    return found


def frontier(plan: Plan, losses: Losses) -> tuple[list[float], list[float]]:
    """List the cells that no cheaper one beats: compute, and mean loss over seeds."""
    cells = sorted(losses, key=plan.flops)
    compute: list[float] = []
    best: list[float] = []
    for cell in cells:
        loss = float(np.mean(losses[cell]))
        if not best or loss < best[-1]:
            compute.append(float(plan.flops(cell)))
            best.append(loss)
    return compute, best


def predict(plan: Plan, losses: Losses, cells: list[Cell]) -> dict[str, Any]:
    """Predict the losses of the held-out cells from those of the fit's runs.

    Returns JSON values: the prediction of three ways, the main one first; their hash, and the time.
    """
    runs = to_runs(plan, losses)
    law, drawn, made = law_record(plan, runs, fit_law)
    other, others, kaplan = law_record(plan, runs, fit_kaplan)
    line = power_law(*map(np.array, frontier(plan, losses)))
    content = rounded({
        "law": made, "kaplan_law": kaplan,
        "main": predicted(plan, law, drawn, runs, cells),
        "kaplan": predicted(plan, other, others, runs, cells),
        "compute line": {
            name_of(cell): line.constant * plan.flops(cell) ** line.exponent
            for cell in cells
        },
    })  # fmt: skip
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"content": content, "sha256": digest(content), "time": now}


def digest(content: dict[str, Any]) -> str:
    """Hash a prediction; the same after it was written and read."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def misses(prediction: dict[str, Any], losses: Losses) -> dict[str, Any]:
    """Compare the losses of held-out runs with the result of `predict`.

    Returns:
        By cell: losses, and for each way the miss in nats and per cent (positive: the run lost more
        than predicted); for the laws also which runs lay in the interval.
    """
    found: dict[str, Any] = {}
    for cell, seeds in losses.items():
        ways: dict[str, Any] = {}
        mean = float(np.mean(seeds))
        for way in ("main", "kaplan", "compute line"):
            said = prediction["content"][way][name_of(cell)]
            value, *ends = said if isinstance(said, list) else [said]
            ways[way] = {
                "predicted": said, "miss": mean - value, "percent": 100 * (mean / value - 1),
                "inside": [ends[0] <= loss <= ends[1] for loss in seeds] if ends else None,
            }  # fmt: skip
        found[name_of(cell)] = {"losses": seeds, "ways": ways}
    return found


def checked(prediction: dict[str, Any]) -> dict[str, Any]:
    """Return a stored prediction, after checking that it is still the one that was hashed.

    Raises:
        ValueError: Its content has another hash.
    """
    actual = digest(prediction["content"])
    if actual != prediction["sha256"]:
        raise ValueError(f"expected a prediction with hash {prediction['sha256']}, got {actual}")
    return prediction


def publish(prediction: dict[str, Any], folder: Path = RUNS) -> None:
    """Write the result of `predict` to a file, which may be committed before it is tested."""
    path = folder / "scaling_prediction.json"
    if path.exists() and json.loads(path.read_text())["sha256"] == prediction["sha256"]:
        return
    with replacing(path) as part:
        part.write_text(json.dumps(prediction, indent=1) + "\n")
