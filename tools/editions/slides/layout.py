# SPDX-License-Identifier: MIT
"""How large the pieces of a slide are, so that it is neither empty nor too full.

A slide has 1280 × 720 pixels. Below its heading and above the arrows are ROOM pixels of height.
Text takes what its lines take; a figure gets the rest, at its own proportions. Nothing is measured
in a browser: estimates are good enough, and a test looks at the slides that come out.
"""

from math import ceil

from tools.editions.slides.text import Block

WIDTH, ROOM = 1190, 545  # of what stands below a slide's heading
HALF = 580  # the width of a column
CAPTION, EQUATION, LINE, GAP = 34, 130, 46, 12
CAPTION_CHARACTERS = 125  # in a line of the full width
CHARACTERS = 78  # in a line of the full width
NARROW, WIDE = 1.6, 2.05  # a figure with less width over height stands beside its text
MUCH = 150  # pixels of text, from which on WIDE counts instead of NARROW
SIZES = ((45, 28), (80, 25), (120, 22), (170, 19))  # a table with at most … words → its font size
SMALLEST = 17
FEW_WORDS = 75  # a slide of text alone with fewer is set larger


def text_height(blocks: tuple[Block, ...], characters: int = CHARACTERS) -> int:
    """Estimate the height of a slide's text and formulas, in pixels."""
    height = 0
    for block in blocks:
        if block.kind == "equation":
            height += EQUATION
        elif block.kind == "text":
            lines = [line for line in block.text.split("\n") if line.strip()]
            height += sum(LINE * ceil(len(line) / characters) for line in lines) + GAP
    return height


def figure_width(aspect: float, claim: str, blocks: tuple[Block, ...], *, beside: bool) -> int:
    """Return the width of a figure, in pixels.

    Args:
        aspect: Its width over its height.
        claim: What its caption says.
        blocks: All blocks of its slide.
        beside: The figure has a column, and the text another.
    """
    in_line = CAPTION_CHARACTERS // 2 if beside else CAPTION_CHARACTERS
    height = ROOM - CAPTION * ceil((len(claim) + 12) / in_line)
    if not beside:
        height -= text_height(blocks)
    return min(HALF if beside else WIDTH, round(height * aspect))


def stands_beside(aspect: float, blocks: tuple[Block, ...]) -> bool:
    """Tell whether a figure stands beside its slide's text: a narrow one, or one with much text."""
    has_much = text_height(blocks) > MUCH
    return len(blocks) > 1 and aspect < (WIDE if has_much else NARROW)


def table_size(table: str) -> int:
    """Return the font size of a table, by the words of its Markdown or of its bare text."""
    n_words = len(table.replace("|", " ").split())
    return next((size for most, size in SIZES if n_words <= most), SMALLEST)


def is_sparse(blocks: tuple[Block, ...]) -> bool:
    """Tell whether a slide has a few words and nothing else."""
    words = sum(len(block.text.split()) for block in blocks)
    only_text = all(block.kind in ("text", "question", "answer") for block in blocks)
    return only_text and words < FEW_WORDS and not any("|" in b.text for b in blocks)
