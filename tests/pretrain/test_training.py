# SPDX-License-Identifier: MIT
"""The training loop: schedule, decay groups, clipping, hooks, and that it trains."""

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import (
    IGNORE_INDEX,
    CausalLM,
    Objective,
    causal_targets,
    corrupt_mlm,
    shift_right,
)
from pretrain.t5 import T5, T5Config
from pretrain.training import (
    Evaluate,
    Hook,
    OptimConfig,
    Run,
    fit,
    make_optimizer,
    set_learning_rate,
)

SIZES: dict[str, Any] = {"vocab_size": 11, "d_model": 16, "n_layers": 2, "n_heads": 2}


def squares(model: nn.Module, generator: Generator) -> Tensor:
    """Give a loss that any linear layer can lower: its outputs squared."""
    out: Tensor = model(torch.randn(4, 3, generator=generator)).square().mean()
    return out


def test_warm_up_is_linear_and_decay_half_a_cosine() -> None:
    """Ten steps of warm-up to 1, then by way of the middle to a tenth."""
    optim = OptimConfig(lr=1.0, n_warmup=10, final_lr=0.1)
    rates = [optim.rate(step, 110) for step in range(111)]
    assert rates[:10] == pytest.approx([0.1 * (s + 1) for s in range(10)])
    assert rates[10] == pytest.approx(1.0)
    assert rates[35] == pytest.approx(0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 4)))
    assert rates[60] == pytest.approx(0.55)
    assert rates[110] == pytest.approx(0.1)
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))
    assert OptimConfig(lr=0.5).rate(0, 10) == 0.5  # no warm-up starts at the peak
    assert OptimConfig(lr=0.5, n_warmup=10).rate(9, 10) == 0.5  # nothing but warm-up ends there


@given(
    st.integers(1, 60), st.integers(0, 70), st.floats(1e-6, 1), st.floats(0, 1), st.integers(0, 60)
)
def test_the_rate_stays_between_its_last_share_and_its_peak(
    n_steps: int, n_warmup: int, peak: float, final: float, step: int
) -> None:
    """Never above the peak; below the last share only while it rises."""
    step = min(step, n_steps - 1)
    rate = OptimConfig(lr=peak, n_warmup=n_warmup, final_lr=final).rate(step, n_steps)
    assert 0 <= rate <= peak * (1 + 1e-9)
    assert step < n_warmup or rate >= peak * final * (1 - 1e-9)


def test_matrices_decay_and_biases_and_norms_do_not() -> None:
    """Two groups, every parameter once, the tied matrix too."""
    model = BERT(BERTConfig(**SIZES, max_len=12))
    groups = make_optimizer(model, OptimConfig(lr=2e-3, weight_decay=0.3)).param_groups
    assert [group["weight_decay"] for group in groups] == [0.3, 0.0]
    inside = {id(p) for p in groups[0]["params"]}
    for name, parameter in model.named_parameters():
        is_matrix = not name.endswith("bias") and "norm" not in name
        assert (id(parameter) in inside) == is_matrix, name
    assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))


def test_muon_takes_the_matrices_in_blocks_and_adamw_the_rest() -> None:
    """Every parameter once; embeddings and heads are tables; all groups follow one rate."""
    for model in (
        BERT(BERTConfig(**SIZES, max_len=12)),
        T5(T5Config(**SIZES, tie_head=False)),
    ):
        optimizer = make_optimizer(model, OptimConfig(lr=2e-3, optimizer="muon"))
        matrices, tables, rest = (
            {id(p) for p in group["params"]} for group in optimizer.param_groups
        )
        for name, parameter in model.named_parameters():
            wanted = rest if parameter.dim() == 1 else matrices if "blocks" in name else tables
            assert id(parameter) in wanted, name
        n_parameters = len(list(model.parameters()))
        assert len(matrices) + len(tables) + len(rest) == n_parameters
        set_learning_rate(optimizer, 0.25)
        assert {group["lr"] for part in optimizer.parts for group in part.param_groups} == {0.25}


def test_a_step_of_muon_moves_a_matrix_alike_in_all_directions() -> None:
    """By the rate times 0.2 √max(A, B) times singular values near 1, whatever the gradient's."""
    model = nn.ModuleDict({"blocks": nn.Linear(6, 4, bias=False)})
    weight = model["blocks"].weight
    before = weight.detach().clone()
    optim = OptimConfig(lr=0.1, weight_decay=0.0, optimizer="muon")
    optimizer = make_optimizer(model, optim)
    weight.grad = torch.diag(torch.tensor([1e3, 1.0, 0.9, 0.8])) @ torch.eye(4, 6)
    optimizer.step()
    moved = torch.linalg.svdvals((before - weight.detach()) / (0.1 * 0.2 * 6**0.5))
    assert moved[0] < 1.25
    assert moved[0] / moved[1] < 2  # in the gradient a thousand


def test_decay_shrinks_matrices_without_gradient() -> None:
    """With a loss that ignores the model, one step multiplies matrices by 1 - lr * decay."""
    model = nn.Linear(3, 2)
    nn.init.ones_(model.bias)
    before = model.weight.detach().clone()

    def nothing(model: nn.Module, _: Generator) -> Tensor:
        """Give a loss of which all gradients are 0."""
        loss: Tensor = model(torch.zeros(1, 3)).sum() * 0.0
        return loss

    fit(model, nothing, OptimConfig(lr=0.1, weight_decay=0.5), n_steps=1, generator=Generator())
    assert torch.allclose(model.weight, before * 0.95)
    assert torch.equal(model.bias, torch.ones(2))


@pytest.mark.parametrize("relative", [False, True])
def test_fit_takes_plain_steps_of_adamw(generator: Generator, relative: bool) -> None:
    """Rate, loss, backward, clip, step, written out: the same losses and weights, bit by bit."""
    ids = torch.randint(0, 11, (300,), generator=generator)
    objective = CausalLM(ids, batch_size=4, seq_len=12)
    optim = OptimConfig(lr=1e-2, n_warmup=2, clip_norm=0.1, relative_lr=relative)
    runs = []
    for written_out in (False, True):
        torch.manual_seed(0)
        model = GPT(GPTConfig(**SIZES, max_len=12, dropout=0.1)).train()
        draws, losses = Generator().manual_seed(3), []
        if not written_out:
            losses = fit(model, objective, optim, n_steps=8, generator=draws).losses
        optimizer = make_optimizer(model, optim)
        for step in range(8) if written_out else ():
            set_learning_rate(optimizer, optim.rate(step, 8))
            loss = objective(model, draws)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            losses.append(loss.item())
        runs.append((losses, [p.detach() for p in model.parameters()]))
    (first, weights), (second, others) = runs
    assert first == second
    assert all(torch.equal(a, b) for a, b in zip(weights, others, strict=True))


@pytest.mark.parametrize("clip_norm", [0.5, 1e6])
def test_gradients_are_clipped_to_the_norm(clip_norm: float, generator: Generator) -> None:
    """After a step the gradients still show how long they were when it was made."""
    model, norms = nn.Linear(3, 2), list[float]()
    nn.init.constant_(model.weight, 5.0)

    class Measure(Hook):
        """Notes the length of all gradients together."""

        def after_step(self, run: Run) -> None:
            """Take them as they are when the update has been made."""
            parts = [p.grad.square().sum() for p in run.model.parameters() if p.grad is not None]
            norms.append(math.sqrt(sum(map(float, parts))))

    optim = OptimConfig(lr=0.1, clip_norm=clip_norm)
    fit(model, squares, optim, n_steps=1, generator=generator, hooks=[Measure()])
    assert norms == [pytest.approx(0.5, rel=1e-4)] if clip_norm < 1 else norms[0] > 0.5


def test_a_finished_run_gives_the_memory_of_its_gradients_back(generator: Generator) -> None:
    """They are as large as the model, and nobody reads them after the last update."""
    model = nn.Linear(3, 2)
    fit(model, squares, OptimConfig(lr=0.1), n_steps=2, generator=generator)
    assert all(p.grad is None for p in model.parameters())


def test_relative_rates_follow_the_size_of_each_parameter() -> None:
    """AdamW's first step is the rate itself, so it shows: 1 % of a large and of a small matrix."""
    values = {"large": 5.0, "small": -0.02, "zero": 0.0}
    model = nn.ParameterDict({k: nn.Parameter(torch.full((2, 2), v)) for k, v in values.items()})

    def loss(model: nn.Module, _: Generator) -> Tensor:
        """Push every entry in the same direction."""
        return torch.stack([p.sum() for p in model.parameters()]).sum()

    optim = OptimConfig(lr=0.01, weight_decay=0.0, relative_lr=True)
    fit(model, loss, optim, n_steps=1, generator=Generator())
    moved = {name: values[name] - p.mean().item() for name, p in model.items()}
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


def test_a_loss_that_is_not_finite_stops_before_the_update(generator: Generator) -> None:
    """The step is named, and the weights are those of the last good one."""
    for value in (math.nan, math.inf):
        model, steps, seen = nn.Linear(2, 1), itertools.count(), []

        def loss(model: nn.Module, _: Generator, steps=steps, seen=seen, value=value) -> Tensor:
            """Be bad in the third step, and note the weights."""
            seen.append(model.weight.detach().clone())
            return model.weight.square().sum() * (value if next(steps) == 2 else 1.0)

        with pytest.raises(
            FloatingPointError, match=f"step 2: expected a finite loss, got {value}"
        ):
            fit(model, loss, OptimConfig(lr=0.1), n_steps=5, generator=generator)
        assert len(seen) == 3
        assert torch.equal(model.weight, seen[2])
        assert not torch.equal(model.weight, seen[1])


def test_a_gradient_that_is_not_finite_stops_before_the_update(generator: Generator) -> None:
    """Of a finite loss too, such as a root at 0: the weights are those of the last good step."""
    model = nn.Linear(2, 1)
    before = model.weight.detach().clone()

    def loss(model: nn.Module, _: Generator) -> Tensor:
        """Be 0, with a slope that has no end."""
        found: Tensor = (model.weight - before).abs().sum().sqrt()
        return found

    with pytest.raises(FloatingPointError, match="step 0: expected a finite gradient, got norm"):
        fit(model, loss, OptimConfig(lr=0.1), n_steps=5, generator=generator)
    assert torch.equal(model.weight, before)


def test_evaluations_and_the_modes_of_the_model(generator: Generator) -> None:
    """One loss a step, in training mode; Evaluate at every third step and the last, without."""
    model = nn.Linear(3, 1)
    seen: list[tuple[bool, bool]] = []

    def objective(m: nn.Module, g: Generator) -> Tensor:
        """Check that steps run in training mode."""
        assert m.training
        return squares(m, g)

    def evaluate(m: nn.Module) -> float:
        """Record the mode and give the number of calls."""
        seen.append((m.training, torch.is_grad_enabled()))
        return len(seen)

    hooks = [Evaluate(evaluate, every=3)]
    history = fit(model, objective, OptimConfig(0.1), n_steps=8, generator=generator, hooks=hooks)
    assert len(history.losses) == 8
    assert history.losses[-1] < history.losses[0]
    assert history.evaluations == [(3, 1.0), (6, 2.0), (8, 3.0)]
    assert seen == [(False, False)] * 3
    assert not model.training
    with pytest.raises(ValueError, match="expected every >= 1, got 0"):
        Evaluate(evaluate, every=0)


class Note(Hook):
    """Write down what is called when."""

    def __init__(self, name: str, notes: list[str]) -> None:
        """Keep where to write."""
        self.name, self.notes = name, notes

    def begin(self, run: Run) -> None:
        """Note the call."""
        self.notes.append(f"{self.name} begins at {run.step} of {run.n_steps}")

    def after_step(self, run: Run) -> None:
        """Note the call and the losses that are there."""
        self.notes.append(f"{self.name} after {run.step}, {len(run.history.losses)} losses")

    def end(self, run: Run) -> None:
        """Note the call and the mode."""
        self.notes.append(f"{self.name} ends at {run.step}, training: {run.model.training}")


@pytest.mark.parametrize("stopped", [False, True])
def test_hooks_are_called_in_order(generator: Generator, stopped: bool) -> None:
    """Begin, after each update, end; the end also when a reader stops the cell.

    Then the model gives the same answer twice: it is in evaluation mode.
    """
    model, notes, steps = nn.Linear(3, 1), [], itertools.count()

    def objective(m: nn.Module, g: Generator) -> Tensor:
        """Be stopped in the second step, or not."""
        if next(steps) == 1 and stopped:
            raise KeyboardInterrupt
        return squares(m, g)

    def train() -> None:
        """Train with two hooks."""
        hooks = [Note("a", notes), Note("b", notes), Hook()]
        fit(model, objective, OptimConfig(0.1), n_steps=2, generator=generator, hooks=hooks)

    if stopped:
        with pytest.raises(KeyboardInterrupt):
            train()
    else:
        train()
    n_done = 1 if stopped else 2
    assert notes == [
        *[f"{name} begins at 0 of 2" for name in "ab"],
        *[f"{name} after {i}, {i} losses" for i in range(1, n_done + 1) for name in "ab"],
        *[f"{name} ends at {n_done}, training: False" for name in "ab"],
    ]
    assert not model.training


def test_a_run_goes_on_from_the_losses_that_a_hook_restores(generator: Generator) -> None:
    """Steps that are in the history are not done again, and the rate is that of the step."""
    rates: list[float] = []

    class Restore(Hook):
        """Begin at step 3, and note the rates."""

        def begin(self, run: Run) -> None:
            """Put three losses into the history."""
            run.history.losses[:] = [9.0, 8.0, 7.0]

        def after_step(self, run: Run) -> None:
            """Note the rate that was used."""
            rates.append(run.optimizer.param_groups[0]["lr"])

    optim = OptimConfig(lr=0.1, n_warmup=2)
    history = fit(
        nn.Linear(3, 1), squares, optim, n_steps=5, generator=generator, hooks=[Restore()]
    )
    assert history.losses[:3] == [9.0, 8.0, 7.0]
    assert len(history.losses) == 5
    assert rates == [optim.rate(3, 5), optim.rate(4, 5)]


def gpt_batch(ids: Tensor, generator: Generator) -> tuple[nn.Module, Objective]:
    """Next tokens, where they can be guessed: after the third."""
    inputs, labels = causal_targets(ids)
    labels = labels.masked_fill(torch.arange(11) < 3, IGNORE_INDEX)
    model = GPT(GPTConfig(**SIZES, max_len=12))
    return model, lambda m, _: F.cross_entropy(m(inputs).flatten(0, 1), labels.flatten())


def bert_batch(ids: Tensor, generator: Generator) -> tuple[nn.Module, Objective]:
    """One fixed corruption."""
    inputs, labels, _ = corrupt_mlm(
        ids, mask_id=1, vocab_size=11, special_ids=(0, 1), generator=generator,
        mlm_probability=0.3,
    )  # fmt: skip
    model = BERT(BERTConfig(**SIZES, max_len=12))
    return model, lambda m, _: F.cross_entropy(m(inputs).flatten(0, 1), labels.flatten())


def t5_batch(ids: Tensor, generator: Generator) -> tuple[nn.Module, Objective]:
    """The first half is read, the second written; an own head begins at log V."""
    labels = ids[:, 6:]
    model = T5(T5Config(**SIZES, tie_head=False))
    return model, lambda m, _: F.cross_entropy(
        m(ids[:, :6], shift_right(labels)).flatten(0, 1), labels.flatten()
    )


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("make", [gpt_batch, bert_batch, t5_batch])
def test_each_model_overfits_one_batch(
    make: Callable[[Tensor, Generator], tuple[nn.Module, Objective]],
    optimizer: str,
    generator: Generator,
) -> None:
    """From log 11 = 2.4 nats to next to nothing: gradients and updates do their work."""
    model, objective = make(torch.randint(2, 11, (4, 12), generator=generator), generator)
    optim = OptimConfig(lr=1e-2, n_warmup=10, weight_decay=0.0, optimizer=optimizer)
    losses = fit(model, objective, optim, n_steps=150, generator=generator).losses
    assert losses[0] == pytest.approx(math.log(11), abs=0.8 if make is t5_batch else 0.2)
    assert losses[-1] < 0.02


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lr": 0.0}, r"0 < lr < inf, got 0.0"),
        ({"lr": math.nan}, r"0 < lr < inf, got nan"),
        ({"lr": math.inf}, r"0 < lr < inf, got inf"),
        ({"n_warmup": -1}, r"n_warmup >= 0, got -1"),
        ({"final_lr": math.nan}, r"0 <= final_lr < inf, got nan"),
        ({"final_lr": -0.1}, r"0 <= final_lr < inf, got -0.1"),
        ({"betas": (2, 3)}, r"two betas in \[0, 1\), got \(2, 3\)"),
        ({"betas": (0.9, 1.0)}, r"two betas in \[0, 1\), got \(0.9, 1.0\)"),
        ({"betas": (0.9,)}, r"two betas in \[0, 1\), got \(0.9,\)"),
        ({"weight_decay": -0.1}, r"0 <= weight_decay < inf, got -0.1"),
        ({"clip_norm": -1}, r"clip_norm > 0, got -1"),
        ({"clip_norm": math.nan}, r"clip_norm > 0, got nan"),
        ({"optimizer": "sgd"}, r"optimizer 'adamw' or 'muon', got 'sgd'"),
        ({"optimizer": "muon", "relative_lr": True}, r"no relative_lr with Muon"),
    ],
    ids=str,
)
def test_settings_that_train_nothing_are_refused(wrong: dict[str, Any], message: str) -> None:
    """The option is named, and what came. No clipping is an infinite norm, which is none of it."""
    with pytest.raises(ValueError, match=f"expected {message}"):
        OptimConfig(**{"lr": 0.1, **wrong})
    assert OptimConfig(lr=0.1, clip_norm=math.inf).clip_norm == math.inf


def test_runs_that_cannot_be_are_refused() -> None:
    """Before anything happens: no steps, or a warm-up longer than all of them."""
    for n_steps, n_warmup in ((0, 0), (5, 6)):
        optim = OptimConfig(lr=0.1, n_warmup=n_warmup)
        with pytest.raises(
            ValueError, match=f"n_steps >= 1 and n_warmup, got {n_steps}, {n_warmup}"
        ):
            fit(nn.Linear(3, 1), squares, optim, n_steps=n_steps, generator=Generator())
