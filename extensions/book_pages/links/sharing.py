# SPDX-License-Identifier: MIT
"""Describe every page to search engines and to those who share its address (Open Graph).

Title, description and kind stand on every page. Its address and picture must be absolute, so they
are there only when the build knows where the book will stand (:mod:`.repository`).
"""

from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx

from book_pages.links.prose import description

COVER = "cover.png"
COVER_PATH = f"chapters/assets/{COVER}"
COVER_ALT = "Three masks side by side: GPT's triangle, BERT's full square, T5's encoder and decoder"
VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1" />'


def register(app: Sphinx) -> None:
    """Complete the head of every page."""
    app.connect("html-page-context", add_metadata)


def add_metadata(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Add a page's elements to those that docutils wrote; a viewport is in the theme already."""
    if not isinstance(doctree, nodes.document):
        return
    others = str(context.get("metatags") or "").replace(VIEWPORT, "")
    title = app.env.titles[pagename].astext()
    is_first = pagename == app.config.root_doc
    lines = meta_elements(title, description(doctree), app.config.html_title, is_first)
    base = app.config.html_baseurl
    if base:
        lines += picture_elements(base, app.builder.get_target_uri(pagename), Path(app.srcdir))
    context["metatags"] = others + "\n    ".join(["", *lines])


def meta_elements(title: str, summary: str, book: str, is_first: bool) -> list[str]:
    """Write, as HTML, what needs no address.

    `title` is the page's, `book` the book's; `summary` are the page's first sentences, or empty.
    """
    lines = [_property("og:title", title), _property("og:site_name", book)]
    lines.append(_property("og:type", "website" if is_first else "article"))
    if summary:
        lines.append(f'<meta name="description" content="{escape(summary)}" />')
        lines.append(_property("og:description", summary))
    return lines


def picture_elements(base: str, page: str, root: Path) -> list[str]:
    """Write, as HTML, what needs the book's address (`base`, with a slash at its end)."""
    with Image.open(root / COVER_PATH) as image:
        width, height = image.size
    return [
        _property("og:url", urljoin(base, page)),
        _property("og:image", urljoin(base, f"_static/{COVER}")),
        _property("og:image:alt", COVER_ALT),
        _property("og:image:width", str(width)),
        _property("og:image:height", str(height)),
        '<meta name="twitter:card" content="summary_large_image" />',
    ]


def _property(name: str, content: str) -> str:
    """Write one property of Open Graph."""
    return f'<meta property="{name}" content="{escape(content)}" />'
