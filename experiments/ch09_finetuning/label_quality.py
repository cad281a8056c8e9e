# SPDX-License-Identifier: MIT
"""What the labels are worth: leaks between splits, noise, copies, weights, augmentation.

What needs many repetitions is done on the frozen vectors of the published encoder and on words, by
logistic regression; noise and augmentation are repeated with full fine-tuning.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, matthews_corrcoef, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Generator

from experiments.ch08_labels.data import Sentences
from experiments.ch09_finetuning.methods import (
    METHODS,
    Plan,
    draw_labelled,
    encode,
    hits_of,
    make_model,
    new_encoder,
    pad_id,
    train,
)
from pretrain_lab.corpora.loading import Review
from pretrain_lab.finetuning.hf_heads import SentenceClassifier, predict_hf

Array = NDArray[np.float64]
FLIPPED = 0.2
STRENGTHS = (0.001, 0.01, 0.1, 1.0)
RARE, DROPPED = 0.1, 0.1
KINDS = ("noisy", "augmented")  # see `tuned_on`


def read_vector(output: Any, example: Any, row: int) -> list[float]:
    """Return the vector that the head would read, where the head is the identity."""
    vector: list[float] = output["logits"][row].tolist()
    return vector


def read_frozen(reviews: Sequence[Review]) -> Array:
    """Read sentences with the frozen encoder: the means of the states, (N, D)."""
    model = SentenceClassifier(new_encoder(), 2)
    model.classifier = torch.nn.Identity()  # type: ignore[assignment]
    return np.array(predict_hf(model, encode(list(reviews)), read_vector, pad_id=pad_id()))


def regression(strength: float, **options: Any) -> Any:
    """Make a logistic regression on standardised vectors."""
    model = LogisticRegression(C=strength, max_iter=2000, **options)
    return make_pipeline(StandardScaler(), model)


class Pool(NamedTuple):
    """Frozen vectors and labels of each split, and the regression's strength."""

    x: dict[str, Array]
    y: dict[str, NDArray[np.int64]]
    strength: float

    def fit(self, places: NDArray[np.int64], split: str = "train", **options: Any) -> Any:
        """Fit the regression on sentences of a split."""
        return regression(self.strength, **options).fit(
            self.x[split][places], self.y[split][places]
        )

    def score(self, model: Any, places: NDArray[np.int64] | None = None) -> float:
        """Return the accuracy on test sentences; None = on all."""
        asked = slice(None) if places is None else places
        return float(model.score(self.x["test"][asked], self.y["test"][asked]))


@cache
def read_pool(sentences: Sentences, n_labels: int) -> Pool:
    """Read all sentences once; the strength is chosen on the validation films, at n_labels."""
    splits = ("train", "validation", "test")
    x = {split: read_frozen(sentences.of(split)) for split in splits}
    y = {split: sentences.labels(split).numpy() for split in splits}
    places = [draw(len(y["train"]), n_labels, seed=100 + s) for s in range(5)]

    def mean_accuracy(value: float) -> float:
        """Average over five draws."""
        fits = [regression(value).fit(x["train"][p], y["train"][p]) for p in places]
        return float(np.mean([m.score(x["validation"], y["validation"]) for m in fits]))

    return Pool(x, y, max(STRENGTHS, key=mean_accuracy))


def strength(plan: Plan) -> float:
    """Return the regression's strength."""
    return read_pool(plan.pool, plan.n_labels).strength


def draw(n_all: int, n: int, seed: int) -> NDArray[np.int64]:
    """Draw n of n_all places without replacement."""
    return np.random.default_rng(seed).permutation(n_all)[:n]


def halves(films: list[str], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split each film's sentences into two random halves; an odd one goes to the second."""
    rng = np.random.default_rng(seed)
    first, second = [], []
    for film in sorted(set(films)):
        places = rng.permutation([i for i, f in enumerate(films) if f == film])
        first += list(places[: len(places) // 2])
        second += list(places[len(places) // 2 :])
    return np.array(first), np.array(second)


def film_leak(plan: Plan) -> dict[str, Any]:
    """Train on as many sentences of other films, or of the very films that are asked.

    Returns, for vectors and for words, hits on each film for each draw, of both trainings; and how
    many sentences of each film were asked.
    """
    films = plan.pool.films("test")
    pool = read_pool(plan.pool, plan.n_labels)
    names = sorted(set(films))
    result: dict[str, Any] = {"films": names, "sizes": [films.count(f) // 2 for f in names]}
    for kind in ("vectors", "words"):
        rows: dict[str, list[list[int]]] = {"other films": [], "same films": []}
        for seed in range(plan.n_draws):
            questions, rest = halves(films, seed)
            others = draw(len(pool.y["train"]), len(rest), seed)
            for name, split, places in (
                ("other films", "train", others), ("same films", "test", rest),
            ):  # fmt: skip
                right = fit_and_ask(plan, kind, split, places, questions)
                by_film = [0] * len(names)
                for place, hit in zip(questions, right, strict=True):
                    by_film[names.index(films[place])] += int(hit)
                rows[name].append(by_film)
        result[kind] = rows
    return {**result, "n_labels": len(rest), "n_asked": len(questions)}


def fit_and_ask(
    plan: Plan, kind: str, split: str, places: NDArray[np.int64], questions: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Fit on sentences of a split and mark which test sentences are answered right."""
    pool = read_pool(plan.pool, plan.n_labels)
    if kind == "vectors":
        chosen = pool.fit(places, split).predict(pool.x["test"][questions])
    else:
        texts, asked = ([r.sentence for r in plan.pool.of(s)] for s in (split, "test"))
        words = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10.0))
        words.fit([texts[i] for i in places], pool.y[split][places])
        chosen = words.predict([asked[i] for i in questions])
    right: NDArray[np.bool_] = chosen == pool.y["test"][questions]
    return right


def copies(plan: Plan) -> dict[str, Any]:
    """Let a quarter of the asked sentences stand among the training sentences.

    Returns:
        Accuracy of each draw on all that is asked and on what was no copy; and, for copies inside
        the training set, different sentences against half as many, each twice.
    """
    pool = read_pool(plan.pool, plan.n_labels)
    rows: dict[str, list[float]] = {"clean": [], "all": [], "no copies": [], "different": [],
                                    "twice": [], "half": []}  # fmt: skip
    for seed in range(plan.n_draws):
        questions = draw(len(pool.y["test"]), plan.n_asked, seed)
        places = draw(len(pool.y["train"]), plan.n_asked, seed)
        k = plan.n_asked // 4
        copied = questions[:k]
        x = np.concatenate([pool.x["train"][places[k:]], pool.x["test"][copied]])
        y = np.concatenate([pool.y["train"][places[k:]], pool.y["test"][copied]])
        leaky = regression(pool.strength).fit(x, y)
        rows["clean"].append(pool.score(pool.fit(places), questions))
        rows["all"].append(pool.score(leaky, questions))
        rows["no copies"].append(pool.score(leaky, questions[k:]))
        half = places[: plan.n_labels // 2]
        for name, chosen in (
            ("different", places[: plan.n_labels]), ("twice", np.tile(half, 2)), ("half", half),
        ):  # fmt: skip
            rows[name].append(pool.score(pool.fit(chosen)))
    return rows


def noise_frozen(plan: Plan) -> dict[str, dict[str, list[float]]]:
    """Compare n correct labels with 2n of which a share is flipped, on frozen vectors."""
    pool = read_pool(plan.pool, plan.n_labels)
    result = {}
    for n in plan.noisy_n:
        rows: dict[str, list[float]] = {"clean": [], "noisy": [], "noisy half": []}
        for seed in range(plan.n_draws):
            places = draw(len(pool.y["train"]), 2 * n, seed)
            flips = np.random.default_rng(1000 + seed).random(2 * n) < FLIPPED
            wrong = pool.y["train"][places] ^ flips
            for name, k, labels in (
                ("clean", n, pool.y["train"][places]), ("noisy", 2 * n, wrong),
                ("noisy half", n, wrong),
            ):  # fmt: skip
                model = regression(pool.strength).fit(pool.x["train"][places[:k]], labels[:k])
                rows[name].append(pool.score(model))
        result[str(n)] = rows
    return result


def class_weights(plan: Plan) -> dict[str, dict[str, list[float]]]:
    """Train where one class in ten is rotten, with and without weights for the rare class."""
    pool = read_pool(plan.pool, plan.n_labels)
    rows: dict[str, dict[str, list[float]]] = {}
    labels = pool.y["train"]
    for seed in range(plan.n_draws):
        rng = np.random.default_rng(seed)
        n_rare = round(RARE * 2 * plan.n_labels)
        places = np.concatenate([
            rng.permutation(np.flatnonzero(labels == 0))[:n_rare],
            rng.permutation(np.flatnonzero(labels == 1))[: 2 * plan.n_labels - n_rare],
        ])  # fmt: skip
        for name, weight in (("plain", None), ("weighted", "balanced")):
            chosen = pool.fit(places, class_weight=weight).predict(pool.x["test"])
            scores = {
                "accuracy": float(np.mean(chosen == pool.y["test"])),
                "macro_f1": float(f1_score(pool.y["test"], chosen, average="macro")),
                "mcc": float(matthews_corrcoef(pool.y["test"], chosen)),
                "recall_rotten": float(recall_score(pool.y["test"], chosen, pos_label=0)),
                "recall_fresh": float(recall_score(pool.y["test"], chosen, pos_label=1)),
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


def tuned_on(plan: Plan, kind: str, lr: float, seed: int) -> dict[str, Any]:
    """Fine-tune everything on changed labels or sentences; `seed` is of everything.

    `kind` is "noisy" (twice the labels, a share flipped) or "augmented" (each sentence and a copy
    without some of its words); both take as many steps as clean labels alone.
    """
    generator = Generator().manual_seed(7000 + seed)
    n = 2 * plan.n_labels if kind == "noisy" else plan.n_labels
    reviews = draw_labelled(n, seed)
    n_steps = plan.n_epochs * -(-plan.n_labels // 16)
    if kind == "augmented":
        reviews = reviews + [dropped(review, generator) for review in reviews]
    else:
        flips = (torch.rand(2 * plan.n_labels, generator=generator) < FLIPPED).tolist()
        reviews = [
            Review(r.sentence, r.label ^ flip, r.film)
            for r, flip in zip(reviews, flips, strict=False)
        ]
    model = make_model(METHODS["full"], seed)
    made = train(plan, model, encode(reviews), lr, seed, n_steps=n_steps)
    return {"hits": hits_of(plan, model, "test"), **made}
