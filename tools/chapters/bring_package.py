# SPDX-License-Identifier: MIT
"""Install the book's package, and what its chapters need, into the Python that runs this.

A chapter's opening cell runs it in Colab or in a Jupyter of the reader's own. What is installed
and new enough stays as it is, torch above all: on such machines it is built for their hardware.
What is missing or too old comes by pip. Nothing but Python and pip is needed.

    python -m tools.chapters.bring_package
"""

import importlib
import re
import site
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OLDEST_PYTHON = (3, 11)
NEVER_TOUCHED = ("torch", "torchvision", "torchaudio", "numpy", "matplotlib")
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:>=(?P<least>[0-9.]+))?")


class BringError(SystemExit):
    """The environment cannot be completed; the message says what to do."""


def requirements(pyproject: Path) -> dict[str, str]:
    """Read what the package and the chapters need: name → lower bound of the version; empty = any.

    Raises:
        ValueError: A requirement is no name with a lower bound.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    found = {}
    for line in project["dependencies"] + project["optional-dependencies"]["chapters"]:
        match = _REQUIREMENT.fullmatch(line)
        if match is None:
            raise ValueError(f"{pyproject.name}: expected NAME or NAME>=VERSION, got {line!r}")
        found[match["name"]] = match["least"] or ""
    return found


def installed(name: str) -> str:
    """Return the installed version of a package, or nothing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def is_enough(has: str, least: str) -> bool:
    """Return whether an installed version is at least another, by their leading numbers.

    `has` is such as 2.9.0+cu128, or empty = not installed; `least` empty = any.
    """
    return bool(has) and _numbers(has) >= _numbers(least)


def kept(needed: dict[str, str]) -> list[str]:
    """Return constraints, such as torch==2.9.0+cu128, for the packages that pip must leave alone.

    `needed` maps a package's name to its lower bound.

    Raises:
        BringError: One that is never touched is too old.
    """
    for name in NEVER_TOUCHED:
        if installed(name) and not is_enough(installed(name), needed.get(name, "")):
            raise BringError(
                f"the chapters need {name}>={needed[name]}, and {installed(name)} is installed."
                f" This cell does not replace it: upgrade it yourself (pip install -U {name}),"
                " restart the kernel, and run the cell again"
            )
    names = dict.fromkeys([*NEVER_TOUCHED, *needed])
    enough = [name for name in names if is_enough(installed(name), needed.get(name, ""))]
    return [f"{name}=={installed(name)}" for name in enough]


def bring(root: Path) -> None:
    """Install the package in editable form with the chapters' requirements.

    Raises:
        BringError: Python is too old, a package that stays is, or pip failed.
    """
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        raise BringError(
            f"the book needs Python {wanted} or newer, this is {sys.version.split()[0]}"
        )
    constraints = kept(requirements(root / "pyproject.toml"))
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "stays.txt"
        file.write_text("\n".join(constraints) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--constraint", str(file)]
        command += ["--editable", f"{root}[chapters]"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BringError(f"pip ended with code {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    _make_visible()
    print(f"The package of the book is installed; {len(constraints)} packages stayed as they were.")


def _make_visible() -> None:
    """Let the running interpreter see an editable package that was installed just now."""
    importlib.invalidate_caches()
    for folder in {sysconfig.get_path("purelib"), site.getusersitepackages()}:
        if Path(folder).is_dir():
            site.addsitedir(folder)


def _numbers(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version without zeros at the end: 2.9.0+cu128 → (2, 9)."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    numbers = list(map(int, match[0].split("."))) if match else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


if __name__ == "__main__":
    bring(ROOT)
