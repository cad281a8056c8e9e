# SPDX-License-Identifier: MIT
"""Re-execute a notebook with nbval, in a process of its own."""

import re
import subprocess
import sys
from pathlib import Path

from tools.chapters.store import ROOT

SANITIZE = ROOT / "tools" / "chapters" / "nbval_sanitize.cfg"


def nbval(path: Path) -> subprocess.CompletedProcess[str]:
    """Re-execute one notebook with nbval and compare its outputs, as `make test` does."""
    options = ["--nbval", "--nbval-current-env", "-W", "default", "-p", "no:cacheprovider", "-q"]
    options += ["--nbval-sanitize-with", str(SANITIZE)]
    command = [sys.executable, "-m", "pytest", *options, path.name]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True)
    done.stdout = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)  # without colours
    return done
