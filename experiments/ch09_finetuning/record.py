# SPDX-License-Identifier: MIT
"""What the fine-tuning study writes: means, intervals over films, plays or windows, and curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.ch09_finetuning import forgetting, label_quality
from experiments.ch09_finetuning.methods import ALPHA, BATCH_SIZE, METHODS, RANK, SEEDS, Plan, share
from experiments.common.records import seed_interval
from experiments.common.statistics import (
    N_RESAMPLES,
    Array,
    Draws,
    by_film,
    difference,
    draw,
    film_interval,
    middle,
)
from pretrain_lab.statistics.intervals import percentiles, wilson_interval


def record(plan: Plan, found: dict[str, Any]) -> dict[str, Any]:
    """Make the record from what each of the study's groups gave."""
    films, labels = plan.asked.films("test"), plan.asked.labels("test").numpy()
    full = hits_by_film([r["hits"] for r in found["methods"]["full"]["runs"]], films)
    draws = draw(full[1], len(SEEDS), N_RESAMPLES)
    return {
        "question": "What does each way of fine-tuning cost and give, and what goes wrong?",
        "interval": "95 %; over films where reviews are asked (differences: over films and seeds)",
        "backbone": "all-MiniLM-L6-v2",
        "seeds": list(SEEDS),
        "n_labels": plan.n_labels,
        "n_epochs": plan.n_epochs,
        "batch_size": BATCH_SIZE,
        "n_asked": {"validation": plan.asked.validation, "test": len(films)},
        "n_films": len(set(films)),
        "majority": max(np.mean(labels), 1 - np.mean(labels)).item(),
        "lora": {"rank": RANK, "alpha": ALPHA},
        "methods": {
            name: method_row(name, found, films, full[0], draws) for name in found["methods"]
        },
        "curves": {name: curve(found["methods"][name]["runs"]) for name in ("full", "random")},
        "passes": pass_rows(plan, found["passes"], films, draws),
        "peft": found["peft"],
        "pitfalls": pitfall_rows(found["pitfalls"], len(films)),
        "labels": label_rows(plan, found["labels"], films, full[0], draws),
        "forgetting": forgetting_rows(plan, found["forgetting"]),
        "heads": {"names": name_rows(plan, found["heads"]["names"]),
                  "speakers": speaker_rows(found["heads"]["speakers"])},
        "costs": found["costs"],
    }  # fmt: skip


def hits_by_film(hits: Sequence[str], films: list[str]) -> tuple[Array, Array]:
    """Count hits by film: (seeds, films) and the sentences of each film."""
    return by_film(np.array([[int(h) for h in text] for text in hits], dtype=float), films)


def method_row(
    name: str, found: dict[str, Any], films: list[str], full: Array, draws: Draws
) -> dict[str, Any]:
    """Describe one method: what it trains, costs and gives."""
    arm = found["methods"][name]
    hits, _ = hits_by_film([r["hits"] for r in arm["runs"]], films)
    peaks = found["costs"]["peak_megabytes"]
    return {
        "title": METHODS[name].title,
        "lr": arm["lr"],
        "tried": arm["tried"],
        "accuracy": film_interval(hits, draws),
        "by_seed": [share(r["hits"]) for r in arm["runs"]],
        "minus_full": difference(hits, full, draws),
        "n_trained": arm["runs"][0]["n_trained"],
        "n_parameters": arm["runs"][0]["n_parameters"],
        "n_steps": arm["runs"][0]["n_steps"],
        "cpu_seconds": float(np.mean(arm["cpu_seconds"])),
        "peak_megabytes": peaks.get(name),
    }


def curve(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the losses of all seeds and the validation accuracy on the way, step 0 first."""
    return {
        "losses": [run["losses"] for run in runs],
        "steps": [0, *(step for step, _ in runs[0]["evaluations"])],
        "validation": [[run["before"], *(v for _, v in run["evaluations"])] for run in runs],
    }


def pass_rows(plan: Plan, found: dict[str, Any], films: list[str], draws: Draws) -> dict[str, Any]:
    """Return the accuracy by the number of passes: on few labels, and of random weights."""
    runs_by_n, longer = found["few"], found["random"]
    hits = {n: hits_by_film([r["hits"] for r in runs], films)[0] for n, runs in runs_by_n.items()}
    few, many = hits
    n_right, n_asked = longer["hits"].count("1"), len(longer["hits"])
    return {
        "n_labels": plan.n_few,
        "accuracy": {n: film_interval(rows, draws) for n, rows in hits.items()},
        "gain": difference(hits[many], hits[few], draws),
        "last_loss": {
            n: float(np.mean([r["last_losses"] for r in runs])) for n, runs in runs_by_n.items()
        },
        "random_longer": {
            "n_seeds": 1,
            "n_steps": longer["n_steps"],
            "last_loss": longer["last_loss"],
            "accuracy": list(wilson_interval(n_right, n_asked)),
        },
    }


def pitfall_rows(found: dict[str, Any], n: int) -> dict[str, Any]:
    """Return Wilson's intervals for single runs, and the losses as they are."""
    for name in ("high_rate", "misplaced_labels"):
        found[name]["accuracy"] = list(wilson_interval(round(found[name]["accuracy"] * n), n))
    return {**found, "n_asked": n, "n_seeds": 1}


def spread_of(values: list[float]) -> dict[str, float]:
    """Return the mean over draws, and the range of the middle 90 %."""
    low, high = percentiles(values, 0.9)
    return {"mean": float(np.mean(values)), "low": low, "high": high}


def label_rows(
    plan: Plan, found: dict[str, Any], films: list[str], full: Array, draws: Draws
) -> dict[str, Any]:
    """Describe leaks, copies, noise, weights and augmentation."""
    leak = found["film_leak"]
    kept = np.array(leak["sizes"]) > 0
    sizes = np.array(leak["sizes"], dtype=float)[kept]
    leak_draws = draw(sizes, plan.n_draws, N_RESAMPLES)
    rows = {
        kind: {name: np.array(leak[kind][name], dtype=float)[:, kept] for name in leak[kind]}
        for kind in ("vectors", "words")
    }
    tuned = {}
    for kind in label_quality.KINDS:
        hits, _ = hits_by_film([r["hits"] for r in found[kind]], films)
        tuned[kind] = {
            "accuracy": film_interval(hits, draws), "minus_full": difference(hits, full, draws)
        }  # fmt: skip
    return {
        "n_draws": plan.n_draws,
        "spread": "mean over draws, and their 5 % and 95 % quantiles",
        "flipped": label_quality.FLIPPED,
        "dropped": label_quality.DROPPED,
        "rare": label_quality.RARE,
        "strength": found["strength"],
        "tuned": tuned,
        "film_leak": {
            "n_labels": leak["n_labels"], "n_asked": leak["n_asked"],
            **{kind: {
                **{name: film_interval(hits, leak_draws) for name, hits in pair.items()},
                "gain": difference(pair["same films"], pair["other films"], leak_draws),
            } for kind, pair in rows.items()},
        },
        "copies": {name: spread_of(values) for name, values in found["copies"].items()},
        "noise_frozen": {
            n: {name: spread_of(values) for name, values in kinds.items()}
            for n, kinds in found["noise_frozen"].items()
        },
        "class_weights": {
            name: {key: spread_of(values) for key, values in scores.items()}
            for name, scores in found["class_weights"].items()
        },
    }  # fmt: skip


def mean_interval(values: Array, *, seed: int = 0) -> dict[str, float]:
    """Return a mean with its bootstrap interval over rows."""
    rng = np.random.default_rng(seed)
    drawn = values[rng.integers(len(values), size=(N_RESAMPLES, len(values)))].mean(axis=1)
    return middle(values.mean(), drawn)


def forgetting_rows(plan: Plan, found: dict[str, Any]) -> dict[str, Any]:
    """Describe accuracy on reviews and bits on plays, before and after."""
    before = np.array(found["before"])
    rows: dict[str, Any] = {}
    for method in forgetting.RATES:
        arm = found[method]
        after = np.array([run["bits"] for run in arm["runs"]])  # (seeds, windows)
        rows[method] = {
            "lr": arm["lr"],
            "tried": {lr: [a, float(np.mean(b))] for lr, (a, b) in arm["tried"].items()},
            "accuracy": seed_interval([run["accuracy"] for run in arm["runs"]]),
            "bits": mean_interval(after.mean(axis=0)),
            "forgotten": mean_interval((after - before).mean(axis=0)),
            "n_trained": arm["runs"][0]["n_trained"],
        }
        if method == "lora":
            without = [run["bits_without_adapters"] for run in arm["runs"]]
            rows[method]["without_adapters"] = float(np.abs(np.array(without) - before).max())
    return {
        "model": forgetting.NAME,
        "n_labels": plan.forget_labels,
        "n_windows": len(before),
        "interval": "95 %, over windows of the plays; accuracies: over seeds",
        "before": mean_interval(before),
        "methods": rows,
    }


def f1_of(counts: Array) -> Array:
    """Compute F1 from the numbers of names found, there, and both, (..., 3)."""
    f1: Array = 2 * counts[..., 2] / np.maximum(counts[..., 0] + counts[..., 1], 1)
    return f1


def name_rows(plan: Plan, found: dict[str, Any]) -> dict[str, Any]:
    """Describe the tagger: F1 with an interval over passages, by play, beside rules."""
    counts = np.array([run["counts"] for run in found["runs"]], dtype=float)  # (seeds, N, 3)
    rng = np.random.default_rng(0)
    drawn = rng.integers(counts.shape[1], size=(N_RESAMPLES, counts.shape[1]))
    totals = np.stack([run[drawn].sum(axis=1) for run in counts])  # (seeds, resamples, 3)
    sums = counts.sum(axis=1)
    plays = found["runs"][0]["plays"]
    return {
        "lr": found["lr"], "tried": found["tried"], "n_train": plan.heads["names"]["train"],
        "f1": middle(f1_of(sums).mean(), f1_of(totals).mean(axis=0)),
        "precision": float((sums[:, 2] / np.maximum(sums[:, 0], 1)).mean()),
        "recall": float((sums[:, 2] / np.maximum(sums[:, 1], 1)).mean()),
        "by_seed": f1_of(sums).tolist(),
        "by_play": {p: float(f1_of(counts[:, [q == p for q in plays]].sum(axis=1)).mean())
                    for p in dict.fromkeys(plays)},
        "word_accuracy": float(np.mean([run["word_accuracy"] for run in found["runs"]])),
        "cpu_seconds": found["runs"][0]["cpu_seconds"],
        "examples": found["runs"][0]["examples"],
        **found["baselines"],
    }  # fmt: skip


def speaker_rows(found: dict[str, Any]) -> dict[str, Any]:
    """Describe the answers: exact and F1 with intervals over questions, beside rules."""
    run = found["runs"][0]
    exact, f1 = np.array(run["scores"], dtype=float).T
    return {
        "lr": found["lr"], "tried": found["tried"],
        "n_train": run["n_train"], "n_seeds": len(found["runs"]),
        "exact": mean_interval(exact), "f1": mean_interval(f1),
        "by_play": {p: float(exact[[q == p for q in run["plays"]]].mean())
                    for p in dict.fromkeys(run["plays"])},
        "cpu_seconds": run["cpu_seconds"], "examples": run["examples"], **found["baselines"],
    }  # fmt: skip
