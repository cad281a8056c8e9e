# SPDX-License-Identifier: MIT
"""How a method of the name study learns: features of words, or an encoder with a new layer.

A network learns until validation no longer improves, and the best weights are kept. So each arm
takes the updates that it needs, and a slow start is not counted as a want of labels.

The baseline without a network has read the same plain text: how often the training plays hold a
word is one of its features. A training passage's own play is left out of the count, or else its
names would look familiar, which those of an unseen play never do.
"""

import time
from collections import Counter
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import Generator

from experiments.ch07_worldview.questions import TOKENIZER
from experiments.ch08_labels.method_table import BATCH_SIZE, RATES
from experiments.ch08_labels.methods import load_backbone
from experiments.ch08_labels.ner.data import Plan
from experiments.ch08_labels.ner.scoring import Choice, choose_threshold
from experiments.common.early_stopping import KeepBest, fit_until_converged
from experiments.common.statistics import Array
from pretrain.training import OptimConfig
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.corpora.scenes import normalise_word
from pretrain_lab.finetuning.token_classification import (
    WordTagger,
    tagging_loss,
    word_log_probs,
)
from pretrain_lab.tasks.character_ner import TAGS, NamePassage

Setting = dict[str, Any]
EVERY, PATIENCE, MIN_STEPS = 100, 8, 1000
"""Updates between evaluations; evaluations without a better one; updates before a stop."""


class Arm(NamedTuple):
    """One method."""

    title: str
    backbone: str | None  # None, "random" or a mini model's name
    grid: list[Setting]


ARMS = {
    "features": Arm(
        "features of words, counts of the plays among them",
        None,
        [{"C": strength} for strength in (0.001, 0.01, 0.1, 1.0)],
    ),
    "scratch": Arm("from scratch", "random", RATES),
    "mlm": Arm("masked, fine-tuned", "bert", RATES),
    "clm": Arm("causal, fine-tuned", "gpt", RATES),
}


class Outcome(NamedTuple):
    """The result of one training."""

    log_probs: dict[str, list[Array]]  # split -> of each passage (W, 3), in the order of TAGS
    choice: Choice  # of the threshold, on the validation plays
    n_steps: int  # updates after which the kept weights stood; 0 = no network
    cpu_seconds: float  # of the training and its evaluations
    first_losses: list[float]  # of the first steps of a network, in nats


def run(arm: Arm, setting: Setting, n: int, seed: int, plan: Plan) -> Outcome:
    """Train a method on n labelled passages until validation no longer improves.

    `setting` is one of the arm's grid. `seed` is of the subset, of new weights and of batches; each
    has another backbone; 100 is of the trials, and has that of 0.
    """
    if arm.backbone is None:
        return run_features(setting, n, seed, plan)
    torch.manual_seed(seed)
    model = WordTagger(load_backbone(arm.backbone, seed % 100), len(TAGS))
    texts = plan.encoded("train")
    tags, places = plan.classes("train"), plan.subset(n, seed)
    loss = tagging_loss(
        [texts[i] for i in places],
        [tags[i] for i in places],
        batch_size=BATCH_SIZE,
        pad_id=TOKENIZER.pad_id,
    )
    started = time.process_time()
    keeper = KeepBest(partial(judge, plan), EVERY, PATIENCE, MIN_STEPS)
    optim = OptimConfig(
        lr=setting["lr"], n_warmup=min(100, plan.max_steps), final_lr=1.0, weight_decay=0.01
    )
    generator = Generator().manual_seed(8000 + seed)
    fit_until_converged(model, loss, optim, keeper, max_steps=plan.max_steps, generator=generator)
    seconds = time.process_time() - started
    found = {split: read(model, plan, split) for split in ("validation", "test")}
    return Outcome(found, keeper.found, keeper.step, seconds, keeper.first_losses)


def judge(plan: Plan, model: Any) -> tuple[float, Choice]:
    """Choose the threshold of a model on the validation plays: its F1, and both together."""
    choice = choose_threshold(read(model, plan, "validation"), plan.passages("validation"))
    return choice.f1, choice


def read(model: Any, plan: Plan, split: str) -> list[Array]:
    """Score the words of a split: of each passage (W, 3)."""
    found = word_log_probs(model, plan.encoded(split), pad_id=TOKENIZER.pad_id)
    return [rows.double().numpy() for rows in found]


@cache
def counts(without: str) -> Counter[str]:
    """Count the words of the training plays but one, without labels."""
    plays = (play for play in load_shakespeare("train") if play.slug != without)
    return Counter(normalise_word(word) for play in plays for word in play.text.split())


def describe(passage: NamePassage, place: int) -> dict[str, Any]:
    """Describe a word by itself, its neighbours and its count in the other training plays."""
    words = passage.words
    bare = normalise_word(words[place])
    around = {
        f"{name} {offset}": normalise_word(words[place + offset])
        for name, offset in (("word", -2), ("word", -1), ("word", 1), ("word", 2))
        if 0 <= place + offset < len(words)
    }
    count = counts(passage.play)[bare]
    return {
        "word": bare,
        "end": bare[-3:],
        "begin": bare[:3],
        "mark": words[place][-1] if not words[place][-1].isalpha() else "",
        "mark before": words[place - 1][-1] if place and not words[place - 1][-1].isalpha() else "",
        "count": "0" if count == 0 else f"2^{count.bit_length()}",
        **around,
    }


def run_features(setting: Setting, n: int, seed: int, plan: Plan) -> Outcome:
    """Fit logistic regression on features of single words; arguments as in `run`."""
    started = time.process_time()
    train, tags = plan.passages("train"), plan.classes("train")
    places = plan.subset(n, seed)
    rows = [describe(train[i], j) for i in places for j in range(len(train[i].words))]
    model = make_pipeline(DictVectorizer(), LogisticRegression(C=setting["C"], max_iter=2000))
    model.fit(rows, [tag for i in places for tag in tags[i]])
    seconds = time.process_time() - started
    found: dict[str, list[Array]] = {}
    for split in ("validation", "test"):
        found[split] = []
        for passage in plan.passages(split):
            words = [describe(passage, j) for j in range(len(passage.words))]
            scores = np.full((len(words), len(TAGS)), -30.0)  # of a tag that no label had
            scores[:, model.classes_] = model.predict_log_proba(words)
            found[split].append(scores)
    choice = choose_threshold(found["validation"], plan.passages("validation"))
    return Outcome(found, choice, 0, seconds, [])
