# SPDX-License-Identifier: MIT
"""Baselines without a language model: a bag of words with n labels, and a list of forty words.

The bag of words is the plain default: words that occur, weighted by their rarity (tf-idf), and a
logistic regression with scikit-learn's C = 1; its labels are balanced and come from the training
films. "tuned" chooses C on 300 reviews of the validation films, which are labels, too.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from experiments.ch11_few_shot.tasks import balanced_reviews
from pretrain_lab.corpora.loading import Review, load_reviews

N_LABELS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8000)
STRENGTHS = (0.1, 1.0, 10.0, 100.0)
GOOD = frozenset(
    """good great best wonderful excellent funny charming brilliant beautiful moving fresh smart
    clever enjoyable delightful powerful touching fun fine masterpiece""".split()  # noqa: SIM905
)
BAD = frozenset(
    """bad worst boring dull terrible awful poor weak silly stupid predictable tedious bland lame
    mess waste fails flat cliche disappointing""".split()  # noqa: SIM905
)


def word_list_hits(reviews: Sequence[Review]) -> Tensor:
    """Count twenty good and twenty bad words, which were chosen without looking at data.

    Returns float64 (N,): 1 = right, 0 = wrong, 0.5 = a tie, where only a coin could decide.
    """
    scores = []
    for review in reviews:
        words = re.findall(r"[a-z]+", review.sentence.lower())
        lead = sum(word in GOOD for word in words) - sum(word in BAD for word in words)
        right = np.sign(lead) * (1 if review.label else -1)
        scores.append((right + 1) / 2)
    return torch.tensor(scores, dtype=torch.float64)


def bag_of_words(reviews: Sequence[Review], n: int, seed: int) -> dict[str, Any]:
    """Fit a bag of words to n labels, half of them positive, of training films, and ask it.

    Returns hits of the default and of the tuned model, as strings of 0 and 1.
    """
    known = balanced_reviews(load_reviews("train"), n, seed=1000 + seed)
    tuning = balanced_reviews(load_reviews("validation"), 300, seed=0)
    weigh = TfidfVectorizer().fit([review.sentence for review in known])
    x, y = _table(weigh, known)
    fitted = {c: LogisticRegression(C=c, max_iter=1000).fit(x, y) for c in STRENGTHS}
    best = max(STRENGTHS, key=lambda c: fitted[c].score(*_table(weigh, tuning)))
    asked, truth = _table(weigh, reviews)
    return {
        name: "".join("1" if hit else "0" for hit in fitted[c].predict(asked) == truth)
        for name, c in (("default", 1.0), ("tuned", best))
    }


def _table(weigh: TfidfVectorizer, reviews: Sequence[Review]) -> tuple[Any, list[int]]:
    """Turn reviews into a table of weighted words, and their labels."""
    return weigh.transform([r.sentence for r in reviews]), [r.label for r in reviews]
