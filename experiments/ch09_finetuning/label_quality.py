# SPDX-License-Identifier: MIT
"""What the labels are worth: leaks between splits, noise, copies, weights, augmentation.

What needs many repetitions is done on the frozen vectors of the published encoder and on words, by
logistic regression; noise and augmentation are repeated with everything tuned.
"""

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, matthews_corrcoef, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Generator

from experiments.ch09_finetuning.methods import (
    METHODS,
    N_EPOCHS,
    N_LABELS,
    draw_labelled,
    encode,
    hits_of,
    make_model,
    new_encoder,
    pad_id,
    train,
)
from pretrain_lab.corpora.loading import Review, load_reviews
from pretrain_lab.finetuning.hf_heads import SentenceClassifier, answers

Array = NDArray[np.float64]
N_DRAWS = 20
FLIPPED = 0.2
NOISY_N = (128, 512, 2048)
N_ASKED = 1000
STRENGTHS = (0.001, 0.01, 0.1, 1.0)
RARE, DROPPED = 0.1, 0.1
KINDS = ("noisy", "augmented")
"""What is changed in the labels or sentences of a tuned model: see `tuned_on`."""
AT_MOST: dict[str, int] = {}
"""Sentences of a split, for a trial; all where nothing is said."""


def read_vector(output: Any, example: Any, row: int) -> list[float]:
    """Give the vector that the head would read, where the head is the identity."""
    vector: list[float] = output["logits"][row].tolist()
    return vector


@cache
def reviews_of(split: str) -> tuple[Review, ...]:
    """Give the sentences of a split."""
    reviews = load_reviews(split)
    step = max(1, len(reviews) // AT_MOST.get(split, len(reviews)))
    return tuple(reviews[::step])


@cache
def vectors(split: str) -> Array:
    """Read all sentences of a split with the frozen encoder: the means of the states, (N, D)."""
    model = SentenceClassifier(new_encoder(), 2)
    model.classifier = torch.nn.Identity()  # type: ignore[assignment]
    examples = encode(list(reviews_of(split)))
    return np.array(answers(model, examples, read_vector, pad_id=pad_id()))


@cache
def truth(split: str) -> NDArray[np.int64]:
    """Give the labels of a split, (N,)."""
    return np.array([review.label for review in reviews_of(split)])


def regression(strength: float, **options: Any) -> Any:
    """Make a logistic regression on standardised vectors."""
    model = LogisticRegression(C=strength, max_iter=2000, **options)
    return make_pipeline(StandardScaler(), model)


@cache
def strength() -> float:
    """Choose the regression's strength on the validation films, at N_LABELS labels."""
    places = [draw(len(truth("train")), N_LABELS, seed=100 + s) for s in range(5)]

    def mean_accuracy(value: float) -> float:
        """Average over five draws."""
        fits = [regression(value).fit(vectors("train")[p], truth("train")[p]) for p in places]
        return float(np.mean([m.score(vectors("validation"), truth("validation")) for m in fits]))

    return max(STRENGTHS, key=mean_accuracy)


def draw(n_all: int, n: int, seed: int) -> NDArray[np.int64]:
    """Draw n of n_all places without replacement."""
    return np.random.default_rng(seed).permutation(n_all)[:n]


def halves(films: list[str], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut each film's sentences into two random halves; an odd one goes to the second."""
    rng = np.random.default_rng(seed)
    first, second = [], []
    for film in sorted(set(films)):
        places = rng.permutation([i for i, f in enumerate(films) if f == film])
        first += list(places[: len(places) // 2])
        second += list(places[len(places) // 2 :])
    return np.array(first), np.array(second)


def film_leak() -> dict[str, Any]:
    """Train on as many sentences of other films, or of the very films that are asked.

    Returns:
        For vectors and for words: hits on each film for each draw, of both trainings; and how
        many sentences of each film were asked.
    """
    films = [review.film for review in reviews_of("test")]
    names = sorted(set(films))
    result: dict[str, Any] = {"films": names, "sizes": [films.count(f) // 2 for f in names]}
    for kind in ("vectors", "words"):
        rows: dict[str, list[list[int]]] = {"other films": [], "same films": []}
        for seed in range(N_DRAWS):
            questions, rest = halves(films, seed)
            others = draw(len(truth("train")), len(rest), seed)
            for name, split, places in (
                ("other films", "train", others), ("same films", "test", rest),
            ):  # fmt: skip
                right = fit_and_ask(kind, split, places, questions)
                by_film = [0] * len(names)
                for place, hit in zip(questions, right, strict=True):
                    by_film[names.index(films[place])] += int(hit)
                rows[name].append(by_film)
        result[kind] = rows
    return {**result, "n_labels": len(rest), "n_asked": len(questions)}


def fit_and_ask(
    kind: str, split: str, places: NDArray[np.int64], questions: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Fit on sentences of a split and say which test sentences are answered right."""
    labels = truth(split)[places]
    if kind == "vectors":
        model = regression(strength()).fit(vectors(split)[places], labels)
        chosen = model.predict(vectors("test")[questions])
    else:
        texts, asked = ([r.sentence for r in reviews_of(s)] for s in (split, "test"))
        words = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10.0))
        words.fit([texts[i] for i in places], labels)
        chosen = words.predict([asked[i] for i in questions])
    right: NDArray[np.bool_] = chosen == truth("test")[questions]
    return right


def copies() -> dict[str, Any]:
    """Let a quarter of the asked sentences stand among the training sentences.

    Returns:
        Accuracy of each draw on all that is asked and on what was no copy; and, for copies inside
        the training set, N_LABELS different sentences against half as many, each twice.
    """
    rows: dict[str, list[float]] = {"clean": [], "all": [], "no copies": [], "different": [],
                                    "twice": [], "half": []}  # fmt: skip
    for seed in range(N_DRAWS):
        questions = draw(len(truth("test")), N_ASKED, seed)
        places = draw(len(truth("train")), N_ASKED, seed)
        k = N_ASKED // 4
        copied = questions[:k]
        x = np.concatenate([vectors("train")[places[k:]], vectors("test")[copied]])
        y = np.concatenate([truth("train")[places[k:]], truth("test")[copied]])
        for name, model, asked in (
            ("clean", regression(strength()).fit(vectors("train")[places], truth("train")[places]),
             questions),
            ("all", regression(strength()).fit(x, y), questions),
            ("no copies", regression(strength()).fit(x, y), questions[k:]),
        ):  # fmt: skip
            rows[name].append(float(model.score(vectors("test")[asked], truth("test")[asked])))
        half = places[: N_LABELS // 2]
        for name, chosen in (
            ("different", places[:N_LABELS]), ("twice", np.tile(half, 2)), ("half", half),
        ):  # fmt: skip
            model = regression(strength()).fit(vectors("train")[chosen], truth("train")[chosen])
            rows[name].append(float(model.score(vectors("test"), truth("test"))))
    return rows


def noise_frozen() -> dict[str, dict[str, list[float]]]:
    """Compare n right labels with 2n of which a share is flipped, on frozen vectors."""
    result = {}
    for n in NOISY_N:
        rows: dict[str, list[float]] = {"clean": [], "noisy": [], "noisy half": []}
        for seed in range(N_DRAWS):
            places = draw(len(truth("train")), 2 * n, seed)
            flips = np.random.default_rng(1000 + seed).random(2 * n) < FLIPPED
            wrong = truth("train")[places] ^ flips
            for name, k, labels in (
                ("clean", n, truth("train")[places]), ("noisy", 2 * n, wrong),
                ("noisy half", n, wrong),
            ):  # fmt: skip
                model = regression(strength()).fit(vectors("train")[places[:k]], labels[:k])
                rows[name].append(float(model.score(vectors("test"), truth("test"))))
        result[str(n)] = rows
    return result


def class_weights() -> dict[str, dict[str, list[float]]]:
    """Train where one class in ten is rotten, with and without weights for the rare class."""
    rows: dict[str, dict[str, list[float]]] = {}
    labels = truth("train")
    for seed in range(N_DRAWS):
        rng = np.random.default_rng(seed)
        n_rare = round(RARE * 2 * N_LABELS)
        places = np.concatenate([
            rng.permutation(np.flatnonzero(labels == 0))[:n_rare],
            rng.permutation(np.flatnonzero(labels == 1))[: 2 * N_LABELS - n_rare],
        ])  # fmt: skip
        for name, weight in (("plain", None), ("weighted", "balanced")):
            model = regression(strength(), class_weight=weight)
            chosen = model.fit(vectors("train")[places], labels[places]).predict(vectors("test"))
            scores = {
                "accuracy": float(np.mean(chosen == truth("test"))),
                "macro_f1": float(f1_score(truth("test"), chosen, average="macro")),
                "mcc": float(matthews_corrcoef(truth("test"), chosen)),
                "recall_rotten": float(recall_score(truth("test"), chosen, pos_label=0)),
                "recall_fresh": float(recall_score(truth("test"), chosen, pos_label=1)),
            }
            for key, value in scores.items():
                rows.setdefault(name, {}).setdefault(key, []).append(value)
    return rows


def dropped(review: Review, generator: Generator) -> Review:
    """Leave out each word of a sentence with probability DROPPED; never all of them."""
    words = review.sentence.split()
    kept = torch.rand(len(words), generator=generator) >= DROPPED
    text = " ".join(word for word, keep in zip(words, kept.tolist(), strict=True) if keep)
    return Review(text or review.sentence, review.label, review.film)


def tuned_on(kind: str, lr: float, seed: int) -> dict[str, Any]:
    """Tune everything on changed labels or sentences.

    Args:
        kind: "noisy" (twice the labels, a share flipped) or "augmented" (each sentence and a copy
            without some of its words); both take as many steps as N_LABELS clean labels.
        lr: Learning rate.
        seed: Of everything.
    """
    generator = Generator().manual_seed(7000 + seed)
    n = 2 * N_LABELS if kind == "noisy" else N_LABELS
    reviews = draw_labelled(n, seed)
    n_steps = N_EPOCHS * -(-N_LABELS // 16)
    if kind == "augmented":
        reviews = reviews + [dropped(review, generator) for review in reviews]
    else:
        flips = (torch.rand(2 * N_LABELS, generator=generator) < FLIPPED).tolist()
        reviews = [
            Review(r.sentence, r.label ^ flip, r.film)
            for r, flip in zip(reviews, flips, strict=False)
        ]
    model = make_model(METHODS["full"], seed)
    made = train(model, encode(reviews), lr, seed, n_steps=n_steps)
    return {"hits": hits_of(model, "test"), **made}
