# SPDX-License-Identifier: MIT
"""Three objectives on a source whose best losses are known exactly (WLD-R4, WLD-F3).

Writes data/runs/known_entropy.json. A GPT, a BERT and a T5 of one width are trained on fresh
samples of one hidden Markov source, so no text is seen twice and no text is too short: what remains
between a model's loss and the oracle's is what the model has not learned. Every few steps the gap,
model minus oracle on the same questions, is computed with an interval over windows.

gpt   the next token, after 1..T tokens;
bert  15 % selected, 80/10/10, and the oracle knows of the corruption;
t5    span corruption; the oracle infers the lengths of the spans as the model must. The cost of
      the same targets with given lengths is recorded too.

All three choose from the same kinds of recipe, in trainings of full length with a seed and
questions that are not used again: three learning rates, each with short windows for the first tenth
of the steps or without. Short windows hold as many tokens, and their steps count like all others.
(Shorter trials would not do: T5 leaves its first plateau only after a thousand steps.)

Takes about 90 CPU-minutes; a stopped run goes on with the next training. `--quick` trains briefly,
for some 20 seconds, prints the study and writes nothing.
"""

import argparse
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from experiments.common.arm_cache import ArmCache
from experiments.common.records import rounded, seed_interval
from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import (
    IGNORE_INDEX,
    Batch,
    Objective,
    causal_targets,
    corrupt_mlm,
    seq2seq_loss_sum,
    shift_right,
)
from pretrain.span_corruption import SpanCorruption, corrupt_spans
from pretrain.t5 import T5, T5Config
from pretrain.training import Evaluate, OptimConfig, fit
from pretrain_lab.oracles.hmm import HiddenMarkovSource, random_source
from pretrain_lab.oracles.optimal_losses import (
    entropy_rate,
    gap_interval,
    optimal_causal_log_probs,
    optimal_cloze_log_probs,
    optimal_masked_log_probs,
)
from pretrain_lab.oracles.optimal_span_losses import optimal_span_log_probs

PAD_ID, MASK_ID, OFFSET = 0, 1, 2
"""Padding and start of T5, [MASK] of BERT, symbol 0. Sentinels stand above the symbols."""
SOURCE: dict[str, Any] = {
    "n_states": 16, "n_symbols": 32, "transition_sharpness": 3.0, "emission_sharpness": 3.0,
}  # fmt: skip
SOURCE_SEED = 1
N_SENTINELS = 4  # three spans and the one that closes the target
VOCAB_SIZE = OFFSET + SOURCE["n_symbols"] + N_SENTINELS
SPANS: dict[str, Any] = {"first_sentinel_id": VOCAB_SIZE - 1, "n_sentinels": N_SENTINELS}
MASKING: dict[str, Any] = {
    "mask_id": MASK_ID, "vocab_size": VOCAB_SIZE,
    "special_ids": [PAD_ID, MASK_ID, *range(VOCAB_SIZE - N_SENTINELS, VOCAB_SIZE)],
}  # fmt: skip
FIXED: dict[str, Any] = {
    "gpt": {}, "bert": {}, "t5": {"relative_lr": True, "weight_decay": 0.01},
}  # fmt: skip
RATES: dict[str, tuple[float, ...]] = {
    "gpt": (1e-3, 3e-3, 8e-3), "bert": (1e-3, 3e-3, 8e-3), "t5": (2e-2, 4e-2, 8e-2)
}  # fmt: skip
SHORTENED = 4  # short windows are so many times shorter, and as many times more
TRIAL_SEED = 100
Recipe = dict[str, Any]  # "lr" and "short_windows", true or false


@dataclass(frozen=True)
class Plan:
    """Sizes, steps and rates."""

    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    seq_len: int = 64
    batch_size: int = 64
    n_steps: int = 2500
    n_warmup: int = 100
    final_lr: float = 0.02
    every: int = 125
    n_windows: int = 1000
    norm: str = "pre"
    init_std: float = 0.08
    short_share: float = 0.1  # of the steps, where a recipe has short windows

    @classmethod
    def quick(cls) -> "Plan":
        """Train briefly."""
        return cls(batch_size=32, n_steps=60, n_warmup=4, every=30, n_windows=200)

    def stages(self, recipe: Recipe) -> list["Plan"]:
        """Cut the steps into those with short windows, where there are any, and the others."""
        n_short = round(self.short_share * self.n_steps) if recipe["short_windows"] else 0
        short = replace(
            self,
            seq_len=self.seq_len // SHORTENED,
            batch_size=self.batch_size * SHORTENED,
            n_steps=n_short,
            final_lr=0.5,
        )
        rest = replace(self, n_steps=self.n_steps - n_short)
        return [short, rest] if n_short else [rest]


Questions = tuple[Callable[[Any], Tensor], Tensor, Tensor]
"""How a model scores the held-out questions, the oracle's log-probabilities, each one's window."""


def sample_ids(source: HiddenMarkovSource, n: int, seq_len: int, generator: Generator) -> Tensor:
    """Draw texts of the source as ids, int64 (n, seq_len)."""
    return source.sample(n, seq_len, generator=generator) + OFFSET


def training_loss(name: str, source: HiddenMarkovSource, plan: Plan) -> Objective:
    """Return the loss of one objective on fresh samples: mean nats per prediction."""
    n, seq_len = plan.batch_size, plan.seq_len

    def gpt(model: nn.Module, generator: Generator) -> Tensor:
        """Score each next token of seq_len + 1."""
        inputs, targets = causal_targets(sample_ids(source, n, seq_len + 1, generator))
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    def bert(model: nn.Module, generator: Generator) -> Tensor:
        """Score the selected tokens."""
        ids = sample_ids(source, n, seq_len, generator)
        corrupted, labels, _ = corrupt_mlm(ids, generator=generator, **MASKING)
        asked = labels != IGNORE_INDEX
        return F.cross_entropy(model(corrupted, masked_positions=asked), labels[asked])

    def t5(model: nn.Module, generator: Generator) -> Tensor:
        """Score the target, sentinels included."""
        ids = sample_ids(source, n, seq_len, generator)
        cut = corrupt_spans(ids, SpanCorruption(**SPANS), generator=generator)
        batch = Batch(cut.inputs, cut.targets)
        return seq2seq_loss_sum(model, batch, pad_id=PAD_ID) / cut.targets.numel()

    return {"gpt": gpt, "bert": bert, "t5": t5}[name]


def questions(
    source: HiddenMarkovSource, plan: Plan, seed: int = 7
) -> tuple[dict[str, Questions], dict[str, Any]]:
    """Draw the held-out questions of all three, the same for all seeds, and their oracles.

    Returns the questions by model; and the oracles' losses, in nats, with those of the blanks.
    """
    generator = torch.Generator().manual_seed(seed)
    n, seq_len = plan.n_windows, plan.seq_len
    ids = sample_ids(source, n, seq_len + 1, generator)
    text = ids[:, :-1]
    inputs, targets = causal_targets(ids)
    masked, labels, fates = corrupt_mlm(text, generator=generator, **MASKING)
    asked = labels != IGNORE_INDEX
    cut = corrupt_spans(text, SpanCorruption(**SPANS), generator=generator)
    rows = torch.arange(n)[:, None]
    restored = optimal_masked_log_probs(source, masked, labels, mask_id=MASK_ID, offset=OFFSET)
    oracles = {
        "gpt": optimal_causal_log_probs(source, ids, offset=OFFSET)[:, 1:].flatten(),
        "bert": taken(restored, labels[asked] - OFFSET),
        "t5": optimal_span_log_probs(source, cut, offset=OFFSET).flatten(),
    }
    windows = {
        "gpt": rows.expand_as(targets).flatten(),
        "bert": rows.expand_as(labels)[asked],
        "t5": rows.expand_as(cut.targets).flatten(),
    }
    scored: dict[str, Callable[[Any], Tensor]] = {
        "gpt": lambda m: taken(m(inputs), targets).flatten(),
        "bert": lambda m: taken(m(masked, masked_positions=asked), labels[asked]),
        "t5": lambda m: taken(
            m(cut.inputs, shift_right(cut.targets, pad_id=PAD_ID)), cut.targets
        ).flatten(),
    }
    given = optimal_span_log_probs(source, cut, offset=OFFSET, lengths_given=True).flatten()
    told: dict[str, Any] = {
        name: gap_interval(-oracle, windows[name]) for name, oracle in oracles.items()
    }
    told["t5, lengths given"] = gap_interval(-given, windows["t5"])
    one_sided = optimal_causal_log_probs(source, text, offset=OFFSET).masked_fill(~cut.noise, 0.0)
    told["t5, left side only, lengths given"] = gap_interval(
        -one_sided.sum(dim=1) / cut.targets.shape[1], rows.flatten()
    )
    for fate, kind in ((1, "masked"), (2, "random"), (3, "kept")):
        there = fates[asked] == fate
        told[f"bert, {kind}"] = gap_interval(-oracles["bert"][there], windows["bert"][there])
    asked_of = {name: (scored[name], oracle, windows[name]) for name, oracle in oracles.items()}
    return asked_of, {"losses": told, "blanks": blank_losses(source, text)}


def blank_losses(source: HiddenMarkovSource, text: Tensor) -> dict[str, Any]:
    """Return what the middle token of each window costs each model, in nats with intervals.

    "masked" is an ideal BERT on the same blanks: it was trained to doubt visible tokens and does
    not know that these are clean.
    """
    n, seq_len = text.shape
    places, rows = torch.full((n,), seq_len // 2), torch.arange(n)
    middle = torch.arange(seq_len) == seq_len // 2
    answers = text[:, seq_len // 2] - OFFSET
    unigram = (source.start @ source.emission).log().expand(n, -1)
    log_probs = {"no context": unigram} | {
        sides: optimal_cloze_log_probs(source, text, places, sides=sides, offset=OFFSET)
        for sides in ("left", "right", "both")
    }
    log_probs["masked"] = optimal_masked_log_probs(
        source,
        text.masked_fill(middle, MASK_ID),
        text.masked_fill(~middle, IGNORE_INDEX),
        mask_id=MASK_ID,
        offset=OFFSET,
    )
    return {name: gap_interval(-taken(lp, answers), rows) for name, lp in log_probs.items()}


def taken(scores: Tensor, answers: Tensor) -> Tensor:
    """Return the log-probability of each answer in float64; (..., V) and (...) to (...)."""
    log_probs = scores.double().log_softmax(dim=-1)
    return log_probs.gather(-1, answers[..., None])[..., 0]


def new_model(name: str, seed: int, plan: Plan) -> Any:
    """Make an untrained model; T5 has N blocks in each stack, its own norms and initial weights."""
    torch.manual_seed(seed)
    d_model, n_layers, n_heads = plan.d_model, plan.n_layers, plan.n_heads
    if name == "t5":
        return T5(T5Config(VOCAB_SIZE, d_model=d_model, n_layers=n_layers, n_heads=n_heads))
    kind, config = {"gpt": (GPT, GPTConfig), "bert": (BERT, BERTConfig)}[name]
    sizes: dict[str, Any] = {"d_model": d_model, "n_layers": n_layers, "n_heads": n_heads}
    more: dict[str, Any] = {"norm": plan.norm, "init_std": plan.init_std}
    model: Any = kind(config(VOCAB_SIZE, **sizes, max_len=plan.seq_len, **more))
    return model


def run(
    name: str,
    seed: int,
    source: HiddenMarkovSource,
    asked: Questions,
    plan: Plan,
    recipe: Recipe,
) -> list[list[float]]:
    """Train one model; return [mean, low, high] of its gap in nats per prediction.

    The first is the untrained model's, the others follow every so many steps, those with short
    windows among them, always on windows of the full length.
    """
    score, oracle, windows = asked
    model = new_model(name, seed, plan)
    curve: list[list[float]] = []

    def gap(model: nn.Module) -> float:
        """Compare the model with the oracle on the same questions."""
        curve.append(list(gap_interval(oracle - score(model), windows)))
        return curve[-1][0]

    with torch.no_grad():
        gap(model.eval())
    generator = torch.Generator().manual_seed(1000 + seed)
    for stage in plan.stages(recipe):
        fit(
            model,
            training_loss(name, source, stage),
            OptimConfig(
                lr=recipe["lr"],
                n_warmup=min(stage.n_warmup, stage.n_steps),
                final_lr=stage.final_lr,
                **FIXED[name],
            ),
            n_steps=stage.n_steps,
            generator=generator,
            hooks=[Evaluate(gap, every=stage.every)],
        )
    return curve


def try_recipes(
    name: str, source: HiddenMarkovSource, plan: Plan, cache: ArmCache
) -> list[dict[str, Any]]:
    """Train each recipe of a model, and give its gap on questions of its own."""
    asked = questions(source, plan, seed=70)[0][name]
    tried = []
    for lr in RATES[name]:
        for short in (False, True):
            recipe = {"lr": lr, "short_windows": short}
            curve = cache.get(
                f"trial {name} {lr} {short}",
                partial(run, name, TRIAL_SEED, source, asked, plan, recipe),
            )
            tried.append({"recipe": recipe, "gap": curve[-1][0]})
            print(name, recipe, round(curve[-1][0], 4), flush=True)
    return tried


def study(seeds: list[int], plan: Plan, cache: ArmCache) -> dict[str, Any]:
    """Choose a recipe for each model, train two to five seeds of it, and return the record."""
    source = random_source(**SOURCE, generator=torch.Generator().manual_seed(SOURCE_SEED))
    asked, optimum = questions(source, plan)
    rate = entropy_rate(source, generator=torch.Generator().manual_seed(8))
    tried = {name: try_recipes(name, source, plan, cache) for name in asked}
    chosen = {name: min(t, key=lambda one: one["gap"])["recipe"] for name, t in tried.items()}
    curves: dict[str, list[list[list[float]]]] = {name: [] for name in asked}
    seconds = dict.fromkeys(asked, 0.0)
    for seed in seeds:
        for name in asked:
            before = cache.cpu_seconds
            curve = cache.get(
                f"{name} {seed}",
                partial(run, name, seed, source, asked[name], plan, chosen[name]),
            )
            curves[name].append(curve)
            seconds[name] += cache.cpu_seconds - before
            print(name, seed, rounded(curve[-1], 4), flush=True)
    n_steps, every = plan.n_steps, plan.every
    return {
        "question": "How far from the best possible loss does each objective leave its model?",
        "unit": "nats per prediction",
        "source": SOURCE | {"seed": SOURCE_SEED},
        "recipe": asdict(plan),
        "tried": tried,
        "chosen": chosen,
        "seeds": seeds,
        "interval": "curves: 95 % over windows, paired; gaps: 95 % over seeds, Student's t",
        "entropy_rate": rate,
        "optimum": optimum,
        "n_predictions": {name: len(oracle) for name, (_, oracle, _) in asked.items()},
        "n_parameters": {
            name: sum(p.numel() for p in new_model(name, 0, plan).parameters()) for name in asked
        },
        "cpu_seconds_each": {name: total / len(seeds) for name, total in seconds.items()},
        "gaps": {
            name: seed_interval([curve[-1][0] for curve in runs]) for name, runs in curves.items()
        },
        "curve_steps": sorted({*range(0, n_steps + 1, every), n_steps}),
        "curves": curves,
    }


def main() -> None:
    """Run the study and write it; with `--quick`, run the small one and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=Plan.n_steps)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        cache = ArmCache("known_entropy", [], keep=False)
        cache.conclude(study([0, 1], Plan.quick(), cache))
        return
    if not 3 <= len(set(options.seeds)) == len(options.seeds) <= 5:
        parser.error(f"expected three to five different seeds, got {options.seeds}")
    plan = Plan(n_steps=options.steps)
    cache = ArmCache("known_entropy", [SOURCE, SOURCE_SEED, RATES, FIXED, asdict(plan)])
    cache.conclude(study(options.seeds, plan, cache))


if __name__ == "__main__":
    main()
