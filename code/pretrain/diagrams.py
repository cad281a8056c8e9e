# SPDX-License-Identifier: MIT
"""Draw the three architectures from the same few shapes, so that they compare at a glance.

Papers: Radford et al. 2019 (GPT-2): norm before each part, and once more after the last block.
Devlin et al. 2018 (arXiv:1810.04805): norm after each addition, segments, the masked-LM head.
Raffel et al. 2020 (arXiv:1910.10683): norm first, relative position biases, cross-attention.

Implements boxes, arrows, residual branches, repeated blocks and mask insets, and the stacks made
of them. A diagram reads from bottom to top, as its tensors flow; one unit of its axes is an inch.

Leaves out: dropout, padding masks, and the heads inside of attention.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pretrain.figure_style import INK, STYLE, style_of
from pretrain.shapes import BOX, COLUMN, GAP, Column, Row, column_height, draw_arrow, draw_box, tint

_DPI = 120  # keeps a figure with this much text below 100 kB
_WIDTH = 7.0  # inches: the text
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
    ("text", "tokens, some masked"),
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
    ("text", "source tokens"),
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
    "gpt": ("GPT: decoder only", "reads what came before", (_GPT,)),
    "bert": ("BERT: encoder only", "reads both sides", (_BERT,)),
    "t5": (
        "T5: encoder–decoder",
        "reads both sides of a source, then what it wrote so far",
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


def draw_pipeline(
    ax: Axes,
    steps: Sequence[str],
    notes: Sequence[str] | None = None,
    *,
    paradigm: str = "baseline",
) -> None:
    """Draw steps as boxes from left to right with arrows between them.

    Args:
        ax: Axes to draw on, 7 inches wide.
        steps: Two to six names; long ones are wrapped.
        notes: One remark under each step; none when None.
        paradigm: Whose tint the boxes take.

    Raises:
        ValueError: Fewer than two or more than six steps, or another number of notes.
    """
    remarks = [""] * len(steps) if notes is None else list(notes)
    if not 2 <= len(steps) <= 6 or len(remarks) != len(steps):
        raise ValueError(f"expected 2..6 steps, a note each, got {len(steps)} and {len(remarks)}")
    _clear(ax, _WIDTH, 1.2)
    pitch = _WIDTH / len(steps)
    width, face = pitch - 0.3, tint(style_of(paradigm).color)
    for n, (step, note) in enumerate(zip(steps, remarks, strict=True)):
        x = pitch * (n + 0.5)
        draw_box(ax, (x, 0.85), (width, 0.6), _wrapped(step, width), face=face)
        ax.text(x, 0.48, _wrapped(note, width), fontsize=8, ha="center", va="top", color=INK)
        if n:
            draw_arrow(ax, (x - pitch + width / 2, 0.85), (x - width / 2, 0.85))


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
    ax.text(x, y - 0.23, note, fontsize=8, **place)


def _clear(ax: Axes, width: float, height: float) -> None:
    """Make the axes a blank sheet whose unit is an inch."""
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")


def _wrapped(text: str, width: float) -> str:
    """Break a text into lines of 8-point characters that fit a width in inches."""
    return "\n".join(textwrap.wrap(text, int(width / 0.07), break_on_hyphens=False))
