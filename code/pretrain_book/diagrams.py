# SPDX-License-Identifier: MIT
"""Draw the few shapes that every diagram is made of: boxes, arrows, mask insets, columns of them.

One unit of the axes is an inch, and text has 9½ points, so that a diagram reads the same wherever
it stands. A column is drawn upwards, row by row, as the tensors flow.

Leaves out: what the architectures are; `pretrain_book.diagrams` knows that.

Draw the three architectures from the same few shapes, so that they compare at a glance.

Papers: Radford et al. 2019 (GPT-2): norm before each part, and once more after the last block.
Devlin et al. 2018 (arXiv:1810.04805): norm after each addition, segments, the masked-LM head.
Raffel et al. 2020 (arXiv:1910.10683): norm first, relative position biases, cross-attention.

Implements boxes, arrows, residual branches, repeated blocks and mask insets, and the stacks made
of them. A diagram reads from bottom to top, as its tensors flow; one unit of its axes is an inch.

Leaves out: dropout, padding masks, and the heads inside of attention.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from pretrain_book.style import INK, PALE, STYLE, style_of

COLUMN = 1.75  # inches: one column of boxes with its residual branches
BOX, GAP = 1.28, 0.1  # inches: width of a box, distance of rows
_LINE = 0.135  # inches: height of a line of the text
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


def blank_sheet(width: float, height: float) -> Axes:
    """Start a figure for a diagram: axes without a frame, whose unit is an inch.

    Args:
        width: Width of the figure in inches.
        height: Height of the figure in inches.
    """
    ax = plt.figure(figsize=(width, height), layout="none").add_axes((0, 0, 1, 1))
    _clear(ax, width, height)
    return ax


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
    """Draw a rounded box with text in 9½ points.

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
    ax.text(x - shift, y, text, fontsize=9.5, color=INK, **place)


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


def draw_fork(
    ax: Axes, start: tuple[float, float], ends: Sequence[tuple[float, float]], *answers: str
) -> None:
    """Draw the branches below a question: one line down, then an arrow to each end.

    Args:
        ax: Axes whose unit is an inch.
        start: Middle of the lower edge of the question's box.
        ends: Middle of the upper edge of each box that it leads to, below the start.
        answers: What leads to each end, written right of its arrow where that begins.

    Raises:
        ValueError: Ends and answers differ in number.
    """
    if len(ends) != len(answers):
        raise ValueError(f"expected an answer an end, got {len(answers)} for {len(ends)} ends")
    x, y = start
    bend = y - GAP
    for (across, top), answer in zip(ends, answers, strict=True):
        draw_arrow(ax, (x, y), (x, bend), (across, bend), (across, top))
        place: dict[str, Any] = {"va": "top", "linespacing": 1.05}
        ax.text(across + 0.06, bend - 0.03, answer, fontsize=9.5, color=INK, **place)


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
            self.ax.text(self.x, middle, text, fontsize=9.5, ha="center", va="center", color=INK)
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
        self.ax.text(left - 0.07, 0.7 * bottom + 0.3 * top, text, fontsize=10, color=INK, **place)


def _row_height(kind: str, text: str) -> float:
    """Return the height of one row; attention has room for its inset."""
    n_lines = max(2 if kind in _INSETS else 1, text.count("\n") + 1)
    return 0.14 if kind in ("text", "add") else _LINE * n_lines + 0.07


_DPI = 120  # keeps a figure with this much text below 100 kB
_TITLE = 0.42  # inches: room for a title over its stack


def _pre(norm: str, *parts: Row) -> list[Row]:
    """Branch off, normalise, compute, add: the pre-norm order."""
    return [r for part in parts for r in (("branch", ""), ("norm", norm), part, ("add", ""))]


def _post(norm: str, *parts: Row) -> list[Row]:
    """Branch off, compute, add, normalise: the post-norm order."""
    return [r for part in parts for r in (("branch", ""), part, ("add", ""), ("norm", norm))]


_FEED = ("feed", "feed-forward")
_OPEN, _CLOSE = ("open", ""), ("close", "× N")
_LN, _RMS = ("norm", "LayerNorm"), ("norm", "RMSNorm")
_GPT = [
    ("text", "tokens"),
    ("embed", "token + position"),
    _OPEN,
    *_pre("LayerNorm", ("causal", "causal\nself-attention"), _FEED),
    _CLOSE,
    _LN,
    ("head", "output (tied)"),
    ("text", "each next token"),
]
_BERT = [
    ("text", "tokens, some hidden"),
    ("embed", "token + position\n+ segment"),
    _LN,
    _OPEN,
    *_post("LayerNorm", ("full", "self-attention"), _FEED),
    _CLOSE,
    ("head", "dense, GELU"),
    _LN,
    ("head", "output (tied) + bias"),
    ("text", "the masked tokens"),
]
_T5_ENCODER = [
    ("text", "input tokens"),
    ("embed", "token"),
    _OPEN,
    *_pre("RMSNorm", ("full", "self-attention\n+ relative bias"), _FEED),
    _CLOSE,
    _RMS,
]
_T5_DECODER = [
    ("text", "target, shifted right"),
    ("embed", "token (shared)"),
    _OPEN,
    *_pre(
        "RMSNorm",
        ("causal", "self-attention\n+ relative bias"),
        ("cross", "cross-\nattention"),
        _FEED,
    ),
    _CLOSE,
    _RMS,
    ("head", "output (tied)"),
    ("text", "each next token"),
]
_STACKS = {
    "gpt": ("GPT-2: decoder only", "reads what came before", (_GPT,)),
    "bert": ("BERT: encoder only", "reads both sides", (_BERT,)),
    "t5": (
        "T5: encoder–decoder",
        "reads a source both ways, then what it wrote",
        (_T5_ENCODER, _T5_DECODER),
    ),
}


def draw_stack(ax: Axes, kind: str, height: float | None = None) -> None:
    """Draw one architecture from tokens at the bottom to predictions on top.

    Args:
        ax: Axes to draw on, 1.75 inches wide, or 3.5 for ``"t5"``; ``draw_stacks`` makes them.
        kind: ``"gpt"``, ``"bert"`` or ``"t5"``.
        height: Height of the axes in inches, at least what the stack needs; just that when None.

    Raises:
        ValueError: Unknown kind, or too little height.

    Source: Radford et al. 2019; Devlin et al. 2018 (arXiv:1810.04805); Raffel et al. 2020
    (arXiv:1910.10683).
    """
    needed = _needed_height(kind)
    top = needed if height is None else height
    if top < needed:
        raise ValueError(f"a stack of {kind!r} needs {needed:.2f} inches, got {top:.2f}")
    title, reach, columns = _STACKS[kind]
    color = STYLE[kind].color
    _clear(ax, COLUMN * len(columns), top)
    drawn = [Column(ax, COLUMN * n, color).draw(rows) for n, rows in enumerate(columns)]
    if kind == "t5":
        _join(ax, *drawn)
    _title(ax, (drawn[0].x + drawn[-1].x) / 2, top - 0.12, title, reach, color)


def draw_stacks(*kinds: str) -> Figure:
    """Draw architectures side by side, their inputs on one line.

    Args:
        kinds: One or more of ``"gpt"``, ``"bert"`` and ``"t5"``, in the order wanted.

    Returns:
        A figure of 1.75 inches per column; T5 takes two.

    Raises:
        ValueError: No kind, or an unknown one.
    """
    if not kinds:
        raise ValueError(f"expected at least one stack from {list(_STACKS)}, got none")
    height = max(_needed_height(kind) for kind in kinds)
    shares = [len(_STACKS[kind][2]) for kind in kinds]
    size = (COLUMN * sum(shares), height)
    figure = plt.figure(figsize=size, dpi=_DPI, layout="none")
    grid = figure.subplots(1, len(kinds), width_ratios=shares, squeeze=False)
    figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0)
    for ax, kind in zip(grid[0], kinds, strict=True):
        draw_stack(ax, kind, height)
    return figure


def draw_three_stacks() -> Figure:
    """Draw GPT, BERT and T5 side by side.

    Returns:
        A figure as wide as the text, 7.0 inches.
    """
    return draw_stacks(*_STACKS)


def draw_block(ax: Axes, norm: str = "pre", paradigm: str = "baseline") -> None:
    """Draw one block with its norm before each part or after each addition.

    Args:
        ax: Axes to draw on, of 1.75 × 2.7 inches.
        norm: ``"pre"`` or ``"post"``.
        paradigm: Whose colour the block takes.

    Raises:
        ValueError: Unknown norm or paradigm.
    """
    orders = {"pre": (_pre, "x + part(norm(x))"), "post": (_post, "norm(x + part(x))")}
    if norm not in orders:
        raise ValueError(f"expected norm from {list(orders)}, got {norm!r}")
    order, formula = orders[norm]
    _clear(ax, COLUMN, 2.7)
    color = style_of(paradigm).color
    rows = [("text", "x"), *order("norm", ("part", "attention"), _FEED), ("text", "y")]
    column = Column(ax, 0, color).draw(rows)
    _title(ax, column.x, 2.6, f"{norm}-norm", formula, color)


def _needed_height(kind: str) -> float:
    """Return the height of a stack with its title, in inches."""
    if kind not in _STACKS:
        raise ValueError(f"expected a stack from {list(_STACKS)}, got {kind!r}")
    return max(map(column_height, _STACKS[kind][2])) + _TITLE


def _join(ax: Axes, encoder: Column, decoder: Column) -> None:
    """Lead the encoder's output into the decoder's cross-attention."""
    side = encoder.x + BOX / 2 + 0.1
    up, target = encoder.top + GAP, decoder.places["cross"]
    corners = [(encoder.x, encoder.top), (encoder.x, up), (side, up), (side, target)]
    draw_arrow(ax, *corners, (decoder.x - BOX / 2, target))


def _title(ax: Axes, x: float, y: float, title: str, note: str, color: str) -> None:
    """Write a title, underlined in the colour of its paradigm, and a note below it."""
    place: dict[str, Any] = {"ha": "center", "va": "center", "color": INK}
    ax.text(x, y, title, fontsize=9.5, weight="bold", **place)
    ax.plot([x - 0.6, x + 0.6], [y - 0.11, y - 0.11], color=color, linewidth=2)
    ax.text(x, y - 0.23, note, fontsize=9.5, **place)


def _clear(ax: Axes, width: float, height: float) -> None:
    """Make the axes a blank sheet whose unit is an inch."""
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
