# SPDX-License-Identifier: MIT
"""Inside the fits of scaling laws: slopes, Huber's loss, starts, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pretrain_lab.scaling import laws as scaling
from pretrain_lab.scaling.laws import (
    Array,
    KaplanLaw,
    Law,
    Runs,
    best_split,
    check_runs,
    fit_kaplan,
    fit_law,
)

LAW = Law(e=0.7, a=40.0, alpha=0.4, b=90.0, beta=0.3)
KAPLAN = KaplanLaw(n_c=3e6, alpha_n=0.2, d_c=5e7, alpha_d=0.25)
N = np.array([1e4, 1e4, 3e4, 1e5, 1e5, 2e5])
D = np.array([1e5, 4e5, 2e5, 1e5, 9e5, 3e5])
FITS = pytest.mark.parametrize(("fit", "law"), [(fit_law, LAW), (fit_kaplan, KAPLAN)])


def runs_of(law: Any, n_runs: int = 6) -> Runs:
    """Measure a law without noise."""
    return Runs(N[:n_runs], D[:n_runs], law.loss(N, D)[:n_runs])


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Note what is asked of the search, and let it end where it starts."""
    asked: list[tuple[Any, ...]] = []

    def stay(log_law: Any, starts: Any, bounds: Any, log_loss: Array, delta: float) -> Array:
        """Give the first start."""
        asked.append((log_law, starts, bounds, log_loss, delta))
        return np.array(starts[0])

    monkeypatch.setattr(scaling, "fit_log_law", stay)
    return asked


@FITS
def test_slopes_are_those_of_the_log_loss(
    fit: Callable[..., Any], law: Any, search: list[tuple[Any, ...]]
) -> None:
    """Against central differences, at every start of the search."""
    fit(runs_of(law))
    log_law, starts, *_ = search[0]
    for start in np.array(starts):
        _, slopes = log_law(start)
        for column, step in enumerate(np.eye(len(start)) * 1e-6):
            difference = (log_law(start + step)[0] - log_law(start - step)[0]) / 2e-6
            assert slopes[:, column] == pytest.approx(difference, rel=1e-5, abs=1e-8)


@FITS
def test_a_law_to_start_from_is_met_exactly(
    fit: Callable[..., Any], law: Any, search: list[tuple[Any, ...]]
) -> None:
    """Its start predicts its losses, and the search turned back into a law gives it again."""
    found = fit(runs_of(law), near=law)
    log_law, starts, _, log_loss, _ = search[0]
    assert log_law(np.array(starts[0]))[0] == pytest.approx(log_loss)
    assert found == pytest.approx(law)
    fit(runs_of(law))
    everywhere = search[-1][1]
    assert starts[1:] == [everywhere[0], everywhere[-1]]


@FITS
def test_errors_are_counted_in_thousandths(
    fit: Callable[..., Any], law: Any, search: list[tuple[Any, ...]]
) -> None:
    """Unless another unit is given."""
    fit(runs_of(law))
    fit(runs_of(law), delta=0.5)
    assert [delta for *_, delta in search] == [1e-3, 0.5]


@FITS
def test_a_search_nearby_finds_the_law(fit: Callable[..., Any], law: Any) -> None:
    """From a law that is a tenth off."""
    off = type(law)(*(1.1 * value for value in law))
    found = fit(runs_of(law), near=off)
    assert found.loss(N, D) == pytest.approx(law.loss(N, D), rel=1e-4)


def test_hubers_loss_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares within one unit, a line beyond; the slope never grows past one unit's."""
    objectives: list[Callable[[Array], tuple[float, Array]]] = []
    real = scaling.minimize

    def noted(objective: Any, *rest: Any, **options: Any) -> Any:
        """Keep the objective, and search."""
        objectives.append(objective)
        return real(objective, *rest, **options)

    monkeypatch.setattr(scaling, "minimize", noted)
    best = scaling.fit_log_law(
        lambda x: (x, np.eye(3)), [[0.5, 0.5, 0.5]], [(0.0, 9.0)] * 3, np.array([1.0, 2, 3]), 0.1
    )
    assert best == pytest.approx([1.0, 2.0, 3.0], abs=1e-6)
    value, slope = objectives[0](np.array([1.05, 1.85, 3.3]))  # errors of 0.5, -1.5 and 3 units
    assert value == pytest.approx(0.125 + 1.0 + 2.5)
    assert slope == pytest.approx([5.0, -10.0, 10.0])


def test_the_search_stays_within_its_bounds_and_takes_the_lowest_end() -> None:
    """A start outside is moved to the bound, below and above; two hollows, one deeper."""

    def hollows(x: Array) -> tuple[Array, Array]:
        """Two hollows, at -1 and at 2; the second is deeper."""
        value = (x + 1) ** 2 * (x - 2) ** 2 + 0.3 * (2 - x)
        slope = 2 * (x + 1) * (x - 2) ** 2 + 2 * (x + 1) ** 2 * (x - 2) - 0.3
        return value, slope[:, None]

    def find(*starts: float, bounds: tuple[float, float] = (-5.0, 5.0)) -> float:
        """Search from these starts."""
        begin = [[start] for start in starts]
        return float(scaling.fit_log_law(hollows, begin, [bounds], np.array([-9.0]), 1e-3)[0])

    assert find(-1.5) == pytest.approx(-1.0, abs=0.05)
    for starts in ((-1.5, 2.5), (2.5, -1.5)):
        assert find(*starts) == pytest.approx(2.0, abs=0.05)
    assert find(-50.0, bounds=(-3.0, 0.0)) == pytest.approx(-1.0, abs=0.05)
    assert find(50.0, bounds=(3.0, 4.0)) == pytest.approx(3.0)


def test_whole_numbers_are_measured_as_well() -> None:
    """Whole exponents of whole sizes: 1 + 1/2 + 1/4."""
    law = Law(e=1, a=1, alpha=1, b=1, beta=1)
    assert law.loss(np.array([2]), np.array([4])).tolist() == [1.75]


@FITS
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.inf, np.nan])
def test_a_start_without_logarithm_is_refused(
    fit: Callable[..., Any], law: Any, wrong: float
) -> None:
    """In a law to start from, and as the unit of errors."""
    with pytest.raises(ValueError, match="expected delta >= 1e-9 and a law > 0"):
        fit(runs_of(law), near=type(law)(wrong, *law[1:]))
    with pytest.raises(ValueError, match="expected delta >= 1e-9 and a law > 0"):
        fit(runs_of(law), delta=wrong)


@FITS
def test_the_least_unit_and_the_fewest_runs(
    fit: Callable[..., Any], law: Any, search: list[tuple[Any, ...]]
) -> None:
    """Five runs for five numbers, four for four."""
    fit(runs_of(law, len(law)), delta=1e-9)
    assert len(search) == 1
    with pytest.raises(ValueError, match=f"at least {len(law)} runs"):
        fit(runs_of(law, len(law) - 1))


def test_as_many_runs_as_needed() -> None:
    """Three are at least three, and not at least four."""
    three = runs_of(LAW, 3)
    check_runs(three, at_least=3)
    with pytest.raises(ValueError, match="at least 4 runs"):
        check_runs(three, at_least=4)


def test_the_smallest_budget() -> None:
    """One operation can be divided; less, infinitely many, or a law without a term cannot."""
    n, d = best_split(LAW, 1.0)
    assert 6 * n * d == pytest.approx(1.0)
    cases = [(LAW, 0.5), (LAW, np.inf)]
    cases += [(LAW._replace(**{name: 0.0}), 1e9) for name in ("a", "alpha", "b", "beta")]
    cases += [(LAW._replace(b=np.inf), 1e9)]
    for law, flops in cases:
        with pytest.raises(ValueError, match="expected flops >= 1, A, alpha, B and beta > 0"):
            best_split(law, flops)
