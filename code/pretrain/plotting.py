# SPDX-License-Identifier: MIT
"""Draw the curves and bars of the book; everything a chapter needs to plot is named here.

Each helper draws on the axes it is given, in the look of `pretrain.figure_style`, and refuses data
that it could only draw wrongly. The grids (masks, matrices, tokens) live in `pretrain.grids`.

Leaves out: diagrams of architectures, which `pretrain.diagrams` draws.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from pretrain.figure_style import (
    BASELINES,
    FIG_SMALL,
    FIG_WIDE,
    INK,
    STYLE,
    Style,
    style_of,
    use_book_style,
)
from pretrain.grids import draw_mask, draw_matrix, draw_token_key, draw_tokens
from pretrain.tables import visible

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
    "style_of",
    "use_book_style",
]

Floats = NDArray[np.float64]
# 97.5 % points of Student's t for 1, 2, ... degrees of freedom: 95 % intervals over few seeds.
_STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


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
    """Draw the level of chance, or of another reference, as a dashed line with its name.

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
    note: dict[str, Any] = {"fontsize": 8.5, "color": INK}
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
        place: dict[str, Any] = {
            "xytext": (-2, 2),
            "textcoords": "offset points",
            "ha": "right",
            "va": "bottom",
        }
        ax.annotate(label, (1.0, level), xycoords=("axes fraction", "data"), **place, **note)


def draw_bars(
    ax: Axes,
    labels: Sequence[str],
    values: ArrayLike,
    errors: ArrayLike | None = None,
    *,
    paradigms: Sequence[str] | str = "baseline",
    fmt: str = ".2f",
    xlabel: str = "",
) -> None:
    """Draw horizontal bars, the first on top, each with its number at its end.

    Args:
        ax: Axes to draw on.
        labels: One name per bar; blanks are made visible.
        values: (n,) One number per bar.
        errors: (n,) half-widths, or (2, n) distances down and up; no error bars when None.
        paradigms: One paradigm for all bars, or one per bar, for colour and hatch.
        fmt: Format specification of the numbers.
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
        ax.barh(place, length, 0.7, color=style.color, hatch=style.hatch, edgecolor="white")
    if spread is not None:
        for color, width in (("white", 3), (INK, 1)):  # a white rim shows it on dark bars
            look: dict[str, Any] = {"ecolor": color, "elinewidth": width, "capthick": width}
            ax.errorbar(lengths, places, xerr=spread, fmt="none", capsize=3, **look)
    reach = np.maximum(lengths, 0) if spread is None else np.maximum(lengths + spread[1], 0)
    for place, length, end in zip(places, lengths, reach, strict=True):
        ax.annotate(
            f"{length:{fmt}}",
            (end, place),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
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
    if not 2 <= len(runs) <= len(_STUDENT_T) + 1:
        raise ValueError(f"an interval takes 2..{len(_STUDENT_T) + 1} seeds, got {len(runs)}")
    half = _STUDENT_T[len(runs) - 2] * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
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
