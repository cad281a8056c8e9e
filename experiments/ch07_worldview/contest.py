# SPDX-License-Identifier: MIT
"""Train a GPT, a BERT and a T5 of one size for one budget of floating-point operations.

Forward and backward count, and the head where something is predicted
(`pretrain_lab.scaling.flops`). A step costs the three differently, so they take different numbers
of steps. Each has a recipe: options of its configuration, weight decay, and stages with shares of
the budget. A stage may have its own `n_warmup` and, for T5, its own `noise`, such as
{"mean_noise_span_length": 2.0}.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn

from experiments.ch07_worldview.questions import SPANS, SPECIAL, TOKENIZER
from experiments.common.mixed_precision import FastProducts
from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM, MaskedLM, Objective, SpanCorruptionLM
from pretrain.span_corruption import SpanCorruption, count_spans
from pretrain.t5 import T5, T5Config
from pretrain.training import Evaluate, History, OptimConfig, fit
from pretrain_lab.scaling.flops import TRAINING, bert_flops, gpt_flops, t5_flops

NOISE: dict[str, dict[str, Any]] = {
    "bert": {"mlm_probability": 0.15}, "t5": {"noise_density": 0.15}
}  # fmt: skip
N_WARMUP = 100  # steps at the start of each stage
CLASSES: dict[str, tuple[Any, Any]] = {
    "gpt": (GPT, GPTConfig), "bert": (BERT, BERTConfig), "t5": (T5, T5Config)
}  # fmt: skip
Recipe = Mapping[str, Any]


@dataclass(frozen=True)
class Contest:
    """What three models have in common, and the recipe of each."""

    shape: Mapping[str, Any]  # of all configurations
    recipes: Mapping[str, Recipe]  # by model: "gpt", "bert", "t5"
    budget: float  # operations of one training
    fast: bool = False  # matrix products in `fast_precision`

    def new_model(self, name: str, seed: int) -> Any:
        """Make an untrained model."""
        torch.manual_seed(seed)
        model, config = CLASSES[name]
        return model(config(TOKENIZER.vocab_size, **self.shape, **self.recipes[name]["options"]))

    def stages(self, name: str, share: float = 1.0) -> list[dict[str, Any]]:
        """Turn a share of the budget into the steps of each stage; add the cost of a step."""
        model, stages = self.new_model(name, 0), []
        for stage in self.recipes[name]["stages"]:
            cost = step_cost(model, stage)
            n_steps = max(1, round(stage["share"] * share * self.budget / cost["flops"]))
            stages.append({**stage, "n_steps": n_steps, "cost": cost})
        return stages

    def fit_stage(
        self,
        name: str,
        model: Any,
        ids: Tensor,
        stage: dict[str, Any],
        generator: Generator,
        *,
        evaluate: Callable[[nn.Module], float] | None = None,
        evaluate_every: int = 1,
    ) -> History:
        """Train a model for one of its stages on tokens, int64 (N,).

        `generator` draws windows and corruption; `evaluate` and `evaluate_every` are as in `fit`.
        """
        recipe, loss = self.recipes[name], make_loss(name, ids, stage)
        return fit(
            model,
            FastProducts(loss) if self.fast else loss,
            OptimConfig(
                lr=stage["lr"],
                n_warmup=min(stage.get("n_warmup", N_WARMUP), stage["n_steps"] // 4),
                final_lr=stage["final_lr"],
                weight_decay=recipe["weight_decay"],
                relative_lr=recipe.get("relative_lr", False),
            ),
            n_steps=stage["n_steps"],
            generator=generator,
            hooks=[Evaluate(evaluate, every=evaluate_every)] if evaluate else [],
        )


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


def totals(stages: list[dict[str, Any]]) -> dict[str, float]:
    """Add up steps, operations, tokens and predictions of all stages."""
    found = {"steps": float(sum(stage["n_steps"] for stage in stages))}
    for key in ("flops", "tokens_read", "predictions", "text_predictions"):
        found[key] = sum(stage["n_steps"] * stage["cost"][key] for stage in stages)
    return found
