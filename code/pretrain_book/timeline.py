# SPDX-License-Identifier: MIT
"""Dated facts about pre-training: steps on the way, published scores, corpora.

Sources: data/timeline.toml names one for every entry, with the place where the date or the number
stands.

Implements reading and checking of that file, dates of three precisions as decimal years, and a
drawings: which step overcame the limit of which, and when the best-known ones came. Leaves out:
everything after ChatGPT (2022), and vision, whose part of the story is told in chapter 1.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from matplotlib.axes import Axes

from pretrain_book.style import BASELINES, INK, STYLE, Style
from pretrain_lab.paths import data_file

KINDS: dict[str, tuple[str, Style]] = {
    "compression": ("any data", BASELINES[3]),
    "words": ("word vectors", BASELINES[1]),
    "whole": ("recurrent", BASELINES[2]),
    "decoder": ("decoder", STYLE["gpt"]),
    "encoder": ("encoder", STYLE["bert"]),
    "both": ("both stacks", STYLE["t5"]),
}
"""Kind of a network -> title of its column and look of its marks."""
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_LANE, _DATES, _TOP = 1.1, 0.5, 0.3  # inches: a column, the column of years, the row of titles
_FIRST, _TURN, _LAST = 1980, 2013, 2023  # years; the later ones are ten times as tall
_YEAR, _APART = 0.048, 0.17  # inches: an early year, the least distance of two names


@dataclass(frozen=True)
class Step:
    """One idea, what it could not do, and which later step mended that."""

    name: str
    date: str
    kind: str
    idea: str
    limit: str
    next: str
    """Name of the step that mended the limit; empty for the last."""
    fix: str
    """What that step changed."""
    key: str
    """Entry in chapters/references.bib."""
    seen: str


@dataclass(frozen=True)
class Score:
    """A published score of the GLUE benchmark."""

    name: str
    date: str
    value: float
    kind: str
    key: str
    seen: str


@dataclass(frozen=True)
class Corpus:
    """A text that a published model was pre-trained on."""

    name: str
    model: str
    date: str
    gigabytes: float
    other: str
    """A second measure of the size; empty when the source gives none."""
    source: str
    filter: str
    passes: str
    key: str
    seen: str


@dataclass(frozen=True)
class Share:
    """One part of GPT-3's training mix: billions of tokens, weight in %, passes as printed."""

    name: str
    tokens: float
    weight: float
    passes: float


@dataclass(frozen=True)
class Timeline:
    """All entries of the file, each group in the order of its dates (the mix as printed)."""

    steps: tuple[Step, ...]
    scores: tuple[Score, ...]
    corpora: tuple[Corpus, ...]
    mix: tuple[Share, ...]


@cache
def load_timeline() -> Timeline:
    """Read data/timeline.toml.

    Returns:
        The entries, steps and scores from the earliest to the latest.

    Raises:
        ValueError: A date, a kind or a successor that cannot be.
    """
    found = tomllib.loads(data_file("timeline.toml").read_text(encoding="utf-8"))
    steps = tuple(sorted((Step(**entry) for entry in found["step"]), key=_when))
    scores = tuple(sorted((Score(**entry) for entry in found["score"]), key=_when))
    corpora = tuple(sorted((Corpus(**entry) for entry in found["corpus"]), key=_when))
    check_steps(steps)
    return Timeline(steps, scores, corpora, tuple(Share(**entry) for entry in found["mix"]))


def decimal_year(date: str) -> float:
    """Place a date on an axis of years.

    Args:
        date: YYYY, YYYY-MM or YYYY-MM-DD; where month or day are missing, the middle is taken.

    Returns:
        The year with its fraction, to about a day.

    Raises:
        ValueError: Another form, or no such month or day.
    """
    match = _DATE.fullmatch(date)
    if not match:
        raise ValueError(f"expected a date YYYY, YYYY-MM or YYYY-MM-DD, got {date!r}")
    year, month, day = (None if part is None else int(part) for part in match.groups())
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        raise ValueError(f"expected a month in 01..12 and a day in 01..31, got {date!r}")
    assert year is not None  # the pattern needs it
    if month is None:
        return year + 0.5
    return year + (month - 1 + (0.5 if day is None else (day - 0.5) / 31)) / 12


def check_steps(steps: Sequence[Step]) -> None:
    """Refuse steps whose successor is unknown or came earlier.

    Args:
        steps: Steps in any order.

    Raises:
        ValueError: An unknown kind, an unknown successor, one that is not later, or a change
            without a successor.
    """
    named = {step.name: step for step in steps}
    for step in steps:
        if step.kind not in KINDS:
            raise ValueError(f"expected a kind from {list(KINDS)}, got {step.kind!r}")
        if bool(step.next) != bool(step.fix):
            raise ValueError(f"expected both `next` and `fix` or neither, for {step.name!r}")
        if step.next and step.next not in named:
            raise ValueError(f"expected a step named {step.next!r} after {step.name!r}, got none")
        if step.next and _when(named[step.next]) <= _when(step):
            raise ValueError(f"expected {step.next!r} to be later than {step.name!r}")


def lineage_size() -> tuple[float, float]:
    """Say how large a figure `draw_lineage` needs: width and height, in inches."""
    return _DATES + _LANE * len(KINDS), _TOP + _depth(_LAST)


def draw_lineage(ax: Axes, steps: Sequence[Step]) -> None:
    """Draw steps down an axis of years, a column for each kind, a line to the step that mended it.

    The axis is to scale in two parts: from 2013 on a year is ten times as tall as before. Names of
    one column that would meet move down, by less than a line.

    Args:
        ax: Axes to draw on, of `lineage_size`; the unit is an inch.
        steps: Steps in the order of their dates.

    Raises:
        ValueError: As `check_steps`.
    """
    check_steps(steps)
    width, height = lineage_size()
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    left = {kind: _DATES + _LANE * n + 0.1 for n, kind in enumerate(KINDS)}
    for kind, x in left.items():
        ax.text(x - 0.05, height - 0.12, KINDS[kind][0], fontsize=9, weight="bold", va="center")
    for year in (1980, 1990, 2000, *range(_TURN, _LAST, 2)):
        y, dashed = height - _TOP - _depth(year), year == _TURN
        look: dict[str, Any] = {"color": "#8c8c8c" if dashed else "#e8e8e8", "linewidth": 0.7}
        ax.axhline(y, _DATES / width, linestyle="--" if dashed else "-", zorder=0, **look)
        ax.text(0.02, y, str(year), fontsize=9.5, va="center", color=INK)
    note: dict[str, Any] = {"fontsize": 8.5, "style": "italic", "color": "#666666", "ha": "right"}
    ax.text(width, height - _TOP - _depth(_TURN) + 0.05, "below: years ten times as tall", **note)
    places: dict[str, tuple[float, float]] = {}
    lowest = dict.fromkeys(KINDS, height)
    for step in steps:
        y = min(height - _TOP - _depth(decimal_year(step.date)), lowest[step.kind] - _APART)
        lowest[step.kind], places[step.name] = y, (left[step.kind], y)
    for step in steps:
        if step.next:
            ends = zip(places[step.name], places[step.next], strict=True)
            ax.plot(*ends, color="#b5b5b5", linewidth=1.0, zorder=1)
        _draw_step(ax, step, *places[step.name])


def draw_timeline(
    ax: Axes, steps: Sequence[Step], notes: Mapping[str, str], *, first: int, last: int
) -> None:
    """Draw some steps down one axis of years, to scale, each with its name and a note.

    Names that would meet move apart, and a thin line leads from each to its date.

    Args:
        ax: Axes to draw on, whose unit is an inch.
        steps: Steps in the order of their dates.
        notes: Name of each step to draw -> a few words about it.
        first: Year at the upper end of the axis.
        last: Year at its lower end.

    Raises:
        ValueError: A note names no step.
    """
    shown = [step for step in steps if step.name in notes]
    if missing := set(notes) - {step.name for step in shown}:
        raise ValueError(f"expected names of steps, got {sorted(missing)}")
    top = ax.get_ylim()[1] - 0.1
    scale = (top - 0.1) / (last - first)  # inches a year
    ax.plot([_DATES, _DATES], [top, 0.1], color="#8c8c8c", linewidth=1)
    for year in range(first, last + 1):
        y = top - scale * (year - first)
        ax.plot([_DATES - 0.05, _DATES], [y, y], color="#8c8c8c", linewidth=1)
        ax.text(_DATES - 0.1, y, str(year), fontsize=9.5, va="center", ha="right", color=INK)
    wanted = [scale * (decimal_year(step.date) - first) for step in shown]
    for step, depth, place in zip(shown, wanted, _moved_apart(wanted, 0.2), strict=True):
        look = KINDS[step.kind][1]
        x, y = _DATES + 0.42, top - place
        ax.plot([_DATES, x - 0.04], [top - depth, y], color="#b5b5b5", linewidth=0.8, zorder=1)
        ax.plot([_DATES], [top - depth], marker="o", color=look.color, markersize=6, zorder=3)
        text: dict[str, Any] = {"fontsize": 10, "va": "center"}
        ax.text(x, y, step.name, weight="bold", color=look.color, **text)
        ax.text(x + 0.95, y, notes[step.name], color=INK, **text)


def _moved_apart(places: Sequence[float], gap: float) -> list[float]:
    """Move ascending places until neighbours are `gap` apart, as little as goes."""
    groups: list[list[float]] = []  # of neighbours that touch: how many, and their mean start
    for number, place in enumerate(places):
        groups.append([1, place - number * gap])
        while len(groups) > 1 and groups[-2][1] > groups[-1][1]:
            count, start = groups.pop()
            before, earlier = groups.pop()
            both = before + count
            groups.append([both, (before * earlier + count * start) / both])
    starts = [start for count, start in groups for _ in range(int(count))]
    return [start + number * gap for number, start in enumerate(starts)]


def _depth(year: float) -> float:
    """Say how far below the first year a year stands, in inches."""
    return _YEAR * (min(year, _TURN) - _FIRST + 10 * max(0.0, year - _TURN))


def _draw_step(ax: Axes, step: Step, x: float, y: float) -> None:
    """Draw one step: its mark, and its name on a white card."""
    look = KINDS[step.kind][1]
    card: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    text: dict[str, Any] = {"fontsize": 9.5, "va": "center", "color": INK}
    ax.plot([x], [y], marker=look.marker, color=look.color, markersize=6, zorder=3)
    ax.text(x + 0.11, y, step.name, bbox=card, **text)


def _when(entry: Step | Score | Corpus) -> float:
    """Give the date of an entry as a decimal year, to sort by."""
    return decimal_year(entry.date)
