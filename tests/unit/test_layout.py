# SPDX-License-Identifier: MIT
"""The shape of the source tree, and what importing the package may do."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pretrain.paths import ROOT

MODULES = sorted((ROOT / "code" / "pretrain").rglob("*.py"))
CORE = [
    "masks", "positions", "attention", "dropout", "layers", "embeddings", "gpt", "bert",
    "tokenization", "objectives", "training", "step", "sharding", "resume", "checkpoints",
    "generation", "decoding", "evaluation", "blanks", "intervals", "paths", "t5", "t5_layers",
    "t5_attention", "span_noise", "spans", "seq2seq", "rewriting", "families", "family_tables",
    "huggingface_config", "huggingface", "hub_files", "agreement", "subwords",
    "published_tokenizers", "rouge", "tasks", "text_to_text", "pairs", "pair_sampling",
    "next_sentence", "flops", "questions", "shortlists", "infilling", "infilling_loss", "unmasking",
    "hidden_markov", "oracles", "span_oracle", "subword_training",
]  # fmt: skip


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python from the root of the repository."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def dotted(path: Path) -> str:
    """Name a module as an import does: pretrain.checkers.ch04_gpt."""
    parts = path.relative_to(ROOT / "code").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """List all functions, methods and classes of a module, nested ones too."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def test_code_is_a_source_root_with_one_package() -> None:
    """A package or module called `code` would hide the standard library's."""
    inside = [path.name for path in (ROOT / "code").iterdir()]
    made = [name for name in inside if name.endswith(".egg-info") or name.startswith((".", "__py"))]
    assert set(inside) - set(made) == {"pretrain"}
    assert not list((ROOT / "code").glob("*.py"))


def test_the_standard_library_is_not_hidden() -> None:
    """`code` and `pdb`, which imports it, are the standard library's when run from the root."""
    found = python("-c", "import code; print(code.__file__)")
    assert found.returncode == 0, found.stderr
    assert not Path(found.stdout.strip()).is_relative_to(ROOT)
    debugger = python("-m", "pdb", "--help")
    assert "usage: pdb" in debugger.stdout  # its exit code differs between Python versions
    assert debugger.stderr == ""


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_everything_has_a_docstring(path: Path) -> None:
    """Modules, classes and all functions, private and nested ones too."""
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    missing = [f"{n.name} (line {n.lineno})" for n in functions(tree) if not ast.get_docstring(n)]
    assert not missing


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_public_docstrings_name_every_argument(path: Path) -> None:
    """A docstring with an Args section speaks of each argument that the function takes."""
    for node in functions(ast.parse(path.read_text())):
        text = ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef) or "Args:" not in text:
            continue
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        section = text.split("Args:")[1].split("\n\n")[0]
        names = {a.arg for a in arguments} - {"self", "cls"}
        assert {n for n in names if n not in section} == set(), f"{path.name}: {node.name}"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_modules_only_define(path: Path) -> None:
    """On the top level stand imports, constants, functions and classes; no loop and no call.

    A command may call itself when it is run: `if __name__ == "__main__":`.
    """
    allowed = (
        ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef,
    )  # fmt: skip
    for node in ast.parse(path.read_text()).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_command = ast.unparse(node).startswith("if __name__ == '__main__':")
        ok = is_docstring or is_command or isinstance(node, allowed)
        assert ok, f"{path.name}, line {node.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_nothing_is_pickled(path: Path) -> None:
    """Loading a pickle runs whatever code is in it, so no module can."""
    text = path.read_text()
    code = ast.unparse(without_docstrings(ast.parse(text)))
    for word in ("torch.load", "torch.save", "pickle", "allow_pickle", "shelve", "marshal"):
        assert word not in code, word


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Drop the strings that stand alone: they may speak of what the code does not do."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                n for n in body
                if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))
            ] or [ast.Pass()]  # fmt: skip
    return tree


def test_the_layer_of_lora_is_short() -> None:
    """The chapter shows it: docstrings aside, at most forty lines."""
    module = ast.parse((ROOT / "code" / "pretrain" / "lora.py").read_text(encoding="utf-8"))
    (layer,) = (node for node in functions(module) if node.name == "LoRALinear")
    for node in ast.walk(layer):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    assert 10 < len(ast.unparse(layer).splitlines()) <= 40


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
    result = python("-W", "error", "-c", IMPORT_ALL, *(f"pretrain.{name}" for name in CORE))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[]\n"
    assert result.stderr == ""


def test_importing_anything_is_quiet() -> None:
    """The other modules may need more packages, but they do nothing either."""
    result = python("-W", "error", "-c", IMPORT_ALL, *(dotted(p) for p in MODULES))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
