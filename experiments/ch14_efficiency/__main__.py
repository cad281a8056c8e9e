# SPDX-License-Identifier: MIT
"""How much smaller and faster can a fine-tuned model get, and what does it lose? (EFF-R2, EFF-T4).

Writes data/runs/efficiency.json. One model, MiniLM fine-tuned on 256 review sentences as in chapter
9, is rounded to int8, sparsified, pruned and distilled into a student of two blocks; each smaller
model answers the same sentences of test films, three seeds. Compared with them are the same student
without a teacher, and counted words. Bytes and times are measured side by side. A published decoder
is asked which pronoun it expects after a word.

Some 15 CPU-minutes, on an otherwise idle machine, since it measures time. Finished arms are kept,
so a killed run goes on where it stopped. `--quick` runs all but the decoder in tiny, and writes
nothing.
"""

import argparse
from functools import partial
from typing import Any

import torch

from experiments.ch14_efficiency import latency, pronouns
from experiments.ch14_efficiency import smaller_models as smaller
from experiments.ch14_efficiency.smaller_models import Plan
from experiments.common.arm_cache import ArmCache
from experiments.common.statistics import compare, summary

PAIRS = (
    ("student, more marks", "student, labels"), ("student, marks", "student, labels"),
    ("student, more marks", "student, more labels"), ("student, labels", "words, labels"),
    ("student, more marks", "words, more marks"), ("words, more marks", "words, labels"),
    ("student, more marks, int8", "student, more marks"), ("cut 0.5", "drawn 0.5"),
    ("cut 0.75", "drawn 0.75"), ("cut and tuned", "student, labels"),
)  # fmt: skip
"""What is compared beside each way with the teacher: first minus second."""


def results(runs: list[dict[str, str]], films: list[str]) -> dict[str, Any]:
    """Return accuracies and paired differences, films and seeds resampled.

    `runs` are hits by way, one dictionary a seed; `films` names the film of each sentence.
    """
    hits = {name: [run[name] for run in runs] for name in runs[0]}
    less = partial(compare, groups=films, same_draws=True)
    return {
        "n_test": len(films),
        "n_films": len(set(films)),
        "accuracy": {name: summary(rows, films) for name, rows in hits.items()},
        "minus_teacher": {name: less(rows, hits["teacher"]) for name, rows in hits.items()},
        "differences": {f"{a} - {b}": less(hits[a], hits[b]) for a, b in PAIRS},
    }


def main() -> None:
    """Run what is missing, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a trial that writes nothing")
    plan = Plan.quick() if parser.parse_args().quick else Plan()
    torch.set_num_threads(1)
    settings = [plan.settings(), latency.settings(plan), pronouns.SETTINGS]
    cache = ArmCache("efficiency", settings, keep=plan.keep)
    student = cache.get("student", partial(smaller.try_students, plan))
    chosen = student["chosen"]
    costs = cache.get("costs", partial(latency.measure, plan, chosen["blocks"]))
    memory = cache.get("memory", latency.memory)
    runs = []
    for seed in plan.seeds:
        runs.append(cache.get(f"seed {seed}", partial(smaller.run_seed, plan, seed, chosen)))
        print(f"seed {seed}: {cache.cpu_seconds:.0f} CPU-seconds so far", flush=True)
    decoder = {} if not plan.keep else cache.get("decoder", pronouns.ask_decoder)
    cache.conclude({
        "question": "What does a smaller model keep, and what does it cost?",
        "interval": "95 %, films and seeds resampled; times: middle half of the turns",
        "model": "all-MiniLM-L6-v2, fine-tuned", **plan.settings(), "student": student,
        **results(runs, plan.sentences.films("test")), "costs": costs, "memory": memory,
        "pronouns": {"decoder": decoder, "counts": cache.get("counts", pronouns.count_pronouns)},
    })  # fmt: skip


if __name__ == "__main__":
    main()
