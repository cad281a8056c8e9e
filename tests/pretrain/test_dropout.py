# SPDX-License-Identifier: MIT
"""Dropout with cheap random bits."""

import math

import pytest
import torch

from pretrain.dropout import Dropout, dropout


@pytest.mark.parametrize("prob", [0.01, 0.1, 0.5, 0.9])
def test_rate_and_mean(prob: float) -> None:
    """The dropped share lies within four standard errors of the probability, and so the mean."""
    n = 200_000
    out = dropout(torch.ones(n), prob)
    error = math.sqrt(prob * (1 - prob) / n)
    assert (out == 0).float().mean().item() == pytest.approx(prob, abs=4 * error + 1e-5)
    assert out.mean().item() == pytest.approx(1.0, abs=4 * error / (1 - prob))
    assert torch.allclose(out[out != 0], torch.tensor(1 / (1 - prob)), rtol=1e-3)


def test_neighbours_are_independent() -> None:
    """Four values share one 64-bit draw, yet pairs of them are dropped together as by chance."""
    dropped = (dropout(torch.ones(50_000, 4), 0.3) == 0).double()
    covariance = torch.cov(dropped.T)
    error = 0.3 * 0.7 / math.sqrt(50_000)
    assert (covariance - torch.diag(covariance.diagonal())).abs().max() < 4 * error


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 7), (2, 3, 4), (0,)])
def test_any_shape_and_dtype(shape: tuple[int, ...]) -> None:
    """Counts that four does not divide work as well."""
    for dtype in (torch.float32, torch.float64):
        out = dropout(torch.ones(shape, dtype=dtype), 0.5)
        assert out.shape == shape
        assert out.dtype == dtype
        assert torch.isin(out, torch.tensor([0.0, 2.0], dtype=dtype)).all()


def test_the_mask_is_drawn_where_the_values_are() -> None:
    """Values on another device meet a mask on that device."""
    assert dropout(torch.ones(6, device="meta"), 0.5).device.type == "meta"


def test_gradient_passes_where_the_value_did() -> None:
    """The gradient is the same mask and the same scale."""
    x = torch.randn(500, requires_grad=True)
    out = dropout(x, 0.5)
    out.sum().backward()
    assert torch.equal(x.grad, torch.where(out != 0, 2.0, 0.0))


def test_draws_follow_the_global_generator() -> None:
    """The same state of torch's generator gives the same mask; the next draw differs."""
    x = torch.ones(100)
    torch.manual_seed(1)
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(1)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)


def test_layer_is_the_identity_in_evaluation() -> None:
    """In evaluation the very same tensor comes back; in training values fall out."""
    layer = Dropout(0.5)
    x = torch.ones(100)
    assert layer.eval()(x) is x
    assert (layer.train()(x) == 0).any()


@pytest.mark.parametrize("prob", [-0.1, 1.0, 1.5, float("nan")])
def test_bad_probability(prob: float) -> None:
    """Function and layer refuse what is not a probability below 1."""
    with pytest.raises(ValueError, match=rf"dropout probability in \[0, 1\), got {prob}"):
        dropout(torch.ones(2), prob)
    with pytest.raises(ValueError, match=rf"dropout probability in \[0, 1\), got {prob}"):
        Dropout(prob)


def test_half_precision_drops_the_same_values() -> None:
    """The comparison is made on whole numbers, not on what they are rounded to."""
    masks = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        torch.manual_seed(3)
        masks.append(dropout(torch.ones(1000, dtype=dtype), 0.3) == 0)
    assert torch.equal(masks[0], masks[1])
    assert torch.equal(masks[0], masks[2])
