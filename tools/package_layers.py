# SPDX-License-Identifier: MIT
"""The layers of the package: who imports whom, and whether every import leads downwards.

The table is ``tools/layers.toml``; the imports are read from the sources, which are not executed.
The folder ``checkers`` counts as one module. ``python tools/package_layers.py`` prints what breaks
the table, and the imports that stand inside functions.
"""

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from chapters import ROOT

TABLE = ROOT / "tools" / "layers.toml"
PACKAGE = "pretrain"


class Layer(NamedTuple):
    """One layer of the table."""

    name: str
    about: str
    modules: tuple[str, ...]
    """Without the package's name."""


class Step(NamedTuple):
    """One place that a number passes on its way to a page."""

    what: str
    says: str
    test: str
    """File that holds the step."""


class Import(NamedTuple):
    """One module imports another."""

    importing: str
    imported: str
    inside: bool
    """Whether it stands inside a function."""


def read_layers(table: Path = TABLE) -> list[Layer]:
    """Read the layers, from the top to the bottom."""
    content = tomllib.loads(table.read_text(encoding="utf-8"))
    return [Layer(one["name"], one["about"], tuple(one["modules"])) for one in content["layers"]]


def read_steps(table: Path = TABLE) -> list[Step]:
    """Read the way of a number."""
    return [Step(**one) for one in tomllib.loads(table.read_text(encoding="utf-8"))["steps"]]


def read_excused(table: Path = TABLE) -> dict[str, str]:
    """Read the imports inside functions: "importing -> imported" and the reason."""
    found: dict[str, str] = tomllib.loads(table.read_text(encoding="utf-8"))["inside_functions"]
    return found


def modules_of(root: Path = ROOT) -> list[str]:
    """Name the modules of the package, without its own name; a folder counts as one."""
    folder = root / "code" / PACKAGE
    files = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    return sorted([*files, *(path.parent.name for path in folder.glob("*/__init__.py"))])


def imports_of(root: Path = ROOT) -> list[Import]:
    """Find the imports between the package's modules.

    Args:
        root: The repository.

    Returns:
        Each once, in alphabetical order; imports inside one folder are left out.
    """
    folder, modules = root / "code" / PACKAGE, set(modules_of(root))
    found = set()
    for path in folder.rglob("*.py"):
        importing = path.relative_to(folder).with_suffix("").parts[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        at_top = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            for name in _imported(node):
                if name in modules and name != importing:
                    found.add(Import(importing, name, id(node) not in at_top))
    return sorted(found)


def upward(layers: list[Layer], imports: list[Import]) -> list[Import]:
    """List the imports on the top level that lead from a layer to one above it."""
    depth = {module: n for n, layer in enumerate(layers) for module in layer.modules}
    return [one for one in imports if not one.inside and depth[one.imported] < depth[one.importing]]


def cycle(imports: list[Import]) -> list[str]:
    """Name the modules of one circle of imports at the top level; empty when there is none."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for one in imports:
        if not one.inside:
            sorter.add(one.importing, one.imported)
    try:
        sorter.prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def between_layers(layers: list[Layer], imports: list[Import]) -> Counter[tuple[int, int]]:
    """Count the imports at the top level by layers, from the importing one to the imported one."""
    depth = {module: n for n, layer in enumerate(layers) for module in layer.modules}
    return Counter(
        (depth[one.importing], depth[one.imported])
        for one in imports
        if not one.inside and depth[one.importing] != depth[one.imported]
    )


def _imported(node: ast.AST) -> Iterator[str]:
    """Name the modules of the package that a statement imports."""
    prefix = f"{PACKAGE}."
    if isinstance(node, ast.Import):
        yield from (
            alias.name.split(".")[1] for alias in node.names if alias.name.startswith(prefix)
        )
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        if node.module == PACKAGE:
            yield from (alias.name for alias in node.names)
        elif node.module and node.module.startswith(prefix):
            yield node.module.split(".")[1]


def main() -> int:
    """Print what breaks the table, then the imports inside functions.

    Returns:
        0 when nothing breaks it, 1 otherwise.
    """
    layers, imports = read_layers(), imports_of()
    placed = Counter(module for layer in layers for module in layer.modules)
    wrong = [f"{module}: in no layer" for module in modules_of() if not placed[module]]
    if not wrong:
        wrong = [f"{one.importing} -> {one.imported}: upwards" for one in upward(layers, imports)]
    print("\n".join([*wrong, f"layers: {len(layers)}, modules: {len(placed)}"]))
    excused = read_excused()
    for one in imports:
        if one.inside:
            name = f"{one.importing} -> {one.imported}"
            print(f"inside a function: {name} ({excused.get(name, 'no reason is given')})")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
