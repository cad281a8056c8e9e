# SPDX-License-Identifier: MIT
"""Search over short texts, by vectors of meaning and by shared words, and how often it succeeds.

Implements the vectors of a sentence encoder with the mean of its states as in Reimers and Gurevych
2019, BM25 with k1 = 1.2 and b = 0.75, and reciprocal rank fusion (Cormack et al. 2009, k = 60).
Leaves out stemming, stop words and an index: every query is compared with every text.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from torch.nn import functional as F

from pretrain_lab.corpora.loading import Play

K1, B, FUSION = 1.2, 0.75, 60
Scores = Callable[[str], np.ndarray]
"""Gives one number for each text; more is better."""


def cut_play(play: Play) -> list[str]:
    """Cut a play's speeches behind . ? ! ; and :, keep pieces of four words or more, once each."""
    spoken = (" ".join(speech.text.split()) for speech in play.speeches)
    pieces = (piece for text in spoken for piece in re.split(r"(?<=[.?!;:]) ", text))
    return list(dict.fromkeys(piece for piece in pieces if len(piece.split()) >= 4))


@torch.inference_mode()
def embed(texts: Sequence[str], encoder: Any, tokenizer: Any, batch_size: int = 64) -> np.ndarray:
    """Give one vector of length 1 for each text: the mean state of its tokens, float32 (N, D)."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # similar lengths together
    vectors = np.empty((len(texts), encoder.config.hidden_size), dtype=np.float32)
    for start in range(0, len(texts), batch_size):
        rows = order[start : start + batch_size]
        inputs = tokenizer([texts[i] for i in rows], padding=True, return_tensors="pt")
        states = encoder(**inputs).last_hidden_state  # (B, T, D)
        real = inputs["attention_mask"][..., None]
        vectors[rows] = F.normalize((states * real).sum(dim=1), dim=-1).numpy()
    return vectors


def bm25(texts: Sequence[str]) -> Scores:
    """Count the words of all texts, and score a query by rare words that it shares with each."""
    counter = CountVectorizer(token_pattern=r"[\w']+")
    counts = counter.fit_transform(texts).tocsc().astype(np.float64)  # (texts, words)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    longer = K1 * (1 - B + B * lengths / lengths.mean())
    n_with = np.diff(counts.indptr)
    rarity = np.log(1 + (len(texts) - n_with + 0.5) / (n_with + 0.5))

    def scores(query: str) -> np.ndarray:
        found = np.zeros(len(texts))
        for word in counter.transform([query]).indices:
            times = counts[:, [word]].toarray().ravel()
            found += rarity[word] * times * (K1 + 1) / (times + longer)
        return found

    return scores


def fused(*ways: Scores) -> Scores:
    """Join rankings: a text scores the sum of 1 / (60 + its rank) over the ways."""

    def scores(query: str) -> np.ndarray:
        places = [np.argsort(np.argsort(-way(query), kind="stable")) + 1 for way in ways]
        return np.asarray(sum(1 / (FUSION + place) for place in places))

    return scores


def rank_of(scores: np.ndarray, right: Sequence[int]) -> int:
    """Give the place, from 1, of the best right text; ties count against it."""
    best = max(scores[i] for i in right)
    wrong = np.delete(scores, list(right))
    return int((wrong >= best).sum()) + 1
