# SPDX-License-Identifier: MIT
"""Write the book without its solutions: ``make student``.

``_build/student/`` becomes a book of its own: the chapters as notebooks whose solutions are cut
out, code and outputs included, and the pages built from them. Solutions stand between the marks of
sphinx-exercise, so one pass over a chapter's twin finds them. That library's `hide_solutions` is
switched on as well, but it acts on pages alone, and students also get the notebooks. The answers
of the self-check go too: folded ones, and what a quiz says of its options. Hints and checkers stay.

Not hidden: the checkers' own source, in the package. They are for practice, not for grading.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

import yaml
from nbformat import NotebookNode

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

COPIED = (  # what the pages' directives read, and what comes with every copy
    "LICENSE",
    "LICENSE-text.md",
    "CONTRIBUTING.md",  # a page takes its steps from it
    "_toc.yml",
    "extensions",
    "data/runs",
    "data/sources.toml",
    "data/exercises.toml",
    "code/pretrain_book/exercises",
    "benchmarks/pages.json",
    "benchmarks/results.json",
    "benchmarks/waits.json",
)
FOR_APPLETS = (  # what the pages' interactive parts load
    "data/checkpoints/*_chars.safetensors",
    "data/checkpoints/gpt_plays.safetensors",
    "data/checkpoints/bert_plays.safetensors",
    "data/checkpoints/bert_words.safetensors",
    "data/checkpoints/time_machine/*.safetensors",
    "data/applets/*.json",
    "data/tokenizers/*.json",
    "data/tables/published_models.toml",
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
MIN_LETTERS = 12  # shorter lines, such as "]", say nothing about a solution
_GATE = re.compile(r"^(?P<fence>:{3,})\{solution-(?P<side>start|end)\}", re.MULTILINE)
_BLOCK = re.compile(
    r"^(?P<fence>:{3,})\{(?:solution\}|admonition\} .*(?:[Aa]nswer|[Ss]olution))", re.MULTILINE
)
_QUIZ = re.compile(
    r"^(?P<fence>:{3,})\{quiz\} (?P<label>\S+)\n(?P<body>.*?)^(?P=fence)$", re.M | re.S
)
_OPTION = re.compile(r"^- \[[ x]\] (?P<text>.*?)(?:\n[ \t]*\n.*)?\Z", re.DOTALL)


def main(arguments: list[str] | None = None) -> int:
    """Write the student edition and build its pages; return 1 if it fails or a solution is left."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "student")
    parser.add_argument("--no-pages", action="store_true", help="write the notebooks only")
    options = parser.parse_args(arguments)
    try:
        write_edition(ROOT, options.to)
        if not options.no_pages:
            build_strictly(options.to, options.to)
            refuse_leaks(ROOT, options.to / "_build" / "html")
    except ChapterError as error:
        print(f"student: {error}", file=sys.stderr)
        return 1
    return 0


def write_edition(root: Path, folder: Path) -> None:
    """Write the book's source without solutions; what was in the folder is deleted.

    Raises:
        ChapterError: A chapter's notebook is not up to its twin, or a solution would be left.
    """
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.ipynb", "_text", "*.tmp", "ruff.toml", ".*")
    shutil.copytree(root / "chapters", folder / "chapters", ignore=ignored)
    (folder / "chapters" / "_text").mkdir()
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (root / name).is_dir():
            no_cache = shutil.ignore_patterns("__pycache__")
            shutil.copytree(root / name, folder / name, ignore=no_cache)
        else:
            shutil.copy(root / name, folder / name)
    for path in sorted(found for pattern in FOR_APPLETS for found in root.glob(pattern)):
        copy = folder / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    for page in (folder / "chapters").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for phrase in ONLY_WITH_SOLUTIONS:
            text = text.replace(phrase, "")
        page.write_text(INDEX if page.stem == "solutions" else text, encoding="utf-8")
    _write_settings(root, folder)
    for twin in twin_paths(root):
        write_chapter(twin, folder / "chapters")


def write_chapter(twin: Path, folder: Path) -> Path:
    """Write one chapter's twin and notebook without solutions; return the new notebook.

    Its kept cells have their outputs, counted from 1.

    Args:
        twin: The chapter's own twin, beside whose folder its notebook lies.
        folder: The edition's ``chapters`` folder, with ``_text`` in it.

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
    write_notebook(notebook_of(copy), notebook)
    left = leaks(whole, _all_text(notebook))
    if left:
        raise ChapterError(f"{twin.name}: a line of a solution is left: {left[0]!r}")
    return notebook_of(copy)


def without_solutions(text: str) -> str:
    """Cut solutions and answers out of a twin, or of a part of it that closes what it opens.

    Quizzes keep their questions and options.

    Raises:
        ChapterError: A solution is opened and not closed.
    """
    kept: list[str] = []
    closing = ""  # the fence that ends what is being cut
    inside = False  # between the marks of a solution
    for line in text.splitlines():
        gate, block = _GATE.match(line), _BLOCK.match(line)
        if closing:
            closing = "" if line == closing else closing
        elif gate:
            inside, closing = gate["side"] == "start", gate["fence"]
        elif block and not inside:
            closing = block["fence"]
        elif not inside:
            kept.append(line)
    if inside or closing:
        raise ChapterError("a solution or an answer is opened and never closed")
    return _QUIZ.sub(_plain_question, "\n".join(kept) + "\n")


def outside_solutions(notebook: NotebookNode) -> list[NotebookNode]:
    """List a notebook's cells in order, without the code cells inside solutions."""
    kept, inside = [], False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for gate in _GATE.finditer(cell.source):
                inside = gate["side"] == "start"
        if not inside or cell.cell_type == "markdown":
            kept.append(cell)
    return kept


def removed_lines(text: str) -> list[str]:
    """List what a student must not find: the lines that are in solutions only.

    A line counts if it has at least 12 letters and the text without solutions does not hold it.
    """
    kept = _squeezed(without_solutions(text))
    lines = [_squeezed(line) for line in text.splitlines() if not line.startswith((":", "```"))]
    return [line for line in lines if len(line) >= MIN_LETTERS and line not in kept]


def leaks(whole: str, text: str) -> list[str]:
    """List the lines of a twin's solutions, spaces removed, that a text for students holds."""
    squeezed = _squeezed(text)
    return [line for line in removed_lines(whole) if line in squeezed]


def refuse_leaks(root: Path, html: Path) -> None:
    """Search the built pages for lines of solutions.

    Raises:
        ChapterError: A page holds one.
    """
    for twin in twin_paths(root):
        page = html / "chapters" / f"{twin.stem}.html"
        left = leaks(twin.read_text(encoding="utf-8"), pages.parsed(page).get_text())
        if left or pages.parsed(page).select(".solution, .quiz-why"):
            raise ChapterError(f"{page.name} shows a solution: {left[:1]}")


def _plain_question(match: re.Match[str]) -> str:
    """Turn a quiz into a question with lettered options and no hint at which is right."""
    question, *options = re.split(r"^(?=- \[[ x]\] )", match["body"], flags=re.M)
    lettered = []
    for letter, option in zip("ABCDE", options, strict=False):
        found = _OPTION.match(option.rstrip())
        lettered.append(f"- {letter}. {found['text'] if found else ''}")
    body = "\n".join([question.strip(), "", *lettered])
    fence = match["fence"]
    return f"{fence}{{admonition}} Question\n:name: {match['label']}\n\n{body}\n{fence}"


def _write_settings(root: Path, folder: Path) -> None:
    """Write the book's settings with solutions hidden and the edition in the title."""
    settings = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    settings["title"] += " (student edition)"
    settings["sphinx"]["config"]["hide_solutions"] = True
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    (folder / "_config.yml").write_text(text, encoding="utf-8")


def _all_text(notebook: NotebookNode) -> str:
    """Join the cells' sources."""
    return "\n".join(cell.source for cell in notebook.cells)


def _squeezed(text: str) -> str:
    """Remove all spaces, so that lines compare however they are wrapped."""
    return re.sub(r"\s+", "", text)


if __name__ == "__main__":
    sys.exit(main())
