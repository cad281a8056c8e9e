# SPDX-License-Identifier: MIT
"""Confidence intervals of accuracies when sentences about one film are not independent.

A resample draws as many films as there are, with replacement, and takes all sentences of each.
Two runs are compared on the same films (paired); their seeds are too few to be resampled, so
Student's t over seeds is added to the interval over films. How many labels a reference needs is
read off its curve, linear in log(labels), with films and seeds drawn.

A resample is stored as counts, how often each film is in it, so that statistics that are no mean,
such as F1 or k, can be resampled too. For a mean alone, `bootstrap_interval` with clusters does.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pretrain_lab.statistics.intervals import percentiles, wilson_interval

Array = NDArray[np.float64]
N_RESAMPLES = 2000
Scores = dict[int, Array]
"""By number of labels n: hits of each seed on each film, (S, F)."""


class Draws(NamedTuple):
    """The resamples, drawn once and used for every arm."""

    films: Array  # (R, F): how often each film is in each resample
    seeds: Array  # (R, S): the weight of each seed in each resample; rows sum to 1
    sizes: Array  # (F,): sentences of each film


def draw_counts(n: int, n_resamples: int, seed: int | np.random.Generator = 0) -> Array:
    """Return how often each of n things is drawn in n draws with replacement, (n_resamples, n)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(float)


def draw(sizes: Array, n_seeds: int, n_resamples: int, seed: int = 0) -> Draws:
    """Draw films and seeds with replacement; `sizes`, (F,), are the sentences of each film."""
    rng = np.random.default_rng(seed)
    films, seeds = (draw_counts(n, n_resamples, rng) for n in (len(sizes), n_seeds))
    return Draws(films, seeds / n_seeds, sizes)


def by_film(hits: Array, films: list[str]) -> tuple[Array, Array]:
    """Count hits, (S, F), and sentences, (F,), of each film, the films in alphabetical order.

    `hits` is (S, N), 0 or 1 for each seed and sentence; `films` names the film of each sentence.
    """
    names, place = np.unique(films, return_inverse=True)
    member = (place[:, None] == np.arange(len(names))).astype(float)  # (N, F)
    return hits @ member, member.sum(axis=0)


def resampled(hits: Array, draws: Draws) -> Array:
    """Return the accuracy of each seed in each resample of the films: hits (S, F) → (R, S)."""
    return draws.films @ hits.T / (draws.films @ draws.sizes)[:, None]


def film_interval(hits: Array, draws: Draws) -> dict[str, float]:
    """Return the mean accuracy over seeds with its 95 % interval over films; `hits` is (S, F)."""
    return middle(hits.sum() / len(hits) / draws.sizes.sum(), resampled(hits, draws).mean(axis=1))


def difference(first: Array, second: Array, draws: Draws) -> dict[str, float]:
    """Return the mean of first minus second, hits (S, F) each, with its 95 % interval.

    Each end is as far from the mean as that of the bootstrap over films, of the mean over seeds,
    and that of Student's t over seeds together: the root of the sum of squares. The former are
    also given alone, as "film_low" and "film_high".
    """
    gap = first - second
    by_seed = gap.sum(axis=1) / draws.sizes.sum()
    films = middle(by_seed.mean(), resampled(gap, draws).mean(axis=1))
    half = t_half(by_seed)
    return {
        "mean": films["mean"],
        "low": films["mean"] - math.hypot(films["mean"] - films["low"], half),
        "high": films["mean"] + math.hypot(films["high"] - films["mean"], half),
        "film_low": films["low"],
        "film_high": films["high"],
    }


def t_half(values: Array) -> float:
    """Return half the 95 % interval of a mean by Student's t, (n,); 0 for a single value."""
    if len(values) < 2:
        return 0.0
    return float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)


def needed_labels(n_labels: list[int], curve: Array, target: float) -> tuple[float, str]:
    """Read off a curve how many labels reach an accuracy.

    The curve is first made monotone, by its highest value so far.

    Args:
        n_labels: Ascending.
        curve: Accuracy at each.

    Returns:
        Labels, by linear interpolation in log(labels), and "inside"; or the end of the curve and
        "fewer", when its first point is there already, or "more", when no point is.
    """
    rising = np.maximum.accumulate(curve)
    if target <= rising[0]:
        return float(n_labels[0]), "fewer"
    if target > rising[-1]:
        return float(n_labels[-1]), "more"
    after = int(np.argmax(rising >= target))
    low, high = np.log(n_labels[after - 1]), np.log(n_labels[after])
    share = (target - rising[after - 1]) / (rising[after] - rising[after - 1])
    return float(np.exp(low + share * (high - low))), "inside"


def worth(arm: Scores, reference: Scores, n: int, draws: Draws) -> dict[str, Any]:
    """Return how many times the labels a reference needs to match an arm at n labels: k.

    `reference` has all numbers of labels, with the same seeds. k comes with its interval, and where
    either is only a bound because the curve ends.
    """
    n_labels = sorted(reference)
    n_sentences = draws.sizes.sum()
    curve = np.array([reference[m].mean(axis=0).sum() for m in n_labels]) / n_sentences
    labels, where = needed_labels(n_labels, curve, arm[n].mean(axis=0).sum() / n_sentences)
    targets = (resampled(arm[n], draws) * draws.seeds).sum(axis=1)
    curves = np.stack(
        [(resampled(reference[m], draws) * draws.seeds).sum(axis=1) for m in n_labels], axis=1
    )
    return times_the_labels(n, n_labels, (labels, where), curves, targets)


def times_the_labels(
    n: int, n_labels: list[int], needed: tuple[float, str], curves: Array, targets: Array
) -> dict[str, Any]:
    """Return k with its interval, and where either is only a bound.

    Args:
        n: Number of labels of the arm.
        n_labels: Those of the reference, ascending, L of them.
        needed: From `needed_labels`.
        curves: (R, L), the reference's scores in each resample.
        targets: (R,), the arm's score in each.
    """
    found = [needed_labels(n_labels, c, t) for c, t in zip(curves, targets, strict=True)]
    low, high = percentiles([value for value, _ in found])
    labels, where = needed
    edges = (n_labels[0], n_labels[-1])
    return {
        "k": labels / n,
        "low": low / n,
        "high": high / n,
        "labels": labels,
        "more_than_all": where == "more",
        "fewer_than_least": where == "fewer",
        "low_is_bound": low in edges,
        "high_is_bound": high in edges,
        "share_more_than_all": float(np.mean([kind == "more" for _, kind in found])),
    }


def middle(mean: float, values: Array) -> dict[str, float]:
    """Return a mean with the middle 95 % of its resamples."""
    low, high = percentiles(values)
    return {"mean": float(mean), "low": low, "high": high}


def summary(
    rows: Sequence[str | Sequence[float]],
    groups: Sequence[str] | None = None,
    *,
    asked: Sequence[Sequence[int]] | None = None,
) -> dict[str, Any]:
    """Return the share of hits with its 95 % interval, and the share of each draw.

    If all hits are equal, resampling shows no spread; the interval is then Wilson's, over the
    questions.

    Args:
        rows: For each draw, hits of the questions, as a string of 0 and 1 or as numbers.
        groups: The film of each question; None = each question by itself.
        asked: For each draw the places of its questions; None = all the same.

    Returns:
        Mean, low, high, the share of each draw, the number of different questions.
    """
    hits = hit_table(rows, asked)
    seen = ~np.isnan(hits)
    mean = float(np.nansum(hits) / seen.sum())
    n = int(seen.any(axis=0).sum())
    values = _resampled_hits(hits, groups)
    low, high = percentiles(values)
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
    """Return the mean of first minus second on the same questions, with its 95 % interval.

    Args:
        first: Hits of one arm for each draw.
        second: Hits of the other.
        groups: As in `summary`; both arms get the same resampled groups.
        same_draws: Draw i of one arm belongs to draw i of the other, and they are resampled
            together; otherwise each arm's draws are resampled by themselves.
    """
    one, two = hit_table(first), hit_table(second)
    if same_draws:
        values = _resampled_hits(one - two, groups)
    else:
        values = _resampled_hits(one, groups) - _resampled_hits(two, groups, seed=1)
    return middle(one.mean() - two.mean(), values)


def hit_table(
    rows: Sequence[str | Sequence[float]], asked: Sequence[Sequence[int]] | None = None
) -> Array:
    """Put hits into one table (draws, questions), with nan where a question was not asked.

    `rows` and `asked` are as in `summary`.

    Raises:
        ValueError: The number of hits in a row differs from the questions of its draw.
    """
    asked = asked or [range(len(rows[0]))] * len(rows)
    hits = np.full((len(rows), 1 + max(max(places) for places in asked)), np.nan)
    for i, (row, places) in enumerate(zip(rows, asked, strict=True)):
        if len(row) != len(places):
            raise ValueError(f"expected {len(places)} hits in draw {i}, got {len(row)}")
        hits[i, list(places)] = [float(hit) for hit in row]
    return hits


def _resampled_hits(hits: Array, groups: Sequence[str] | None, *, seed: int = 0) -> Array:
    """Draw groups of questions and draws of demonstrations with replacement, (N_RESAMPLES,).

    `seed` is for the draws; groups have one of their own, so that equal groups are resampled alike.
    """
    _, place = np.unique(groups or np.arange(hits.shape[1]), return_inverse=True)
    n_groups, n_draws = int(place.max()) + 1, len(hits)
    by_group = np.zeros((2, n_draws, n_groups))  # sums of hits, and numbers of questions
    np.add.at(by_group[0].T, place, np.nan_to_num(hits).T)
    np.add.at(by_group[1].T, place, (~np.isnan(hits)).astype(float).T)
    of_groups = draw_counts(n_groups, N_RESAMPLES, 100)
    of_draws = draw_counts(n_draws, N_RESAMPLES, seed)
    total, number = (((of_draws @ part) * of_groups).sum(axis=1) for part in by_group)
    return np.asarray(total / np.maximum(number, 1e-12))
