# SPDX-License-Identifier: MIT
"""Keep the intervals in tables on one line: [74, 80] and (+4.85 to +5.11) are one value each."""

import re

from docutils import nodes
from sphinx.application import Sphinx

_NUMBER = r"[+−–-]?\d[\d.,]*(?:\s?%)?"
_INTERVAL = re.compile(rf"[\[(]{_NUMBER}(?:,| to) {_NUMBER}[\])]")
_CELL = re.compile(r"<td\b[^>]*>.*?</td>", re.DOTALL)
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def register(app: Sphinx) -> None:
    """Go through every table once its references are resolved."""
    app.connect("doctree-resolved", keep_intervals)


def keep_intervals(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Change the spaces inside intervals, in place, also in tables that a chapter's code wrote."""
    for cell in list(doctree.findall(nodes.entry)):
        for text in list(cell.findall(nodes.Text)):
            if _INTERVAL.search(text):
                text.parent.replace(text, nodes.Text(unbroken(text)))
    for raw in doctree.findall(nodes.raw):
        if "html" in raw.get("format", "").split() and "<td" in raw.astext():
            cells = _CELL.sub(lambda found: unbroken(found[0]), raw.astext())
            raw[:] = [nodes.Text(cells)]


def unbroken(text: str) -> str:
    """Return a text in which no line ends inside an interval."""
    return _INTERVAL.sub(lambda found: found[0].replace(" ", NO_BREAK_SPACE), text)
