# SPDX-License-Identifier: MIT
"""Draw how three tokenisers cut a word, and the sum of vectors that BERT reads.

Implements a tree of merges, a window of tries, a lattice of pieces and rows of small vectors, with
text large enough for a phone. One unit of the axes is an inch, as in `pretrain_book.diagrams`.

Leaves out: the algorithms; a chapter hands over what they found.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Arc, Rectangle
from numpy.typing import ArrayLike

from pretrain_book.diagrams import blank_sheet, tint
from pretrain_book.style import INK, PALE, STYLE

_SIZE = 11.5  # points
_CENTRED: dict[str, Any] = {"ha": "center", "va": "center", "color": INK, "fontsize": _SIZE}
_FADED = "#666666"


def draw_merges(ways: Sequence[Sequence[Sequence[str]]]) -> None:
    """Draw trees of merges side by side: letters on top, each merge one level further down.

    Args:
        ways: For each word its symbols at the start and after each merge, each state one merge
            later than the one before.
    """
    width, high = 0.5, 0.5
    letters = [len(way[0]) for way in ways]
    left = 0.1
    depth = max(map(len, ways))
    ax = blank_sheet(width * sum(letters) + 0.6 * (len(ways) - 1) + 0.2, high * depth)
    for way, n in zip(ways, letters, strict=True):
        nodes: dict[tuple[int, int], tuple[float, float]] = {}  # where symbols stand
        for level, symbols in enumerate(way):
            ends = np.cumsum([0, *map(len, symbols)]).tolist()
            for symbol, start, end in zip(symbols, ends, ends[1:], strict=False):
                if (start, end) in nodes:
                    continue
                x, y = left + width * (start + end) / 2, high * (depth - level - 0.5)
                for middle in range(start + 1, end):
                    if (start, middle) in nodes and (middle, end) in nodes:
                        for px, py in (nodes[start, middle], nodes[middle, end]):
                            ax.plot([px, x], [py - 0.16, y + 0.16], color=INK, linewidth=1)
                nodes[start, end] = (x, y)
                is_token = symbol in way[-1]
                _write_box(ax, (x, y), 0.2 + 0.11 * len(symbol), symbol, strong=is_token)
                if level:
                    beside = x + 0.1 + 0.055 * len(symbol) + 0.06
                    ax.text(beside, y, str(level), va="center", color=_FADED, fontsize=10.5)
        left += width * n + 0.6


def draw_tries(word: str, tries: Sequence[tuple[int, int, bool]]) -> None:
    """Draw the tries of a longest match: a window that shrinks from the right, one row each.

    Args:
        word: The word that is cut.
        tries: For each try the start and the end of the window, and whether the piece was found.
    """
    width, high = 0.36, 0.36
    ax = blank_sheet(4.6, high * len(tries) + 0.1)
    for row, (start, end, found) in enumerate(tries):
        y = high * (len(tries) - row - 0.5) + 0.05
        face = tint(STYLE["bert"].color) if found else PALE
        ax.add_patch(
            Rectangle(
                (0.05 + width * start, y - 0.15),
                width * (end - start),
                0.3,
                facecolor=face,
                edgecolor=STYLE["bert"].color if found else _FADED,
                linewidth=2 if found else 0.8,
            )
        )
        for place, letter in enumerate(word):
            color = INK if start <= place < end else "#999999"
            ax.text(0.05 + width * (place + 0.5), y, letter, **_CENTRED | {"color": color})
        piece = ("##" if start else "") + word[start:end]
        note: dict[str, Any] = {"va": "center", "color": INK, "fontsize": _SIZE}
        note |= {"weight": "bold"} if found else {}
        told = f"{piece}  ✓ taken" if found else f"{piece}  not in the list"
        ax.text(0.25 + width * len(word), y, told, **note)


def draw_lattice(word: str, probs: Mapping[str, float], best: Sequence[str]) -> None:
    """Draw every piece as an edge from where it starts to where it ends, the best path bold.

    Args:
        word: The word that is cut.
        probs: Pieces and their probabilities.
        best: The pieces of the likeliest cut.
    """
    step, y = 0.88, 1.0
    ax = blank_sheet(step * len(word) + 0.4, 2.0)
    xs = [0.2 + step * i for i in range(len(word) + 1)]
    ends = np.cumsum([0, *map(len, best)]).tolist()
    taken = set(pairwise(ends))
    below = False
    for start in range(len(word)):
        for end in range(start + 1, len(word) + 1):
            piece = word[start:end]
            if piece not in probs:
                continue
            strong = (start, end) in taken
            look: dict[str, Any] = {"color": STYLE["t5"].color if strong else _FADED}
            look |= {"linewidth": 3.5 if strong else 1, "zorder": 1}
            middle, wide = (xs[start] + xs[end]) / 2, xs[end] - xs[start]
            if end - start == 1:
                ax.plot([xs[start], xs[end]], [y, y], **look)
                place = y - 0.2
            else:
                below = end - start > 2
                tall = 1.2 if not below else 1.3
                angles = (180, 360) if below else (0, 180)
                ax.add_patch(
                    Arc((middle, y), wide, tall, theta1=angles[0], theta2=angles[1], **look)
                )
                place = y - tall / 2 - 0.17 if below else y + tall / 2 + 0.17
            weight = "bold" if strong else "normal"
            ax.text(middle, place, f"{piece} {probs[piece]:g}", **_CENTRED, weight=weight)
    for x in xs:
        ax.plot(x, y, "o", color=INK, markersize=7, zorder=2)


def draw_sum(tokens: Sequence[str], rows: Mapping[str, tuple[Sequence[str], ArrayLike]]) -> None:
    """Draw rows of small vectors, one column a position, the last row the sum of the others.

    Args:
        tokens: What stands at the positions.
        rows: Name of a row → (names of its vectors, their numbers (T, n), drawn as colours).
    """
    width, high, left = 0.42, 0.74, 0.92
    n_rows = len(rows)
    ax = blank_sheet(left + width * len(tokens) + 0.05, high * n_rows + 0.55)
    for column, token in enumerate(tokens):
        top = high * n_rows + 0.32
        x = left + width * (column + 0.5)
        tilt: dict[str, Any] = {"rotation": 35, "ha": "center", "va": "center"}
        ax.text(x, top, token, fontsize=10.5, color=INK, **tilt)
    for row, (name, (names, numbers)) in enumerate(rows.items()):
        y = high * (n_rows - row - 0.5)
        ax.text(0.02, y, name, va="center", color=INK, fontsize=_SIZE)
        for column, (one, vector) in enumerate(zip(names, np.asarray(numbers), strict=True)):
            x = left + width * (column + 0.5)
            for place, number in enumerate(vector):
                cell = (x - 0.16 + 0.08 * place, y - 0.02)
                color = colormaps["PuOr"](0.5 + number / 2)
                ax.add_patch(Rectangle(cell, 0.08, 0.24, facecolor=color, edgecolor="none"))
            frame: dict[str, Any] = {"facecolor": "none", "edgecolor": INK}
            frame["linewidth"] = 2 if row == n_rows - 1 else 0.8
            ax.add_patch(Rectangle((x - 0.16, y - 0.02), 0.32, 0.24, **frame))
            ax.text(x, y - 0.15, one, **_CENTRED | {"fontsize": 10.5})


def _write_box(
    ax: Axes, center: tuple[float, float], width: float, text: str, *, strong: bool
) -> None:
    """Write a symbol into a box, with a thick blue border where it is a token."""
    x, y = center
    edge = STYLE["gpt"].color if strong else _FADED
    look: dict[str, Any] = {"facecolor": "white", "edgecolor": edge, "zorder": 2}
    ax.add_patch(
        Rectangle((x - width / 2, y - 0.16), width, 0.32, linewidth=2 if strong else 0.8, **look)
    )
    ax.text(x, y, text, **_CENTRED, zorder=3)
