# SPDX-License-Identifier: MIT
"""One small run of `pretrain.training.fit` with a checkpoint, for :mod:`soak` to kill.

    python tools/soak_fit.py KIND TEXT FOLDER

It says what it does: one line before the first step, one after each loss, one after the last step.
"""

import functools
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Generator, Tensor, nn

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.objectives import BatchLoss, causal_lm_loss, masked_lm_loss
from pretrain.paths import replacing
from pretrain.seq2seq import span_corruption_loss
from pretrain.t5 import T5
from pretrain.training import fit
from soak_runs import CHECKPOINT, CHECKPOINT_EVERY, EVALUATE_EVERY, LAST, MODEL_SIZES, N_STEPS

BATCH: dict[str, Any] = {"batch_size": 8, "seq_len": 24}
N_SPECIAL = 8
"""Ids below the characters': padding, mask, sentinels."""


def main(kind: str, text: Path, folder: Path) -> None:
    """Train, or go on where the checkpoint stands, and write losses and weights.

    Args:
        kind: Objective: "causal", "masked" or "spans".
        text: What to train on.
        folder: For the checkpoint, the losses and the weights.
    """
    model, batch_loss = make_run(kind, text.read_text(encoding="utf-8"))
    held_out = torch.Generator()

    def evaluate(model: nn.Module) -> float:
        """Score batches that are the same at each call."""
        return float(batch_loss(model, held_out.manual_seed(5)))

    print(f"{kind}: {N_STEPS} steps", flush=True)
    history = fit(
        model, told(batch_loss), n_steps=N_STEPS, lr=1e-3, n_warmup=3, relative_lr=kind == "spans",
        generator=torch.Generator().manual_seed(1), evaluate=evaluate,
        evaluate_every=EVALUATE_EVERY, checkpoint=folder / CHECKPOINT,
        checkpoint_every=CHECKPOINT_EVERY, progress=False,
    )  # fmt: skip
    print(LAST, flush=True)
    with replacing(folder / "model.safetensors") as part:
        save_file({k: v.contiguous() for k, v in tensors_of(model).items()}, part)
    with replacing(folder / "history.json") as part:
        part.write_text(json.dumps(asdict(history)), encoding="utf-8")


def make_run(kind: str, text: str) -> tuple[nn.Module, BatchLoss]:
    """Make a model, drawn from a seed, and its loss on the characters of a text.

    Args:
        kind: Objective.
        text: Its characters become the ids from `N_SPECIAL` on.

    Returns:
        The model and the loss.
    """
    alphabet = sorted(set(text))
    ids = torch.tensor([alphabet.index(c) + N_SPECIAL for c in text])
    vocab_size = len(alphabet) + N_SPECIAL
    torch.manual_seed(0)
    if kind == "causal":
        return GPT(vocab_size, max_len=BATCH["seq_len"], **MODEL_SIZES), causal_lm_loss(
            ids, **BATCH
        )
    if kind == "masked":
        return BERT(vocab_size, max_len=BATCH["seq_len"], **MODEL_SIZES), masked_lm_loss(
            ids, mask_id=1, vocab_size=vocab_size, special_ids=range(N_SPECIAL), **BATCH
        )
    return T5(vocab_size, **MODEL_SIZES), span_corruption_loss(
        ids, first_sentinel_id=N_SPECIAL - 1, n_sentinels=N_SPECIAL - 1, **BATCH
    )


def told(batch_loss: BatchLoss) -> BatchLoss:
    """Make a loss say that it was computed; `fit` sees the same settings."""

    @functools.wraps(batch_loss)
    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Compute the loss and say so."""
        value = batch_loss(model, generator)
        print("step", flush=True)
        return value

    return loss


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's tensors, one that has two names once."""
    return dict(model.named_parameters()) | dict(model.named_buffers())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
