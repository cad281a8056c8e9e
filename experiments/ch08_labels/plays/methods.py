# SPDX-License-Identifier: MIT
"""How sentences of plays are classified: rules, counted words and letters, and the strong GPT.

The GPT has read the training plays. The same network from random weights sees the same labels, with
rates tuned for each; both learn until validation no longer improves.
"""

import re
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import Generator, Tensor

from experiments.ch08_labels.data import draw_nested
from experiments.ch08_labels.plays.data import MAX_LEN, Question, questions
from experiments.ch08_labels.strong_gpt import characters, new_backbone
from experiments.common.early_stopping import KeepBest, fit_until_converged
from experiments.common.mixed_precision import FastProducts, fast_products
from pretrain.training import OptimConfig
from pretrain_lab.baselines.kneser_ney import KneserNey
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.finetuning.sequence_classification import (
    TextClassifier,
    classification_loss,
    in_batches,
    predict_classes,
)

ORDER = 7  # of the counted letters, the best on the validation plays
BATCH_SIZE = 16
EVERY, PATIENCE, MAX_STEPS = 25, 8, 1000
"""Updates between evaluations; evaluations without a better one; most updates."""
N_WATCHED = 600  # validation questions that are asked on the way
Setting = dict[str, Any]


class Arm(NamedTuple):
    """One method."""

    title: str
    kind: str  # "counted" or "network"
    grid: list[Setting]


ARMS = {
    "words": Arm(
        "counted words and pairs of words",
        "counted",
        [{"analyzer": "word", "n_gram": 2, "C": c} for c in (0.1, 1.0, 10.0, 100.0)],
    ),
    "letters": Arm(
        "counted letters, up to five",
        "counted",
        [{"analyzer": "char", "n_gram": 5, "C": c} for c in (0.1, 1.0, 10.0, 100.0)],
    ),
    "scratch": Arm(
        "the same network from random weights",
        "network",
        [{"lr": lr} for lr in (1e-4, 3e-4, 1e-3, 3e-3)],
    ),
    "gpt": Arm(
        "the strong GPT, fine-tuned",
        "network",
        [{"lr": lr} for lr in (1e-4, 3e-4, 1e-3, 3e-3)],
    ),
}


class Outcome(NamedTuple):
    """The result of one training."""

    validation: float  # accuracy
    hits: list[int]  # of the test questions, 0 or 1
    n_steps: int  # 0 = no network
    cpu_seconds: float
    first_losses: list[float]


def encode(texts: Sequence[Question]) -> list[Tensor]:
    """Encode texts as the GPT met them, with a line break before; what is too long is cut."""
    return [characters().encode("\n" + question.text)[:MAX_LEN] for question in texts]


@torch.no_grad()
def judge(texts: list[Tensor], labels: Tensor, model: TextClassifier) -> tuple[float, None]:
    """Average the loss over the watched validation questions; the score is its negative."""
    with fast_products():
        logits = in_batches(model, texts, pad_id=characters().pad_id)
    return -F.cross_entropy(logits.float(), labels).item(), None


def run_network(name: str, task: str, setting: Setting, n: int, seed: int, n_test: int) -> Outcome:
    """Fine-tune a network on n labels until the validation loss no longer falls."""
    train, watched, test = (
        questions(task, split, size)
        for split, size in (("train", None), ("validation", N_WATCHED), ("test", n_test))
    )
    chosen = [train[i] for i in draw_nested(len(train), n, 9000 + seed)]
    torch.manual_seed(seed)
    model = TextClassifier(new_backbone(seed, trained=name == "gpt"), 2, pooling="mean")
    pad_id = characters().pad_id
    loss = FastProducts(
        classification_loss(
            encode(chosen), [q.label for q in chosen], batch_size=BATCH_SIZE, pad_id=pad_id
        )
    )
    texts, labels = encode(watched), torch.tensor([q.label for q in watched])
    keeper = KeepBest(partial(judge, texts, labels), EVERY, PATIENCE)
    started = time.process_time()
    optim = OptimConfig(
        lr=setting["lr"], n_warmup=min(25, MAX_STEPS), final_lr=1.0, weight_decay=0.01
    )
    generator = Generator().manual_seed(8000 + seed)
    fit_until_converged(model, loss, optim, keeper, max_steps=MAX_STEPS, generator=generator)
    seconds = time.process_time() - started
    with fast_products():
        known = predict_classes(model, texts, pad_id=pad_id) == labels
        answers = predict_classes(model, encode(test), pad_id=pad_id)
    hits = answers == torch.tensor([q.label for q in test])
    accuracy = known.float().mean().item()
    return Outcome(accuracy, hits.int().tolist(), keeper.step, seconds, keeper.first_losses)


def run_counted(task: str, setting: Setting, n: int, seed: int, n_test: int) -> Outcome:
    """Fit logistic regression on counted words or letters."""
    train, watched, test = (
        questions(task, split, size)
        for split, size in (("train", None), ("validation", N_WATCHED), ("test", n_test))
    )
    chosen = [train[i] for i in draw_nested(len(train), n, 9000 + seed)]
    started = time.process_time()
    words = {"token_pattern": r"\w+|[^\w\s]"} if setting["analyzer"] == "word" else {}
    vectorizer = TfidfVectorizer(
        analyzer=setting["analyzer"], ngram_range=(1, setting["n_gram"]), **words
    )
    model = make_pipeline(vectorizer, LogisticRegression(C=setting["C"], max_iter=2000))
    model.fit([q.text for q in chosen], [q.label for q in chosen])
    seconds = time.process_time() - started
    hits = [
        (model.predict([q.text for q in some]) == [q.label for q in some]).astype(int).tolist()
        for some in (watched, test)
    ]
    return Outcome(float(np.mean(hits[0])), hits[1], 0, seconds, [])


def run(name: str, task: str, setting: Setting, n: int, seed: int, n_test: int) -> Outcome:
    """Train a method on n labels; `setting` is one of its arm's grid."""
    if ARMS[name].kind == "network":
        return run_network(name, task, setting, n, seed, n_test)
    return run_counted(task, setting, n, seed, n_test)


@cache
def counted_letters() -> KneserNey:
    """Fit the counts of letters on the training plays, without labels."""
    n_special = len(characters().special_ids)
    plays = load_shakespeare("train")
    texts = [characters().encode(play.text).numpy() - n_special for play in plays]
    starts = np.cumsum([0, *map(len, texts[:-1])])
    model = KneserNey(ORDER, characters().vocab_size - n_special)
    return model.fit(np.concatenate(texts), starts)


def surprise(text: str) -> float:
    """Score a text, after a line break, by counted letters: nats."""
    ids = characters().encode("\n" + text).numpy() - len(characters().special_ids)
    return -float(counted_letters().log_probs(ids)[1:].sum())


ASKS = re.compile(
    r"(?:^|[,;:!-])\W*(?:(?:and|but|or|o|now|then|well|why|nay|for)\W+)*"
    r"(?:what|who|whom|whose|why|how|where|which|wherefore|is|are|am|was|were|do|does|did|doth|dost|"
    r"ha[sd]|hath|have|hast|will|would|shall|should|can|could|may|might|must|wilt|canst|art|shalt|"
    r"didst|wouldst|couldst)\b",
    re.IGNORECASE,
)


def mark_rule(text: str) -> float:
    """Guess "?" when a clause begins as questions do: with a question word or a verb."""
    return 1.0 if ASKS.search(text) else -1.0


def order_rule(text: str) -> float:
    """Guess an exchange when the other order surprises counted letters less."""
    first, second = text[: text.index(" ", _end(text))], text[text.index(" ", _end(text)) + 1 :]
    return surprise(text) - surprise(f"{second} {first}")


def _end(text: str) -> int:
    """Find the mark that ends the first sentence."""
    return min(place for mark in ".?!" if (place := text.find(mark)) >= 0)


def change_rule(text: str) -> float:
    """Guess another speaker after a question."""
    return 1.0 if text[_end(text)] == "?" else -1.0


def swap_rule(text: str) -> float:
    """Guess an exchange by the most that undoing one would lower the surprise of letters."""
    words, here = text.split(), surprise(text)
    others = (
        [*words[:i], words[i + 1], words[i], *words[i + 2 :]] for i in range(1, len(words) - 2)
    )
    return here - min(surprise(" ".join(other)) for other in others)


RULES: dict[str, Callable[[str], float]] = {
    "mark": mark_rule,
    "speaker": change_rule,
    "order": order_rule,
    "swap": swap_rule,
}
"""Scores without labels; which score means 1 is fitted on the validation questions."""


def run_rule(task: str, n_test: int) -> tuple[float, float, list[int]]:
    """Choose the threshold of a rule on the validation questions and ask it the test questions.

    Returns:
        The threshold, the accuracy on the validation questions, and the hits.
    """
    watched, test = questions(task, "validation", N_WATCHED), questions(task, "test", n_test)
    scores = np.array([RULES[task](q.text) for q in watched])
    labels = np.array([q.label for q in watched])
    limits = [-np.inf, *np.unique(scores)]
    shares = [float(((scores > limit) == labels).mean()) for limit in limits]
    best = int(np.argmax(shares))
    hits = [int((RULES[task](q.text) > limits[best]) == q.label) for q in test]
    return float(limits[best]), shares[best], hits
