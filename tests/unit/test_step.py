# SPDX-License-Identifier: MIT
"""The shared step: what `fit` did before it was shared, bit by bit, and several losses at once."""

import math

import pytest
import torch
from torch import Generator, Tensor, nn

from pretrain.gpt import GPT
from pretrain.objectives import causal_lm_loss
from pretrain.step import update
from pretrain.training import fit, learning_rate, make_optimizer, set_learning_rate

SIZES = {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_len": 12}


def test_fit_takes_plain_steps_of_adamw(generator: Generator) -> None:
    """Loss, backward, clip, step, written out: the same losses and weights, bit by bit."""
    ids = torch.randint(0, 11, (300,), generator=generator)
    loss = causal_lm_loss(ids, batch_size=4, seq_len=12)
    runs = []
    for written_out in (False, True):
        torch.manual_seed(0)
        model = GPT(11, dropout_prob=0.1, **SIZES)  # type: ignore[arg-type]
        draws = Generator().manual_seed(3)
        if written_out:
            losses = _train_by_hand(model, loss, draws)
        else:
            losses = fit(model, loss, n_steps=8, lr=1e-2, n_warmup=2, generator=draws).losses
        runs.append((losses, [p.detach() for p in model.parameters()]))
    (first, weights), (second, others) = runs
    assert first == second
    assert all(torch.equal(a, b) for a, b in zip(weights, others, strict=True))


def _train_by_hand(model: nn.Module, loss_of: object, draws: Generator) -> list[float]:
    """Take eight steps without `update`."""
    optimizer = make_optimizer(model, lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
    model.train()
    losses = []
    for step in range(8):
        rate = learning_rate(step, n_steps=8, peak=1e-2, n_warmup=2, final=0.0)
        set_learning_rate(optimizer, rate)
        loss: Tensor = loss_of(model, draws)  # type: ignore[operator]
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_parts_of_a_loss_give_the_step_of_the_whole(generator: Generator) -> None:
    """Two or three parts in turn, or their sum at once: one gradient, one update."""
    x = torch.randn(6, 3, generator=generator)
    moved = []
    for n_parts in (1, 2, 3):
        torch.manual_seed(1)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = (model(part).square().sum() for part in x.chunk(n_parts))
        value = update(model, optimizer, losses, clip_norm=1e6)
        moved.append((value, model.weight.detach()))
    for value, weight in moved[1:]:
        assert value == pytest.approx(moved[0][0], rel=1e-6)
        assert torch.allclose(weight, moved[0][1], atol=1e-6)


def test_each_loss_is_used_before_the_next_is_made(generator: Generator) -> None:
    """So the activations of one part are held at a time."""
    model, order = nn.Linear(3, 2), []

    def losses() -> object:
        """Make two losses and note when."""
        for name in "ab":
            order.append(f"make {name}")
            yield model(torch.ones(1, 3)).sum()

    def backward(loss: Tensor) -> None:
        """Note the call."""
        order.append("use")
        loss.backward()

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    update(model, optimizer, losses(), clip_norm=1.0, backward=backward)  # type: ignore[arg-type]
    assert order == ["make a", "use", "make b", "use"]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_total_that_is_not_finite_leaves_the_weights(value: float) -> None:
    """Also when the loss of this process alone is finite: all processes stop together."""
    model = nn.Linear(3, 2)
    before = model.weight.detach().clone()
    loss = model(torch.ones(1, 3)).sum()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(FloatingPointError, match=f"expected a finite loss, got {value}"):
        update(model, optimizer, [loss], clip_norm=1.0, total=lambda _: value)
    assert torch.equal(model.weight, before)


def test_the_total_is_made_of_the_sum_of_the_losses() -> None:
    """One process knows 1 + 2; what all of them lost is what the step returns."""
    weight = nn.Linear(1, 1)
    losses = [weight(torch.zeros(1, 1)).sum() * 0 + value for value in (1.0, 2.0)]
    optimizer = torch.optim.SGD(weight.parameters(), lr=0.1)
    value = update(weight, optimizer, losses, clip_norm=1.0, total=lambda own: float(own) + 10)
    assert value == 13.0
