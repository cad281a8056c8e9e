# SPDX-License-Identifier: MIT
"""Measure what pre-training on plays is worth for finding names in unseen plays (ADV-R2).

The second task of chapter 8: mark the words that name a character. The mini models have read the
training plays; no passage of validation and test holds a name that stands anywhere in them, so a
name must be known by its use. A tagger learns from 512, 2,048, 8,192 and all passages, as they
come: about one in eight holds a name. Every method has four settings, tried at 512, 2,048 and all
passages on the validation plays with a subset and a seed that are not used again. Every network
learns until validation no longer improves, and the threshold above which a word is marked is chosen
there as well. The book's strong GPT and the same network from random weights are given 512.

    python -m experiments.ch08_labels.ner            # about 5 CPU-hours; goes on after a stop
    python -m experiments.ch08_labels.ner --arms strong    # only some; writes no record
    python -m experiments.ch08_labels.ner --quick    # a few passages; prints, keeps nothing

The mini models must be there before (`book_models.mini_models`). Writes data/runs/name_study.json.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.book_models.mini_models import digest
from experiments.ch08_labels import strong_gpt
from experiments.ch08_labels.methods import best_place
from experiments.ch08_labels.ner.data import TUNED_AT, Plan
from experiments.ch08_labels.ner.methods import ARMS, EVERY, MIN_STEPS, PATIENCE, run
from experiments.ch08_labels.ner.scoring import count_names, f1, mark
from experiments.common.arm_cache import ArmCache
from experiments.common.records import seed_interval
from experiments.common.statistics import (
    N_RESAMPLES,
    Array,
    draw_counts,
    middle,
    needed_labels,
    times_the_labels,
)
from pretrain_lab.tasks.character_ner import TAGS, NamePassage
from pretrain_lab.tasks.rule_baselines import bio_spans, entity_f1, mark_unseen, name_rules

TUNING_SEED = 100
REFERENCES = ("scratch", "features")
Get = Callable[[str, Callable[[], Any]], Any]


def attempt(plan: Plan, name: str, place: int, n: int, seed: int) -> dict[str, Any]:
    """Run one training: its F1 on the validation plays, its counts for each test passage, its time.

    Both take the threshold that was best on the validation plays.
    """
    outcome = run(ARMS[name], ARMS[name].grid[place], n, seed, plan)
    marked = mark(outcome.log_probs["test"], outcome.choice.threshold)
    print(
        f"{name} n {n} seed {seed} setting {place}: validation {outcome.choice.f1:.3f} after "
        f"{outcome.n_steps} updates, {outcome.cpu_seconds:.0f} s",
        flush=True,
    )
    at_half = mark(outcome.log_probs["test"], 0.0)
    passages = plan.passages("test")
    return {
        "validation": outcome.choice.f1,
        "threshold": outcome.choice.threshold,
        "n_steps": outcome.n_steps,
        "counts": count_names(marked, passages),
        "counts_at_half": np.sum(count_names(at_half, passages), axis=0).tolist(),
        "cpu_seconds": outcome.cpu_seconds,
        "first_losses": outcome.first_losses,
    }


def choose(get: Get, plan: Plan, name: str, n: int) -> tuple[int, list[float]]:
    """Try the settings of an arm at n passages: the place of the best, and the F1 of each."""
    scores = [
        get(label(name, place, n, TUNING_SEED), partial(attempt, plan, name, place, n, TUNING_SEED))
        for place in range(len(ARMS[name].grid))
    ]
    validation = [score["validation"] for score in scores]
    return best_place(validation), validation


def label(name: str, place: int, n: int, seed: int) -> str:
    """Name a training by all that decides it, so that arms may come and go."""
    setting = " ".join(f"{key} {value}" for key, value in ARMS[name].grid[place].items())
    return f"{name} {n} {setting} seed {seed}"


class Found(dict[int, Array]):
    """Counts of an arm by number of passages, (S, P, 3) each."""

    def mean(self, n: int) -> float:
        """Return the mean F1 over seeds."""
        return float(f1(self[n].sum(axis=1)).mean())

    def resampled(self, n: int, weights: Array) -> Array:
        """Return the mean F1 over seeds in each resample, (R,)."""
        return f1(np.einsum("rp,spc->rsc", weights, self[n])).mean(axis=1)


def compare(
    first: Found, second: Found, n: int, weights: Array, plays: Sequence[str]
) -> dict[str, Any]:
    """Return the difference of two arms on the same passages, over all and play by play.

    "low" and "high" resample passages; "by_play" is Student's t over the plays.
    """
    gaps = []
    for play in sorted(set(plays)):
        mine = np.array([p == play for p in plays])
        one, other = (float(f1(arm[n][:, mine].sum(axis=1)).mean()) for arm in (first, second))
        gaps.append(one - other)
    values = first.resampled(n, weights) - second.resampled(n, weights)
    gap = middle(first.mean(n) - second.mean(n), values)
    above = sum(value > 0 for value in gaps)
    return {**gap, "by_play": seed_interval(gaps), "plays_above": above, "n_plays": len(gaps)}


def worth(arm: Found, reference: Found, n: int, weights: Array) -> dict[str, Any]:
    """Return how many times the passages a reference needs, to be as good as an arm at n."""
    sizes = sorted(reference)
    curve = np.array([reference.mean(m) for m in sizes])
    needed = needed_labels(sizes, curve, arm.mean(n))
    curves = np.stack([reference.resampled(m, weights) for m in sizes], axis=1)
    return times_the_labels(n, sizes, needed, curves, arm.resampled(n, weights))


def complete(get: Get, plan: Plan, name: str) -> tuple[Found, dict[str, Any]]:
    """Choose the settings of an arm and run it: its counts, and what the record says of it."""
    arm, test = ARMS[name], plan.passages("test")
    sizes = [n for n in plan.n_passages() if arm.most is None or n <= arm.most]
    weights = draw_counts(len(test), N_RESAMPLES)
    chosen = {n: choose(get, plan, name, n) for n in sorted({plan.tuned_at(n) for n in sizes})}
    use = {n: chosen[plan.tuned_at(n)][0] for n in sizes}
    runs = {
        n: [
            get(label(name, use[n], n, s), partial(attempt, plan, name, use[n], n, s))
            for s in plan.seeds
        ]
        for n in sizes
    }
    found = Found({n: np.array([r["counts"] for r in runs[n]], float) for n in sizes})
    return found, {
        "title": arm.title,
        "tried": {
            str(n): [{"setting": s, "validation": v} for s, v in zip(arm.grid, m, strict=True)]
            for n, (_, m) in chosen.items()
        },
        "f1": {
            str(n): {
                **middle(found.mean(n), found.resampled(n, weights)),
                "seeds": seed_interval([float(f1(c.sum(axis=0))) for c in found[n]]),
                "at_half": [float(f1(np.array(r["counts_at_half"], float))) for r in runs[n]],
            }
            for n in sizes
        },
        "first_losses_nats": {str(n): runs[n][0]["first_losses"] for n in sizes},
        **{
            key: {str(n): [r[key] for r in runs[n]] for n in sizes}
            for key in ("n_steps", "threshold")
        },
        "cpu_seconds": {
            str(n): sum(r["cpu_seconds"] for r in runs[n]) / len(runs[n]) for n in sizes
        },
    }


def study(get: Get, plan: Plan) -> dict[str, Any]:
    """Run all arms and compare them."""
    test, sizes = plan.passages("test"), plan.n_passages()
    weights, plays = draw_counts(len(test), N_RESAMPLES), [passage.play for passage in test]
    arms, found = {}, {}
    for name in ARMS:
        found[name], arms[name] = complete(get, plan, name)
    pairs = [(name, rival) for rival in REFERENCES for name in ARMS if name != rival]
    pairs += [("mlm", "clm"), ("mlm", "span"), ("clm", "span"), ("strong", "scratch_strong")]
    pairs += [(name, "unseen") for name in ARMS]
    found["unseen"] = Found(dict.fromkeys(sizes, count_unseen(test)))
    return {
        "n_labels": sizes,
        "arms": arms,
        "rules": rules(plan, found["unseen"], weights),
        "differences": {
            f"{a} - {b}": {
                str(n): compare(found[a], found[b], n, weights, plays)
                for n in sizes
                if n in found[a] and n in found[b]
            }
            for a, b in pairs
        },
        "worth": {
            name: {
                rival: {str(n): worth(found[name], found[rival], n, weights) for n in sizes}
                for rival in REFERENCES
            }
            for name in ("mlm", "clm", "span")
        },
    }


def count_unseen(test: Sequence[NamePassage]) -> Array:
    """Count names for the rule "mark what the training plays do not hold", (1, P, 3)."""
    marked = [[TAGS.index(tag) for tag in mark_unseen(passage)] for passage in test]
    return np.array([count_names(marked, test)], dtype=float)


def rules(plan: Plan, unseen: Found, weights: Array) -> dict[str, Any]:
    """Return F1 of the rules that need no training, and what the test passages are."""
    test, n = plan.passages("test"), plan.n_passages()[-1]
    scores = name_rules(plan.passages("train"), test)
    assert scores["list"].f1 == 0, "a test name stands in a training play"
    assert abs(scores["unseen"].f1 - unseen.mean(n)) < 1e-9
    truth = [passage.tags for passage in test]
    everything = entity_f1([["B"] * len(tags) for tags in truth], truth)
    plays = [passage.play for passage in test]
    return {
        "unseen": {
            **scores["unseen"]._asdict(),
            **middle(unseen.mean(n), unseen.resampled(n, weights)),
        },
        "list": scores["list"].f1,
        "every word": everything.f1,
        "n_test": len(test),
        "n_holding": sum(set(tags) != {"O"} for tags in truth),
        "n_names": sum(len(bio_spans(tags)) for tags in truth),
        "plays": {play: plays.count(play) for play in sorted(set(plays))},
    }


def main() -> None:
    """Run the study, or a small version of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", choices=list(ARMS), nargs="+", help="run these; no record")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    plan = Plan.quick() if options.quick else Plan()
    settings = {
        "max_steps": plan.max_steps,
        "stops": {"every": EVERY, "patience": PATIENCE, "min_steps": MIN_STEPS},
        "models": {kind: digest(kind) for kind in ("bert", "gpt", "t5")}
        | {"strong": strong_gpt.digest()},
        "seeds": list(plan.seeds),
        "tuned_at": {str(n): m for n, m in TUNED_AT.items()},
    }
    cache = ArmCache("name_study", settings, keep=plan.keep)
    if options.arms:
        for name in options.arms:
            complete(cache.get, plan, name)
        return
    record = {
        "question": "How many labelled passages is pre-training on plays worth?",
        "unit": "F1 of whole names; k = passages of the reference / passages of the arm",
        "interval": "95 %, by bootstrap over test passages; by play and seeds by Student's t",
        **settings,
        **study(cache.get, plan),
    }
    cache.conclude(record)


if __name__ == "__main__":
    main()
