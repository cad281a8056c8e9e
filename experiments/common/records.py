# SPDX-License-Identifier: MIT
"""What every study records in the same way: results, versions, durations, means over seeds."""

import json
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from scipy import stats

from pretrain_lab.paths import RUNS

N_FIRST = 5
"""Losses of the first steps that a record keeps; a test runs these steps again."""


@dataclass(frozen=True)
class Clock:
    """When a study started, on the wall and in processor time."""

    wall: float = field(default_factory=time.time)
    cpu: float = field(default_factory=time.process_time)

    def seconds(self) -> dict[str, int]:
        """Return how long ago that was."""
        return {
            "seconds": round(time.time() - self.wall),
            "cpu_seconds": round(time.process_time() - self.cpu),
        }


def versions() -> dict[str, str]:
    """Return the versions that a record or a model's card states."""
    return {"python": platform.python_version(), "torch": torch.__version__}


def rounded(value: Any, digits: int = 5) -> Any:
    """Round all floats inside lists and dictionaries."""
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    return [rounded(item, digits) for item in value] if isinstance(value, list | tuple) else value


def write_run(name: str, result: dict[str, Any], clock: Clock, *, folder: Path = RUNS) -> None:
    """Write a study, as the chapter reads it, to data/runs/NAME.json, with versions and duration.

    `clock` was made at the start.
    """
    about = {"versions": versions(), "n_threads": torch.get_num_threads(), **clock.seconds()}
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rounded({**result, **about}), indent=1)
    (folder / f"{name}.json").write_text(text + "\n")


def seed_interval(values: list[float]) -> dict[str, Any]:
    """Return mean and 95 % interval over two or more seeds by Student's t, with the values."""
    items = torch.tensor(values, dtype=torch.float64)
    quantile = round(stats.t.ppf(0.975, len(values) - 1), 3)  # three digits, as tables print it
    half = quantile * items.std().item() / len(values) ** 0.5
    mean = items.mean().item()
    return {"mean": mean, "low": mean - half, "high": mean + half, "values": values}
