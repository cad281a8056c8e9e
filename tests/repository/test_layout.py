# SPDX-License-Identifier: MIT
"""The shape of the source tree, and what importing the package may do."""

import ast
import subprocess
import sys
from pathlib import Path

from pretrain_lab.paths import ROOT

PACKAGES = ("pretrain", "pretrain_lab", "pretrain_book")
MODULES = sorted(path for name in PACKAGES for path in (ROOT / "code" / name).rglob("*.py"))
CORE = [path for path in MODULES if path.parent.name == "pretrain"]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python from the root of the repository."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def dotted(path: Path) -> str:
    """Name a module as an import does: pretrain_book.exercises.ch04."""
    parts = path.relative_to(ROOT / "code").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def test_modules_only_define() -> None:
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


def test_importing_the_models_is_light() -> None:
    """No network, no draw from any generator, no setting, no plotting or published package."""
    result = python("-W", "error", "-c", IMPORT_ALL, *map(dotted, CORE))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[]\n"
    assert result.stderr == ""


def test_importing_anything_is_quiet() -> None:
    """The other modules may need more packages, but they do nothing either."""
    result = python("-W", "error", "-c", IMPORT_ALL, *map(dotted, MODULES))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
