# SPDX-License-Identifier: MIT
"""Put the letters of a figure into the figure.

A deck shows the chapters' drawings as images, and an image may load no font. Without its own, wider
letters would run out of the drawing. So each drawing gets the letters that it uses, a few kilobytes
of Source Sans (SIL Open Font License, which reserves the name; the reduced face has another).
"""

import base64
import re
from functools import cache
from html import unescape
from importlib.metadata import distribution
from io import BytesIO

from fontTools import subset
from fontTools.ttLib import TTFont

DRAWN = "Source Sans Pro"  # the family that the drawings ask for
FAMILY = "figure-sans"
PACKAGE = "font-source-sans-pro"
FILES = {
    ("400", "normal"): "SourceSansPro-Regular.ttf",
    ("700", "normal"): "SourceSansPro-Semibold.ttf",
    ("400", "italic"): "SourceSansPro-It.ttf",
}
_TEXT = re.compile(r"<text\b[^>]*>(.*?)</text>", re.DOTALL)


def with_faces(svg: str) -> str:
    """Return a drawing that brings its letters along; one without text comes back as it is."""
    letters = frozenset(unescape(re.sub(r"<[^>]+>", "", "".join(_TEXT.findall(svg)))))
    if DRAWN not in svg or not letters:
        return svg
    rules = []
    for (weight, style), file in FILES.items():
        if (weight == "400" or "font-weight: 700" in svg) and (
            style == "normal" or "font-style: italic" in svg
        ):
            data = base64.b64encode(reduced(file, letters)).decode()
            rules.append(
                f"@font-face{{font-family:{FAMILY};font-weight:{weight};font-style:{style};"
                f"src:url(data:font/woff2;base64,{data})}}"
            )
    head, end, rest = svg.partition(">")
    drawing = rest.replace(f"'{DRAWN}'", FAMILY)
    return f"{head}{end}<style>{''.join(rules)}</style>{drawing}"


@cache
def reduced(file: str, letters: frozenset[str]) -> bytes:
    """Reduce a face to some letters and pack it as WOFF2.

    Raises:
        FileNotFoundError: The installed distribution does not bring this face.
    """
    found = [one for one in distribution(PACKAGE).files or [] if one.name == file]
    if not found:
        raise FileNotFoundError(f"{PACKAGE} holds no {file}")
    with TTFont(str(distribution(PACKAGE).locate_file(found[0])), recalcTimestamp=False) as font:
        options = subset.Options(name_IDs=[0, 13, 14], hinting=False, layout_features=["kern"])
        subsetter = subset.Subsetter(options)
        subsetter.populate(text="".join(sorted(letters)))
        subsetter.subset(font)
        font.flavor = "woff2"
        packed = BytesIO()
        font.save(packed)
    return packed.getvalue()
