# SPDX-License-Identifier: MIT
"""What the floor of a law is worth: laws that made the runs are found again."""

import itertools

import numpy as np
import pytest

from experiments.ch13_scaling import checks

SIZES = [5e3, 2e4, 8e4, 3e5]
TEXTS = [2e5, 8e5, 3e6]


def record(floor: float) -> dict[str, list[dict[str, object]]]:
    """Make cells that follow a sum with this floor exactly; the largest ones are held out."""

    def cell(n: float, d: float) -> dict[str, object]:
        loss = floor + 40 * n**-0.5 + 1000 * d**-0.6
        return {"n": n, "d": d, "losses": [loss], "width": int(n), "level": int(d)}

    return {
        "cells": [cell(n, d) for n, d in itertools.product(SIZES, TEXTS)],
        "held_out": [cell(1e6, 1e7)],
    }


@pytest.mark.parametrize("floor", [1.4, 0.0])
def test_the_sum_finds_the_floor_that_is_there(floor: float) -> None:
    """With a floor the form without one misses; without, both find the held-out run."""
    found = checks.floors(record(floor))
    with_floor, without = (found[f"sum, {how} floor"] for how in ("with", "without"))
    assert with_floor["floor_nats"] == pytest.approx(floor, abs=0.02)
    (missed,) = with_floor["misses_percent"].values()
    assert abs(missed) < 0.5
    (missed,) = without["misses_percent"].values()
    assert abs(missed) > 2 if floor else abs(missed) < 0.5


@pytest.mark.parametrize("form", list(checks.FORMS))
def test_derivatives_are_those_of_the_values(form: str) -> None:
    """By differences, at a point inside the bounds."""
    make, starts, _ = checks.FORMS[form]
    law = make(np.array([-1.0, 0.3, 2.0]), np.array([0.5, -0.7, 1.0]))
    x = np.array([*starts[0], 0.1])
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = 1e-6
        slope = (law(x + step)[0] - law(x - step)[0]) / 2e-6
        assert law(x)[1][:, i] == pytest.approx(slope, abs=1e-6)
