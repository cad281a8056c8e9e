# SPDX-License-Identifier: MIT
"""Resampled cells, residuals and the explained share, by hand."""

from typing import NamedTuple

import numpy as np
import pytest

from pretrain_lab.scaling.bootstrap import bootstrap_laws, r_squared, residuals
from pretrain_lab.scaling.laws import Array, Runs

CELLS = Runs(
    np.array([1.0, 1.0, 1.0, 2.0, 2.0, 3.0]),
    np.array([5.0, 5.0, 6.0, 5.0, 5.0, 6.0]),
    np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
)
MEMBERS = [{0.1, 0.2}, {0.3}, {0.4, 0.5}, {0.6}]


class Constant(NamedTuple):
    """A law that predicts one loss, and remembers what it was fitted to."""

    value: float
    runs: Runs

    def loss(self, n: Array | float, d: Array | float) -> Array:
        """Give the one loss."""
        return np.full(np.shape(n), self.value)


def fit_mean(runs: Runs) -> Constant:
    """Fit the mean."""
    return Constant(float(np.mean(runs.loss)), runs)


def draw(**options: int) -> list[Constant]:
    """Resample the cells above."""
    return bootstrap_laws(CELLS, fit_mean, rng=np.random.default_rng(1), **options)


def test_as_many_cells_as_there_are_each_whole() -> None:
    """Every resample holds four cells, some of them several times; each column goes along."""
    seen: set[float] = set()
    for law in draw(n_resamples=200):
        losses = law.runs.loss.tolist()
        counts = [[losses.count(loss) for loss in cell] for cell in MEMBERS]
        assert all(len(set(cell)) == 1 for cell in counts)
        assert sum(cell[0] for cell in counts) == 4
        for n, d, loss in zip(*law.runs, strict=True):
            row = CELLS.loss.tolist().index(loss)
            assert (n, d) == (CELLS.n[row], CELLS.d[row])
        seen |= set(losses)
    assert seen == set(CELLS.loss)


def test_five_hundred_resamples() -> None:
    """Unless another number is asked for; the source of randomness decides them all."""
    assert len(draw()) == 500
    assert [law.value for law in draw(n_resamples=3)] == [law.value for law in draw()[:3]]


def test_one_cell_cannot_be_resampled() -> None:
    """Two can, of one run each; none is no data set."""
    pick = [2, 5]
    two = Runs(*(column[pick] for column in CELLS))
    assert len(bootstrap_laws(two, fit_mean, rng=np.random.default_rng(0), n_resamples=2)) == 2
    one, none = (Runs(*(column[:end] for column in CELLS)) for end in (2, 0))
    with pytest.raises(ValueError, match="expected at least two cells, got 1"):
        bootstrap_laws(one, fit_mean, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="expected at least 1 runs"):
        bootstrap_laws(none, fit_mean, rng=np.random.default_rng(0))


def test_residuals_are_log_ratios() -> None:
    """Measured above predicted is positive; a single run will do, none will not."""
    law = fit_mean(CELLS)._replace(value=0.2)
    assert residuals(law, CELLS) == pytest.approx(np.log(CELLS.loss / 0.2))
    one, none = (Runs(*(column[:end] for column in CELLS)) for end in (1, 0))
    assert residuals(law, one) == pytest.approx([np.log(0.5)])
    with pytest.raises(ValueError, match="expected at least 1 runs"):
        residuals(law, none)


def test_the_explained_share_by_hand() -> None:
    """1, 2, 6 have a spread of 14; missing by 1, 0 and 2 leaves 5 of it."""
    measured = np.array([1.0, 2.0, 6.0])
    assert r_squared(measured, np.array([2.0, 2.0, 4.0])) == pytest.approx(1 - 5 / 14)
    assert r_squared(measured, measured) == 1.0
    assert r_squared(measured, np.full(3, 3.0)) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("measured", "predicted", "message"),
    [
        ([1.0, 2.0], [1.0], "finite values of one shape"),
        ([1.0, np.nan], [1.0, 2.0], "finite values of one shape"),
        ([1.0, 2.0], [1.0, np.inf], "finite values of one shape"),
        ([], [], "measured values that differ"),
        ([3.0, 3.0], [1.0, 2.0], "measured values that differ"),
    ],
)
def test_what_has_no_explained_share(
    measured: list[float], predicted: list[float], message: str
) -> None:
    """Other shapes, values without end, nothing to explain."""
    with pytest.raises(ValueError, match=message):
        r_squared(np.array(measured), np.array(predicted))
