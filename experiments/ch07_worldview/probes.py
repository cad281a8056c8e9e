# SPDX-License-Identifier: MIT
"""Frozen probes: what can be read off the states of a model that is not trained any further.

Two labels that can be derived exactly from the plays, both with balanced classes:

question  does the sentence end in a question mark? (its final mark is removed)
swapped   were two neighbouring tokens exchanged? Words without order cannot tell.

The sentences come from the speeches, 5 to 40 tokens each. The probe is fitted on the training
plays, its strength C is chosen on the validation plays, and the score is taken on the test plays. A
sentence that occurs in two splits is dropped from the later one.
"""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from torch import Generator, Tensor

from experiments.ch07_worldview.questions import TOKENIZER
from pretrain.evaluation import eval_mode
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.pooling import pad, pool
from pretrain_lab.statistics.intervals import wilson_interval

N_SENTENCES = {"train": 2000, "validation": 600, "test": 1000}
LENGTHS = (5, 40)  # tokens, ends included
STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)
_SENTENCE = re.compile(r"([^.?!]+)([.?!])")

Task = dict[str, tuple[list[Tensor], np.ndarray]]
"""For each split, the sentences, int64 (L,) each, and their labels, 0 or 1."""


def sentences(split: str, seen: set[str]) -> list[tuple[Tensor, str]]:
    """List the new sentences of a split, with the mark that ended each; add them to `seen`."""
    found = []
    for play in load_shakespeare(split):
        for speech in play.speeches:
            for text, mark in _SENTENCE.findall(speech.text):
                plain = text.strip()
                ids = TOKENIZER.encode(plain)
                if plain not in seen and LENGTHS[0] <= len(ids) <= LENGTHS[1]:
                    seen.add(plain)
                    found.append((ids, mark))
    return found


def balanced(first: list[Tensor], second: list[Tensor], n: int, generator: Generator) -> Any:
    """Draw n / 2 sentences of each class; label 1 is the second class."""
    drawn = [
        [group[i] for i in torch.randperm(len(group), generator=generator)[: n // 2].tolist()]
        for group in (first, second)
    ]
    return drawn[0] + drawn[1], np.repeat([0, 1], [len(drawn[0]), len(drawn[1])])


def swap_neighbours(ids: Tensor, generator: Generator) -> Tensor:
    """Exchange two neighbouring tokens that differ, at a random place.

    The first token stays: its capital letter would give the answer away.
    """
    places = (ids[2:] != ids[1:-1]).nonzero().flatten() + 1
    i = int(places[torch.randint(len(places), (1,), generator=generator)])
    swapped = ids.clone()
    swapped[i], swapped[i + 1] = ids[i + 1], ids[i]
    return swapped


def make_tasks(sizes: dict[str, int]) -> dict[str, Task]:
    """Make both tasks, the same at each call; `sizes` count sentences of both classes together."""
    tasks: dict[str, Task] = {"question": {}, "swapped": {}}
    seen: set[str] = set()
    for split, n in sizes.items():
        generator = torch.Generator().manual_seed(35)
        found = sentences(split, seen)
        asking = [ids for ids, mark in found if mark == "?"]
        other = [ids for ids, mark in found if mark != "?"]
        tasks["question"][split] = balanced(other, asking, n, generator)
        varied = [ids for ids, _ in found if len(ids[1:].unique()) > 1]
        mixed = [varied[i] for i in torch.randperm(len(varied), generator=generator).tolist()]
        changed = [swap_neighbours(ids, generator) for ids in mixed[n // 2 :][:n]]
        tasks["swapped"][split] = balanced(mixed[: n // 2], changed, n, generator)
    return tasks


@torch.no_grad()
def states(model: Any, texts: list[Tensor], pooling: str, batch_size: int = 64) -> np.ndarray:
    """Return one vector for each sentence, float32 (N, D), from a frozen model.

    Args:
        model: A GPT or a BERT (states that their heads read) or a T5 (states of its encoder).
        texts: int64 (L,) each.
        pooling: "mean" of all states, or the "last" one.
    """
    parts = []
    with eval_mode(model):
        for start in range(0, len(texts), batch_size):
            rows = texts[start : start + batch_size]
            ids, real = pad(rows, TOKENIZER.pad_id)
            parts.append(pool(model.encode(ids, real), real, pooling))
    return torch.cat(parts).numpy()


def fit_probe(features: dict[str, Any], task: Task, *, scaler: Any) -> dict[str, Any]:
    """Fit a linear probe, its strength chosen on the validation plays.

    Args:
        features: Of each split, (N, n_features).
        scaler: Class of the scaler in front of the probe.

    Returns:
        Accuracy on the test plays with Wilson's interval over sentences; on the validation plays;
        and the strength.
    """
    best: tuple[float, float, Any] = (-1.0, 0.0, None)
    for strength in STRENGTHS:
        probe = make_pipeline(scaler(), LogisticRegression(C=strength, max_iter=2000))
        probe.fit(features["train"], task["train"][1])
        value = float(probe.score(features["validation"], task["validation"][1]))
        if value > best[0]:
            best = (value, strength, probe)
    right = int((best[2].predict(features["test"]) == task["test"][1]).sum())
    return {
        "accuracy": list(wilson_interval(right, len(task["test"][1]))),
        "validation": best[0],
        "strength": best[1],
    }


def probe_model(model: Any, tasks: dict[str, Task]) -> dict[str, Any]:
    """Probe a model's states: task -> pooling ("mean", "last") -> result of `fit_probe`."""
    return {
        name: {
            pooling: fit_probe(
                {split: states(model, texts, pooling) for split, (texts, _) in task.items()},
                task,
                scaler=StandardScaler,
            )
            for pooling in ("mean", "last")
        }
        for name, task in tasks.items()
    }


def words_of(ids: Tensor, how: str) -> str:
    """Write what a baseline reads of a sentence as words for the counter."""
    tokens = [f"t{i}" for i in ids.tolist()]
    pairs = [first + second for first, second in pairwise(tokens)]
    read = {"first token": tokens[:1], "bag of tokens": tokens, "tokens and pairs": tokens + pairs}
    return " ".join(read[how])


def baseline_probes(tasks: dict[str, Task]) -> dict[str, Any]:
    """Probe what needs no network: the first token, the bag of tokens, tokens and their pairs.

    Returns task -> baseline -> result of `fit_probe`, and the share of the larger class.
    """
    result: dict[str, Any] = {}
    for name, task in tasks.items():
        labels = task["test"][1]
        larger = int(max(labels.sum(), (1 - labels).sum()))
        found: dict[str, Any] = {
            "majority": {"accuracy": list(wilson_interval(larger, len(labels)))}
        }
        for how in ("first token", "bag of tokens", "tokens and pairs"):
            counter = CountVectorizer(token_pattern=r"\S+")
            counter.fit([words_of(ids, how) for ids in task["train"][0]])
            features = {
                split: counter.transform([words_of(ids, how) for ids in texts])
                for split, (texts, _) in task.items()
            }
            found[how] = fit_probe(features, task, scaler=MaxAbsScaler)
        result[name] = found
    return result
