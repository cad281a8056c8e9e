# SPDX-License-Identifier: MIT
"""Judges of pairs in the study of next-sentence prediction: heads, probes and shared words.

Every judge gives each pair a score that is high when it believes that the second segment does not
follow. Accuracy needs a threshold, the area under the curve (AUC) does not: it is the chance that a
false pair scores higher than a true one.
"""

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from pretrain_lab.finetuning.next_sentence import NextSentenceBERT, pack_segments
from pretrain_lab.tasks.sentence_pairs import Pairs, Segments
from pretrain_lab.tokenizers.segments import Packed
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

Floats = NDArray[np.float64]
Questions = dict[str, tuple[Segments, Pairs]]
"""Kind of false pairs -> pairs of that kind, and the segments that they were drawn from."""
BATCH_SIZE = 64
WORD_FEATURES = (
    "shared words", "rarity of shared words", "shared speakers", "length of A", "length of B",
    "difference of lengths",
)  # fmt: skip


def judge(scores: Floats, labels: Tensor) -> dict[str, float]:
    """Compute accuracy, AUC, and how often each kind of pair is said to follow.

    `scores` are log-odds, float (n,): above 0 the answer is "does not follow". `labels` are int64
    (n,), 1 = does not follow.
    """
    truth = labels.numpy()
    said = (scores > 0).astype(int)
    return {
        "accuracy": float((said == truth).mean()),
        "auc": float(roc_auc_score(truth, scores)),
        "said_follows_true": float((said[truth == 0] == 0).mean()),
        "said_follows_false": float((said[truth == 1] == 0).mean()),
    }


@torch.inference_mode()
def answer(model: NextSentenceBERT, batch: Packed) -> tuple[Floats, Floats]:
    """Run the encoder, in evaluation mode, once for its own head and for a probe.

    Returns:
        Log-odds of class 1 by the head, (n,); and what a probe reads, (n, 4 D): the state at [CLS],
        the means of the states of both segments, and their product.
    """
    scores, inputs = [], []
    for rows in zip(*(part.split(BATCH_SIZE) for part in batch), strict=True):
        packed = Packed(*rows)
        states = model.bert.encode(packed.ids, packed.attention_mask, packed.segment_ids)
        classes = model.classifier(model.pool(states))
        scores.append(classes[:, 1] - classes[:, 0])
        second = packed.segment_ids == 1
        left = _mean(states, packed.attention_mask & ~second)
        right = _mean(states, second)
        inputs.append(torch.cat([states[:, 0], left, right, left * right], dim=1))
    return torch.cat(scores).double().numpy(), torch.cat(inputs).double().numpy()


def _mean(states: Tensor, where: Tensor) -> Tensor:
    """Average states (B, T, D) over the places (B, T), (B, D)."""
    weights = where[..., None].to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def fit_classifier(inputs: Floats, labels: Tensor, *, strength: float = 0.1) -> Pipeline:
    """Fit a logistic regression on standardised inputs, float (n, k), with labels int64 (n,).

    `strength` is scikit-learn's C; smaller means more regularised.
    """
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=2000))
    return pipeline.fit(inputs, labels.numpy())


class SharedWords:
    """Describe a pair by what its segments share, without any model."""

    def __init__(self, segments: Segments, tokenizer: SubwordTokenizer) -> None:
        """Count in how many segments of the training plays each word occurs."""
        self.tokenizer, self.seen = tokenizer, Counter[str]()
        for ids in segments.tokens(torch.arange(len(segments.ends))):
            self.seen.update(words_of(tokenizer.decode(ids)))
        self.n_segments = len(segments.ends)

    def __call__(self, segments: Segments, pairs: Pairs) -> Floats:
        """Compute WORD_FEATURES, float (n, 6)."""
        sides = (segments.tokens(pairs.first), segments.tokens(pairs.second))
        return np.array([self._describe(*pair) for pair in zip(*sides, strict=True)])

    def _describe(self, first: Tensor, second: Tensor) -> list[float]:
        """Compute the features of one pair."""
        texts = self.tokenizer.decode(first), self.tokenizer.decode(second)
        shared = words_of(texts[0]) & words_of(texts[1])
        rarity = sum(math.log(self.n_segments / (1 + self.seen[word])) for word in shared)
        speakers = speakers_of(texts[0]) & speakers_of(texts[1])
        n_first, n_second = len(first), len(second)
        return [len(shared), rarity, len(speakers), n_first, n_second, abs(n_first - n_second)]


def words_of(text: str) -> set[str]:
    """Return the different words of a text, in lower case."""
    return set(re.findall("[a-z]+", text.lower()))


def speakers_of(text: str) -> set[str]:
    """Return the names that stand on a line of their own before a colon."""
    return set(re.findall("^([^:\n]+):$", text, re.MULTILINE))


def judge_words(
    describe: SharedWords,
    train: tuple[Segments, Pairs],
    tests: Questions,
) -> dict[str, Any]:
    """Fit shared words on pairs of the training plays and judge them on pairs of unseen plays.

    Returns:
        For each question the result of `judge`, and the weights of the standardised features.
    """
    classifier = fit_classifier(describe(*train), train[1].labels, strength=1.0)
    result: dict[str, Any] = {
        name: judge(classifier.decision_function(describe(*pairs)), pairs[1].labels)
        for name, pairs in tests.items()
    }
    weights = classifier[-1].coef_[0].tolist()
    return {"judged": result, "weights": dict(zip(WORD_FEATURES, weights, strict=True))}


def judge_model(
    model: NextSentenceBERT,
    tokenizer: SubwordTokenizer,
    tests: Questions,
    probes: Questions,
) -> dict[str, Any]:
    """Ask one model about all pairs: by its head, and by probes on its frozen encoder.

    Args:
        tests: Pairs of unseen plays, by question.
        probes: Pairs of training plays; one probe is fitted on each kind.

    Returns:
        "head" and "probes"; a probe is named after the kind of pairs that it was fitted on.
    """
    told = {
        name: (*answer(model, pack_segments(drawn[0], drawn[1], tokenizer)), drawn[1].labels)
        for name, drawn in tests.items()
    }
    result: dict[str, Any] = {
        "head": {name: judge(scores, labels) for name, (scores, _, labels) in told.items()},
        "probes": {},
    }
    for kind, (where, pairs) in probes.items():
        inputs = answer(model, pack_segments(where, pairs, tokenizer))[1]
        probe = fit_classifier(inputs, pairs.labels)
        result["probes"][kind] = {
            name: judge(probe.decision_function(read), labels)
            for name, (_, read, labels) in told.items()
        }
    return result
