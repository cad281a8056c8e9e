# SPDX-License-Identifier: MIT
"""Three objectives, one corpus, one vocabulary, one size, one budget of operations (WLD-R1).

Writes data/runs/three_objectives.json, and for seed 0 the weights worldview_gpt, worldview_bert
and worldview_t5 with their cards to data/checkpoints.

Every model is trained on the same plays with the same number of floating-point operations
(`pretrain_lab.scaling.flops`: forward and backward, the head where something is predicted). A step
costs the three differently, so they take different numbers of steps. Each objective has its own
recipe (place of the norm, initial weights, learning rate, short windows first), chosen on the
validation plays; to train all with one recipe would be to choose a winner. Their own losses answer
three different questions and are not comparable. What is compared: blanks and spans of the test
plays (`questions`) and frozen probes (`probes`), the same ones for all.

A finished run (one model, one seed) is kept until the record is written, so a killed study goes
on, and two processes may train different seeds:

    python -m experiments.ch07_worldview.three_objectives --seeds 0 2 4 &
    python -m experiments.ch07_worldview.three_objectives --seeds 1 3; wait
    python -m experiments.ch07_worldview.three_objectives              # trains what is missing,
    writes the record

`--only gpt` trains one objective; `--tune` prints its curve on the validation plays and stores
nothing; `--quick` tries everything in some 40 seconds and stores nothing. A stage may have its own
`n_warmup` and, for T5, its own `noise`, such as {"mean_noise_span_length": 2.0}.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from experiments.ch07_worldview.probes import (
    N_SENTENCES,
    Task,
    baseline_probes,
    make_tasks,
    probe_model,
)
from experiments.ch07_worldview.questions import (
    MIDDLE,
    SEQ_LEN,
    SPAN_LEN,
    SPANS,
    SPECIAL,
    TOKENIZER,
    Numbers,
    answer_bits,
    ask_blanks,
    ask_counts,
    ask_spans,
    ask_text,
    ask_whole,
    blank_guess,
    count_models,
)
from experiments.ch07_worldview.record import (
    judge_blanks,
    judge_probes,
    judge_spans,
    judge_whole,
    mean,
    no_seeds,
    over_items,
)
from experiments.common.arm_cache import ArmCache
from experiments.common.records import rounded, seed_interval, versions
from pretrain.bert import BERT, BERTConfig
from pretrain.evaluation import eval_mode
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM, MaskedLM, Objective, SpanCorruptionLM
from pretrain.span_corruption import SpanCorruption, count_spans
from pretrain.t5 import T5, T5Config
from pretrain.training import Evaluate, History, OptimConfig, fit
from pretrain_lab.checkpoints import load_model, save_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.scaling.flops import TRAINING, bert_flops, gpt_flops, t5_flops

SEEDS = (0, 1, 2, 3, 4)
BUDGET = 1.2e13  # operations of one training
N_POINTS = 10  # of each curve
NOISE: dict[str, dict[str, Any]] = {
    "bert": {"mlm_probability": 0.15}, "t5": {"noise_density": 0.15}
}  # fmt: skip
SHAPE = {"d_model": 96, "n_heads": 4}
# A T5 of two blocks and two has four attention layers in self-attention and two in
# cross-attention; with d_ff = 3 D its matrices are exactly as large as those of four blocks of 4 D.
RECIPES: dict[str, dict[str, Any]] = {
    "gpt": {
        "options": {"n_layers": 4, "max_len": SEQ_LEN, "norm": "pre", "init_std": 0.05},
        "weight_decay": 0.1,
        "stages": [
            {"seq_len": 64, "batch_size": 32, "share": 1.0, "lr": 1e-2, "final_lr": 0.02},
        ],
    },
    "bert": {
        "options": {"n_layers": 4, "max_len": SEQ_LEN, "norm": "post", "init_std": 0.05},
        "weight_decay": 0.1,
        "stages": [
            {"seq_len": 16, "batch_size": 128, "share": 0.25, "lr": 3e-3, "final_lr": 0.5},
            {"seq_len": 64, "batch_size": 32, "share": 0.75, "lr": 3e-3, "final_lr": 0.02},
        ],
    },
    "t5": {
        "options": {"n_layers": 2, "d_ff": 288},
        "relative_lr": True,
        "weight_decay": 0.01,
        "stages": [
            {"seq_len": 16, "batch_size": 128, "share": 0.25, "lr": 4e-2, "final_lr": 0.5},
            {"seq_len": 64, "batch_size": 32, "share": 0.75, "lr": 4e-2, "final_lr": 0.02},
        ],
    },
}
N_WARMUP = 100  # steps at the start of each stage
CLASSES: dict[str, tuple[Any, Any]] = {
    "gpt": (GPT, GPTConfig), "bert": (BERT, BERTConfig), "t5": (T5, T5Config)
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """How much is trained and asked."""

    budget: float = BUDGET
    numbers: Numbers = field(default_factory=Numbers)
    n_whole: int = 150  # blanks for which seed 0 rescores the whole vocabulary
    n_sentences: Mapping[str, int] = field(default_factory=lambda: N_SENTENCES)  # of the probes
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Take a two-thousandth of the budget and ask little."""
        sentences = {"train": 200, "validation": 60, "test": 60}
        return cls(BUDGET / 2000, Numbers.quick(), 2, sentences, keep=False)


def load_ids() -> dict[str, Tensor]:
    """Encode the plays of each split as one long sequence, int64 (L,)."""
    return {
        split: TOKENIZER.encode("\n".join(play.text for play in load_shakespeare(split)))
        for split in ("train", "validation", "test")
    }


def new_model(name: str, seed: int) -> Any:
    """Make an untrained model of the study's size."""
    torch.manual_seed(seed)
    model, config = CLASSES[name]
    return model(config(TOKENIZER.vocab_size, **SHAPE, **RECIPES[name]["options"]))


def make_loss(name: str, ids: Tensor, stage: dict[str, Any]) -> Objective:
    """Return the objective of a model on random windows of a text, as a stage has them."""
    batch: dict[str, Any] = {key: stage[key] for key in ("batch_size", "seq_len")}
    if name == "gpt":
        return CausalLM(ids, **batch)
    if name == "bert":
        return MaskedLM(ids, **batch, **NOISE["bert"], **SPECIAL)
    return SpanCorruptionLM(ids, **batch, spans=SpanCorruption(**noise_of(stage), **SPANS))


def noise_of(stage: dict[str, Any]) -> dict[str, Any]:
    """Return how much of T5's text is corrupted in a stage."""
    return NOISE["t5"] | stage.get("noise", {})


def step_cost(model: Any, stage: dict[str, Any]) -> dict[str, float]:
    """Return what one step of training costs and yields.

    `stage` has batch_size B, seq_len T in tokens of text, and for T5 its noise. The result has
    operations (forward and backward), tokens of text read, predictions (of a BERT the expected
    number; of a T5 with sentinels and end), and predicted tokens of text.
    """
    batch_size, seq_len = stage["batch_size"], stage["seq_len"]
    flops: float
    if isinstance(model, GPT):
        predictions = text = float(seq_len)
        flops = gpt_flops(model, seq_len)
    elif isinstance(model, BERT):
        predictions = text = NOISE["bert"]["mlm_probability"] * seq_len
        none, one = (bert_flops(model, seq_len, n) for n in (0, 1))
        flops = none + text * (one - none)
    else:
        n_noise, n_spans = count_spans(seq_len, **noise_of(stage))
        predictions, text = n_noise + n_spans + 2, float(n_noise)  # a sentinel and the end
        flops = t5_flops(model, seq_len - n_noise + n_spans + 1, n_noise + n_spans + 2)
    return {
        "flops": TRAINING * batch_size * flops,
        "tokens_read": batch_size * seq_len,
        "predictions": batch_size * predictions,
        "text_predictions": batch_size * text,
    }


def planned_stages(name: str, budget: float) -> list[dict[str, Any]]:
    """Turn shares of the budget, in operations, into steps; add the cost of a step to each."""
    model = new_model(name, 0)
    stages = []
    for stage in RECIPES[name]["stages"]:
        cost = step_cost(model, stage)
        n_steps = max(1, round(stage["share"] * budget / cost["flops"]))
        stages.append({**stage, "n_steps": n_steps, "cost": cost})
    return stages


def totals(stages: list[dict[str, Any]]) -> dict[str, float]:
    """Add up steps, operations, tokens and predictions of all stages."""
    found = {"steps": float(sum(stage["n_steps"] for stage in stages))}
    for key in ("flops", "tokens_read", "predictions", "text_predictions"):
        found[key] = sum(stage["n_steps"] * stage["cost"][key] for stage in stages)
    return found


class Curve:
    """Asks a model the first blanks along its training, and keeps the time apart."""

    def __init__(self, test_ids: Tensor, numbers: Numbers) -> None:
        """Draw the windows; they are the first ones of `ask_blanks`."""
        self.windows = numbers.blanks(test_ids)[: numbers.n_curve]
        self.reach = MIDDLE
        self.seconds = 0.0

    def __call__(self, model: nn.Module) -> float:
        """Return the mean bits of the blanks, read as far as the model has been trained."""
        started = time.process_time()
        with torch.no_grad(), eval_mode(model):
            guess = blank_guess(model, self.windows, self.reach)
        value = answer_bits(guess, self.windows).mean().item()
        self.seconds += time.process_time() - started
        return value


def fit_stage(
    name: str,
    model: Any,
    ids: Tensor,
    stage: dict[str, Any],
    generator: Generator,
    *,
    evaluate: Callable[[nn.Module], float] | None = None,
    evaluate_every: int = 1,
) -> History:
    """Train a model for one stage of `planned_stages` on tokens, int64 (N,).

    `generator` draws windows and corruption; `evaluate` and `evaluate_every` are as in `fit`.
    """
    return fit(
        model,
        make_loss(name, ids, stage),
        OptimConfig(
            lr=stage["lr"],
            n_warmup=min(stage.get("n_warmup", N_WARMUP), stage["n_steps"] // 4),
            final_lr=stage["final_lr"],
            weight_decay=RECIPES[name]["weight_decay"],
            relative_lr=RECIPES[name].get("relative_lr", False),
        ),
        n_steps=stage["n_steps"],
        generator=generator,
        hooks=[Evaluate(evaluate, every=evaluate_every)] if evaluate else [],
    )


def train(name: str, seed: int, ids: dict[str, Tensor], plan: Plan) -> tuple[Any, Any]:
    """Train one model for the budget of a plan.

    Returns the model; and its curve, losses and CPU-seconds (without the questions).
    """
    model, generator = new_model(name, seed), Generator().manual_seed(1000 + seed)
    curve, losses = Curve(ids["test"], plan.numbers), []
    points, done, started = [[0.0, curve(model)]], 0.0, time.process_time()
    curve.seconds = 0.0
    for stage in planned_stages(name, plan.budget):
        curve.reach, step_flops = stage["seq_len"] // 2, stage["cost"]["flops"]
        history = fit_stage(
            name, model, ids["train"], stage, generator, evaluate=curve,
            evaluate_every=max(1, round(plan.budget / N_POINTS / step_flops)),
        )  # fmt: skip
        points += [[done + step * step_flops, value] for step, value in history.evaluations]
        losses += [
            [done + step * step_flops, _recent(history.losses[:step])]
            for step, _ in history.evaluations
        ]
        done += stage["n_steps"] * step_flops
        print(name, seed, f"{done:.2e}", rounded(points[-1][1], 3), flush=True)
    seconds = time.process_time() - started - curve.seconds
    return model, {"curve": points, "train_loss": losses, "cpu_seconds": seconds}


def _recent(losses: list[float]) -> float:
    """Average the last 50 losses."""
    return sum(losses[-50:]) / len(losses[-50:])


@torch.no_grad()
def own_loss(name: str, model: nn.Module, ids: Tensor) -> float:
    """Return a model's own loss on 20 fixed batches of unseen plays, in nats per prediction."""
    loss = make_loss(name, ids, {"batch_size": 32, "seq_len": SEQ_LEN})
    generator = Generator().manual_seed(36)
    with eval_mode(model):
        return sum(float(loss(model, generator)) for _ in range(20)) / 20


def run(
    name: str, seed: int, ids: dict[str, Tensor], tasks: dict[str, Task], plan: Plan
) -> dict[str, Any]:
    """Train one model and ask it everything; store the weights of seed 0; return JSON values."""
    model, result = train(name, seed, ids, plan)
    result["own_loss"] = own_loss(name, model, ids["test"])
    result["blanks"] = ask_blanks(model, ids["test"], plan.numbers, exact=seed == 0)
    result["spans"] = ask_spans(model, ids["test"], plan.numbers.n_spans)
    if name == "gpt":
        result["text"] = ask_text(model, ids["test"], plan.numbers.n_text)
    result["probes"] = probe_model(model, tasks)
    result["untrained"] = probe_model(new_model(name, seed).eval(), tasks)
    if seed == 0 and plan.keep:
        store(name, model, result)
    return result


def store(name: str, model: Any, result: dict[str, Any]) -> None:
    """Write the weights of a run with their card."""
    card = {
        "data": "Shakespeare, training plays (data/README.md), vocabulary plays_bpe",
        "study": "experiments/ch07_worldview/three_objectives.py, seed 0",
        "recipe": RECIPES[name],
        "plan": planned_stages(name, BUDGET),
        "totals": totals(planned_stages(name, BUDGET)),
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "own_loss_nats": result["own_loss"],
        "blank_bits": mean(result["blanks"]["own"]["bits"]),
        "cpu_seconds": round(result["cpu_seconds"]),
        "versions": versions(),
    }
    save_model(CHECKPOINTS / f"worldview_{name}.safetensors", model, TOKENIZER, rounded(card))


def gather(
    runs: dict[str, list[Any]],
    ids: dict[str, Tensor],
    tasks: dict[str, Task],
    seeds: list[int],
    whole: dict[str, list[float]],
    plan: Plan,
) -> dict[str, Any]:
    """Make the record of all runs.

    `runs` has those of each model in the order of the seeds; `whole` is from `ask_whole`, seed 0.
    """
    models, tried = count_models(ids, plan.numbers.n_blanks)
    counts = ask_counts(models, ids["test"], plan.numbers)
    return {
        "question": "Which objective gives what, for one budget of operations?",
        "unit": "bits per token; accuracy; operations",
        "interval": "95 %; low and high over seeds (Student's t), over_items by bootstrap",
        "recipe": {
            "shape": SHAPE,
            "models": RECIPES,
            "noise": NOISE,
            "n_warmup": N_WARMUP,
            "budget": plan.budget,
        },
        "plan": {name: planned_stages(name, plan.budget) for name in runs},
        "totals": {name: totals(planned_stages(name, plan.budget)) for name in runs},
        "n_parameters": {
            name: sum(p.numel() for p in new_model(name, 0).parameters()) for name in runs
        },
        "seeds": seeds,
        "settings": {
            **asdict(plan.numbers),
            "seq_len": SEQ_LEN,
            "middle": MIDDLE,
            "span_len": SPAN_LEN,
        },
        "n_tokens": {split: len(text) for split, text in ids.items()},
        "n_sentences": plan.n_sentences,
        "cpu_seconds_each": {
            name: seed_interval([r["cpu_seconds"] for r in results])
            for name, results in runs.items()
        },
        "own_loss": {
            name: seed_interval([r["own_loss"] for r in results]) for name, results in runs.items()
        },
        "n_gram": {"validation_bits": tried},
        "blanks": judge_blanks(runs, counts, plan.numbers.n_rescored),
        "whole_vocabulary": judge_whole(whole),
        "spans": judge_spans(runs, counts),
        "text": {
            "gpt": over_items([r["text"] for r in runs["gpt"]]),
            "n-gram from the left": no_seeds(counts["text"]),
        },
        "probes": judge_probes(runs, baseline_probes(tasks)),
        "curves": {
            name: {
                "flops": [point[0] for point in results[0]["curve"]],
                "blank_bits": [[point[1] for point in r["curve"]] for r in results],
                "loss_flops": [point[0] for point in results[0]["train_loss"]],
                "train_loss": [[point[1] for point in r["train_loss"]] for r in results],
            }
            for name, results in runs.items()
        },
    }


def tune(names: list[str], seeds: list[int], ids: dict[str, Tensor]) -> None:
    """Train and print the curve on the validation plays, by which the recipes were chosen."""
    for seed in seeds:
        for name in names:
            model, found = train(name, seed, ids | {"test": ids["validation"]}, Plan())
            found["own_loss"] = own_loss(name, model, ids["validation"])
            print(name, seed, json.dumps(rounded(found, 3)), flush=True)


def main() -> None:
    """Train what is missing; write the record when nothing was left out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(RECIPES), nargs="+", default=list(RECIPES))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    ids, plan = load_ids(), Plan.quick() if options.quick else Plan()
    names = [name for name in RECIPES if name in options.only]
    if options.tune:
        tune(names, options.seeds, ids)
        return
    seeds = [0, 1] if options.quick else options.seeds
    tasks = make_tasks(dict(plan.n_sentences))
    settings = [SHAPE, RECIPES, NOISE, N_POINTS, N_WARMUP, asdict(plan)]
    cache = ArmCache("three_objectives", settings, keep=plan.keep)
    runs = {
        name: [cache.get(f"{name} {s}", partial(run, name, s, ids, tasks, plan)) for s in seeds]
        for name in names
    }
    if names == list(RECIPES) and (options.quick or tuple(seeds) == SEEDS):
        stored = (
            {name: load_model(f"worldview_{name}")[0] for name in names}
            if plan.keep
            else {name: new_model(name, 0).eval() for name in names}
        )
        whole = ask_whole(stored, ids["test"], plan.n_whole, plan.numbers)
        cache.conclude(gather(runs, ids, tasks, seeds, whole, plan))


if __name__ == "__main__":
    main()
