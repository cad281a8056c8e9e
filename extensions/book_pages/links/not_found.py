# SPDX-License-Identifier: MIT
"""The page ``404.html``: what a server shows for an address that does not exist.

It is shown at any address, ``/book/chapters/gone.html`` as well as ``/book/a/b/c``, while its links
are relative to the book's root. Its first script finds that root and sets the page's base: the
address that the build was told, else the folder above ``chapters/``, else the first folder on
GitHub Pages, else the folder of the address. It is no page of the table of contents, only a page
of the build, which lists all parts.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from sphinx.application import Sphinx

from book_pages.directives.chapter_map import boxes_of

PAGE = "404"
TEMPLATE = "404.html"


def register(app: Sphinx) -> None:
    """Add the page to those that Sphinx adds itself."""
    app.connect("html-collect-pages", collect_page)


def collect_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page's name, what its template shows, and the template."""
    if app.builder.name != "html":
        return
    root = Path(app.srcdir)
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    boxes = [box for box in boxes_of(toc, root) if box.page in app.env.found_docs]
    parts = [(name, list(group)) for name, group in groupby(boxes, key=lambda box: box.part)]
    base = urlsplit(app.config.html_baseurl or "").path
    yield PAGE, {"title": "Page not found", "book_parts": parts, "base_path": base}, TEMPLATE
