# SPDX-License-Identifier: MIT
"""Load on each page only what that page uses, and leave out of the build what no page uses.

Extensions add their scripts and styles to every page. Here each is kept only where its mark stands
in the page's text: the copy button where code is.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

MARKS = {
    "togglebutton": r'class="[^"]*\b(?:toggle|dropdown)\b',
    "toggleHint": r'class="[^"]*\b(?:toggle|dropdown)\b',
    "toggleOpenOnPrint": r'class="[^"]*\b(?:toggle|dropdown)\b',
    "design-tabs": r'class="[^"]*\bsd-tab',
    "sphinx-design": r'class="[^"]*\bsd-',
    "show-code": r'<details class="admonition hide',
    "figures.js": r"<figure\b",
    "clipboard": r'<div class="highlight',
    "copybutton": r'<div class="highlight',
    "mystnb": r'class="[^"]*\b(?:cell|output|pasted)\b',
    "exercise.css": r'class="[^"]*\b(?:exercise|solution)\b',
    "practice": r'class="(?:quiz|answer|answer-elsewhere|hint)"',
    "answer-rules.js": r'<form class="answer"',
    "answers.js": r'<form class="answer"',
    "quiz.js": r'class="quiz"',
    "proof.css": r'class="[^"]*\bproof\b',
}
"""Part of a file's name, or of an inline script → what stands in a page that uses it."""
LEFT_OUT = (
    "_static/scripts/fontawesome.js*",
    "_static/locales",
    "_static/sphinx-thebe.*",
    "_static/*webpack-macros.html",
)
"""Files that no page asks for."""


def register(app: Sphinx) -> None:
    """Clean the lists of every page, and the build at its end."""
    app.connect("html-page-context", keep_used_assets, priority=910)
    app.connect("build-finished", remove_unused_files)


def keep_used_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Keep only the scripts and styles that one page uses, each once."""
    text = f"{context.get('body', '')}{context.get('toc', '')}"
    for key in ("script_files", "css_files"):
        kept: list[object] = []
        seen: set[str] = set()
        for one in context.get(key, []):
            name = asset_name(one)
            if name not in seen and is_used(name, text):
                seen.add(name)
                kept.append(one)
        context[key] = kept


def asset_name(asset: object) -> str:
    """Name a script or style: its file, or the text of an inline script."""
    attributes = getattr(asset, "attributes", {})
    return str(attributes.get("body") or getattr(asset, "filename", None) or asset)


def is_used(name: str, text: str) -> bool:
    """Return whether a page uses a script or style: its mark is there, or it has none.

    `name` is a file name or inline text; `text` is the page's own HTML, without the theme around
    it.
    """
    for part, mark in MARKS.items():
        if part in name:
            return re.search(mark, text) is not None
    return True


def remove_unused_files(app: Sphinx, exception: Exception | None) -> None:
    """Remove files that no page asks for from a finished build."""
    if exception is not None or app.builder.format != "html":
        return
    for pattern in LEFT_OUT:
        for path in Path(app.outdir).glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
