# SPDX-License-Identifier: MIT
"""What depends on what the build knows: the foot of a page, text about buttons and editions."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from book_pages.links.edition import (
    FOLDER,
    PDF,
    SLIDES,
    WithEdition,
    copy_editions,
    edition_line,
    editions_of,
)
from book_pages.links.page_buttons import WithRepository
from book_pages.links.repository import Repository
from book_pages.theme.tables import unbroken
from tools.checks.pages import built_pages

GITHUB = Repository("https://github.com", "owner", "book", "main", is_branch=True)


def test_the_foot_names_the_version_and_links_what_is_there():
    assert edition_line("1.2", {}) == "Version 1.2"
    links = {"changes": "../a.txt", "PDF": "../b.pdf"}
    assert edition_line("1.2", links) == (
        'Version 1.2 · <a href="../a.txt">changes</a> · <a href="../b.pdf">PDF</a>'
    )


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A book of one chapter with a PDF and slides that were made after it."""
    for n, name in enumerate(("chapters/01_one.md", "_build/book.pdf", "_build/slides/index.html")):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(name, encoding="utf-8")
        os.utime(path, (n, n))
    return tmp_path


def test_editions_are_those_that_were_made_after_the_chapters(made: Path):
    assert editions_of(made) == [PDF, SLIDES]
    os.utime(made / "chapters" / "01_one.md", (1.5, 1.5))
    assert editions_of(made) == [SLIDES]
    shutil.rmtree(made / "_build")
    assert editions_of(made) == []


@pytest.mark.parametrize(
    ("published", "builder", "expected"),
    [((SLIDES,), "html", ["parsed"]), ((PDF,), "html", []), ((SLIDES,), "singlehtml", [])],
)
def test_text_about_an_edition_needs_the_edition(
    published: tuple[str, ...], builder: str, expected: list[str]
):
    directive = SimpleNamespace(
        arguments=[SLIDES],
        config=SimpleNamespace(book_editions=published),
        env=SimpleNamespace(app=SimpleNamespace(builder=SimpleNamespace(name=builder))),
        parse_content_to_nodes=lambda: ["parsed"],
    )
    assert WithEdition.run(directive) == expected


def test_a_build_holds_exactly_the_editions_that_it_links(made: Path):
    app = SimpleNamespace(
        srcdir=made,
        outdir=made / "html",
        builder=SimpleNamespace(name="html"),
        config=SimpleNamespace(book_editions=(PDF, SLIDES)),
    )
    copy_editions(app, None)
    folder = made / "html" / FOLDER
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} == {
        "book.pdf", "slides/index.html",
    }  # fmt: skip
    assert built_pages(made / "html") == set()  # an edition is no page of the book
    app.config.book_editions = ()
    copy_editions(app, None)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("repository", "expected"), [(None, []), (tuple(GITHUB), ["parsed"])])
def test_text_about_buttons_needs_the_buttons(repository: object, expected: list[str]):
    directive = SimpleNamespace(
        config=SimpleNamespace(book_repository=repository),
        parse_content_to_nodes=lambda: ["parsed"],
    )
    assert WithRepository.run(directive) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60.7 [58, 63] %", "60.7 [58,\xa063] %"),
        ("4.9 (+4.85 to +5.11)", "4.9 (+4.85\xa0to\xa0+5.11)"),
        ("−0.1 [−1.5, 2.0]", "−0.1 [−1.5,\xa02.0]"),
        ("[the list, a name] (2, or more)", "[the list, a name] (2, or more)"),
    ],
)
def test_an_interval_stays_on_one_line(text: str, expected: str):
    assert unbroken(text) == expected
