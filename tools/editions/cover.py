# SPDX-License-Identifier: MIT
"""Draw the picture shown beside a shared link: ``python -m tools.editions.cover``.

Three masks, rows are queries and columns are keys: GPT's triangle, BERT's full square, and T5's
encoder above its decoder. One Transformer, three questions. The picture is small enough to be
committed, so that building the pages draws nothing.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tools.chapters.store import ROOT

COVER = ROOT / "chapters" / "assets" / "cover.png"
SIZE = (1200, 630)  # pixels, the shape that most sites show uncut
DPI = 100
INK, GROUND, EMPTY = "#1b1f24", "#ffffff", "#e8eaed"
N_TOKENS = 6
T5_SPLIT = 3  # of the six tokens, three are read by the encoder
PARADIGMS = (
    ("GPT", "what comes next?", "#0072B2"),
    ("BERT", "what was hidden?", "#009E73"),
    ("T5", "what was cut out?", "#D55E00"),
)


def main(path: Path = COVER) -> int:
    """Draw the picture as a PNG file."""
    draw().savefig(path, dpi=DPI, metadata={"Software": None})
    return 0


def masks() -> list[np.ndarray]:
    """Return who may look at whom: boolean (6, 6) for GPT, BERT and T5, rows are queries."""
    position = np.arange(N_TOKENS)
    causal = position[None, :] <= position[:, None]
    full = np.ones_like(causal)
    is_encoder = position < T5_SPLIT
    return [causal, full, np.where(is_encoder[:, None], is_encoder[None, :], causal)]


def draw() -> Figure:
    """Draw the title, and below it the three masks with their questions."""
    figure = Figure(figsize=(SIZE[0] / DPI, SIZE[1] / DPI), dpi=DPI, facecolor=GROUND)
    figure.text(0.5, 0.86, "Pre-training Paradigms", size=46, weight="bold", ha="center", color=INK)
    figure.text(0.5, 0.77, "One Transformer, three questions", size=24, ha="center", color=INK)
    for place, mask, (name, question, colour) in zip(range(3), masks(), PARADIGMS, strict=True):
        left = 0.085 + 0.29 * place
        draw_mask(figure.add_axes((left, 0.2, 0.25, 0.48)), mask, colour)
        figure.text(left + 0.125, 0.12, name, size=28, weight="bold", ha="center", color=colour)
        figure.text(left + 0.125, 0.055, question, size=20, ha="center", color=INK)
    return figure


def draw_mask(axes: Axes, mask: np.ndarray, colour: str) -> None:
    """Draw a mask, boolean (T, T), True = may attend, as a square of squares."""
    for (row, column), may in np.ndenumerate(mask):
        axes.add_patch(Rectangle((column, row), 0.86, 0.86, color=colour if may else EMPTY))
    axes.set(xlim=(0, N_TOKENS), ylim=(N_TOKENS, 0), aspect="equal")
    axes.axis("off")


if __name__ == "__main__":
    sys.exit(main())
