# SPDX-License-Identifier: MIT
"""The training loop: schedule, decay groups, clipping, history, and that it trains.

The shared step: what `fit` did before it was shared, bit by bit, and several losses at once.
"""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor, nn

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.objectives import IGNORE_INDEX, BatchLoss, causal_lm_loss, causal_targets, corrupt_mlm
from pretrain.training import (
    fit,
    learning_rate,
    make_optimizer,
    set_learning_rate,
    train_step,
    update,
)

SIZES = {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_len": 12}


def squares(model: nn.Module, generator: Generator) -> Tensor:
    """Give a loss that any linear layer can lower: its outputs squared."""
    out: Tensor = model(torch.randn(4, 3, generator=generator)).square().mean()
    return out


def test_warm_up_is_linear_and_decay_half_a_cosine() -> None:
    """Ten steps of warm-up to 1, then by way of the middle to a tenth."""
    rates = [learning_rate(s, n_steps=110, peak=1.0, n_warmup=10, final=0.1) for s in range(111)]
    assert rates[:10] == pytest.approx([0.1 * (s + 1) for s in range(10)])
    assert rates[10] == pytest.approx(1.0)
    assert rates[35] == pytest.approx(0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 4)))
    assert rates[60] == pytest.approx(0.55)
    assert rates[110] == pytest.approx(0.1)
    assert max(rates) == rates[10]
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))


def test_schedule_without_warm_up_or_without_decay() -> None:
    """No warm-up starts at the peak; warm-up to the end never decays; final 1 stays."""
    assert learning_rate(0, n_steps=10, peak=0.5, n_warmup=0, final=0.0) == 0.5
    assert learning_rate(9, n_steps=10, peak=0.5, n_warmup=10, final=0.0) == 0.5
    assert learning_rate(7, n_steps=10, peak=0.5, n_warmup=2, final=1.0) == 0.5
    assert learning_rate(3, n_steps=3, peak=0.5, n_warmup=2, final=0.0) == 0.0


@given(
    st.integers(1, 60), st.integers(0, 70), st.floats(1e-6, 1), st.floats(0, 1), st.integers(0, 60)
)
def test_the_rate_stays_between_its_last_share_and_its_peak(
    n_steps: int, n_warmup: int, peak: float, final: float, step: int
) -> None:
    """Never above the peak; below the last share only while it rises."""
    step = min(step, n_steps - 1)
    rate = learning_rate(step, n_steps=n_steps, peak=peak, n_warmup=n_warmup, final=final)
    assert 0 <= rate <= peak * (1 + 1e-9)
    assert step < n_warmup or rate >= peak * final * (1 - 1e-9)


def test_matrices_decay_and_biases_and_norms_do_not() -> None:
    """Two groups, every parameter once, the tied matrix too."""
    model = BERT(11, **SIZES)  # type: ignore[arg-type]
    decayed, plain = make_optimizer(
        model, lr=2e-3, betas=(0.9, 0.95), weight_decay=0.3
    ).param_groups
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.3, 0.0)
    assert decayed["betas"] == (0.9, 0.95)
    assert decayed["lr"] == plain["lr"] == 2e-3
    inside = {id(p) for p in decayed["params"]}
    for name, parameter in model.named_parameters():
        is_matrix = not name.endswith("bias") and "norm" not in name
        assert (id(parameter) in inside) == is_matrix, name
    n_parts = len(decayed["params"]) + len(plain["params"])
    assert n_parts == len(list(model.parameters()))


def test_decay_shrinks_matrices_without_gradient() -> None:
    """With a loss that ignores the model, one step multiplies matrices by 1 - lr * decay."""
    model = nn.Linear(3, 2)
    nn.init.ones_(model.bias)
    before = model.weight.detach().clone()
    fit(
        model, lambda m, _: m(torch.zeros(1, 3)).sum() * 0.0, n_steps=1, lr=0.1,
        generator=torch.Generator(), weight_decay=0.5,
    )  # fmt: skip
    assert torch.allclose(model.weight, before * 0.95)
    assert torch.equal(model.bias, torch.ones(2))


@pytest.mark.parametrize("clip_norm", [0.5, 1e6])
def test_gradients_are_clipped_to_the_norm(clip_norm: float, generator: Generator) -> None:
    """Plain gradient descent moves by the gradient, so the move shows the clipped norm."""
    model = nn.Linear(3, 2)
    nn.init.constant_(model.weight, 5.0)
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    train_step(model, squares, optimizer, generator, clip_norm=clip_norm)
    pairs = zip(before, model.parameters(), strict=True)
    moved = math.sqrt(sum(float((a - b).detach().square().sum()) for a, b in pairs))
    grad = math.sqrt(sum(float(p.grad.square().sum()) for p in model.parameters()))
    assert moved == pytest.approx(grad, rel=1e-4)
    assert moved == pytest.approx(0.5, rel=1e-4) if clip_norm < 1 else moved > 0.5


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_the_update(value: float) -> None:
    """The weights are those of the last good step."""
    model = nn.Linear(3, 2)
    before = model.weight.detach().clone()
    with pytest.raises(FloatingPointError, match=f"expected a finite loss, got {value}"):
        fit(
            model, lambda m, _: m.weight.square().sum() * value, n_steps=3, lr=0.1,
            generator=torch.Generator(),
        )  # fmt: skip
    assert torch.equal(model.weight, before)


def test_history_and_the_modes_of_the_model(generator: Generator) -> None:
    """One loss a step; evaluations at every third step and the last, in evaluation mode."""
    model = nn.Linear(3, 1)
    seen: list[tuple[bool, bool]] = []

    def batch_loss(m: nn.Module, g: Generator) -> Tensor:
        """Check that steps run in training mode."""
        assert m.training
        return squares(m, g)

    def evaluate(m: nn.Module) -> float:
        """Record the mode and give the number of calls."""
        seen.append((m.training, torch.is_grad_enabled()))
        return len(seen)

    history = fit(
        model, batch_loss, n_steps=8, lr=0.1, generator=generator, evaluate=evaluate,
        evaluate_every=3,
    )  # fmt: skip
    assert len(history.losses) == 8
    assert history.losses[-1] < history.losses[0]
    assert history.evaluations == [(3, 1.0), (6, 2.0), (8, 3.0)]
    assert seen == [(False, False)] * 3
    assert not model.training


def test_the_same_generator_gives_the_same_run() -> None:
    """Nothing but the seeds decides the losses."""
    runs = []
    for _ in range(2):
        torch.manual_seed(3)
        model = nn.Linear(3, 1)
        generator = torch.Generator().manual_seed(5)
        runs.append(fit(model, squares, n_steps=5, lr=0.1, generator=generator).losses)
    assert runs[0] == runs[1]


def test_the_rate_of_each_step_is_that_of_the_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every group gets the scheduled rate before its step."""
    used: list[tuple[float, float]] = []
    step = torch.optim.AdamW.step

    def record(self: torch.optim.AdamW, *args: object) -> object:
        """Note the rates, then step."""
        used.append((self.param_groups[0]["lr"], self.param_groups[1]["lr"]))
        return step(self, *args)

    monkeypatch.setattr(torch.optim.AdamW, "step", record)
    options = {"n_steps": 6, "n_warmup": 2}
    fit(nn.Linear(3, 1), squares, lr=0.1, generator=torch.Generator(), final_lr=0.5, **options)
    rates = [learning_rate(s, peak=0.1, final=0.5, **options) for s in range(6)]
    assert used == [(rate, rate) for rate in rates]


def one_batch(model: GPT | BERT) -> BatchLoss:
    """Give the loss of one fixed batch: next tokens for GPT, one fixed corruption for BERT."""
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(2, 11, (4, 12), generator=generator)
    if isinstance(model, GPT):
        inputs, targets = causal_targets(ids)
        targets = targets.masked_fill(torch.arange(11) < 3, IGNORE_INDEX)  # guessable only later
    else:
        inputs, targets, _ = corrupt_mlm(
            ids, mask_id=1, vocab_size=11, special_ids=(0, 1), generator=generator, select_prob=0.3
        )
    return lambda m, _: F.cross_entropy(m(inputs).flatten(0, 1), targets.flatten())


@pytest.mark.parametrize("kind", [GPT, BERT])
def test_each_model_overfits_one_batch(kind: type[GPT] | type[BERT]) -> None:
    """From log 11 = 2.4 nats to next to nothing: gradients and updates do their work."""
    model = kind(11, **SIZES)  # type: ignore[arg-type]
    history = fit(
        model, one_batch(model), n_steps=150, lr=1e-2, generator=torch.Generator(), n_warmup=10,
        weight_decay=0.0,
    )  # fmt: skip
    assert history.losses[0] == pytest.approx(math.log(11), abs=0.2)
    assert history.losses[-1] < 0.02


def test_training_reaches_as_far_as_its_sequences() -> None:
    """fit leaves the model knowing the length that it was trained on."""
    model = GPT(11, **SIZES)  # type: ignore[arg-type]
    fit(model, one_batch(model), n_steps=1, lr=1e-2, generator=torch.Generator())
    assert int(model.embeddings.trained_len) == 11


@pytest.mark.parametrize("watched", [True, False])
def test_the_bar_is_drawn_on_stderr_only_when_somebody_watches(
    watched: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An explicit argument wins; stdout stays empty."""
    monkeypatch.setattr("pretrain.training.is_interactive", lambda: watched)
    options = {"n_steps": 2, "lr": 0.1, "generator": torch.Generator()}
    fit(nn.Linear(3, 1), squares, **options)  # type: ignore[arg-type]
    shown = capfd.readouterr()
    assert ("2/2" in shown.err) == watched
    assert shown.out == ""
    fit(nn.Linear(3, 1), squares, **options, progress=not watched)  # type: ignore[arg-type]
    assert ("2/2" in capfd.readouterr().err) != watched


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_steps": 0, "lr": 0.1}, "got 0, 0.1 and 0"),
        ({"n_steps": 5, "lr": 0.0}, "got 5, 0.0 and 0"),
        ({"n_steps": 5, "lr": 0.1, "n_warmup": 6}, "got 5, 0.1 and 6"),
        ({"n_steps": 5, "lr": 0.1, "n_warmup": -1}, "got 5, 0.1 and -1"),
    ],
)
def test_bad_settings(options: dict[str, float], message: str) -> None:
    """Runs that cannot be are refused before anything happens."""
    with pytest.raises(ValueError, match=f"n_warmup in 0..n_steps, {message}"):
        fit(nn.Linear(3, 1), squares, generator=torch.Generator(), **options)  # type: ignore[arg-type]


def test_a_stopped_run_leaves_the_model_in_evaluation_mode(generator: Generator) -> None:
    """A reader who stops a cell goes on with a model that gives the same answer twice."""
    model = nn.Linear(2, 1)

    def loss(model: nn.Module, _: Generator) -> Tensor:
        """Stop at once."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, loss, n_steps=3, lr=0.1, generator=generator)
    assert not model.training


def test_a_bad_loss_names_its_step(generator: Generator) -> None:
    """The step is what one needs to look for the cause."""
    steps = itertools.count()

    def loss(model: nn.Module, _: Generator) -> Tensor:
        """Be NaN in the third step."""
        total = model.weight.square().sum()  # type: ignore[operator, union-attr]
        return total * (math.nan if next(steps) == 2 else 1.0)

    with pytest.raises(FloatingPointError, match="step 2: expected a finite loss, got nan"):
        fit(nn.Linear(2, 1), loss, n_steps=5, lr=0.1, generator=generator)


def test_relative_rates_follow_the_size_of_each_parameter() -> None:
    """AdamW's first step is the rate itself, so it shows: 1 % of a large and of a small matrix."""
    model = nn.ParameterDict(
        {
            "large": nn.Parameter(torch.full((2, 2), 5.0)),
            "small": nn.Parameter(torch.full((2, 2), -0.02)),
            "zero": nn.Parameter(torch.zeros(2, 2)),
        }
    )
    before = {name: p.detach().clone() for name, p in model.items()}

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Push every entry in the same direction."""
        return torch.stack([p.sum() for p in model.parameters()]).sum()

    fit(
        model,
        loss,
        n_steps=1,
        lr=0.01,
        weight_decay=0.0,
        relative_lr=True,
        generator=Generator(),
    )
    moved = {name: (before[name] - p.detach()).mean().item() for name, p in model.items()}
    assert moved == pytest.approx({"large": 0.05, "small": 2e-4, "zero": 1e-5}, rel=1e-3)


class OnePart(nn.Parameter):
    """A parameter of which this process holds a part, and whose norm must be put together."""

    def norm(self) -> Any:
        """Give a norm that knows its whole."""
        return SimpleNamespace(full_tensor=lambda: torch.tensor(12.0))


def test_the_size_of_a_parameter_in_parts_is_that_of_the_whole() -> None:
    """A norm of 12 over 16 entries is a root mean square of 3."""
    optimizer = torch.optim.SGD([{"params": [OnePart(torch.ones(16))], "relative": True}], lr=1.0)
    set_learning_rate(optimizer, 0.1)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.3)


STEP_SIZES = {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_len": 12}


def test_fit_takes_plain_steps_of_adamw(generator: Generator) -> None:
    """Loss, backward, clip, step, written out: the same losses and weights, bit by bit."""
    ids = torch.randint(0, 11, (300,), generator=generator)
    loss = causal_lm_loss(ids, batch_size=4, seq_len=12)
    runs = []
    for written_out in (False, True):
        torch.manual_seed(0)
        model = GPT(11, dropout_prob=0.1, **STEP_SIZES)  # type: ignore[arg-type]
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
