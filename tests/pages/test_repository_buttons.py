# SPDX-License-Identifier: MIT
"""The buttons that lead to the repository: right when it is known, absent when it is not."""

import json
import shutil
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from strict_build import build_book

from book_pages.links.page_buttons import edited_file, menus
from book_pages.links.repository import Repository, RepositoryError, find_base, find_repository
from tools.checks import pages

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ON_GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "Some-One/the.book",
    "GITHUB_REF_TYPE": "branch",
    "GITHUB_REF_NAME": "main",
    "GITHUB_SHA": COMMIT,
}
ON_GITLAB = {"BOOK_REPOSITORY_URL": "https://gitlab.com/group/part/book/", "BOOK_BRANCH": "main"}
PATH = "chapters/05_bert.ipynb"


def named(environment: dict[str, str]) -> Repository:
    found = find_repository(environment)
    assert found is not None
    return found


def test_nothing_is_named_without_a_repository():
    assert find_repository({}) is None
    assert find_repository({"GITHUB_REPOSITORY": "", "BOOK_BRANCH": "main"}) is None
    assert find_base({}, None) == ""


def test_addresses_on_github():
    found = named(ON_GITHUB)
    assert found.url == "https://github.com/Some-One/the.book"
    assert found.binder(PATH) == (
        "https://mybinder.org/v2/gh/Some-One/the.book/main?urlpath=lab%2Ftree%2Fchapters%2F05_bert.ipynb"
    )
    assert found.colab(PATH) == (
        f"https://colab.research.google.com/github/Some-One/the.book/blob/main/{PATH}"
    )
    assert found.edit("a/b.md") == "https://github.com/Some-One/the.book/edit/main/a/b.md"
    assert found.issue("On a/b") == (
        "https://github.com/Some-One/the.book/issues/new?title=On%20a%2Fb"
    )
    assert find_base({}, found) == "https://some-one.github.io/the.book/"


def test_addresses_on_gitlab():
    found = named(ON_GITLAB)
    assert found.url == "https://gitlab.com/group/part/book"
    assert found.binder(PATH).startswith("https://mybinder.org/v2/gl/group%2Fpart%2Fbook/main?")
    assert found.colab(PATH) == ""
    assert found.edit("a.md") == "https://gitlab.com/group/part/book/-/edit/main/a.md"
    assert "/-/issues/new?issue%5Btitle%5D=On" in found.issue("On")
    assert find_base({}, found) == ""


def test_another_host_gets_only_what_we_know_of_it():
    found = named({"BOOK_REPOSITORY_URL": "https://git.example.org/me/book", "BOOK_BRANCH": "main"})
    assert found.binder(PATH).startswith(
        "https://mybinder.org/v2/git/https%3A%2F%2Fgit.example.org%2Fme%2Fbook/main?"
    )
    assert (found.colab(PATH), found.edit(PATH), found.issue("t")) == ("", "", "")
    listed = {menu.title: [text for text, _ in menu.links] for menu in menus(found, PATH, PATH)}
    assert listed == {
        "Run this notebook elsewhere": ["Binder"],
        "Source of this page": ["Repository"],
    }


def test_our_own_variables_come_first():
    assert named({**ON_GITHUB, **ON_GITLAB}).host == "https://gitlab.com"
    base = find_base({"BOOK_BASE_URL": "https://book.example.org/a"}, named(ON_GITHUB))
    assert base == "https://book.example.org/a/"


def test_a_site_repository_stands_at_the_root():
    found = named({**ON_GITHUB, "GITHUB_REPOSITORY": "Me/me.github.io"})
    assert find_base({}, found) == "https://me.github.io/"


def test_a_branch_with_a_slash_is_one_part_of_a_binder_address():
    found = named({**ON_GITHUB, "GITHUB_REF_NAME": "new/chapter"})
    assert "/the.book/new%2Fchapter?" in found.binder(PATH)
    assert found.edit("a.md").endswith("/edit/new/chapter/a.md")


@pytest.mark.parametrize(
    ("change", "ref"),
    [
        ({"GITHUB_REF_NAME": "12/merge"}, COMMIT),  # a pull request has no branch of its own
        ({"GITHUB_REF_NAME": ""}, COMMIT),
        ({"GITHUB_REF_NAME": "v1.0", "GITHUB_REF_TYPE": "tag"}, "v1.0"),
    ],
)
def test_only_a_branch_can_be_edited(change: dict[str, str], ref: str):
    found = named({**ON_GITHUB, **change})
    assert found.ref == ref
    assert found.edit("a.md") == ""


BAD = {
    "one name": ({"GITHUB_REPOSITORY": "a"}, "GITHUB_REPOSITORY: expected OWNER/NAME, got 'a'"),
    "three names": ({"GITHUB_REPOSITORY": "a/b/c"}, "expected OWNER/NAME"),
    "server": ({"GITHUB_SERVER_URL": "github.com"}, "GITHUB_SERVER_URL: expected https://HOST"),
    "branch": ({"GITHUB_REF_NAME": "a b"}, "GITHUB_REF_NAME: expected a branch or tag, got 'a b'"),
    "dots": ({"GITHUB_REF_NAME": "a/../b"}, "GITHUB_REF_NAME"),
    "no branch": ({"GITHUB_REF_NAME": "", "GITHUB_SHA": "12"}, "got '' and '12'"),
    "address": ({"BOOK_REPOSITORY_URL": "a/b"}, "expected https://HOST/OWNER/NAME, got 'a/b'"),
    "our branch": ({"BOOK_REPOSITORY_URL": "https://github.com/me/book"}, "BOOK_BRANCH: expected"),
    "script": ({"BOOK_REPOSITORY_URL": 'https://x.org/a/b"><script>'}, "BOOK_REPOSITORY_URL"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_malformed_variable_is_named(change: dict[str, str], message: str):
    with pytest.raises(RepositoryError) as caught:
        find_repository({**ON_GITHUB, **change})
    assert message in str(caught.value)


def test_a_malformed_address_of_the_pages_is_named():
    with pytest.raises(
        RepositoryError, match="BOOK_BASE_URL: expected https://HOST/PATH/, got 'x'"
    ):
        find_base({"BOOK_BASE_URL": "x"}, None)


def test_a_chapter_is_edited_in_its_twin(repository: Path):
    assert edited_file(repository, PATH) == "chapters/_text/05_bert.md"
    assert edited_file(repository, "chapters/glossary.md") == "chapters/glossary.md"


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# 5 One chapter\n\nWords."}
    ],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
INDEX = """\
# A book

What it is about.

:::{only} repository
It runs on a server, too.
:::
"""
TOC = """\
format: jb-book
root: chapters/index
parts:
  - caption: Only part
    chapters:
      - file: chapters/05_bert
"""


@pytest.fixture(scope="module")
def small_book(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of a book with one chapter."""
    book = tmp_path_factory.mktemp("small")
    for folder in ("extensions", "chapters/assets", "chapters/applets"):
        shutil.copytree(repository / folder, book / folder)
    for name in ("_config.yml", "pyproject.toml", "chapters/references.bib"):
        shutil.copy(repository / name, book / name)
    (book / "_toc.yml").write_text(TOC, encoding="utf-8")
    (book / "chapters" / "index.md").write_text(INDEX, encoding="utf-8")
    (book / PATH).write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    return book


def test_pages_of_a_known_repository(small_book: Path, tmp_path: Path):
    done = build_book(small_book, tmp_path, repository=ON_GITHUB)
    assert done.returncode == 0, done.stderr
    html = tmp_path / "_build" / "html"
    assert pages.problems(html) == []
    page = pages.parsed(html / "chapters" / "05_bert.html")
    links = {a.get_text(strip=True): str(a["href"]) for a in page.select(".dropdown-item")}
    assert list(links) == ["Binder", "Colab", "Repository", "Suggest an edit", "Report a mistake"]
    notebook = parse_qs(urlsplit(links["Binder"]).query)["urlpath"][0].removeprefix("lab/tree/")
    made = html / "notebooks" / "05_bert.ipynb"
    assert notebook == "_build/notebooks/05_bert.ipynb"  # made in Binder's image
    assert links["Colab"].endswith("/blob/notebooks/05_bert.ipynb")  # a branch of its own
    assert page.select_one("a.download-notebook")["href"] == "../notebooks/05_bert.ipynb"
    first = json.loads(made.read_text(encoding="utf-8"))["cells"][0]
    assert "".join(first["source"]).startswith("# 5 One")
    assert (small_book / links["Suggest an edit"].partition("/edit/main/")[2]).is_file()
    first = pages.parsed(html / "chapters" / "index.html")
    for one, source in ((page, PATH), (first, "chapters/index.md")):  # a notebook, a page of text
        (report,) = [a for a in one.select(".dropdown-item") if "mistake" in a.get_text()]
        title = parse_qs(urlsplit(str(report["href"])).query)["title"]
        assert title == [f"On the page {source}"]
    assert "Binder" not in first.get_text()  # a page of text is no notebook
    assert "It runs on a server, too." in first.get_text()
    base = "https://some-one.github.io/the.book/"
    assert page.select_one("link[rel=canonical]")["href"] == f"{base}chapters/05_bert.html"
    picture = str(page.select_one('meta[property="og:image"]')["content"])
    assert (html / picture.removeprefix(base)).is_file()
    card = page.select_one('meta[name="twitter:card"]')
    assert card["content"] == "summary_large_image"
    assert page.select_one('meta[property="og:url"]')["content"].startswith(base)
    assert pages.parsed(html / "404.html").base["href"] == "/the.book/"


def test_a_malformed_variable_stops_the_build(small_book: Path, tmp_path: Path):
    done = build_book(small_book, tmp_path, repository={"BOOK_REPOSITORY_URL": "me/book"})
    assert done.returncode != 0
    words = " ".join(f"{done.stdout}{done.stderr}".split())
    assert "BOOK_REPOSITORY_URL: expected https://HOST/OWNER/NAME, got 'me/book'" in words
