# SPDX-License-Identifier: MIT
"""One training loop for every objective.

Papers: Loshchilov & Hutter 2019 (arXiv:1711.05101) for AdamW; Liu et al. 2025 (arXiv:2502.16982)
for Muon with AdamW's rates; Vaswani et al. 2017 and Radford et al. 2018 for warm-up followed by
decay.

Left out: mixed precision, gradient accumulation, several devices; for these see the command
`python -m pretrain_lab.train`. A run is saved and resumed by a hook, `pretrain_lab.run_state`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Generator, Tensor, nn

from pretrain.evaluation import eval_mode
from pretrain.muon import Muon, MuonWithAdamW
from pretrain.objectives import Objective


@dataclass
class History:
    """What a run left behind."""

    losses: list[float] = field(default_factory=list)
    """Training loss of each step, in nats per predicted token, before its update."""
    evaluations: list[tuple[int, float]] = field(default_factory=list)
    """(steps done, value of the function that `Evaluate` was given)."""


@dataclass(frozen=True)
class OptimConfig:
    """How parameters are updated: the rule, warm-up to a peak, decay along half a cosine."""

    lr: float  # the peak of the learning rate
    n_warmup: int = 0  # steps over which the rate rises from zero
    final_lr: float = 0.0  # share of the peak that is left one step after the last
    betas: tuple[float, float] = (0.9, 0.95)  # decay rates of AdamW's two moments
    weight_decay: float = 0.1  # of matrices and embeddings; biases and norms do not decay
    clip_norm: float = 1.0  # largest global norm of the gradient
    relative_lr: bool = False  # a rate is a share of each parameter's size (T5)
    optimizer: str = "adamw"  # or "muon": for the matrices in blocks, and AdamW for all else

    def __post_init__(self) -> None:
        """Refuse settings that train nothing; a clip_norm of infinity clips nothing."""
        if not 0 < self.lr < math.inf:
            raise ValueError(f"expected 0 < lr < inf, got {self.lr}")
        if self.n_warmup < 0:
            raise ValueError(f"expected n_warmup >= 0, got {self.n_warmup}")
        for name in ("final_lr", "weight_decay"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"expected 0 <= {name} < inf, got {getattr(self, name)}")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"expected two betas in [0, 1), got {self.betas}")
        if not self.clip_norm > 0:
            raise ValueError(f"expected clip_norm > 0, got {self.clip_norm}")
        if self.optimizer not in ("adamw", "muon"):
            raise ValueError(f"expected optimizer 'adamw' or 'muon', got {self.optimizer!r}")
        if self.optimizer == "muon" and self.relative_lr:
            raise ValueError("expected no relative_lr with Muon, whose steps have one size")

    def rate(self, step: int, n_steps: int) -> float:
        """Give the learning rate of a step, 0..n_steps - 1.

        Source: Radford et al. 2018 (GPT-1), section 4.1.
        """
        if step < self.n_warmup:
            return self.lr * (step + 1) / self.n_warmup
        progress = (step - self.n_warmup) / max(1, n_steps - self.n_warmup)
        cosine = 0.5 * (1 + math.cos(math.pi * progress))
        return self.lr * (self.final_lr + (1 - self.final_lr) * cosine)


def make_optimizer(model: nn.Module, optim: OptimConfig) -> torch.optim.Optimizer:
    """Make AdamW, in torch's fused form, or Muon with AdamW; biases and norms do not decay.

    Muon replaces the gradient of a matrix, averaged over steps, by the nearest matrix whose
    singular values are all 1, so that no direction is learned much faster than another. It is for
    the matrices in blocks; embeddings and output layers, which are tables, stay with AdamW.

    Source: Loshchilov & Hutter 2019 (arXiv:1711.05101) for AdamW; Liu et al. 2025
        (arXiv:2502.16982), section 2.2, for steps of Muon as large as AdamW's.
    """
    if optim.optimizer == "muon":
        named = list(model.named_parameters())
        matrices = [p for name, p in named if p.dim() == 2 and "blocks." in name]
        tables = [p for name, p in named if p.dim() == 2 and "blocks." not in name]
        rest = [p for _, p in named if p.dim() != 2]
        muon = Muon(matrices, optim.lr, optim.weight_decay, momentum=optim.betas[1])
        groups: list[dict[str, Any]] = [
            {"params": tables, "weight_decay": optim.weight_decay},
            {"params": rest, "weight_decay": 0.0},
        ]
        adamw = torch.optim.AdamW(groups, lr=optim.lr, betas=optim.betas, fused=True)
        return MuonWithAdamW(muon, adamw)
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": part, "weight_decay": decay, "relative": optim.relative_lr}
        for params, decay in ((decayed, optim.weight_decay), (plain, 0.0))
        for part in ([[p] for p in params] if optim.relative_lr else [params])
    ]
    return torch.optim.AdamW(groups, lr=optim.lr, betas=optim.betas, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the rate of all groups, for relative ones times the size of the parameter now.

    AdamW moves every entry by about its rate, whatever the entry's size. T5 is drawn on very
    different scales: 1 for embeddings, (D K)^-0.5 for queries, which replaces the division by √K
    in attention. One rate is then too small for the former and too large for the latter.

    Source: Shazeer & Stern 2018 (arXiv:1804.04235), section 8, the step size of T5's optimiser:
        the rate times max(1e-3, root mean square of the parameter). differs: AdamW's step.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate * (_size(group["params"][0]) if group.get("relative") else 1.0)


@torch.no_grad()
def _size(parameter: Tensor) -> float:
    """Give the root mean square of a parameter, and not less than 1e-3."""
    norm: Any = parameter.norm()
    if hasattr(norm, "full_tensor"):  # this process holds one part of a sharded parameter
        norm = norm.full_tensor()
    return max(1e-3, norm.item() / parameter.numel() ** 0.5)


@dataclass
class Run:
    """The state of a training, as its hooks see it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    generator: Generator
    objective: Objective
    optim: OptimConfig
    n_steps: int
    history: History = field(default_factory=History)

    @property
    def step(self) -> int:
        """Steps done."""
        return len(self.history.losses)

    def is_due(self, every: int) -> bool:
        """Say whether something happens now that happens every so many steps and at the end."""
        return self.step % every == 0 or self.step == self.n_steps


class Hook:
    """Something else that happens while a model trains; each method may be left as it is."""

    def begin(self, run: Run) -> None:
        """Called once, before the first step."""

    def after_step(self, run: Run) -> None:
        """Called after every update."""

    def save(self, run: Run) -> None:
        """Called after every update too, when `after_step` of all hooks is done."""

    def end(self, run: Run) -> None:
        """Called once, also when the training was interrupted."""


class Evaluate(Hook):
    """Call a function of the model now and then, and note what it returns."""

    def __init__(self, function: Callable[[nn.Module], float], *, every: int = 100) -> None:
        """Keep what is called, in evaluation mode, every so many steps and after the last."""
        if every < 1:
            raise ValueError(f"expected every >= 1, got {every}")
        self.function, self.every = function, every

    def after_step(self, run: Run) -> None:
        """Evaluate, when it is time."""
        if run.is_due(self.every):
            with eval_mode(run.model), torch.no_grad():
                run.history.evaluations.append((run.step, float(self.function(run.model))))


def fit(
    model: nn.Module,
    objective: Objective,
    optim: OptimConfig,
    *,
    n_steps: int,
    generator: Generator,
    hooks: Sequence[Hook] = (),
) -> History:
    """Train a model; the three paradigms differ in the objective and in nothing else here.

    Args:
        model: Changed in place; left in evaluation mode.
        objective: Draws a batch with the generator and returns the mean loss, in nats.
        generator: Source of randomness of the batches. Dropout draws from torch's global one.
        hooks: What else happens on the way, such as `Evaluate`.

    Returns:
        Losses of every step and the evaluations.

    Raises:
        ValueError: n_steps < 1, or a warm-up longer than the run.
        FloatingPointError: The loss or its gradient became infinite or NaN; the parameters are
            from before.
    """
    if n_steps < 1 or optim.n_warmup > n_steps:
        raise ValueError(f"expected n_steps >= 1 and n_warmup, got {n_steps}, {optim.n_warmup}")
    optimizer = make_optimizer(model, optim)
    run = Run(model, optimizer, generator, objective, optim, n_steps)
    for hook in hooks:
        hook.begin(run)
    model.train()
    try:
        while run.step < n_steps:
            set_learning_rate(optimizer, optim.rate(run.step, n_steps))
            loss = objective(model, generator)  # draws its batch
            if not loss.isfinite():
                raise FloatingPointError(f"step {run.step}: expected a finite loss, got {loss}")
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), optim.clip_norm)
            if not norm.isfinite():
                raise FloatingPointError(
                    f"step {run.step}: expected a finite gradient, got norm {norm}"
                )
            optimizer.step()
            run.history.losses.append(loss.item())
            for hook in hooks:
                hook.after_step(run)
            for hook in hooks:  # whatever their order, what one saves is what all have left
                hook.save(run)
    finally:
        model.eval()  # also when a reader stops the cell
        for hook in hooks:
            hook.end(run)
        optimizer.zero_grad()  # they take as much memory as the model
    return run.history
