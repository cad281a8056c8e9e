# SPDX-License-Identifier: MIT
"""Say at the foot of every page which version of the book it is, and where its changes stand."""

import tomllib
from html import escape
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from book_pages.links.repository import Repository

PROJECT, CHANGES = "pyproject.toml", "CHANGELOG.md"


def register(app: Sphinx) -> None:
    """Complete the footer once the repository is known."""
    app.connect("config-inited", add_version, priority=900)


def add_version(app: Sphinx, config: Config) -> None:
    """Put the version into the theme's footer."""
    project = tomllib.loads((Path(app.srcdir) / PROJECT).read_text(encoding="utf-8"))["project"]
    repository = config.book_repository and Repository(*config.book_repository)
    footer = edition_line(str(project["version"]), repository)
    config.html_theme_options = {**config.html_theme_options, "extra_footer": footer}


def edition_line(version: str, repository: Repository | None) -> str:
    """Write the line; the changes are linked where the build knows the repository."""
    line = f"Version {escape(version)}"
    address = repository.file(CHANGES) if repository else ""
    return f'{line} · <a href="{escape(address)}">changes</a>' if address else line
