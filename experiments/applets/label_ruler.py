# SPDX-License-Identifier: MIT
"""What the ruler of chapter 8 measures: accuracies by number of labels, from label_study.json.

Run `python -m experiments.applets.label_ruler`. Writes data/applets/label_ruler.json: three methods
and three references with the hits of every seed, whole numbers, so that the page computes k from
the same seeds as the study does; the 95 % interval of each accuracy; and of each k, which needs the
sentences and cannot be computed in the page.
"""

import json
from typing import Any

from experiments.common.records import Clock, write_run
from pretrain_lab.paths import DATA, RUNS

METHODS = ("minilm", "frozen_minilm", "mlm")
REFERENCES = ("random_minilm", "bow", "scratch")


def arm_of(arm: dict[str, Any], n_test: int) -> dict[str, Any]:
    """Give the seeds of a method, its hits by number of labels and seed, and its intervals."""
    accuracy = arm["accuracy"].values()
    return {
        "seeds": arm["seeds"],
        "hits": [[round(share * n_test) for share in one["seeds"]["values"]] for one in accuracy],
        "low": [one["low"] for one in accuracy],
        "high": [one["high"] for one in accuracy],
    }


def end_of(found: dict[str, Any], key: str, n: int, fewest: int) -> list[Any]:
    """Give an end of the interval of k, and whether it is "less" or "more" than that, or "".

    An end is only a bound where the reference's curve ends.
    """
    at_left = found[key] * n < 2 * fewest
    return [found[key], (("less" if at_left else "more") if found[f"{key}_is_bound"] else "")]


def label_ruler() -> dict[str, Any]:
    """Read the study."""
    study = json.loads((RUNS / "label_study.json").read_text(encoding="utf-8"))
    n_labels, n_test = study["n_labels"], study["data"]["n_test"]
    intervals = {
        method: {
            reference: [
                [end_of(study["worth"][method][reference][str(n)], key, n, n_labels[0])
                 for key in ("low", "high")]
                for n in n_labels
            ]
            for reference in REFERENCES
        }
        for method in METHODS
    }  # fmt: skip
    return {
        "question": "With how many labels does the reference do as well? hits: of n_test, by seed",
        "n_labels": n_labels, "n_test": n_test, "majority": study["data"]["majority"],
        "methods": METHODS, "references": REFERENCES,
        "arms": {name: arm_of(study["arms"][name], n_test) for name in (*METHODS, *REFERENCES)},
        "intervals": intervals,
    }  # fmt: skip


if __name__ == "__main__":
    clock = Clock()
    write_run("label_ruler", label_ruler(), clock, folder=DATA / "applets")
