# SPDX-License-Identifier: MIT
"""The step that every training of this book takes: gradients of a batch, then one update.

Paper: Loshchilov & Hutter 2019 (arXiv:1711.05101) for the optimiser that usually takes it.

Implemented: gradients of one loss or of several parts of one, the check of the value, clipping,
the update. `pretrain.training.fit` and the command `pretrain.train` both take it; what differs
between one process and many (who computes gradients, how a value is summed up) is an argument.
Left out: scaling of losses for 16-bit floats with a small range (float16).
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


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
