# SPDX-License-Identifier: MIT
"""The one look of every figure: two sizes, one style per kind of model, matplotlib's defaults.

Implements the colours, markers, line styles and hatches that stand for GPT, BERT, T5 and baselines
everywhere in the book, always several together, so that colour is never the only cue. Figures
carry a white card of their own, so they read the same on a light and on a dark page.

Colours: Okabe and Ito 2008, the palette for readers who are colour-blind.
"""

from dataclasses import dataclass
from typing import Any

from matplotlib import pyplot as plt

FIG_WIDE = (7.0, 3.2)  # inches: the width of the text
FIG_SMALL = (4.2, 3.4)  # inches: masks, matrices, single curves
DPI = 130

INK = "#222222"
PALE = "#f1f1ef"


@dataclass(frozen=True)
class Style:
    """One look for one kind of model.

    Attributes:
        color: Line and fill colour.
        marker: Marker on curves.
        linestyle: Line style on curves.
        hatch: Hatch of bars.
        label: Name in legends.
    """

    color: str
    marker: str
    linestyle: Any
    hatch: str
    label: str


STYLE = {
    "gpt": Style("#0072B2", "o", "-", "", "GPT"),
    "bert": Style("#009E73", "s", "--", "//", "BERT"),
    "t5": Style("#D55E00", "^", "-.", "\\\\", "T5"),
    "baseline": Style("#666666", "", ":", "..", "baseline"),
}
BASELINES = (  # further baselines of one figure, told apart by dashes and marker
    STYLE["baseline"],
    Style("#8c8c8c", "x", (0, (5, 2)), "xx", "baseline"),
    Style("#444444", "+", (0, (3, 1, 1, 1)), "++", "baseline"),
    Style("#a6a6a6", "D", (0, (1, 1)), "--", "baseline"),
)


def use_book_style() -> None:
    """Set matplotlib's defaults to the book's look; call it once, at the top of a chapter."""
    plt.rcParams.update(
        {
            "figure.figsize": FIG_WIDE,
            "figure.dpi": DPI,
            "savefig.dpi": DPI,
            "figure.facecolor": "white",
            "axes.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.family": "DejaVu Sans",
            "font.size": 9.0,
            "axes.titlesize": 9.5,
            "axes.labelsize": 9.0,
            "xtick.labelsize": 8.5,
            "ytick.labelsize": 8.5,
            "legend.fontsize": 8.5,
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": INK,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e3e3e3",
            "grid.linewidth": 0.6,
            "hatch.linewidth": 0.6,
            "lines.linewidth": 1.6,
            "lines.markersize": 4.5,
        }
    )


def style_of(paradigm: str, baseline: int = 0) -> Style:
    """Look up the style of a paradigm, or of the n-th baseline of a figure.

    Args:
        paradigm: ``"gpt"``, ``"bert"``, ``"t5"`` or ``"baseline"``.
        baseline: Which baseline style, 0 to 3; only used for ``"baseline"``.

    Returns:
        The style.

    Raises:
        ValueError: Unknown paradigm or baseline number.
    """
    if paradigm not in STYLE:
        raise ValueError(f"expected a paradigm from {list(STYLE)}, got {paradigm!r}")
    if not 0 <= baseline < len(BASELINES):
        raise ValueError(f"expected a baseline in 0..{len(BASELINES) - 1}, got {baseline}")
    return BASELINES[baseline] if paradigm == "baseline" else STYLE[paradigm]
