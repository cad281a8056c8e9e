# SPDX-License-Identifier: MIT
"""Leave out of the style sheets the rules for classes that no page and no script names.

The theme brings all of Bootstrap, some 310 kB, and the pages use a small part of it. A selector
stays when each of its classes is a word of some page or script of the build, so that what a script
adds later keeps its look.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

TRIMMED = (
    "_static/styles/*.css",
    "_static/mystnb.*.css",
    "_static/sphinx-design.min.css",
    "_static/proof.css",
)
COMPOSED = ("bs-tooltip-auto",)
"""Classes whose names a script puts together."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[\w-]+")
_CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
_FUNCTION = re.compile(r":(?:not|is|where|has)\([^()]*(?:\([^()]*\)[^()]*)*\)")
GROUPS = ("@media", "@supports", "@layer", "@container")


def register(app: Sphinx) -> None:
    """Trim once everything is written, after the icons."""
    app.connect("build-finished", trim_styles, priority=600)


def trim_styles(app: Sphinx, exception: Exception | None) -> None:
    """Rewrite the style sheets of others in an HTML build, unless it ended early."""
    if exception is not None or app.builder.name != "html":
        return
    output = Path(app.outdir)
    words = named_words(output)
    for pattern in TRIMMED:
        for path in output.glob(pattern):
            path.write_text(trimmed(path.read_text(encoding="utf-8"), words), encoding="utf-8")


def named_words(output: Path) -> set[str]:
    """Return every word of the pages and scripts: each may be the name of a class."""
    paths = [*output.rglob("*.html"), *output.rglob("*.js"), *output.rglob("*.mjs")]
    others = ("models", "search-index.js")
    texts = (
        path.read_text(encoding="utf-8")
        for path in paths
        if not set(others) & set(path.relative_to(output).parts)
    )
    return {*COMPOSED, *(word for text in texts for word in _WORD.findall(text))}


def trimmed(text: str, words: set[str]) -> str:
    """Return a style sheet without comments and without rules for other classes than `words`."""
    kept = []
    for head, body in rules(_COMMENT.sub("", text)):
        if body is None:
            kept.append(f"{head};")
        elif head.startswith(GROUPS):
            if inner := trimmed(body, words):
                kept.append(f"{head}{{{inner}}}")
        elif head.startswith("@"):
            kept.append(f"{head}{{{body}}}")
        else:
            selectors = [one for one in split_selectors(head) if is_used(one, words)]
            if selectors:
                kept.append(f"{','.join(selectors)}{{{body}}}")
    return "".join(kept)


def is_used(selector: str, words: set[str]) -> bool:
    """Return whether a selector can match: a class inside ``:not()`` and the like may be any."""
    return set(_CLASS.findall(_FUNCTION.sub("", selector))) <= words


def rules(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the rules of a style sheet: what stands before the braces, and what inside.

    A statement without braces, such as ``@import``, comes with None.
    """
    start = depth = opened = 0
    quote = ""
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote and text[place - 1] != "\\" else quote
        elif sign in "\"'":
            quote = sign
        elif sign == "{":
            depth += 1
            opened = place if depth == 1 else opened
        elif sign == "}":
            depth -= 1
            if depth == 0:
                yield text[start:opened].strip(), text[opened + 1 : place]
                start = place + 1
        elif sign == ";" and depth == 0:
            yield text[start:place].strip(), None
            start = place + 1


def split_selectors(head: str) -> list[str]:
    """Split a list of selectors at its commas, not at those in brackets."""
    parts, depth = [""], 0
    for sign in head:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]
