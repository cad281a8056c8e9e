# SPDX-License-Identifier: MIT
"""What a link leads to, beside the link: the data of ``chapters/assets/previews.js``.

After the build, every link of a page's text is followed, and what it leads to (a work in the
bibliography, an equation, a figure, a table, a definition, a term, an exercise, a section) is
shortened by :mod:`.preview_text` to what fits a small card. One script for each page,
``_static/previews/PAGE.js``, holds these cards: link → HTML. It is loaded when the reader first
points at a link, by ``<script>`` and not by ``fetch``, so that it also works from ``file://``.
"""

import json
import posixpath
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, SoupStrainer, Tag
from docutils import nodes
from sphinx.application import Sphinx

from book_pages.links.preview_text import card_of

SCRIPT, PAPER = "previews.js", "paper.js"
FOLDER = "_static/previews"
LINKS = "a.internal[href]"
MENUS = ".chapter-pages, .chapter-map-stage, .card, nav"
Article = Callable[[str], Tag | None]


def register(app: Sphinx) -> None:
    """Load the script on every page of text, and write the cards at the end."""
    app.connect("html-page-context", add_script)
    app.connect("build-finished", write_cards)


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the script on a page that has a text, and the one that prints it light."""
    if isinstance(doctree, nodes.document) and app.builder.name == "html":
        for script in (SCRIPT, PAPER):
            app.add_js_file(script, loading_method="defer")


def write_cards(app: Sphinx, exception: Exception | None) -> None:
    """Write one script of cards for each page with links that have one."""
    if exception is not None or app.builder.name != "html":
        return
    output = Path(app.outdir)
    articles = {page: read_article(output / f"{page}.html") for page in sorted(app.env.found_docs)}
    for page, article in articles.items():
        cards = dict(cards_of(page, article, articles.get)) if article else {}
        path = output / FOLDER / f"{page}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps(cards, ensure_ascii=False, indent=0).replace("</", "<\\/")
        path.write_text(f"bookPreviews({content});\n", encoding="utf-8")


@cache
def read_article(path: Path) -> Tag | None:
    """Read the text of a built page, without the theme around it; None when there is no page."""
    if not path.is_file():
        return None
    markup = path.read_text(encoding="utf-8")
    return BeautifulSoup(markup, "html.parser", parse_only=SoupStrainer("article")).article


def cards_of(page: str, article: Tag, find_article: Article) -> Iterator[tuple[str, str]]:
    """Make the cards of one page, such as ``chapters/05_bert``.

    Yields a link as the page writes it, and its card's HTML; each link once.
    """
    links = (str(link["href"]) for link in article.select(LINKS) if not _needs_none(link))
    for href in dict.fromkeys(links):
        parts = urlsplit(href)
        if parts.scheme or parts.netloc:
            continue
        target = target_page(page, parts.path)
        there = find_article(target)
        if there is None:
            continue
        anchor = unquote(parts.fragment) or _first_anchor(there)
        card = card_of(there, anchor) if anchor else None
        if card is not None:
            move_pictures(card, target, page)
            yield href, card.decode_contents().strip()


def _first_anchor(article: Tag) -> str:
    """Return the anchor of a page's title."""
    section = article.find("section", id=True)
    return str(section["id"]) if isinstance(section, Tag) else ""


def target_page(page: str, path: str) -> str:
    """Name the page that a relative address leads to; an empty one leads to the page itself."""
    if not path:
        return page
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(path)))
    return joined.removesuffix(".html")


def move_pictures(card: Tag, home: str, page: str) -> None:
    """Adapt the addresses of a card's pictures, in place, from page `home` to `page`."""
    start = posixpath.dirname(page) or "."
    for image in card.find_all("img"):
        file = posixpath.join(posixpath.dirname(home), str(image["src"]))
        image["src"] = posixpath.relpath(posixpath.normpath(file), start)


def _needs_none(link: Tag) -> bool:
    """Return whether a link is the mark beside a heading, or stands in a menu of pages."""
    return "headerlink" in (link.get("class") or []) or link.css.closest(MENUS) is not None
