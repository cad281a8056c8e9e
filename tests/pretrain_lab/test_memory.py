# SPDX-License-Identifier: MIT
"""Freed megabytes go back to the system."""

import subprocess
import sys

import pytest

PROGRAM = """
from pathlib import Path
from pretrain_lab.memory import return_freed_memory

MEGABYTE = 1 << 20

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / MEGABYTE

before = resident()
blocks = [bytearray(50_000) for _ in range(4000)]  # below the size that glibc maps by itself
last = bytearray(50_000)  # stays on the heap, above the others
full = resident()
del blocks
return_freed_memory()
print(full - before, resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="an option of glibc")
def test_freed_blocks_leave_the_process() -> None:
    """Two hundred megabytes come and go."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    full, after = map(float, done.stdout.split())
    assert full > 190
    assert after < 20


def test_other_systems_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without glibc, nothing happens."""
    from pretrain_lab import memory

    def missing(name: str) -> None:
        """Find no library."""
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(memory.ctypes, "CDLL", missing)
    memory.return_freed_memory()
