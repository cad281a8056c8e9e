# SPDX-License-Identifier: MIT
"""The table of results: its rows, how measured pairs become one, and its file.

Every row gives medians; `ratio` is the median over the pairs of ours / peer, not the ratio of the
medians, because the two sides of a pair met the same state of the machine.
"""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.timing import Pairs


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    ours: float
    peer: float
    ratio: float  # ours / peer
    unit: str
    quartiles: tuple[float, float]  # of the ratio over the pairs, lower and upper
    n: int  # number of pairs
    note: str


def score_row(
    name: str, ours: Sequence[float], peer: Sequence[float], *, unit: str, note: str
) -> Row:
    """Summarise values measured in at least two pairs: medians, median of the ratios, quartiles.

    `unit` is that of the values; `note` says what was compared.
    """
    ratios = [a / b for a, b in zip(ours, peer, strict=True)]
    lower, _, upper = statistics.quantiles(ratios, n=4, method="inclusive")
    return Row(
        name=name,
        ours=statistics.median(ours),
        peer=statistics.median(peer),
        ratio=statistics.median(ratios),
        unit=unit,
        quartiles=(lower, upper),
        n=len(ratios),
        note=note,
    )


def time_row(name: str, pairs: Pairs, *, unit: str, scale: float, note: str) -> Row:
    """Summarise the CPU time of pairs; less is better.

    `scale` is how many of `unit` make a CPU-second. The ratio of wall times is added to `note`.
    """
    ours, peer = ([cost.cpu * scale for cost in side] for side in pairs)
    note = f"{note}; wall time {pairs.wall_ratio():.2f} of the peer's"
    return score_row(name, ours, peer, unit=unit, note=note)


def speed_row(name: str, pairs: Pairs, *, n_items: int, unit: str, note: str) -> Row:
    """Summarise pairs as items per CPU-second; more is better.

    `n_items` are made by each run. The ratio of wall times is added to `note`.
    """
    ours, peer = ([n_items / cost.cpu for cost in side] for side in pairs)
    note = f"{note}; wall time {pairs.wall_ratio():.2f} of the peer's"
    return score_row(name, ours, peer, unit=unit, note=note)


def read_rows(path: Path) -> list[Row]:
    """Read what `write_rows` wrote; empty without a file."""
    if not path.exists():
        return []
    stored = json.loads(path.read_text())["rows"]
    return [Row(**{**row, "quartiles": tuple(row["quartiles"])}) for row in stored]


def write_rows(path: Path, rows: Sequence[Row], machine: dict[str, str | int]) -> None:
    """Write the results as JSON, four significant digits each; `machine` measured them."""
    table = [{key: _rounded(value) for key, value in asdict(row).items()} for row in rows]
    path.write_text(json.dumps({"machine": machine, "rows": table}, indent=2) + "\n")


def _rounded(value: object) -> object:
    """Round floats, also those in a tuple, to four significant digits."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return [_rounded(v) for v in value] if isinstance(value, tuple) else value
