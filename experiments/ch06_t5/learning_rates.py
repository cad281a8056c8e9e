# SPDX-License-Identifier: MIT
"""One learning rate for all parameters of a T5, or one relative to their sizes (T5-R1)?

Writes data/runs/t5_rates.json. The book's small T5 reads windows of 16 tokens with one span of two
tokens cut out, for 400 steps. All arms are judged every 50 steps on the same corrupted windows of
the validation plays: nats per token of text in the targets, sentinels and end not counted.

Plain AdamW moves every entry by about the learning rate. T5's parameters are drawn on scales from
0.02 (queries) to 1 (embeddings), so the arms differ in how much of its size a parameter moves.

`--quick` takes a few steps in each arm, prints the study and writes nothing.
"""

import argparse
import json
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.book_models.character_models import RECIPES
from experiments.common.records import Clock, rounded, seed_interval, write_run
from experiments.common.special_ids import sentinels_of
from pretrain.objectives import SpanCorruptionLM, shift_right
from pretrain.span_corruption import SpanCorruption, corrupt_spans
from pretrain.t5 import T5, T5Config
from pretrain.training import Evaluate, OptimConfig, fit
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.tokenizers.subwords import load_tokenizer

SEEDS = (0, 1, 2)
SEQ_LEN, BATCH_SIZE, EVERY = 16, 128, 50
N_JUDGED = 2_000
ARMS: dict[str, dict[str, Any]] = {
    "one rate, 0.001": {"lr": 1e-3},
    "one rate, 0.003": {"lr": 3e-3},
    "one rate, 0.01": {"lr": 1e-2},
    "relative, 0.04": {"lr": 4e-2, "relative_lr": True},
}


@dataclass(frozen=True)
class Plan:
    """How much is trained."""

    seeds: tuple[int, ...] = SEEDS
    n_steps: int = 400

    @classmethod
    def quick(cls) -> "Plan":
        """Take a few steps with two seeds."""
        return cls((0, 1), n_steps=6)


FIT: dict[str, Any] = {"n_warmup": 100, "final_lr": 0.5, "weight_decay": 0.01}
TOKENIZER = load_tokenizer("plays_bpe")
SPANS = sentinels_of(TOKENIZER)


def load_ids(split: str) -> Tensor:
    """Encode the plays of a split as one long sequence, int64 (L,)."""
    return TOKENIZER.encode("\n".join(play.text for play in load_shakespeare(split)))


class Judge:
    """Scores a model on fixed corrupted windows."""

    def __init__(self, ids: Tensor) -> None:
        """Cut the start of the text into windows, and a span out of each."""
        windows = ids.unfold(0, SEQ_LEN, SEQ_LEN)[:N_JUDGED]
        self.cut = corrupt_spans(
            windows, SpanCorruption(**SPANS), generator=Generator().manual_seed(0)
        )
        special = torch.tensor(TOKENIZER.special_ids)
        self.is_text = ~torch.isin(self.cut.targets, special)

    def __call__(self, model: Any) -> float:
        """Return the mean nats per token of text."""
        logits = model(self.cut.inputs, shift_right(self.cut.targets))
        log_probs = logits.log_softmax(dim=-1).gather(-1, self.cut.targets[..., None])[..., 0]
        return -log_probs[self.is_text].mean().item()


def run(arm: str, seed: int, train: Tensor, judge: Judge, n_steps: int) -> list[float]:
    """Train one model and return its curve, in nats per token of text."""
    torch.manual_seed(seed)
    model = T5(T5Config(TOKENIZER.vocab_size, **RECIPES["t5"]["shape"]))
    history = fit(
        model,
        SpanCorruptionLM(
            train, batch_size=BATCH_SIZE, seq_len=SEQ_LEN, spans=SpanCorruption(**SPANS)
        ),
        OptimConfig(
            lr=ARMS[arm]["lr"],
            relative_lr=ARMS[arm].get("relative_lr", False),
            n_warmup=min(FIT["n_warmup"], n_steps // 2),
            final_lr=FIT["final_lr"],
            weight_decay=FIT["weight_decay"],
        ),
        n_steps=n_steps,
        generator=Generator().manual_seed(1000 + seed),
        hooks=[Evaluate(judge, every=min(EVERY, n_steps))],
    )
    return [value for _, value in history.evaluations]


def unigram_nats(train: Tensor, judge: Judge) -> float:
    """Return the loss of a T5 that knows only the frequencies of the tokens."""
    counts = torch.bincount(train, minlength=TOKENIZER.vocab_size) + 1.0
    log_probs = (counts / counts.sum()).log()
    return -log_probs[judge.cut.targets[judge.is_text]].mean().item()


def study(plan: Plan) -> dict[str, Any]:
    """Train all arms for each seed and combine the curves."""
    train, judge = load_ids("train"), Judge(load_ids("validation"))
    model = T5(T5Config(TOKENIZER.vocab_size, **RECIPES["t5"]["shape"]))
    curves: dict[str, list[list[float]]] = {arm: [] for arm in ARMS}
    for seed in plan.seeds:
        for arm in ARMS:
            curves[arm].append(run(arm, seed, train, judge, plan.n_steps))
            print(arm, seed, round(curves[arm][-1][-1], 3), flush=True)
    return {
        "question": "Which learning rates get a small T5 past the frequencies of the tokens?",
        "unit": f"nats per token of text, in windows of {SEQ_LEN} tokens of validation plays",
        "recipe": {
            **RECIPES["t5"]["shape"], "seq_len": SEQ_LEN, "batch_size": BATCH_SIZE,
            "n_steps": plan.n_steps, **FIT, "arms": ARMS,
        },
        "seeds": list(plan.seeds),
        "interval": "95 % over seeds, Student's t",
        "initial_sizes": {
            name: parameter.detach().square().mean().sqrt().item()
            for name, parameter in model.named_parameters()
            if name.startswith(("token", "encoder.blocks.0", "encoder.relative"))
        },
        "unigram": unigram_nats(train, judge),
        "steps": list(range(EVERY, plan.n_steps + 1, EVERY)),
        "curves": curves,
        "last": {arm: seed_interval([c[-1] for c in runs]) for arm, runs in curves.items()},
    }  # fmt: skip


def main() -> None:
    """Run the study and write it, or try it and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    if parser.parse_args().quick:
        print(json.dumps(rounded(study(Plan.quick()), 3)))
        return
    clock = Clock()
    write_run("t5_rates", study(Plan()), clock)


if __name__ == "__main__":
    main()
