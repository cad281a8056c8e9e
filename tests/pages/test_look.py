# SPDX-License-Identifier: MIT
"""The book's look: text and code read well on their grounds, light and dark."""

import re
from pathlib import Path

import pytest

GROUNDS = ("--pst-color-background", "--pst-color-surface")
INKS = (
    "--book-accent",
    "--pst-color-text-base",
    "--pst-color-text-muted",
    *(f"--code-{kind}" for kind in ("call", "comment", "keyword", "number", "string")),
)


def values(repository: Path, theme: str) -> dict[str, str]:
    """Return the variables that the book's style sheet gives to one theme."""
    style = (repository / "chapters" / "assets" / "book.css").read_text(encoding="utf-8")
    rules = re.findall(rf'html\[data-theme="{theme}"\] \{{([^}}]*)\}}', style)
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", "".join(rules)))


def luminance(colour: str) -> float:
    """Return a colour's relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("ink", INKS)
def test_ink_on_ground_has_contrast(repository: Path, theme: str, ground: str, ink: str):
    found = values(repository, theme)
    low, high = sorted((luminance(found[ink]), luminance(found[ground])))
    assert (high + 0.05) / (low + 0.05) >= 4.5
