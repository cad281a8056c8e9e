# SPDX-License-Identifier: MIT
"""Say at the foot of every page which version this is, and publish its other editions beside it.

The changes are part of every build. The PDF of ``make print`` and the decks of ``make slides`` are
published with the pages that are built after them, and only such pages link to them: the foot links
the PDF, and what stands under ``{with-edition} slides`` links the decks. An edition that is older
than a chapter is none: it would show another book.
"""

import shutil
import tomllib
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

PROJECT, CHANGES = "pyproject.toml", "CHANGELOG.md"
FOLDER = "editions"
"""Where the editions are, in the folder of the pages."""
PDF, SLIDES = "book.pdf", "slides"
"""The editions: each has its name in ``_build/`` and in `FOLDER`."""


def register(app: Sphinx) -> None:
    """Complete the footer of every page, and copy the editions at the end."""
    app.add_config_value("book_editions", (), "env")
    app.add_directive("with-edition", WithEdition)
    app.connect("config-inited", find_editions)
    app.connect("html-page-context", add_footer)
    app.connect("build-finished", copy_editions, priority=900)  # no other part works on them


class WithEdition(SphinxDirective):
    """``{with-edition} slides``: text about an edition that is published with the pages."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the content, or nothing."""
        is_there = self.arguments[0] in self.config.book_editions
        is_published = self.env.app.builder.name == "html"
        return self.parse_content_to_nodes() if is_there and is_published else []


def find_editions(app: Sphinx, config: Config) -> None:
    """Put the names of the editions that can be published into the configuration."""
    config.book_editions = tuple(editions_of(Path(app.srcdir)))


def editions_of(root: Path) -> list[str]:
    """List the editions of the book in a folder that are newer than all of its chapters."""
    sources = [*root.glob("chapters/*.ipynb"), *root.glob("chapters/*.md")]
    newest = max((path.stat().st_mtime for path in sources), default=0.0)
    marks = {PDF: root / "_build" / PDF, SLIDES: root / "_build" / SLIDES / "index.html"}
    return [
        name for name, mark in marks.items() if mark.is_file() and mark.stat().st_mtime >= newest
    ]


def add_footer(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Put the version into the theme's footer, with links that fit the page's place."""
    root = Path(app.srcdir)
    project = tomllib.loads((root / PROJECT).read_text(encoding="utf-8"))["project"]
    links = {}
    if (root / CHANGES).is_file():
        links["changes"] = context["pathto"](f"{FOLDER}/changes.txt", 1)
    if PDF in app.config.book_editions:
        links["the book as a PDF"] = context["pathto"](f"{FOLDER}/{PDF}", 1)
    context["theme_extra_footer"] = edition_line(str(project["version"]), links)


def edition_line(version: str, links: dict[str, str]) -> str:
    """Write the line; `links` are the addresses by their words."""
    linked = [f'<a href="{escape(address)}">{words}</a>' for words, address in links.items()]
    return " · ".join([f"Version {escape(version)}", *linked])


def copy_editions(app: Sphinx, exception: Exception | None) -> None:
    """Write the folder of editions anew."""
    if exception is not None or app.builder.name != "html":
        return
    root, target = Path(app.srcdir), Path(app.outdir) / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if (root / CHANGES).is_file():
        shutil.copyfile(root / CHANGES, target / "changes.txt")
    if PDF in app.config.book_editions:
        shutil.copyfile(root / "_build" / PDF, target / PDF)
    if SLIDES in app.config.book_editions:
        shutil.copytree(root / "_build" / SLIDES, target / SLIDES)
