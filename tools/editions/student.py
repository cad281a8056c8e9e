# SPDX-License-Identifier: MIT
"""Write the book for a class, without its solutions: ``make student``.

``_build/student/`` becomes a repository of its own, complete without this one: the package and its
data, what installs them, notebooks as readers open them, pages, and a README for students. A
teacher publishes the folder; the opening cell of its notebooks brings that repository, and never
the one with the solutions. Its address is ``Students`` in ``[project.urls]`` of ``pyproject.toml``,
or ``BOOK_STUDENTS_URL``; without one, the cell asks.

The pages are built from chapters out of which :mod:`.solutions` has cut the solutions. That of
sphinx-exercise, `hide_solutions`, is switched on as well, but it acts on pages alone.

Not hidden: the checkers' own source, in the package. They are for practice, not for grading.
"""

import argparse
import os
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

import yaml

from tools.chapters.opening_cell import EDITION, is_opening, opening_cell
from tools.chapters.store import (
    ROOT,
    ChapterError,
    notebook_of,
    read_notebook,
    read_twin,
    twin_paths,
    write_notebook,
)
from tools.checks import pages
from tools.editions.building import build_strictly
from tools.editions.solutions import leaks, outside_solutions, without_solutions

PACKAGE = (  # what students need beside notebooks and pages
    "LICENSE",
    "LICENSE-text.md",
    "binder/runtime.txt",
    "binder/start",
    "code",
    "data",
    "experiments/configs",  # for an own text, which pages and the command's help name
    "requirements.txt",
    "tools/__init__.py",
    "tools/chapters/__init__.py",
    "tools/chapters/bring_package.py",
    "tools/checks/__init__.py",
    "tools/checks/torch_index.py",
)
OWN = Path(__file__).with_name("assets") / "student"  # README, Makefile, …, written for students
COPIED = (  # what the pages' directives read
    "LICENSE",
    "LICENSE-text.md",
    "CHANGELOG.md",  # the foot of each page dates the edition by it
    "CONTRIBUTING.md",  # a page takes its steps from it
    "pyproject.toml",
    "_toc.yml",
    "extensions",
    "data",
    "code/pretrain_book/exercises",
    "benchmarks/pages.json",
    "benchmarks/results.json",
    "benchmarks/waits.json",
)
INDEX = """\
(sec-solutions)=
# Index of exercises

This is the edition for a course: the solutions are with your teacher.
A *checker* takes your answer and names the usual mistakes:
in the page where it is a number or a word, in the notebook where it is code.

Try first, then open the hint, then run the checker.

```{exercises}
```
"""
ONLY_WITH_SOLUTIONS = (", whose solutions are folded below them",)  # in the text of plain pages
ADDRESS = "BOOK_STUDENTS_URL"
FIRST_TABLE_OF_TOOLS = "[tool.ruff]"  # what follows in pyproject.toml is for those who write it
SEARCHED = {".html", ".ipynb", ".md", ".js", ".json", ".txt"}
_IGNORED = ("__pycache__", "*.egg-info", ".*")


def main(arguments: list[str] | None = None) -> int:
    """Write the student edition; return 1 if it fails or a solution is left."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "student")
    parser.add_argument("--no-pages", action="store_true", help="write the notebooks only")
    options = parser.parse_args(arguments)
    try:
        write_edition(ROOT, options.to, with_pages=not options.no_pages)
    except ChapterError as error:
        print(f"student: {error}", file=sys.stderr)
        return 1
    print(f"The student edition is in {options.to}")
    return 0


def write_edition(root: Path, folder: Path, with_pages: bool = True) -> None:
    """Write the repository for students; what was in the folder is deleted, but not its ``.git``.

    Raises:
        ChapterError: A chapter's notebook is not up to its twin, the pages did not build, or a
            solution would be left.
    """
    address = students_address(root / "pyproject.toml")
    with tempfile.TemporaryDirectory() as scratch:
        source, fresh = Path(scratch) / "source", Path(scratch) / "fresh"
        write_source(root, source, address)
        built = build_strictly(source, source, "html" if with_pages else "dummy")
        write_package(root, fresh, address)
        shutil.copytree(built / "notebooks", fresh / "notebooks")
        if with_pages:
            shutil.copytree(built, fresh / "pages", ignore=shutil.ignore_patterns(".*"))
            (fresh / "pages" / ".nojekyll").touch()  # hosts of pages then serve _static, too
        refuse_leaks(root, fresh)
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if old.name != ".git":  # the class has the history of its edition from there
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        shutil.copytree(fresh, folder, dirs_exist_ok=True)


def students_address(pyproject: Path) -> str:
    """Return where the student edition is published, or nothing."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return os.environ.get(ADDRESS, "") or str(project.get("urls", {}).get("Students", ""))


def write_package(root: Path, folder: Path, address: str = "") -> None:
    """Write all of the edition but notebooks and pages: what installs, runs and explains it.

    `address` is where the edition will be published.
    """
    copy_parts(root, folder, PACKAGE)
    shutil.copytree(OWN, folder, dirs_exist_ok=True)
    (folder / "gitignore").rename(folder / ".gitignore")
    project = (root / "pyproject.toml").read_text(encoding="utf-8").split(FIRST_TABLE_OF_TOOLS)[0]
    kept = [
        line for line in project.splitlines() if not line.startswith(("Repository", "Students"))
    ]
    text = "\n".join(kept).replace("[project.urls]\n", "").rstrip()
    if address:
        text += f'\n\n[project.urls]\nRepository = "{address}"'
    (folder / "pyproject.toml").write_text(text + "\n", encoding="utf-8")


def copy_parts(root: Path, folder: Path, names: tuple[str, ...]) -> None:
    """Copy files and folders of a repository to the same places in another."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (root / name).is_dir():
            ignored = shutil.ignore_patterns(*_IGNORED)
            shutil.copytree(root / name, folder / name, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy(root / name, folder / name)


def write_source(root: Path, folder: Path, address: str = "") -> None:
    """Write the book's source without solutions, from which the pages are built.

    `address` is where the edition will be published.

    Raises:
        ChapterError: A chapter's notebook is not up to its twin, or a solution would be left.
    """
    ignored = shutil.ignore_patterns("*.ipynb", "_text", "*.tmp", "ruff.toml", ".*")
    shutil.copytree(root / "chapters", folder / "chapters", ignore=ignored)
    (folder / "chapters" / "_text").mkdir()
    copy_parts(root, folder, COPIED)
    for page in (folder / "chapters").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for phrase in ONLY_WITH_SOLUTIONS:
            text = text.replace(phrase, "")
        page.write_text(INDEX if page.stem == "solutions" else text, encoding="utf-8")
    _write_settings(root, folder)
    for twin in twin_paths(root):
        write_chapter(twin, folder / "chapters", address)


def write_chapter(twin: Path, folder: Path, address: str = "") -> Path:
    """Write one chapter's twin and notebook without solutions; return the new notebook.

    Its kept cells have their outputs, counted from 1, and its opening cell brings the edition.

    Args:
        twin: The chapter's own twin, beside whose folder its notebook lies.
        folder: The edition's ``chapters`` folder, with ``_text`` in it.
        address: Where the edition will be published; empty = the opening cell asks.

    Raises:
        ChapterError: A kept cell has no stored output, or a line of a solution is left.
    """
    whole = twin.read_text(encoding="utf-8")
    copy = folder / "_text" / twin.name
    copy.write_text(without_solutions(whole), encoding="utf-8")
    stored, notebook = read_notebook(notebook_of(twin)), read_twin(copy)
    before = [cell for cell in outside_solutions(stored) if cell.cell_type == "code"]
    after = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if [cell.source for cell in before] != [cell.source for cell in after]:
        raise ChapterError(f"{twin.name} and its notebook differ: make sync run first")
    for count, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        new.outputs, new.execution_count = old.outputs, count  # a gap would tell of a solution
        for output in new.outputs:
            if "execution_count" in output:
                output.execution_count = count
        if is_opening(new):
            new.source = opening_cell(address, EDITION).source
    write_notebook(notebook_of(copy), notebook)
    left = leaks(whole, "\n".join(cell.source for cell in notebook.cells))
    if left:
        raise ChapterError(f"{twin.name}: a line of a solution is left: {left[0]!r}")
    return notebook_of(copy)


def refuse_leaks(root: Path, folder: Path) -> None:
    """Search all that students will read for lines of solutions.

    Raises:
        ChapterError: A file holds one.
    """
    wholes = {twin.stem: twin.read_text(encoding="utf-8") for twin in twin_paths(root)}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in SEARCHED or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            soup = pages.parsed(path)
            text = soup.get_text()
            if soup.select(".solution, .quiz-why"):
                raise ChapterError(f"{path.relative_to(folder)} shows a solution")
        for name, whole in wholes.items():
            if path.stem in (name, "searchindex") and (left := leaks(whole, text)):
                raise ChapterError(f"{path.relative_to(folder)} shows a solution: {left[:1]}")


def _write_settings(root: Path, folder: Path) -> None:
    """Write the book's settings with solutions hidden and the edition in the title."""
    settings = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    settings["title"] += " (student edition)"
    settings["sphinx"]["config"]["hide_solutions"] = True
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    (folder / "_config.yml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
