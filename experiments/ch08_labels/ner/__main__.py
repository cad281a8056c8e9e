# SPDX-License-Identifier: MIT
"""Measure what pre-training on plays is worth for finding names in unseen plays (ADV-R2).

The second task of chapter 8: mark the words that name a character. The mini models have read the
training plays; no passage of validation and test holds a name that stands anywhere in them, so a
name must be known by its use. A tagger learns from 512, 2,048, 8,192 and all passages, as they
come: about one in eight holds a name. Every method has four settings, tried at 512, 2,048 and all
passages on the validation plays with a subset and a seed that are not used again. Every network
learns until validation no longer improves, and the threshold above which a word is marked is chosen
there as well.

Two rules are not trained: mark what the training plays do not hold; and of that, what the passage's
own play holds several times. The second reads a whole play, of which a tagger is shown 32 words.

    python -m experiments.ch08_labels.ner            # about 2 CPU-hours; goes on after a stop
    python -m experiments.ch08_labels.ner --arms mlm    # only some; writes no record
    python -m experiments.ch08_labels.ner --quick    # a few passages; prints, keeps nothing

The mini models must be there before (`book_models.mini_models`). Writes data/runs/name_study.json.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.book_models.mini_models import digest
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
MOST_TIMES = 12  # the most often that the rule of whole plays may ask for
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
    sizes = plan.n_passages()
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
    pairs += [("mlm", "clm")]
    n_times, asked = choose_n_times(plan)
    ruled = {"unseen": count_unseen(test, 1), "recurring": count_unseen(test, n_times)}
    pairs += [(name, rule) for rule in ruled for name in ARMS]
    found |= {rule: Found(dict.fromkeys(sizes, counts)) for rule, counts in ruled.items()}
    return {
        "n_labels": sizes,
        "arms": arms,
        "rules": {
            **{rule: describe_rule(found[rule][sizes[-1]], weights) for rule in ruled},
            "n_times": n_times,
            "n_times_validation": asked,
            **describe_passages(plan),
        },
        "differences": {
            f"{a} - {b}": {str(n): compare(found[a], found[b], n, weights, plays) for n in sizes}
            for a, b in pairs
        },
        "worth": {
            name: {
                rival: {str(n): worth(found[name], found[rival], n, weights) for n in sizes}
                for rival in REFERENCES
            }
            for name in ("mlm", "clm")
        },
    }


def count_unseen(passages: Sequence[NamePassage], n_times: int) -> Array:
    """Count names for the rule "mark what the training plays do not hold", (1, P, 3).

    With `n_times` > 1: and what the passage's own play holds so often.
    """
    marked = [[TAGS.index(tag) for tag in mark_unseen(p, n_times)] for p in passages]
    return np.array([count_names(marked, passages)], dtype=float)


def choose_n_times(plan: Plan) -> tuple[int, dict[str, float]]:
    """Choose how often a play must hold an unseen word: the best on the validation plays, and all.

    Of equal ones the smallest. This rule reads the whole play, which no tagger here does.
    """
    passages = plan.passages("validation")
    scores = {
        n: float(f1(count_unseen(passages, n).sum(axis=1))[0]) for n in range(2, MOST_TIMES + 1)
    }
    best = max(scores, key=scores.__getitem__)
    return best, {str(n): score for n, score in scores.items()}


def describe_rule(counts: Array, weights: Array) -> dict[str, float]:
    """Return precision, recall and F1 of a rule with its interval, from (1, P, 3) counts."""
    both, marked, true = counts[0].sum(axis=0)
    interval = middle(float(f1(counts[0].sum(axis=0))), f1(weights @ counts[0]))
    return {"precision": both / max(marked, 1), "recall": both / true, **interval}


def describe_passages(plan: Plan) -> dict[str, Any]:
    """Count the test passages and their names, and score two rules that cannot help."""
    test = plan.passages("test")
    scores = name_rules(plan.passages("train"), test)
    assert scores["list"].f1 == 0, "a test name stands in a training play"
    truth = [passage.tags for passage in test]
    plays = [passage.play for passage in test]
    return {
        "list": scores["list"].f1,
        "every word": entity_f1([["B"] * len(tags) for tags in truth], truth).f1,
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
        "models": {kind: digest(kind) for kind in ("bert", "gpt")},
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
