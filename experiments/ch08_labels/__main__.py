# SPDX-License-Identifier: MIT
"""Measure how many labels pre-training is worth (ADV-R2, ADV-R3, FTN-F4).

The task: was the sentence taken from a review that liked its film ("fresh") or not ("rotten")? The
methods of `method_table` learn it from 32, 128, 512, 2,048 and all labels of the training films
and are asked all sentences of the test films. Every method has four settings to choose from, tried
at 128, 2,048 and all labels on the validation films, with subsets and seeds that are not used
again. The best is that with the highest mean of the two recalls: by accuracy, the setting that
always answers "fresh" would win where little can be learned.

    python -m experiments.ch08_labels --arms bow bow_more frozen_random frozen_minilm
    python -m experiments.ch08_labels --arms minilm random_minilm &    # may run beside others
    python -m experiments.ch08_labels --arms scratch_book book frozen_book
    python -m experiments.ch08_labels --arms scratch mlm clm span frozen_mlm frozen_clm frozen_span
    python -m experiments.ch08_labels --write                  # data/runs/label_study.json

The mini models must be there before (`book_models.mini_models`). Each training is kept, so
a stopped run goes on where it was; one process per arm at a time.
`--write` makes the record of the arms that are complete and trains nothing. `--quick` tries all
arms that have their models on a few sentences, prints and stores nothing.
"""

import argparse
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from experiments.book_models.mini_models import digest, mini_file
from experiments.ch08_labels.data import N_LABELS, TUNED_AT
from experiments.ch08_labels.method_table import ARMS, BATCH_SIZE, Plan
from experiments.ch08_labels.methods import balanced, best_place, run
from experiments.ch08_labels.record import make_record
from experiments.common.arm_cache import ArmCache
from experiments.common.records import Clock, rounded, write_run
from pretrain_lab.paths import CHECKPOINTS


def open_cache(name: str, plan: Plan) -> ArmCache:
    """Find what is kept of an arm, by its settings, the sentences and its pre-trained model."""
    arm = ARMS[name]
    parts: list[Any] = [arm.grid, plan.steps, BATCH_SIZE, N_LABELS, plan.curve]
    splits = ("train", "validation", "test")
    parts += [[r.sentence for r in plan.sentences.of(split)] for split in splits]
    if arm.backbone in ("bert", "gpt", "t5"):
        parts.append(digest(arm.backbone))
    if arm.backbone == "book":
        weights = CHECKPOINTS / "book_bert.safetensors"
        parts.append(hashlib.sha256(weights.read_bytes()).hexdigest())
    return ArmCache(f"label_study/{name}", parts, keep=plan.keep)


def attempt(name: str, plan: Plan, place: int, n: int, seed: int, split: str) -> dict[str, Any]:
    """Run one training of an arm, with n labels, and judge it on a split.

    `place` is which of the arm's settings.
    """
    outcome = run(ARMS[name], ARMS[name].grid[place], n, seed, split, plan)
    share, seconds = outcome.hits.float().mean().item(), outcome.cpu_seconds
    print(
        f"{name:13} n {n:4} seed {seed:3} setting {place:2} {split:10} {share:.3f} {seconds:5.1f} s"
    )
    return {
        "accuracy": share,
        "hits": "".join(str(int(hit)) for hit in outcome.hits),
        "cpu_seconds": seconds,
        "curve": outcome.curve,
        "first_losses": outcome.first_losses,
    }


def complete(name: str, plan: Plan, seeds: list[int], *, train: bool = True) -> dict[str, Any]:
    """Return what the settings and the runs of an arm gave, running what is missing if `train`.

    Returns:
        "tried" holds the means of the two recalls on the validation films by number of labels and
        place of the setting, "runs" what the best setting gave on the test films by number of
        labels and seed.

    Raises:
        LookupError: Something is missing and nothing may be run.
    """
    cache, used = open_cache(name, plan), dict(plan.used)
    if name == "bow_more":
        used = {n: n for n in used}

    def get(place: int, n: int, seed: int, split: str) -> dict[str, Any]:
        """Return one training."""
        compute = partial(attempt, name, plan, place, n, seed, split)
        found: dict[str, Any] = cache.get(f"{n} {place} {seed} {split}", compute if train else None)
        return found

    tried: dict[str, dict[str, list[float]]] = {}
    chosen: dict[int, int] = {}
    labels = plan.sentences.labels("validation")
    for n in sorted(set(used.values())):
        trials = TUNED_AT.get(n, (100,))
        tried[str(n)] = {
            str(place): [
                balanced(get(place, n, seed, "validation")["hits"], labels) for seed in trials
            ]
            for place in range(len(ARMS[name].grid))
        }
        means = [sum(values) / len(trials) for values in tried[str(n)].values()]
        chosen[n] = best_place(means)
    runs: dict[str, dict[str, Any]] = {str(n): {} for n in used}
    for seed in seeds:
        for n, source in used.items():
            found = get(chosen[source], n, seed, "test")
            runs[str(n)][str(seed)] = {"setting": chosen[source], **found}
    return {"tried": tried, "runs": runs, "cpu_seconds": cache.cpu_seconds}


def seeds_of(name: str, asked: Sequence[int] | None) -> list[int]:
    """Return the seeds of an arm for which there is a model; `asked` None = the arm's own.

    Raises:
        FileNotFoundError: A mini model is missing.
    """
    arm = ARMS[name]
    seeds = list(arm.seeds if asked is None else asked)
    if arm.backbone in ("bert", "gpt", "t5"):
        for seed in seeds:
            if not mini_file(arm.backbone, seed).exists():
                raise FileNotFoundError(
                    f"expected mini model {arm.backbone!r} of seed {seed}: run "
                    "`python -m experiments.book_models.mini_models "
                    f"--only {arm.backbone} --seeds {seed}`"
                )
    return seeds


def write(plan: Plan, clock: Clock) -> None:
    """Write the record of the arms that are complete, and name the others in it."""
    done = {}
    for name in ARMS:
        with suppress(LookupError):
            done[name] = complete(name, plan, list(ARMS[name].seeds), train=False)
    record = make_record(done, plan)
    write_run("label_study", record, clock)
    print(f"written; missing: {record['missing'] or 'nothing'}")


def main() -> None:
    """Run the named arms, or write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", choices=list(ARMS), nargs="+", default=list(ARMS))
    parser.add_argument("--seeds", type=int, nargs="+", help="instead of the arms' own")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    plan, clock = Plan.quick() if options.quick else Plan(), Clock()
    if options.write:
        write(plan, clock)
        return
    found = {}
    for name in options.arms:
        try:
            seeds = seeds_of(name, options.seeds or plan.seeds)
        except FileNotFoundError:
            if plan.keep:
                raise
            continue  # a quick run takes the arms that have their models
        found[name] = complete(name, plan, seeds)
    if options.quick:
        print(json.dumps(rounded(make_record(found, plan), 3)))


if __name__ == "__main__":
    main()
