# SPDX-License-Identifier: MIT
"""Ask where pre-training on plays pays: which of two versions of a text stands in the play?

Four tasks, told apart by what was exchanged in the other version: two lines of verse, two words,
two sentences, or the mark at the end. Against each other: the strong GPT, asked which version is
more probable, which needs no label; the same GPT fine-tuned on pairs; the same network from random
weights on the same pairs; logistic regression on counted words and on counted letters; counted
letters of the training plays, asked as the GPT is; and a rule of our own where we found one that
does better than these counts. All four tasks are recorded, whatever they show. Every method that
learns has four settings, tried on the validation plays with a subset and a seed that are not used
again; intervals are Student's t over seeds, and over the six test plays.

    python -m experiments.ch08_labels.plays            # about 3 CPU-hours; goes on after a stop
    python -m experiments.ch08_labels.plays --quick    # few pairs and steps; prints, keeps nothing

Writes data/runs/plays_study.json.
"""

import argparse
from functools import partial
from typing import Any

import numpy as np

from experiments.ch08_labels import strong_gpt
from experiments.ch08_labels.methods import best_place
from experiments.ch08_labels.plays import methods
from experiments.ch08_labels.plays.methods import ARMS, ASKED, RULES, run, run_asked
from experiments.common.arm_cache import ArmCache
from experiments.common.records import seed_interval
from pretrain_lab.tasks.play_pairs import TASKS, read_pairs

N_PAIRS = 512
N_TEST = 2320  # every second pair of words, and all pairs of the other tasks
SEEDS = (0, 1, 2)
TUNING_SEED = 100


def attempt(name: str, task: str, place: int, n: int, seed: int, n_test: int) -> dict[str, Any]:
    """Run one training: accuracy on the validation pairs, hits of the test pairs, time."""
    found = run(name, task, ARMS[name].grid[place], n, seed, n_test)
    print(
        f"{task} {name} n {n} seed {seed} {ARMS[name].grid[place]}: validation "
        f"{found.validation:.3f}, {found.n_steps} updates, {found.cpu_seconds:.0f} s",
        flush=True,
    )
    return found._asdict()


def label(name: str, task: str, place: int, n: int, seed: int) -> str:
    """Name a training by all that decides it, so that arms and tasks may come and go."""
    setting = " ".join(f"{key} {value}" for key, value in ARMS[name].grid[place].items())
    return f"{task} {name} {n} {setting} seed {seed}"


def learn(cache: ArmCache, name: str, task: str, n: int, n_test: int) -> dict[str, Any]:
    """Choose the setting of an arm and run its seeds."""
    grid = ARMS[name].grid

    def get(place: int, seed: int) -> dict[str, Any]:
        """Return one training."""
        compute = partial(attempt, name, task, place, n, seed, n_test)
        found: dict[str, Any] = cache.get(label(name, task, place, n, seed), compute)
        return found

    scores = [get(place, TUNING_SEED)["validation"] for place in range(len(grid))]
    chosen = best_place(scores)
    runs = [get(chosen, seed) for seed in SEEDS]
    return {
        "tried": [{"setting": s, "validation": v} for s, v in zip(grid, scores, strict=True)],
        "chosen": grid[chosen],
        "n_steps": [one["n_steps"] for one in runs],
        "first_losses_nats": runs[0]["first_losses"],
        "hits": [one["hits"] for one in runs],
    }


def by_play(hits: list[list[float]], plays: list[str]) -> list[float]:
    """Average the hits of all seeds, play by play."""
    rows, names = np.array(hits, dtype=float).mean(axis=0), np.array(plays)
    return [float(rows[names == play].mean()) for play in sorted(set(plays))]


def study(cache: ArmCache, n: int, n_test: int) -> dict[str, Any]:
    """Run everything and compare the GPT with every rival."""
    result: dict[str, Any] = {}
    for task in TASKS:
        arms = {name: learn(cache, name, task, n, n_test) for name in ARMS}
        for name in ASKED:
            if name != "rule" or task in RULES:
                asked = cache.get(f"{task} {name}", partial(run_asked, name, task, n_test))
                arms[name] = {"validation": asked["validation"], "hits": [asked["hits"]]}
        plays = [pair.play for pair in read_pairs(task, "test", n_test)]
        hits = {name: arm.pop("hits") for name, arm in arms.items()}
        for name, arm in arms.items():
            accuracies = [float(np.mean(row)) for row in hits[name]]
            arm["accuracy"] = float(np.mean(accuracies))
            arm["by_play"] = seed_interval(by_play(hits[name], plays))
            arm["seeds"] = seed_interval(accuracies) if len(accuracies) > 1 else None
        result[task] = {
            "n_test": len(plays),
            "plays": sorted(set(plays)),
            "arms": arms,
            "ahead": {
                f"{own} - {rival}": seed_interval(
                    np.subtract(by_play(hits[own], plays), by_play(hits[rival], plays)).tolist()
                )
                for own in ("asked", "gpt")
                for rival in arms
                if rival not in ("asked", "gpt")
            },
        }
    return result


def main() -> None:
    """Run the study, or a small version of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    if quick:
        methods.MAX_STEPS, methods.N_WATCHED = 2, 40
    n, n_test = (32, 60) if quick else (N_PAIRS, N_TEST)
    settings = {
        "backbone": strong_gpt.NAME,
        "weights": strong_gpt.digest(),
        "n_pairs": n,
        "seeds": list(SEEDS),
        "stops": {
            "every": methods.EVERY, "patience": methods.PATIENCE, "max_steps": methods.MAX_STEPS
        },
        "batch_size": methods.BATCH_SIZE,
        "n_watched": methods.N_WATCHED,
    }  # fmt: skip
    cache = ArmCache("plays_study", [settings, n_test], keep=not quick)
    cache.conclude(
        {
            "question": "Which of two versions of a text stands in the play?",
            "unit": "share of right answers; a guess is right half of the time",
            "interval": "95 %, Student's t over the six test plays; over seeds where it says so",
            **settings,
            "titles": {name: arm.title for name, arm in ARMS.items()} | ASKED,
            "tasks": study(cache, n, n_test),
        }
    )


if __name__ == "__main__":
    main()
