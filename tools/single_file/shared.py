# SPDX-License-Identifier: MIT
"""What all three scripts need: two texts, a training loop, a table, and a record of the run.

Implemented: `train` is the loop of `pretrain.training.fit` without resume, evaluation on the way
and progress bar, so the same seed gives the same losses. Left out: everything that needs more than
torch.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Generator, Tensor, nn

from pretrain.objectives import BatchLoss
from pretrain.training import learning_rate, make_optimizer, set_learning_rate, train_step


def parse_options(description: str, n_steps: int) -> argparse.Namespace:
    """Read the command line.

    Args:
        description: First lines of the help text.
        n_steps: Steps when the command names no number: those of the chapter.

    Returns:
        train, unseen, seed, steps and json.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("train", type=Path, help="text to train on")
    parser.add_argument("--unseen", type=Path, help="text to judge on (default: the last tenth)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (default 0)")
    parser.add_argument("--steps", type=int, default=n_steps, help=f"updates (default {n_steps:,})")
    parser.add_argument("--json", type=Path, help="file for losses and table")
    return parser.parse_args()


def read_texts(options: argparse.Namespace) -> tuple[str, str]:
    """Read both texts, or cut the last tenth of the lines off the one there is.

    Args:
        options: Of `parse_options`.

    Returns:
        Text to train on and unseen text.
    """
    train_text = options.train.read_text(encoding="utf-8")
    if options.unseen:
        return train_text, options.unseen.read_text(encoding="utf-8")
    lines = train_text.splitlines(keepends=True)
    cut = len(lines) - max(1, len(lines) // 10)
    return "".join(lines[:cut]), "".join(lines[cut:])


def note_settings(loss: BatchLoss, ids: Tensor, **settings: Any) -> BatchLoss:
    """Leave a loss as it is; the package notes here what a resumed run must agree with."""
    return loss


def train(
    model: nn.Module,
    batch_loss: BatchLoss,
    *,
    n_steps: int,
    lr: float,
    n_warmup: int,
    final_lr: float,
    generator: Generator,
) -> list[float]:
    """Train a model with AdamW, warm-up and cosine decay, as every chapter does.

    Args:
        model: Changed in place; left in evaluation mode.
        batch_loss: Draws a batch with the generator and returns the mean loss, in nats.
        n_steps: Number of updates.
        lr: Peak learning rate.
        n_warmup: Steps over which the rate rises from zero.
        final_lr: Share of the peak rate that the decay ends in.
        generator: Source of randomness of the batches.

    Returns:
        Loss of each step before its update, in nats per prediction.
    """
    optimizer = make_optimizer(model, lr=lr, betas=(0.9, 0.95), weight_decay=0.1)
    losses = []
    model.train()
    for step in range(n_steps):
        rate = learning_rate(step, n_steps=n_steps, peak=lr, n_warmup=n_warmup, final=final_lr)
        set_learning_rate(optimizer, rate)
        losses.append(train_step(model, batch_loss, optimizer, generator, clip_norm=1.0))
        if (step + 1) % max(1, n_steps // 10) == 0:
            print(f"step {step + 1:>5,} of {n_steps:,}: loss {losses[-1]:.3f} nats", flush=True)
    model.eval()
    return losses


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their columns, the first column to the left, the others to the right.

    Args:
        columns: Their names.
        rows: One text for each column.
    """
    cells = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    print()
    for row in cells:
        first, *others = (cell.ljust(w) if i == 0 else cell.rjust(w)
                          for i, (cell, w) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        print("  ".join([first, *others]))


def save_run(options: argparse.Namespace, losses: list[float], **results: Any) -> None:
    """Write what a run gave, when the command names a file.

    Args:
        options: Of `parse_options`.
        losses: Loss of each step.
        results: JSON values.
    """
    if options.json:
        record = {"seed": options.seed, "n_steps": options.steps, "losses": losses, **results}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
