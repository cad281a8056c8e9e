# SPDX-License-Identifier: MIT
"""Draw the pictures of the page for contributors: ``python tools/make_architecture.py``.

The first shows the modules of the package in the layers of ``tools/layers.toml``, with arrows for
the imports that the sources hold; the second, how a number travels from the data to a page. They
are small enough to be committed, so that building the pages draws nothing. Each file notes a hash
of what it was drawn from, by which a test knows that it is up to date.
"""

import hashlib
import io
import json
import sys
import textwrap
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from chapters import ROOT
from package_layers import between_layers, imports_of, read_layers, read_steps

ASSETS = ROOT / "chapters" / "assets"
ARCHITECTURE = "architecture.png"
NUMBER = "number.png"
NOTE = "drawn-from"  # the entry of a PNG file with the hash

WIDTH = 640  # units, which are pixels of a phone twice over: text must be read at half the size
SCALE = 1.5  # pixels in a unit
INK, SOFT, GROUND, BOX, ARROW = "#1b1f24", "#4b535c", "#ffffff", "#eef0f2", "#56606b"
PARADIGMS = {"gpt": "#0072B2", "bert": "#009E73", "t5": "#D55E00"}
LETTER = 0.602  # width of a letter of the monospaced font, in its size
N_COLOURS = 24
BOX_RIGHT = 530
SIZE, LINE = 21, 29  # of the modules' names, and from line to line


def main(folder: Path = ASSETS) -> int:
    """Draw both pictures.

    Args:
        folder: Where the files go.

    Returns:
        0.
    """
    save(draw_architecture(), folder / ARCHITECTURE, drawn_from(ARCHITECTURE))
    save(draw_number(), folder / NUMBER, drawn_from(NUMBER))
    return 0


def drawn_from(name: str) -> str:
    """Give a hash of all that a picture shows.

    Args:
        name: Of the file.

    Returns:
        16 hexadecimal digits.
    """
    if name == NUMBER:
        content: object = read_steps()
    else:
        layers = read_layers()
        content = [layers, sorted(between_layers(layers, imports_of()).items())]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def save(figure: Figure, path: Path, note: str) -> None:
    """Write a picture in few colours, with its note."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    noted = PngInfo()
    noted.add_text(NOTE, note)
    with Image.open(buffer) as image:
        few = image.convert("RGB").quantize(N_COLOURS, Image.Quantize.MAXCOVERAGE)
        few.save(path, optimize=True, pnginfo=noted)


def make_axes(height: float) -> tuple[Figure, Axes]:
    """Make an empty picture whose units are counted from the upper left corner."""
    size = (WIDTH * SCALE / 100, height * SCALE / 100)
    figure = Figure(figsize=size, dpi=100, facecolor=GROUND)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def write(axes: Axes, x: float, y: float, text: str, size: float, **look: str) -> None:
    """Write a line whose foot is at y, in units."""
    points = size * SCALE * 72 / 100
    axes.text(x, y, text, fontsize=points, va="baseline", **{"color": INK, **look})  # type: ignore[arg-type]


def draw_box(axes: Axes, top: float, height: float, right: float) -> None:
    """Draw a box that begins at the left edge."""
    box = (2, top), right - 2, height
    style = "round,pad=0,rounding_size=8"
    axes.add_patch(FancyBboxPatch(*box, boxstyle=style, facecolor=BOX, edgecolor="none"))


def lines_of(modules: tuple[str, ...], width: float) -> list[list[str]]:
    """Divide names into lines, two letters apart.

    Args:
        modules: The names.
        width: Of a line, in units.

    Returns:
        Names line by line.
    """
    n_letters = int(width / (LETTER * SIZE))
    joined = "  ".join(modules)
    return [line.split() for line in textwrap.wrap(joined, n_letters, break_on_hyphens=False)]


def draw_architecture() -> Figure:
    """Draw the layers, the highest first, and to their right who imports whom."""
    layers = read_layers()
    rows = [lines_of(layer.modules, BOX_RIGHT - 28) for layer in layers]
    heights = [44 + LINE * len(names) for names in rows]
    tops = [6 + sum(heights[:n]) + 12 * n for n in range(len(layers))]
    figure, axes = make_axes(tops[-1] + heights[-1] + 6)
    for layer, names, top, height in zip(layers, rows, tops, heights, strict=True):
        draw_box(axes, top, height, BOX_RIGHT)
        write(axes, 14, top + 27, layer.name, 22, family="monospace", weight="bold")
        x = 14 + (len(layer.name) + 1) * LETTER * 22
        write(axes, x, top + 27, layer.about, 20, color=SOFT)
        for n, line in enumerate(names):
            draw_names(axes, line, top + 56 + LINE * n)
    draw_arrows(axes, [(top, height) for top, height in zip(tops, heights, strict=True)])
    return figure


def draw_names(axes: Axes, names: list[str], foot: float) -> None:
    """Write a line of modules, the three models underlined in their colours."""
    x = 14.0
    for name in names:
        weight = "bold" if name in PARADIGMS else "normal"
        write(axes, x, foot, name, SIZE, family="monospace", weight=weight)
        if name in PARADIGMS:
            ends = [x, x + len(name) * LETTER * SIZE], [foot + 7] * 2
            axes.plot(*ends, color=PARADIGMS[name], linewidth=5, solid_capstyle="butt")
        x += (len(name) + 2) * LETTER * SIZE


def draw_arrows(axes: Axes, boxes: list[tuple[float, float]]) -> None:
    """Draw the imports: from each layer one line down, and from it an arrow into each it needs.

    An arrow is the thicker, the more imports it stands for.

    Args:
        axes: Where to draw.
        boxes: Top and height of each layer's box.
    """
    counts = between_layers(read_layers(), imports_of())
    for place, start in enumerate(sorted({of for of, _ in counts})):
        x, leaving = WIDTH - 8 - 12.5 * place, sum(boxes[start]) - 13
        lowest = leaving
        for end in sorted(to for of, to in counts if of == start):
            others = sorted(of for of, to in counts if to == end)
            room = boxes[end][1] - 40
            y = boxes[end][0] + 14 + room * (others.index(start) + 0.5) / len(others)
            width = 0.9 + 0.45 * counts[start, end] ** 0.5
            axes.add_patch(
                FancyArrowPatch(
                    (x, y), (BOX_RIGHT - 1, y), arrowstyle="-|>", mutation_scale=10 + 2 * width,
                    color=ARROW, linewidth=width, shrinkA=0, shrinkB=0,
                )
            )  # fmt: skip
            axes.plot([x], [y], marker="o", markersize=5, color=ARROW)
            lowest = max(lowest, y)
        axes.plot([BOX_RIGHT - 2, x, x], [leaving, leaving, lowest], color=ARROW, linewidth=1.6)


def draw_number() -> Figure:
    """Draw the steps of a number one below another, each with the test that holds it."""
    steps = read_steps()
    step_height, apart = 102, 30
    figure, axes = make_axes(6 + len(steps) * (step_height + apart) - apart + 6)
    for n, step in enumerate(steps):
        top = 6 + n * (step_height + apart)
        draw_box(axes, top, step_height, WIDTH - 2)
        write(axes, 14, top + 30, step.what, 23, family="monospace", weight="bold")
        write(axes, 14, top + 60, step.says, 22)
        write(axes, 14, top + 89, step.test, 20, family="monospace", color="#00547f")
        if n:
            ends = (WIDTH / 2, top - apart + 2), (WIDTH / 2, top - 2)
            axes.add_patch(
                FancyArrowPatch(
                    *ends, arrowstyle="-|>", mutation_scale=22, color=INK, linewidth=2,
                    shrinkA=0, shrinkB=0,
                )
            )  # fmt: skip
    return figure


if __name__ == "__main__":
    sys.exit(main())
