# SPDX-License-Identifier: MIT
"""The arms of the corruption study: what they compare."""

import pytest

from experiments.ch05_bert import corruption


def test_paired_arms_make_equally_many_predictions() -> None:
    """Selected share times steps is the same in both arms of a pair, and the fates are too."""
    arms = corruption.arms()
    for higher, lower in corruption.EQUAL_PREDICTIONS.values():
        one, other = arms[higher], arms[lower]
        assert one.select_prob * one.n_steps == pytest.approx(other.select_prob * other.n_steps)
        assert one.select_prob > other.select_prob
        assert (one.mask_prob, one.random_prob) == (other.mask_prob, other.random_prob)
