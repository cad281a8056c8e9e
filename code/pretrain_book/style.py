# SPDX-License-Identifier: MIT
"""The one look of every figure: two sizes, one style per kind of model, matplotlib's defaults.

Implements the colours, markers, line styles and hatches that stand for GPT, BERT, T5 and baselines
everywhere in the book, always several together, so that colour is never the only cue. A notebook
stores each figure as SVG, its text as text: sharp at any size, on a white ground in Jupyter and in
the theme's colours on a page, which `extensions/book_pages/theme/figures.py` sees to.

Colours: Okabe and Ito 2008, the palette for readers who are colour-blind.
"""

import importlib.util
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from pretrain_lab.progress import running_shell

FIG_WIDE = (7.0, 3.2)  # inches: the width of the text
FIG_SMALL = (4.2, 3.4)  # inches: masks, matrices, single curves
DPI = 130

FACE = "Source Sans Pro"
SPARE_FACE = "DejaVu Sans"  # comes with matplotlib, and has the signs that FACE lacks
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
            "font.family": _faces(),
            "font.size": 10.5,
            "mathtext.fontset": "dejavusans",
            "svg.fonttype": "none",
            "svg.hashsalt": "book",
            "text.color": INK,
            "axes.titlesize": 11.0,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.labelsize": 10.5,
            "axes.labelcolor": INK,
            "xtick.labelsize": 10.0,
            "ytick.labelsize": 10.0,
            "xtick.color": INK,
            "ytick.color": INK,
            "legend.fontsize": 10.0,
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#8c8c8c",
            "axes.linewidth": 0.8,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e8e8e8",
            "grid.linewidth": 0.6,
            "hatch.linewidth": 0.6,
            "lines.linewidth": 1.8,
            "lines.markersize": 4.5,
        }
    )
    _store_figures_as_svg()


def svg_of(figure: Figure) -> str:
    """Write a figure as SVG that is the same in every run, and no longer than it must be.

    Matplotlib's own text has six decimals, names every part, and names shared parts by a hash of
    their last bits. Here numbers keep two decimals (four below 1), and only what is referred to
    has a name, numbered in the order of the text.
    """
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.05, metadata=nothing)
    text = buffer.getvalue()
    text = _UNUSED.sub("", text[text.index("<svg") :])
    text = re.sub(r'="[^"]*"', lambda value: _NUMBER.sub(_short, value[0].replace("\n", " ")), text)
    order = dict.fromkeys(_NAME.findall(text))
    used = {name for name in order if f"#{name}" in text}
    names = {name: f"n{number}" for number, name in enumerate(n for n in order if n in used)}
    text = _NAME.sub(lambda one: f' id="{names[one[1]]}"' if one[1] in used else "", text)
    text = re.sub(r"#([\w-]+)(?=[\")])", lambda one: f"#{names.get(one[1], one[1])}", text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


_UNUSED = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", re.S)
_NUMBER = re.compile(r"-?\d+\.\d+")
_NAME = re.compile(r' id="([\w.-]+)"')


def _short(number: re.Match[str]) -> str:
    """Round one number of an SVG's text."""
    value = float(number[0])
    return f"{round(value, 2 if abs(value) >= 1 else 4):g}" if abs(value) < 1e4 else number[0]


def _faces() -> list[str]:
    """Make the book's typeface known to matplotlib, where it is installed, and name the faces."""
    spec = importlib.util.find_spec("font_source_sans_pro")
    if spec is None or spec.origin is None:
        return [SPARE_FACE]  # a reader's own Python; the figure looks a little different there
    if FACE not in font_manager.fontManager.get_font_names():
        for cut in ("Regular", "It", "Bold", "BoldIt"):
            path = Path(spec.origin).parent / "files" / f"SourceSansPro-{cut}.ttf"
            font_manager.fontManager.addfont(path)
    return [FACE, SPARE_FACE]


def _store_figures_as_svg() -> None:
    """Let the running notebook store figures as SVG; elsewhere nothing happens."""
    shell = running_shell()
    if shell is None or importlib.util.find_spec("matplotlib_inline") is None:
        return
    from matplotlib_inline.config import InlineBackend

    InlineBackend.instance(parent=shell).figure_formats = {"svg"}
    formatters: Any = shell.display_formatter.formatters
    formatters["image/svg+xml"].for_type(Figure, svg_of)


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
