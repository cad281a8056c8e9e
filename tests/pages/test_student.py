# SPDX-License-Identifier: MIT
"""The student edition holds no solution, and the key holds every one."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from book_pages.directives.exercises import chapter_lines
from tools.chapters import bring_package, store
from tools.chapters.opening_cell import EDITION, is_opening
from tools.chapters.store import ChapterError
from tools.editions import key as make_key
from tools.editions import solutions
from tools.editions import student as make_student

TWIN = """\
# 7 A planted chapter

A sentence before the cell.

```{code-cell} python
first_number = 20 + 3
first_number
```

## Check yourself

::::{quiz} quiz-p-sum
How much is twenty and three?

- [ ] As much as three and thirty.

  Thirty-three is not the sum of the two.
- [x] Twenty-three,
  written as two words.

  Add the units to the tens.

  - and an inner list.
::::

:::{admonition} Answer 1
:class: dropdown
The folded answer of the self-check.
:::

## Exercises

:::{exercise} One
:label: ex-p-one

What? *Hint.* Think of a number.
:::

Hand in the number.

```{code-cell} python
print("checked")
```

:::{solution-start} ex-p-one
:class: dropdown
:::

The secret of the matter is told here.

```{code-cell} python
secret_number = first_number * 2
print("the secret number:", secret_number)
```

:::{solution-end}
:::

:::{exercise} Two
:label: ex-p-two

Why?
:::

::::{solution} ex-p-two
Because of the other secret.

:::{note}
With a note inside it.
:::
::::

## Last words

```{code-cell} python
first_number + 1
```
"""
SECRETS = (
    "Thirty-three is not", "Add the units", "inner list", "folded answer", "secret of the matter",
    "secret_number", "secret number", "other secret", "note inside", "solution", "quiz}", "[x]",
)  # fmt: skip
KEPT = (
    "first_number = 20 + 3", "How much is twenty", "- A. As much as three and thirty.",
    "- B. Twenty-three,\n  written as two words.", "*Hint.* Think", "checked", "Hand in",
    "ex-p-two", "Why?", "first_number + 1", ":name: quiz-p-sum",
)  # fmt: skip


@pytest.fixture
def chapter(tmp_path: Path) -> Path:
    """A chapter with every kind of solution, its outputs planted; returns the twin."""
    twin = tmp_path / "book" / "chapters" / "_text" / "07_planted.md"
    twin.parent.mkdir(parents=True)
    twin.write_text(TWIN, encoding="utf-8")
    notebook = store.read_twin(twin)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
        text = "the secret number: 46" if "secret" in cell.source else f"output {count}"
        data = {"text/plain": text}
        cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=count)]
    store.write_notebook(store.notebook_of(twin), notebook)
    return twin


@pytest.fixture
def edition(tmp_path: Path) -> Path:
    """The empty folder of an edition's chapters."""
    (tmp_path / "student" / "_text").mkdir(parents=True)
    return tmp_path / "student"


def test_the_notebook_holds_no_solution_and_all_the_rest(chapter: Path, edition: Path):
    path = make_student.write_chapter(chapter, edition)
    notebook = store.read_notebook(path)
    text = "\n".join(cell.source for cell in notebook.cells)
    stored = path.read_text(encoding="utf-8") + store.twin_of(path).read_text(encoding="utf-8")
    assert [secret for secret in SECRETS if secret in stored] == []
    assert [line for line in KEPT if line not in text] == []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3]
    shown = [cell.outputs[0]["data"]["text/plain"] for cell in code]
    assert shown == ["output 1", "output 2", "output 4"]
    assert solutions.leaks(TWIN, text) == []


def test_a_leak_would_be_found():
    assert solutions.leaks(TWIN, "…secret_number = first_number*2…")
    assert solutions.leaks(TWIN, "The secret of\nthe matter is told here.")
    assert solutions.leaks(TWIN, "first_number = 20 + 3") == []


def test_an_outdated_notebook_is_refused(chapter: Path, edition: Path):
    chapter.write_text(TWIN.replace("20 + 3", "20 + 4"), encoding="utf-8")
    with pytest.raises(ChapterError, match="make sync run"):
        make_student.write_chapter(chapter, edition)


def test_an_open_solution_is_refused():
    with pytest.raises(ChapterError, match="never closed"):
        solutions.without_solutions(TWIN.replace(":::{solution-end}", ":::{note}"))


@pytest.mark.parametrize("number", ["04_gpt_exercises", "09_fine_tuning_exercises"])
def test_real_chapters_lose_their_solutions_only(number: str, repository: Path, edition: Path):
    (twin,) = store.twin_paths(repository, number)
    whole = twin.read_text(encoding="utf-8")
    path = make_student.write_chapter(twin, edition)
    student = store.twin_of(path).read_text(encoding="utf-8")
    assert len(solutions.removed_lines(whole)) > 50
    assert whole.count(":label: ex-") == student.count(":label: ex-")
    assert "{solution" not in student
    before, after = store.read_notebook(store.notebook_of(twin)), store.read_notebook(path)
    kept = solutions.outside_solutions(before)
    cut = [cell for cell in before.cells if cell not in kept]
    printed = [line for cell in cut for o in cell.outputs for line in o.get("text", "").split("\n")]
    remaining = json.dumps([cell.get("outputs", []) for cell in after.cells], ensure_ascii=False)
    other = json.dumps([cell.get("outputs", []) for cell in kept], ensure_ascii=False)
    assert len(cut) > 3
    secret = [line for line in printed if len(line) > 30 and line not in other]
    assert [line for line in secret if line in remaining] == []
    assert {c["id"] for c in after.cells} != {c["id"] for c in before.cells}


def test_the_plain_pages_do_not_promise_solutions(repository: Path, tmp_path: Path):
    root = tmp_path / "root"
    ignored = shutil.ignore_patterns("*.ipynb", "_text", "checkpoints", "__pycache__")
    for name in ("chapters", "_config.yml", *make_student.COPIED):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if (repository / name).is_dir():
            shutil.copytree(repository / name, root / name, ignore=ignored)
        else:
            shutil.copy(repository / name, root / name)
    make_student.write_source(root, tmp_path / "student")
    for page in (tmp_path / "student" / "chapters").glob("*.md"):
        text = page.read_text(encoding="utf-8").lower()
        assert "solutions are folded" not in text, page.name
        assert "every solution is" not in text, page.name
    settings = (tmp_path / "student" / "_config.yml").read_text(encoding="utf-8")
    assert "hide_solutions: true" in settings


@pytest.fixture(scope="module")
def package(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The edition without notebooks and pages, published somewhere."""
    folder = tmp_path_factory.mktemp("edition") / "student"
    make_student.write_package(repository, folder, "https://example.org/class/book")
    return folder


class TestPackage:
    """The edition is complete in itself, and brings nothing that tells solutions."""

    def test_it_says_where_it_is_published(self, package: Path):
        text = (package / "pyproject.toml").read_text(encoding="utf-8")
        project = tomllib.loads(text)
        assert project["project"]["urls"] == {"Repository": "https://example.org/class/book"}
        assert set(project["tool"]) == {"setuptools"}
        assert bring_package.requirements(package / "pyproject.toml")["torch"]

    def test_what_it_and_the_chapters_name_is_there(self, package: Path, repository: Path):
        for name in ("README.md", "Makefile", ".gitignore", "LICENSE", "requirements.txt"):
            assert (package / name).is_file(), name
        assert os.access(package / "binder" / "postBuild", os.X_OK)
        readme = (package / "README.md").read_text(encoding="utf-8")
        for name in re.findall(r"`((?:tools|data|code)/[^`]*)`", readme):
            assert (package / name).exists(), name
        texts = [path.read_text(encoding="utf-8") for path in store.twin_paths(repository)]
        configs = set(re.findall(r"experiments/configs/\w+\.toml", "\n".join(texts)))
        assert "experiments/configs/own_text.toml" in configs
        assert [name for name in configs if not (package / name).is_file()] == []
        make = (package / "Makefile").read_text(encoding="utf-8")
        targets = set(re.findall(r"^([a-z]+):", make, re.M))
        assert set(re.findall(r"\$ make (\w+)", readme)) <= targets
        for module in set(re.findall(r"-m (tools[.\w]+)", make)):
            assert (package / f"{module.replace('.', '/')}.py").is_file(), module

    def test_a_command_that_only_the_book_has_is_said_to_be_that(self, package: Path):
        done = subprocess.run(["make", "slides"], cwd=package, capture_output=True, text=True)
        assert done.returncode != 0
        assert "make slides is a command of the book's own repository" in done.stdout
        assert re.search(r"^setup +install", done.stdout, re.M)

    @pytest.mark.parametrize("name", ["Makefile", "binder/postBuild"])
    def test_all_that_chapters_fetch_is_fetched(self, name: str, package: Path, repository: Path):
        text = (package / name).read_text(encoding="utf-8")
        fetched = set(re.search(r"corpora\.download (.*)$", text, re.M).group(1).split())
        ours = (repository / "binder" / "postBuild").read_text(encoding="utf-8")
        assert fetched == set(re.search(r"corpora\.download (.*)$", ours, re.M).group(1).split())

    def test_nothing_else_came_along(self, package: Path):
        found = {path.name for path in package.iterdir()}
        assert found == {
            ".gitignore", "LICENSE", "LICENSE-text.md", "Makefile", "README.md", "binder", "code",
            "data", "experiments", "pyproject.toml", "requirements.txt", "tools",
        }  # fmt: skip
        names = {path.relative_to(package).as_posix() for path in package.rglob("*")}
        wrong = re.compile(
            r"(^|/)(tests|experiments/(?!configs)|_text|chapters/\d|__pycache__)(/|$)|quiz_keys|wrong_a"
        )
        assert [name for name in sorted(names) if wrong.search(name)] == []
        assert len([name for name in names if name.startswith("tools/") and "." in name]) == 5

    def test_no_file_holds_a_line_of_a_solution_in_prose(self, package: Path, repository: Path):
        texts = {
            path: solutions._squeezed(path.read_text(encoding="utf-8"))
            for path in package.rglob("*")
            if path.suffix in {".md", ".toml", ".py", ".txt"} or path.name == "Makefile"
        }
        told = []
        for twin in store.twin_paths(repository):
            for line in solutions.removed_lines(twin.read_text(encoding="utf-8")):
                if len(line) > 60 and not re.search(r"[=(){}\[\]]", line):  # words, no code
                    told += [(path.name, line) for path, text in texts.items() if line in text]
        assert told == []

    def test_its_opening_cell_asks_for_the_edition_alone(self, repository: Path, tmp_path: Path):
        (tmp_path / "_text").mkdir()
        (twin,) = store.twin_paths(repository, "00_first")
        for address in ("", "https://example.org/class/book"):
            notebook = store.read_notebook(make_student.write_chapter(twin, tmp_path, address))
            (opening,) = [cell for cell in notebook.cells if is_opening(cell)]
            assert f'address="{address}",' in opening.source
            assert f'wanted="{EDITION}",' in opening.source

    def test_the_address_comes_from_the_project_or_the_environment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        project = tmp_path / "pyproject.toml"
        project.write_text('[project]\nname = "a"\n')
        monkeypatch.delenv(make_student.ADDRESS, raising=False)
        assert make_student.students_address(project) == ""
        project.write_text('[project]\nname = "a"\n[project.urls]\nStudents = "https://a.org/b"\n')
        assert make_student.students_address(project) == "https://a.org/b"
        monkeypatch.setenv(make_student.ADDRESS, "https://c.org/d")
        assert make_student.students_address(project) == "https://c.org/d"


def test_chapter_0_starts_where_the_package_is_not_installed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The opening cell, the imports and the first lesson cells, in an environment of their own.

    It finds all other packages where this process has them, so that no network is needed.
    """
    edition = tmp_path / "student"
    make_student.write_package(repository, edition)
    (edition / "notebooks" / "_text").mkdir(parents=True)
    (twin,) = store.twin_paths(repository, "00_first")
    notebook = store.read_notebook(make_student.write_chapter(twin, edition / "notebooks"))
    python = bare_python(tmp_path / "env")
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"][:4]
    script = tmp_path / "cells.py"
    script.write_text("\n\n".join([*cells, "import pretrain", "print(pretrain.__file__)"]))
    closed = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "MPLBACKEND": "agg"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_", "BOOK_"))}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python), *command],
            cwd=edition / "notebooks",
            env=kept | closed,
            capture_output=True,
            text=True,
        )

    asks = "from importlib.util import find_spec as f; print(bool(f('torch')), f('pretrain'))"
    assert run("-c", asks).stdout == "True None\n"
    done = run("-W", "ignore", str(script))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Missing or too old: the package alone"
    assert lines[1] == "  installing 1 package"
    assert lines[2] == "The book's package is installed, with 0 more."
    assert lines[-1] == str(edition / "code" / "pretrain" / "__init__.py")


def bare_python(folder: Path) -> Path:
    """Make an environment that has all of this one but the book's package; return its Python."""
    venv.create(folder, with_pip=False)
    places = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    ours = Path(sysconfig.get_path("purelib"))
    for path in ours.iterdir():
        if "pretrain" not in path.name and not path.name.startswith("__editable__"):
            (Path(places["purelib"]) / path.name).symlink_to(path)
    return folder / "bin" / "python"


def test_the_index_has_no_column_of_solutions():
    without = chapter_lines("07_p", solutions.without_solutions(TWIN))
    assert without[2] == "| exercise | title | hint | checker |"
    assert "| solution |" in chapter_lines("07_p", TWIN)[2]


LESSON = """<html><body><article><section><h1>7 Planted</h1>
<section id="one"><h2>One</h2><p>No exercise.</p>
<div class="quiz"><p class="quiz-title">Question 1</p>
<details class="quiz-wrong"><summary><span class="quiz-letter">A.</span></summary>no</details>
<details class="quiz-right"><summary><span class="quiz-letter">B.</span></summary>yes</details>
</div></section></section></article></body></html>"""
PAGE = """<html><body><article><section><h1>Exercises for chapter 7</h1>
<div class="exercise" id="ex-gpt-topp"><p class="admonition-title">Exercise 7.1</p></div>
<div class="solution dropdown admonition" id="s"><p>So. <a href="07_planted.html#one">up</a>
<a href="#s">here</a> <a href="04_gpt.html#x">there</a> <a href="https://example.org">out</a></p>
<img src="a.png" alt="A curve that falls"></div></section></article></body></html>"""


@pytest.fixture
def html(tmp_path: Path) -> Path:
    """A built book of one chapter."""
    html = tmp_path / "html"
    (html / "_static").mkdir(parents=True)
    (html / "_static" / "pygments.css").write_text("", encoding="utf-8")
    (html / "chapters").mkdir()
    (html / "chapters" / "a.png").write_bytes(b"png")
    (html / "chapters" / "07_planted.html").write_text(LESSON, encoding="utf-8")
    (html / "chapters" / "07_planted_exercises.html").write_text(PAGE, encoding="utf-8")
    return html


def test_the_key_opens_solutions_and_lists_letters_and_mistakes(html: Path, tmp_path: Path):
    (key,) = make_key.write_keys(html, tmp_path / "key")
    assert (key.title, key.n_exercises, key.n_questions) == (
        "Exercises for chapter 7", 1, 1,
    )  # fmt: skip
    page = BeautifulSoup(key.body, "html.parser")
    assert page.select_one(".letters").get_text() == "Quiz: 1 B"
    assert "warm-up" in page.select_one(".overview").get_text()
    assert len(page.select(".overview li")) >= 3
    assert page.select(".dropdown, details:not([open])") == []
    assert page.img["src"].startswith("data:image/")
    addresses = [link["href"] for link in page.select(".solution a")]
    book = "../html/chapters/"
    assert addresses == [
        f"{book}07_planted.html#one", "#s", f"{book}04_gpt.html#x", "https://example.org",
    ]  # fmt: skip
    assert "No exercise." not in page.get_text()
    assert (tmp_path / "key" / "index.html").is_file()


def test_a_book_without_solutions_gives_no_key(html: Path, tmp_path: Path):
    page = html / "chapters" / "07_planted_exercises.html"
    page.write_text(PAGE.replace("solution ", ""), encoding="utf-8")
    with pytest.raises(ChapterError, match="1 exercises, 0 solutions"):
        make_key.write_keys(html, tmp_path / "key")
    page.write_text(PAGE, encoding="utf-8")
    lesson = html / "chapters" / "07_planted.html"
    lesson.write_text(LESSON.replace("quiz-right", "quiz-wrong"), encoding="utf-8")
    with pytest.raises(ChapterError, match="0 right options"):
        make_key.write_keys(html, tmp_path / "key")
    page.unlink()
    with pytest.raises(ChapterError, match="make book first"):
        make_key.write_keys(html, tmp_path / "key")


@pytest.mark.slow
def test_the_whole_edition_builds_strictly_without_a_leak(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "student" / ".git").mkdir(parents=True)
    (tmp_path / "student" / "old.txt").touch()
    assert make_student.main(["--to", str(tmp_path / "student")]) == 0, capsys.readouterr().err
    pages = list((tmp_path / "student" / "pages" / "chapters").glob("*.html"))
    assert {path.stem for path in pages} >= {path.stem for path in store.notebook_paths()}
    notebooks = {path.stem for path in (tmp_path / "student" / "notebooks").glob("*.ipynb")}
    assert notebooks == {path.stem for path in store.notebook_paths()}
    assert not list((tmp_path / "student").rglob("_build"))
    assert (tmp_path / "student" / ".git").is_dir()
    assert not (tmp_path / "student" / "old.txt").exists()


def test_a_page_with_a_solution_is_refused(chapter: Path, tmp_path: Path):
    folder = tmp_path / "edition"
    folder.mkdir()
    root = chapter.parents[2]
    (folder / "07_planted.ipynb").write_text("The secret of the matter is told here.")
    with pytest.raises(ChapterError, match=r"07_planted.ipynb shows a solution: \['Thesecret"):
        make_student.refuse_leaks(root, folder)
    (folder / "07_planted.ipynb").write_text("first_number = 20 + 3")
    make_student.refuse_leaks(root, folder)
    (folder / "other.html").write_text('<p class="solution">So.</p>')
    with pytest.raises(ChapterError, match=r"other\.html shows a solution"):
        make_student.refuse_leaks(root, folder)
