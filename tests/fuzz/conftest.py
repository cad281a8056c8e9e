# SPDX-License-Identifier: MIT
"""Count what the fuzz tests called, say so at the end, and write it down where asked.

FUZZ_CASES=2000 draws as many new cases for each function and prints their seed, FUZZ_SEED=number
draws those of that seed again, FUZZ_RECORD=path adds the counts of the functions to a JSON file.
"""

import json
import os
import platform
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import harness
import pytest
import torch

PACKAGES = ("hypothesis", "numpy", "scipy", "tokenizers", "torch")
START = time.monotonic()


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Use one thread, as the unit tests do."""
    torch.set_num_threads(1)


def pytest_report_header() -> list[str]:
    """Say how to draw the same cases again."""
    if not harness.LONG:
        return []
    return [f"fuzz: {harness.N_CASES} cases a function, FUZZ_SEED={harness.SEED}"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Sum up the calls."""
    if not harness.RECORDS:
        return
    records = harness.RECORDS.values()
    errors = sum((record.errors for record in records), start=Counter())
    by_type = ", ".join(f"{n:,} {name}" for name, n in errors.most_common()) or "no error"
    terminalreporter.write_line(
        f"fuzz: {len(records)} functions, {sum(r.cases for r in records):,} cases, "
        f"{sum(r.returned for r in records):,} returned; {by_type}"
        + (f"; FUZZ_SEED={harness.SEED}" if harness.LONG else "")
    )


def pytest_sessionfinish() -> None:
    """Write the counts, with what they were counted with; those of an older run are replaced."""
    if "FUZZ_RECORD" not in os.environ or not harness.RECORDS:
        return
    path = Path(os.environ["FUZZ_RECORD"])
    functions = json.loads(path.read_text(encoding="utf-8"))["functions"] if path.exists() else {}
    seed = harness.SEED if harness.LONG else None
    functions |= {name: {**r.as_dict(), "seed": seed} for name, r in harness.RECORDS.items()}
    found = {
        "seconds_of_last_run": round(time.monotonic() - START),
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
        "functions": dict(sorted(functions.items())),
    }
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
