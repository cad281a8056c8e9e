# SPDX-License-Identifier: MIT
"""Combine the runs of a study: means over seeds, and two kinds of intervals.

Over seeds (Student's t): what another training would give on the same questions. Over items
(bootstrap of the mean over seeds): what other questions would give. The first is wide because the
seeds are few, the second because the texts are.
"""

from typing import Any

import torch

from experiments.common.records import seed_interval
from pretrain_lab.statistics.intervals import bootstrap_interval


def mean(values: list[float]) -> float:
    """Average numbers."""
    return sum(values) / len(values)


def over_items(runs: list[list[float]]) -> dict[str, Any]:
    """Return mean and both intervals: over seeds (Student's t), and over items (bootstrap).

    `runs` has for each seed one number per item, the same items in the same order.
    """
    items = torch.tensor(runs, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    return {
        **seed_interval(items.mean(dim=1).tolist()),
        "over_items": list(bootstrap_interval(items.mean(dim=0), generator=generator)),
        "n_items": items.shape[1],
    }


def no_seeds(items: list[float]) -> dict[str, Any]:
    """Return mean and interval over items of a baseline, which has no seed."""
    generator = torch.Generator().manual_seed(0)
    found = bootstrap_interval(torch.tensor(items), generator=generator)
    return {"mean": found[0], "over_items": list(found), "n_items": len(items)}


def judge_blanks(
    runs: dict[str, list[Any]], counts: dict[str, Any], n_first: int
) -> dict[str, Any]:
    """Combine the blanks: all of them, and the first `n_first`, which every way has answered."""
    ways: dict[str, dict[str, list[list[float]]]] = {}
    for name, results in runs.items():
        for way in results[-1]["blanks"]:
            label = name if way == "own" else f"{name}, {way}"
            parts = [r["blanks"][way] for r in results]
            ways[label] = {key: [part[key] for part in parts] for key in ("bits", "hits")}
    for label, part in counts["blanks"].items():
        ways[label] = {key: [part[key]] for key in ("bits", "hits")}
    exact = runs["gpt"][0]["blanks"]["rescored, whole vocabulary"]["bits"]
    near = {"rescored", "rescored, others as the median"}
    return {
        "all": {label: judged(way, None) for label, way in ways.items()},
        "first": {label: judged(way, n_first) for label, way in ways.items()},
        "minus_bert": {
            label: difference(way["bits"], ways["bert"]["bits"])
            for label, way in ways.items()
            if label != "bert"
        },
        "shortlist_check": {
            "n": len(exact),
            "whole vocabulary": mean(exact),
            **{k: mean(runs["gpt"][0]["blanks"][k]["bits"][: len(exact)]) for k in sorted(near)},
        },
    }


def judged(way: dict[str, list[list[float]]], n: int | None) -> dict[str, Any]:
    """Return bits and top-1 of the first n blanks (None = of all that were asked)."""
    return {
        key: over_items([run[:n] for run in runs]) if len(runs) > 1 else no_seeds(runs[0][:n])
        for key, runs in way.items()
    }


def difference(first: list[list[float]], second: list[list[float]]) -> dict[str, Any]:
    """Return the paired difference on the blanks that both have answered, in bits."""
    n = min(len(first[0]), len(second[0]))
    if len(first) == 1:
        first = first * len(second)
    rows = [
        [a - b for a, b in zip(x[:n], y[:n], strict=True)]
        for x, y in zip(first, second, strict=True)
    ]
    return over_items(rows)


def judge_spans(runs: dict[str, list[Any]], counts: dict[str, Any]) -> dict[str, Any]:
    """Combine the spans: name -> model -> bits per token."""
    result: dict[str, Any] = {}
    for name in ("middle", "last"):
        result[name] = {
            model: over_items([r["spans"][name] for r in results])
            for model, results in runs.items()
        }
        result[name]["n-gram from the left"] = no_seeds(counts["spans"][name])
        ends = [r["spans"][f"{name}, end"] for r in runs["t5"]]
        result[name]["t5, end (bits per span)"] = over_items(ends)
    return result


def judge_probes(runs: dict[str, list[Any]], baselines: dict[str, Any]) -> dict[str, Any]:
    """Combine the probes: task -> model -> pooling -> accuracy over seeds."""
    result: dict[str, Any] = {}
    for task in baselines:
        result[task] = {"baselines": baselines[task]}
        for name, results in runs.items():
            for kind, label in (("probes", name), ("untrained", f"{name}, untrained")):
                result[task][label] = {
                    pooling: {
                        **seed_interval([r[kind][task][pooling]["accuracy"][0] for r in results]),
                        "seed_0": results[0][kind][task][pooling],
                    }
                    for pooling in ("mean", "last")
                }
    return result


def judge_whole(found: dict[str, list[float]], counts: str) -> dict[str, Any]:
    """Combine answers of one seed to the same blanks, from `ask_whole` and from counts.

    Returns, for each way, bits with their interval over blanks; and its paired differences to BERT
    and to the counts, whose name is given.
    """
    minus = {
        f"minus_{key}": {
            way: no_seeds([a - b for a, b in zip(values, found[reference], strict=True)])
            for way, values in found.items()
            if way != reference
        }
        for key, reference in (("bert", "bert"), ("counts", counts))
    }
    return {"bits": {way: no_seeds(values) for way, values in found.items()}, **minus}
