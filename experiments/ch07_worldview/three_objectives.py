# SPDX-License-Identifier: MIT
"""Three objectives, one corpus, one vocabulary, one size, one budget of operations (WLD-R1).

Writes data/runs/three_objectives.json, and for seed 0 the weights contest_gpt, contest_bert and
contest_t5 with their cards to data/checkpoints, in 6 bits.

Every model is trained on the same plays with the same number of floating-point operations
(`contest`). Each objective chooses its recipe from the same kinds of them: three learning rates,
each with short windows for the first quarter of the operations or without, by the model's own loss
on the validation plays, with a seed that is not used again. All six are tried with a tenth of the
budget, and then the better rate of both kinds with three tenths: a T5 that has not yet left the
plateau of token frequencies cannot be told from one that never will. To train all with one recipe
would be to choose a winner. Their own losses answer three different questions and are not
comparable. What is compared: blanks and spans of the test plays (`questions`) and frozen probes
(`probes`), the same ones for all.

A finished trial or run is kept until the record is written, so a killed study goes on. Two
processes can share the work, each `--only` some of the models; a last call writes the record:

    python -m experiments.ch07_worldview.three_objectives    # about 9 CPU-hours

`--quick` tries everything briefly and stores nothing.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from experiments.ch07_worldview.contest import N_WARMUP, NOISE, Contest, make_loss, totals
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
from experiments.common.records import N_FIRST, rounded, seed_interval, versions
from pretrain.evaluation import eval_mode
from pretrain_lab.checkpoints import load_model, save_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import CHECKPOINTS

SEEDS = (0, 1, 2)
TRIAL_SEED = 100
TRIAL_SHARES = (0.1, 0.3)  # of the budget: all recipes, then the best of each kind of windows
BUDGET = 1.2e14  # operations of one training
N_POINTS = 10  # of each curve
SHAPE = {"d_model": 160, "n_heads": 5, "dropout": 0.1}  # the text is read about ten times
# A T5 of two blocks and two has four attention layers in self-attention and two in
# cross-attention; with d_ff = 3 D its matrices are exactly as large as those of four blocks of 4 D.
OWN: dict[str, dict[str, Any]] = {
    "gpt": {
        "options": {"n_layers": 4, "max_len": SEQ_LEN, "norm": "pre", "init_std": 0.05},
        "weight_decay": 0.1,
    },
    "bert": {
        "options": {"n_layers": 4, "max_len": SEQ_LEN, "norm": "pre", "init_std": 0.05},
        "weight_decay": 0.1,
    },
    "t5": {
        "options": {"n_layers": 2, "d_ff": 480},
        "relative_lr": True,
        "weight_decay": 0.01,
    },
}
RATES: dict[str, tuple[float, ...]] = {
    "gpt": (2.5e-3, 5e-3, 1e-2),
    "bert": (6e-4, 1.25e-3, 2.5e-3, 5e-3),  # the first was added: the second had been the best
    "t5": (2e-2, 4e-2, 8e-2),
}


def recipe_of(name: str, lr: float, *, short_windows: bool) -> dict[str, Any]:
    """Make one of the recipes that a model can choose."""
    whole = {"seq_len": SEQ_LEN, "batch_size": 32, "share": 1.0, "lr": lr, "final_lr": 0.02}
    if not short_windows:
        return {**OWN[name], "stages": [whole]}
    short = {"seq_len": SEQ_LEN // 4, "batch_size": 128, "share": 0.25, "lr": lr, "final_lr": 0.5}
    return {**OWN[name], "stages": [short, {**whole, "share": 0.75}]}


def contest_of(recipes: Mapping[str, Any]) -> Contest:
    """Make the contest of some recipes."""
    return Contest(SHAPE, recipes, BUDGET, fast=True)


@dataclass(frozen=True)
class Plan:
    """How much is trained and asked."""

    share: float = 1.0  # of the budget
    numbers: Numbers = field(default_factory=Numbers)
    n_whole: int = 150  # blanks for which seed 0 rescores the whole vocabulary
    n_sentences: Mapping[str, int] = field(default_factory=lambda: N_SENTENCES)  # of the probes
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Take a two-thousandth of the budget and ask little."""
        sentences = {"train": 200, "validation": 60, "test": 60}
        return cls(1 / 2000, Numbers.quick(), 2, sentences, keep=False)


def load_ids() -> dict[str, Tensor]:
    """Encode the plays of each split as one long sequence, int64 (L,)."""
    return {
        split: TOKENIZER.encode("\n".join(play.text for play in load_shakespeare(split)))
        for split in ("train", "validation", "test")
    }


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


def train(
    contest: Contest, name: str, seed: int, ids: dict[str, Tensor], plan: Plan
) -> tuple[Any, Any]:
    """Train one model for the budget of a plan.

    Returns the model; and its curve, losses and CPU-seconds (without the questions).
    """
    model, generator = contest.new_model(name, seed), Generator().manual_seed(1000 + seed)
    curve, losses, first = Curve(ids["test"], plan.numbers), [], list[float]()
    points, done, started = [[0.0, curve(model)]], 0.0, time.process_time()
    curve.seconds = 0.0
    for stage in contest.stages(name, plan.share):
        curve.reach, step_flops = stage["seq_len"] // 2, stage["cost"]["flops"]
        history = contest.fit_stage(
            name, model, ids["train"], stage, generator, evaluate=curve,
            evaluate_every=max(1, round(plan.share * BUDGET / N_POINTS / step_flops)),
        )  # fmt: skip
        first = first or history.losses[:N_FIRST]
        points += [[done + step * step_flops, value] for step, value in history.evaluations]
        losses += [
            [done + step * step_flops, _recent(history.losses[:step])]
            for step, _ in history.evaluations
        ]
        done += stage["n_steps"] * step_flops
        print(name, seed, f"{done:.2e}", rounded(points[-1][1], 3), flush=True)
    seconds = time.process_time() - started - curve.seconds
    found = {"curve": points, "train_loss": losses, "first_losses": first, "cpu_seconds": seconds}
    return model, found


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
    contest: Contest,
    name: str,
    seed: int,
    ids: dict[str, Tensor],
    tasks: dict[str, Task],
    plan: Plan,
) -> dict[str, Any]:
    """Train one model and ask it everything; store the weights of seed 0; return JSON values."""
    model, result = train(contest, name, seed, ids, plan)
    result["own_loss"] = own_loss(name, model, ids["test"])
    result["blanks"] = ask_blanks(model, ids["test"], plan.numbers, exact=seed == 0)
    result["spans"] = ask_spans(model, ids["test"], plan.numbers.n_spans)
    if name == "gpt":
        result["text"] = ask_text(model, ids["test"], plan.numbers.n_text)
    result["probes"] = probe_model(model, tasks)
    result["untrained"] = probe_model(contest.new_model(name, seed).eval(), tasks)
    if seed == 0 and plan.keep:
        store(contest, name, model, result)
    return result


def store(contest: Contest, name: str, model: Any, result: dict[str, Any]) -> None:
    """Write the weights of a run with their card."""
    card = {
        "data": "Shakespeare, training plays (data/README.md), vocabulary plays_bpe",
        "study": "experiments/ch07_worldview/three_objectives.py, seed 0",
        "recipe": contest.recipes[name],
        "plan": contest.stages(name),
        "totals": totals(contest.stages(name)),
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "own_loss_nats": result["own_loss"],
        "blank_bits": mean(result["blanks"]["own"]["bits"]),
        "cpu_seconds": round(result["cpu_seconds"]),
        "versions": versions(),
    }
    file = CHECKPOINTS / f"contest_{name}.safetensors"
    save_model(file, model, TOKENIZER, rounded(card), n_bits=6)


def gather(
    contest: Contest,
    tried: dict[str, list[dict[str, Any]]],
    runs: dict[str, list[Any]],
    ids: dict[str, Tensor],
    tasks: dict[str, Task],
    seeds: list[int],
    whole: dict[str, list[float]],
    plan: Plan,
) -> dict[str, Any]:
    """Make the record of all runs.

    `tried` is what `try_recipes` found for each model, `runs` has those of each in the order of the
    seeds; `whole` is from `ask_whole`, seed 0.
    """
    models, orders = count_models(ids, plan.numbers.n_blanks)
    counts = ask_counts(models, ids["test"], plan.numbers)
    counted = "two-sided n-gram"
    whole = {**whole, counted: counts["blanks"][counted]["bits"][: plan.n_whole]}
    return {
        "question": "Which objective gives what, for one budget of operations?",
        "unit": "bits per token; accuracy; operations",
        "interval": "95 %; low and high over seeds (Student's t), over_items by bootstrap",
        "recipe": {
            "shape": SHAPE,
            "models": contest.recipes,
            "noise": NOISE,
            "n_warmup": N_WARMUP,
            "budget": plan.share * BUDGET,
        },
        "tried": tried,
        "trials": {
            "seed": TRIAL_SEED,
            "shares_of_budget": [share * plan.share for share in TRIAL_SHARES],
        },
        "first_losses": {name: results[0]["first_losses"] for name, results in runs.items()},
        "plan": {name: contest.stages(name, plan.share) for name in runs},
        "totals": {name: totals(contest.stages(name, plan.share)) for name in runs},
        "n_parameters": {
            name: sum(p.numel() for p in contest.new_model(name, 0).parameters()) for name in runs
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
        "n_gram": {"validation_bits": orders},
        "blanks": judge_blanks(runs, counts, plan.numbers.n_rescored),
        "whole_vocabulary": judge_whole(whole, counted),
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


def try_recipe(
    name: str, recipe: dict[str, Any], share: float, ids: dict[str, Tensor], plan: Plan
) -> float:
    """Train a model briefly: its own loss on the validation plays, in nats per prediction."""
    contest, generator = contest_of({name: recipe}), Generator().manual_seed(1000 + TRIAL_SEED)
    model = contest.new_model(name, TRIAL_SEED)
    for stage in contest.stages(name, share * plan.share):
        contest.fit_stage(name, model, ids["train"], stage, generator)
    loss = own_loss(name, model, ids["validation"])
    rates = [stage["lr"] for stage in recipe["stages"]]
    print(name, rates, share, round(loss, 3), flush=True)
    return loss


def try_recipes(
    name: str, ids: dict[str, Tensor], plan: Plan, cache: ArmCache
) -> list[dict[str, Any]]:
    """Try every recipe that a model can choose, and the best of both kinds of windows again."""

    def tried(lr: float, short: bool, share: float) -> dict[str, Any]:
        """Try one recipe with a share of the budget."""
        recipe = recipe_of(name, lr, short_windows=short)
        loss = cache.get(
            f"trial {name} {lr} {short} {share}",
            partial(try_recipe, name, recipe, share, ids, plan),
        )
        return {"lr": lr, "short_windows": short, "share": share, "validation_nats": loss}

    first, second = TRIAL_SHARES
    found = []
    for short in (False, True):
        alike = [tried(lr, short, first) for lr in RATES[name]]
        found += [*alike, tried(min(alike, key=_nats)["lr"], short, second)]
    return found


def _nats(one: dict[str, Any]) -> float:
    """Return the loss of a trial."""
    return float(one["validation_nats"])


def best_recipe(name: str, tried: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the recipe with the lowest loss in the longer trials."""
    best = min((one for one in tried if one["share"] == TRIAL_SHARES[-1]), key=_nats)
    return recipe_of(name, best["lr"], short_windows=best["short_windows"])


def main() -> None:
    """Train what is missing and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(OWN), help="train these, write no record")
    options = parser.parse_args()
    quick, names = options.quick, options.only or list(OWN)
    ids, plan = load_ids(), Plan.quick() if quick else Plan()
    seeds = [0, 1] if quick else list(SEEDS)
    tasks = make_tasks(dict(plan.n_sentences))
    settings = [SHAPE, OWN, RATES, TRIAL_SHARES, BUDGET, NOISE, N_POINTS, N_WARMUP, asdict(plan)]
    cache = ArmCache("three_objectives", settings, keep=plan.keep)
    tried = {name: try_recipes(name, ids, plan, cache) for name in names}
    contest = contest_of({name: best_recipe(name, found) for name, found in tried.items()})
    runs = {
        name: [
            cache.get(f"{name} {s}", partial(run, contest, name, s, ids, tasks, plan))
            for s in seeds
        ]
        for name in names
    }
    if options.only:
        return
    stored = (
        {name: load_model(f"contest_{name}")[0] for name in OWN}
        if plan.keep
        else {name: contest.new_model(name, 0).eval() for name in OWN}
    )
    whole = cache.get(
        "whole vocabulary",
        partial(ask_whole, stored, ids["test"], plan.n_whole, plan.numbers),
    )
    cache.conclude(gather(contest, tried, runs, ids, tasks, seeds, whole, plan))


if __name__ == "__main__":
    main()
