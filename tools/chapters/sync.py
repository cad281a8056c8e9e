# SPDX-License-Identifier: MIT
"""Make each chapter's notebook equal to its twin: ``make sync``.

The twin ``chapters/_text/NN_slug.md`` is what authors edit. Its cells go into the notebook, and
cells that did not change keep their outputs. A notebook that somebody edited instead is left
alone, with a message that says how to bring the edit to the twin.
"""

import argparse
import difflib
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from nbformat import NotebookNode

from tools.chapters.opening_cell import is_opening
from tools.chapters.store import (
    NOTE,
    ROOT,
    ChapterError,
    digest,
    inputs,
    notebook_of,
    notebook_paths,
    read_notebook,
    read_twin,
    twin_of,
    twin_paths,
    write_notebook,
    write_twin,
)

_CODE_CELL = re.compile(
    r"^(?P<open>```\{code-cell\}[^\n]*\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*)\n?)(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def main(arguments: list[str] | None = None) -> int:
    """Sync the chapters that the command line names; return 0 if twin and notebook are equal."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("chapter", nargs="?", default="", help="such as 04; default: all")
    parser.add_argument("--from-notebook", action="store_true", help="bring edits to the twin")
    options = parser.parse_args(arguments)
    try:
        if options.from_notebook:
            twins = [twin_of(path) for path in notebook_paths(ROOT, options.chapter)]
        else:
            twins = twin_paths(ROOT, options.chapter)
        for twin in twins:
            step = twin_from_notebook if options.from_notebook else notebook_from_twin
            print(f"{twin.stem}: {step(twin)}")
    except ChapterError as error:
        print(f"sync stopped: {error}", file=sys.stderr)
        return 1
    return 0


def notebook_from_twin(twin: Path) -> str:
    """Update a notebook's cells from its twin, or make the notebook; return what happened.

    Raises:
        ChapterError: The notebook was edited since the last sync.
    """
    path = notebook_of(twin)
    old = read_notebook(path) if path.exists() else None
    format_code(twin, known={cell.source for cell in old.cells} if old else set())
    new = read_twin(twin)
    if old is not None:
        if inputs(old) == inputs(new) and _settings(old) == _settings(new):
            return "unchanged"
        _refuse_edited(old, path)
        kept = keep_outputs(old, new)
        new.metadata[NOTE] = old.metadata.get(NOTE, {})
    new.metadata.setdefault(NOTE, NotebookNode())["twin"] = digest(inputs(new))
    write_notebook(path, new)
    cells = sum(cell.cell_type == "code" for cell in new.cells)
    return f"{cells} code cells, {kept} keep their outputs" if old else f"{cells} code cells, new"


def twin_from_notebook(twin: Path) -> str:
    """Overwrite a twin with the inputs of its notebook; return what happened."""
    path = notebook_of(twin)
    write_twin(twin, read_notebook(path))
    notebook = read_notebook(path)
    notebook.metadata.setdefault(NOTE, NotebookNode())["twin"] = digest(inputs(notebook))
    write_notebook(path, notebook)
    return f"{notebook_from_twin(twin)} after writing the twin; review its diff"


def keep_outputs(old: NotebookNode, new: NotebookNode) -> int:
    """Copy outputs and counts from old to new code cells with the same source; return how many."""
    before = [cell for cell in old.cells if cell.cell_type == "code"]
    after = [cell for cell in new.cells if cell.cell_type == "code"]
    matcher = difflib.SequenceMatcher(
        None, [c.source for c in before], [c.source for c in after], autojunk=False
    )
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            source, target = before[block.a + step], after[block.b + step]
            target.outputs, target.execution_count = source.outputs, source.execution_count
    for source, target in zip(before, after, strict=False):  # with another address, the same cell
        if is_opening(source) and is_opening(target):
            target.execution_count = source.execution_count
    return sum(block.size for block in matcher.get_matching_blocks())


def format_code(twin: Path, known: Collection[str] = ()) -> None:
    """Format the code cells of a twin with ruff, in place; those that ruff cannot parse stay.

    Cells whose sources are in `known`, formatted by an earlier sync, are left alone.
    """

    def formatted_cell(match: re.Match[str]) -> str:
        """Format one cell, unless it is known."""
        code = match["code"]
        return match["open"] + (code if code.strip() in known else _formatted(code)) + "```"

    text = twin.read_text(encoding="utf-8")
    formatted = _CODE_CELL.sub(formatted_cell, text)
    if formatted != text:
        twin.write_text(formatted, encoding="utf-8")


def _formatted(code: str) -> str:
    """Sort the imports of one cell and format it; unparsable code comes back unchanged."""
    for step in (["check", "--quiet", "--select", "I", "--fix-only"], ["format"]):
        command = [sys.executable, "-m", "ruff", *step, "--stdin-filename", "chapters/cell.py", "-"]
        done = subprocess.run(command, input=code, capture_output=True, text=True, cwd=ROOT)
        if done.returncode != 0:
            return code
        code = done.stdout
    return code


def _settings(notebook: NotebookNode) -> dict[str, object]:
    """Return a notebook's metadata but these tools' records."""
    return {key: value for key, value in notebook.metadata.items() if key != NOTE}


def _refuse_edited(notebook: NotebookNode, path: Path) -> None:
    """Stop when a notebook's cells are not those that the last sync wrote."""
    if digest(inputs(notebook)) != notebook.metadata.get(NOTE, {}).get("twin"):
        raise ChapterError(
            f"{path.name} was edited itself. To bring that edit to the twin (and lose the twin's "
            f"own changes): make sync FROM=notebook CHAPTER={path.name[:2]}. To drop the edit: "
            f"git checkout {path.relative_to(ROOT)}"
        )


if __name__ == "__main__":
    sys.exit(main())
