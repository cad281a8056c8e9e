# SPDX-License-Identifier: MIT
"""Draw grids of cells: attention masks, small matrices and rows of tokens.

Rows are queries and columns are keys in every grid of the book. A cell's meaning never hangs on
its colour alone: allowed cells carry a dot, small matrices print their numbers, and the states of
tokens differ in hatch, border and a word.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray

from pretrain.figure_style import INK, PALE, STYLE
from pretrain.tables import TOKEN_STATES, visible

_FATES: dict[str, dict[str, Any]] = {
    "not selected": {"facecolor": "white", "edgecolor": "#b5b5b5", "linewidth": 0.8},
    "masked": {
        "facecolor": "#dcdcdc",
        "edgecolor": INK,
        "linewidth": 1.4,
        "hatch": "////",
    },
    "random": {
        "facecolor": "#fff0c2",
        "edgecolor": INK,
        "linewidth": 1.2,
        "linestyle": "--",
    },
    "kept": {"facecolor": "#dff1e6", "edgecolor": INK, "linewidth": 1.8, "linestyle": ":"},
    "target": {"facecolor": "#d7e9f6", "edgecolor": INK, "linewidth": 2.4},
}


def draw_mask(
    ax: Axes,
    mask: ArrayLike,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    color: str = STYLE["gpt"].color,
) -> None:
    """Draw a mask: an allowed cell is filled and carries a dot, a hidden one is pale and empty.

    Args:
        ax: Axes to draw on.
        mask: bool (T, S), rows are queries and columns are keys. True = may attend.
        row_labels: Names of the T queries; position numbers when None.
        column_labels: Names of the S keys; position numbers when None.
        color: Fill of allowed cells.

    Raises:
        ValueError: The mask is not boolean with two axes, or the labels do not fit it.
    """
    cells = np.asarray(mask)
    if cells.dtype != bool or cells.ndim != 2:
        raise ValueError(f"mask must be bool (T, S), got {cells.dtype} {cells.shape}")
    for query, key in np.ndindex(cells.shape):
        allowed = cells[query, key]
        face = color if allowed else PALE
        box = Rectangle((key - 0.5, query - 0.5), 1, 1, facecolor=face, edgecolor="white")
        ax.add_patch(box)
    queries, keys = np.nonzero(cells)
    ax.plot(keys, queries, "o", color="white", markersize=4.5)
    _label_cells(ax, cells.shape, row_labels, column_labels)


def draw_matrix(
    ax: Axes,
    values: ArrayLike,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    *,
    fmt: str = ".2f",
    label: str = "",
    vmin: float | None = None,
    vmax: float | None = None,
) -> None:
    """Draw a heat map; its numbers are printed in the cells when it has at most 8 × 8.

    Args:
        ax: Axes to draw on.
        values: float (T, S), rows are queries and columns are keys; NaN cells stay empty.
        row_labels: Names of the rows; position numbers when None.
        column_labels: Names of the columns; position numbers when None.
        fmt: Format specification of the printed numbers.
        label: Quantity and unit, written at a colour bar; no bar when empty.
        vmin: Value of the lightest colour; the smallest value when None.
        vmax: Value of the darkest colour; the largest value when None.

    Raises:
        ValueError: The values do not have two axes, or the labels do not fit them.
    """
    cells: NDArray[np.float64] = np.asarray(values, dtype=float)
    if cells.ndim != 2 or cells.size == 0:
        raise ValueError(f"values must be (T, S) and not empty, got shape {cells.shape}")
    image = ax.imshow(cells, cmap="Blues", vmin=vmin, vmax=vmax, aspect="equal")
    if max(cells.shape) <= 8:
        for query, key in zip(*np.nonzero(np.isfinite(cells)), strict=True):
            dark = float(np.asarray(image.norm(cells[query, key]))) > 0.55
            ink = "white" if dark else INK
            text = f"{cells[query, key]:{fmt}}"
            ax.text(key, query, text, ha="center", va="center", color=ink, fontsize=8.5)
    if label:
        ax.figure.colorbar(image, ax=ax, label=label, shrink=0.85)
    _label_cells(ax, cells.shape, row_labels, column_labels)


def draw_tokens(
    ax: Axes,
    tokens: Sequence[str],
    states: Sequence[str] | None = None,
    *,
    row: float = 0.0,
    label: str = "",
    words: bool = True,
) -> None:
    """Draw one row of token boxes whose states differ in hatch, border and a word below.

    Call it again with ``row=1, 2, …`` to show a sentence before and after its corruption. A wide
    figure holds about 12 words or 40 single characters; set ``words=False`` for characters, and
    call ``draw_token_key`` instead.

    Args:
        ax: Axes to draw on; frame and ticks go, the limits grow with the rows.
        tokens: The tokens; blanks are made visible.
        states: One of ``pretrain.tables.TOKEN_STATES`` for each token, such as the fates
            of ``pretrain.objectives`` by name; all not selected when None.
        row: Vertical place of the row, counted downwards.
        label: Name of the row, written to its left.
        words: Write the state under each token that has one.

    Raises:
        ValueError: No tokens, tokens and states that differ in number, or an unknown state.
    """
    fates = ["not selected"] * len(tokens) if states is None else list(states)
    if len(tokens) == 0 or len(fates) != len(tokens):
        raise ValueError(f"expected one state a token, got {len(fates)} for {len(tokens)} tokens")
    if unknown := set(fates) - set(TOKEN_STATES):
        raise ValueError(f"expected states from {list(TOKEN_STATES)}, got {sorted(unknown)}")
    for column, (token, fate) in enumerate(zip(tokens, fates, strict=True)):
        _draw_token(ax, column, row, token, fate, TOKEN_STATES[fate][0] if words else "")
    if label:
        ax.text(-0.7, row, label, ha="right", va="center", fontsize=9)
    ax.axis("off")
    width = ax.get_window_extent().width / ax.figure.dpi  # inches
    ax.set_aspect(0.45 * len(tokens) / width)  # rows about 0.45 in apart, whatever the figure
    box = ax.dataLim
    ax.set(
        xlim=(box.x0 - 0.1, box.x1 + 0.1),
        ylim=(box.y1 + (0.4 if words else 0.1), box.y0 - 0.1),
    )


def draw_token_key(ax: Axes, states: Sequence[str] = ("masked", "random", "kept")) -> None:
    """Explain the boxes of token states in a row under the axes.

    Args:
        ax: Axes that ``draw_tokens`` drew on.
        states: The states to explain, from ``pretrain.tables.TOKEN_STATES``.

    Raises:
        ValueError: Unknown state.
    """
    if unknown := set(states) - set(TOKEN_STATES):
        raise ValueError(f"expected states from {list(TOKEN_STATES)}, got {sorted(unknown)}")
    handles = [Patch(label=state, **_FATES[state]) for state in states]
    place: dict[str, Any] = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "ncols": len(states),
    }
    ax.legend(handles=handles, **place, handlelength=2.4, handleheight=1.5)


def _draw_token(ax: Axes, column: int, row: float, token: str, fate: str, word: str) -> None:
    """Draw the box of one token, its text and the word of its state."""
    ax.add_patch(Rectangle((column - 0.46, row - 0.36), 0.92, 0.72, **_FATES[fate]))
    card = {"facecolor": "white", "edgecolor": "none", "pad": 0.8} if fate == "masked" else None
    weight = "bold" if fate in ("masked", "target") else "normal"
    center: dict[str, Any] = {"ha": "center", "va": "center"}
    ax.text(column, row, visible(token), bbox=card, weight=weight, fontsize=9, **center)
    if word:
        ax.text(column, row + 0.55, word, fontsize=8.5, style="italic", color=INK, **center)


def _label_cells(
    ax: Axes,
    shape: tuple[int, ...],
    row_labels: Sequence[str] | None,
    column_labels: Sequence[str] | None,
) -> None:
    """Name rows and columns, keys on top as in a table; long grids name every n-th position."""
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelbottom=False, labeltop=True)
    ax.xaxis.set_label_position("top")
    ax.set(xlabel="key", ylabel="query", aspect="equal")
    ax.set(xlim=(-0.5, shape[1] - 0.5), ylim=(shape[0] - 0.5, -0.5))
    for axis, labels, size in (
        (ax.yaxis, row_labels, shape[0]),
        (ax.xaxis, column_labels, shape[1]),
    ):
        if labels is not None and len(labels) != size:
            raise ValueError(f"expected {size} labels, got {len(labels)}: {list(labels)}")
        places = range(0, size, 1 if labels is not None else 1 + (size - 1) // 12)
        axis.set_ticks(list(places), [visible(labels[n]) if labels else str(n) for n in places])
