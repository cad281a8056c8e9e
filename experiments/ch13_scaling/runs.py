# SPDX-License-Identifier: MIT
"""One training of the study of scaling, its loss on unread plays, and its learning rate."""

import math
import time
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from experiments.ch05_bert.setup import load_ids
from experiments.ch13_scaling.plan import (
    BETAS,
    FINAL_LR,
    SEQ_LEN,
    VOCAB_SIZE,
    WARMUP_SHARE,
    Cell,
    OnePass,
    Plan,
    make_model,
)
from pretrain.evaluation import eval_mode
from pretrain.gpt import GPT
from pretrain.training import Evaluate, OptimConfig, fit


@cache
def plays() -> dict[str, Tensor]:
    """Encode the plays of each split, int64 (L,).

    Raises:
        ValueError: The number of characters in the plays is not that of the plan.
    """
    tokenizer, ids = load_ids()
    if tokenizer.vocab_size != VOCAB_SIZE:
        raise ValueError(f"expected {VOCAB_SIZE} ids, got {tokenizer.vocab_size}")
    return ids


def unread(split: str, n: int) -> Tensor:
    """Take n windows on which losses are computed, int64 (n, T + 1), spread over the plays."""
    windows = plays()[split].unfold(0, SEQ_LEN + 1, SEQ_LEN)
    n = min(n, len(windows))
    return windows[torch.linspace(0, len(windows) - 1, n).long()]


@torch.no_grad()
def unread_loss(model: GPT, windows: Tensor) -> float:
    """Return the mean loss over every position of the unread windows, nats per character."""
    total = 0.0
    with eval_mode(model):
        for batch in torch.split(windows, 64):
            logits = model(batch[:, :-1]).flatten(0, 1)
            total += F.cross_entropy(logits, batch[:, 1:].flatten(), reduction="sum").item()
    return total / windows[:, 1:].numel()


def run(
    plan: Plan, cell: Cell, lr: float, seed: int, split: str, *, on_the_way: bool = False
) -> dict[str, Any]:
    """Train one cell from nothing, with a schedule that ends where its text ends.

    Args:
        plan: How long the shortest run is, and how much is read at the end.
        seed: Of the weights, and of which windows are read in which order.
        split: Whose loss is reported: "validation" for choices, "test" for results.
        on_the_way: Whether to take the loss at every shorter amount of text too: that of a
            checkpoint whose schedule is not over.

    Returns:
        JSON values: "loss" in nats per character, "on_the_way" by level, times.
    """
    started, cpu_started = time.time(), time.process_time()
    torch.manual_seed(seed)
    model = make_model(cell.width)
    loss = OnePass(plays()["train"], Generator().manual_seed(1000 + seed))
    windows, passed = unread(split, plan.n_windows[split]), dict[str, float]()
    calls = iter(range(1, cell.level + 1))

    def look(model: torch.nn.Module) -> float:
        """Take the loss where a shorter run would end; nothing elsewhere."""
        level = next(calls)
        if level in plan.levels and level < cell.level:
            passed[str(level)] = unread_loss(model, windows)  # type: ignore[arg-type]
        return math.nan

    steps = plan.n_steps(cell)
    try:
        optim = OptimConfig(
            lr=lr, n_warmup=round(WARMUP_SHARE * steps), final_lr=FINAL_LR, betas=BETAS
        )
        hooks = [Evaluate(look, every=plan.shortest)] if on_the_way else []
        fit(model, loss, optim, n_steps=steps, generator=Generator(), hooks=hooks)
        final = unread_loss(model, windows)
    except FloatingPointError:  # a rate that is too high; no better than a guess
        final = math.log(VOCAB_SIZE)
    return {
        "loss": final, "on_the_way": passed, "lr": lr, "n_characters": plan.n_characters(cell),
        "n_read": loss.n_taken * SEQ_LEN, "started": started,
        "cpu_seconds": time.process_time() - cpu_started,
    }  # fmt: skip


def best_rate(rates: list[float], losses: list[float]) -> tuple[float, bool]:
    """Find the lowest point between the tried rates, ascending and evenly spaced in log.

    Returns the vertex of the parabola through the best and its neighbours, over log rate; and
    whether the best rate has neighbours. If not, it is returned itself. `losses` are on validation
    plays.
    """
    best = int(np.argmin(losses))
    if not 0 < best < len(rates) - 1:
        return rates[best], False
    left, middle, right = losses[best - 1 : best + 2]
    bend = left - 2 * middle + right
    shift = 0.0 if bend == 0 else (left - right) / (2 * bend)
    step = math.log(rates[best + 1] / rates[best])
    return rates[best] * math.exp(shift * step), True


class RateRule:
    """log rate = a + b log N + c log D, by least squares over the tuned cells."""

    def __init__(self, n: list[float], d: list[float], rates: list[float]) -> None:
        """Fit the rule to parameters, characters and best rate of each tuned cell."""
        columns = np.stack([np.ones(len(n)), np.log(n), np.log(d)], axis=1)
        self.weights = np.linalg.lstsq(columns, np.log(rates), rcond=None)[0]
        errors = columns @ self.weights - np.log(rates)
        self.worst_factor = float(np.exp(np.abs(errors).max()))

    def __call__(self, n: float, d: float) -> float:
        """Return the rate of n parameters that read d characters."""
        return float(np.exp(self.weights @ [1.0, math.log(n), math.log(d)]))
