# SPDX-License-Identifier: MIT
"""The index of ``chapters/assets/search.js``: every section, definition and term of the book.

Sphinx's own search knows pages only, and finds code. This one leads to sections and holds no code,
no outputs and no lists of contents. It is a script, ``_static/search-index.js``, which a page loads
when the reader first opens the search, so that it also works from ``file://``.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

from bs4 import Tag
from sphinx.application import Sphinx

from book_pages.links.previews import read_article
from book_pages.theme.numbering import SUB_PAGES

SCRIPT, INDEX = "search.js", "_static/search-index.js"
SPHINX_FILES = ("searchindex.js", "_static/searchtools.js", "_static/language_data.js")
LONGEST_EXCERPT = 150
COMMON = 0.2
"""Share of the sections from which on a word finds nothing."""
NOT_SEARCHED = (
    "section, pre, .cell, .math, .quiz, .solution, .dropdown, .proof, .glossary, .applet, details, "
    "nav, script, style, button, .headerlink, .chapter-times, .chapter-pages, .run-inputs"
)
ALIASES = {
    "mlm": "masked language modelling",
    "clm": "causal language modelling",
    "nsp": "next sentence prediction",
    "bpe": "byte pair encoding",
    "icl": "in-context",
    "peft": "parameter efficient",
    "ffn": "feed-forward",
    "kv": "key value",
    "pretraining": "pre-training",
    "pretrained": "pre-trained",
    "finetuning": "fine-tuning",
    "finetune": "fine-tuning",
    "finetuned": "fine-tuned",
}
"""What a short word also means."""
ASKED_FOR = {
    "chapters/00_first_fine_tuning": "start begin quick tutorial",
    "chapters/07_worldview": "bert gpt t5 vs compare comparison difference between",
    "chapters/12_choosing": "which model use best",
    "chapters/live": "demo browser playground try interactive",
}
"""Other words for a page, which its title lacks."""
_WORD = re.compile(r"[^\W\d_][\w'’-]+")


class Entry(NamedTuple):
    """What a result leads to."""

    page: int
    anchor: str
    title: str
    excerpt: str
    words: str  # that neither title nor excerpt holds
    kind: str  # page, section, definition, term


def register(app: Sphinx) -> None:
    """Load the script on every page, and write the index at the end."""
    app.connect("html-page-context", add_script)
    app.connect("build-finished", write_index)


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the script, which waits for the search field."""
    if app.builder.name == "html":
        app.add_js_file(SCRIPT, loading_method="defer")


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Write the index, and remove what Sphinx wrote for its own search."""
    if exception is not None or app.builder.name != "html":
        return
    output = Path(app.outdir)
    pages = sorted(app.env.found_docs, key=_importance)
    articles = [read_article(output / f"{page}.html") for page in pages]
    entries = [
        entry
        for number, article in enumerate(articles)
        if article is not None
        for entry in entries_of(article, number)
    ]
    index = {
        "pages": [
            [f"{page}.html", app.env.titles[page].astext(), _rank(page), ASKED_FOR.get(page, "")]
            for page in pages
        ],
        "aliases": ALIASES,
        "entries": [list(entry) for entry in without_common_words(entries)],
    }
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    (output / INDEX).write_text(f"bookSearch.index = {text};\n", encoding="utf-8")
    for name in SPHINX_FILES:
        (output / name).unlink(missing_ok=True)


def _importance(page: str) -> tuple[int, str]:
    """Sort lessons first."""
    return -_rank(page), page


def _rank(page: str) -> int:
    """Say how much a page is worth beside others: a lesson 2, what looks things up 1, others 0."""
    if page.endswith(SUB_PAGES) or page.endswith(("solutions", "receipts", "benchmarks")):
        return 0
    return 2 if re.match(r"chapters/(?!9\d_)\d\d_", page) else 1


def entries_of(article: Tag, page: int) -> Iterator[Entry]:
    """List what one page offers: its sections, definitions and terms."""
    for section in article.find_all("section"):
        heading = section.find(re.compile("^h[1-4]$"), recursive=False)
        if heading is not None:
            kind = "page" if heading.name == "h1" else "section"
            yield _entry(page, section, _title(heading), kind)
    for box in article.select(".proof[id]"):
        title = box.find(class_="admonition-title")
        if title is not None:
            yield _entry(page, box, _title(title), "definition")
    for term in article.select("dl.glossary dt[id]"):
        said = term.find_next_sibling("dd")
        yield _entry(page, said or term, _title(term), "term", str(term["id"]))


def _entry(page: int, part: Tag, title: str, kind: str, anchor: str = "") -> Entry:
    """Describe a part of a page: its own prose, without that of the sections in it."""
    texts = [_text(one) for one in _prose(part)]
    excerpt = next((_shortened(text) for text in texts if len(text) > len(title)), "")
    shown = set(_words(f"{title} {excerpt}"))
    words = sorted(set(_words(" ".join(texts))) - shown)
    anchor = "" if kind == "page" else anchor or str(part.get("id", ""))
    return Entry(page, anchor, title, excerpt, " ".join(words), kind)


def _prose(part: Tag) -> Iterator[Tag]:
    """Yield the elements that hold a part's own prose."""
    inner = part.find("section", class_=re.compile("-content$"), recursive=False)
    for child in (inner if isinstance(inner, Tag) else part).find_all(recursive=False):
        if child.name in ("h1", "h2", "h3", "h4", "span") or child.css.match(NOT_SEARCHED):
            continue
        if "admonition-title" in (child.get("class") or []) or _lists_contents(child):
            continue
        yield child


def _lists_contents(element: Tag) -> bool:
    """Return whether an element is a list of links to the page's own sections."""
    items = element.find_all("li") if element.name in ("ol", "ul") else []
    return bool(items) and all(item.find("a", href=re.compile("^#")) for item in items)


def _text(element: Tag) -> str:
    """Return an element's words on one line, with an ellipsis for each formula."""
    plain = copy(element)
    for one in plain.select("span.math"):
        one.replace_with("…")
    for one in plain.select(NOT_SEARCHED):
        one.decompose()
    return " ".join(plain.get_text().split())


def _title(element: Tag) -> str:
    """Return a heading's words, without the mark beside them."""
    return " ".join(element.get_text().replace("#", " ").split())


def _shortened(text: str) -> str:
    """Return the beginning of a text, cut after a word."""
    if len(text) <= LONGEST_EXCERPT:
        return text
    return text[: text.rfind(" ", 0, LONGEST_EXCERPT)].rstrip(" ,;:–") + " …"


def _words(text: str) -> list[str]:
    """List the words of a text in small letters."""
    return [word.lower() for word in _WORD.findall(text)]


def without_common_words(entries: list[Entry]) -> list[Entry]:
    """Leave out of the entries' words those that most sections have, since they find nothing."""
    counts = Counter(word for entry in entries for word in entry.words.split())
    most = COMMON * len(entries)
    return [
        entry._replace(words=" ".join(word for word in entry.words.split() if counts[word] <= most))
        for entry in entries
    ]
