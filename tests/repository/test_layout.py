# SPDX-License-Identifier: MIT
"""The shape of the repository: what stands where, who imports whom, what importing may do."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from pretrain_lab.paths import ROOT

PACKAGES = ("pretrain", "pretrain_lab", "pretrain_book")
MODULES = sorted(path for name in PACKAGES for path in (ROOT / "code" / name).rglob("*.py"))
CORE = [path for path in MODULES if path.parent.name == "pretrain"]


def python(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python from the root of the repository."""
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, input=typed, check=False
    )


def dotted(path: Path) -> str:
    """Name a module as an import does: pretrain_book.exercises.ch04."""
    parts = path.relative_to(ROOT / "code").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def test_modules_only_define():
    """On the top level stand imports, constants, functions and classes; no loop and no call.

    A command may call itself when it is run: `if __name__ == "__main__":`.
    """
    allowed = (
        ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef,
    )  # fmt: skip
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_command = ast.unparse(node).startswith("if __name__ == '__main__':")
            ok = is_docstring or is_command or isinstance(node, allowed)
            assert ok, f"{path.name}, line {node.lineno}"


IMPORT_ALL = """
import builtins, importlib, random, socket, sys
import numpy, torch

def refuse(*arguments, **options):
    raise AssertionError(f"opened on import: {arguments}")

before = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
socket.socket.connect = refuse
for name in sys.argv[1:]:
    importlib.import_module(name)
after = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
assert torch.equal(before[0], after[0]) and before[1:] == after[1:]
assert (threads, dtype) == (torch.get_num_threads(), torch.get_default_dtype())
print(sorted(set(sys.modules) & {"matplotlib.pyplot", "transformers", "ipywidgets", "IPython",
                                 "scipy", "sklearn", "nbformat"}))
"""


def test_importing_the_models_is_light():
    """No network, no draw from any generator, no setting, no plotting or published package."""
    result = python("-W", "error", "-c", IMPORT_ALL, *map(dotted, CORE))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[]\n"
    assert result.stderr == ""


def test_importing_anything_is_quiet():
    """The other modules may need more packages, but they do nothing either."""
    result = python("-W", "error", "-c", IMPORT_ALL, *map(dotted, MODULES))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Ask import-linter about the packages in a folder laid out like the repository."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "code")}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("pretrain/masks.py", "import numpy", "The core needs torch alone"),
        ("pretrain/masks.py", "from pretrain.gpt import GPT", "The core in reading order"),
        ("pretrain_lab/paths.py", "import pretrain_book.html", "The furniture of notebooks"),
        ("pretrain_lab/statistics/rouge.py", "import pretrain_lab.hub.files", "The rooms of"),
        ("pretrain_lab/scaling/flops.py", "import pretrain_lab.oracles.hmm", "know nothing of"),
    ],
)
def test_a_planted_import_breaks_its_contract(
    module: str, line: str, contract: str, tmp_path: Path
):
    shutil.copytree(ROOT / "code", tmp_path / "code", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "code" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    broken = [text for text in done.stdout.splitlines() if " BROKEN" in text]
    assert contract in "".join(broken)


def test_no_import_breaks_a_contract():
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_code_is_a_source_root_and_no_package():
    loose = [path.name for path in (ROOT / "code").glob("*.py")]
    packages = [path.parent.name for path in (ROOT / "code").glob("*/__init__.py")]
    assert loose == []
    assert sorted(packages) == sorted(PACKAGES)


def test_the_name_code_means_the_standard_library():
    file = python("-c", "import code; print(code.__file__)").stdout.strip()
    assert not Path(file).is_relative_to(ROOT / "code")
    done = python("-m", "pdb", "tools/checks/torch_index.py", typed="q\n")  # pdb imports code
    assert done.returncode == 0, done.stderr


def test_no_folder_is_called_static():
    # the builder would load every script in such a folder on every page
    top = [path for path in ROOT.iterdir() if not path.name.startswith((".", "_"))]
    assert [path for folder in top for path in folder.rglob("_static")] == []


def test_direct_dependencies_have_a_reason_and_a_pin():
    pinned = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = {line.split("==")[0] for line in pinned.splitlines() if "==" in line}
    lists = (ROOT / "requirements.in").read_text(encoding="utf-8")
    lines = [line for line in lists.splitlines() if line and not line.startswith("#")]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
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


def test_pins_are_within_the_bounds_of_the_project():
    pinned = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = dict(line.split()[0].split("==") for line in pinned.splitlines() if "==" in line)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"] + project["optional-dependencies"]["chapters"]:
        bound = Requirement(requirement)
        assert bound.specifier.contains(pins[bound.name]), requirement


def test_pins_hold_on_every_system():
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            assert re.match(r"[\w.-]+==[\w.]+\s", f"{line} "), line  # no +cpu, no address


def test_pins_accept_every_python_that_the_readme_promises():
    promised = re.search(r"Python (\d+\.\d+) or newer", (ROOT / "README.md").read_text("utf-8"))[1]
    refused = {
        one.name: needed
        for one in distributions()
        if (needed := one.metadata.get("Requires-Python"))
        and not SpecifierSet(needed).contains(f"{promised}.0")
    }
    assert refused == {}


def test_make_help_lists_every_command():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.search(r"^\.PHONY: (.*)$", makefile, re.M).group(1).split()
    listed = re.findall(r"^([a-z]+):.*##", makefile, re.M)
    assert listed == commands


def test_chapters_and_code_name_no_folder_of_one_machine():
    pattern = re.compile(r"/(?:home|root|Users|work)/")
    for folder in ("chapters", "code", "data", "experiments", "benchmarks"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".md", ".json", ".toml", ".ipynb"}:
                assert not pattern.search(path.read_text(encoding="utf-8")), path
