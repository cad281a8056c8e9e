# SPDX-License-Identifier: MIT
"""Measure what a chapter's run costs, and keep the receipt.

Times, memory and versions go to ``data/runs/receipts.json``; the pages read it when they are built.
Called as a command, it prints the notebooks, those that took longest first: two processes that take
one after the other then end at about the same time.
"""

import json
import platform
import threading
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from tools.chapters.store import ROOT, notebook_paths

RECEIPTS = ROOT / "data" / "runs" / "receipts.json"
PACKAGES = ("torch", "numpy", "matplotlib", "transformers")


class Meter:
    """Measure a kernel while it runs: wall seconds, CPU seconds, peak memory of its processes."""

    def __init__(self, process_id: int) -> None:
        """Watch one process, the kernel's, and its children."""
        self.process = psutil.Process(process_id)
        self.peak_bytes = 0
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Meter":
        """Start watching."""
        self._start = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching, while the kernel still lives."""
        self.wall_seconds = time.perf_counter() - self._start
        self._stop.set()
        self._thread.join()
        self._sample()

    def receipt(self) -> dict[str, float]:
        """Return the three numbers, rounded as they are reported."""
        return {
            "wall": round(self.wall_seconds, 1),
            "cpu": round(self.cpu_seconds, 1),
            "peak": round(self.peak_bytes / 1e6),
        }

    def _watch(self) -> None:
        """Sample the processes ten times a second."""
        while not self._stop.wait(0.1):
            self._sample()

    def _sample(self) -> None:
        """Read memory and CPU time of the process tree; a dead one counts nothing."""
        try:
            tree = [self.process, *self.process.children(recursive=True)]
            memory = sum(one.memory_info().rss for one in tree)
            times = self.process.cpu_times()
        except psutil.Error:
            return
        own = times.user + times.system
        living = sum(sum(one.cpu_times()[:2]) for one in tree[1:] if one.is_running())
        ended = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
        self.cpu_seconds = max(self.cpu_seconds, own + living + ended)
        self.peak_bytes = max(self.peak_bytes, memory)


def store_receipt(chapter: str, receipt: dict[str, float]) -> None:
    """Add a chapter's receipt and this machine's versions to ``data/runs/receipts.json``."""
    receipts: dict[str, Any] = {}
    if RECEIPTS.exists():
        receipts = json.loads(RECEIPTS.read_text(encoding="utf-8"))
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    receipts.setdefault("chapters", {})[chapter] = receipt
    receipts["versions"] = versions
    receipts["chapters"] = dict(sorted(receipts["chapters"].items()))
    receipts["unit"] = {"wall": "seconds", "cpu": "CPU-seconds", "peak": "megabytes, all processes"}
    RECEIPTS.parent.mkdir(parents=True, exist_ok=True)
    RECEIPTS.write_text(json.dumps(receipts, indent=1) + "\n", encoding="utf-8")


def longest_first(paths: Iterable[Path]) -> list[Path]:
    """Sort notebooks by the time of their last run; one that never ran comes first."""
    known = json.loads(RECEIPTS.read_text(encoding="utf-8")) if RECEIPTS.exists() else {}
    receipts = known.get("chapters", {})
    return sorted(
        paths,
        key=lambda path: receipts.get(path.stem, {}).get("wall", float("inf")),
        reverse=True,
    )


if __name__ == "__main__":
    print(*(path.relative_to(ROOT) for path in longest_first(notebook_paths(ROOT))))
