# SPDX-License-Identifier: MIT
"""What the game of the first page asks, and what three models answer.

Run `python -m experiments.applets.verdicts`. Writes data/applets/verdicts.json: eight sentences
from reviews of unseen films, four of praise and four of blame, and how probable each of three
models finds praise. The models learn from the 256 sentences of the first page, at its rates.
"""

import random
from typing import Any

import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import Generator

from experiments.common.records import Clock, write_run
from pretrain.training import OptimConfig, fit
from pretrain_lab.corpora.loading import Review, load_reviews
from pretrain_lab.finetuning.hf_heads import (
    Encoded,
    SentenceClassifier,
    encode_classes,
    hf_loss,
    predict_hf,
)
from pretrain_lab.hub.models import load_minilm
from pretrain_lab.paths import DATA

SEED, N_TRAIN, N_EACH, N_STEPS = 0, 256, 4, 64
SHORTEST, LONGEST = 30, 130
"""Characters of a sentence that is asked."""


def draw(reviews: list[Review]) -> list[Review]:
    """Draw as many sentences of praise as of blame, each from a film of its own, mixed."""
    shuffled = random.Random(SEED).sample(reviews, len(reviews))
    chosen: list[Review] = []
    for review in shuffled:
        n_alike = sum(one.label == review.label for one in chosen)
        is_new = review.film not in {one.film for one in chosen}
        if n_alike < N_EACH and is_new and SHORTEST <= len(review.sentence) <= LONGEST:
            chosen.append(review)
    return chosen


def read_praise(output: Any, example: Encoded, row: int) -> float:
    """Give the probability of praise."""
    return float(output["logits"][row].softmax(dim=-1)[1])


def verdicts() -> dict[str, Any]:
    """Train the three models and ask them."""
    torch.manual_seed(SEED)
    reviews, asked = load_reviews("train"), draw(load_reviews("test"))
    order = torch.randperm(len(reviews), generator=Generator().manual_seed(5000)).tolist()
    train = [reviews[i] for i in order[:N_TRAIN]]
    sentences, labels = [one.sentence for one in train], [one.label for one in train]
    questions = [one.sentence for one in asked]

    published, tokenizer = load_minilm()
    untrained = type(published)(published.config, add_pooling_layer=False)
    pad_id = tokenizer.pad_token_id
    given = {}
    for name, encoder, lr in (("published", published, 2e-4), ("random", untrained, 1e-4)):
        model = SentenceClassifier(encoder, n_classes=2)
        examples = encode_classes(sentences, labels, tokenizer)
        loss = hf_loss(examples, batch_size=16, pad_id=pad_id)
        batches = Generator().manual_seed(6000)
        fit(model, loss, OptimConfig(lr, n_warmup=6), n_steps=N_STEPS, generator=batches)
        unlabelled = encode_classes(questions, [0] * len(questions), tokenizer)
        given[name] = predict_hf(model, unlabelled, read_praise, pad_id=pad_id)

    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[!?]")
    counts = make_pipeline(words, LogisticRegression(C=10.0, max_iter=2000)).fit(sentences, labels)
    given["counts"] = counts.predict_proba(questions)[:, 1].tolist()
    items = [
        {
            "sentence": one.sentence,
            "label": one.label,
            "praise": {name: round(found[i], 3) for name, found in given.items()},
        }
        for i, one in enumerate(asked)
    ]
    return {
        "question": "Praise or blame? praise: the probability that each model gives to praise",
        "seed": SEED,
        "n_labels": N_TRAIN,
        "items": items,
    }


if __name__ == "__main__":
    clock = Clock()
    write_run("verdicts", verdicts(), clock, folder=DATA / "applets")
