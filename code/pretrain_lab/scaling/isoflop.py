# SPDX-License-Identifier: MIT
"""Curves of equal compute, and power laws of one variable.

Papers: Hoffmann et al. 2022 (arXiv:2203.15556), section 3.2, for the curves; Kaplan et al. 2020
(arXiv:2001.08361), section 3, for the laws.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pretrain_lab.scaling.bootstrap import r_squared

Array = NDArray[np.float64]


class PowerLaw(NamedTuple):
    """y = constant * x^exponent, and how well it holds."""

    constant: float
    exponent: float
    r_squared: float  # of log y


class SizeRuns(NamedTuple):
    """The runs of one size."""

    n: float  # parameters
    flops_per_token: float  # training operations per token read
    d: Array  # tokens read, (k,)
    loss: Array  # loss on unread text, nats per token, (k,)


class Minimum(NamedTuple):
    """The lowest point of one curve of equal compute."""

    n: float  # parameters there
    loss: float  # loss there, nats per token
    interior: bool  # whether sizes of the curve lie on both sides of it; else extrapolated


def power_law(x: Array, y: Array) -> PowerLaw:
    """Draw the best straight line through log y over log x, both (n,); its slope is the exponent.

    Raises:
        ValueError: Fewer than two different x, columns that differ in length, values that are
            not positive and finite, or x so close that the constant is no float.
    """
    if not _are_positive(x, y) or len(np.unique(x)) < 2:
        raise ValueError(
            "expected finite positive values at two different x or more, got "
            f"x = {x} and y of shape {np.shape(y)}"
        )
    log_x, log_y = np.log(x), np.log(y)
    exponent, offset = np.polyfit(log_x, log_y, 1)
    explained = r_squared(log_y, offset + exponent * log_x) if np.ptp(log_y) > 0 else 1.0
    with np.errstate(over="ignore", under="ignore"):
        constant = float(np.exp(offset))
    if not 0 < constant < np.inf:
        raise ValueError(f"expected x apart enough to tell the law, got {x}: x^{exponent:.3g}")
    return PowerLaw(constant, float(exponent), explained)


def loss_at(runs: SizeRuns, d: float) -> float | None:
    """Read the loss of one size after d tokens off its runs, in nats per token.

    The curve is a parabola of log loss over log tokens, fitted to all runs of the size, so that it
    also evens out the noise between seeds. None when no run was as short or as long as that.

    Raises:
        ValueError: Fewer than three amounts of text, columns that differ in length, or values
            that are not positive and finite.
    """
    if not _are_positive(runs.d, runs.loss) or len(np.unique(runs.d)) < 3:
        raise ValueError(f"expected runs of three amounts of text, got {np.unique(runs.d)}")
    tolerance = 1e-9
    if not runs.d.min() * (1 - tolerance) <= d <= runs.d.max() * (1 + tolerance):
        return None
    middle = np.log(runs.d).mean()
    curve = np.polyfit(np.log(runs.d) - middle, np.log(runs.loss), 2)
    return float(np.exp(np.polyval(curve, np.log(d) - middle)))


def isoflop_curve(sizes: Mapping[int, SizeRuns], flops: float) -> tuple[Array, Array]:
    """List the sizes that can spend a budget within the text they were trained on.

    `flops` are training operations. Returns parameters (k,) in rising order, and losses (k,).

    Raises:
        ValueError: As `loss_at`, or operations that are not positive.

    Source: Hoffmann et al. 2022 (arXiv:2203.15556), section 3.2. differs: they trained a model for
        each point, with a schedule of its own; here a point lies between such runs of its size.
    """
    costs = [flops, *(runs.flops_per_token for runs in sizes.values())]
    if not all(cost > 0 for cost in costs):
        raise ValueError(f"expected operations > 0, got {costs}")
    points = [(runs.n, loss_at(runs, flops / runs.flops_per_token)) for runs in sizes.values()]
    kept = sorted((n, loss) for n, loss in points if loss is not None)
    return np.array([n for n, _ in kept]), np.array([loss for _, loss in kept])


def isoflop_minimum(n: Array, loss: Array) -> Minimum | None:
    """Find the lowest point of a parabola over log N; None when it does not bend upwards.

    `n` are parameters, (k,), `loss` their losses, (k,).

    Raises:
        ValueError: Fewer than three sizes, columns that differ in length, or values that are not
            positive and finite.

    Source: Hoffmann et al. 2022 (arXiv:2203.15556), figure 3.
    """
    if not _are_positive(n, loss) or len(np.unique(n)) < 3:
        raise ValueError(f"expected at least three sizes and their losses, got {n} and {loss}")
    middle = np.log(n).mean()
    x = np.log(n) - middle
    bend, slope, height = np.polyfit(x, loss, 2)
    if bend <= 0:
        return None
    place = -slope / (2 * bend)
    interior = bool(x.min() < place < x.max())
    lowest = height - slope**2 / (4 * bend)
    return Minimum(float(np.exp(place + middle)), float(lowest), interior)


def _are_positive(*columns: Array) -> bool:
    """Say whether all columns are (n,), of one length, with positive finite values."""
    if len({np.shape(column) for column in columns}) != 1 or np.ndim(columns[0]) != 1:
        return False
    return all(bool((np.isfinite(column) & (np.asarray(column) > 0)).all()) for column in columns)
