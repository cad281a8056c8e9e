# SPDX-License-Identifier: MIT
"""Tell the browser the size of every picture, so that nothing moves while a page loads.

Every ``<img>`` of a page gets the width and height of its picture, a file or a part of the page,
in pixels. All but the first are loaded when the reader comes near them.
"""

import base64
import re
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from sphinx.application import Sphinx

_IMAGE = re.compile(r"<img\b[^>]*>")
_INLINE = re.compile(r'\bsrc="data:image/png;base64,([^"]+)"')
_SOURCE = re.compile(r'\bsrc="([^"]*_images/([^"]+\.(?:png|jpe?g|gif|webp)))"')
LAZY = ' loading="lazy" decoding="async"'


def register(app: Sphinx) -> None:
    """Complete the pictures of every page."""
    app.connect("html-page-context", size_images)


def size_images(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Add sizes to the pictures of one page; a page of the whole book loads them all at once."""
    if "body" in context and app.builder.format == "html":
        names: dict[str, str] = {name: source for source, name in app.builder.images.items()}
        files = {name: Path(app.srcdir) / source for name, source in names.items()}
        context["body"] = sized(context["body"], files, lazy=app.builder.name == "html")


def sized(body: str, files: dict[str, Path], lazy: bool = True) -> str:
    """Add width, height and the order of loading to the pictures of a page's HTML.

    Pictures of other files, or with a size of their own, stay as they are.

    Args:
        body: The page's HTML.
        files: Name below ``_images/`` → picture.
        lazy: Whether pictures after the first wait until they are near.
    """
    n_seen = 0

    def complete(match: re.Match[str]) -> str:
        """Add what one image lacks."""
        nonlocal n_seen
        n_seen += 1
        tag = match[0]
        source, inline = _SOURCE.search(tag), _INLINE.search(tag)
        extra = LAZY if lazy and n_seen > 1 and "loading=" not in tag else ""
        picture: Path | BytesIO | None = files.get(source[2]) if source else None
        if inline:
            picture = BytesIO(base64.b64decode(inline[1]))
        if picture and not re.search(r"\b(?:width|height)=", tag):
            with Image.open(picture) as image:
                extra = f' width="{image.width}" height="{image.height}"{extra}'
        end = "/>" if tag.endswith("/>") else ">"
        return f"{tag.removesuffix(end).rstrip()}{extra} {end}" if extra else tag

    return _IMAGE.sub(complete, body)
