# SPDX-License-Identifier: MIT
"""The font of the formulas: STIX Two Math, reduced to what the formulas of the book show.

Browsers draw MathML well only with a font that holds rules for it: how high a script stands, how a
bracket grows. The distribution ``ziamath`` carries one with 1.5 MB. After the build this module
keeps of it the signs in the pages' formulas and their sizes, some 50 kB, under a name of its own;
the licence is the SIL Open Font License, as for the icons (:mod:`.icons`).
"""

import html
import re
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

DISTRIBUTION, SOURCE = "ziamath", "ziamath/fonts/STIXTwoMath-Regular.ttf"
TARGET = "_static/fonts/book-maths.woff"
NAMES = {
    1: "Book Maths",
    2: "Regular",
    4: "Book Maths",
    6: "BookMaths",
    13: "Licensed under the SIL Open Font License, Version 1.1, see _static/licences.txt.",
    14: "https://openfontlicense.org",
}
ROOT = 0x221A
_FORMULA = re.compile(r"<math\b[^>]*>(.*?)<(?:\\)?/math>")
_TAG = re.compile(r"<[^>]*>")
_ITALIC_START = {"A": 0x1D434, "a": 0x1D44E, "Α": 0x1D6E2, "α": 0x1D6FC}
_ITALIC_OTHERS = {"h": 0x210E, "∂": 0x1D715}


def register(app: Sphinx) -> None:
    """Write the font once everything is written."""
    app.connect("build-finished", write)


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the font of an HTML build, unless it ended early."""
    if exception is None and app.builder.format == "html":
        output = Path(app.outdir)
        pages = (path.read_text(encoding="utf-8") for path in output.rglob("*.html"))
        write_font(font_file(), characters(pages), output / TARGET)


def font_file() -> Path:
    """Return the installed font."""
    return Path(str(distribution(DISTRIBUTION).locate_file(SOURCE)))


def characters(pages: Iterable[str]) -> set[int]:
    """Return the code points in the formulas of pages, of letters the italic form too.

    The root's sign is among them: its element draws it.
    """
    formulas = {text for page in pages for text in _FORMULA.findall(page)}
    shown = set("".join(html.unescape(_TAG.sub("", text)) for text in formulas))
    return {ROOT, *map(ord, shown)} | {code for one in shown if (code := _italic(one))}


def _italic(letter: str) -> int:
    """Return the code point with which a browser draws a letter that stands alone; 0 for others."""
    if letter in _ITALIC_OTHERS:
        return _ITALIC_OTHERS[letter]
    for first, code in _ITALIC_START.items():
        if 0 <= ord(letter) - ord(first) < 25 + first.isascii():
            return code + ord(letter) - ord(first)
    return 0


def write_font(source: Path, codes: set[int], target: Path) -> None:
    """Write some characters of a font of mathematics, with all their sizes, as a WOFF font."""
    with TTFont(source, recalcTimestamp=False) as font:
        options = subset.Options(name_IDs=[0, 13, 14], layout_features=["ssty"], hinting=False)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=codes)
        subsetter.subset(font)
        narrow_roots(font)
        for name_id, name in NAMES.items():
            font["name"].setName(name, name_id, 3, 1, 0x409)
        font.flavor = "woff"
        target.parent.mkdir(parents=True, exist_ok=True)
        font.save(target)


def narrow_roots(font: TTFont) -> None:
    """Make every size of the root's sign as wide as the smallest, in place.

    Chromium keeps the room of the widest behind each root, which looks like a gap.
    """
    root = font.getBestCmap()[ROOT]
    variants = font["MATH"].table.MathVariants
    position = variants.VertGlyphCoverage.glyphs.index(root)
    construction = variants.VertGlyphConstruction[position]
    names = {one.VariantGlyph for one in construction.MathGlyphVariantRecord}
    if construction.GlyphAssembly:
        names |= {one.glyph for one in construction.GlyphAssembly.PartRecords}
    width = font["hmtx"][root][0]
    for name in names - {root}:
        glyph, (own, side) = font["glyf"][name], font["hmtx"][name]
        glyph.coordinates.scale((width / own, 1))
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (width, round(side * width / own))
