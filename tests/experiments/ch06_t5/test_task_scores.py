# SPDX-License-Identifier: MIT
"""How the scripts of chapter 6 choose the examples that they ask."""

import pytest

from experiments.ch06_t5.task_scores import spread
from pretrain_lab.tasks.text_to_text import Example


@pytest.mark.parametrize(
    ("n", "expected"), [(3, [0, 3, 6]), (10, [*range(10)]), (99, [*range(10)])]
)
def test_spread_takes_each_example_at_most_once(n: int, expected: list[int]) -> None:
    """Also when more are asked for than there are: then all of them, once."""
    examples = [Example("source", "target", str(i)) for i in range(10)]
    assert [int(e.group) for e in spread(examples, n)] == expected
