# SPDX-License-Identifier: MIT
"""Draw what T5 reads and writes in chapter 6: a target that grows, tasks as text.

Each function draws one figure of its own, so narrow that its text can be read on a phone. Leaves
out: the architecture, which `pretrain_book.diagrams` draws.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pretrain_book.diagrams import Color, blank_sheet, draw_arrow, draw_box, tint
from pretrain_book.style import INK, PALE, STYLE

WIDTH = 4.6  # inches
ROW = 0.3  # inches: height of a row
LETTER = 0.068  # inches: about the width of a letter
TEXT: dict[str, Any] = {"fontsize": 9.5, "color": INK, "va": "center"}
LIT = STYLE["t5"].color


def draw_writing(read: Sequence[str], written: Sequence[str], start: str) -> None:
    """Draw a decoder's row growing token by token, beside the hole that it fills.

    Args:
        read: Tokens of the encoder; what begins with "<" is a hole.
        written: Tokens of the target: each hole's name, then what was in it.
        start: What the decoder reads first.
    """
    top = ROW * (len(written) + 2)
    ax = blank_sheet(WIDTH, top + 0.1)
    _write_row(ax, 0.95, top - ROW / 2, read, {t: PALE for t in read if t[0] == "<"})
    ax.text(0.05, top - ROW / 2, "encoder", ha="left", **TEXT)
    for x, title in ((0.05, "hole"), (0.95, "decoder has read"), (3.85, "writes")):
        ax.text(x, top - 1.5 * ROW, title, ha="left", fontstyle="italic", **TEXT)
    holes = [token for token in read if token[0] == "<"]
    hole = ""
    for step, token in enumerate(written):
        y = top - ROW * (step + 2.5)
        hole = token if token[0] == "<" else hole
        for place, name in enumerate(holes):
            _write_box(ax, 0.05 + 0.4 * place, y, name, LIT if name == hole else "white")
        _write_row(ax, 0.95, y, [start, *written[:step]], {})
        ax.text(3.85, y, token, ha="left", fontweight="bold", **TEXT)


def _write_row(
    ax: Axes, left: float, y: float, tokens: Sequence[str], faces: Mapping[str, Color]
) -> None:
    """Write tokens one behind the other, those with a colour in boxes."""
    for token in tokens:
        width = LETTER * len(token) + 0.07
        if token in faces:
            _write_box(ax, left, y, token, faces[token])
            width = 0.36
        else:
            ax.text(left, y, token, ha="left", **TEXT)
        left += width + 0.03


def _write_box(ax: Axes, left: float, y: float, token: str, face: Color) -> None:
    """Write a hole's name in a box; a lit one is filled and has a thick border."""
    is_lit = face == LIT
    ax.add_patch(
        Rectangle(
            (left, y - 0.12),
            0.36,
            0.24,
            facecolor=tint(LIT) if is_lit else face,
            edgecolor=LIT if is_lit else "#999999",
            linewidth=2 if is_lit else 0.8,
        )
    )
    ax.text(left + 0.18, y, token, ha="center", **TEXT)


def draw_tasks(tasks: Mapping[tuple[str, str], str]) -> None:
    """Draw tasks as pairs of texts: what goes in, T5, what comes out.

    Args:
        tasks: (prefix, text) → answer; an empty prefix leaves one line.
    """
    height = 0.52
    ax = blank_sheet(WIDTH, height * len(tasks) + 0.05)
    box = (0.4, height * len(tasks) - 0.1)
    draw_box(ax, (2.86, height * len(tasks) / 2), box, "T5", face=tint(LIT))
    for row, ((prefix, text), answer) in enumerate(tasks.items()):
        y = height * (len(tasks) - row - 0.5)
        draw_box(ax, (1.22, y), (2.4, 0.42), "" if prefix else text)
        draw_box(ax, (3.91, y), (1.34, 0.42), "\n".join(wrap(answer, 20)))
        if prefix:
            ax.text(1.22, y + 0.09, prefix, ha="center", fontweight="bold", **TEXT)
            ax.text(1.22, y - 0.09, text, ha="center", **TEXT)
        draw_arrow(ax, (2.42, y), (2.66, y))
        draw_arrow(ax, (3.06, y), (3.24, y))
