# SPDX-License-Identifier: MIT
"""Add up the processor time of everything that the book has run (EFF-R1).

Writes data/runs/book_seconds.json from the records, the cards of the models and the receipts of
the chapters: a second's work, to be repeated when a record was added. A run that was stopped and
went on may state only its last session; of several statements the largest counts, so the sum is a
lower bound. A model that a study trains and stores counts in the study's record. What was tried
and thrown away while the book was written is in no record.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pretrain_lab.paths import CHECKPOINTS, RUNS

NAME = "book_seconds"
NO_STUDY = {NAME, "receipts"}
IN_STUDIES = ("contest_", "t5_prefixes", "t5_tasks")  # models that a record accounts for


def stated(value: Any, key: str = "") -> Iterator[float]:
    """Yield every number that a record states under a key of processor time, in seconds."""
    if isinstance(value, dict):
        each = value.get("cpu_seconds_each")
        if each is not None:
            yield sum(numbers(each))
        for name, item in value.items():
            yield from stated(item, name)
    elif key == "cpu_minutes_total":
        yield 60 * value
    elif "cpu_seconds" in key and isinstance(value, int | float):
        yield float(value)


def numbers(value: Any) -> Iterator[float]:
    """Yield the measurements below a key, leaving means and intervals out."""
    if isinstance(value, dict):
        inside = [value["values"]] if "values" in value else value.values()
        for item in inside:
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    else:
        yield float(value)


def largest(path: Path) -> float:
    """Return the longest processor time that a file states; 0 = it states none."""
    return max(stated(json.loads(path.read_text())), default=0.0)


def add_up(runs: Path = RUNS, checkpoints: Path = CHECKPOINTS) -> dict[str, Any]:
    """Sum the studies, the trained models and one run of every chapter.

    Returns CPU-seconds of each file, and the sums of the three kinds.
    """
    studies = {p.stem: largest(p) for p in sorted(runs.glob("*.json")) if p.stem not in NO_STUDY}
    cards = [p for p in sorted(checkpoints.glob("*.json")) if not p.stem.startswith(IN_STUDIES)]
    models = {p.stem: largest(p) for p in cards}
    receipts = json.loads((runs / "receipts.json").read_text())["chapters"]
    chapters = {name: float(receipt["cpu"]) for name, receipt in receipts.items()}
    parts = {"studies": studies, "models": models, "chapters": chapters}
    return {
        "unit": "CPU-seconds on one core; a lower bound",
        "seconds": {name: round(sum(part.values())) for name, part in parts.items()},
        "unstated": [name for name, value in {**studies, **models}.items() if not value],
        "longest": dict(sorted(studies.items(), key=lambda one: -one[1])[:5]),
        "n": {name: len(part) for name, part in parts.items()},
    }


if __name__ == "__main__":
    (RUNS / f"{NAME}.json").write_text(json.dumps(add_up(), indent=1) + "\n")
