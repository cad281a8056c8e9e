# SPDX-License-Identifier: MIT
"""Benchmark (a): how long until a model is as good as a published chapter's.

Implemented: the chapter's two recipes (`baseline_a`) and ours, five seeds each in turns, on the
same 72,000 characters, scored in the same way on the same 20,000 held-out ones.

Our recipes were chosen on the validation part. The held-out part was seen when the baseline's
initial weights were settled, of which that chapter says nothing: five scales were tried, and the
one that came nearest to its figures was kept. Nothing of ours was chosen on it.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from benchmarks.baseline_a import SEQ_LEN, Baseline, train_baseline
from benchmarks.rows import Row, score_row, time_row
from benchmarks.text import Split, benchmark_text, small_split
from benchmarks.timing import alternate
from pretrain.bert import BERT, BERTConfig
from pretrain.evaluation import masked_accuracy, perplexity
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM, MaskedLM, corrupt_mlm, random_windows
from pretrain.training import OptimConfig, fit
from pretrain_lab.tokenizers.characters import CharTokenizer

N_PAIRS = 5
N_MASKED_WINDOWS = 80 * 64
CAUSAL_SHAPE: dict[str, Any] = {
    "d_model": 64, "n_layers": 2, "n_heads": 4, "d_ff": 256, "activation": "relu", "init_std": 0.1,
}  # fmt: skip
CAUSAL_OPTIM = OptimConfig(lr=8e-3, n_warmup=50)
CAUSAL_STEPS, CAUSAL_BATCH_SIZE = 1_000, 16
MASKED_SHAPE: dict[str, Any] = {
    "d_model": 96, "n_layers": 2, "n_heads": 4, "d_ff": 256, "positions": "sinusoidal",
    "init_std": 0.08, "norm_eps": 1e-5,
}  # fmt: skip
MASKED_OPTIM = OptimConfig(lr=6e-3, n_warmup=50)
MASKED_STEPS, MASKED_BATCH_SIZE, MLM_PROBABILITY = 1_200, 32, 0.3
N_SHORT_STEPS, SHORT_LEN = 300, 16
"""Steps at first with as many characters, cut into windows of 16: neighbours are found sooner."""
CAUSAL_NAMES = ("a causal, training time", "a causal, held-out perplexity")
MASKED_NAMES = (
    "a masked, training time",
    "a masked, held-out top-1 accuracy",
    "a masked, held-out top-5 accuracy",
)


def run() -> list[Row]:
    """Train every model and score it on the held-out part.

    Returns two rows of CPU-seconds, each followed by the quality reached.
    """
    split = small_split(benchmark_text())
    windows, labels = masked_windows(split.held_out, split.tokenizer)
    causal = _rows(
        CAUSAL_NAMES,
        partial(train_causal, split),
        partial(_train_baseline, split, True),
        lambda model: [perplexity(model, split.held_out, seq_len=SEQ_LEN)],
        unit="perplexity",
    )
    masked = _rows(
        MASKED_NAMES,
        partial(train_masked, split),
        partial(_train_baseline, split, False),
        lambda model: list(masked_accuracy(model, windows, labels).values()),
        unit="share",
    )
    return [*causal, *masked]


def train_causal(split: Split, seed: int) -> GPT:
    """Train our GPT by the recipe above; return it in evaluation mode."""
    torch.manual_seed(seed)
    model = GPT(GPTConfig(split.tokenizer.vocab_size, max_len=SEQ_LEN, **CAUSAL_SHAPE))
    objective = CausalLM(split.train, batch_size=CAUSAL_BATCH_SIZE, seq_len=SEQ_LEN)
    generator = Generator().manual_seed(seed)
    fit(model, objective, CAUSAL_OPTIM, n_steps=CAUSAL_STEPS, generator=generator)
    return model


def train_masked(split: Split, seed: int) -> BERT:
    """Train our BERT by the recipe above; return it in evaluation mode."""
    torch.manual_seed(seed)
    model = BERT(BERTConfig(split.tokenizer.vocab_size, max_len=SEQ_LEN, **MASKED_SHAPE))
    n_characters = MASKED_BATCH_SIZE * SEQ_LEN
    short, full = (
        MaskedLM(
            split.train,
            batch_size=n_characters // seq_len,
            seq_len=seq_len,
            mlm_probability=MLM_PROBABILITY,
            **_mask_options(split.tokenizer),
        )
        for seq_len in (SHORT_LEN, SEQ_LEN)
    )
    steps = itertools.count()

    def objective(model: nn.Module, generator: Generator) -> Tensor:
        """Take short windows at first."""
        return (short if next(steps) < N_SHORT_STEPS else full)(model, generator)

    generator = Generator().manual_seed(seed)
    fit(model, objective, MASKED_OPTIM, n_steps=MASKED_STEPS, generator=generator)
    return model


def masked_windows(ids: Tensor, tokenizer: CharTokenizer) -> tuple[Tensor, Tensor]:
    """Corrupt the 80 batches of 64 windows of a text that every masked model is scored on.

    `ids` are int64 (L,). Returns corrupted windows and labels, int64 (5120, 48), the same at every
    call.
    """
    generator = Generator().manual_seed(2026)
    windows = random_windows(ids, N_MASKED_WINDOWS, SEQ_LEN, generator=generator)
    corrupted = corrupt_mlm(windows, generator=generator, **_mask_options(tokenizer))
    return corrupted.ids, corrupted.labels


def _mask_options(tokenizer: CharTokenizer) -> dict[str, Any]:
    """Return what masking needs to know of a vocabulary."""
    return {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }


def _train_baseline(split: Split, causal: bool, seed: int) -> Baseline:
    """Train one of the chapter's models."""
    torch.manual_seed(seed)
    model = Baseline(split.tokenizer.vocab_size, causal=causal)
    generator = Generator().manual_seed(seed)
    for _ in train_baseline(model, split.train, split.tokenizer, generator):
        pass
    return model.eval()


def _rows(
    names: tuple[str, ...],
    train_ours: Callable[[int], nn.Module],
    train_peer: Callable[[int], nn.Module],
    score: Callable[[Any], list[float]],
    *,
    unit: str,
) -> list[Row]:
    """Train in turns, seed after seed, and summarise the time and every score."""
    models: tuple[list[nn.Module], list[nn.Module]] = ([], [])

    def trainer(kept: list[nn.Module], train: Callable[[int], nn.Module]) -> Callable[[], None]:
        """Make a function that trains the next seed and keeps the model."""
        return lambda: kept.append(train(len(kept)))

    ours, peer = (trainer(k, t) for k, t in zip(models, (train_ours, train_peer), strict=True))
    pairs = alternate(ours, peer, n_pairs=N_PAIRS, n_warmup=0)
    scores = [list(zip(*map(score, side), strict=True)) for side in models]
    note = f"{N_PAIRS} seeds; the rows below say what was reached in that time"
    return [
        time_row(names[0], pairs, unit="CPU s", scale=1.0, note=note),
        *(
            score_row(name, a, b, unit=unit, note="20,000 characters that nobody trained on")
            for name, a, b in zip(names[1:], *scores, strict=True)
        ),
    ]
