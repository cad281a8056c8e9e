# SPDX-License-Identifier: MIT
"""Scaling laws: the loss as a function of parameters and of text, fitted to finished runs.

Papers: Kaplan et al. 2020 (arXiv:2001.08361), section 1.2; Hoffmann et al. 2022 (arXiv:2203.15556),
section 3.3 and appendix D; Besiroglu et al. 2024 (arXiv:2404.10102), who refitted the latter's
runs. How sure the laws are is in `pretrain_lab.scaling.bootstrap`.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
LogLaw = Callable[[Array], tuple[Array, Array]]
"""Of p parameters: the log loss of n runs (n,), and its derivatives (n, p)."""


class Runs(NamedTuple):
    """Finished trainings, one row each."""

    n: Array  # parameters
    d: Array  # tokens read in training (here: characters)
    loss: Array  # loss on unread text, nats per token


class Law(NamedTuple):
    """L = E + A / N^alpha + B / D^beta, in nats per token."""

    e: float
    a: float
    alpha: float
    b: float
    beta: float

    def loss(self, n: Array | float, d: Array | float) -> Array:
        """Give the loss of n parameters after d tokens."""
        size, data = np.asarray(n, float), np.asarray(d, float)
        return np.asarray(self.e + self.a * size**-self.alpha + self.b * data**-self.beta)

    @property
    def n_exponent(self) -> float:
        """The power of compute with which the best N grows, as long as C is 6 N D."""
        return self.beta / (self.alpha + self.beta)


class KaplanLaw(NamedTuple):
    """L = [(N_c / N)^(alpha_n / alpha_d) + D_c / D]^alpha_d: no part of the loss stays forever."""

    n_c: float
    alpha_n: float
    d_c: float
    alpha_d: float

    def loss(self, n: Array | float, d: Array | float) -> Array:
        """Give the loss of n parameters after d tokens."""
        size, data = np.asarray(n, float), np.asarray(d, float)
        inner = (self.n_c / size) ** (self.alpha_n / self.alpha_d) + self.d_c / data
        return np.asarray(inner**self.alpha_d)


def fit_law(runs: Runs, *, delta: float = 1e-3, near: Law | None = None) -> Law:
    """Fit E + A / N^alpha + B / D^beta.

    The law is a sum of three exponentials in log N and log D, so its logarithm is a log-sum-exp,
    and errors are counted in log loss. Huber's loss lets one bad run pull with a constant force
    only. N and D are taken relative to their middle, which keeps A and alpha apart; and many starts
    are tried, because there are several hollows.

    Args:
        runs: At least five.
        delta: Error in log loss from which on Huber's loss is a line, >= 1e-9.
        near: Start here and at a few other places alone (for a bootstrap); None = at all.

    Raises:
        ValueError: Fewer than five runs, or values (delta and those of near too) that are not
            positive and finite.

    Source: Hoffmann et al. 2022 (arXiv:2203.15556), equation (3). differs: the errors are summed
        in units of delta and not averaged: Besiroglu et al. 2024 (arXiv:2404.10102) found that
        the original optimiser stopped too early.
    """
    check_runs(runs, at_least=5)
    _check_start(delta, near)
    n_mid, d_mid = _middle(runs.n), _middle(runs.d)
    log_n, log_d = np.log(runs.n / n_mid), np.log(runs.d / d_mid)
    ones = np.ones_like(log_n)

    def log_law(x: Array) -> tuple[Array, Array]:
        """Give log(E + A / N^alpha + B / D^beta); x = log A, alpha, log B, beta, log E."""
        terms = np.stack([x[0] - x[1] * log_n, x[2] - x[3] * log_d, x[4] * ones])
        total = np.logaddexp.reduce(terms)
        size, data, rest = np.exp(terms - total)  # the share that each term has in the loss
        return total, np.stack([size, -size * log_n, data, -data * log_d, rest], axis=1)

    top = math.log(runs.loss.min())
    starts = [
        [top - 2, alpha, top - 2, beta, top + math.log(share)]
        for alpha, beta, share in product((0.1, 0.3, 0.6, 1.0), (0.1, 0.3, 0.6, 1.0), (0.3, 0.8))
    ]
    if near is not None:
        there = [
            math.log(near.a) - near.alpha * math.log(n_mid), near.alpha,
            math.log(near.b) - near.beta * math.log(d_mid), near.beta, math.log(near.e),
        ]  # fmt: skip
        starts = [there, starts[0], starts[-1]]
    bounds = [(-12.0, 6.0), (0.01, 4.0), (-12.0, 6.0), (0.01, 4.0), (-7.0, top)]
    x = fit_log_law(log_law, starts, bounds, np.log(runs.loss), delta)
    a, b = float(np.exp(x[0]) * n_mid ** x[1]), float(np.exp(x[2]) * d_mid ** x[3])
    return Law(e=math.exp(x[4]), a=a, alpha=float(x[1]), b=b, beta=float(x[3]))


def fit_kaplan(runs: Runs, *, delta: float = 1e-3, near: KaplanLaw | None = None) -> KaplanLaw:
    """Fit Kaplan's joint law to at least four runs, by method and options of `fit_law`.

    Raises:
        ValueError: Fewer than four runs, or values (delta and those of near too) that are not
            positive and finite.

    Source: Kaplan et al. 2020 (arXiv:2001.08361), equation (1.5). differs: the fit, see `fit_law`.
    """
    check_runs(runs, at_least=4)
    _check_start(delta, near)
    n_mid, d_mid = _middle(runs.n), _middle(runs.d)
    log_n, log_d = np.log(runs.n / n_mid), np.log(runs.d / d_mid)

    def log_law(x: Array) -> tuple[Array, Array]:
        """Give the log loss; x = log of the two terms in the middle, alpha_n/alpha_d, alpha_d."""
        terms = np.stack([x[0] - x[2] * log_n, x[1] - log_d])
        total = np.logaddexp.reduce(terms)
        size, data = x[3] * np.exp(terms - total)
        return x[3] * total, np.stack([size, data, -size * log_n, total], axis=1)

    starts = [
        [math.log(runs.loss.mean()) / alpha - 0.7] * 2 + [ratio, alpha]
        for ratio, alpha in product((0.3, 1.0, 2.0), (0.05, 0.1, 0.3))
    ]
    if near is not None:
        ratio = near.alpha_n / near.alpha_d
        size, data = ratio * math.log(near.n_c / n_mid), math.log(near.d_c / d_mid)
        starts = [[size, data, ratio, near.alpha_d], starts[0], starts[-1]]
    bounds = [(-60.0, 60.0), (-60.0, 60.0), (0.1, 10.0), (0.005, 2.0)]
    x = fit_log_law(log_law, starts, bounds, np.log(runs.loss), delta)
    n_c, d_c = n_mid * math.exp(x[0] / x[2]), d_mid * math.exp(x[1])
    return KaplanLaw(n_c=n_c, alpha_n=float(x[2] * x[3]), d_c=d_c, alpha_d=float(x[3]))


def best_split(law: Law, flops: float) -> tuple[float, float]:
    """Divide C operations by C = 6 N D: the N and D with the lowest predicted loss.

    Raises:
        ValueError: flops below 1, or a term of the law that is not positive and finite.

    Source: Hoffmann et al. 2022 (arXiv:2203.15556), equation (4).
    """
    terms = (flops, law.a, law.alpha, law.b, law.beta)
    if not flops >= 1 or not all(0 < value < math.inf for value in terms):
        raise ValueError(f"expected flops >= 1, A, alpha, B and beta > 0, all finite, got {terms}")
    ratio = (law.alpha * law.a / (law.beta * law.b)) ** (1 / (law.alpha + law.beta))
    n = ratio * (flops / 6) ** law.n_exponent
    return n, flops / (6 * n)


def fit_log_law(
    log_law: LogLaw,
    starts: Sequence[Sequence[float]],
    bounds: Sequence[tuple[float, float]],
    log_loss: Array,
    delta: float,
) -> Array:
    """Lower the sum of Huber's losses by L-BFGS-B from every start, and give the best point.

    Args:
        log_law: The form that is fitted.
        starts: Points to start from, of p values each.
        bounds: Lowest and highest of each value.
        log_loss: float64 (n,), of the runs.
        delta: Error in log loss from which on Huber's loss is a line.

    Returns:
        float64 (p,).
    """

    def objective(x: Array) -> tuple[float, Array]:
        """Sum Huber's losses of the errors in units of delta, with the gradient."""
        values, slopes = log_law(x)
        errors = (values - log_loss) / delta
        inside = np.abs(errors) <= 1
        losses = np.where(inside, errors**2 / 2, np.abs(errors) - 0.5)
        return float(losses.sum()), slopes.T @ np.clip(errors, -1, 1) / delta

    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-12, "gtol": 1e-7}
    low, high = np.array(bounds).T
    ends = [
        minimize(objective, np.clip(start, low, high), jac=True, method="L-BFGS-B",
                 bounds=bounds, options=options)
        for start in starts
    ]  # fmt: skip
    best: Array = min(ends, key=lambda end: float(end.fun)).x
    return best


def _check_start(delta: float, near: Law | KaplanLaw | None) -> None:
    """Refuse a unit of errors, or a law to start from, that has no logarithm."""
    if not 1e-9 <= delta < math.inf or not all(0 < value < math.inf for value in near or ()):
        raise ValueError(
            f"expected delta >= 1e-9 and a law > 0, both finite, got {delta} and {near}"
        )


def _middle(values: Array) -> float:
    """Give the geometric mean."""
    return math.exp(float(np.log(values).mean()))


def check_runs(runs: Runs, at_least: int) -> None:
    """Raise ValueError unless so many runs have three equal columns of finite positive values."""
    shapes = [np.shape(column) for column in runs]
    if len(set(shapes)) != 1 or len(shapes[0]) != 1 or shapes[0][0] < at_least:
        raise ValueError(
            f"expected at least {at_least} runs in three equally long columns, got {shapes}"
        )
    if any((np.asarray(column) <= 0).any() or not np.isfinite(column).all() for column in runs):
        raise ValueError("expected finite positive parameters, tokens and losses")
