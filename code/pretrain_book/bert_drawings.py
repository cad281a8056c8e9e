# SPDX-License-Identifier: MIT
"""Draw BERT's two questions over one input, as chapter 5 shows them.

Paper: Devlin et al. 2019 (arXiv:1810.04805), figure 2 and section 3.1.

Leaves out: what happens inside the stack, which `pretrain_book.diagrams` draws.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.patches import Rectangle

from pretrain_book.diagrams import blank_sheet, draw_arrow, draw_box, tint
from pretrain_book.style import INK, STYLE

WIDTH, NAME, ROW = 4.6, 0.72, 0.3  # inches: the figure, the names on the left, a row
_SMALLEST = 9.5  # points: what a phone still shows at ten pixels


def draw_two_questions(
    tokens: Sequence[str], segments: Sequence[str], questions: Mapping[int, str]
) -> None:
    """Draw the rows that are added, the stack above them, and what is asked at some places.

    Args:
        tokens: What stands at the positions, special tokens included.
        segments: The segment of each position.
        questions: Position → what is asked there, one or two lines.
    """
    color, n = STYLE["bert"].color, len(tokens)
    cell = (WIDTH - NAME - 0.05) / n
    ax = blank_sheet(WIDTH, 2.75)
    rows = {"position": range(n), "segment": segments, "token": tokens}
    for row, (name, entries) in enumerate(rows.items()):
        y = 0.2 + 1.2 * ROW * row
        sign = "" if name == "token" else "+ "
        ax.text(0, y, sign + name, va="center", fontsize=_SMALLEST, color=INK)
        for column, entry in enumerate(entries):
            x = NAME + cell * (column + 0.5)
            is_new = name == "segment" and entry != segments[0]
            face = tint(color) if is_new else "white"
            frame: dict[str, Any] = {"facecolor": face, "edgecolor": INK, "linewidth": 0.8}
            ax.add_patch(Rectangle((x - 0.46 * cell, y - ROW / 2), 0.92 * cell, ROW, **frame))
            place: dict[str, Any] = {"ha": "center", "va": "center", "color": INK}
            ax.text(x, y, str(entry), fontsize=_SMALLEST if len(str(entry)) < 6 else 8.5, **place)
    bottom, top = 0.2 + 2.4 * ROW + ROW / 2, 2.05
    middle = NAME + cell * n / 2
    for column in range(n):
        x = NAME + cell * (column + 0.5)
        draw_arrow(ax, (x, bottom), (x, bottom + 0.2))
    height = top - bottom - 0.38
    center = (middle, bottom + 0.2 + height / 2)
    draw_box(ax, center, (cell * n, height), "a norm, then N blocks; every place reads every place",
        face=tint(color))  # fmt: skip
    for column, question in questions.items():
        x = NAME + cell * (column + 0.5)
        draw_arrow(ax, (x, bottom + 0.2 + height), (x, top + 0.12))
        ax.text(x, top + 0.16, question, va="bottom", ha="center", fontsize=_SMALLEST,
            color=INK, linespacing=1.05)  # fmt: skip
