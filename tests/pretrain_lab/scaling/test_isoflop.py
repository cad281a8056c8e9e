# SPDX-License-Identifier: MIT
"""Curves of equal compute: where they end, what is read off them, and what is refused."""

import numpy as np
import pytest

from pretrain_lab.scaling.isoflop import (
    SizeRuns,
    isoflop_curve,
    isoflop_minimum,
    loss_at,
    power_law,
)

D = np.array([10.0, 20.0, 40.0, 80.0])
LOSS = np.array([4.0, 3.3, 2.9, 2.8])
RUNS = SizeRuns(n=100.0, flops_per_token=600.0, d=D, loss=LOSS)


def test_a_level_line_is_a_law_that_holds() -> None:
    """Nothing varies, so nothing is left unexplained."""
    law = power_law(np.array([1.0, 2.0, 5.0]), np.full(3, 7.0))
    assert law.constant == pytest.approx(7.0)
    assert law.exponent == pytest.approx(0.0, abs=1e-12)
    assert law.r_squared == 1.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("y", [[1.0, 1e10], [1e10, 1.0]])
def test_x_too_close_for_a_constant(y: list[float]) -> None:
    """The line meets x = 1 so far down or up that its value there is no float."""
    with pytest.raises(ValueError, match="expected x apart enough to tell the law"):
        power_law(np.array([2.0, 2.002]), np.array(y))


@pytest.mark.parametrize("wrong", [-1.0, 0.0, np.nan, np.inf])
def test_only_positive_finite_values(wrong: float) -> None:
    """In either column, of every function that takes logarithms."""
    good, bad = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, wrong])
    for x, y in ((good, bad), (bad, good)):
        with pytest.raises(ValueError, match="expected finite positive values"):
            power_law(x, y)
        with pytest.raises(ValueError, match="expected runs of three amounts"):
            loss_at(SizeRuns(1.0, 1.0, x, y), 2.0)
        with pytest.raises(ValueError, match="expected at least three sizes and their losses"):
            isoflop_minimum(x, y)


def test_the_parabola_of_log_loss_over_log_tokens() -> None:
    """Least squares with three columns, written out; the four runs are on no parabola."""
    x = np.log(D)
    solution, *_ = np.linalg.lstsq(np.stack([x**2, x, np.ones(4)], axis=1), np.log(LOSS))
    for d in (10.0, 33.0, 80.0):
        at = np.log(d)
        expected = np.exp(solution @ [at**2, at, 1.0])
        assert loss_at(RUNS, d) == pytest.approx(expected, rel=1e-9)
    assert abs(float(loss_at(RUNS, 10.0) or 0) - 4.0) > 1e-3


def test_three_amounts_of_text_will_do() -> None:
    """Two will not, however many runs there are."""
    three = SizeRuns(1.0, 1.0, D[:3], LOSS[:3])
    assert loss_at(three, 20.0) == pytest.approx(3.3)
    with pytest.raises(ValueError, match=r"got \[10\. 20\.\]"):
        loss_at(SizeRuns(1.0, 1.0, np.array([10.0, 20.0, 20.0]), LOSS[:3]), 20.0)


def test_nothing_is_read_beyond_the_runs() -> None:
    """But for rounding, a part in 10^9."""
    for d in (10.0 * (1 - 1e-9), 80.0 * (1 + 1e-9)):
        assert loss_at(RUNS, d) is not None
    for d in (10.0 * (1 - 3e-9), 80.0 * (1 + 3e-9)):
        assert loss_at(RUNS, d) is None


def test_budgets_are_above_zero() -> None:
    """Less than one operation is a budget; none is not."""
    runs = {4: RUNS._replace(flops_per_token=0.01)}
    sizes, losses = isoflop_curve(runs, 0.2)
    assert sizes.tolist() == [100.0]
    assert losses[0] == loss_at(RUNS, 20.0)
    for flops, per_token in ((0.0, 1.0), (-1.0, 1.0), (1.0, 0.0)):
        with pytest.raises(ValueError, match="expected operations > 0"):
            isoflop_curve({4: RUNS._replace(flops_per_token=per_token)}, flops)
