# SPDX-License-Identifier: MIT
"""Write the reader's notebooks: ``make notebooks``.

``_build/notebooks/`` gets every chapter as a notebook that reads well in any Jupyter: numbers
filled in, references as words, questions and solutions that fold, no proof cells. The build of the
pages makes the same files (:mod:`book_pages.notebooks`); here it stops before it writes a page.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tools.chapters.store import ROOT, ChapterError
from tools.editions.building import build_strictly


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
    """Write the reader's notebooks of a book; what was in the folder is deleted.

    Returns how many there are.

    Raises:
        ChapterError: The build failed; its last words are quoted.
    """
    with tempfile.TemporaryDirectory() as scratch:
        made = build_strictly(root, Path(scratch), "dummy") / "notebooks"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)
    return len(list(folder.glob("*.ipynb")))


if __name__ == "__main__":
    sys.exit(main())
