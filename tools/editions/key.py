# SPDX-License-Identifier: MIT
"""Write the instructor's key from the built pages: ``make key``.

``_build/key/`` gets one page a chapter: what each exercise is for, which mistakes its checker
names, the letters of the quiz, and then the chapter's questions and its page of exercises as the
book shows them, every solution with its outputs open. All of it is taken from the pages and from
the checkers.
"""

import argparse
import base64
import html as markup
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from bs4 import BeautifulSoup, Tag

from pretrain_book.exercises.grader import find_checker, labels
from tools.chapters.store import ROOT, ChapterError

STYLE = Path(__file__).with_name("assets") / "key.css"
QUESTIONS = ".quiz, .admonition.dropdown"
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


class Key(NamedTuple):
    """One chapter's key: its title, its page, and what was counted on it."""

    name: str
    title: str
    body: str
    n_exercises: int
    n_questions: int


def main(arguments: list[str] | None = None) -> int:
    """Write the key of every chapter with exercises; return 0 if each exercise has its solution."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--html", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "key")
    options = parser.parse_args(arguments)
    try:
        keys = write_keys(options.html, options.to)
    except ChapterError as error:
        print(f"key: {error}", file=sys.stderr)
        return 1
    n_exercises = sum(key.n_exercises for key in keys)
    n_questions = sum(key.n_questions for key in keys)
    print(f"key: {len(keys)} chapters, {n_exercises} exercises, {n_questions} quiz questions")
    return 0


def write_keys(html: Path, folder: Path) -> list[Key]:
    """Write the pages of the key, and an index.

    What was in `folder` is deleted.

    Raises:
        ChapterError: The book is not built, or an exercise has no solution.
    """
    found = sorted((html / "chapters").glob("[0-9][0-9]_*_exercises.html"))
    keys = [read_key(page) for page in found]
    if not keys:
        raise ChapterError(f"no exercises in {html}; make book first")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    style = (html / "_static" / "pygments.css").read_text(encoding="utf-8")
    style += STYLE.read_text(encoding="utf-8")
    for key in keys:
        page = PAGE.format(title=markup.escape(key.title), style=style, body=key.body)
        (folder / f"{key.name}.html").write_text(page, encoding="utf-8")
    index = PAGE.format(title="Instructor's key", style=style, body=_index(keys))
    (folder / "index.html").write_text(index, encoding="utf-8")
    return keys


def read_key(page: Path) -> Key:
    """Read one chapter's exercises and solutions from their page, and its quiz from the others.

    Raises:
        ChapterError: An exercise has no solution below it, or a question no right option.
    """
    soup = _parsed(page)
    title = _words(soup.select_one("article h1"))
    name = page.stem.removesuffix("_exercises")
    sources = [page.with_name(f"{name}{end}.html") for end in ("", "_behind")]
    lessons = {source: _parsed(source) for source in sources if source.exists()}
    parts = [(where, one) for where, found in lessons.items() for one in found.select(QUESTIONS)]
    letters = quiz_letters([one for _, one in parts])
    parts += [(page, one) for one in soup.select("article h1 ~ *")]
    everything = [one for _, one in parts]
    exercises = [one for part in everything for one in _inside(part, ".exercise")]
    _demand_solutions(page, exercises, everything)
    for where, part in parts:
        _open(part)
        _settle_addresses(part, where, everything)
    body = [f'<p><a href="index.html">Instructor\'s key</a></p>\n<h1>{markup.escape(title)}</h1>']
    body += [_overview(exercises), _letters(letters), *map(str, everything)]
    return Key(name, title, "\n".join(body), len(exercises), len(letters))


def _parsed(page: Path) -> BeautifulSoup:
    """Parse a built page."""
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def _inside(part: Tag, selector: str) -> list[Tag]:
    """List what a selector finds in a part, the part itself included."""
    return [*([part] if part.css.match(selector) else []), *part.select(selector)]


def quiz_letters(sections: list[Tag]) -> list[tuple[str, str]]:
    """List the right option of every quiz question, such as ("Question 1", "B").

    Raises:
        ChapterError: A question has not exactly one right option.
    """
    found = []
    for quiz in (one for section in sections for one in _inside(section, ".quiz")):
        name = _words(quiz.select_one(".quiz-title"))
        right = [_words(one).rstrip(".") for one in quiz.select(".quiz-right .quiz-letter")]
        if len(right) != 1:
            raise ChapterError(f"{name} has {len(right)} right options")
        found.append((name, right[0]))
    return found


def _demand_solutions(page: Path, exercises: list[Tag], sections: list[Tag]) -> None:
    """Refuse a page on which an exercise has no solution of its own."""
    n_solutions = sum(len(_inside(section, ".solution")) for section in sections)
    if n_solutions != len(exercises):
        raise ChapterError(
            f"{page.name}: {len(exercises)} exercises, {n_solutions} solutions; "
            "the key is made from the whole book, make book first"
        )


def _overview(exercises: list[Tag]) -> str:
    """Write a table of the exercises: what each is for, and the mistakes that are named."""
    known, rows = set(labels()), []
    for exercise in exercises:
        label = str(exercise["id"])
        purpose, hints = "", ""
        if label in known:
            checker = find_checker(label)
            purpose = checker.purpose
            named = [m.hint for part in checker.parts.values() for m in part.mistakes]
            hints = "".join(f"<li>{markup.escape(hint)}</li>" for hint in named)
        title = markup.escape(_words(exercise.select_one(".admonition-title")))
        rows.append(
            f'<tr><td><a href="#{label}">{title}</a></td><td>{purpose or "by discussion"}</td>'
            f"<td><ul>{hints}</ul></td></tr>"
        )
    head = "<tr><th>exercise</th><th>for</th><th>mistakes that its checker names</th></tr>"
    return f'<table class="overview">{head}{"".join(rows)}</table>'


def _letters(letters: list[tuple[str, str]]) -> str:
    """Write the quiz's letters in one line; nothing without a quiz."""
    if not letters:
        return ""
    line = ", ".join(f"{name.removeprefix('Question ')} {letter}" for name, letter in letters)
    return f'<p class="letters"><strong>Quiz:</strong> {line}</p>'


def _open(section: Tag) -> None:
    """Unfold everything in a section."""
    for fold in _inside(section, "details"):
        fold["open"] = ""
    for solution in _inside(section, ".dropdown"):
        solution["class"] = " ".join(name for name in solution["class"] if name != "dropdown")
    for link in section.select("a.headerlink"):
        link.decompose()


def _settle_addresses(section: Tag, page: Path, sections: list[Tag]) -> None:
    """Put images into the page itself, and let links lead to the book's pages beside the key."""
    for image in section.find_all("img"):
        data = base64.b64encode((page.parent / str(image["src"])).read_bytes()).decode()
        image["src"] = f"data:image/png;base64,{data}"
    for link in section.find_all("a", href=True):
        address = str(link["href"])
        if re.match(r"[a-z]+:", address):
            continue
        anchor = address.removeprefix("#") if address.startswith("#") else ""
        if anchor and any(_inside(one, f'[id="{anchor}"]') for one in sections):
            continue
        target = page.name + address if anchor else address
        link["href"] = f"../{page.parents[1].name}/{page.parent.name}/{target}"


def _index(keys: list[Key]) -> str:
    """Write the list of the chapters' keys."""
    items = [
        f'<li><a href="{key.name}.html">{markup.escape(key.title)}</a>: {key.n_exercises} '
        f"exercises, {key.n_questions} quiz questions</li>"
        for key in keys
    ]
    return f"<h1>Instructor's key</h1>\n<ul>{''.join(items)}</ul>"


def _words(element: Tag | None) -> str:
    """Return an element's text in one line, without the sign of its own link."""
    text = element.get_text(" ") if element is not None else ""
    return " ".join(text.replace("#", " ").split())


if __name__ == "__main__":
    sys.exit(main())
