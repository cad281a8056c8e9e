# SPDX-License-Identifier: MIT
"""Laws from runs whose law is known: constants, bootstrap, curves of equal compute."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretrain_lab.scaling.bootstrap import bootstrap_laws, r_squared, residuals
from pretrain_lab.scaling.isoflop import (
    SizeRuns,
    isoflop_curve,
    isoflop_minimum,
    loss_at,
    power_law,
)
from pretrain_lab.scaling.laws import Array, KaplanLaw, Law, Runs, best_split, fit_kaplan, fit_law
from pretrain_lab.statistics.intervals import percentiles

TRUE = Law(e=1.1, a=30.0, alpha=0.4, b=90.0, beta=0.35)
SIZES = np.array([6e3, 1.4e4, 2.5e4, 5.6e4, 1e5, 2.2e5, 4e5])
TEXTS = 2.2e5 * 2.0 ** np.arange(5)


def grid(law: Law | KaplanLaw, noise: float = 0.0, seed: int = 0, n_seeds: int = 3) -> Runs:
    """Make runs of every size on every text, with relative noise."""
    n, d = (np.repeat(v.ravel(), n_seeds) for v in np.meshgrid(SIZES, TEXTS))
    errors = np.random.default_rng(seed).normal(0, noise, n.shape)
    return Runs(n, d, law.loss(n, d) * np.exp(errors))


def test_law_by_hand() -> None:
    """1 + 10 / 100^0.5 + 20 / 16^0.25 = 1 + 1 + 10; half of compute's growth goes to N."""
    law = Law(e=1.0, a=10.0, alpha=0.5, b=20.0, beta=0.25)
    assert float(law.loss(100, 16)) == pytest.approx(12.0)
    assert law.n_exponent == pytest.approx(1 / 3)
    kaplan = KaplanLaw(n_c=800.0, alpha_n=0.1, d_c=50.0, alpha_d=0.1)
    assert float(kaplan.loss(100, 50)) == pytest.approx(9**0.1)


def test_constants_come_back() -> None:
    """Without noise the law itself is found, by both forms."""
    assert fit_law(grid(TRUE)) == pytest.approx(TRUE, rel=2e-3)
    law = KaplanLaw(n_c=5e6, alpha_n=0.09, d_c=3e8, alpha_d=0.12)
    assert fit_kaplan(grid(law)) == pytest.approx(law, rel=2e-3)


def test_constants_come_back_from_noise() -> None:
    """With 0.3 % noise, what the data tell: exponents within 10 %, losses within 0.3 %."""
    law, runs = fit_law(grid(TRUE, noise=0.003)), grid(TRUE)
    assert law.alpha == pytest.approx(TRUE.alpha, rel=0.1)
    assert law.beta == pytest.approx(TRUE.beta, rel=0.1)
    assert np.abs(residuals(law, runs)).max() < 0.003
    assert float(law.loss(1e6, 3.5e6)) == pytest.approx(float(TRUE.loss(1e6, 3.5e6)), rel=0.01)


def test_one_broken_run_moves_little() -> None:
    """A run that lost half as much again changes no prediction by 1 %; its residual shows it."""
    runs = grid(TRUE, noise=0.001)
    runs.loss[40] *= 1.5
    law = fit_law(runs)
    assert np.abs(residuals(law, grid(TRUE))).max() < 0.01
    assert np.abs(residuals(law, runs)).argmax() == 40


def test_fit_refuses_what_has_no_logarithm() -> None:
    """Too few runs, uneven columns, a loss of 0."""
    runs = grid(TRUE)
    with pytest.raises(ValueError, match=r"at least 5 runs.*got \[\(4,\), \(4,\), \(4,\)\]"):
        fit_law(Runs(*(column[:4] for column in runs)))
    with pytest.raises(ValueError, match="equally long"):
        fit_kaplan(Runs(runs.n, runs.d, runs.loss[1:]))
    with pytest.raises(ValueError, match="finite positive"):
        fit_law(Runs(runs.n, runs.d, runs.loss - runs.loss.min()))


@pytest.mark.slow
def test_bootstrap_covers() -> None:
    """Of eight data sets nearly all have the true extrapolated loss in their 95 % interval."""
    target, inside, widths = float(TRUE.loss(1e6, 3.5e6)), [], []
    for seed in range(8):
        runs = grid(TRUE, noise=0.003, seed=seed)
        refit = partial(fit_law, near=fit_law(runs))
        laws = bootstrap_laws(runs, refit, rng=np.random.default_rng(seed), n_resamples=25)
        low, high = percentiles([float(law.loss(1e6, 3.5e6)) for law in laws])
        inside.append(low <= target <= high)
        widths.append(high - low)
    assert sum(inside) >= 6  # 25 resamples give a little less than 95 %
    assert max(widths) < 0.06  # and no interval is so wide that it could not miss


def test_cells_are_drawn_whole() -> None:
    """All seeds of a cell come together, as often as each other; one cell alone is refused."""
    runs = grid(TRUE, noise=0.01)
    numbered = Runs(runs.n, runs.d, np.arange(1.0, len(runs.n) + 1))
    seen: list[Array] = []

    def refit(drawn: Runs) -> Law:
        """Note what was drawn."""
        seen.append(drawn.loss)
        return TRUE

    bootstrap_laws(numbered, refit, rng=np.random.default_rng(0), n_resamples=5)
    for drawn in seen:
        times = np.array([(drawn == i).sum() for i in range(1, len(runs.n) + 1)]).reshape(-1, 3)
        assert (times == times[:, :1]).all()
        assert times.sum() == len(runs.n)
        assert times.max() > 1
    with pytest.raises(ValueError, match="two cells, got 1"):
        bootstrap_laws(
            Runs(runs.n[:3], runs.d[:3], runs.loss[:3]), refit, rng=np.random.default_rng(0)
        )


def test_best_split_is_best() -> None:
    """No other division of the budget by 6 N D is predicted to be better."""
    n, d = best_split(TRUE, 1e12)
    assert 6 * n * d == pytest.approx(1e12)
    others = n * np.geomspace(0.1, 10, 401)
    assert others[TRUE.loss(others, 1e12 / (6 * others)).argmin()] == pytest.approx(n)
    assert best_split(TRUE, 1e14)[0] / n == pytest.approx(100**TRUE.n_exponent)


POSITIVE = st.floats(0.1, 1e3)
EXPONENT = st.floats(0.05, 1.0)


@given(
    st.builds(Law, st.floats(0.1, 3.0), POSITIVE, EXPONENT, POSITIVE, EXPONENT), st.floats(1, 1e24)
)
def test_any_law_spends_its_budget_and_its_neighbours_are_no_better(law: Law, flops: float) -> None:
    """A tenth more or less for the model, at the same cost."""
    n, d = best_split(law, flops)
    assert 6 * n * d == pytest.approx(flops)
    for factor in (0.9, 1.1):
        assert law.loss(n * factor, d / factor) >= law.loss(n, d) * (1 - 1e-12)


def test_power_law() -> None:
    """A true one is found; R² tells it from noise."""
    x = np.array([1.0, 2.0, 4.0, 8.0])
    law = power_law(x, 3 * x**-0.5)
    assert law == pytest.approx((3.0, -0.5, 1.0))
    assert power_law(x, np.array([1.0, 2.0, 2.0, 1.0])).r_squared == pytest.approx(0.0)
    assert power_law(x, np.ones(4)).exponent == pytest.approx(0.0)
    with pytest.raises(ValueError, match="two different x"):
        power_law(np.ones(3), x[:3])
    with pytest.raises(ValueError, match="apart enough"):
        power_law(np.array([2.0, 2.0 * (1 + 1e-12)]), np.array([1.0, 2.0]))


def test_r_squared() -> None:
    """1 for the values themselves, 0 for their mean, negative for worse."""
    values = np.array([1.0, 2.0, 3.0])
    assert r_squared(values, values) == 1
    assert r_squared(values, np.full(3, 2.0)) == 0
    assert r_squared(values, values[::-1]) == -3


def sizes(law: Law, cost: float = 6.0) -> dict[int, SizeRuns]:
    """Make the runs of every size, as curves of equal compute read them."""
    return {
        int(n): SizeRuns(float(n), cost * n, TEXTS, law.loss(np.full(5, n), TEXTS)) for n in SIZES
    }


def test_loss_between_runs() -> None:
    """Between two amounts of text the curve misses the law by little; outside there is none."""
    runs = sizes(TRUE)[100_000]
    for d in (3e5, 1e6, 2.5e6):
        assert loss_at(runs, d) == pytest.approx(float(TRUE.loss(1e5, d)), rel=3e-3)
    assert loss_at(runs, TEXTS[0]) is not None
    assert loss_at(runs, TEXTS[-1] * 1.01) is None
    with pytest.raises(ValueError, match="three amounts"):
        loss_at(SizeRuns(1.0, 6.0, TEXTS[:2], TEXTS[:2]), 3e5)


def test_isoflop_minimum_is_the_law_s() -> None:
    """The lowest point of each curve is where the law has it, and grows as the law says."""
    found = []
    budgets = np.array([1e11, 3e11])
    for flops in budgets:
        n, loss = isoflop_curve(sizes(TRUE), flops)
        assert (np.diff(n) > 0).all()
        assert len(n) >= 4
        lowest = isoflop_minimum(n, loss)
        assert lowest is not None
        assert lowest.interior
        best, d = best_split(TRUE, flops)
        assert lowest.n == pytest.approx(best, rel=0.35)
        assert lowest.loss == pytest.approx(float(TRUE.loss(best, d)), rel=0.01)
        found.append(lowest.n)
    assert power_law(budgets, np.array(found)).exponent == pytest.approx(TRUE.n_exponent, abs=0.15)


def test_isoflop_minimum_of_a_parabola() -> None:
    """A true parabola gives its vertex; at the edge it is marked, bent downwards there is none."""
    n = np.array([1e3, 1e4, 1e5])
    x = np.log(n / 1e4)
    assert isoflop_minimum(n, 2 + 0.1 * (x - 0.5) ** 2) == pytest.approx(
        (1e4 * np.exp(0.5), 2.0, True)
    )
    outside = isoflop_minimum(n, 2 + 0.1 * (x - 4) ** 2)
    assert outside is not None
    assert not outside.interior
    assert isoflop_minimum(n, 2 - 0.1 * x**2) is None
    with pytest.raises(ValueError, match="three sizes"):
        isoflop_minimum(n[:2], x[:2])


def test_a_budget_below_zero_is_refused() -> None:
    """The root of a negative number is complex, and was given back."""
    with pytest.raises(ValueError, match="flops >= 1, A, alpha, B and beta > 0"):
        best_split(Law(1.0, 1.0, 0.5, 1.0, 0.5), -6.0)


def test_values_that_explain_nothing_are_refused() -> None:
    """Errors of other libraries got out: a division by zero, an index, two lengths."""
    same = np.ones(3)
    with pytest.raises(ValueError, match="measured values that differ"):
        r_squared(same, same)
    with pytest.raises(ValueError, match=r"confidence in 0\.\.1, got 0 and 0.95"):
        percentiles([])
    with pytest.raises(ValueError, match=r"two different x or more, .* y of shape \(2,\)"):
        power_law(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0]))
