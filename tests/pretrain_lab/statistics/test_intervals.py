# SPDX-License-Identifier: MIT
"""Intervals: they contain what they should, as often as they say."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

from pretrain_lab.statistics.intervals import bootstrap_interval, percentiles, wilson_interval


@given(st.integers(1, 5000), st.data())
def test_wilson_contains_the_share_and_stays_within_0_and_1(
    n_trials: int, data: st.DataObject
) -> None:
    """Also at the ends, where rounding must not push an end past the share."""
    n_hits = data.draw(st.integers(0, n_trials))
    share, low, high = wilson_interval(n_hits, n_trials)
    assert share == n_hits / n_trials
    assert 0 <= low <= share <= high <= 1
    assert high > low


@pytest.mark.parametrize("n_trials", [7, 19, 144, 399])
def test_wilson_at_the_ends(n_trials: int) -> None:
    """No hit and only hits have exact ends at 0 and at 1."""
    assert wilson_interval(0, n_trials)[:2] == (0.0, 0.0)
    assert wilson_interval(n_trials, n_trials)[::2] == (1.0, 1.0)


def test_wilson_by_hand() -> None:
    """5 of 10 at z = 2: centre 1/2, half width 2 sqrt(1/40 + 1/100) / 1.4."""
    half = 2 * math.sqrt(1 / 40 + 1 / 100) / 1.4
    assert wilson_interval(5, 10, z=2.0) == pytest.approx((0.5, 0.5 - half, 0.5 + half))
    assert wilson_interval(5, 10) == wilson_interval(5, 10, z=1.96)  # 95 % unless asked otherwise


@given(st.integers(0, 50), st.integers(1, 50))
def test_wilson_ends_solve_its_equation(n_hits: int, n_misses: int) -> None:
    """Each end p is z standard errors (computed at p) away from the share."""
    n = n_hits + n_misses
    share, low, high = wilson_interval(n_hits, n, z=1.5)
    for p in (low, high):
        assert (share - p) ** 2 == pytest.approx(1.5**2 * p * (1 - p) / n, abs=1e-12)


@pytest.mark.parametrize(("n_hits", "n_trials"), [(-1, 5), (6, 5), (0, 0)])
def test_counts_out_of_range(n_hits: int, n_trials: int) -> None:
    """More hits than trials, or no trials."""
    with pytest.raises(ValueError, match=f"n_trials >= 1, got {n_hits} and {n_trials}"):
        wilson_interval(n_hits, n_trials)


def test_bootstrap_of_a_constant_is_a_point(generator: Generator) -> None:
    """Without spread the interval has no width."""
    values = torch.full((20,), 2.5)
    assert bootstrap_interval(values, generator=generator) == (2.5, 2.5, 2.5)


def test_bootstrap_has_the_width_of_the_standard_error(generator: Generator) -> None:
    """For many independent values it is the usual mean plus or minus 1.96 standard errors."""
    values = torch.randn(4000, generator=generator, dtype=torch.float64) * 3 + 10
    mean, low, high = bootstrap_interval(values, generator=generator, n_resamples=2000)
    error = values.std().item() / math.sqrt(4000)
    assert mean == pytest.approx(values.mean().item())
    assert low == pytest.approx(mean - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(mean + 1.96 * error, abs=0.2 * error)


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=12),
    st.integers(1, 30),
    st.integers(1, 2),
    st.floats(0.01, 0.99),
    st.integers(0, 1000),
)
def test_ends_lie_between_the_extremes(
    values: list[float], n_resamples: int, block_len: int, confidence: float, seed: int
) -> None:
    """Whatever the values: the mean, and ends in order that no resample can exceed."""
    mean, low, high = bootstrap_interval(
        values, n_resamples=n_resamples, block_len=block_len, confidence=confidence,
        generator=torch.Generator().manual_seed(seed),
    )  # fmt: skip
    assert mean == pytest.approx(np.mean(values), abs=1e-6)
    assert min(values) - 1e-6 <= low <= high <= max(values) + 1e-6


def test_blocks_see_the_dependence_of_neighbours(generator: Generator) -> None:
    """Values in runs of 20 carry the information of one each: the interval is wider."""
    runs = torch.randn(200, generator=generator).repeat_interleave(20)
    width = {}
    for block_len in (1, 20):
        _, low, high = bootstrap_interval(runs, generator=generator, block_len=block_len)
        width[block_len] = high - low
    assert width[20] / width[1] == pytest.approx(math.sqrt(20), rel=0.15)


def test_higher_confidence_is_wider(generator: Generator) -> None:
    """And the mean is that of all values, also of those that fill no block; arrays will do."""
    values = np.arange(23, dtype=np.float64)
    mean, low, high = bootstrap_interval(values, generator=generator, block_len=5, confidence=0.5)
    assert mean == 11.0
    _, lowest, highest = bootstrap_interval(
        values, generator=generator, block_len=5, confidence=0.99
    )
    assert lowest <= low < high <= highest


def test_bootstrap_of_two_blocks(generator: Generator) -> None:
    """A mean of two draws from 0 and 1 is 0, 1/2 or 1 in 1, 2 and 1 of 4 cases."""
    values = np.array([0.0, 1.0])
    narrow = bootstrap_interval(values, generator=generator, confidence=0.4)  # 30 % on each side
    assert narrow == (0.5, 0.5, 0.5)
    assert bootstrap_interval(values, generator=generator, confidence=0.6) == (0.5, 0.0, 1.0)


def test_one_resample_has_no_width(generator: Generator) -> None:
    """Both ends are the one mean that was drawn."""
    mean, low, high = bootstrap_interval(torch.arange(9), generator=generator, n_resamples=1)
    assert mean == 4.0
    assert low == high


def test_the_generator_decides() -> None:
    """One seed, one interval."""
    values = torch.arange(30)
    twice = [
        bootstrap_interval(values, generator=torch.Generator().manual_seed(1)) for _ in range(2)
    ]
    assert twice[0] == twice[1]


def test_too_little_to_resample(generator: Generator) -> None:
    """One block has no spread; a confidence of 1 has no interval; a block has a length."""
    values = torch.arange(9)
    with pytest.raises(ValueError, match=r"two blocks, .* in \(0, 1\), got 1, 1000 and 0.95"):
        bootstrap_interval(values, generator=generator, block_len=5)
    for confidence in (0.0, 1.0):
        with pytest.raises(ValueError, match=rf"got 9, 1000 and {confidence}"):
            bootstrap_interval(values, generator=generator, confidence=confidence)
    with pytest.raises(ValueError, match=r"got 0, 1000 and 0.95"):
        bootstrap_interval(values, generator=generator, block_len=0)


def test_clusters_are_drawn_whole(generator: Generator) -> None:
    """Ten films, each all right or all wrong: as uncertain as ten sentences, not as 500."""
    film = torch.arange(10).repeat_interleave(50)
    mean, low, high = bootstrap_interval((film % 2).double(), cluster=film, generator=generator)
    assert mean == 0.5
    assert high - low == pytest.approx(0.6, abs=0.11)  # 500 sentences: 0.09
    with pytest.raises(ValueError, match="two blocks"):
        bootstrap_interval(torch.ones(3), cluster=[0, 0, 0], generator=generator)


def test_clusters_of_one_are_items() -> None:
    """The same draws give the same interval."""
    values = torch.rand(30, generator=Generator().manual_seed(1), dtype=torch.float64)
    one, other = (
        bootstrap_interval(values, cluster=cluster, generator=Generator().manual_seed(2))
        for cluster in (None, torch.arange(30))
    )
    assert one == pytest.approx(other, abs=1e-14)


def test_percentiles_by_hand() -> None:
    """Of 0..100 the middle 95 % reach from 2.5 to 97.5, the middle half from 25 to 75."""
    values = list(range(101))
    assert percentiles(values) == pytest.approx((2.5, 97.5))
    assert percentiles(values, 0.5) == pytest.approx((25.0, 75.0))
    assert percentiles(values, 1) == (0.0, 100.0)
    assert percentiles(values, 0) == (50.0, 50.0)
    assert percentiles([7]) == (7.0, 7.0)
    assert all(type(end) is float for end in percentiles(np.arange(3)))


@pytest.mark.parametrize(
    ("values", "confidence"),
    [([], 0.9), ([1.0, np.inf], 0.9), ([np.nan], 0.9), ([1.0], 1.1), ([1.0], -0.1)],
)
def test_what_has_no_percentiles(values: list[float], confidence: float) -> None:
    """No value, one without end, or no share."""
    with pytest.raises(ValueError, match=r"expected finite values and confidence in 0\.\.1"):
        percentiles(values, confidence)
