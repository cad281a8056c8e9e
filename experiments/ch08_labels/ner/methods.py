# SPDX-License-Identifier: MIT
"""How a method of the name study learns: features of words, or an encoder with a new layer.

The baseline without a network has read the same plain text: how often the training plays hold a
word is one of its features. A training passage's own play is left out of the count, or else its
names would look familiar, which those of an unseen play never do.
"""

import time
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import torch
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from experiments.ch07_worldview.questions import TOKENIZER
from experiments.ch08_labels.method_table import BATCH_SIZE, RATES, RELATIVE
from experiments.ch08_labels.methods import load_backbone, tune
from experiments.ch08_labels.ner.data import Plan
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.corpora.scenes import normalise_word
from pretrain_lab.finetuning.token_classification import WordTagger, tag_words, tagging_loss
from pretrain_lab.tasks.character_ner import TAGS, NamePassage

Setting = dict[str, Any]


class Arm(NamedTuple):
    """One method."""

    title: str
    backbone: str | None  # None, "random" or a mini model's name
    grid: list[Setting]


ARMS = {
    "features": Arm(
        "features of words, counts of the plays among them",
        None,
        [{"C": strength} for strength in (0.1, 1.0, 10.0, 100.0)],
    ),
    "scratch": Arm("from scratch", "random", RATES),
    "mlm": Arm("masked, fine-tuned", "bert", RATES),
    "clm": Arm("causal, fine-tuned", "gpt", RATES),
    "span": Arm("spans, fine-tuned", "t5", RELATIVE),
}


class Outcome(NamedTuple):
    """The result of one training."""

    marked: list[list[int]]  # places in TAGS, for each word of each passage of the split
    cpu_seconds: float  # of the training


def run(arm: Arm, setting: Setting, n: int, seed: int, split: str, plan: Plan) -> Outcome:
    """Train a method on n labelled passages and let it mark names in "validation" or "test".

    `setting` is one of the arm's grid. `seed` is of the subset, of new weights and of batches; each
    has another backbone, where 100 counts as 0, 101 as 1.
    """
    if arm.backbone is None:
        return run_features(setting, n, seed, split, plan)
    torch.manual_seed(seed)
    model = WordTagger(load_backbone(arm.backbone, seed % 100), len(TAGS))
    texts, tags, places = plan.encoded("train"), plan.classes("train"), plan.subset(n, seed)
    loss = tagging_loss(
        [texts[i] for i in places],
        [tags[i] for i in places],
        batch_size=BATCH_SIZE,
        pad_id=TOKENIZER.pad_id,
    )
    n_steps = plan.steps.get(n, plan.all_steps)
    started = time.process_time()
    tune(model, loss, setting, n_steps, 8000 + seed)
    seconds = time.process_time() - started
    return Outcome(tag_words(model, plan.encoded(split), pad_id=TOKENIZER.pad_id), seconds)


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


def run_features(setting: Setting, n: int, seed: int, split: str, plan: Plan) -> Outcome:
    """Fit logistic regression on features of single words; arguments as in `run`."""
    started = time.process_time()
    train, tags = plan.passages("train"), plan.classes("train")
    places = plan.subset(n, seed)
    rows = [describe(train[i], j) for i in places for j in range(len(train[i].words))]
    model = make_pipeline(DictVectorizer(), LogisticRegression(C=setting["C"], max_iter=2000))
    model.fit(rows, [tag for i in places for tag in tags[i]])
    seconds = time.process_time() - started
    marked = [
        model.predict([describe(p, j) for j in range(len(p.words))]).tolist()
        for p in plan.passages(split)
    ]
    return Outcome(marked, seconds)
