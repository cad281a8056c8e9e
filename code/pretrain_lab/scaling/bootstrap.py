# SPDX-License-Identifier: MIT
"""How sure a scaling law is, and how well it fits.

Paper: Efron & Tibshirani 1993 for the bootstrap. Left out: doubt about the form of a law, which no
resampling of runs measures.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from pretrain_lab.scaling.laws import Array, Runs, check_runs


class AnyLaw(Protocol):
    """What predicts a loss."""

    def loss(self, n: Array | float, d: Array | float) -> Array:
        """Give the loss of n parameters after d tokens."""
        ...


Found = TypeVar("Found", bound=AnyLaw)


def bootstrap_laws(
    runs: Runs,
    refit: Callable[[Runs], Found],
    *,
    rng: np.random.Generator,
    n_resamples: int = 500,
) -> list[Found]:
    """Fit again and again to cells drawn with replacement: one law for each resample.

    A cell is all runs of one N and one D. Its seeds miss the law by a common amount, so they are
    drawn together; drawing single runs would count that amount several times.

    Raises:
        ValueError: Fewer than two cells, or runs that `check_runs` refuses.

    Source: Efron & Tibshirani 1993, drawn by clusters.
    """
    check_runs(runs, at_least=1)
    names = np.unique(np.stack([runs.n, runs.d]), axis=1, return_inverse=True)[1].ravel()
    members = [np.flatnonzero(names == name) for name in range(names.max() + 1)]
    if len(members) < 2:
        raise ValueError(f"expected at least two cells, got {len(members)}")
    found = []
    for _ in range(n_resamples):
        drawn = rng.integers(len(members), size=len(members))
        rows = np.concatenate([members[cell] for cell in drawn])
        found.append(refit(Runs(runs.n[rows], runs.d[rows], runs.loss[rows])))
    return found


def residuals(law: AnyLaw, runs: Runs) -> Array:
    """Give log measured minus log predicted loss of each run, (n,).

    Raises:
        ValueError: No run, or values that are not positive and finite.
    """
    check_runs(runs, at_least=1)
    return np.log(runs.loss) - np.log(law.loss(runs.n, runs.d))


def r_squared(measured: Array, predicted: Array) -> float:
    """Give the share of the variance that a prediction explains; negative = worse than the mean.

    Raises:
        ValueError: Shapes that differ, values that are not finite, or measured ones all equal.
    """
    if measured.shape != predicted.shape or not np.isfinite([measured, predicted]).all():
        raise ValueError(
            f"expected finite values of one shape, got {measured.shape} and {predicted.shape}"
        )
    if not measured.size or np.ptp(measured) == 0:
        raise ValueError(f"expected measured values that differ, got {measured[:5]}")
    spread = float(((measured - measured.mean()) ** 2).sum())
    return 1 - float(((measured - predicted) ** 2).sum()) / spread
