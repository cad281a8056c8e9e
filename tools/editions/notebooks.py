# SPDX-License-Identifier: MIT
"""Write the reader's notebooks: ``make notebooks``.

``_build/notebooks/`` gets every chapter as a notebook that reads well in any Jupyter: numbers
filled in, references as words, questions and solutions that fold, no proof cells. The build of the
pages makes the same files (:mod:`book_pages.notebooks`); here it stops before it writes a page, and
it is left out when nothing has changed since the last one.

A notebook that its reader changed there is not lost when they are written anew: it moves to
``mine/``, a folder for own work that git ignores.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

from tools.chapters.store import ROOT, ChapterError
from tools.editions import fresh
from tools.editions.building import build_strictly

OWN = "mine"
RECORD = ".written.json"  # file name → hash of what was written


def main(arguments: list[str] | None = None) -> int:
    """Write the notebooks; return 1 if the build fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "notebooks")
    options = parser.parse_args(arguments)
    try:
        n_written = write_notebooks(ROOT, options.to)
    except ChapterError as error:
        print(f"notebooks: {error}", file=sys.stderr)
        return 1
    print(f"notebooks: {n_written} are in {options.to}")
    return 0


def write_notebooks(root: Path, folder: Path) -> int:
    """Write the reader's notebooks of a book, unless those that are there are made of the same.

    Those that a reader changed go to `mine/` before; all else that was in the folder is deleted.
    Returns how many notebooks there are.

    Raises:
        ChapterError: The build failed; its last words are quoted.
    """
    if not fresh.is_fresh(folder, root):
        fresh.begin(folder, root)
        with tempfile.TemporaryDirectory() as scratch:
            made = build_strictly(root, Path(scratch), "dummy") / "notebooks"
            for moved in keep_changed(folder, root / OWN):
                print(f"notebooks: you changed {moved.name}; it is in {moved.parent} now")
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(made, folder)
        hashes = {path.name: _hash(path) for path in folder.glob("*.ipynb")}
        (folder / RECORD).write_text(json.dumps(hashes, indent=1), encoding="utf-8")
        fresh.end(folder)
    return len(list(folder.glob("*.ipynb")))


def keep_changed(folder: Path, own: Path) -> list[Path]:
    """Move notebooks that are not as they were written to another folder; return where they are.

    What is there under the same name stays; the newcomer gets a number.
    """
    record = folder / RECORD
    written = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    moved = []
    for path in sorted(folder.glob("*.ipynb")) if written else []:
        if written.get(path.name) == _hash(path):
            continue
        own.mkdir(exist_ok=True)
        target, number = own / path.name, 1
        while target.exists():
            number += 1
            target = own / f"{path.stem}_{number}.ipynb"
        moved.append(Path(shutil.move(path, target)))
    return moved


def _hash(path: Path) -> str:
    """Hash a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
