# SPDX-License-Identifier: MIT
"""A cache of the longest match beside a count model."""

import numpy as np
import pytest

from pretrain_lab.baselines.kneser_ney import KneserNey
from pretrain_lab.baselines.suffix_cache import SuffixCache, longest_matches

RNG = np.random.default_rng(0)


def slow_match(ids: list[int], t: int, window: int, longest: int) -> tuple[int, int]:
    """Compare every earlier place with the present one, symbol by symbol."""
    best, follower = 0, 0
    for distance in range(1, min(window, t + 1)):
        length = 0
        limit = min(longest, window - distance)
        while length < limit and t - 1 - length - distance >= 0:
            if ids[t - 1 - length] != ids[t - 1 - length - distance]:
                break
            length += 1
        if length > best:
            best, follower = length, ids[t - distance]
    return best, follower


@pytest.mark.parametrize(("window", "longest"), [(2, 1), (9, 3), (50, 4), (100, 12)])
def test_matches_are_those_of_a_slow_search(window: int, longest: int) -> None:
    """Length and follower at every place; the nearest of equal matches counts."""
    ids = RNG.integers(0, 3, 60)
    lengths, followers = longest_matches(ids, window=window, longest=longest)
    for t in range(len(ids)):
        length, follower = slow_match(ids.tolist(), t, window, longest)
        assert lengths[t] == length, t
        if length:
            assert followers[t] == follower, t


def test_a_match_by_hand() -> None:
    """In "abcXabc?" the last three symbols stood four before, and X followed them."""
    ids = np.array([0, 1, 2, 9, 0, 1, 2, 5])
    lengths, followers = longest_matches(ids, window=8, longest=12)
    assert lengths.tolist() == [0, 0, 0, 0, 0, 1, 2, 3]
    assert followers[5:].tolist() == [1, 2, 9]
    assert longest_matches(ids, window=4, longest=12)[0].tolist() == [0] * 8


def test_a_repeated_name_costs_little_the_second_time() -> None:
    """The counts have never seen the name; the cache has, and is trusted as far as it pays."""
    model = KneserNey(3, 12).fit(RNG.integers(0, 10, 4000))
    held_out = [np.tile(RNG.integers(0, 10, 40), 2) for _ in range(20)]
    cache = SuffixCache(model, window=60).fit(held_out)
    assert cache.shares is not None
    assert cache.shares[0] == 0.0
    assert ((cache.shares >= 0) & (cache.shares <= 1)).all()
    text = np.tile(RNG.integers(0, 10, 40), 2)
    gain = cache.log_probs(text) - model.log_probs(text)
    assert gain[44:].mean() > 1.5
    assert gain[:40].mean() > -0.2


def test_probabilities_add_up() -> None:
    """Over all symbols that may come next."""
    model = KneserNey(2, 4).fit(RNG.integers(0, 4, 300))
    cache = SuffixCache(model, window=20).fit([RNG.integers(0, 4, 200)])
    past = RNG.integers(0, 4, 30)
    chances = [np.exp(cache.log_probs(np.append(past, symbol))[-1]) for symbol in range(4)]
    assert sum(chances) == pytest.approx(1)


def test_bad_calls_are_named() -> None:
    """Sizes without a cache, and scores before the fit."""
    with pytest.raises(ValueError, match="expected window >= 2 and longest >= 1, got 1 and 12"):
        SuffixCache(KneserNey(2, 4), window=1)
    with pytest.raises(RuntimeError, match="fit"):
        SuffixCache(KneserNey(2, 4), window=9).log_probs(np.arange(3))
