# SPDX-License-Identifier: MIT
"""Spaces of sentences and of words in context, and review sentiment from frozen features.

The sentences are those of data/senses.toml. Equal senses should be neighbours: of a word's states
layer by layer, and of whole sentences. Rivals: the word's embedding before any layer, and a bag of
the other words' embeddings.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from torch import Generator, Tensor

from experiments.ch10_feature_lab.readers import TITLES, Reader, load_reader
from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.interpretability.hidden_states import LAYER_POOLINGS
from pretrain_lab.interpretability.linear_probes import fit_probe
from pretrain_lab.statistics.intervals import bootstrap_interval, wilson_interval
from pretrain_lab.tasks.word_senses import load_senses, mean_cosine, neighbour_hits

PERPLEXITY = 15
LOW_PERPLEXITY = 4
N_BOOTSTRAP = 1000
Floats = NDArray[np.float64]


def share(hits: Tensor) -> list[float]:
    """Return a mean of hits with Wilson's interval; shares of a hit (ties) are added up."""
    total = float(hits.sum())
    middle = wilson_interval(round(total), len(hits))
    return [total / len(hits), *middle[1:]]


def word_senses(reader: Reader) -> dict[str, Any]:
    """Ask at every layer whether the nearest use of a word has the same sense.

    Returns:
        "word": by layer, all sentences and those with the clue left or right of the word; "end":
        the same for the state of the last word of the sentence; "bag": for the mean of the other
        words' token embeddings; "counts": for their counts; the mean cosines of the word's states.
    """
    senses = load_senses()
    texts = [sentence.text.rstrip(".").split() for sentence in senses]
    labels = [sentence.sense for sentence in senses]
    words = [sentence.word for sentence in senses]
    places = [sentence.place for sentence in senses]
    at_word = reader.word_states(texts, [[place] for place in places])
    at_end = reader.word_states(texts, [[len(text) - 1] for text in texts])
    rest = [[w for i, w in enumerate(t) if i != p] for t, p in zip(texts, places, strict=True)]
    bag = static_means(reader, rest)

    def by_clue(hits: Tensor) -> dict[str, list[float]]:
        """Split hits by the side of the clue."""
        sides = {side: [s.clue == side for s in senses] for side in ("left", "right")}
        found = {side: share(hits[torch.tensor(mask)]) for side, mask in sides.items()}
        return {"all": share(hits), **found}

    result: dict[str, Any] = {"n_layers": len(at_word) - 1}
    for name, states in (("word", at_word), ("end", at_end)):
        result[name] = [by_clue(neighbour_hits(layer, labels, words)) for layer in states]
    result["bag"] = by_clue(neighbour_hits(bag, labels, words))
    result["counts"] = by_clue(neighbour_hits(word_counts(rest), labels, words))
    result["word_cosine"] = [mean_cosine(layer) for layer in at_word]
    return result


def static_means(reader: Reader, texts: list[list[str]]) -> Tensor:
    """Average the token embeddings of texts, without positions or layers; float (n, D)."""
    own = reader.own
    table = (reader.model.embeddings.token if own else reader.model.model.embed_tokens).weight
    rows = [[i for word in text for i in reader.encode(" " + word)] for text in texts]
    return torch.stack([table[torch.tensor(row)].mean(dim=0) for row in rows]).detach()


def word_counts(texts: list[list[str]]) -> Tensor:
    """Count the words of each text, in lower case and without marks; float (n, words)."""
    bare = [[word.lower().strip(",.") for word in text] for text in texts]
    known = sorted({word for text in bare for word in text})
    return torch.tensor([[float(text.count(word)) for word in known] for text in bare])


def sentence_space(reader: Reader) -> dict[str, Any]:
    """Project sentences to two dimensions, and measure the space that they lie in.

    Returns:
        Coordinates by PCA and by t-SNE; neighbours of the same sense among all sentences, raw and
        after standardising each dimension; mean cosine; share of the variance on the first axis;
        how well ten clusters stand apart among the standardised vectors and on their maps.
    """
    senses = load_senses()
    texts = [sentence.text.rstrip(".").split() for sentence in senses]
    labels = [f"{sentence.word} {sentence.sense}" for sentence in senses]
    vectors = reader.mean_states(texts)[-1].double()
    spread = vectors.std(dim=0, keepdim=True).clamp(min=1e-12)
    standard = (vectors - vectors.mean(dim=0, keepdim=True)) / spread
    together = ["all"] * len(labels)
    variance = PCA().fit(vectors.numpy()).explained_variance_ratio_
    result: dict[str, Any] = {
        "mean_cosine": mean_cosine(vectors),
        "first_axis": float(variance[0]),
        "raw": share(neighbour_hits(vectors, labels, together)),
        "standardised": share(neighbour_hits(standard, labels, together)),
        "chance": 11 / 119,
    }
    for name, inputs in (("pca", vectors), ("pca_standardised", standard)):
        result[name] = PCA(2, svd_solver="full").fit_transform(inputs.numpy()).round(3).tolist()
    result["tsne"] = lay_out(standard.numpy())
    flat = {name: np.array(result[name]) for name in ("pca_standardised", "tsne")}
    spaces = {"vectors": standard.numpy(), **flat}
    result["silhouettes"] = {name: apartness(points) for name, points in spaces.items()}
    return result


def lay_out(vectors: Floats, perplexity: float = PERPLEXITY) -> list[list[float]]:
    """Project vectors (n, D) by t-SNE, (n, 2), by cosine distance."""
    tsne = TSNE(perplexity=perplexity, metric="cosine", init="random", random_state=0)
    found: list[list[float]] = tsne.fit_transform(vectors.astype(np.float32)).round(2).tolist()
    return found


def noise_space(n: int, width: int) -> dict[str, Any]:
    """Project independent normal vectors in the same way: t-SNE clumps where there are none.

    Returns coordinates by t-SNE at two perplexities, and how well ten clusters that k-means finds
    stand apart (mean silhouette) there, on the first two axes of PCA and among the vectors.
    """
    vectors = torch.randn(n, width, generator=Generator().manual_seed(9)).numpy()
    flat = {"tsne": lay_out(vectors), "tsne_low": lay_out(vectors, LOW_PERPLEXITY)}
    spaces = {"vectors": vectors, "pca": PCA(2, svd_solver="full").fit_transform(vectors)}
    spaces |= {name: np.array(points) for name, points in flat.items()}
    return {**flat, "silhouettes": {name: apartness(points) for name, points in spaces.items()}}


def apartness(points: Floats, n_clusters: int = 10) -> float:
    """Find clusters by k-means and return their mean silhouette: 1 = far apart, 0 = no gap."""
    found = KMeans(n_clusters, n_init=10, random_state=0).fit_predict(points)
    return float(silhouette_score(points, found))


class Sentiment:
    """Review sentences of three splits with labels and films."""

    def __init__(self, sizes: dict[str, int]) -> None:
        """Draw sentences of each split."""
        self.texts: dict[str, list[list[str]]] = {}
        self.labels: dict[str, Tensor] = {}
        self.films: list[str] = []
        for split, n in sizes.items():
            reviews = load_reviews(split)
            order = torch.randperm(len(reviews), generator=Generator().manual_seed(10))[:n]
            chosen = [reviews[i] for i in order.tolist()]
            self.texts[split] = [review.sentence.split() for review in chosen]
            self.labels[split] = torch.tensor([review.label for review in chosen])
            if split == "test":
                self.films = [review.film for review in chosen]

    def over_films(self, values: Tensor) -> list[float]:
        """Return a mean over test sentences and its interval, films drawn with replacement."""
        films = sorted(set(self.films))
        index = torch.tensor([films.index(film) for film in self.films])
        generator = Generator().manual_seed(11)
        return list(
            bootstrap_interval(values, cluster=index, generator=generator, n_resamples=N_BOOTSTRAP)
        )

    def counts(self) -> Tensor:
        """Judge the test sentences by weighted word counts; return hits, bool (n,)."""
        texts = {split: [" ".join(words) for words in part] for split, part in self.texts.items()}
        vectoriser = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
        inputs = {"train": vectoriser.fit_transform(texts["train"])}
        inputs |= {s: vectoriser.transform(texts[s]) for s in ("validation", "test")}
        models = [
            LogisticRegression(C=c, max_iter=1000).fit(inputs["train"], self.labels["train"])
            for c in (0.1, 1.0, 10.0, 100.0)
        ]
        best = max(models, key=lambda m: m.score(inputs["validation"], self.labels["validation"]))
        return torch.tensor(best.predict(inputs["test"])) == self.labels["test"]

    def features(self, reader: Reader) -> dict[str, Tensor]:
        """Judge them by each pooling of a frozen model; return hits by pooling."""
        read = {split: reader.pooled(texts, LAYER_POOLINGS) for split, texts in self.texts.items()}
        hits = {}
        for how in LAYER_POOLINGS:
            parts = {split: (read[split][how], self.labels[split]) for split in read}
            hits[how] = fit_probe(parts["train"], parts["validation"]).hits(*parts["test"])
        return hits


def sentiment_arm(name: str, sizes: dict[str, int]) -> dict[str, Any]:
    """Return the hits of one model, or of "counts", as strings of 0 and 1, one a sentence."""
    task = Sentiment(sizes)
    hits = {"counts": task.counts()} if name == "counts" else task.features(load_reader(name))
    return {how: "".join(str(int(hit)) for hit in found) for how, found in hits.items()}


def sentiment_record(arms: dict[str, dict[str, str]], sizes: dict[str, int]) -> dict[str, Any]:
    """Combine the arms: accuracies, and differences from counts on the same sentences."""
    task = Sentiment(sizes)
    hits = {
        f"{name}, {how}" if how != "counts" else "counts": torch.tensor([int(c) for c in text])
        for name, found in arms.items() for how, text in found.items()
    }  # fmt: skip
    base = hits["counts"].double()
    majority = int(task.labels["train"].double().mean() >= 0.5)
    return {
        "sizes": sizes, "n_films": len(set(task.films)), "titles": TITLES,
        "majority": float((task.labels["test"] == majority).double().mean()),
        "accuracy": {key: task.over_films(found) for key, found in hits.items()},
        "minus_counts": {key: task.over_films(found - base) for key, found in hits.items()},
        "mean_minus_first": {
            name: task.over_films(hits[f"{name}, mean"] - hits[f"{name}, first"])
            for name in arms if name != "counts"
        },
    }  # fmt: skip
