# SPDX-License-Identifier: MIT
"""Draw what happens to a sentence in chapter 2: lookup, query, flow of shapes, clocks, stream.

Each function draws one figure of its own; a diagram is 4.6 inches wide, so that its text can be
read on a phone. Leaves out: whole architectures, which `pretrain_book.diagrams` draws.
"""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle

from pretrain_book.diagrams import blank_sheet, draw_arrow, draw_box, tint
from pretrain_book.style import INK, PALE, STYLE

WIDTH = 4.6  # inches
ROW, CELL = 0.27, 0.3  # inches: height of a row, width of a cell
TEXT: dict[str, Any] = {"fontsize": 9.5, "color": INK, "va": "center"}
Vector = Sequence[float]


def draw_lookup(
    tokens: Sequence[str], ids: Sequence[int], vocabulary: Sequence[str], table: Sequence[Vector]
) -> None:
    """Draw how ids choose rows of an embedding table."""
    height = ROW * len(tokens) + 0.5
    ax = blank_sheet(WIDTH, height)
    top = height - 0.45
    for x, title in ((0.45, "token → id"), (1.95, "table (V, D)"), (3.85, "x (T, D)")):
        ax.text(x, height - 0.15, title, ha="center", **TEXT)
    for row, (word, values) in enumerate(zip(vocabulary, table, strict=True)):
        _draw_row(ax, 1.45, top - row * ROW, values, f"{row} {word}")
    for row, (token, number) in enumerate(zip(tokens, ids, strict=True)):
        y = top - row * ROW
        ax.text(0.45, y, f"{token} → {number}", ha="center", **TEXT)
        _draw_row(ax, 3.35, y, table[number], token)
    middle = top - ROW * (len(tokens) - 1) / 2
    draw_arrow(ax, (0.85, middle), (0.98, middle))
    draw_arrow(ax, (2.7, middle), (2.95, middle))


def _draw_row(ax: Axes, left: float, y: float, values: Vector, name: str) -> None:
    """Draw a vector as a row of cells with a name at its left; numbers above 0 are tinted."""
    ax.text(left - 0.06, y, name, ha="right", **TEXT)
    for column, value in enumerate(values):
        face = tint(STYLE["gpt"].color) if value else "white"
        corner = (left + column * CELL, y - ROW / 2)
        ax.add_patch(Rectangle(corner, CELL, ROW, facecolor=face, edgecolor="#999999"))
        ax.text(left + (column + 0.5) * CELL, y, f"{value:g}", ha="center", **TEXT)


def draw_query(
    tokens: Sequence[str], query: Vector, keys: Sequence[Vector], weights: Vector
) -> None:
    """Draw a query and the keys as arrows, and the weights as bars beside them."""
    _fig, (plane, bars) = plt.subplots(1, 2, figsize=(WIDTH, 2.3), width_ratios=(1.2, 1))
    arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    plane.annotate(
        "",
        query,
        (0, 0),
        arrowprops={**arrow, "color": STYLE["gpt"].color, "linewidth": 6, "alpha": 0.5},
    )
    plane.text(query[0] / 2, -0.3, "query", ha="center", color=STYLE["gpt"].color, va="center")
    for token, key in zip(tokens, keys, strict=True):
        plane.annotate("", key, (0, 0), arrowprops={**arrow, "color": INK, "linewidth": 1.2})
        plane.text(key[0], key[1] + 0.22, token, ha="center", va="center")
    plane.set(xlim=(-0.6, 2.6), ylim=(-0.6, 2.6), xlabel="noun", ylabel="verb", aspect="equal")
    bars.barh(range(len(tokens)), weights, color=STYLE["gpt"].color)
    bars.set_yticks(range(len(tokens)), tokens)
    bars.invert_yaxis()
    for row, weight in enumerate(weights):
        bars.text(weight + 0.03, row, f"{weight:.2f}", va="center")
    bars.set(xlim=(0, 1), xlabel="weight")
    bars.grid(False)


def draw_flow() -> None:
    """Draw self-attention upwards, from X to the output, with a shape in every box."""
    ax = blank_sheet(WIDTH, 3.05)
    width = r"$d_{\mathrm{head}}$"
    scores = "scores: " + r"$QK^\top/\sqrt{d_{\mathrm{head}}}$" + "\n(T, T)"
    size, face, grey = (1.2, 0.36), tint(STYLE["gpt"].color), "#e4e4e0"
    draw_box(ax, (2.3, 0.2), (1.6, 0.36), "X\n(T, D)", face="#fff6dc")
    for x, letter in zip((0.85, 2.3, 3.75), "QKV", strict=True):
        draw_arrow(ax, (2.3, 0.38), (2.3, 0.46), (x, 0.46), (x, 0.74))
        ax.text(x + 0.07, 0.6, f"$W_{letter}$", ha="left", **TEXT)
        draw_box(ax, (x, 0.92), size, f"{letter}\n(T, {width})", face=face)
    draw_arrow(ax, (0.85, 1.1), (0.85, 1.24), (1.4, 1.24), (1.4, 1.38))
    draw_arrow(ax, (2.3, 1.1), (2.3, 1.24), (1.75, 1.24), (1.75, 1.38))
    draw_box(ax, (1.575, 1.56), (1.9, 0.36), scores, face=grey)
    draw_arrow(ax, (1.575, 1.74), (1.575, 2.04))
    ax.text(1.65, 1.88, "softmax", ha="left", **TEXT)
    draw_box(ax, (1.575, 2.22), (1.9, 0.36), "weights\n(T, T)", face=grey)
    draw_arrow(ax, (1.575, 2.4), (1.575, 2.5), (2.2, 2.5), (2.2, 2.63))
    draw_arrow(ax, (3.75, 1.1), (3.75, 2.5), (2.6, 2.5), (2.6, 2.63))
    draw_box(ax, (2.4, 2.81), (1.9, 0.36), f"output: weights · V\n(T, {width})", face=face)


def draw_clocks(n_places: int, speeds: Sequence[float]) -> None:
    """Draw a clock for each place and each speed, in radians a place; hands start upwards."""
    step, radius = 0.46, 0.18
    ax = blank_sheet(WIDTH, step * len(speeds) + 0.4)
    for row, speed in enumerate(speeds):
        y = step * (len(speeds) - row - 0.5) + 0.35
        ax.text(0.05, y, ("fast", "", "", "slow")[min(row, 3)], ha="left", **TEXT)
        for place in range(n_places):
            x, angle = 0.75 + 0.5 * place, speed * place
            ax.add_patch(Circle((x, y), radius, facecolor=PALE, edgecolor="#999999"))
            tip = (x + radius * math.sin(angle), y + radius * math.cos(angle))
            ax.plot([x, tip[0]], [y, tip[1]], color=STYLE["gpt"].color, linewidth=2.2)
    for place in range(n_places):
        ax.text(0.75 + 0.5 * place, 0.2, str(place), ha="center", **TEXT)
    ax.text(0.05, 0.2, "place", ha="left", **TEXT)


def draw_stream() -> None:
    """Draw one pre-norm block as a belt, into which two machines add."""
    ax = blank_sheet(WIDTH, 1.95)
    belt = 0.35
    ax.add_patch(Rectangle((0.35, belt - 0.09), 3.85, 0.18, facecolor=tint("#E69F00")))
    ax.text(0.15, belt, "x", ha="center", **TEXT)
    draw_arrow(ax, (4.2, belt), (4.45, belt))
    ax.text(2.3, 0.1, "residual stream", ha="center", **TEXT)
    machines = {0.6: "attention\nmixes positions", 2.55: "feed-forward\neach position alone"}
    for left, name in machines.items():
        draw_arrow(ax, (left, belt + 0.09), (left, 0.75))
        draw_box(ax, (left + 0.05, 0.89), (0.6, 0.28), "norm")
        draw_arrow(ax, (left, 1.03), (left, 1.3))
        draw_box(ax, (left + 0.6, 1.53), (1.65, 0.46), name, face=tint(STYLE["gpt"].color))
        plus = left + 1.25
        draw_arrow(ax, (plus, 1.3), (plus, belt + 0.12))
        ax.plot(plus, belt, "o", markersize=12, color="white", markeredgecolor=INK)
        ax.plot(plus, belt, "+", markersize=8, color=INK)
