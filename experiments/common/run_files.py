# SPDX-License-Identifier: MIT
"""Where the trainings of the studies keep their state."""

from pathlib import Path

from pretrain.training import Hook
from pretrain_lab.run_state import SaveRun


def save_in(path: Path | None, *, every: int) -> list[Hook]:
    """Keep the state of a run in a file, or nowhere when there is none: a quick run leaves none."""
    return [] if path is None else [SaveRun(path, every=every)]
