# SPDX-License-Identifier: MIT
"""Intervals of the in-context study, over questions and over draws of demonstrations.

Sentences about one film are no independent witnesses, so whole films are resampled; word pairs and
sums stand for themselves. Draws of demonstrations are resampled as well when there are several.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pretrain_lab.statistics.intervals import wilson_interval

Array = NDArray[np.float64]
N_RESAMPLES = 2000


def summary(
    rows: Sequence[str | Sequence[float]],
    groups: Sequence[str] | None = None,
    *,
    asked: Sequence[Sequence[int]] | None = None,
) -> dict[str, Any]:
    """Give the share of hits with its 95 % interval, and the share of each draw.

    Args:
        rows: For each draw, hits of the questions, as a string of 0 and 1 or as numbers.
        groups: The film of each question; None = each question by itself.
        asked: For each draw the places of its questions; None = all the same.

    Returns:
        Mean, low, high, the share of each draw, the number of different questions. If all hits
        are equal, resampling knows no doubt; then the interval is Wilson's, over the questions.
    """
    hits = table(rows, asked)
    seen = ~np.isnan(hits)
    mean = float(np.nansum(hits) / seen.sum())
    n = int(seen.any(axis=0).sum())
    values = _resampled(hits, groups)
    low, high = (float(q) for q in np.quantile(values, [0.025, 0.975]))
    if mean in (0.0, 1.0):
        _, low, high = wilson_interval(round(mean * n), n)
    shares = (np.nansum(hits, axis=1) / seen.sum(axis=1)).tolist()
    return {"mean": mean, "low": low, "high": high, "draws": shares, "n": n}


def compare(
    first: Sequence[str],
    second: Sequence[str],
    groups: Sequence[str] | None = None,
    *,
    same_draws: bool = False,
) -> dict[str, float]:
    """Compare two arms on the same questions.

    Args:
        first: Hits of one arm for each draw.
        second: Hits of the other.
        groups: As in `summary`; both arms get the same resampled groups.
        same_draws: Draw i of one arm belongs to draw i of the other, and they are resampled
            together; otherwise each arm's draws are resampled by themselves.

    Returns:
        Mean of first minus second with its 95 % interval.
    """
    one, two = table(first), table(second)
    if same_draws:
        values = _resampled(one - two, groups)
    else:
        values = _resampled(one, groups) - _resampled(two, groups, seed=1)
    low, high = np.quantile(values, [0.025, 0.975])
    return {"mean": float(one.mean() - two.mean()), "low": float(low), "high": float(high)}


def table(
    rows: Sequence[str | Sequence[float]], asked: Sequence[Sequence[int]] | None = None
) -> Array:
    """Bring hits into one table (draws, questions), with nan where a question was not asked.

    Args:
        rows: As in `summary`.
        asked: As in `summary`.

    Raises:
        ValueError: A row has not as many hits as its draw has questions.
    """
    asked = asked or [range(len(rows[0]))] * len(rows)
    hits = np.full((len(rows), 1 + max(max(places) for places in asked)), np.nan)
    for i, (row, places) in enumerate(zip(rows, asked, strict=True)):
        if len(row) != len(places):
            raise ValueError(f"expected {len(places)} hits in draw {i}, got {len(row)}")
        hits[i, list(places)] = [float(hit) for hit in row]
    return hits


def _resampled(hits: Array, groups: Sequence[str] | None, *, seed: int = 0) -> Array:
    """Draw groups of questions and draws of demonstrations with replacement, (N_RESAMPLES,).

    The seed is that of the draws; the groups come from one of their own, so that calls with the
    same groups resample the same ones.
    """
    _, place = np.unique(groups or np.arange(hits.shape[1]), return_inverse=True)
    n_groups, n_draws = int(place.max()) + 1, len(hits)
    by_group = np.zeros((2, n_draws, n_groups))  # sums of hits, and numbers of questions
    np.add.at(by_group[0].T, place, np.nan_to_num(hits).T)
    np.add.at(by_group[1].T, place, (~np.isnan(hits)).astype(float).T)
    of_groups = _times(n_groups, np.random.default_rng(100))
    of_draws = _times(n_draws, np.random.default_rng(seed))
    total, number = (((of_draws @ part) * of_groups).sum(axis=1) for part in by_group)
    return np.asarray(total / np.maximum(number, 1e-12))


def _times(n: int, rng: np.random.Generator) -> Array:
    """How often each of n things is drawn in n draws with replacement, (N_RESAMPLES, n)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES).astype(float)
