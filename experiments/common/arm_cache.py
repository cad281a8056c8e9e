# SPDX-License-Identifier: MIT
"""Keep the finished arms of a long study, so that one that was killed goes on where it stopped.

Each arm is a file in a folder NAME/DIGEST, where other settings have another digest. Results are
JSON in data/runs/unfinished, to be committed as long as the study goes on; weights and interrupted
trainings are safetensors in runs/studies, which stays on the machine. Several processes may share
the work.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from experiments.common.records import Clock, rounded, write_run
from pretrain_lab.paths import ROOT, RUNS
from pretrain_lab.run_state import replacing

RESULTS, STATES = RUNS / "unfinished", ROOT / "runs/studies"


class ArmCache:
    """Results of a study's arms by name, and the processor time that they took."""

    def __init__(
        self, name: str, settings: Any, *, keep: bool = True, folder: Path | None = None
    ) -> None:
        """Name the folder; nothing is read or written yet.

        Args:
            name: Name of the study's record, without ending.
            settings: JSON values that decide what the arms compute.
            keep: Whether to read and write files at all; False for a quick run.
            folder: Instead of the two folders of the project.
        """
        self.name, self._clock = name, Clock()
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]
        roots = (folder or RESULTS, folder or STATES)
        self.folders = tuple(root / name / digest for root in roots) if keep else None
        self._known: dict[str, Any] = {}

    def path(self, arm: str, suffix: str = ".safetensors") -> Path | None:
        """Return the file of an arm; None in a quick run."""
        if self.folders is None:
            return None
        results, states = self.folders
        folder = results if suffix == ".json" else states
        return folder / f"{quote(arm, safe=' ,')}{suffix}"

    def get(self, arm: str, compute: Callable[[], Any] | None = None) -> Any:
        """Return an arm's result, JSON values, computed now unless it is there (or LookupError)."""
        path = self.path(arm, ".json")
        if arm not in self._known and path is not None and path.exists():
            self._known[arm] = json.loads(path.read_text())
        if arm not in self._known:
            if compute is None:
                raise LookupError(f"arm {arm!r} of {self.name} is not finished")
            started, result = time.process_time(), compute()
            found = {"result": result, "cpu_seconds": time.process_time() - started}
            self._known[arm] = json.loads(json.dumps(found))
            if path is not None:
                with replacing(path) as part:
                    part.write_text(json.dumps(found))
        return self._known[arm]["result"]

    @property
    def cpu_seconds(self) -> float:
        """Return the processor time of all arms asked for, those of earlier runs included."""
        return float(sum(found["cpu_seconds"] for found in self._known.values()))

    def forget(self) -> None:
        """Delete what is kept, so that the next run starts anew."""
        for folder in self.folders or ():
            shutil.rmtree(folder.parent, ignore_errors=True)

    def conclude(self, record: dict[str, Any], *, folder: Path = RUNS) -> None:
        """Write the record and forget the arms; of a quick run, only print it."""
        if self.folders is None:
            print(json.dumps(rounded(record), indent=1))
            return
        clock = Clock(self._clock.wall, time.process_time() - self.cpu_seconds)
        write_run(self.name, record, clock, folder=folder)
        self.forget()
