# SPDX-License-Identifier: MIT
"""Write one self-contained script for each paradigm, from the package's own code.

`tools/single_file/gpt.py`, `bert.py` and `t5.py` say what a script does, and import what they need.
This tool follows these imports through `pretrain` and `single_file`, takes exactly the functions,
classes and constants that are used, and writes them in order of dependency into _build/scripts/.
What is left to import is torch and the standard library. No copy is kept beside the package, so
none can go stale.

Run: python tools/make_scripts.py
"""

import argparse
import ast
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"pretrain": ROOT / "code", "single_file": ROOT / "tools"}
NAMES = ("gpt", "bert", "t5")
LICENCE = "# SPDX-License-Identifier: MIT"
ALLOWED = {"torch", *sys.stdlib_module_names}
NO_NUMPY = """# torch works without NumPy, which this file does not need, and would warn about it.
warnings.filterwarnings("ignore", "Failed to initialize NumPy", UserWarning)
"""


class ScriptError(Exception):
    """The scripts cannot be made; the message says from what."""


class Part(NamedTuple):
    """One statement of a module: where it stands, and the global names that it uses."""

    first_line: int
    text: str
    uses: frozenset[str]


class Module(NamedTuple):
    """What a module defines and imports at its top."""

    summary: str
    parts: dict[str, Part]
    """Each name that it defines → the statement."""
    inside: dict[str, tuple[str, str]]
    """Each name from another module of the book → module and name there."""
    outside: dict[str, str]
    """Each other imported name → the import statement for it alone."""


def read_module(name: str) -> Module:
    """Read a module of the book.

    Args:
        name: Such as "pretrain.masks".

    Returns:
        Its parts.
    """
    path = FOLDERS[name.split(".")[0]] / f"{name.replace('.', '/')}.py"
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    found = Module((ast.get_docstring(tree) or "").split("\n")[0], {}, {}, {})
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _note_imports(found, node)
        elif names := _defined(node):
            part = _part(source, tree, place)
            found.parts.update(dict.fromkeys(names, part))
    return found


def _defined(node: ast.stmt) -> list[str]:
    """Name what a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.Assign):
        found = [n for target in node.targets for n in ast.walk(target)]
        return [n.id for n in found if isinstance(n, ast.Name)]
    return []


def _part(source: str, tree: ast.Module, place: int) -> Part:
    """Cut a statement out, with its decorators, the comment before and the docstring behind."""
    lines, node = source.split("\n"), tree.body[place]
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    while lines[first - 2].startswith("#"):
        first -= 1
    last = node.end_lineno or node.lineno
    behind = tree.body[place + 1] if place + 1 < len(tree.body) else None
    if isinstance(behind, ast.Expr) and isinstance(node, ast.Assign | ast.AnnAssign):
        last = behind.end_lineno or last
    uses = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return Part(first, "\n".join(lines[first - 1 : last]), frozenset(uses))


def _note_imports(module: Module, node: ast.Import | ast.ImportFrom) -> None:
    """Sort imported names into those of the book and the others."""
    origin = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        name = alias.asname or alias.name
        if origin.split(".")[0] in FOLDERS:
            module.inside[name] = (origin, alias.name)
        else:
            renamed = f" as {alias.asname}" if alias.asname else ""
            start = f"from {origin} " if origin else ""
            module.outside[name] = f"{start}import {alias.name}{renamed}"


class Bundle:
    """Collects what one script needs."""

    def __init__(self, name: str) -> None:
        """Start from the script's own module.

        Args:
            name: One of NAMES.
        """
        self.main = f"single_file.{name}"
        self.modules: dict[str, Module] = {}
        self.order: list[str] = []
        self.taken: dict[str, set[str]] = {}
        self.imports: set[str] = set()
        self.preferred = self._preferred()
        for wanted in self._module(self.main).parts:
            self._take(self.main, wanted)

    def _preferred(self) -> dict[str, str]:
        """Say which definitions of single_file stand in for those of the package."""
        shared = self._module("single_file.shared").parts
        return dict.fromkeys(shared, "single_file.shared")

    def _module(self, name: str) -> Module:
        """Read a module once."""
        if name not in self.modules:
            self.modules[name] = read_module(name)
        return self.modules[name]

    def _take(self, module_name: str, name: str) -> None:
        """Take a definition and, before it, all that it uses."""
        if module_name.startswith("pretrain.") and name in self.preferred:
            module_name = self.preferred[name]
        module = self._module(module_name)
        if name in module.inside:
            return self._take(*module.inside[name])
        if name in self.taken.setdefault(module_name, set()):
            return None
        self.taken[module_name].add(name)
        for used in sorted(module.parts[name].uses):
            if used in module.parts or used in module.inside:
                self._take(module_name, used)
            elif used in module.outside:
                self._import(module.outside[used])
        if module_name not in self.order:
            self.order.append(module_name)
        return None

    def _import(self, statement: str) -> None:
        """Note an import from torch or the standard library, and refuse others."""
        package = statement.split()[1].split(".")[0]
        if package not in ALLOWED:
            raise ScriptError(f"{self.main} needs {package}; a script may import torch alone")
        self.imports.add(statement)

    def text(self) -> str:
        """Write the script, unformatted."""
        name = self.main.split(".")[1]
        main_path = FOLDERS["single_file"] / "single_file" / f"{name}.py"
        doc = ast.get_docstring(ast.parse(main_path.read_text(encoding="utf-8")))
        note = "Made from the book's package by `make scripts`; edit that, not this file."
        chunks = [f'{LICENCE}\n"""{doc}\n\n{note}\n"""\n', *self._imports()]
        for module_name in self._sorted():
            module = self.modules[module_name]
            if module_name != self.main:
                heading = f"---- {module_name}: {module.summary}"
                chunks.append(textwrap.indent(textwrap.fill(heading, 96), "# "))
            parts = {module.parts[name] for name in self.taken[module_name]}
            chunks += [part.text for part in sorted(parts, key=lambda part: part.first_line)]
        chunks.append('if __name__ == "__main__":\n    main()\n')
        return "\n\n".join(chunks)

    def _imports(self) -> list[str]:
        """Write the imports: the standard library, the filter, torch."""
        of_torch = {line for line in self.imports if line.split()[1].split(".")[0] == "torch"}
        standard = (self.imports - of_torch) | {"import warnings"}
        return ["\n".join(sorted(standard)), NO_NUMPY, "\n".join(sorted(of_torch))]

    def _sorted(self) -> list[str]:
        """Put modules behind those whose definitions they use."""
        done: list[str] = []

        def visit(name: str) -> None:
            """Place what a module uses, then the module."""
            if name in done or name not in self.taken:
                return
            module = self.modules[name]
            used = {u for taken in self.taken[name] for u in module.parts[taken].uses}
            for each in sorted(used & module.inside.keys()):
                origin, there = module.inside[each]
                visit(
                    self.preferred.get(there, origin) if origin.startswith("pretrain.") else origin
                )
            done.append(name)

        visit(self.main)
        for name in self.order:
            visit(name)
        return [name for name in done if name != self.main] + [self.main]


def check_names(bundle: Bundle) -> None:
    """Refuse two definitions of one name, for the second would replace the first.

    Args:
        bundle: What a script takes.

    Raises:
        ScriptError: A name comes from two modules.
    """
    owners: dict[str, str] = {}
    for module, names in bundle.taken.items():
        for name in names:
            if owners.setdefault(name, module) != module:
                raise ScriptError(f"{name} is defined in {owners[name]} and in {module}")


def make_script(name: str) -> str:
    """Make one script.

    Args:
        name: One of NAMES.

    Returns:
        Its text, formatted.

    Raises:
        ScriptError: A name is defined twice, or another package would be needed.
    """
    bundle = Bundle(name)
    check_names(bundle)
    text = bundle.text()
    for command in (["check", "--quiet", "--fix", "--select", "I,F401"], ["format", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", f"scripts/{name}.py", "-"],
            input=text, capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
        if done.returncode:
            raise ScriptError(f"{name}: ruff {command[0]} says {done.stderr or done.stdout}")
        text = done.stdout
    return text


def write_scripts(folder: Path) -> None:
    """Write all scripts.

    Args:
        folder: Where to; made when it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        text = make_script(name)
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        print(f"{name}.py: {text.count(chr(10)):,} lines")


def main() -> None:
    """Write the scripts where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "scripts")
    write_scripts(parser.parse_args().to)


if __name__ == "__main__":
    main()
