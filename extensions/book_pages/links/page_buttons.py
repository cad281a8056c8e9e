# SPDX-License-Identifier: MIT
"""The buttons above a page: download its notebook, run it elsewhere, edit it, report a mistake.

The notebook, in the reader's form (:mod:`book_pages.notebooks`), is part of every build. Everything
else leads to the repository, so it is there only when the build knows it (:mod:`.repository`); the
theme's ``article-header-buttons.html`` draws it. Binder makes the same notebooks in its image, and
Colab finds them on a branch of their own, to which the publishing workflow pushes them.
An edit leads to the text that the book is edited in: for a chapter, its twin.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.util.docutils import SphinxDirective

from book_pages.links.repository import Repository, RepositoryError, find_base, find_repository
from book_pages.notebooks.reader import FOLDER

TWINS = "chapters/_text"
NOTEBOOKS_BRANCH = "notebooks"
"""Branch that holds nothing but the reader's notebooks."""


class Menu(NamedTuple):
    """A button that opens a list of links."""

    title: str
    icon: str
    links: list[tuple[str, str]]  # text and address


def register(app: Sphinx) -> None:
    """Read the environment once, and complete every page."""
    app.add_config_value("book_repository", None, "env")
    app.add_directive("with-repository", WithRepository)
    app.connect("config-inited", read_environment)
    app.connect("html-page-context", add_buttons)


class WithRepository(SphinxDirective):
    """``{with-repository}``: text about buttons that only a build with a repository has."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the content, or nothing."""
        return self.parse_content_to_nodes() if self.config.book_repository else []


def read_environment(app: Sphinx, config: Config) -> None:
    """Put the repository and the pages' address into the configuration.

    With a repository, what stands under ``{only} repository`` is part of the pages.

    Raises:
        ConfigError: A variable is malformed.
    """
    try:
        config.book_repository = find_repository(os.environ)
        config.html_baseurl = find_base(os.environ, config.book_repository)
    except RepositoryError as error:
        raise ConfigError(str(error)) from error
    if config.book_repository is not None:
        app.tags.add("repository")


def add_buttons(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Offer one page's notebook and, with a repository, the menus."""
    context["notebook_source"], context["page_menus"] = "", []
    if not isinstance(doctree, nodes.document):
        return
    root = Path(app.srcdir)
    path = Path(app.env.doc2path(pagename)).relative_to(root).as_posix()
    if path.endswith(".ipynb"):
        context["notebook_source"] = f"{FOLDER}/{Path(path).name}"
    if app.config.book_repository is not None:
        repository = Repository(*app.config.book_repository)
        context["page_menus"] = menus(repository, path, edited_file(root, path))


def edited_file(root: Path, path: str) -> str:
    """Return the file in which a page is edited: a notebook's twin, where it has one."""
    twin = f"{TWINS}/{Path(path).stem}.md"
    return twin if path.endswith(".ipynb") and (root / twin).is_file() else path


def menus(repository: Repository, path: str, edited: str) -> list[Menu]:
    """List the menus that a page offers with a repository, without links that the host lacks.

    `path` is the page's source, `edited` the file that is edited, relative to the repository.
    """
    name = Path(path).name
    on_branch = repository._replace(ref=NOTEBOOKS_BRANCH)
    run = [
        ("Binder", repository.binder(f"_build/{FOLDER}/{name}")),
        ("Colab", on_branch.colab(name)),
    ]
    source = [
        ("Repository", repository.url),
        ("Suggest an edit", repository.edit(edited)),
        ("Report a mistake", repository.issue(f"On the page {path}")),
    ]
    both = [
        Menu("Run this notebook elsewhere", "fa-play", run if path.endswith(".ipynb") else []),
        Menu("Source of this page", "fa-code-branch", source),
    ]
    real = [one._replace(links=[link for link in one.links if link[1]]) for one in both]
    return [one for one in real if one.links]
