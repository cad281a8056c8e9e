# SPDX-License-Identifier: MIT
"""Arguments for the fuzz tests: mostly right, now and then wrong in a way that happens to people.

Values of tensors come from a drawn seed and not one by one from hypothesis, which would be slow;
what is special (NaN, infinity, an id too large) is planted at a drawn place afterwards.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from torch import Generator, Tensor

NINE = st.integers(0, 8)
V = 12
"""Number of token ids of most tests."""
SEEDS = st.integers(0, 2**32 - 1)
GENERATORS = SEEDS.map(lambda number: Generator().manual_seed(number))
PROBS = st.floats(0.0, 1.0)
ODD_FLOATS = st.sampled_from(
    [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, -1.0, 1.0, 2.0, 5e-324, 1e-46, 1e300]
)
SPECIAL_VALUES = (float("nan"), float("inf"), float("-inf"), 0.0, 1e30, -1e30, 1e-40)
MASK_TYPES = st.sampled_from([*[torch.bool] * 8, torch.int64, torch.float32])
TEXTS = st.text(max_size=30) | st.text("ab .,!?\n-'A\u00e9\u4e2d\U0001f600", max_size=60)


def mostly(good: SearchStrategy[Any], *bad: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Draw from the first strategy about eight times in nine, else from one of the others."""
    return _mostly(good, st.one_of(*bad))


@st.composite
def _mostly(draw: DrawFn, good: SearchStrategy[Any], bad: SearchStrategy[Any]) -> Any:
    """Draw which of the two it is, and then from that one."""
    return draw(bad if draw(NINE) == 8 else good)


def sizes(high: int = 8, low: int = 1) -> SearchStrategy[int]:
    """Draw a size, now and then one below the smallest."""
    return mostly(st.integers(low, high), st.integers(-3, low))


def probabilities() -> SearchStrategy[float]:
    """Draw a probability, now and then a number that is none."""
    return mostly(PROBS, ODD_FLOATS)


def calls(**arguments: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    """Draw keyword arguments that do not depend on each other."""
    return st.fixed_dictionaries(arguments)


@st.composite
def shapes(draw: DrawFn, n_axes: int, high: int = 7) -> tuple[int, ...]:
    """Draw a shape, now and then with an empty axis, an axis too many or one too few."""
    count = draw(st.sampled_from([*[n_axes] * 9, n_axes - 1, n_axes + 1, 0]))
    return tuple(draw(st.integers(0, high)) for _ in range(count))


def random_ids(shape: Sequence[int], seed: int, high: int = V, low: int = 0) -> Tensor:
    """Make int64 ids out of a seed."""
    return torch.randint(low, high, tuple(shape), generator=Generator().manual_seed(seed))


@st.composite
def ids(
    draw: DrawFn, n_axes: int = 2, *, high: int = V, longest: int = 7, wrong: bool = True
) -> Tensor:
    """Draw token ids, now and then of another type or with one out of range."""
    shape = draw(shapes(n_axes, longest))
    tensor = random_ids(shape, draw(SEEDS), high)
    fault = draw(st.integers(0, 11)) if wrong else 0
    if fault == 11 and tensor.numel():
        tensor.view(-1)[draw(st.integers(0, tensor.numel() - 1))] = draw(
            st.sampled_from([-1, -100, high, 2**31, 2**62])
        )
    return tensor.float() if fault == 10 else tensor.int() if fault == 9 else tensor


def random_floats(shape: Sequence[int], seed: int, scale: float = 1.0) -> Tensor:
    """Make float32 numbers out of a seed."""
    return scale * torch.randn(tuple(shape), generator=Generator().manual_seed(seed))


@st.composite
def floats(
    draw: DrawFn, n_axes: int = 2, *, longest: int = 7, special: bool = True, high: float = 1e4
) -> Tensor:
    """Draw numbers of all magnitudes, now and then equal ones, NaN or infinite ones."""
    shape = draw(shapes(n_axes, longest))
    scale = draw(st.sampled_from([0.0, 1e-3, 1.0, 30.0, high]))
    return with_special(draw, random_floats(shape, draw(SEEDS), scale)) if special else (
        random_floats(shape, draw(SEEDS), scale)
    )  # fmt: skip


def with_special(draw: DrawFn, tensor: Tensor) -> Tensor:
    """Now and then put a special value at some place of a tensor."""
    if tensor.numel() and draw(st.integers(0, 5)) == 5:
        place = draw(st.integers(0, tensor.numel() - 1))
        tensor.view(-1)[place] = draw(st.sampled_from(SPECIAL_VALUES))
    return tensor


@st.composite
def masks(draw: DrawFn, shape: Sequence[int] | None = None, n_axes: int = 2) -> Tensor:
    """Draw a mask of some share of True, now and then as whole or decimal numbers."""
    size = draw(shapes(n_axes)) if shape is None else tuple(shape)
    chance = torch.rand(size, generator=Generator().manual_seed(draw(SEEDS)))
    mask = chance < draw(st.sampled_from([0.0, 0.3, 0.7, 1.1]))
    return mask.to(draw(MASK_TYPES))


@st.composite
def padded(draw: DrawFn, n_rows: int, seq_len: int) -> Tensor:
    """Draw the mask of rows that are padded on the right, bool (B, T)."""
    lengths = [draw(st.integers(min(1, seq_len), seq_len)) for _ in range(n_rows)]
    return torch.arange(seq_len) < torch.tensor(lengths, dtype=torch.int64)[:, None]


@st.composite
def arrays(draw: DrawFn, *, low: float = -10.0, high: float = 10.0, most: int = 12) -> Any:
    """Draw float64 (n,) in a range, now and then with NaN, infinity, zeros or another shape."""
    n = draw(st.integers(0, most))
    values = np.random.default_rng(draw(SEEDS)).uniform(low, high, n)
    if n and draw(st.integers(0, 6)) == 6:
        values[draw(st.integers(0, n - 1))] = draw(ODD_FLOATS)
    return values[:, None] if draw(st.integers(0, 14)) == 14 else values
