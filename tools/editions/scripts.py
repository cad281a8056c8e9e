# SPDX-License-Identifier: MIT
"""Write one self-contained program a paradigm: ``python -m tools.editions.scripts``.

``_build/scripts/`` gets ``gpt.py``, ``bert.py`` and ``t5.py``. Each is the program of that name in
``mains/``, below all that it reaches in ``mains/shared.py`` and in the package ``pretrain``: whole
definitions as they stand there, in the order of the package's floors, under one block of imports.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

from tools.chapters import definitions
from tools.chapters.store import ROOT, ChapterError

NAMES = ("gpt", "bert", "t5")
FOLDER = "_build/scripts"  # of the book that links to them
CODE = ROOT / "code"
MAINS = Path(__file__).with_name("mains")
NOTE = "Made from the package of the book *Pre-training Paradigms: BERT, GPT and T5*."
_IMPORT = (ast.Import, ast.ImportFrom)


def main() -> int:
    """Write the files where the build looks for them; return 1 when that cannot be done."""
    try:
        write_scripts(ROOT / FOLDER)
    except ChapterError as error:
        print(f"scripts: {error}", file=sys.stderr)
        return 1
    return 0


def write_scripts(folder: Path) -> None:
    """Write the three files into a folder, which is made when missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (folder / f"{name}.py").write_text(make_script(name), encoding="utf-8")


def make_script(name: str) -> str:
    """Put the text of one of NAMES together.

    Raises:
        ChapterError: Two of its definitions or imports bind the same name.
    """
    program = MAINS / f"{name}.py"
    sources = {path: path.read_text(encoding="utf-8") for path in (MAINS / "shared.py", program)}
    parts: dict[Path, list[ast.stmt]] = {}
    found = reached(set().union(*map(definitions.imported, sources.values())))
    for module in [floor for floor in floors() if floor in found]:
        parts[definitions.module_path(module, CODE)] = found[module]
    parts |= {path: definitions.top_level(source) for path, source in sources.items()}
    statements = [one for part in parts.values() for one in part if not _is_inside(one)]
    check_names(statements)
    licence, description, _ = sources[program].split('"""', 2)
    texts = [f'{licence}"""{description}\n{NOTE}\n"""\n\n{import_block(statements)}']
    texts += [text for part in parts.items() for text in cut_out(*part)]
    return "\n\n\n".join([*texts, 'if __name__ == "__main__":\n    main()\n'])


def reached(names: set[str]) -> dict[str, list[ast.stmt]]:
    """Follow names through the package, annotations too, so that a reader misses nothing.

    Returns:
        Module → its reached top-level statements, imports among them.
    """
    found = definitions.reached(names, CODE)
    wider = set(names)
    for module, part in found.items():
        source = definitions.module_path(module, CODE).read_text(encoding="utf-8")
        bound = set().union(*map(definitions.bound_names, definitions.top_level(source)))
        nodes = [node for statement in part for node in ast.walk(statement)]
        used = {node.id for node in nodes if isinstance(node, ast.Name)}
        wider |= {f"{module}:{name}" for name in used & bound}
    return found if wider == names else reached(wider)


def floors() -> list[str]:
    """List the modules of the core from the ground up, as the contract on imports has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (core,) = [one for one in contracts if one.get("containers") == ["pretrain"]]
    names = [name for layer in reversed(core["layers"]) for name in re.split(" [:|] ", layer)]
    return [f"pretrain.{name}" for name in names]


def check_names(statements: list[ast.stmt]) -> None:
    """Refuse two meanings of one name, for the second would replace the first.

    Args:
        statements: All that will stand at the top of one file.

    Raises:
        ChapterError: A name is defined twice, or defined and imported, or imported from two places.
    """
    meanings: dict[str, str] = {}
    for place, statement in enumerate(statements):
        meaning = ast.unparse(statement) if isinstance(statement, _IMPORT) else f"number {place}"
        for name in definitions.bound_names(statement):
            if meanings.setdefault(name, meaning) != meaning:
                raise ChapterError(f"{name} has two meanings in one file; rename one of them")


def import_block(statements: list[ast.stmt]) -> str:
    """Merge the imports: the standard library, then torch."""
    lines = sorted(ast.unparse(one) for one in statements if isinstance(one, ast.Import))
    names: dict[str, set[str]] = {}
    for one in statements:
        if isinstance(one, ast.ImportFrom):
            names.setdefault(f"from {one.module} import", set()).update(map(ast.unparse, one.names))
    lines += [f"{begin} {', '.join(sorted(names[begin]))}" for begin in sorted(names)]
    of_torch = [line for line in dict.fromkeys(lines) if re.match(r"\w+ torch\b", line)]
    standard = [line for line in dict.fromkeys(lines) if line not in of_torch]
    return "\n".join(["from __future__ import annotations", "", *standard, "", *of_torch])


def cut_out(path: Path, statements: list[ast.stmt]) -> list[str]:
    """Cut statements out of a module, with decorators, comments and the text below a constant.

    Args:
        path: The module.
        statements: Of its top level; imports among them are passed over.

    Returns:
        A heading, then the statements as they stand in the file.
    """
    source = path.read_text(encoding="utf-8")
    tree, lines, wanted = ast.parse(source), source.splitlines(), {one.lineno for one in statements}
    texts = [f"# ---- {path.name}\n# {(ast.get_docstring(tree) or '').splitlines()[0]}"]
    for node, below in zip(tree.body, [*tree.body[1:], None], strict=True):
        if node.lineno in wanted and not isinstance(node, _IMPORT):
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
            last = below if below is not None and definitions.is_bare_string(below) else node
            texts.append("\n".join(lines[first - 1 : last.end_lineno]))
    return texts


def _is_inside(statement: ast.stmt) -> bool:
    """Say whether a statement imports what now stands in the same file."""
    ours = ("pretrain", "tools")
    return isinstance(statement, ast.ImportFrom) and str(statement.module).startswith(ours)


if __name__ == "__main__":
    sys.exit(main())
