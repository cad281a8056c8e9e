# SPDX-License-Identifier: MIT
"""How much smaller and faster can a fine-tuned model get, and what does it lose? (EFF-R2, EFF-T4).

Writes data/runs/efficiency.json. One model, MiniLM tuned on 256 review sentences as in chapter 9,
is rounded to int8, thinned out, cut and taught to a student of two blocks; each smaller model
answers the same sentences of test films, three seeds. Beside them stand the same student without a
teacher, and counted words. Bytes and times are measured side by side. A published decoder is asked
which pronoun it expects after a word.

Some 15 CPU-minutes, on an otherwise idle machine, for it measures time. Finished arms are kept, so
a killed run goes on where it stopped. `--quick` runs all but the decoder in tiny, and writes
nothing.
"""

import argparse
from functools import partial
from typing import Any

import torch

from experiments.ch08_labels import data as label_data
from experiments.ch08_labels.data import films_of
from experiments.ch14_efficiency import latency, pronouns
from experiments.ch14_efficiency import smaller_models as smaller
from experiments.common.in_context_statistics import compare, summary
from experiments.common.memory import FinishedArms

PAIRS = (
    ("student, more marks", "student, labels"), ("student, marks", "student, labels"),
    ("student, more marks", "student, more labels"), ("student, labels", "words, labels"),
    ("student, more marks", "words, more marks"), ("words, more marks", "words, labels"),
    ("student, more marks, int8", "student, more marks"), ("cut 0.5", "drawn 0.5"),
    ("cut 0.75", "drawn 0.75"), ("cut and tuned", "student, labels"),
)  # fmt: skip
"""What is compared beside each way with the teacher: first minus second."""


def results(runs: list[dict[str, str]]) -> dict[str, Any]:
    """Give accuracies and paired differences, films and seeds resampled.

    Args:
        runs: Hits by way, one dictionary a seed.
    """
    films = films_of("test")
    hits = {name: [run[name] for run in runs] for name in runs[0]}
    less = partial(compare, groups=films, same_draws=True)
    return {
        "n_test": len(films),
        "n_films": len(set(films)),
        "accuracy": {name: summary(rows, films) for name, rows in hits.items()},
        "minus_teacher": {name: less(rows, hits["teacher"]) for name, rows in hits.items()},
        "differences": {f"{a} - {b}": less(hits[a], hits[b]) for a, b in PAIRS},
    }


def shrink() -> None:
    """Make everything tiny, for a trial."""
    label_data.SIZES.update(train=400, validation=20, test=40)
    vars(smaller).update(
        N_LABELS=16, N_TEXTS=32, STUDENT_STEPS=2, RETUNE_STEPS=1, SEEDS=(0, 1),
        RATES=smaller.RATES[:1], BLOCKS=smaller.BLOCKS[:1],
    )  # fmt: skip
    smaller.TEACHER["n_steps"] = 2


def main() -> None:
    """Run what is missing, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a trial that writes nothing")
    quick: bool = parser.parse_args().quick
    torch.set_num_threads(1)
    if quick:
        shrink()
    settings = {module.__name__: module.SETTINGS for module in (smaller, latency, pronouns)}
    arms = FinishedArms("efficiency", settings, keep=not quick)
    student = arms.get("student", smaller.try_students)
    chosen = student["chosen"]
    costs = arms.get("costs", partial(latency.measure, chosen["blocks"], quick=quick))
    memory = arms.get("memory", latency.memory)
    runs = []
    for seed in smaller.SEEDS:
        runs.append(arms.get(f"seed {seed}", partial(smaller.run_seed, seed, chosen)))
        print(f"seed {seed}: {arms.cpu_seconds:.0f} CPU-seconds so far", flush=True)
    decoder = {} if quick else arms.get("decoder", pronouns.ask_decoder)
    arms.conclude({
        "question": "What does a smaller model keep, and what does it cost?",
        "interval": "95 %, films and seeds resampled; times: middle half of the turns",
        "model": "all-MiniLM-L6-v2, fine-tuned", **smaller.SETTINGS, "student": student,
        **results(runs), "costs": costs, "memory": memory,
        "pronouns": {"decoder": decoder, "counts": arms.get("counts", pronouns.count_pronouns)},
    })  # fmt: skip


if __name__ == "__main__":
    main()
