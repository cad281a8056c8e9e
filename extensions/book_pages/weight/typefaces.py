# SPDX-License-Identifier: MIT
"""Serve the book's two typefaces: a serif for its text, a sans serif for headings and figures.

The faces come out of installed distributions, are reduced to the letters of Western languages,
Greek and the signs that the pages use, and are packed as WOFF2. They stand under the SIL Open Font
License, which reserves their name; the reduced faces therefore have names of their own. The rules
that load them, and the spare faces with the same measures, are at the top of
``chapters/assets/book.css``.
"""

import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

from book_pages.weight import math_font

FOLDER = "_static/fonts"
FACES = {
    "book-serif": ("font-source-serif-pro", "SourceSerifPro-Regular.ttf"),
    "book-serif-italic": ("font-source-serif-pro", "SourceSerifPro-It.ttf"),
    "book-serif-bold": ("font-source-serif-pro", "SourceSerifPro-Semibold.ttf"),
    "book-sans": ("font-source-sans-pro", "SourceSansPro-Regular.ttf"),
    "book-sans-bold": ("font-source-sans-pro", "SourceSansPro-Semibold.ttf"),
}
"""File below ``_static/fonts/`` → the distribution that brings it, and its file there."""
PRELOAD = """
<script>
if (location.protocol !== "file:") for (const href of FACES) document.head.append(Object.assign(
  document.createElement("link"),
  { rel: "preload", as: "font", crossOrigin: "", href }));
</script>"""
LETTERS = (
    *range(0x20, 0x7F),
    *range(0xA0, 0x100),
    *(0x107, 0x10D, 0x142, 0x151, 0x159, 0x15F, 0x161, 0x17E),
    *range(0x391, 0x3CA),
    *(0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2018, 0x2019, 0x201C, 0x201D, 0x2020, 0x2022),
    *(0x2026, 0x2030, 0x2032, 0x2033, 0x20AC, 0x2190, 0x2191, 0x2192, 0x2193, 0x2202, 0x2206),
    *(0x2211, 0x2212, 0x221A, 0x221E, 0x2248, 0x2260, 0x2264, 0x2265),
)
FEATURES = ["kern", "liga", "mark", "mkmk", "ccmp", "locl", "lnum", "tnum", "pnum", "frac"]


def register(app: Sphinx) -> None:
    """Write the faces before the pages, and name the early ones in their heads."""
    app.connect("builder-inited", write_faces)
    app.connect("html-page-context", add_preloads)


def add_preloads(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Let a page ask for its typefaces before its style sheet does, so that no line of text moves.

    A page with formulas asks for their font as well; one read from a disk asks for none.
    """
    files = [f"{FOLDER}/{name}.woff2" for name in FACES]
    if "<math" in context.get("body", ""):
        files.append(math_font.TARGET)
    faces = json.dumps([context["pathto"](file, 1) for file in files])
    context["metatags"] = f"{context.get('metatags') or ''}{PRELOAD.replace('FACES', faces)}"


def write_faces(app: Sphinx) -> None:
    """Write the reduced faces into an HTML build, those that are not there yet."""
    if app.builder.format != "html":
        return
    for name, (package, file) in FACES.items():
        target = Path(app.outdir) / FOLDER / f"{name}.woff2"
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            reduce_face(face_file(package, file), target)


def face_file(package: str, name: str) -> Path:
    """Find a file that an installed distribution brings.

    Raises:
        FileNotFoundError: It brings none of that name.
    """
    brought = distribution(package)
    for file in brought.files or []:
        if file.name == name:
            return Path(str(brought.locate_file(file)))
    raise FileNotFoundError(f"{package} holds no {name}")


def reduce_face(source: Path, target: Path) -> None:
    """Write the book's letters of one face as WOFF2, under the file's own name."""
    with TTFont(source, recalcTimestamp=False) as font:
        options = subset.Options(name_IDs=[0, 13, 14], flavor="woff2", notdef_outline=True)
        options.layout_features, options.hinting = FEATURES, False
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=LETTERS)
        subsetter.subset(font)
        name = target.stem.replace("-", " ").title()
        for name_id, text in {1: name, 2: "Regular", 4: name, 6: name.replace(" ", "")}.items():
            font["name"].setName(text, name_id, 3, 1, 0x409)
        font.flavor = "woff2"
        font.save(target)
