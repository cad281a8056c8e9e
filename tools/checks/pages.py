# SPDX-License-Identifier: MIT
"""Checks of the built pages, as a list of complaints.

A strict build warns of much, but not of everything: a script from another host, an image whose
alternative text is its path, an anchor that is gone, a role that Markdown left as text.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag

OTHERS = ("_static/", "editions/")
SLOTS = 256
"""Pages kept parsed: with fewer than the book has, a pass over all in order finds none of them."""
GENERATED = {  # by the builder
    "404.html",
    "genindex.html",
    "index.html",
    "prf-prf.html",
    "search.html",
}
LEFT_OVER = re.compile(
    r"\{(?:cite|eq|ref|numref|doc|glue|prf|term|receipt)[:\w]*\}`|\[@\w|:::+\{?|\[\]\(#|\$\$|\?\?"
)
REQUESTS = {  # element → attribute that makes a browser fetch something
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
    "embed": "src",
}
_CSS_REQUEST = re.compile(r"(?:@import\s+(?:url\()?|url\()\s*['\"]?((?:https?:)?//[^'\")\s]+)")
_SCRIPT_IMPORT = re.compile(r"(?:import|from)\s*\(?\s*['\"]((?:https?:)?//[^'\"]+)")


def toc_pages(root: Path) -> set[str]:
    """List the pages that ``_toc.yml`` names, such as ``chapters/04_gpt.html``."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    files = [toc["root"]]
    for part in toc.get("parts", [toc]):
        for chapter in part["chapters"]:
            files += [chapter["file"], *(one["file"] for one in chapter.get("sections", []))]
    return {f"{name}.html" for name in files}


def built_pages(html: Path) -> set[str]:
    """List a build's pages, relative to it.

    Those that the builder adds (search, index) and other editions, such as slides, are none.
    """
    found = {path.relative_to(html).as_posix() for path in html.rglob("*.html")}
    return {name for name in found - GENERATED if not name.startswith(OTHERS)}


def problems(html: Path) -> list[str]:
    """Check every page of a build: one line for each complaint, with its page."""
    found = []
    for name in sorted({*built_pages(html), *GENERATED}):
        path = html / name
        if path.exists():
            for check in (foreign_requests, images_without_alt, broken_links, error_outputs):
                found += [f"{name}: {complaint}" for complaint in check(path)]
            if name not in GENERATED:
                found += [f"{name}: {complaint}" for complaint in left_over_markup(path)]
    for path in sorted((html / "_static").rglob("*.css")):
        for match in _CSS_REQUEST.finditer(path.read_text(encoding="utf-8")):
            found.append(f"{path.name}: asks for {match.group(1)}")
    return found


def foreign_requests(path: Path) -> Iterator[str]:
    """Yield one complaint for each request to another host on opening the page."""
    for element in parsed(path).find_all([*REQUESTS, "style"]):
        address = str(element.get(REQUESTS.get(element.name, ""), ""))
        is_fetched = element.name != "link" or "canonical" not in str(element.get("rel", ""))
        if is_fetched and re.match(r"(?:[a-z]+:)?//", address):
            yield f"<{element.name}> asks for {address}"
        inline = element.get_text() if element.name in ("script", "style") else ""
        for pattern in (_CSS_REQUEST, _SCRIPT_IMPORT):
            for match in pattern.finditer(inline):
                yield f"inline <{element.name}> asks for {match.group(1)}"
        if "fontawesome" in address:
            yield "loads fontawesome.js; the style sheet holds the icons already"


def images_without_alt(path: Path) -> Iterator[str]:
    """Yield one complaint for each image whose alternative text is missing or a path."""
    for image in parsed(path).find_all("img"):
        alt = str(image.get("alt", "")).strip()
        if not alt or "_images/" in alt or re.fullmatch(r"\S+\.(png|svg|jpe?g|gif)", alt):
            yield f"image {image.get('src')} has alt text {alt!r}"


def broken_links(path: Path) -> Iterator[str]:
    """Yield a complaint for each link inside the book whose page, file or anchor does not exist."""
    for element in parsed(path).find_all(["a", "link", "script", "img"]):
        address = str(element.get("href", element.get("src", "")))
        parts = urlsplit(address)
        if not address or parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
        if not target.is_file():
            yield f"{address} leads to no file"
        elif parts.fragment and unquote(parts.fragment) not in anchors(target):
            yield f"{address} leads to no anchor"


def error_outputs(path: Path) -> Iterator[str]:
    """Yield error streams and tracebacks that the page did not announce."""
    for output in parsed(path).select(".output.stderr, .output.traceback, .system-message"):
        cell = output.find_parent(class_="cell")
        if cell is None or "tag_raises-exception" not in (cell.get("class") or []):
            yield f"shows an error: {output.get_text(' ', strip=True)[:80]!r}"


def left_over_markup(path: Path) -> Iterator[str]:
    """Yield roles, fences, references and formulas left as text, with what stands around them."""
    for article in parsed(path).find_all("article"):
        for unresolved in article.select("code.xref"):  # a reference that Sphinx gave up in silence
            if unresolved.find_parent("a") is None:
                yield f"unresolved reference: {unresolved.get_text()!r}"
        text = _prose(article)
        for match in LEFT_OVER.finditer(text):
            yield f"unresolved markup: {text[max(0, match.start() - 20) : match.end() + 30]!r}"


def anchors(path: Path) -> frozenset[str]:
    """Return the ids to which a link into a page may lead."""
    return _anchors(path.resolve(), path.stat().st_mtime_ns)


def parsed(path: Path) -> BeautifulSoup:
    """Parse a page, once for each version of the file."""
    return _parsed(path.resolve(), path.stat().st_mtime_ns)


@lru_cache(maxsize=SLOTS)
def _parsed(path: Path, version: int) -> BeautifulSoup:
    """Parse one version of a file."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@lru_cache(maxsize=SLOTS)
def _anchors(path: Path, version: int) -> frozenset[str]:
    """Collect the ids and anchor names of one version of a file."""
    elements = _parsed(path, version).find_all(lambda tag: tag.has_attr("id") or tag.name == "a")
    return frozenset(str(tag.get("id") or tag.get("name")) for tag in elements)


def _prose(article: Tag) -> str:
    """Return an article's text without code, outputs and formulas."""
    copy = BeautifulSoup(str(article), "html.parser")
    for element in copy.select("pre, code, script, style, .math"):
        element.decompose()
    return copy.get_text(" ")
