# SPDX-License-Identifier: MIT
"""Weigh the built pages as a first-time reader's browser fetches them: ``make bench``.

Each page is opened with an empty cache, and what the browser asked for is added up, compressed
with gzip as a web server would send it, by kind. Nothing is scrolled or touched, so applets and
pictures far down do not count; an applet near the top opens by itself and asks for its model. The
result is ``benchmarks/pages.json``.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser

from tools.chapters.store import ROOT, ChapterError
from tools.checks import pages
from tools.editions import browsing

RECORD = ROOT / "benchmarks" / "pages.json"
KIB = 1024
LIMIT = 380 * KIB  # pictures and models apart; 148 are typefaces
SUFFIXES = {
    "html": (".html",),
    "css": (".css",),
    "js": (".js", ".mjs"),
    "fonts": (".woff2", ".woff", ".ttf"),
    "images": (".png", ".svg", ".jpg", ".jpeg", ".webp", ".gif"),
    "models": (".safetensors", ".gz", ".bin", ".onnx"),
}
KINDS = (*SUFFIXES, "other")

Weight = dict[str, int]


def kind_of(path: Path) -> str:
    """Return which of `KINDS` a file is."""
    return next((kind for kind, ends in SUFFIXES.items() if path.suffix in ends), "other")


@cache
def compressed_size(path: Path) -> int:
    """Return a file's size as it is sent, in bytes: compressed where that makes it smaller."""
    content = path.read_bytes()
    return min(len(content), len(gzip.compress(content, 6)))


def weigh(addresses: Iterable[str], served: str, folder: Path) -> Weight:
    """Add up, by kind and in bytes, what a browser asked for; the same file counts once.

    `served` is the address of `folder`; an address without a file there weighs nothing.
    """
    own = [address.removeprefix(served) for address in addresses if address.startswith(served)]
    files = {folder / unquote(urlsplit(address).path) for address in own}
    weight = dict.fromkeys(KINDS, 0)
    for path in files:
        if path.is_file():
            weight[kind_of(path.relative_to(folder))] += compressed_size(path)
    return weight


def has_applet(page: Path) -> bool:
    """Return whether a built page holds an applet, which may ask for a model."""
    return 'class="applet"' in page.read_text(encoding="utf-8")


def too_heavy(weight: Weight, *, may_ask: bool = False) -> list[str]:
    """List what is wrong with a page's weight; only applets `may_ask` for models."""
    total = sum(size for kind, size in weight.items() if kind not in ("images", "models"))
    complaints = []
    if total > LIMIT:
        parts = ", ".join(f"{kind} {size / KIB:.0f}" for kind, size in weight.items() if size)
        complaints.append(f"{total / KIB:.0f} KiB, more than {LIMIT // KIB}: {parts}")
    if weight["models"] and not may_ask:
        complaints.append(f"{weight['models'] / KIB:.0f} KiB of models that nobody asked for")
    return complaints


def weigh_all(browser: Browser, folder: Path) -> dict[str, Weight]:
    """Open every page of a build with an empty cache, and weigh it.

    Raises:
        ChapterError: There are no pages.
    """
    names = sorted(pages.built_pages(folder)) if folder.is_dir() else []
    if not names:
        raise ChapterError(f"no pages in {folder}: make book builds them")
    with browsing.serve(folder) as address:
        return {name: weigh(_asked(browser, address + name), address, folder) for name in names}


def _asked(browser: Browser, address: str) -> list[str]:
    """Open a page and list what it asks for."""
    asked: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto(address)
    page.evaluate(browsing.SETTLED)
    page.wait_for_load_state("networkidle")  # applets ask for their modules after the page is there
    context.close()
    return asked


def main(arguments: list[str] | None = None) -> int:
    """Weigh the pages, print them and write the record; return 0 if it is written."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "_build" / "html")
    parser.add_argument("--to", type=Path, default=RECORD)
    options = parser.parse_args(arguments)
    try:
        with browsing.open_browser() as browser:
            weights = weigh_all(browser, options.folder.resolve())
    except ChapterError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(f"{'KiB, compressed':40}" + "".join(f"{kind:>8}" for kind in KINDS))
    for name, weight in weights.items():
        row = "".join(f"{weight[kind] / KIB:8.0f}" for kind in KINDS)
        may_ask = has_applet(options.folder / name)
        complaints = "; ".join(too_heavy(weight, may_ask=may_ask))
        print(f"{name:40}{row}  {complaints}".rstrip())
    record = {"unit": "bytes, gzip", "limit": LIMIT, "pages": weights}
    options.to.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
