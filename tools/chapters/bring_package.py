# SPDX-License-Identifier: MIT
"""Install the book's package, and what its chapters need, into the Python that runs this.

A chapter's opening cell runs it in Colab or in a Jupyter of the reader's own. Torch and its
neighbours stay as they are: on such machines they are built for the hardware. All else that is new
enough stays too, unless pip has to replace it for something that is missing; what was replaced is
said at the end. Nothing but Python and pip is needed.

    python -m tools.chapters.bring_package
"""

import importlib
import os
import re
import runpy
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
OLDEST_PYTHON = (3, 11)
NEVER_TOUCHED = ("torch", "torchvision", "torchaudio", "numpy", "matplotlib")
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:>=(?P<least>[0-9.]+))?")
_COMES = re.compile(r"\s*(?:Downloading|Using cached) (?P<file>\S+)\.(?:whl|tar\.gz) (?P<size>.*)")


class BringError(Exception):
    """The environment cannot be completed; the message says what to do."""

    def _render_traceback_(self) -> list[str]:
        """Let a notebook show the message alone."""
        return [f"Stopped: {self}"]


def requirements(pyproject: Path) -> dict[str, str]:
    """Read what the package and the chapters need: name → lower bound of the version; empty = any.

    Raises:
        ValueError: A requirement is no name with a lower bound.
    """
    import tomllib  # not at the top: an older Python shall hear that it is too old

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
    there = {name: installed(name) for name in NEVER_TOUCHED if installed(name)}
    for name, has in there.items():
        if not is_enough(has, needed.get(name, "")):
            raise BringError(
                f"the chapters need {name}>={needed[name]}, and {has} is installed."
                f" This cell does not replace it: upgrade it yourself (pip install -U {name}),"
                " restart the kernel, and run the cell again"
            )
    return [f"{name}=={has}" for name, has in there.items()]


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
    needed = requirements(root / "pyproject.toml")
    constraints = kept(needed)
    lacking = [
        f"{name}>={least}" if least else name
        for name, least in needed.items()
        if not is_enough(installed(name), least)
    ]
    names = ", ".join(one.split(">")[0] for one in lacking)
    print(f"Missing or too old: {names or 'the package alone'}", flush=True)
    before = _versions()
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "stays.txt"
        file.write_text("\n".join(constraints) + "\n", encoding="utf-8")
        common = ["--constraint", str(file), *_torch_index(root)]
        if lacking:  # before the rest: pip would first try each old version beside what is there
            _pip_install([*common, *lacking])
        _pip_install([*common, "--editable", f"{root}[chapters]"])
    _make_visible()
    print("\n".join(changes(before, _versions())))


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Say in lines what an installation replaced, and whether the kernel has to start again.

    Both map a package's name to its version.
    """
    new = [name for name in after if name not in before]
    other = [name for name in after if before.get(name, after[name]) != after[name]]
    lines = [f"The book's package is installed, with {len(new) - ('pretrain-book' in new)} more."]
    if other:
        moves = [f"{name} {before[name]} → {after[name]}" for name in sorted(other)]
        lines.append(f"Replaced: {', '.join(moves)}.")
    if loaded := [name for name in other if name.replace("-", "_") in sys.modules]:
        lines.append(f"Restart the kernel before you go on: it has loaded {', '.join(loaded)}.")
    return lines


def _pip_install(arguments: list[str]) -> None:
    """Run pip, show a line for every file that comes, and end with its error if it fails.

    Raises:
        BringError: pip failed.
    """
    command = [sys.executable, "-m", "pip", "install", "--progress-bar", "off", "--retries", "2"]
    command += ["--disable-pip-version-check", *arguments]
    said = []
    settings = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=settings
    ) as pip:
        for line in pip.stdout or ():
            said.append(line.strip())
            if arrival := _arrival(line):
                print(f"  {arrival}", flush=True)
            elif line.startswith("Installing collected packages"):
                number = line.count(",") + 1
                print(f"  installing {number} package{'s' * (number > 1)}", flush=True)
    if pip.returncode:
        raise BringError(f"pip ended with code {pip.returncode}: {_reason(said)}")


def _arrival(line: str) -> str:
    """Return name, version and size of a large file that a line of pip's output announces."""
    comes = _COMES.match(line)
    if not comes or "MB" not in comes["size"]:
        return ""
    file = unquote(comes["file"]).rsplit("/", 1)[-1]  # other indexes give whole addresses
    return " ".join([*file.split("-")[:2], comes["size"]])


def _reason(said: list[str]) -> str:
    """Return the lines of pip's output that tell why it failed, in one line."""
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR")]
    if any("No module named pip" in line for line in said):
        return "this Python has no pip; python -m ensurepip brings it"
    if any("Retrying" in line for line in said):
        errors.insert(0, "its index does not answer; is there a network?")
    return " ".join(dict.fromkeys(errors or said[-1:]))[:2000]


def _torch_index(root: Path) -> list[str]:
    """Return pip's option for the small CPU build, where torch is missing and no GPU is there."""
    script = root / "tools" / "checks" / "torch_index.py"
    if installed("torch") or shutil.which("nvidia-smi") or sys.platform != "linux":
        return []
    if not script.is_file():
        return []
    found = runpy.run_path(str(script))
    return str(found["pip_option"](os.environ.get("TORCH_INDEX", found["CPU_INDEX"]))).split()


def _versions() -> dict[str, str]:
    """Return every installed package's name and version."""
    return {one.metadata["Name"].lower(): one.version for one in distributions() if one.metadata}


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
    try:
        bring(ROOT)
    except BringError as error:
        sys.exit(f"Stopped: {error}")
