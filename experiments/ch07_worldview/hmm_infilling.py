# SPDX-License-Identifier: MIT
"""A GPT fills gaps of one token on a source whose best losses are known exactly.

The hidden Markov source of `known_entropy`, fresh samples, half of the batches rearranged: the
same information is put before the gap in two orders (`pretrain_lab.infilling.fill_in_the_middle`).
The gap has one token, so its length is known, and the best loss with both sides is that of forward
and backward messages.
"""

import time
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from experiments.ch07_worldview.known_entropy import (
    OFFSET,
    SOURCE,
    SOURCE_SEED,
    VOCAB_SIZE,
    sample_ids,
    taken,
)
from experiments.common.records import seed_interval
from pretrain.evaluation import eval_mode
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import Objective
from pretrain.training import Evaluate, OptimConfig, fit
from pretrain_lab.infilling.fill_in_the_middle import (
    N_MARKERS,
    ORDERS,
    Markers,
    middle_log_probs,
    move_middle,
)
from pretrain_lab.oracles.hmm import HiddenMarkovSource, random_source
from pretrain_lab.oracles.optimal_losses import gap_interval, optimal_cloze_log_probs
from pretrain_lab.scoring.spans import gpt_span_log_probs

MARKERS = Markers._make(range(VOCAB_SIZE - 1, VOCAB_SIZE - 1 - N_MARKERS, -1))
N_SAMPLES_SEED = 51


@dataclass(frozen=True)
class Plan:
    """Size, recipe, and how much is asked."""

    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    init_std: float = 0.08
    seq_len: int = 16
    batch_size: int = 64
    fim_prob: float = 0.5
    n_steps: int = 3000
    lr: float = 6e-3
    n_warmup: int = 100
    final_lr: float = 0.02
    every: int = 300
    n_windows: int = 2000

    @classmethod
    def quick(cls) -> "Plan":
        """Take some steps only."""
        return cls(n_steps=40, n_warmup=10, every=20, n_windows=100)


def gap_loss(source: HiddenMarkovSource, order: str, plan: Plan) -> Objective:
    """Return the loss on fresh samples; a batch is plain, or has one gap at a random place."""

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw texts, perhaps move one token of each to the end, score each next token."""
        seq_len = plan.seq_len
        ids = sample_ids(source, plan.batch_size, seq_len, generator)
        if torch.rand((), generator=generator) < plan.fim_prob:
            place = int(torch.randint(1, seq_len - 1, (), generator=generator))
            ids = move_middle(ids, place, place + 1, MARKERS, order=order)
        return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    return loss


class Gaps:
    """One gap in the middle of each held-out text, and the best answers to it."""

    def __init__(self, source: HiddenMarkovSource, plan: Plan) -> None:
        """Draw the texts and compute the log-probabilities of the oracle, nats."""
        generator = Generator().manual_seed(N_SAMPLES_SEED)
        n, self.place = plan.n_windows, plan.seq_len // 2
        self.text = sample_ids(source, n, plan.seq_len, generator)
        places, answers = torch.full((n,), self.place), self.text[:, self.place] - OFFSET
        self.oracle = {
            sides: taken(
                optimal_cloze_log_probs(source, self.text, places, sides=sides, offset=OFFSET),
                answers,
            )
            for sides in ("left", "both")
        }

    def ask(self, model: GPT, order: str) -> dict[str, Tensor]:
        """Score the gaps from the left and from both sides, float64 (N,), nats."""
        span = (self.place, self.place + 1)
        with eval_mode(model):
            both = middle_log_probs(model, self.text, *span, MARKERS, order=order)
            left = gpt_span_log_probs(model, self.text, *span)
        return {"left": left[:, 0].double(), "both": both[:, 0].double()}


def run(order: str, seed: int, source: HiddenMarkovSource, plan: Plan) -> Any:
    """Train one GPT.

    Returns the model; [steps, left, both] along the training, mean nats; and CPU-seconds.
    """
    torch.manual_seed(seed)
    model = GPT(
        GPTConfig(
            VOCAB_SIZE,
            d_model=plan.d_model,
            n_layers=plan.n_layers,
            n_heads=plan.n_heads,
            init_std=plan.init_std,
            max_len=plan.seq_len + N_MARKERS,
        )
    )
    gaps, curve = Gaps(source, plan), []
    started = time.process_time()

    def evaluate(model: Any) -> float:
        """Ask the gaps and keep both means."""
        found = gaps.ask(model, order)
        curve.append([-found["left"].mean().item(), -found["both"].mean().item()])
        return curve[-1][1]

    history = fit(
        model,
        gap_loss(source, order, plan),
        OptimConfig(lr=plan.lr, n_warmup=plan.n_warmup, final_lr=plan.final_lr),
        generator=Generator().manual_seed(3000 + seed),
        n_steps=plan.n_steps,
        hooks=[Evaluate(evaluate, every=plan.every)],
    )
    steps = [step for step, _ in history.evaluations]
    points = [[step, *values] for step, values in zip(steps, curve, strict=True)]
    return model, points, time.process_time() - started


def study_source(seeds: list[int], plan: Plan) -> dict[str, Any]:
    """Train a GPT for each order and seed, and compare it with the best possible one.

    Returns the optima; and for each order, losses and gaps to the optima over seeds, and curves.
    """
    source = random_source(**SOURCE, generator=Generator().manual_seed(SOURCE_SEED))
    gaps = Gaps(source, plan)
    rows = torch.arange(plan.n_windows)
    result: dict[str, Any] = {
        "unit": "nats per gap of one token",
        "recipe": asdict(plan),
        "optimum": {side: gap_interval(-value, rows) for side, value in gaps.oracle.items()},
        "orders": {},
    }
    for order in ORDERS:
        losses: dict[str, list[float]] = {"left": [], "both": []}
        over: dict[str, list[Any]] = {"left": [], "both": []}
        curves, seconds = [], []
        for seed in seeds:
            model, curve, spent = run(order, seed, source, plan)
            found = gaps.ask(model, order)
            for side, log_probs in found.items():
                losses[side].append(-log_probs.mean().item())
                over[side].append(gap_interval(gaps.oracle[side] - log_probs, rows))
            curves.append(curve)
            seconds.append(spent)
            print("source", order, seed, round(losses["both"][-1], 3), flush=True)
        result["orders"][order] = {
            "losses": {side: seed_interval(values) for side, values in losses.items()},
            "gap_to_optimum": {
                side: seed_interval([found[0] for found in values]) for side, values in over.items()
            },
            "gap_over_texts": over,
            "both_minus_best_left": seed_interval(
                [loss - result["optimum"]["left"][0] for loss in losses["both"]]
            ),
            "curves": curves,
            "cpu_seconds": seconds,
        }
    return result
