# SPDX-License-Identifier: MIT
"""How a method says which of two versions stands in the play: it scores both.

Those that learn are fitted to pairs: the right version shall have the higher score. The strong GPT
has read the training plays; the same network from random weights sees the same pairs, with rates
tuned for each, and both learn until validation no longer improves. The others see no pair: counted
letters and a rule for some tasks, both from the training plays, and the strong GPT itself, asked
which version it finds more probable.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import Generator, Tensor, nn

from experiments.ch08_labels.data import draw_nested
from experiments.ch08_labels.strong_gpt import NAME, characters, new_backbone
from experiments.common.early_stopping import KeepBest, fit_until_converged
from experiments.common.mixed_precision import FastProducts, fast_products
from experiments.common.statistics import Array
from pretrain.evaluation import eval_mode
from pretrain.training import OptimConfig
from pretrain_lab.baselines.kneser_ney import KneserNey
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.finetuning.sequence_classification import (
    TextClassifier,
    in_batches,
    length_batches,
)
from pretrain_lab.pooling import pad
from pretrain_lab.tasks.play_pairs import MAX_LINE_LEN, Pair, read_pairs

ORDER = 7  # of the counted letters, the best on the validation plays
BATCH_SIZE = 16  # pairs
EVERY, PATIENCE, MAX_STEPS = 50, 4, 1000
"""Updates between evaluations; evaluations without a better one; most updates."""
N_WATCHED = 300  # validation pairs that are asked on the way, and choose the settings
Setting = dict[str, Any]
Score = Callable[[Sequence[str]], Array]


class Arm(NamedTuple):
    """One method that learns from pairs."""

    title: str
    kind: str  # "counted" or "network"
    grid: list[Setting]


STRENGTHS, RATES = (0.1, 10.0, 1000.0, 100_000.0), (1e-4, 3e-4, 1e-3, 3e-3)
ARMS = {
    "words": Arm(
        "counted words, pairs and triples of words",
        "counted",
        [{"analyzer": "word", "n_gram": 3, "C": c} for c in STRENGTHS],
    ),
    "letters": Arm(
        "counted letters, up to five",
        "counted",
        [{"analyzer": "char", "n_gram": 5, "C": c} for c in STRENGTHS],
    ),
    "scratch": Arm("the same network from random weights", "network", [{"lr": lr} for lr in RATES]),
    "gpt": Arm("the strong GPT, fine-tuned", "network", [{"lr": lr} for lr in RATES]),
}
ASKED = {
    "counts": "counts of letters: which is more probable?",
    "rule": "a rule of our own",
    "asked": "the strong GPT: which is more probable?",
}


class Outcome(NamedTuple):
    """The result of one training."""

    validation: float  # accuracy on the watched pairs
    hits: list[float]  # of the test pairs: 1, 0, or a half where both versions score the same
    n_steps: int  # 0 = no network
    cpu_seconds: float
    first_losses: list[float]


def versions(some: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """Return the right versions and the wrong ones."""
    return [pair.right for pair in some], [pair.wrong for pair in some]


def ask(score: Score, asked: Sequence[Pair]) -> list[float]:
    """Compare the scores of both versions of each pair: 1, 0, or a half."""
    right, wrong = map(score, versions(asked))
    hits: list[float] = np.where(right == wrong, 0.5, right > wrong).tolist()
    return hits


def encode(texts: Sequence[str]) -> list[Tensor]:
    """Encode texts as the GPT met them, with a line break before."""
    return [characters().encode("\n" + text) for text in texts]


def scores_of(model: nn.Module, texts: Sequence[Tensor]) -> Tensor:
    """Score texts, int64 (T_i,) each, by the difference of a classifier's two logits: (N,)."""
    with fast_products():
        logits = in_batches(model, texts, pad_id=characters().pad_id).float()
    return logits[:, 1] - logits[:, 0]


@dataclass(eq=False)
class PairLoss:
    """The logistic loss of a score's lead, in nats per pair; pass after pass, for one training."""

    texts: list[tuple[Tensor, Tensor]]  # right and wrong version, int64 (T_i,) each
    left: list[list[int]] = field(default_factory=list)

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Take the next batch of pairs and score both versions of each."""
        if not self.left:
            lengths = [len(right) for right, _ in self.texts]
            self.left.extend(length_batches(lengths, BATCH_SIZE, generator))
        batch = self.left.pop(0)
        both = [self.texts[i][side] for side in (0, 1) for i in batch]
        logits = model(*pad(both, characters().pad_id)).float()
        right, wrong = (logits[:, 1] - logits[:, 0]).chunk(2)
        return F.softplus(wrong - right).mean()


@torch.no_grad()
def judge(right: list[Tensor], wrong: list[Tensor], model: TextClassifier) -> tuple[float, None]:
    """Average the loss over the watched validation pairs; the score is its negative."""
    return -F.softplus(scores_of(model, wrong) - scores_of(model, right)).mean().item(), None


def run_network(name: str, task: str, setting: Setting, n: int, seed: int, n_test: int) -> Outcome:
    """Fine-tune a network on n pairs until the validation loss no longer falls."""
    train, watched, test = splits(task, n_test)
    chosen = [train[i] for i in draw_nested(len(train), n, 9000 + seed)]
    torch.manual_seed(seed)
    model = TextClassifier(new_backbone(seed, trained=name == "gpt"), 2, pooling="mean")
    right, wrong = map(encode, versions(watched))
    keeper = KeepBest(partial(judge, right, wrong), EVERY, PATIENCE)
    started = time.process_time()
    optim = OptimConfig(
        lr=setting["lr"], n_warmup=min(25, MAX_STEPS), final_lr=1.0, weight_decay=0.01
    )
    generator = Generator().manual_seed(8000 + seed)
    loss = FastProducts(PairLoss(list(zip(*map(encode, versions(chosen)), strict=True))))
    fit_until_converged(model, loss, optim, keeper, max_steps=MAX_STEPS, generator=generator)
    seconds = time.process_time() - started

    def score(some: Sequence[str]) -> Array:
        """Score with dropout off."""
        with torch.no_grad(), eval_mode(model):
            return scores_of(model, encode(some)).double().numpy()

    hits = [ask(score, some) for some in (watched, test)]
    return Outcome(float(np.mean(hits[0])), hits[1], keeper.step, seconds, keeper.first_losses)


def run_counted(task: str, setting: Setting, n: int, seed: int, n_test: int) -> Outcome:
    """Fit logistic regression on differences of counted words or letters.

    A sum of counts cannot join the first word with the mark at the end; of "marks" it sees no more
    than the last words.
    """
    train, watched, test = splits(task, n_test)
    chosen = [train[i] for i in draw_nested(len(train), n, 9000 + seed)]
    started = time.process_time()
    words = {"token_pattern": r"\w+|[^\w\s]|\n"} if setting["analyzer"] == "word" else {}
    counter = TfidfVectorizer(
        analyzer=setting["analyzer"], ngram_range=(1, setting["n_gram"]), **words
    )
    right, wrong = versions(chosen)
    counter.fit([*right, *wrong])
    # The first half of the pairs has the right version first, the other half the wrong one.
    signs = np.where(np.arange(n) < n / 2, 1, -1)
    lead = (counter.transform(right) - counter.transform(wrong)).multiply(signs[:, None]).tocsr()
    model = LogisticRegression(C=setting["C"], fit_intercept=False, max_iter=2000)
    model.fit(lead, signs)
    seconds = time.process_time() - started
    hits = [
        ask(lambda texts: model.decision_function(counter.transform(texts)).round(9), some)
        for some in (watched, test)
    ]
    return Outcome(float(np.mean(hits[0])), hits[1], 0, seconds, [])


def splits(task: str, n_test: int) -> tuple[Sequence[Pair], Sequence[Pair], Sequence[Pair]]:
    """Return the training, watched validation and test pairs of a task."""
    return (
        read_pairs(task, "train", None),
        read_pairs(task, "validation", N_WATCHED),
        read_pairs(task, "test", n_test),
    )


def run(name: str, task: str, setting: Setting, n: int, seed: int, n_test: int) -> Outcome:
    """Train a method on n pairs; `setting` is one of its arm's grid."""
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


def by_counts(texts: Sequence[str]) -> Array:
    """Give the log-probability of texts, after a line break, by counted letters: nats."""
    n_special = len(characters().special_ids)
    return np.array(
        [counted_letters().log_probs(ids.numpy() - n_special)[1:].sum() for ids in encode(texts)]
    )


@torch.no_grad()
def by_gpt(texts: Sequence[str]) -> Array:
    """Give the log-probability of texts, after a line break, by the strong GPT: nats."""
    model, pad_id = load_model(NAME)[0], characters().pad_id

    def log_prob(ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Add up the log-probabilities of a batch of texts, (B,)."""
        logits = model(ids[:, :-1]).float()
        nats = F.cross_entropy(logits.mT, ids[:, 1:], ignore_index=pad_id, reduction="none")
        return -nats.sum(dim=1)

    with eval_mode(model), fast_products():
        return in_batches(log_prob, encode(texts), pad_id=pad_id).double().numpy()


ASKS = re.compile(
    r"(?:^|[,;:!-])\W*(?:(?:and|but|or|o|now|then|well|why|nay|for)\W+)*"
    r"(?:what|who|whom|whose|why|how|where|which|wherefore|is|are|am|was|were|do|does|did|doth|dost|"
    r"ha[sd]|hath|have|hast|will|would|shall|should|can|could|may|might|must|wilt|canst|art|shalt|"
    r"didst|wouldst|couldst)\b",
    re.IGNORECASE,
)


def mark_rule(texts: Sequence[str]) -> Array:
    """Prefer "?" where a clause begins as questions do: with a question word or a verb."""
    return np.array([float(bool(ASKS.search(text)) == (text[-1] == "?")) for text in texts])


def seam(first: str, second: str) -> tuple[str, str]:
    """Describe two neighbouring lines: the mark behind the one, the first word of the other."""
    mark = re.sub(r".*[\w']", "", first).strip()[:1]
    return mark, (re.findall(r"[\w']+", second.lower()) or [""])[0]


@cache
def counted_seams() -> dict[tuple[str, str], float]:
    """Count the seams of the training plays' verse: log P(word | mark) / P(word), smoothed."""
    seams = Counter[tuple[str, str]]()
    for play in load_shakespeare("train"):
        for speech in play.speeches:
            lines = speech.text.split("\n")
            if max(map(len, lines)) <= MAX_LINE_LEN:
                seams.update(seam(*two) for two in pairwise(lines))
    marks, words = Counter[str](), Counter[str]()
    for (mark, word), n in seams.items():
        marks[mark] += n
        words[word] += n
    n_all, weight = sum(marks.values()), 5.0  # weight of P(word) beside the counts
    return {
        (mark, word): math.log((n / words[word] * n_all + weight) / (marks[mark] + weight))
        for (mark, word), n in seams.items()
    } | {(mark, ""): math.log(weight / (marks[mark] + weight)) for mark in marks}


def line_rule(texts: Sequence[str]) -> Array:
    """Score how well lines follow each other, and an end with a full stop; add counted letters."""
    known, found = counted_seams(), []
    for text in texts:
        lines = text.split("\n")[1:]  # without the heading
        seams = [seam(*two) for two in pairwise(lines)]
        fit = sum(known.get(one, known.get((one[0], ""), 0.0)) for one in seams)
        found.append(fit + 3.0 * (lines[-1][-1] in ".?!"))
    return np.array(found) + 0.5 * by_counts(texts)  # weights from the validation plays


RULES: dict[str, Score] = {"lines": line_rule, "marks": mark_rule}
"""Tasks for which we found a rule that does better than counted letters, on validation plays."""


def run_asked(name: str, task: str, n_test: int) -> dict[str, Any]:
    """Ask a method that learns from no pair: accuracy on the watched pairs, hits of the test."""
    score = {"counts": by_counts, "rule": RULES.get(task, by_counts), "asked": by_gpt}[name]
    _, watched, test = splits(task, n_test)
    return {"validation": float(np.mean(ask(score, watched))), "hits": ask(score, test)}
