# SPDX-License-Identifier: MIT
"""What the tests of the games compare with: the stored data and the rule of Chapter 5."""

import ast
import json
import math
from collections.abc import Callable
from typing import Any

from pretrain_lab.paths import DATA, ROOT

PAGES = {
    "fill-blank": "chapters/01_revolution.html",
    "next-letter": "chapters/01_revolution.html",
    "be-bert": "chapters/05_bert.html",
}


def game(name: str) -> dict[str, Any]:
    """Read the data of a game."""
    found: dict[str, Any] = json.loads((DATA / "applets" / f"{name}.json").read_text("utf-8"))
    return found


def chapter_rule() -> Callable[[dict[str, int], str], float]:
    """Give the function `my_bits` as Chapter 5 defines it."""
    cells = json.loads((ROOT / "chapters/05_bert.ipynb").read_text("utf-8"))["cells"]
    source = next(s for cell in cells if "def my_bits" in (s := "".join(cell["source"])))
    function = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef))
    names: dict[str, Any] = {"math": math}
    exec(compile(ast.Module([function], []), "my_bits", "exec"), names)
    rule: Callable[[dict[str, int], str], float] = names["my_bits"]
    return rule
