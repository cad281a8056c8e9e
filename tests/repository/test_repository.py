# SPDX-License-Identifier: MIT
"""The layout that everything stands on."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement


def python(repository: Path, *arguments: str) -> str:
    """Run Python from the root and return what it prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, input="q\n")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_code_is_a_source_root_and_no_package(repository: Path):
    loose = [path.name for path in (repository / "code").glob("*.py")]
    packages = [path.parent.name for path in (repository / "code").glob("*/__init__.py")]
    assert loose == []
    assert sorted(packages) == ["pretrain", "pretrain_book", "pretrain_lab"]


def test_the_name_code_means_the_standard_library(repository: Path):
    file = python(repository, "-c", "import code; print(code.__file__)").strip()
    assert not Path(file).is_relative_to(repository / "code")
    python(repository, "-m", "pdb", "tools/checks/torch_index.py")  # pdb imports code


def test_no_folder_is_called_static(repository: Path):
    # the builder would load every script in such a folder on every page
    top = [path for path in repository.iterdir() if not path.name.startswith((".", "_"))]
    assert [path for folder in top for path in folder.rglob("_static")] == []


def test_direct_dependencies_have_a_reason_and_a_pin(repository: Path):
    pinned = (repository / "requirements.txt").read_text(encoding="utf-8")
    pins = {line.split("==")[0] for line in pinned.splitlines() if "==" in line}
    lists = (repository / "requirements.in").read_text(encoding="utf-8")
    lines = [line for line in lists.splitlines() if line and not line.startswith("#")]
    project = (repository / "pyproject.toml").read_text(encoding="utf-8")
    of_project = re.findall(r'^  "([a-z].*?)", +(# .*)$', project.partition("[tool.")[0], re.M)
    lines += [f"{requirement} {reason}" for requirement, reason in of_project]
    direct = set()
    for line in lines:
        requirement, _, reason = line.partition("#")
        assert len(reason.strip()) > 10, line
        direct.add(re.split(r"[=<>\s]", requirement)[0])
    assert direct <= pins
    table = tomllib.loads(project)["project"]
    named = [*table["dependencies"]]
    for extra in table["optional-dependencies"].values():
        named += extra
    assert sorted(named) == sorted(requirement for requirement, _ in of_project)


def test_pins_are_within_the_bounds_of_the_project(repository: Path):
    pinned = (repository / "requirements.txt").read_text(encoding="utf-8")
    pins = dict(line.split()[0].split("==") for line in pinned.splitlines() if "==" in line)
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"] + project["optional-dependencies"]["chapters"]:
        bound = Requirement(requirement)
        assert bound.specifier.contains(pins[bound.name]), requirement


def test_pins_hold_on_every_system(repository: Path):
    for line in (repository / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            assert re.match(r"[\w.-]+==[\w.]+\s", f"{line} "), line  # no +cpu, no address


def test_make_help_lists_every_command(repository: Path):
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    commands = re.search(r"^\.PHONY: (.*)$", makefile, re.M).group(1).split()
    listed = re.findall(r"^([a-z]+):.*##", makefile, re.M)
    assert listed == commands


def test_chapters_and_code_name_no_folder_of_one_machine(repository: Path):
    pattern = re.compile(r"/(?:home|root|Users|work)/")
    for folder in ("chapters", "code", "data", "experiments", "benchmarks"):
        for path in (repository / folder).rglob("*"):
            if path.suffix in {".py", ".md", ".json", ".toml", ".ipynb"}:
                assert not pattern.search(path.read_text(encoding="utf-8")), path
