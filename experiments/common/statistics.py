# SPDX-License-Identifier: MIT
"""Intervals of the label study: sentences of one film are no independent witnesses.

Everything is resampled by film: a resample draws as many films as there are, with replacement, and
takes all sentences of each. Two arms are compared on the same films and seeds (paired). How many
labels a reference needs is read off its curve, linear in log(labels).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Scores = dict[int, Array]
"""By number of labels n: hits of each seed on each film, (S, F)."""


class Draws(NamedTuple):
    """The resamples, drawn once and used for every arm."""

    films: Array
    """(R, F): how often each film is in each resample."""
    seeds: Array
    """(R, S): the weight of each seed in each resample, 1 in sum."""
    sizes: Array
    """(F,): sentences of each film."""


def draw(sizes: Array, n_seeds: int, n_resamples: int, seed: int = 0) -> Draws:
    """Draw films and seeds with replacement.

    Args:
        sizes: (F,), sentences of each film.
        n_seeds: Number of seeds S.
        n_resamples: Number of resamples R.
        seed: Seed of the draw.
    """
    rng = np.random.default_rng(seed)
    films, seeds = (
        rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(float)
        for n in (len(sizes), n_seeds)
    )
    return Draws(films, seeds / n_seeds, sizes)


def by_film(hits: Array, films: list[str]) -> tuple[Array, Array]:
    """Count the hits of each film.

    Args:
        hits: (S, N), 0 or 1 for each seed and sentence.
        films: The film of each sentence.

    Returns:
        Hits, (S, F), and sentences, (F,), of the films in alphabetical order.
    """
    names, place = np.unique(films, return_inverse=True)
    member = (place[:, None] == np.arange(len(names))).astype(float)  # (N, F)
    return hits @ member, member.sum(axis=0)


def resampled(hits: Array, draws: Draws) -> Array:
    """Give the accuracy of each seed in each resample of the films.

    Args:
        hits: (S, F).
        draws: The resamples.

    Returns:
        (R, S).
    """
    return draws.films @ hits.T / (draws.films @ draws.sizes)[:, None]


def film_interval(hits: Array, draws: Draws) -> dict[str, float]:
    """Give the mean accuracy over seeds with its 95 % interval over films.

    Args:
        hits: (S, F).
        draws: The resamples.
    """
    return middle(hits.sum() / len(hits) / draws.sizes.sum(), resampled(hits, draws).mean(axis=1))


def difference(first: Array, second: Array, draws: Draws) -> dict[str, float]:
    """Compare two arms on the same films and seeds.

    Args:
        first: (S, F), hits of one arm.
        second: (S, F), hits of the other.
        draws: The resamples; both films and seeds are drawn, the same for both arms.

    Returns:
        Mean of first minus second, and its 95 % interval.
    """
    gap = first - second
    values = (resampled(gap, draws) * draws.seeds).sum(axis=1)
    return middle(gap.sum() / len(gap) / draws.sizes.sum(), values)


def needed_labels(n_labels: list[int], curve: Array, target: float) -> tuple[float, str]:
    """Read off a curve how many labels reach an accuracy.

    The curve is first made one that never falls, by its highest value so far.

    Args:
        n_labels: Ascending.
        curve: Accuracy at each.
        target: The accuracy to be reached.

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
    """Say how many times the labels a reference needs, to be as good as an arm at n labels.

    Args:
        arm: Hits of the arm, at n at least.
        reference: Hits of the reference at all numbers of labels, the same seeds.
        n: Number of labels of the arm.
        draws: The resamples of films and seeds.

    Returns:
        k with its interval, and where either is only a bound because the curve ends.
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
    """Put k with its interval together, and where either is only a bound.

    Args:
        n: Number of labels of the arm.
        n_labels: Those of the reference, ascending, L of them.
        needed: How many the reference needs and where, as `needed_labels` says it.
        curves: (R, L), the reference's scores in each resample.
        targets: (R,), the arm's score in each.
    """
    found = [needed_labels(n_labels, c, t) for c, t in zip(curves, targets, strict=True)]
    low, high = np.quantile([value for value, _ in found], [0.025, 0.975])
    labels, where = needed
    edges = (n_labels[0], n_labels[-1])
    return {
        "k": labels / n,
        "low": float(low) / n,
        "high": float(high) / n,
        "labels": labels,
        "more_than_all": where == "more",
        "fewer_than_least": where == "fewer",
        "low_is_bound": bool(low in edges),
        "high_is_bound": bool(high in edges),
        "share_more_than_all": float(np.mean([kind == "more" for _, kind in found])),
    }


def middle(mean: float, values: Array) -> dict[str, float]:
    """Put a mean and the middle 95 % of its resamples together."""
    low, high = np.quantile(values, [0.025, 0.975])
    return {"mean": float(mean), "low": float(low), "high": float(high)}
