# SPDX-License-Identifier: MIT
"""Build a book as the Makefile does, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

Build = tuple[subprocess.CompletedProcess[str], Path]
STRICT = ["-q", "-n", "-W", "--keep-going", "--all"]  # as in the Makefile


def build_book(
    source: Path, output: Path, *options: str, repository: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Build a book strictly, the same on every machine.

    Args:
        source: The folder with ``_config.yml``.
        output: Where ``_build/html`` goes.
        options: Further options of the builder.
        repository: Variables that name a repository; those of this process do not count.

    Returns:
        The finished process; return code 0 = no warning.
    """
    command = [Path(sys.executable).with_name("jupyter-book"), "build", source, *STRICT]
    command += ["--path-output", output, *options]
    names = ("BOOK_", "GITHUB_")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(names)}
    environment |= repository or {}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    done.stderr = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)  # without colours
    return done
