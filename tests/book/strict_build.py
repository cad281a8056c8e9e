"""Build a book as the Makefile does, in a process of its own."""

import re
import subprocess
import sys
from pathlib import Path

Build = tuple[subprocess.CompletedProcess[str], Path]
STRICT = ["-q", "-n", "-W", "--keep-going", "--all"]  # as in the Makefile


def build_book(source: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build a book strictly.

    Args:
        source: The folder with ``_config.yml``.
        output: Where ``_build/html`` goes.
        options: Further options of the builder.

    Returns:
        The finished process; return code 0 = no warning.
    """
    command = [Path(sys.executable).with_name("jupyter-book"), "build", source, *STRICT]
    command += ["--path-output", output, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    done.stderr = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)  # without colours
    return done
