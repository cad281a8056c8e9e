# SPDX-License-Identifier: MIT
"""Read the scaling rules of chapter 13 from its cells, for the calculator in the page.

The constants are stated in that chapter alone: the refitted law, the tokens a parameter, the slope
and its anchor, the speed of the accelerator, and the range in which the law was fitted. A changed
cell changes the calculator; a cell that this cannot read breaks the build.
"""

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

CONSTANTS = ("e", "a", "alpha", "b", "beta")  # the fields of pretrain_lab.scaling.laws.Law


class RulesError(Exception):
    """The chapter no longer says a rule in the form that is read here."""


def scaling_rules(notebook: Path, published: Path) -> dict[str, Any]:
    """Collect what the calculator needs from chapter 13 and the table of published models.

    Of that table, dense decoders of known text are taken.

    Returns:
        ``refitted`` (E, A, alpha, B, beta; nats per token), ``tokens_per_parameter``, ``kaplan``
        (``slope`` and the anchor's ``parameters`` and ``flops``), ``speed`` in operations a second,
        ``fitted`` (lowest and highest FLOPs) and ``models``.

    Raises:
        RulesError: A rule is missing or has another form.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    said: dict[str, ast.expr] = {}
    for source in _sources(cells, "code"):
        said.update(_assigned(source))
    law = _numbers(said, "refitted", "Law(_, _, _, _, _)")
    (per_n_squared,) = _numbers(said, "twenty", "np.sqrt(budget / _)")
    parameters, flops, slope = _numbers(said, "kaplan", "_ * (budget / _) ** _")
    speed, _ = _numbers(said, "days", "budget / _ / _")
    return {
        "refitted": dict(zip(CONSTANTS, law, strict=True)),
        "tokens_per_parameter": per_n_squared / 6,  # C = 6 N D, and D a multiple of N
        "kaplan": {"parameters": parameters, "flops": flops, "slope": slope},
        "speed": speed,
        "fitted": _fitted_range("\n".join(_sources(cells, "markdown"))),
        "models": _models(published),
    }


def _sources(cells: list[dict[str, Any]], kind: str) -> list[str]:
    """Return the texts of the cells of one kind."""
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def _assigned(source: str) -> dict[str, ast.expr]:
    """Find what a cell assigns to plain names, in loops too."""
    return {
        node.targets[0].id: node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _numbers(said: dict[str, ast.expr], name: str, form: str) -> list[float]:
    """Return the numbers of an assigned expression, in the order of the text.

    `form` is the expression with ``_`` in the place of each number.
    """
    if name not in said:
        raise RulesError(f"expected a cell of chapter 13 that assigns {name}, got none")
    found = ast.unparse(said[name])
    pattern = re.escape(form).replace("_", r"([\d.]+(?:e[+-]?\d+)?)")
    match = re.fullmatch(pattern, found)
    if match is None:
        raise RulesError(f"chapter 13: expected {name} = {form}, got {found}")
    return [float(number) for number in match.groups()]


def _fitted_range(text: str) -> list[float]:
    """Find the range of compute in which the law was fitted, which the text gives in words."""
    said = re.findall(r"fitted between \$10\^\{(\d+)\}\$ and \$10\^\{(\d+)\}\$ operations", text)
    if len(said) != 1:
        raise RulesError(f"chapter 13: expected its fitted range once, got {len(said)} times")
    return [float(f"1e{power}") for power in said[0]]


def _models(published: Path) -> list[dict[str, Any]]:
    """Return the published decoders whose tokens all pass all parameters, as the law assumes."""
    rows = tomllib.loads(published.read_text(encoding="utf-8"))["model"]
    known = [{name: value for name, value in row.items() if value != "–"} for row in rows]
    return [
        {
            "name": row["name"],
            "parameters": row["parameters"],
            "tokens": row["tokens"],
            "estimate": row["estimate"],
        }
        for row in known
        if row["family"] == "decoder" and "tokens" in row and "active" not in row
    ]
