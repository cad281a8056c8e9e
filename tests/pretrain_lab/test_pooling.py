# SPDX-License-Identifier: MIT
"""Rows become a rectangle, states a vector; what stands in the padding is never used."""

import pytest
import torch

from pretrain_lab.pooling import pad, pool

STATES = torch.tensor([[[1.0, 0], [2, 4], [6, 2]], [[5, 7], [9, 9], [float("nan"), 9]]])
REAL = torch.tensor([[True, True, True], [True, False, False]])


def test_padding_goes_to_the_right() -> None:
    """Lists and tensors of different lengths; real tokens are told."""
    for rows in ([[1, 2, 3], [4]], [torch.tensor([1, 2, 3]), torch.tensor([4])]):
        ids, real = pad(rows, 9)
        assert ids.tolist() == [[1, 2, 3], [4, 9, 9]]
        assert torch.equal(real, REAL)


@pytest.mark.parametrize("rows", [[], [[1, 2, 3], []]])
def test_padding_needs_texts(rows: list[list[int]]) -> None:
    """No text, and an empty one."""
    with pytest.raises(ValueError, match="none empty, got lengths"):
        pad(rows, 0)


@pytest.mark.parametrize(
    ("how", "expected"),
    [("mean", [[3, 2], [5, 7]]), ("first", [[1, 0], [5, 7]]), ("last", [[6, 2], [5, 7]])],
)
def test_poolings_by_hand(how: str, expected: list[list[float]]) -> None:
    """Two texts of three and one real states; a stack of layers is pooled layer by layer."""
    assert pool(STATES, REAL, how).tolist() == expected
    layers = torch.stack([STATES, 2 * STATES])
    assert torch.equal(pool(layers, REAL, how)[1], 2 * torch.tensor(expected).float())


def test_pooling_refuses() -> None:
    """Unknown names, masks of another shape or of whole numbers, texts without a first token."""
    with pytest.raises(ValueError, match="expected pooling from"):
        pool(STATES, REAL, "max")
    with pytest.raises(ValueError, match=r"shape \(2, 3\) .* got shape \(2, 2\)"):
        pool(STATES, REAL[:, :2], "mean")
    with pytest.raises(ValueError, match=r"of torch\.int64"):  # as `transformers` gives them
        pool(STATES, REAL.long(), "mean")
    with pytest.raises(ValueError, match="True in its first column"):
        pool(STATES, ~REAL, "mean")
