# SPDX-License-Identifier: MIT
"""Benchmark (c): the loss reached in the time of nanoGPT's published CPU recipe.

Implemented: that recipe (`nanogpt_recipe`) trained to its end; then our book's recipe, stopped when
it has used as many CPU-seconds. Five seeds each. Both are scored on every character of the
validation part, in windows of 64 characters, the recipe's own context.
"""

import time

import torch
from torch import Generator, Tensor, nn

from benchmarks.nanogpt_recipe import SEQ_LEN, NanoGPT, train_nanogpt
from benchmarks.rows import Row, score_row
from benchmarks.text import Split, benchmark_text, large_split
from benchmarks.timing import measure
from pretrain.evaluation import token_losses
from pretrain.gpt import GPT
from pretrain.objectives import causal_lm_loss
from pretrain.training import learning_rate, make_optimizer, train_step

ROW_NAME = "c validation loss at equal time"
N_PAIRS = 5
SHAPE = {"d_model": 64, "n_layers": 3, "n_heads": 4, "max_len": 128, "init_std": 0.08}
BATCH_SIZE, PEAK_RATE, FINAL_SHARE, WARMUP_SHARE = 16, 1e-2, 0.02, 0.05
"""The recipe of the book's GPT (`experiments/book_models/character_models.py`), with a shorter
warm-up."""


def run() -> list[Row]:
    """Train both with each seed.

    Returns:
        One row, in nats per character.
    """
    split = large_split(benchmark_text())
    losses: tuple[list[float], list[float]] = ([], [])
    seconds = []
    for seed in range(N_PAIRS):
        torch.manual_seed(seed)
        peer = NanoGPT(split.tokenizer.vocab_size)
        generator = Generator().manual_seed(seed)
        cost = measure(lambda: list(train_nanogpt(peer, split.train, generator)))  # noqa: B023
        seconds.append(cost.cpu)
        ours = train_for(cost.cpu, split, seed)
        for model, column in zip((ours, peer), losses, strict=True):
            column.append(_loss(model, split.validation))
    note = f"{min(seconds):.0f} to {max(seconds):.0f} CPU-seconds of training each"
    return [score_row(ROW_NAME, *losses, unit="nats/character", note=note)]


def train_for(cpu_seconds: float, split: Split, seed: int) -> GPT:
    """Train the book's GPT until it has used its time.

    The schedule follows the time used instead of the steps done, so that the rate has fallen when
    the time is up, however fast the machine is.

    Args:
        cpu_seconds: Time for training; building the model is free on both sides.
        split: Text and vocabulary.
        seed: Of the weights and the batches.

    Returns:
        The model, in evaluation mode.
    """
    torch.manual_seed(seed)
    model = GPT(split.tokenizer.vocab_size, **SHAPE)  # type: ignore[arg-type]
    generator = Generator().manual_seed(seed)
    batch_loss = causal_lm_loss(split.train, batch_size=BATCH_SIZE, seq_len=model.max_len)
    optimizer = make_optimizer(model, lr=PEAK_RATE, betas=(0.9, 0.95), weight_decay=0.1)
    model.train()
    start = time.process_time()
    while (used := time.process_time() - start) < cpu_seconds:
        rate = learning_rate(
            int(1_000 * used / cpu_seconds),
            n_steps=1_000,
            peak=PEAK_RATE,
            n_warmup=round(1_000 * WARMUP_SHARE),
            final=FINAL_SHARE,
        )
        for group in optimizer.param_groups:
            group["lr"] = rate
        train_step(model, batch_loss, optimizer, generator, clip_norm=1.0)
    return model.eval()


def _loss(model: nn.Module, ids: Tensor) -> float:
    """Score all characters in windows of the published recipe's length."""
    model.eval()
    return token_losses(model, ids, seq_len=SEQ_LEN).mean().item()  # type: ignore[arg-type]
