# SPDX-License-Identifier: MIT
"""Keep the finished arms of a long study, so that one that was killed goes on where it stopped.

The arms stand in NAME.arms.json beside the record until the record is written. What was kept under
other settings is not used. The record's CPU-seconds are those of all arms, earlier runs included.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.common.records import Clock, rounded, write_run
from pretrain.run_state import replacing
from pretrain_lab.paths import RUNS


class FinishedArms:
    """Results of a study's arms by name, and the processor time that they took.

    Attributes:
        name: Name of the study's record, without ending.
        path: Where they are kept; None = nowhere, for a trial.
    """

    def __init__(
        self, name: str, settings: dict[str, Any], *, keep: bool = True, folder: Path = RUNS
    ) -> None:
        """Read what an earlier run left.

        Args:
            name: Name of the study's record, without ending.
            settings: JSON values; what was kept under others is dropped.
            keep: Whether to read and write a file at all.
            folder: Where the record will stand.
        """
        self.name, self._started = name, time.time()
        self.path = folder / f"{name}.arms.json" if keep else None
        self._state: dict[str, Any] = {"settings": settings, "cpu_seconds": 0.0, "arms": {}}
        if self.path is not None and self.path.exists():
            found = json.loads(self.path.read_text())
            if found["settings"] == json.loads(json.dumps(settings)):
                self._state = found

    def get(self, arm: str, compute: Callable[[], Any]) -> Any:
        """Give an arm's result, computed now unless it is there.

        Args:
            arm: Its name.
            compute: Gives JSON values.
        """
        arms = self._state["arms"]
        if arm not in arms:
            started = time.process_time()
            arms[arm] = compute()
            self._state["cpu_seconds"] += time.process_time() - started
            if self.path is not None:
                with replacing(self.path) as part:
                    part.write_text(json.dumps(self._state))
        return arms[arm]

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all arms, those of earlier runs included."""
        return float(self._state["cpu_seconds"])

    def conclude(self, record: dict[str, Any]) -> None:
        """Write the record and delete the file of the arms; of a trial, only print it.

        Args:
            record: What the chapter reads.
        """
        if self.path is None:
            print(json.dumps(rounded(record), indent=1))
            return
        clock = Clock(self._started, time.process_time() - self.cpu_seconds)
        write_run(self.name, record, clock, folder=self.path.parent)
        self.path.unlink(missing_ok=True)
