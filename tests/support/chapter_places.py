# SPDX-License-Identifier: MIT
"""Where in the chapters something stands, so that tests follow when it moves to a sister page."""

import re
from pathlib import Path

from tools.chapters import store


def applet_page(name: str, data: str = "") -> str:
    """Return the built page of an applet, such as ``chapters/05_bert.html``.

    Args:
        name: Of the applet, such as ``mask-fill``.
        data: Its line of data, such as ``model=gpt``, where an applet stands on several pages.
    """
    block = rf"^:::+\{{applet\}} {name}\n(?=(?::.*\n)*{f':data: {data}$' if data else ''})"
    found = [path for path in store.twin_paths() if re.search(block, _text(path), re.M)]
    assert len(found) == 1, f"{name} {data}: {[path.stem for path in found]}"
    return f"chapters/{found[0].stem}.html"


def notebook_with(words: str) -> Path:
    """Return the first notebook whose twin has these words."""
    return next(store.notebook_of(path) for path in store.twin_paths() if words in _text(path))


def _text(path: Path) -> str:
    """Read a twin."""
    return path.read_text(encoding="utf-8")
