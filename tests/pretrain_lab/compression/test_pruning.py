# SPDX-License-Identifier: MIT
"""Zeros, importances, and smaller matrices."""

import copy

import pytest
import torch
from torch import Generator, Tensor, nn

from pretrain.blocks import Block, make_block
from pretrain_lab.compression.pruning import importances, keep_best, zero_smallest


@pytest.fixture
def block() -> Block:
    """A block of four heads of width 4."""
    torch.manual_seed(0)
    return make_block(16, 4, 24, norm="post").eval()


@pytest.fixture
def states() -> Tensor:
    """Two texts of five tokens."""
    return torch.randn(2, 5, 16, generator=Generator().manual_seed(1))


def test_the_smallest_weights_become_zero() -> None:
    """Of each matrix its own share; biases stay."""
    first, second = nn.Linear(4, 1), nn.Linear(1, 2)
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[0.1, -3.0, 0.2, 1.0]]))
    bias = first.bias.clone()
    zero_smallest(nn.Sequential(first, second), 0.5)
    assert first.weight.tolist() == [[0.0, -3.0, 0.0, 1.0]]
    assert int(torch.count_nonzero(second.weight)) == 1
    assert torch.equal(first.bias, bias)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_impossible_shares_of_zeros(share: float) -> None:
    """A share lies between 0 and 1."""
    with pytest.raises(ValueError, match=r"share in 0\.\.1"):
        zero_smallest(nn.Linear(2, 2), share)


def test_importance_is_the_gradient_of_a_gate(block: Block, states: Tensor) -> None:
    """A head's score is the slope of the loss when its output is scaled."""
    found = importances([block], [block(states)[..., 0].sum()])
    for head in range(4):
        losses = []
        for gate in (1 - 1e-2, 1 + 1e-2):
            scaled = copy.deepcopy(block)
            with torch.no_grad():
                scaled.attention.output.weight[:, 4 * head : 4 * head + 4] *= gate
            losses.append(float(scaled(states)[..., 0].sum().detach()))
        slope = abs(losses[1] - losses[0]) / 2e-2
        assert float(found["heads"][0][head]) == pytest.approx(slope, rel=2e-2, abs=2e-3)


def test_importance_adds_sizes_over_batches(block: Block, states: Tensor) -> None:
    """Opposite slopes do not cancel, and a neuron that goes nowhere has none."""
    with torch.no_grad():
        block.feed_forward.down.weight[:, 3] = 0.0
    signs = (block(states)[..., 0].sum() * sign for sign in (1, -1))
    once = importances([block], [block(states)[..., 0].sum()])
    twice = importances([block], signs)
    torch.testing.assert_close(twice["heads"][0], 2 * once["heads"][0])
    assert twice["neurons"][0][3] == 0
    assert twice["neurons"][0].shape == (24,)


def test_cutting_what_does_nothing_changes_nothing(block: Block, states: Tensor) -> None:
    """Heads and neurons whose output is multiplied by zero can go."""
    heads, neurons = torch.tensor([1.0, 0.0, 2.0, 0.0]), torch.ones(24)
    neurons[::2] = 0.0
    with torch.no_grad():
        block.attention.output.weight[:, 4:8] = 0.0
        block.attention.output.weight[:, 12:] = 0.0
        block.feed_forward.down.weight[:, ::2] = 0.0
    before = block(states)
    keep_best(block, heads, neurons, 0.5)
    assert block.attention.n_heads == 2
    assert block.attention.qkv.weight.shape == (3 * 8, 16)
    assert block.feed_forward.down.weight.shape == (16, 12)
    torch.testing.assert_close(block(states), before)


def test_all_may_stay_and_none_may_not(block: Block, states: Tensor) -> None:
    """The whole share is the same block; a small one keeps at least one head."""
    before = block(states)
    keep_best(block, torch.arange(4.0), torch.arange(24.0), 1.0)
    torch.testing.assert_close(block(states), before)
    keep_best(block, torch.arange(4.0), torch.arange(24.0), 0.01)
    assert (block.attention.n_heads, block.feed_forward.up.out_features) == (1, 1)
    assert block(states).shape == states.shape
    with pytest.raises(ValueError, match="above 0"):
        keep_best(block, torch.ones(1), torch.ones(1), 0.0)
