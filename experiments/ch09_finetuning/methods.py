# SPDX-License-Identifier: MIT
"""Methods of the fine-tuning study: what is trained of one published encoder, on few labels.

Every method sees the same sentences in the same order for a given seed, takes the same number of
steps, and may choose among four learning rates on the validation films. The ranges overlap, so that
methods may differ in their rates or agree.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Generator, nn

from experiments.ch08_labels.data import Sentences
from pretrain.training import Evaluate, OptimConfig, fit
from pretrain_lab.corpora.loading import Review, load_reviews
from pretrain_lab.finetuning.freezing import (
    BIASES,
    FULL,
    count_parameters,
    freeze_except,
    last_layers,
)
from pretrain_lab.finetuning.hf_heads import (
    Encoded,
    SentenceClassifier,
    decode_class,
    encode_classes,
    hf_loss,
    predict_hf,
)
from pretrain_lab.finetuning.lora import ADAPTERS, add_lora
from pretrain_lab.hub.models import load_minilm

SEEDS, TUNING_SEED = (0, 1, 2), 100
BATCH_SIZE = 16
LONGER = 4  # times the steps, for random weights
WARMUP = 0.1  # share of the steps
RANK, ALPHA = 8, 16.0
HEAD_SIZES = {
    "names": {"train": 512, "validation": 600, "test": 1700},
    "speakers": {"train": 1600, "validation": 160, "test": 10_000},
}
READ_ONLY = "reading only"


@dataclass(frozen=True)
class Plan:
    """How much is tuned, asked and measured."""

    n_labels: int = 256
    n_epochs: int = 4
    n_few: int = 64
    few_epochs: tuple[int, int] = (4, 16)  # passes over the few labels
    asked: Sentences = field(default_factory=lambda: Sentences(validation=400, test=1000))
    n_rates: int | None = None  # how many of the learning rates are tried; None = all
    pool: Sentences = field(default_factory=Sentences)
    """What frozen vectors are made of."""
    n_draws: int = 20
    noisy_n: tuple[int, ...] = (128, 512, 2048)
    n_asked: int = 1000  # sentences of a draw with copies
    forget_labels: int = 512
    forget_epochs: int = 3
    n_windows: int = 400  # of the plays that may be forgotten
    heads: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: HEAD_SIZES)
    """Passages and questions of each split."""
    memory: tuple[str, ...] = (READ_ONLY, "probe", "bitfit", "lora", "last two", "full")
    """Methods whose peak memory is measured."""
    n_passes: int = 20
    peft_steps: int = 10
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Make everything tiny."""
        return cls(
            n_labels=16, n_epochs=1, n_few=16, few_epochs=(1, 2),
            asked=Sentences(validation=12, test=24), n_rates=1, pool=Sentences(250, 40, 160),
            n_draws=2, noisy_n=(16,), n_asked=40, forget_labels=16, forget_epochs=1, n_windows=12,
            heads={task: {"train": 16, "validation": 8, "test": 24} for task in HEAD_SIZES},
            memory=("full",), n_passes=2, peft_steps=2, keep=False,
        )  # fmt: skip


@dataclass(frozen=True)
class Method:
    """What is trained, and from where."""

    title: str
    patterns: tuple[str, ...]
    rates: tuple[float, ...]
    start: str = "published"  # or "random": the same sizes, new weights
    adapters: bool = False


HEAD = "classifier.*"
METHODS = {
    "full": Method("everything", FULL, (5e-5, 1e-4, 2e-4, 5e-4)),
    "last two": Method("last two layers", (*last_layers(2, 6), HEAD), (1e-4, 2e-4, 5e-4, 1e-3)),
    "probe": Method("head alone (linear probe)", (HEAD,), (1e-3, 5e-3, 2e-2, 5e-2)),
    "lora": Method("LoRA", (*ADAPTERS, HEAD), (5e-4, 1e-3, 2e-3, 5e-3), adapters=True),
    "bitfit": Method("biases (BitFit)", (*BIASES, HEAD), (5e-4, 1e-3, 2e-3, 5e-3)),
    "random": Method(
        "everything, from random weights", FULL, (5e-5, 1e-4, 3e-4, 1e-3), start="random"
    ),
}


@cache
def published() -> tuple[Any, Any]:
    """Load encoder and tokeniser once; the encoder is copied before it is trained."""
    return load_minilm()


def pad_id() -> int:
    """Return the id that fills short texts."""
    return int(published()[1].pad_token_id)


def new_encoder(start: str = "published") -> Any:
    """Return a copy of the published encoder, or one of the same sizes with random weights."""
    encoder, _ = published()
    copy = type(encoder)(encoder.config, add_pooling_layer=False)
    if start == "published":
        copy.load_state_dict(encoder.state_dict())
    return copy


def make_model(method: Method, seed: int) -> nn.Module:
    """Build a classifier and open what the method trains; `seed` is of all new weights."""
    torch.manual_seed(seed)
    model = SentenceClassifier(new_encoder(method.start), 2)
    if method.adapters:
        generator = Generator().manual_seed(seed)
        add_lora(model, ("query", "value"), rank=RANK, alpha=ALPHA, generator=generator)
    freeze_except(model, method.patterns)
    return model


def encode(reviews: list[Review]) -> list[Encoded]:
    """Encode review sentences with their labels."""
    sentences, labels = [r.sentence for r in reviews], [r.label for r in reviews]
    return encode_classes(sentences, labels, published()[1])


@cache
def encoded(sentences: Sentences, split: str) -> list[Encoded]:
    """Encode the sentences of a split once."""
    return encode(list(sentences.of(split)))


def draw_labelled(n: int, seed: int) -> list[Review]:
    """Draw n sentences of the training films; those of a smaller n are the first of a larger."""
    train = load_reviews("train")
    order = torch.randperm(len(train), generator=Generator().manual_seed(5000 + seed))
    return [train[i] for i in order[:n].tolist()]


def hits_of(plan: Plan, model: nn.Module, split: str) -> str:
    """Return, as a text of 0 and 1, whether the model is right on each sentence that is asked."""
    examples = encoded(plan.asked, split)
    chosen = predict_hf(model, examples, decode_class, pad_id=pad_id())
    pairs = zip(chosen, examples, strict=True)
    return "".join(str(int(answer == example["labels"])) for answer, example in pairs)


def share(hits: str) -> float:
    """Return the share of ones."""
    return hits.count("1") / len(hits)


def train(
    plan: Plan,
    model: nn.Module,
    examples: list[Encoded],
    lr: float,
    seed: int,
    *,
    n_steps: int | None = None,
    evaluate: Callable[[nn.Module], float] | None = None,
) -> dict[str, Any]:
    """Fine-tune a model, in place, with the study's recipe.

    Args:
        lr: Peak of the learning rate, which rises for a tenth of the steps and falls to 0.
        seed: Of the order of the examples.
        n_steps: None = those of the plan's passes.
        evaluate: Called after each quarter of the steps; its time counts too.

    Returns:
        CPU-seconds, steps, the loss of every step, and what was evaluated.
    """
    n_steps = n_steps or plan.n_epochs * -(-len(examples) // BATCH_SIZE)
    started = time.process_time()
    history = fit(
        model,
        hf_loss(examples, batch_size=BATCH_SIZE, pad_id=pad_id()),
        OptimConfig(
            lr=lr, n_warmup=max(1, round(WARMUP * n_steps)), weight_decay=0.01, betas=(0.9, 0.999)
        ),
        n_steps=n_steps,
        generator=Generator().manual_seed(6000 + seed),
        hooks=[Evaluate(evaluate, every=max(1, n_steps // plan.n_epochs))] if evaluate else [],
    )
    return {
        "cpu_seconds": time.process_time() - started,
        "n_steps": n_steps,
        "losses": history.losses,
        "evaluations": history.evaluations,
    }


def run_method(
    plan: Plan, name: str, lr: float, seed: int, split: str, *, curve: bool = False
) -> dict[str, Any]:
    """Fine-tune by one method of METHODS and test on "validation" or "test".

    `seed` is of labels, new weights and batches. With `curve`, the validation sentences are also
    asked on the way; the time then includes that.
    """
    method = METHODS[name]
    model = make_model(method, seed)
    evaluate = (lambda m: share(hits_of(plan, m, "validation"))) if curve else None
    first = evaluate(model) if evaluate else None
    made = train(
        plan, model, encode(draw_labelled(plan.n_labels, seed)), lr, seed, evaluate=evaluate
    )
    return {
        **made,
        "hits": hits_of(plan, model, split),
        "before": first,
        "n_trained": count_parameters(model, trained_only=True),
        "n_parameters": count_parameters(model),
    }


def run_few(plan: Plan, n_epochs: int, lr: float, seed: int) -> dict[str, Any]:
    """Fine-tune everything on few sentences for `n_epochs` passes and test on the test films.

    `seed` is of labels, new weights and batches.
    """
    model = make_model(METHODS["full"], seed)
    examples = encode(draw_labelled(plan.n_few, seed))
    made = train(plan, model, examples, lr, seed, n_steps=n_epochs * -(-plan.n_few // BATCH_SIZE))
    return {"hits": hits_of(plan, model, "test"), "last_losses": made["losses"][-4:]}


def run_longer(plan: Plan, lr: float, seed: int) -> dict[str, Any]:
    """Train random weights for LONGER times as many steps as the methods; ask the test films.

    `seed` is of labels, new weights and batches.
    """
    model = make_model(METHODS["random"], seed)
    examples = encode(draw_labelled(plan.n_labels, seed))
    n_steps = LONGER * plan.n_epochs * -(-plan.n_labels // BATCH_SIZE)
    made = train(plan, model, examples, lr, seed, n_steps=n_steps)
    last = made["losses"][-16:]
    return {
        "hits": hits_of(plan, model, "test"),
        "n_steps": n_steps,
        "last_loss": sum(last) / len(last),
    }
