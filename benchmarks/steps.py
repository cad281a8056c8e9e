# SPDX-License-Identifier: MIT
"""Benchmark (b): one training step of our GPT and BERT against `transformers`.

A step is forward, loss, backward, clipping and AdamW, by one function and with the same ids on both
sides. Our BERT computes its head only where a token was selected; the other side computes it
everywhere. Ids are random, since the time does not depend on them.
"""

import statistics
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from benchmarks.peers import VOCAB_SIZE, Shape, bert_pair, gpt_pair
from benchmarks.rows import Row, score_row, time_row
from benchmarks.timing import Pairs, alternate, measure
from pretrain.objectives import IGNORE_INDEX, Objective
from pretrain.training import OptimConfig, make_optimizer

SHAPES = (Shape(96, 2, 4, 64, 48), Shape(256, 4, 4, 16, 128))
KINDS = ("GPT", "GPT, same GELU kernel", "BERT")
DROPOUTS = (0.1, 0.0)
MLM_PROBABILITY = 0.15
N_PAIRS = 9


def row_name(kind: str, shape: Shape, dropout: float) -> str:
    """Name the row of one comparison."""
    return f"b {kind} step, {shape.d_model} x {shape.n_layers}, dropout {dropout}"


def peak_name(kind: str, shape: Shape) -> str:
    """Name the row that sets a step beside the machine's peak."""
    return f"b {kind} share of peak, {shape.d_model} x {shape.n_layers}"


def run() -> list[Row]:
    """Measure every kind at both shapes, with and without dropout.

    Returns twelve rows of step times and six of shares of the peak.
    """
    rows = []
    peak = matmul_peak()
    for shape in SHAPES:
        for kind in KINDS:
            for dropout in DROPOUTS:
                pairs = _step_pairs(kind, shape, dropout)
                note = f"{shape.batch_size} x {shape.seq_len} tokens"
                name = row_name(kind, shape, dropout)
                rows.append(time_row(name, pairs, unit="CPU ms", scale=1e3, note=note))
            rows.append(_peak_row(kind, shape, pairs, peak))  # the run without dropout
    return rows


def train_step(
    model: nn.Module, objective: Objective, optimizer: torch.optim.Optimizer, generator: Generator
) -> float:
    """Do one iteration of the loop of `pretrain.training.fit`; return the loss before the update.

    The model is in training mode; the learning rate is that of the optimizer.
    """
    loss = objective(model, generator)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def matmul_peak(size: int = 2048, n_repeats: int = 9) -> float:
    """Measure the speed of multiplying two square float32 matrices, in operations per CPU-second.

    The median of `n_repeats` repetitions counts.
    """
    a, b = torch.randn(size, size), torch.randn(size, size)
    a @ b
    times = [measure(lambda: a @ b).cpu for _ in range(n_repeats)]
    return 2 * size**3 / statistics.median(times)


def step_flops(shape: Shape, n_predicted: int, *, dense_head: bool) -> float:
    """Count the operations of the matrix products of one step, forward and backward.

    A multiplication and its addition count as two, backward as twice forward.

    Args:
        n_predicted: Positions at which the vocabulary is scored.
        dense_head: Whether a dense layer (BERT's) comes before the output matrix.
    """
    d_model, tokens = shape.d_model, shape.batch_size * shape.seq_len
    layer = 12 * d_model**2 + 2 * d_model * shape.seq_len  # weights, then scores and mixing
    head = d_model * VOCAB_SIZE + (d_model**2 if dense_head else 0)
    return 6.0 * (tokens * shape.n_layers * layer + n_predicted * head)


def _step_pairs(kind: str, shape: Shape, dropout: float) -> Pairs:
    """Alternate training steps of both sides on the same ids."""
    torch.manual_seed(0)
    models: tuple[nn.Module, nn.Module]
    if kind == "BERT":
        models, losses = bert_pair(shape, dropout=dropout), _masked_losses(shape)
    else:
        models = gpt_pair(shape, dropout=dropout, same_kernel=kind.endswith("kernel"))
        losses = _causal_losses(shape)
    ours, peer = (_stepper(m, loss) for m, loss in zip(models, losses, strict=True))
    return alternate(ours, peer, n_pairs=N_PAIRS, n_warmup=3)


def _stepper(model: nn.Module, objective: Objective) -> Callable[[], object]:
    """Make a function that trains a model by one step."""
    optimizer = make_optimizer(model, OptimConfig(lr=1e-4))
    return partial(train_step, model.train(), objective, optimizer, torch.Generator())


def _random_ids(shape: Shape, extra: int = 0) -> Tensor:
    """Draw ids, int64 (B, T + extra)."""
    size = (shape.batch_size, shape.seq_len + extra)
    return torch.randint(VOCAB_SIZE, size, generator=torch.Generator().manual_seed(0))


def _causal_losses(shape: Shape) -> tuple[Objective, Objective]:
    """Make the next-token loss of both sides."""
    ids = _random_ids(shape, extra=1)
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].flatten()

    def ours(model: nn.Module, generator: Generator) -> Tensor:
        """Score with our GPT."""
        return F.cross_entropy(model(inputs).flatten(0, 1), targets)

    def peer(model: nn.Module, generator: Generator) -> Tensor:
        """Score with the other side's; without a cache, as one trains."""
        logits = model(input_ids=inputs, use_cache=False).logits
        return F.cross_entropy(logits.flatten(0, 1), targets)

    return ours, peer


def _masked_losses(shape: Shape) -> tuple[Objective, Objective]:
    """Make the masked loss of both sides, with the same positions selected."""
    ids = _random_ids(shape)
    chance = torch.rand(ids.shape, generator=torch.Generator().manual_seed(1))
    selected = chance < MLM_PROBABILITY
    targets, labels = ids[selected], ids.masked_fill(~selected, IGNORE_INDEX).flatten()

    def ours(model: nn.Module, generator: Generator) -> Tensor:
        """Score the selected positions."""
        return F.cross_entropy(model(ids, masked_positions=selected), targets)

    def peer(model: nn.Module, generator: Generator) -> Tensor:
        """Score every position, and ignore those that were not selected."""
        logits = model(input_ids=ids).logits
        return F.cross_entropy(logits.flatten(0, 1), labels, ignore_index=IGNORE_INDEX)

    return ours, peer


def _peak_row(kind: str, shape: Shape, pairs: Pairs, peak: float) -> Row:
    """Compute which share of the machine's peak the matrix products of a step reach."""
    tokens = shape.batch_size * shape.seq_len
    dense_head = kind == "BERT"
    n_ours = round(MLM_PROBABILITY * tokens) if dense_head else tokens
    ours = step_flops(shape, n_ours, dense_head=dense_head) / peak
    peer = step_flops(shape, tokens, dense_head=dense_head) / peak
    shares = [ours / a.cpu for a in pairs.ours], [peer / b.cpu for b in pairs.peer]
    return score_row(
        peak_name(kind, shape),
        *shares,
        unit="share of peak",
        note=f"no dropout; the peak is {peak / 1e9:.0f} GFLOP per CPU-second",
    )
