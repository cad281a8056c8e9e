# SPDX-License-Identifier: MIT
"""Plays and reviews: a GPT of plays is trained further on reviews.

Three arms of one shape and one budget: the GPT of plays on reviews, the same on reviews and plays
in equal parts, and a GPT from random weights on reviews. Count models of either domain are the
baselines. No model read the films and plays of the tests.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Generator, Tensor, nn

from experiments.ch08_compression.code_lengths import code_lengths
from experiments.ch08_compression.domain_shift.genres import Plan as GenrePlan
from experiments.common.records import seed_interval
from pretrain.gpt import GPT
from pretrain.objectives import CausalLM, Objective
from pretrain.training import Evaluate, OptimConfig, fit
from pretrain_lab.baselines.kneser_ney import KneserNey
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_reviews, load_shakespeare
from pretrain_lab.tokenizers.subwords import load_tokenizer

TOKENIZER = load_tokenizer("plays_bpe")
START = "worldview_gpt"
SEEDS = (0, 1, 2)
ARMS = ("continued", "mixed", "from scratch")
RATES = (3e-3, 1e-2, 2e-2)
BATCH, SEQ_LEN = 32, 64
ORDERS = (2, 3, 4)

Part = tuple[Tensor, int]  # ids int64 (L,), and the number of characters that they spell


@dataclass(frozen=True)
class Plan:
    """How long is trained, and how much is scored."""

    n_steps: int = 200
    every: int = 40  # steps between two points of a curve
    n_test: int = 42_000
    n_curve: int = 8_400
    """Tokens of each domain behind tables, and behind curves and the choice of rates."""
    genres: GenrePlan = field(default_factory=GenrePlan)
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Take few steps and little text."""
        return cls(6, 1, 1200, 1200, GenrePlan.quick(), keep=False)


def spread(texts: list[Tensor], n_tokens: int) -> Part:
    """Take equally long stretches from the middle of every text, n_tokens in all at most."""
    each = n_tokens // len(texts)
    cuts = [text[max(0, (len(text) - each) // 2) :][:each] for text in texts]
    ids = torch.cat(cuts)
    return ids, len(TOKENIZER.decode(ids))


def review_text(split: str, every: int = 1) -> Tensor:
    """Encode every n-th review sentence of a split, one a line."""
    sentences = [review.sentence for review in load_reviews(split)[::every]]
    return TOKENIZER.encode("\n".join(sentences) + "\n")


def load_texts(plan: Plan) -> dict[str, Any]:
    """Load what is trained on ("train" → domain → ids) and scored (split → domain → Part).

    "validation" chooses rates, "curve" and "test" are for curves and tables.
    """
    plays = {
        split: [TOKENIZER.encode(play.text) for play in load_shakespeare(split)]
        for split in ("train", "validation", "test")
    }
    sizes = {"validation": plan.n_curve, "curve": plan.n_curve, "test": plan.n_test}
    texts: dict[str, Any] = {
        "train": {"plays": torch.cat(plays["train"]), "reviews": review_text("train")}
    }
    for name, n in sizes.items():
        split = "validation" if name == "validation" else "test"
        reviews = review_text(split, every={"validation": 7, "curve": 10, "test": 2}[name])
        texts[name] = {"plays": spread(plays[split], n), "reviews": spread([reviews], n)}
    return texts


def mixed_loss(texts: dict[str, Tensor], arm: str, batch_size: int) -> Objective:
    """Return the objective of an arm: windows of reviews, or half of plays."""
    reviews = CausalLM(texts["reviews"], batch_size=batch_size, seq_len=64)
    if arm != "mixed":
        return reviews
    half = {
        name: CausalLM(texts[name], batch_size=batch_size // 2, seq_len=64)
        for name in ("reviews", "plays")
    }

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw half a batch of each."""
        return 0.5 * (half["reviews"](model, generator) + half["plays"](model, generator))

    return loss


def bits_per_character(model: GPT, ids: Tensor, n_chars: int) -> float:
    """Score a stretch of tokens and divide its bits by the characters that it spells."""
    return float(code_lengths(model, ids, model.config.vocab_size).sum()) / n_chars


def new_start(arm: str, seed: int) -> GPT:
    """Return the model with which an arm starts: the GPT of plays, or one of its shape."""
    model, _ = load_model(START)
    if arm == "from scratch":
        torch.manual_seed(seed)
        model = GPT(model.config)
    assert isinstance(model, GPT)
    return model


def train(
    model: GPT,
    arm: str,
    seed: int,
    rate: float,
    texts: dict[str, Any],
    n_steps: int,
    *,
    evaluate: Callable[[nn.Module], float] | None = None,
    evaluate_every: int = 1,
) -> None:
    """Train in place; `evaluate` is that of `fit`."""
    fit(
        model,
        mixed_loss(texts["train"], arm, BATCH),
        OptimConfig(lr=rate, n_warmup=n_steps // 10, final_lr=0.02, weight_decay=0.1),
        n_steps=n_steps,
        generator=Generator().manual_seed(2000 + seed),
        hooks=[Evaluate(evaluate, every=evaluate_every)] if evaluate else [],
    )


def choose_rate(arm: str, texts: dict[str, Any], n_steps: int) -> dict[str, float]:
    """Score every learning rate on reviews of the validation films, with a seed of its own."""
    result = {}
    for rate in RATES:
        model = new_start(arm, 99)
        train(model, arm, 99, rate, texts, n_steps)
        result[str(rate)] = bits_per_character(model, *texts["validation"]["reviews"])
    return result


def run_arm(arm: str, seed: int, rate: float, texts: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """Train one arm of ARMS with one seed: "curve" and "test" → domain → bits per character.

    `rate` is the peak learning rate, `seed` of initial weights and batches, `texts` from
    `load_texts`.
    """
    model = new_start(arm, seed)
    curve = {
        name: [bits_per_character(model, *part)] for name, part in texts["curve"].items()
    }  # fmt: skip

    def evaluate(_: nn.Module) -> float:
        """Note where both domains stand."""
        for name, part in texts["curve"].items():
            curve[name].append(bits_per_character(model, *part))
        return curve["reviews"][-1]

    train(model, arm, seed, rate, texts, plan.n_steps, evaluate=evaluate, evaluate_every=plan.every)
    test = {name: bits_per_character(model, *part) for name, part in texts["test"].items()}
    return {"curve": curve, "test": test}


def judge_counts(texts: dict[str, Any]) -> dict[str, Any]:
    """Score count models of either domain on both; the order is chosen on the validation texts."""
    result: dict[str, Any] = {}
    for name, ids in texts["train"].items():
        by_order = {}
        for order in ORDERS:
            model = KneserNey(order, TOKENIZER.vocab_size).fit(ids.numpy())
            by_order[order] = [
                float(-model.log_probs(part.numpy()).sum() / torch.log(torch.tensor(2.0)) / n)
                for part, n in (texts["validation"][name], *texts["test"].values())
            ]
        best = min(by_order, key=lambda order: by_order[order][0])
        result[name] = {"order": best, **dict(zip(texts["test"], by_order[best][1:], strict=True))}
    return result


def judge_arms(runs: dict[str, list[dict[str, Any]]], before: dict[str, float]) -> dict[str, Any]:
    """Average over seeds, and take the differences that the text mentions.

    `runs` maps each arm to the results of `run_arm`, one a seed; `before` maps each domain to the
    bits of the GPT of plays.
    """
    values = {
        arm: {name: [run["test"][name] for run in found] for name in before}
        for arm, found in runs.items()
    }

    def minus(name: str, arm: str, other: str | None) -> dict[str, Any]:
        """Subtract, seed by seed, another arm or what was there before."""
        base = values[other][name] if other else [before[name]] * len(SEEDS)
        return seed_interval([a - b for a, b in zip(values[arm][name], base, strict=True)])

    return {
        "test": {
            arm: {name: seed_interval(found) for name, found in both.items()}
            for arm, both in values.items()
        },
        "curves": {
            arm: {name: [run["curve"][name] for run in found] for name in before}
            for arm, found in runs.items()
        },
        "differences": {
            "plays forgotten, continued": minus("plays", "continued", None),
            "plays forgotten, mixed": minus("plays", "mixed", None),
            "reviews, continued - from scratch": minus("reviews", "continued", "from scratch"),
            "reviews, mixed - continued": minus("reviews", "mixed", "continued"),
        },
    }
