# SPDX-License-Identifier: MIT
"""Benchmark (c): the loss reached in the time of nanoGPT's published CPU recipe.

Implemented: that recipe (`nanogpt_recipe`) trained to its end; then our book's recipe, stopped when
it has used as many CPU-seconds. Five seeds each. Both are scored on every character of the
validation part, in windows of 64 characters, the recipe's own context.
"""

import time
from typing import Any

import torch
from torch import Generator, Tensor, nn

from benchmarks.nanogpt_recipe import SEQ_LEN, NanoGPT, train_nanogpt
from benchmarks.rows import Row, score_row
from benchmarks.steps import train_step
from benchmarks.text import Split, benchmark_text, large_split
from benchmarks.timing import measure
from pretrain.evaluation import token_losses
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM
from pretrain.training import OptimConfig, make_optimizer, set_learning_rate

ROW_NAME = "c validation loss at equal time"
N_PAIRS = 5
SHAPE: dict[str, Any] = {
    "d_model": 64, "n_layers": 3, "n_heads": 4, "max_len": 128, "init_std": 0.08,
}  # fmt: skip
BATCH_SIZE = 16
OPTIM = OptimConfig(lr=1e-2, n_warmup=50, final_lr=0.02)  # in thousandths of the time
"""The recipe of the book's GPT (`experiments/book_models/character_models.py`), with a shorter
warm-up."""


def run() -> list[Row]:
    """Train both with each seed; return one row, in nats per character."""
    split = large_split(benchmark_text())
    losses: tuple[list[float], list[float]] = ([], [])
    seconds = []
    for seed in range(N_PAIRS):
        torch.manual_seed(seed)
        peer = NanoGPT(split.tokenizer.vocab_size)
        generator = Generator().manual_seed(seed)
        cost = measure(lambda: train_nanogpt(peer, split.train, generator))  # noqa: B023
        seconds.append(cost.cpu)
        ours = train_for(cost.cpu, split, seed)
        for model, column in zip((ours, peer), losses, strict=True):
            column.append(_loss(model, split.validation))
    note = f"{min(seconds):.0f} to {max(seconds):.0f} CPU-seconds of training each"
    return [score_row(ROW_NAME, *losses, unit="nats/character", note=note)]


def train_for(cpu_seconds: float, split: Split, seed: int) -> GPT:
    """Train the book's GPT until it has used its CPU-seconds; return it in evaluation mode.

    The schedule follows the time used instead of the steps done, so that the rate has fallen when
    the time is up, however fast the machine is. Building the model is free on both sides.
    """
    torch.manual_seed(seed)
    model = GPT(GPTConfig(split.tokenizer.vocab_size, **SHAPE)).train()
    generator = Generator().manual_seed(seed)
    objective = CausalLM(split.train, batch_size=BATCH_SIZE, seq_len=model.config.max_len)
    optimizer = make_optimizer(model, OPTIM)
    start = time.process_time()
    while (used := time.process_time() - start) < cpu_seconds:
        set_learning_rate(optimizer, OPTIM.rate(int(1_000 * used / cpu_seconds), 1_000))
        train_step(model, objective, optimizer, generator)
    return model.eval()


def _loss(model: nn.Module, ids: Tensor) -> float:
    """Score all characters in windows of the published recipe's length."""
    model.eval()
    return token_losses(model, ids, seq_len=SEQ_LEN).mean().item()  # type: ignore[arg-type]
