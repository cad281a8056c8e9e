# SPDX-License-Identifier: MIT
"""One small T5, five tasks: span filling, reversed words, genre, sentiment, titles (T5-R2).

Writes data/runs/text_to_text.json, and the model to data/checkpoints/t5_tasks.safetensors. Two arms
are trained on the same mixture, for as many steps in windows of 64 tokens: one goes on from the
book's T5 ("t5_subwords", with smaller steps and dropout), which is the model that is stored; the
other starts from random weights. One seed each; the intervals are over the unseen questions, not
over trainings.
Unseen are the plays, films and words of the test split; for genre, where a split has one play of
each, those of the validation split too, on which nothing was chosen.

Baselines for each answer: the majority class and a logistic regression on word counts
(scikit-learn's defaults), the source itself, the first words of a plot, its most frequent
capitalised words, and the most frequent word of a title.

Option --quick trains for a few steps on a few examples, prints what it would record, and writes
nothing.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Generator

from experiments.ch06_t5.setup import split_ids
from experiments.ch06_t5.task_scores import (
    judge_class,
    judge_fill,
    judge_prefixes,
    judge_reversal,
    judge_titles,
    mean,
    spread,
)
from experiments.common.arm_cache import ArmCache
from experiments.common.records import Clock, rounded, write_run
from experiments.common.run_files import save_in
from experiments.common.special_ids import sentinels_of
from pretrain.objectives import Objective, SpanCorruptionLM
from pretrain.span_corruption import SpanCorruption
from pretrain.t5 import T5, T5Config
from pretrain.training import OptimConfig, fit
from pretrain_lab.checkpoints import load_model, save_model
from pretrain_lab.finetuning.text_to_text import Mixture, predict, task_loss
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tasks.text_to_text import TASKS, Example
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

SEED = 0
FILL_SEED = 41
SHAPE: dict[str, Any] = {"d_model": 96, "n_layers": 2, "n_heads": 4}
START = "t5_subwords"
STAGE_KEYS = ("seq_len", "batch_size", "n_steps", "lr", "final_lr")
STAGES: dict[str, Any] = {
    "pre-trained": ((64, 32, 8000, 0.01, 0.02),),
    "from scratch": ((16, 128, 500, 0.04, 0.5), (64, 32, 8000, 0.04, 0.02)),
}
"""STAGE_KEYS of each stage; seq_len is that of the span-filling windows, short ones first."""
DROPOUT_PROB = {"pre-trained": 0.1, "from scratch": 0.0}
N_WARMUP = 100
WEIGHT_DECAY = 0.01
MAX_SOURCE_LEN = 112  # tokens; cuts most plots and hardly anything else
MAX_TARGET_LEN = 24
PROPORTIONS = {"fill": 0.35, "reverse": 0.15, "genre": 0.15, "sentiment": 0.2, "title": 0.15}
NAMES = ("reverse", "genre", "sentiment", "title")
N_ASKED = {"reverse": 1000, "genre": 1200, "sentiment": 2000, "title": 1000}
"""Most questions of each task; there are fewer plots, so all are asked."""


@dataclass(frozen=True)
class Plan:
    """How much is trained and asked."""

    n_steps: int | None = None  # of each stage; None = as STAGES says
    n_train: int | None = None  # training examples of each task; None = all
    n_asked: Mapping[str, int] = field(default_factory=lambda: N_ASKED)
    n_fill: int = 600
    n_prefix_texts: int = 300
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Take a few steps on a few examples, and keep nothing."""
        return cls(20, 200, dict.fromkeys(N_ASKED, 24), n_fill=10, n_prefix_texts=12, keep=False)

    def stages(self, arm: str) -> list[tuple[int, int, int, float, float]]:
        """Return the stages of an arm."""
        return [(*s[:2], self.n_steps or s[2], *s[3:]) for s in STAGES[arm]]


def read_examples(plan: Plan) -> tuple[dict[str, list[Example]], dict[str, list[Example]]]:
    """Load the training examples of each task, and the unseen ones that are asked."""
    train = {name: TASKS[name].examples("train") for name in NAMES}
    unseen = {name: TASKS[name].examples("test") for name in NAMES}
    unseen["genre"] += TASKS["genre"].examples("validation")
    if plan.n_train is not None:
        train = {name: spread(rows, plan.n_train) for name, rows in train.items()}
    return train, {name: spread(rows, plan.n_asked[name]) for name, rows in unseen.items()}


def start_model(arm: str, tokenizer: SubwordTokenizer) -> T5:
    """Make the model that an arm starts from, in training mode."""
    torch.manual_seed(SEED)
    model = T5(T5Config(tokenizer.vocab_size, **SHAPE, dropout=DROPOUT_PROB[arm]))
    if arm == "pre-trained":
        model.load_state_dict(load_model(START)[0].state_dict())
    return model


def train_model(
    arm: str, tokenizer: SubwordTokenizer, examples: dict[str, list[Example]], stages: Any,
    cache: ArmCache,
) -> tuple[T5, list[float]]:  # fmt: skip
    """Train "pre-trained" or "from scratch" on the mixture, stage by stage.

    `stages` are as one of STAGES; `cache` keeps the state of an interrupted training. Returns the
    model in evaluation mode, and the mean training loss of every hundred steps, in nats.
    """
    model = start_model(arm, tokenizer)
    ids, generator = split_ids(tokenizer, "train"), Generator().manual_seed(1000 + SEED)
    losses: list[float] = []
    for number, (seq_len, batch_size, n_steps, lr, final_lr) in enumerate(stages):
        spans = SpanCorruption(**sentinels_of(tokenizer))
        parts: dict[str, Objective] = {
            "fill": SpanCorruptionLM(ids, batch_size=batch_size, seq_len=seq_len, spans=spans)
        }
        for name, rows in examples.items():
            parts[name] = task_loss(
                rows,
                tokenizer,
                batch_size=max(batch_size, 64) if name == "reverse" else 32,
                max_source_len=min(MAX_SOURCE_LEN, 4 * seq_len),
                max_target_len=MAX_TARGET_LEN,
            )
        history = fit(
            model,
            Mixture(parts, PROPORTIONS),
            OptimConfig(
                lr=lr,
                n_warmup=min(N_WARMUP, n_steps),
                final_lr=final_lr,
                relative_lr=True,
                weight_decay=WEIGHT_DECAY,
            ),
            n_steps=n_steps,
            generator=generator,
            hooks=save_in(cache.path(f"{arm}, stage {number}"), every=500),
        )
        print(
            f"{arm}, stage {number}: last 100 losses {mean(history.losses[-100:]):.3f}", flush=True
        )
        losses += history.losses
    return model.eval(), [round(mean(losses[i : i + 100]), 4) for i in range(0, len(losses), 100)]


def make_card(arm: str, stages: Any, train: dict[str, list[Example]]) -> dict[str, Any]:
    """Describe how the model was made."""
    return {
        "start": START if arm == "pre-trained" else "random weights",
        "dropout_prob": DROPOUT_PROB[arm],
        "data": "training plays, their words, and training films (data/README.md)",
        "vocabulary": "plays_bpe",
        "seed": SEED,
        "shape": SHAPE,
        "stages": [dict(zip(STAGE_KEYS, stage, strict=True)) for stage in stages],
        "n_warmup": N_WARMUP,
        "weight_decay": WEIGHT_DECAY,
        "relative_lr": True,
        "proportions": PROPORTIONS,
        "prefixes": {"fill": "", **{name: TASKS[name].prefix for name in NAMES}},
        "max_source_len": MAX_SOURCE_LEN,
        "n_train_examples": {name: len(rows) for name, rows in train.items()},
    }


def answer(model: T5, tokenizer: SubwordTokenizer, sources: list[str]) -> list[str]:
    """Let a model answer sources."""
    lens = {"max_source_len": MAX_SOURCE_LEN, "max_new_tokens": MAX_TARGET_LEN}
    return predict(model, tokenizer, sources, **lens)


def asker(model: T5, tokenizer: SubwordTokenizer) -> Callable[[list[Example]], list[str]]:
    """Return a function that lets a model answer examples."""
    return lambda examples: answer(model, tokenizer, [e.source for e in examples])


def judge(
    model: T5,
    tokenizer: SubwordTokenizer,
    train: dict[str, list[Example]],
    unseen: dict[str, list[Example]],
    plan: Plan,
) -> dict[str, Any]:
    """Ask the model everything."""
    ask_model = asker(model, tokenizer)
    classes = {
        name: judge_class(name, ask_model, train[name], unseen[name])
        for name in ("genre", "sentiment")
    }
    return {
        "reverse": judge_reversal(ask_model(unseen["reverse"]), unseen["reverse"]),
        **classes,
        "title": judge_titles(ask_model(unseen["title"]), train["title"], unseen["title"]),
        "fill": judge_fill(model, tokenizer, plan.n_fill, seed=FILL_SEED),
        "prefix": judge_prefixes(partial(answer, model, tokenizer), unseen, plan.n_prefix_texts),
    }


def run_arm(
    arm: str,
    tokenizer: SubwordTokenizer,
    train: dict[str, list[Example]],
    unseen: dict[str, list[Example]],
    plan: Plan,
    cache: ArmCache,
) -> tuple[T5, dict[str, Any], dict[str, Any]]:
    """Train an arm and ask it everything; return the model, its card and its scores."""
    stages, cpu_started = plan.stages(arm), time.process_time()
    model, losses = train_model(arm, tokenizer, train, stages, cache)
    card = {
        **make_card(arm, stages, train),
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "train_loss_every_100_steps_nats": losses,
        "training_cpu_seconds": round(time.process_time() - cpu_started),
    }
    return model, card, judge(model, tokenizer, train, unseen, plan)


def main() -> None:
    """Train both arms, ask everything, and write the record and the pre-trained arm's model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    plan = Plan.quick() if parser.parse_args().quick else Plan()
    clock = Clock()
    tokenizer = load_tokenizer("plays_bpe")
    train, unseen = read_examples(plan)
    cache = ArmCache("text_to_text", [SEED, SHAPE, STAGES, DROPOUT_PROB], keep=plan.keep)
    runs = [run_arm(arm, tokenizer, train, unseen, plan, cache) for arm in STAGES]
    (model, card, scores), (_, scratch_card, scratch_scores) = runs
    result = {
        "question": "Can one small model do five tasks, told apart by a prefix?",
        "interval": "95 %; over words for reversal, else a bootstrap over plays, films or windows",
        "n_seeds": 1,
        **card,
        **scores,
        "from_scratch": {**scratch_card, **scratch_scores},
    }
    if not plan.keep:
        print(json.dumps(rounded(result), indent=1))
        return
    save_model(CHECKPOINTS / "t5_tasks.safetensors", model, tokenizer, card)
    write_run("text_to_text", result, clock)
    cache.forget()


if __name__ == "__main__":
    main()
