# SPDX-License-Identifier: MIT
"""Ask where pre-training on plays pays: four tasks with labels that the plays themselves give.

The strong GPT, fine-tuned on 128 and 512 labels, against the same network from random weights, a
logistic regression on counted words and one on counted letters, and a rule without labels for each
task. All four tasks are recorded, whatever they show. Every method has four settings, tried on the
validation plays with a subset and a seed that are not used again; intervals are Student's t over
seeds, and over the six test plays.

    python -m experiments.ch08_labels.plays            # about 3 CPU-hours; goes on after a stop
    python -m experiments.ch08_labels.plays --quick    # few labels and steps; prints, keeps nothing

Writes data/runs/plays_study.json.
"""

import argparse
from functools import partial
from typing import Any

import numpy as np

from experiments.ch08_labels import strong_gpt
from experiments.ch08_labels.methods import best_place
from experiments.ch08_labels.plays import methods
from experiments.ch08_labels.plays.data import TASKS, questions
from experiments.ch08_labels.plays.methods import ARMS, run, run_rule
from experiments.common.arm_cache import ArmCache
from experiments.common.records import seed_interval

N_LABELS = (128, 512)
SEEDS = (0, 1, 2)
TUNING_SEED = 100
N_TEST = 2400
REFERENCES = ("scratch", "words", "letters", "rule")


def attempt(name: str, task: str, place: int, n: int, seed: int, n_test: int) -> dict[str, Any]:
    """Run one training: validation accuracy, hits of the test questions, time."""
    found = run(name, task, ARMS[name].grid[place], n, seed, n_test)
    print(
        f"{task} {name} n {n} seed {seed} setting {place}: validation {found.validation:.3f}, "
        f"{found.n_steps} updates, {found.cpu_seconds:.0f} s",
        flush=True,
    )
    return found._asdict()


def by_play(hits: list[list[int]], plays: list[str]) -> list[float]:
    """Average hits of some seeds, play by play."""
    rows, names = np.array(hits, dtype=float).mean(axis=0), np.array(plays)
    return [float(rows[names == play].mean()) for play in sorted(set(plays))]


def study(cache: ArmCache, n_labels: tuple[int, ...], n_test: int) -> dict[str, Any]:
    """Run everything and compare the GPT with every rival."""
    result: dict[str, Any] = {}
    for task in TASKS:
        asked = questions(task, "test", n_test)
        plays = [question.play for question in asked]
        rule = cache.get(f"{task} rule", partial(run_rule, task, n_test))
        made: dict[str, Any] = {"n_test": len(asked), "plays": sorted(set(plays)), "by_n": {}}
        for n in n_labels:
            tried, runs = {}, {}
            for name, arm in ARMS.items():
                label = f"{task} {name} {n}"
                scores = [
                    cache.get(
                        f"{label} setting {place} tuning",
                        partial(attempt, name, task, place, n, TUNING_SEED, n_test),
                    )["validation"]
                    for place in range(len(arm.grid))
                ]
                best = best_place(scores)
                tried[name] = [
                    {"setting": setting, "validation": score}
                    for setting, score in zip(arm.grid, scores, strict=True)
                ]
                runs[name] = [
                    cache.get(f"{label} seed {s}", partial(attempt, name, task, best, n, s, n_test))
                    for s in SEEDS
                ]
            hits = {name: [one["hits"] for one in found] for name, found in runs.items()}
            hits["rule"] = [rule[2]] * len(SEEDS)
            accuracy = {
                name: seed_interval([float(np.mean(row)) for row in rows])
                for name, rows in hits.items()
            }
            made["by_n"][str(n)] = {
                "tried": tried,
                "accuracy": accuracy,
                "n_steps": {
                    name: [one["n_steps"] for one in found] for name, found in runs.items()
                },
                "first_losses_nats": {
                    name: found[0]["first_losses"] for name, found in runs.items()
                },
                "gpt_minus": {
                    rival: {
                        "seeds": seed_interval(
                            [
                                float(np.mean(a) - np.mean(b))
                                for a, b in zip(hits["gpt"], hits[rival], strict=True)
                            ]
                        ),
                        "plays": seed_interval(
                            [
                                a - b
                                for a, b in zip(
                                    by_play(hits["gpt"], plays),
                                    by_play(hits[rival], plays),
                                    strict=True,
                                )
                            ]
                        ),
                    }
                    for rival in REFERENCES
                },
            }
        made["rule"] = {"threshold": rule[0], "validation": rule[1]}
        result[task] = made
    return result


def main() -> None:
    """Run the study, or a small version of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    if quick:
        methods.MAX_STEPS, methods.N_WATCHED = 2, 40
    n_labels, n_test = ((32,), 60) if quick else (N_LABELS, N_TEST)
    stops = {"every": methods.EVERY, "patience": methods.PATIENCE, "max_steps": methods.MAX_STEPS}
    settings = {
        "backbone": strong_gpt.NAME,
        "arms": {name: arm.grid for name, arm in ARMS.items()},
        "n_labels": list(n_labels),
        "seeds": list(SEEDS),
        "stops": stops,
        "batch_size": methods.BATCH_SIZE,
    }
    cache = ArmCache("plays_study", [settings, n_test], keep=not quick)
    cache.conclude(
        {
            "question": "Where does pre-training on plays pay with few labels?",
            "unit": "accuracy; half is a constant answer",
            "interval": "95 %, Student's t over seeds, and over the six test plays",
            **settings,
            "titles": {name: arm.title for name, arm in ARMS.items()},
            "tasks": study(cache, n_labels, n_test),
        }
    )


if __name__ == "__main__":
    main()
