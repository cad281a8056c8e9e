# SPDX-License-Identifier: MIT
"""Every public function is fuzzed, or left out for a reason that is written down."""

import ast
import importlib
from collections import Counter

from table import FUZZED, LEFT_OUT, LEFT_OUT_MODULES

from pretrain.paths import ROOT

PACKAGE = ROOT / "code" / "pretrain"
NAMED = [name for names in FUZZED.values() for name in names.split()]


def public_functions() -> set[str]:
    """List module and name of all functions without an underscore."""
    found = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found.add(f"{path.stem}.{node.name}")
    return found


def test_every_public_function_has_its_place() -> None:
    """A new one fails here until it is fuzzed or left out."""
    left = {name for name in public_functions() if name.split(".")[0] in LEFT_OUT_MODULES}
    assert public_functions() - left - set(NAMED) == set(LEFT_OUT)


def test_no_function_has_two_places() -> None:
    """Fuzzed once, and not left out besides."""
    assert [name for name, n in Counter(NAMED).items() if n > 1] == []
    assert set(NAMED) & set(LEFT_OUT) == set()


def test_the_modules_left_out_exist() -> None:
    """A renamed module loses its excuse."""
    assert {path.stem for path in PACKAGE.glob("*.py")} >= set(LEFT_OUT_MODULES)


def test_the_table_says_what_the_tests_do() -> None:
    """Each test module fuzzes what stands beside its name, and nothing else."""
    for module, names in FUZZED.items():
        tests = vars(importlib.import_module(module)).values()
        fuzzed = {test.fuzzed for test in tests if hasattr(test, "fuzzed")}
        assert fuzzed == set(names.split()), module


def test_every_reason_is_a_reason() -> None:
    """A word alone says too little."""
    assert all(len(why.split()) >= 3 for why in LEFT_OUT.values())


def test_every_test_module_is_in_the_table() -> None:
    """And none that is gone."""
    here = ROOT / "tests" / "fuzz"
    assert {path.stem for path in here.glob("test_fuzz_*.py")} - {"test_fuzz_table"} == set(FUZZED)
