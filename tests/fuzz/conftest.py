# SPDX-License-Identifier: MIT
"""Count what the fuzz tests called, say so at the end, and write it down where asked.

FUZZ_CASES=2000 draws as many new cases for each function and prints their seed, FUZZ_SEED=number
draws those of that seed again, FUZZ_RECORD=path writes the counts of all functions as JSON.
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
    """Write the counts, with what they were counted with."""
    path = os.environ.get("FUZZ_RECORD")
    if not path or not harness.RECORDS:
        return
    found = {
        "cases_a_function": harness.N_CASES,
        "seed": harness.SEED if harness.LONG else None,
        "seconds": round(time.monotonic() - START),
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
        "functions": {name: r.as_dict() for name, r in sorted(harness.RECORDS.items())},
    }
    Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
