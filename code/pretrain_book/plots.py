# SPDX-License-Identifier: MIT
"""Draw the curves and bars of the book; everything a chapter needs to plot is named here.

Each helper draws on the axes it is given, in the look of `pretrain_book.style`, and refuses data
that it could only draw wrongly. The grids (masks, matrices, tokens) live in `pretrain_book.plots`.

Leaves out: diagrams of architectures, which `pretrain_book.diagrams` draws.

Draw grids of cells: attention masks, small matrices and rows of tokens.

Rows are queries and columns are keys in every grid of the book. A cell's meaning never hangs on
its colour alone: allowed cells carry a dot, small matrices print their numbers, and the states of
tokens differ in hatch, border and a word.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray

from pretrain_book.html import TOKEN_STATES, visible
from pretrain_book.style import (
    BASELINES,
    FIG_SMALL,
    FIG_WIDE,
    INK,
    PALE,
    STYLE,
    Style,
    style_of,
    use_book_style,
)

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
            ax.text(key, query, text, ha="center", va="center", color=ink, fontsize=9.5)
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
        states: One of ``pretrain_book.html.TOKEN_STATES`` for each token, such as the fates
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
        ax.text(-0.7, row, label, ha="right", va="center", fontsize=10)
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
        states: The states to explain, from ``pretrain_book.html.TOKEN_STATES``.

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
    ax.text(column, row, visible(token), bbox=card, weight=weight, fontsize=10, **center)
    if word:
        ax.text(column, row + 0.55, word, fontsize=9.5, style="italic", color=INK, **center)


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


__all__ = [
    "BASELINES",
    "FIG_SMALL",
    "FIG_WIDE",
    "STYLE",
    "draw_band",
    "draw_bars",
    "draw_chance",
    "draw_curve",
    "draw_mask",
    "draw_matrix",
    "draw_token_key",
    "draw_tokens",
    "label_ends",
    "label_parts",
    "style_of",
    "use_book_style",
]

Floats = NDArray[np.float64]


def draw_curve(
    ax: Axes,
    steps: ArrayLike,
    losses: ArrayLike,
    paradigm: str,
    label: str | None = None,
    *,
    baseline: int = 0,
    xlabel: str = "training step",
    ylabel: str = "loss (nats per token)",
) -> None:
    """Draw one training curve in the look of its paradigm.

    Args:
        ax: Axes to draw on.
        steps: (n,) Positions on the horizontal axis.
        losses: (n,) Values.
        paradigm: ``"gpt"``, ``"bert"``, ``"t5"`` or ``"baseline"``.
        label: Name in the legend; the paradigm's own when None.
        baseline: Which baseline style, 0 to 3.
        xlabel: Name and unit of the horizontal axis.
        ylabel: Name and unit of the vertical axis.

    Raises:
        ValueError: Steps and losses differ in number or are empty, or the paradigm is unknown.
    """
    x, y = _series(steps, losses)
    _line(ax, x, y, style_of(paradigm, baseline), label)
    ax.set(xlabel=xlabel, ylabel=ylabel)


def draw_band(
    ax: Axes,
    x: ArrayLike,
    runs: ArrayLike,
    paradigm: str,
    label: str | None = None,
    *,
    kind: Literal["range", "interval"] = "range",
    baseline: int = 0,
) -> None:
    """Draw the mean over seeds and a band around it.

    Args:
        ax: Axes to draw on.
        x: (n,) Positions on the horizontal axis.
        runs: (n_seeds, n) One row per seed.
        paradigm: ``"gpt"``, ``"bert"``, ``"t5"`` or ``"baseline"``.
        label: Name in the legend; the paradigm's own when None.
        kind: ``"range"``: smallest to largest. ``"interval"``: 95 % confidence interval of the
            mean by Student's t.
        baseline: Which baseline style, 0 to 3.

    Raises:
        ValueError: The runs do not fit x, ``kind`` is unknown, or an interval has one seed only.
    """
    table: Floats = np.asarray(runs, dtype=float)
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"runs must be (n_seeds, n), got shape {table.shape}")
    positions, mean = _series(x, table.mean(axis=0))
    low, high = _band(table, kind)
    style = style_of(paradigm, baseline)
    ax.fill_between(positions, low, high, color=style.color, alpha=0.18, linewidth=0)
    _line(ax, positions, mean, style, label)


def draw_chance(ax: Axes, level: float, label: str = "chance", *, vertical: bool = False) -> None:
    """Draw the level of chance, or of another reference, as a dashed line named in the margin.

    Args:
        ax: Axes to draw on.
        level: Value of the reference, in the unit of the axis that it crosses.
        label: Name, written at the line.
        vertical: Draw a vertical line, for horizontal bars.

    Raises:
        ValueError: The level is not finite.
    """
    if not np.isfinite(level):
        raise ValueError(f"expected a finite level, got {level}")
    line: dict[str, Any] = {"color": INK, "linestyle": (0, (4, 3)), "linewidth": 1.0}
    note: dict[str, Any] = {"color": INK}
    if vertical:
        ax.axvline(level, **line)
        ax.annotate(
            label,
            (level, 1.0),
            xycoords=("data", "axes fraction"),
            va="bottom",
            ha="center",
            **note,
        )
    else:
        ax.axhline(level, **line)
        if label:
            _note_in_margin(ax, label, level, INK)


def label_ends(ax: Axes, *, gap: float = 12.0) -> None:
    """Write each line's name at its right end, in its colour, instead of a legend.

    The names of `draw_chance` in the same margin count too: where names would meet they move
    apart, and a thin line leads back. Call it last, when all is drawn.

    Args:
        ax: Axes with lines, or error bars, that carry labels.
        gap: Least distance of two names, in points.

    Raises:
        ValueError: No line carries a label.
    """
    ax.autoscale_view()  # limits that nobody set are stale until then
    named: list[Any] = [*ax.get_lines(), *(c for c in ax.containers if hasattr(c, "lines"))]
    n_names = 0
    for one in named:
        name, line = str(one.get_label()), one.lines[0] if hasattr(one, "lines") else one
        if name and not name.startswith("_"):
            n_names += 1
            across = float(np.asarray(line.get_xdata(), dtype=float)[-1])
            place = line.get_transform().transform((across, line.get_ydata()[-1]))
            _note_in_margin(
                ax,
                name,
                float(ax.transData.inverted().transform(place)[1]),
                line.get_color(),
                float(ax.transAxes.inverted().transform(place)[0]),
            )
    if not n_names:
        raise ValueError("label_ends expects lines with labels, got none")
    _move_apart(ax, gap)


def label_parts(
    ax: Axes, x: float, parts: Sequence[tuple[str, float, str]], *, gap: float = 12.0
) -> None:
    """Write the names of a stacked bar's parts beside it, each in its colour.

    Args:
        ax: Axes with the bar.
        x: Right edge of the bar.
        parts: Name, height of its middle and colour, from the lowest to the uppermost.
        gap: Least distance of two names, in points.
    """
    across = float(ax.transAxes.inverted().transform(ax.transData.transform((x, 0)))[0])
    for name, middle, color in parts:
        _note_in_margin(ax, name, middle, color, across)
    _move_apart(ax, gap)


_MARGIN = "margin"  # names that stand right of what they name


def _note_in_margin(ax: Axes, name: str, y: float, color: Any, across: float = 1.0) -> None:
    """Write a name right of a place, given as a share of the axes' width and a value."""
    note = ax.annotate(
        name,
        (across, y),
        (5, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="left",
        va="center",
        color=_readable(color),
        annotation_clip=False,
    )
    note.set_gid(_MARGIN)


def _move_apart(ax: Axes, gap: float) -> None:
    """Move the names in the margin until neighbours are `gap` points apart, as little as goes."""
    figure: Any = ax.figure
    figure.draw_without_rendering()  # heights are known once the layout is
    points = 72 / figure.dpi
    notes: list[Any] = [note for note in ax.texts if note.get_gid() == _MARGIN]
    notes.sort(key=lambda note: float(ax.transData.transform((0, note.xy[1]))[1]))
    wanted = [float(ax.transData.transform((0, note.xy[1]))[1]) * points for note in notes]
    groups: list[list[float]] = []  # of neighbours that touch: number of names, sum of bottoms
    for number, height in enumerate(wanted):
        groups.append([1, height - number * gap])
        while len(groups) > 1 and groups[-2][1] / groups[-2][0] > groups[-1][1] / groups[-1][0]:
            count, total = groups.pop()
            groups[-1] = [groups[-1][0] + count, groups[-1][1] + total]
    bottoms = [total / count for count, total in groups for _ in range(int(count))]
    for number, (note, height, bottom) in enumerate(zip(notes, wanted, bottoms, strict=True)):
        moved = round(bottom + number * gap - height, 1)
        if abs(moved) > 1:
            note.set_position((14, moved))
            line = {"color": note.get_color(), "linewidth": 0.5}
            ax.annotate(
                "",
                note.xy,
                (13, moved),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "shrinkA": 0, "shrinkB": 1, **line},
                annotation_clip=False,
            )


def _readable(color: Any) -> tuple[float, float, float]:
    """Darken a pale grey until words can be read in it; other colours stay."""
    red, green, blue = to_rgb(color)
    if max(red, green, blue) - min(red, green, blue) < 0.05 and red > 0.4:
        return 0.4, 0.4, 0.4
    return red, green, blue


def draw_bars(
    ax: Axes,
    labels: Sequence[str],
    values: ArrayLike,
    errors: ArrayLike | None = None,
    *,
    paradigms: Sequence[str] | str = "baseline",
    fmt: str | Callable[[float], str] = ".2f",
    xlabel: str = "",
) -> None:
    """Draw horizontal bars, the first on top, each with its number at its end.

    Args:
        ax: Axes to draw on.
        labels: One name per bar; blanks are made visible.
        values: (n,) One number per bar.
        errors: (n,) half-widths, or (2, n) distances down and up; no error bars when None.
        paradigms: One paradigm for all bars, or one per bar, for their colours.
        fmt: Format specification of the numbers, or a function that writes one.
        xlabel: Quantity and unit.

    Raises:
        ValueError: Labels, values, errors or paradigms differ in number, or a value is not finite.
    """
    names = [visible(label) for label in labels]
    places, lengths = _series(np.arange(len(names)), values)
    kinds = [paradigms] * len(names) if isinstance(paradigms, str) else list(paradigms)
    spread = _spread(errors, len(names))
    if len(kinds) != len(names):
        raise ValueError(f"expected one paradigm a bar, got {len(kinds)} for {len(names)} bars")
    for place, length, kind in zip(places, lengths, kinds, strict=True):
        style = style_of(kind)
        ax.barh(place, length, 0.66, color=style.color)
    if spread is not None:
        for color, width in (("white", 3), (INK, 1)):  # a white rim shows it on dark bars
            look: dict[str, Any] = {"ecolor": color, "elinewidth": width, "capthick": width}
            ax.errorbar(lengths, places, xerr=spread, fmt="none", capsize=3, **look)
    reach = np.maximum(lengths, 0) if spread is None else np.maximum(lengths + spread[1], 0)
    for place, length, end in zip(places, lengths, reach, strict=True):
        ax.annotate(
            fmt(length) if callable(fmt) else f"{length:{fmt}}",
            (end, place),
            (4, 0),
            textcoords="offset points",
            va="center",
        )
    ax.margins(x=0.14)
    ax.set(yticks=places, yticklabels=names, ylim=(len(names) - 0.5, -0.5), xlabel=xlabel)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)


def _line(ax: Axes, x: Floats, y: Floats, style: Style, label: str | None) -> None:
    """Draw one line with about eight markers, however long it is."""
    ax.plot(
        x,
        y,
        color=style.color,
        linestyle=style.linestyle,
        marker=style.marker,
        markevery=max(1, len(x) // 8),
        label=style.label if label is None else label,
    )


def _series(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return two float rows of one length, none of them empty and none without a finite value."""
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise ValueError(f"expected two rows of one length, got {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("expected finite numbers, got NaN or infinity")
    return first, second


def _band(runs: Floats, kind: str) -> tuple[Floats, Floats]:
    """Return the lower and the upper edge of a band over seeds."""
    if kind == "range":
        return runs.min(axis=0), runs.max(axis=0)
    if kind != "interval":
        raise ValueError(f"expected kind 'range' or 'interval', got {kind!r}")
    if len(runs) < 2:
        raise ValueError(f"an interval takes at least 2 seeds, got {len(runs)}")
    from scipy import stats  # here, because it takes a second to load

    quantile = round(stats.t.ppf(0.975, len(runs) - 1), 3)  # three digits, as tables print it
    half = quantile * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    return runs.mean(axis=0) - half, runs.mean(axis=0) + half


def _spread(errors: ArrayLike | None, n_bars: int) -> Floats | None:
    """Return error bars as (2, n) distances down and up."""
    if errors is None:
        return None
    widths: Floats = np.asarray(errors, dtype=float)
    if widths.shape not in ((n_bars,), (2, n_bars)) or not (widths >= 0).all():
        raise ValueError(
            f"errors must be (n,) or (2, n), not negative, for n = {n_bars}, got {widths}"
        )
    return np.broadcast_to(widths, (2, n_bars))
