# SPDX-License-Identifier: MIT
"""The record of the label study: results of the arms, with intervals."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from experiments.ch07_worldview.questions import SEQ_LEN
from experiments.ch08_labels.data import (
    TUNED_AT,
    Sentences,
)
from experiments.ch08_labels.method_table import ARMS, BATCH_SIZE, Plan
from experiments.ch08_labels.methods import load_backbone
from experiments.common.records import seed_interval
from experiments.common.statistics import (
    Array,
    Draws,
    Scores,
    by_film,
    difference,
    draw,
    film_interval,
    worth,
)
from pretrain_lab.finetuning.sequence_classification import TextClassifier
from pretrain_lab.scaling.flops import bert_flops

TUNED = ("mlm", "clm", "span", "book", "minilm")
CURVES = ("scratch", "scratch_book", "random_minilm", *TUNED)
WORTH = (*TUNED, *(f"frozen_{arm}" for arm in TUNED))
REFERENCES = ("scratch", "scratch_book", "random_minilm", "bow")
PAIRS = (
    *((arm, reference) for reference in REFERENCES for arm in TUNED),
    *(("mlm", "clm"), ("mlm", "span"), ("clm", "span"), ("book", "mlm"), ("minilm", "mlm")),
    *(("minilm", "book"), ("scratch", "bow"), ("scratch_book", "bow"), ("scratch_book", "scratch")),
    *((f"frozen_{arm}", "frozen_random") for arm in TUNED),
    *((f"frozen_{arm}", "bow") for arm in TUNED),
    *((arm, f"frozen_{arm}") for arm in TUNED),
    *(("scratch", "frozen_random"), ("bow_more", "bow"), ("random_minilm", "bow")),
)
"""Differences that the record holds: first minus second."""


def make_record(found: dict[str, dict[str, Any]], plan: Plan) -> dict[str, Any]:
    """Make the record of some arms from their trials ("tried") and runs ("runs")."""
    scores = {name: scores_of(one, plan.sentences.films("test")) for name, one in found.items()}
    return {
        "question": "How many labels is pre-training worth?",
        "unit": "accuracy; k = labels of the reference / labels of the arm",
        "interval": "95 %, by bootstrap over test films; of differences with Student's t over seeds"
        " added; of k films and seeds are resampled",
        "selection": "mean of the two recalls on the validation films",
        "data": describe_data(plan.sentences),
        "n_labels": sorted({n for by_n in scores.values() for n in by_n}),
        "settings": {
            "n_resamples": plan.n_resamples,
            "tuned_at": {str(n): list(seeds) for n, seeds in TUNED_AT.items()},
            "used": {str(n): str(source) for n, source in plan.used.items()},
            "batch_size": BATCH_SIZE,
            "curve": dict(plan.curve),
        },
        "arms": {name: judge(name, one, scores[name], plan) for name, one in found.items()},
        "missing": [name for name in ARMS if name not in found],
        "differences": {
            f"{first} - {second}": compare(scores[first], scores[second], plan)
            for first, second in PAIRS
            if first in scores and second in scores
        },
        "worth": {
            name: {
                reference: worths(scores[name], scores[reference], plan)
                for reference in REFERENCES
                if reference in scores
            }
            for name in WORTH
            if name in scores
        },
        "curves": {name: curves(found[name], plan) for name in CURVES if name in found},
        "cpu_minutes_total": sum(one["cpu_seconds"] for one in found.values()) / 60,
    }


def describe_data(sentences: Sentences) -> dict[str, Any]:
    """Count sentences and films, and score a constant answer."""
    splits = ("train", "validation", "test")
    fresh = {split: sentences.labels(split).float().mean().item() for split in splits}
    larger = int(fresh["train"] >= 0.5)
    return {
        **{f"n_{split}": len(sentences.of(split)) for split in splits},
        "n_films": {split: len(set(sentences.films(split))) for split in splits},
        "fresh_share": fresh,
        "majority": (sentences.labels("test") == larger).float().mean().item(),
        "mini_len": SEQ_LEN,
        "cut_share": 1 - sentences.uncut("test").float().mean().item(),
        "sizes": {split: n for split, n in asdict(sentences).items() if n} or "all",
    }


def hits_of(found: dict[str, Any], n: str) -> dict[int, Array]:
    """Return the hits of every seed at n labels, (N,) of 0 and 1."""
    return {
        int(seed): np.array([float(hit) for hit in one["hits"]])
        for seed, one in sorted(found["runs"][n].items(), key=lambda item: int(item[0]))
    }


def seeds_of(found: dict[str, Any]) -> list[int]:
    """List the seeds that have been run at every number of labels."""
    groups = [{int(seed) for seed in runs} for runs in found["runs"].values()]
    return sorted(set.intersection(*groups))


class ArmScores(dict[int, Array]):
    """Hits by number of labels, (S, F) each, and which seeds their rows are."""

    def __init__(self, by_n: Scores, seeds: list[int]) -> None:
        """Keep both."""
        super().__init__(by_n)
        self.seeds = seeds

    def rows(self, seeds: list[int]) -> Scores:
        """Take some seeds."""
        places = [self.seeds.index(seed) for seed in seeds]
        return {n: hits[places] for n, hits in self.items()}


def scores_of(found: dict[str, Any], films: list[str]) -> ArmScores:
    """Count the hits of an arm by number of labels, seed and film."""
    seeds = seeds_of(found)
    by_n = {}
    for n in found["runs"]:
        hits = hits_of(found, n)
        by_n[int(n)] = by_film(np.stack([hits[seed] for seed in seeds]), films)[0]
    return ArmScores(dict(sorted(by_n.items())), seeds)


def draws_for(n_seeds: int, plan: Plan) -> Draws:
    """Draw the resamples of the test films, the same at every call with the same numbers."""
    films = plan.sentences.films("test")
    return draw(by_film(np.zeros((1, len(films))), films)[1], n_seeds, plan.n_resamples)


def judge(name: str, found: dict[str, Any], scores: ArmScores, plan: Plan) -> dict[str, Any]:
    """Describe one arm: what it is, what was tried, how well it did; `scores` are hits by film."""
    arm, draws = ARMS[name], draws_for(len(scores.seeds), plan)
    tuned = {n: sorted(t.items(), key=lambda item: int(item[0])) for n, t in found["tried"].items()}
    return {
        "title": arm.title,
        "group": arm.group,
        "backbone": arm.backbone,
        "seeds": scores.seeds,
        **size_of(name, plan.sentences),
        "tried": {
            n: [
                {"setting": arm.grid[int(p)], "validation": sum(v) / len(v), "values": v}
                for p, v in trials
            ]
            for n, trials in tuned.items()
        },
        "chosen": {
            n: arm.grid[next(iter(runs.values()))["setting"]] for n, runs in found["runs"].items()
        },
        "accuracy": {
            str(n): {
                **film_interval(hits, draws),
                **details(found, str(n), scores.seeds, plan.sentences),
            }
            for n, hits in scores.items()
        },
        "cpu_seconds": {
            n: sum(one["cpu_seconds"] for one in runs.values()) / len(runs)
            for n, runs in found["runs"].items()
        },
        "first_losses_nats": {
            n: runs[str(scores.seeds[0])]["first_losses"] for n, runs in found["runs"].items()
        }
        if arm.group == "fine-tuned"
        else None,
        "n_steps": {str(n): plan.steps[n] for n in scores} if arm.group == "fine-tuned" else None,
    }


def details(
    found: dict[str, Any], n: str, seeds: list[int], sentences: Sentences
) -> dict[str, Any]:
    """Return each seed's accuracy, the mean of the two recalls, and that on whole sentences."""
    fresh, whole = sentences.labels("test").numpy() == 1, sentences.uncut("test")
    all_hits = hits_of(found, n)
    hits = np.stack([all_hits[seed] for seed in seeds])
    values = hits.mean(axis=1).tolist()
    return {
        "seeds": seed_interval(values),
        "balanced": float(hits[:, fresh].mean() + hits[:, ~fresh].mean()) / 2,
        "uncut": float(hits[:, whole.numpy()].mean()),
    }


def size_of(name: str, sentences: Sentences) -> dict[str, Any]:
    """Count the parameters that an arm's answers depend on, and the cost of a usual sentence."""
    arm = ARMS[name]
    if arm.backbone is None:
        return {"n_parameters": None, "flops_per_sentence": None, "tokens_per_sentence": None}
    texts = sentences.encoded("test", arm.reader)
    n_tokens = round(sum(map(len, texts)) / len(texts))
    classifier = TextClassifier(load_backbone(arm.backbone, 0), 2)
    torch.autograd.backward(classifier(texts[0][None]).sum())
    used = [p.numel() for p in classifier.parameters() if p.grad is not None]
    return {
        "n_parameters": sum(used),
        # Without a head the count is the same for a GPT, and for the encoder of a T5.
        "flops_per_sentence": bert_flops(classifier.backbone, n_tokens, 0),
        "tokens_per_sentence": n_tokens,
    }


def compare(first: ArmScores, second: ArmScores, plan: Plan) -> dict[str, Any]:
    """Return the difference of two arms at each number of labels, on the seeds of both."""
    seeds = sorted(set(first.seeds) & set(second.seeds))
    one, other, draws = first.rows(seeds), second.rows(seeds), draws_for(len(seeds), plan)
    return {str(n): difference(one[n], other[n], draws) for n in one if n in other}


def worths(arm: ArmScores, reference: ArmScores, plan: Plan) -> dict[str, Any]:
    """Return for each number of labels how many times as many the reference needs."""
    seeds = sorted(set(arm.seeds) & set(reference.seeds))
    one, other, draws = arm.rows(seeds), reference.rows(seeds), draws_for(len(seeds), plan)
    return {str(n): worth(one, other, n, draws) for n in one}


def curves(found: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """Gather the learning curves of an arm: the same steps, CPU-seconds as a mean over seeds."""
    runs = found["runs"][str(plan.curve["n"])]
    each = [runs[seed]["curve"] for seed in sorted(runs, key=int)]
    return {
        "n_labels": plan.curve["n"],
        "seeds": sorted(map(int, runs)),
        "n_sentences": -(-len(plan.sentences.of("test")) // plan.curve["every"]),
        "steps": each[0]["steps"],
        "cpu_seconds": np.mean([one["cpu_seconds"] for one in each], axis=0).tolist(),
        "accuracy": [one["accuracy"] for one in each],
    }
