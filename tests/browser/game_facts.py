# SPDX-License-Identifier: MIT
"""What the tests of the games compare with: the stored data and the rule of Chapter 5."""

import ast
import json
import math
from collections.abc import Callable
from typing import Any

from chapter_places import applet_page, notebook_with

from pretrain_lab.paths import DATA

PAGES = {name: applet_page(name) for name in ("fill-blank", "next-letter", "be-bert")}


def game(name: str) -> dict[str, Any]:
    """Read the data of a game."""
    found: dict[str, Any] = json.loads((DATA / "applets" / f"{name}.json").read_text("utf-8"))
    return found


def chapter_rule() -> Callable[[dict[str, int], str], float]:
    """Give the function `my_bits` as Chapter 5 defines it."""
    cells = json.loads(notebook_with("def my_bits").read_text("utf-8"))["cells"]
    source = next(s for cell in cells if "def my_bits" in (s := "".join(cell["source"])))
    function = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef))
    names: dict[str, Any] = {"math": math}
    exec(compile(ast.Module([function], []), "my_bits", "exec"), names)
    rule: Callable[[dict[str, int], str], float] = names["my_bits"]
    return rule
