# SPDX-License-Identifier: MIT
"""One training loop for every objective.

Papers: Loshchilov & Hutter 2019 (arXiv:1711.05101) for AdamW; Vaswani et al. 2017 and Radford et
al. 2018 for warm-up followed by decay.

Implemented: parameter groups, learning-rate schedule, steps relative to a parameter's size (which
T5 needs), clipping, loss history, evaluation on the way, exact resume (`pretrain.run_state`). Left
out: mixed precision, gradient accumulation, several devices; for these see `pretrain_lab.train`,
which takes the same step (`pretrain.training`).

The step that every training of this book takes: gradients of a batch, then one update.

Paper: Loshchilov & Hutter 2019 (arXiv:1711.05101) for the optimiser that usually takes it.

Implemented: gradients of one loss or of several parts of one, the check of the value, clipping,
the update. `pretrain.training.fit` and the command `pretrain_lab.train` both take it; what differs
between one process and many (who computes gradients, how a value is summed up) is an argument.
Left out: scaling of losses for 16-bit floats with a small range (float16).
"""

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor, nn
from tqdm.auto import tqdm

from pretrain.evaluation import evaluating
from pretrain.objectives import BatchLoss
from pretrain.run_state import History, load_checkpoint, save_checkpoint
from pretrain_lab.progress import is_interactive


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    losses: Iterable[Tensor],
    *,
    clip_norm: float,
    backward: Callable[[Tensor], Any] = torch.autograd.backward,
    clip: Callable[..., Any] = nn.utils.clip_grad_norm_,
    total: Callable[[Tensor], float] | None = None,
) -> float:
    """Add up the gradients of the losses and change the parameters once.

    Each loss is used before the next one is asked for, so a generator that computes them holds
    the activations of one part of a batch at a time.

    Args:
        model: Changed in place.
        optimizer: Holds the parameters and the learning rate.
        losses: Scalars whose sum is the loss of the step, at least one.
        clip_norm: Largest allowed global norm of the gradient.
        backward: Adds the gradients of one loss.
        clip: Takes the parameters and clip_norm, and scales the gradients down.
        total: Turns this process's sum into the loss of the step; None = it is that already.

    Returns:
        The loss before the update, in nats per predicted token.

    Raises:
        FloatingPointError: The loss is not finite. The parameters are those from before.
    """
    optimizer.zero_grad()
    parts: list[Tensor] = []
    for loss in losses:
        parts.append(loss.detach())
        backward(loss)
    whole = parts[0] if len(parts) == 1 else torch.stack(parts).sum()
    value = float(whole if total is None else total(whole))
    if not math.isfinite(value):
        raise FloatingPointError(f"expected a finite loss, got {value}")
    clip(model.parameters(), clip_norm)
    optimizer.step()
    return value


def learning_rate(step: int, *, n_steps: int, peak: float, n_warmup: int, final: float) -> float:
    """Rise linearly to the peak, then fall along half a cosine.

    Args:
        step: Steps done before this one, 0..n_steps - 1.
        n_steps: Length of the run, in steps.
        peak: Highest learning rate.
        n_warmup: Steps of the rise.
        final: Share of the peak that is left at step n_steps, which is no longer taken.

    Returns:
        The learning rate of this step.

    Source: Radford et al. 2018 (GPT-1), section 4.1.
    """
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    progress = (step - n_warmup) / max(1, n_steps - n_warmup)
    return peak * (final + (1 - final) * 0.5 * (1 + math.cos(math.pi * progress)))


def make_optimizer(
    model: nn.Module,
    *,
    lr: float,
    betas: tuple[float, float],
    weight_decay: float,
    relative: bool = False,
) -> torch.optim.AdamW:
    """Make AdamW; matrices decay, biases and norms do not.

    Args:
        model: Its parameters are optimised.
        lr: Learning rate.
        betas: Decay rates of the two moments.
        weight_decay: Decay of all parameters with two or more dimensions.
        relative: Whether every parameter is a group of its own, for `set_learning_rate`.

    Returns:
        The optimiser, in torch's fused form.

    Source: Loshchilov & Hutter 2019 (arXiv:1711.05101).
    """
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    groups: list[dict[str, Any]] = [
        {"params": part, "weight_decay": decay, "relative": relative}
        for params, decay in ((decayed, weight_decay), (plain, 0.0))
        for part in ([[p] for p in params] if relative else [params])
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the rate of all groups, for relative ones times the size of the parameter now.

    AdamW moves every entry by about its rate, whatever the entry's size. T5 is drawn on very
    different scales: 1 for embeddings, (D K)^-0.5 for queries, which replaces the division by
    sqrt(K) in attention. One rate is then too small for the former and too large for the latter.

    Args:
        optimizer: Of `make_optimizer`.
        rate: Learning rate, or share of a parameter's size by which a step changes it.

    Source: Shazeer & Stern 2018 (arXiv:1804.04235), section 8, the step size of T5's optimiser:
        the rate times max(1e-3, root mean square of the parameter). differs: AdamW's step.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate * (_size(group["params"][0]) if group["relative"] else 1.0)


@torch.no_grad()
def _size(parameter: Tensor) -> float:
    """Give the root mean square of a parameter, and not less than 1e-3."""
    norm: Any = parameter.norm()
    if hasattr(norm, "full_tensor"):  # this process holds one part of a sharded parameter
        norm = norm.full_tensor()
    return max(1e-3, norm.item() / parameter.numel() ** 0.5)


def train_step(
    model: nn.Module,
    batch_loss: BatchLoss,
    optimizer: torch.optim.Optimizer,
    generator: Generator,
    *,
    clip_norm: float,
) -> float:
    """Draw a batch, compute the loss, and update the parameters once.

    Args:
        model: Changed in place.
        batch_loss: Draws a batch and returns its loss.
        optimizer: Holds the parameters and the learning rate.
        generator: Source of randomness of the batch.
        clip_norm: Largest allowed global norm of the gradient.

    Returns:
        The loss before the update, in nats per predicted token.

    Raises:
        FloatingPointError: The loss is not finite.
    """
    loss = batch_loss(model, generator)
    return update(model, optimizer, [loss], clip_norm=clip_norm)


def fit(
    model: nn.Module,
    batch_loss: BatchLoss,
    *,
    n_steps: int,
    lr: float,
    generator: Generator,
    n_warmup: int = 0,
    final_lr: float = 0.0,
    betas: tuple[float, float] = (0.9, 0.95),
    weight_decay: float = 0.1,
    clip_norm: float = 1.0,
    relative_lr: bool = False,
    evaluate: Callable[[nn.Module], float] | None = None,
    evaluate_every: int = 100,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    progress: bool | None = None,
) -> History:
    """Train a model, with the objective given as a function.

    The three paradigms differ in `batch_loss` and in nothing else here.

    Args:
        model: Changed in place; left in evaluation mode.
        batch_loss: Draws a batch with the generator and returns the mean loss, in nats.
        n_steps: Number of updates.
        lr: Peak learning rate.
        generator: Source of randomness of the batches. Dropout draws from torch's global
            generator, whose state the checkpoint keeps too.
        n_warmup: Steps over which the rate rises from zero.
        final_lr: Share of the peak rate that the decay ends in, one step after the last.
        betas: Decay rates of AdamW's moments.
        weight_decay: AdamW's decay of matrices and embeddings.
        clip_norm: Largest global gradient norm.
        relative_lr: Whether a rate is a share of each parameter's size; see `set_learning_rate`.
        evaluate: Called with the model in evaluation mode, without gradients.
        evaluate_every: Steps between two calls; it is called after the last step too.
        checkpoint: File to save to, and to resume from when it exists. A resume is refused when
            the settings, the model's options or, for the losses of `pretrain.objectives`, the
            text and the batches differ.
        checkpoint_every: Steps between two saves.
        progress: Whether to show a bar; None = when somebody watches, in a terminal or in a
            notebook's front end, so that no stored output ever holds one.

    Returns:
        Losses of every step and the evaluations.

    Raises:
        ValueError: n_steps < 1, lr <= 0, n_warmup outside 0..n_steps, or an interval < 1.
        CheckpointError: The checkpoint is damaged or belongs to other settings.
        FloatingPointError: The loss became infinite or NaN.
    """
    if evaluate_every < 1 or checkpoint_every < 1:
        raise ValueError(
            "expected evaluate_every and checkpoint_every >= 1, got "
            f"{evaluate_every} and {checkpoint_every}"
        )
    if n_steps < 1 or lr <= 0 or not 0 <= n_warmup <= n_steps:
        raise ValueError(
            "expected n_steps >= 1, lr > 0 and n_warmup in 0..n_steps, got "
            f"{n_steps}, {lr} and {n_warmup}"
        )
    optimizer = make_optimizer(
        model, lr=lr, betas=betas, weight_decay=weight_decay, relative=relative_lr
    )
    settings = {
        "n_steps": n_steps, "lr": lr, "n_warmup": n_warmup, "final_lr": final_lr,
        "betas": list(betas), "weight_decay": weight_decay, "clip_norm": clip_norm,
        "evaluate_every": evaluate_every if evaluate else None,
        **({"relative_lr": True} if relative_lr else {}),
        **{f"model.{k}": v for k, v in getattr(model, "options", {}).items()},
        **{f"loss.{k}": v for k, v in getattr(batch_loss, "settings", {}).items()},
    }  # fmt: skip
    path = Path(checkpoint) if checkpoint is not None else None
    history = History()
    if path is not None and path.exists():
        history = load_checkpoint(path, model, optimizer, generator, settings)
    watched = is_interactive() or sys.stderr.isatty()
    hidden = not (watched if progress is None else progress)
    model.train()
    try:
        with tqdm(total=n_steps, initial=len(history.losses), disable=hidden, unit="step") as bar:
            while (step := len(history.losses)) < n_steps:
                rate = learning_rate(
                    step, n_steps=n_steps, peak=lr, n_warmup=n_warmup, final=final_lr
                )
                set_learning_rate(optimizer, rate)
                try:
                    loss = train_step(model, batch_loss, optimizer, generator, clip_norm=clip_norm)
                except FloatingPointError as error:
                    raise FloatingPointError(f"step {step}: {error}") from error
                history.losses.append(loss)
                done = step + 1
                if evaluate is not None and (done % evaluate_every == 0 or done == n_steps):
                    with evaluating(model), torch.no_grad():
                        history.evaluations.append((done, float(evaluate(model))))
                if path is not None and (done % checkpoint_every == 0 or done == n_steps):
                    save_checkpoint(path, model, optimizer, generator, history, settings)
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
    finally:
        model.eval()  # also when a reader stops the cell
    return history
