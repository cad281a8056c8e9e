# SPDX-License-Identifier: MIT
"""Measure how many labels pre-training is worth (ADV-R2, ADV-R3, FTN-F4).

The task: was the sentence taken from a review that liked its film ("fresh") or not ("rotten")? The
methods of `label_arms.py` learn it from 32, 128, 512, 2,048 and all labels of the training films
and are asked all sentences of the test films. Every method has four settings to choose from, tried
at 128, 2,048 and all labels on the validation films, with subsets and seeds that are not used
again.

    python -m experiments.ch08_labels --arms bow bow_more frozen_random frozen_minilm
    python -m experiments.ch08_labels --arms minilm &          # may run beside others
    python -m experiments.ch08_labels --arms scratch_book book frozen_book
    python -m experiments.ch08_labels --arms scratch mlm clm span frozen_mlm frozen_clm frozen_span
    python -m experiments.ch08_labels --write                  # data/runs/label_study.json

The mini models must be there before (`mini_models.py`). Each training is kept in a file of its arm
in the temporary folder, so a stopped run goes on where it was; one process per arm at a time.
`--write` makes the record of the arms that are complete and trains nothing. `--quick` tries all
arms that have their models on a few sentences, prints and stores nothing.
"""

import argparse
import hashlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.book_models.mini_models import digest, mini_file
from experiments.ch08_labels.data import N_LABELS, SIZES, TUNED_AT, USED, labelled
from experiments.ch08_labels.method_table import ARMS, BATCH_SIZE, CURVE, STEPS
from experiments.ch08_labels.methods import Outcome, run
from experiments.ch08_labels.record import make_record
from experiments.common.records import Clock, rounded, write_run
from pretrain.run_state import replacing
from pretrain_lab.paths import CHECKPOINTS

QUICK_SIZES = {"train": 128, "validation": 30, "test": 40}


class Ledger:
    """What is known of an arm: a dictionary that may be kept in a file."""

    def __init__(self, name: str, *, kept: bool) -> None:
        """Open the ledger of an arm.

        Args:
            name: The arm.
            kept: Whether to read and write its file.
        """
        self.path = ledger_file(name) if kept else None
        self.found: dict[str, Any] = {"tried": {}, "runs": {}, "cpu_seconds": 0.0}
        if self.path is not None and self.path.exists():
            self.found = json.loads(self.path.read_text())

    def save(self) -> None:
        """Write the file, when there is one."""
        if self.path is not None:
            with replacing(self.path) as part:
                part.write_text(json.dumps(self.found))


def ledger_file(name: str) -> Path:
    """Name the file of an arm; other settings, sentences or mini models give another name."""
    arm = ARMS[name]
    parts: list[Any] = [arm.grid, STEPS[arm.reader], BATCH_SIZE, N_LABELS, CURVE]
    parts += [[r.sentence for r in labelled(split)] for split in ("train", "validation", "test")]
    if arm.backbone in ("bert", "gpt", "t5"):
        parts.append(digest(arm.backbone))
    if arm.backbone == "book":
        weights = CHECKPOINTS / "book_bert.safetensors"
        parts.append(hashlib.sha256(weights.read_bytes()).hexdigest())
    text = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:10]
    return Path(tempfile.gettempdir()) / f"pretrain_label_study_{name}_{text}.json"


def attempt(name: str, ledger: Ledger, place: int, n: int, seed: int, split: str) -> Outcome:
    """Run one training and add its time to the ledger.

    Args:
        name: The arm.
        ledger: Its ledger.
        place: Which of its settings.
        n: Number of labels.
        seed: Seed of the run.
        split: Where it is judged.
    """
    started = time.process_time()
    outcome = run(ARMS[name], ARMS[name].grid[place], n, seed, split)
    ledger.found["cpu_seconds"] += time.process_time() - started
    share, seconds = outcome.hits.float().mean().item(), outcome.cpu_seconds
    print(
        f"{name:13} n {n:4} seed {seed:3} setting {place:2} {split:10} {share:.3f} {seconds:5.1f} s"
    )
    return outcome


def tune(name: str, ledger: Ledger, n: int, seeds: tuple[int, ...]) -> int:
    """Try the settings of an arm at n labels and choose the best on the validation films.

    Args:
        name: The arm.
        ledger: Its ledger; gets the accuracies.
        n: Number of labels.
        seeds: Seeds of the trials.

    Returns:
        The place of the setting with the highest mean accuracy, the first of equal ones.
    """
    tried = ledger.found["tried"].setdefault(str(n), {})
    for place in range(len(ARMS[name].grid)):
        values = tried.setdefault(str(place), [])
        for seed in seeds[len(values) :]:
            outcome = attempt(name, ledger, place, n, seed, "validation")
            values.append(outcome.hits.float().mean().item())
            ledger.save()
    means = [sum(tried[str(p)]) / len(seeds) for p in range(len(ARMS[name].grid))]
    return means.index(max(means))


def complete(name: str, ledger: Ledger, seeds: list[int], plan: dict[int, int]) -> None:
    """Run what is missing of an arm.

    Args:
        name: The arm.
        ledger: Its ledger.
        seeds: Seeds of the study.
        plan: For each number of labels, the one whose chosen setting it takes.
    """
    tuned_at = {n: TUNED_AT.get(n, (100,)) for n in sorted(set(plan.values()))}
    if name == "bow_more":
        plan, tuned_at = {n: n for n in plan}, {n: TUNED_AT.get(n, (100,)) for n in plan}
    chosen = {n: tune(name, ledger, n, trials) for n, trials in tuned_at.items()}
    for seed in seeds:
        for n, source in plan.items():
            runs, place = ledger.found["runs"].setdefault(str(n), {}), chosen[source]
            if runs.get(str(seed), {}).get("setting") == place:
                continue
            outcome = attempt(name, ledger, place, n, seed, "test")
            runs[str(seed)] = {
                "setting": place,
                "hits": "".join(str(int(hit)) for hit in outcome.hits),
                "cpu_seconds": outcome.cpu_seconds,
                "curve": outcome.curve,
            }
            ledger.save()


def seeds_of(name: str, asked: list[int] | None) -> list[int]:
    """Give the seeds of an arm for which there is a model.

    Args:
        name: The arm.
        asked: Seeds from the command line; None = the arm's own.

    Raises:
        FileNotFoundError: A mini model is missing.
    """
    arm = ARMS[name]
    seeds = list(arm.seeds) if asked is None else asked
    if arm.backbone in ("bert", "gpt", "t5"):
        for seed in seeds:
            if not mini_file(arm.backbone, seed).exists():
                raise FileNotFoundError(
                    f"expected mini model {arm.backbone!r} of seed {seed}: run "
                    "`python -m experiments.book_models.mini_models "
                    f"--only {arm.backbone} --seeds {seed}`"
                )
    return seeds


def quick(names: list[str]) -> None:
    """Try every arm that has its models on a few sentences, and print a record."""
    SIZES.update(QUICK_SIZES)
    CURVE.update(n=128, points=2)
    for steps in STEPS.values():
        steps.update({32: 1, 128: 2})
    ledgers = {}
    for name in names:
        try:
            seeds_of(name, [0, 1])
        except FileNotFoundError:
            continue
        ledgers[name] = Ledger(name, kept=False)
        complete(name, ledgers[name], [0, 1], {32: 32, 128: 32})
    record = make_record({name: ledger.found for name, ledger in ledgers.items()}, 50)
    print(json.dumps(rounded(record, 3)))


def write(clock: Clock) -> None:
    """Write the record of the arms that are complete, and name the others in it."""
    ledgers = {name: Ledger(name, kept=True).found for name in ARMS}
    done = {
        name: found
        for name, found in ledgers.items()
        if all(len(found["runs"].get(str(n), {})) >= len(ARMS[name].seeds) for n in N_LABELS)
    }
    record = make_record(done, 2000)
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
    clock = Clock()
    if options.quick:
        return quick(options.arms)
    if options.write:
        return write(clock)
    for name in options.arms:
        complete(name, Ledger(name, kept=True), seeds_of(name, options.seeds), USED)
    return None


if __name__ == "__main__":
    main()
