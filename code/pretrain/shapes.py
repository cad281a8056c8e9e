# SPDX-License-Identifier: MIT
"""Draw the few shapes that every diagram is made of: boxes, arrows, mask insets, columns of them.

One unit of the axes is an inch, and text has 8 points, so that a diagram reads the same wherever
it stands. A column is drawn upwards, row by row, as the tensors flow.

Leaves out: what the architectures are; `pretrain.diagrams` knows that.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch, Rectangle

from pretrain.figure_style import INK, PALE

COLUMN = 1.75  # inches: one column of boxes with its residual branches
BOX, GAP = 1.28, 0.1  # inches: width of a box, distance of rows
_LINE = 0.135  # inches: height of a line of 8-point text
_MARKS = ("branch", "open", "close")  # kinds of rows that take no room
_INSETS = {  # who may attend to whom, in miniature: rows are queries, columns are keys
    "causal": np.tri(4, dtype=bool),
    "full": np.ones((4, 4), dtype=bool),
    "cross": np.ones((4, 3), dtype=bool),
}
Row = tuple[str, str]  # (kind, text); `branch`, `open` and `close` mark places between boxes
Color = str | tuple[float, float, float]


def tint(color: str) -> tuple[float, float, float]:
    """Lighten a colour to a fill that dark text stands on.

    Args:
        color: Any matplotlib colour.

    Returns:
        Red, green and blue, each in 0..1.
    """
    red, green, blue = (0.25 * part + 0.75 for part in to_rgb(color))
    return red, green, blue


def draw_box(
    ax: Axes,
    center: tuple[float, float],
    size: tuple[float, float],
    text: str,
    *,
    face: Color = "white",
    edge: Color = INK,
    shift: float = 0.0,
) -> None:
    """Draw a rounded box with text in 8 points.

    Args:
        ax: Axes whose unit is an inch.
        center: Centre of the box.
        size: Width and height.
        text: One or two lines.
        face: Fill colour.
        edge: Colour of the border, drawn thicker when it is not the usual ink.
        shift: How far the text stands left of the centre, to make room for an inset.
    """
    (x, y), (width, height) = center, size
    corner = (x - width / 2, y - height / 2)
    look: dict[str, Any] = {"facecolor": face, "edgecolor": edge}
    look |= {"boxstyle": "round,pad=0,rounding_size=0.05", "linewidth": 0.8 if edge == INK else 2}
    ax.add_patch(FancyBboxPatch(corner, width, height, **look))
    place: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.05}
    ax.text(x - shift, y, text, fontsize=8, color=INK, **place)


def draw_arrow(ax: Axes, *points: tuple[float, float]) -> None:
    """Draw a line through the points that ends in an arrow head.

    Args:
        ax: Axes whose unit is an inch.
        points: At least two points.

    Raises:
        ValueError: Fewer than two points.
    """
    if len(points) < 2:
        raise ValueError(f"an arrow needs at least two points, got {list(points)}")
    *start, last, end = points
    ax.plot(*zip(*start, last, strict=True), color=INK, linewidth=0.9, solid_joinstyle="round")
    shape = {"arrowstyle": "-|>,head_width=0.17,head_length=0.3", "color": INK, "linewidth": 0.9}
    ax.annotate("", end, last, arrowprops={**shape, "shrinkA": 0, "shrinkB": 0})


def draw_inset(ax: Axes, center: tuple[float, float], kind: str, color: str) -> None:
    """Draw a mask in miniature: filled cells may be attended to.

    Args:
        ax: Axes whose unit is an inch.
        center: Centre of the inset, which is at most a quarter of an inch wide.
        kind: ``"causal"``, ``"full"`` or ``"cross"``.
        color: Fill of allowed cells.

    Raises:
        ValueError: Unknown kind.
    """
    if kind not in _INSETS:
        raise ValueError(f"expected a mask inset from {list(_INSETS)}, got {kind!r}")
    mask, cell = _INSETS[kind], 0.065
    left, top = center[0] - mask.shape[1] * cell / 2, center[1] + mask.shape[0] * cell / 2
    for query, key in np.ndindex(mask.shape):
        corner = (left + key * cell, top - (query + 1) * cell)
        face = color if mask[query, key] else "white"
        ax.add_patch(
            Rectangle(corner, cell, cell, facecolor=face, edgecolor="#777777", linewidth=0.4)
        )


def column_height(rows: Sequence[Row]) -> float:
    """Add up the height that rows take in a column.

    Args:
        rows: Rows as for ``Column.draw``.

    Returns:
        Height in inches.
    """
    heights = [_row_height(*row) + GAP for row in rows if row[0] not in _MARKS]
    return sum(heights) + 0.05


class Column:
    """Draw rows upwards in one column and remember where branches and blocks began.

    Kinds of rows: ``text``, ``embed``, ``norm``, ``feed``, ``head``, ``part`` (attention without a
    mask), ``causal``, ``full`` and ``cross`` (attention with its mask), ``add``; and the marks
    ``branch``, ``open`` and ``close`` between rows.
    """

    def __init__(self, ax: Axes, left: float, color: str) -> None:
        """Start at the bottom of the column whose left edge is given."""
        self.ax, self.color = ax, color
        self.x, self.y = left + COLUMN - 0.08 - BOX / 2, 0.05
        self.top = self.branch = self.opened = 0.0  # `top` is the upper edge of the last box
        self.places: dict[str, float] = {}  # height of each kind of row, the last one of its kind

    def draw(self, rows: Sequence[Row]) -> "Column":
        """Draw all rows; the marks between boxes take no room."""
        for kind, text in rows:
            if kind == "branch":
                self.branch = self.top + GAP / 2
            elif kind == "open":
                self.opened = self.top + GAP / 2
            elif kind == "close":
                self._repeat(text)
            else:
                self._row(kind, text)
        return self

    def _row(self, kind: str, text: str) -> None:
        """Draw one row above the last one, with an arrow between them."""
        height = _row_height(kind, text)
        middle = self.y + height / 2
        if self.top:
            draw_arrow(self.ax, (self.x, self.top), (self.x, self.y))
        if kind == "add":
            self._add(middle, height)
        elif kind == "text":
            self.ax.text(self.x, middle, text, fontsize=8, ha="center", va="center", color=INK)
        else:
            self._box(middle, height, kind, text)
        self.places[kind] = middle
        self.top = self.y + height
        self.y = self.top + GAP

    def _box(self, middle: float, height: float, kind: str, text: str) -> None:
        """Draw a box in the fill of its kind; attention carries its mask as an inset."""
        attention = kind in _INSETS
        faces = {"norm": "white", "feed": "#e4e4e0", "embed": "#fff6dc"}
        draw_box(
            self.ax,
            (self.x, middle),
            (BOX, height),
            text,
            face=faces.get(kind, tint(self.color)),
            edge=self.color if kind == "head" else INK,
            shift=0.15 if attention else 0.0,
        )
        if attention:
            draw_inset(self.ax, (self.x + BOX / 2 - 0.18, middle), kind, self.color)

    def _add(self, middle: float, size: float) -> None:
        """Draw the addition and the residual branch that leads around the part to it."""
        self.ax.plot(self.x, middle, "o", markersize=size * 72, color="white", markeredgecolor=INK)
        self.ax.plot(self.x, middle, "+", markersize=size * 50, color=INK)
        side = self.x - BOX / 2 - 0.1
        corners = [(self.x, self.branch), (side, self.branch), (side, middle)]
        draw_arrow(self.ax, *corners, (self.x - size / 2, middle))

    def _repeat(self, text: str) -> None:
        """Lay a pale card behind the block that repeats, with a bracket and its count."""
        left, right = self.x - BOX / 2 - 0.15, self.x + BOX / 2 + 0.05
        bottom, top = self.opened - 0.02, self.top + GAP / 2
        card = Rectangle((left, bottom), right - left, top - bottom, facecolor=PALE, zorder=0)
        self.ax.add_patch(card)
        bracket = [(left, bottom), (left - 0.05, bottom), (left - 0.05, top), (left, top)]
        self.ax.plot(*zip(*bracket, strict=True), color=INK, linewidth=0.9)
        place: dict[str, Any] = {"ha": "right", "va": "center", "rotation": 90}
        self.ax.text(left - 0.07, 0.7 * bottom + 0.3 * top, text, fontsize=9, color=INK, **place)


def _row_height(kind: str, text: str) -> float:
    """Return the height of one row; attention has room for its inset."""
    n_lines = max(2 if kind in _INSETS else 1, text.count("\n") + 1)
    return 0.14 if kind in ("text", "add") else _LINE * n_lines + 0.07
