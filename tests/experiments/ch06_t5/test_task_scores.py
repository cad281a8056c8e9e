# SPDX-License-Identifier: MIT
"""How the scripts of chapter 6 choose the examples that they ask."""

from importlib import import_module
from types import ModuleType

import pytest

from pretrain_lab.tasks.text_to_text import Example


@pytest.fixture(scope="module")
def scores() -> ModuleType:
    """Load the module; it imports others beside it."""
    return import_module("experiments.ch06_t5.task_scores")


@pytest.mark.parametrize(
    ("n", "expected"), [(3, [0, 3, 6]), (10, [*range(10)]), (99, [*range(10)])]
)
def test_spread_takes_each_example_at_most_once(
    scores: ModuleType, n: int, expected: list[int]
) -> None:
    """Also when more are asked for than there are: then all of them, once."""
    examples = [Example("source", "target", str(i)) for i in range(10)]
    assert [int(e.group) for e in scores.spread(examples, n)] == expected
