# SPDX-License-Identifier: MIT
"""Fine-tuning one published encoder: methods, heads, mistakes, forgetting, labels (FTN-R2 to R6).

Run `python -m experiments.ch09_finetuning` from the repository's root. Finished arms are kept, so a
killed run goes on where it stopped; cheap ones come first, and `--only NAME ...` computes some of
the groups. Writes data/runs/fine_tuning.json once all groups are there.

Every learning rate is chosen among four (forgetting: three; heads for plays: two) on validation
films or plays; what is reported of the test films and plays is the chosen one. `--quick` runs tiny
versions of everything and writes nothing.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from experiments.ch09_finetuning import costs as tuning_costs
from experiments.ch09_finetuning import forgetting as tuning_forgetting
from experiments.ch09_finetuning import label_quality as tuning_labels
from experiments.ch09_finetuning import methods as tuning_methods
from experiments.ch09_finetuning import other_heads as tuning_tasks
from experiments.ch09_finetuning import peft_parity as tuning_peft
from experiments.ch09_finetuning import pitfalls as tuning_pitfalls
from experiments.ch09_finetuning.methods import METHODS, SEEDS, TUNING_SEED, run_method, share
from experiments.ch09_finetuning.record import record
from experiments.common.memory import ArmCache

Get = Callable[..., Any]
"""Gives the result of an arm: its name, a function and what the function takes."""


def tried_rates(get: Get, name: str) -> dict[float, dict[str, Any]]:
    """Tune by a method at each of its learning rates and ask the validation films."""
    return {
        lr: get(f"{name} {lr:g} tuning", run_method, name, lr, TUNING_SEED, "validation")
        for lr in METHODS[name].rates
    }


def chosen_rate(get: Get, name: str) -> float:
    """Choose a method's learning rate on the validation films."""
    tried = tried_rates(get, name)
    return max(tried, key=lambda lr: share(tried[lr]["hits"]))


def methods(get: Get) -> dict[str, Any]:
    """Tune by every method, three seeds each; two of them with curves."""
    found = {}
    for name in METHODS:
        tried, lr = tried_rates(get, name), chosen_rate(get, name)
        run = partial(run_method, name, lr, curve=name in ("full", "random"))
        found[name] = {
            "lr": lr,
            "tried": {f"{rate:g}": share(made["hits"]) for rate, made in tried.items()},
            "cpu_seconds": [made["cpu_seconds"] for made in tried.values()],
            "runs": [get(f"{name} seed {seed}", run, seed, "test") for seed in SEEDS],
        }
    return found


def passes(get: Get) -> dict[str, Any]:
    """Tune on few labels with few passes and with more; and random weights for longer."""
    lr, run = chosen_rate(get, "full"), tuning_methods.run_few
    few = {
        str(n): [get(f"{n} passes seed {seed}", run, n, lr, seed) for seed in SEEDS]
        for n in tuning_methods.FEW_EPOCHS
    }
    longer = tuning_methods.run_longer
    return {"few": few, "random": get("random longer", longer, chosen_rate(get, "random"), 0)}


def peft_equality(get: Get) -> dict[str, Any]:
    """Train `peft`'s LoRA from the same matrices on the same batches."""
    found: dict[str, Any] = get("peft", tuning_peft.gaps, chosen_rate(get, "lora"))
    return found


def forgetting(get: Get) -> dict[str, Any]:
    """Tune the book's BERT by three methods and ask it the plays again."""
    run = tuning_forgetting.run
    found: dict[str, Any] = {"before": get("forget before", tuning_forgetting.bits_before)}
    for method, rates in tuning_forgetting.RATES.items():
        tried = {
            lr: get(f"forget {method} {lr:g}", run, method, lr, TUNING_SEED, "validation")
            for lr in rates
        }
        best = max(tried, key=lambda lr: tried[lr]["accuracy"])
        found[method] = {
            "lr": best,
            "tried": {f"{lr:g}": [made["accuracy"], made["bits"]] for lr, made in tried.items()},
            "runs": [get(f"forget {method} seed {s}", run, method, best, s, "test") for s in SEEDS],
        }
    return found


def labels(get: Get) -> dict[str, Any]:
    """Leaks, copies, noise, weights and augmentation."""
    made, lr = tuning_labels, chosen_rate(get, "full")
    found = {
        function.__name__: get(function.__name__, function)
        for function in (
            made.strength, made.film_leak, made.copies, made.noise_frozen, made.class_weights,
        )
    }  # fmt: skip
    for kind in made.KINDS:
        found[kind] = [get(f"{kind} seed {s}", made.tuned_on, kind, lr, s) for s in SEEDS]
    return found


def pitfalls(get: Get) -> dict[str, Any]:
    """Learning rate, labels, mask, dropout."""
    made, lr = tuning_pitfalls, chosen_rate(get, "full")
    functions = (made.high_rate, made.misplaced_labels, made.reading_mistakes)
    return {f.__name__: get(f.__name__, f, lr) for f in functions}


def heads(get: Get) -> dict[str, Any]:
    """Names in unseen plays, and who speaks; the rate that does better in validation is tested."""
    made, found = tuning_tasks, {}
    for task, run, baselines, seeds in (
        ("names", made.run_names, made.name_baselines, (0, 1)),
        ("speakers", made.run_speakers, made.speaker_baselines, (0,)),
    ):
        tried = {lr: get(f"{task} {lr:g} seed 0", run, lr, 0) for lr in made.RATES}
        best = max(tried, key=lambda lr: tried[lr]["validation"])
        found[task] = {
            "lr": best,
            "tried": {f"{lr:g}": one["validation"] for lr, one in tried.items()},
            "runs": [get(f"{task} {best:g} seed {seed}", run, best, seed) for seed in seeds],
            "baselines": get(f"{task} baselines", baselines),
        }
    return found


def costs(get: Get) -> dict[str, Any]:
    """Peak memory by method, and latencies."""
    peaks = get("peaks", tuning_costs.peaks, tuning_costs.MEMORY)
    return {"peak_megabytes": peaks, **get("latencies", tuning_costs.latencies)}


GROUPS: dict[str, Callable[[Get], dict[str, Any]]] = {
    "costs": costs, "forgetting": forgetting, "methods": methods, "passes": passes,
    "peft": peft_equality, "pitfalls": pitfalls, "labels": labels, "heads": heads,
}  # fmt: skip
"""In the order in which they are computed."""


def shrink() -> None:
    """Make everything tiny, for a trial."""
    tuning_methods.SIZES |= {"validation": 12, "test": 24}
    for name, method in METHODS.items():
        METHODS[name] = replace(method, rates=method.rates[:1])
    for name, rates in tuning_forgetting.RATES.items():
        tuning_forgetting.RATES[name] = rates[:1]
    for module in (tuning_methods, tuning_pitfalls, tuning_labels, tuning_forgetting):
        vars(module)["N_LABELS"] = 16
    for module in (tuning_methods, tuning_labels, tuning_forgetting):
        vars(module)["N_EPOCHS"] = 1
    vars(tuning_labels).update(N_DRAWS=2, NOISY_N=(16,), N_ASKED=40)
    tuning_labels.AT_MOST |= {"train": 250, "validation": 40, "test": 160}
    vars(tuning_forgetting)["N_WINDOWS"] = 12
    for sizes in tuning_tasks.SIZES.values():
        sizes |= {"train": 16, "validation": 8, "test": 24}
    vars(tuning_costs).update(MEMORY=("full",), N_PASSES=2)
    vars(tuning_peft)["N_STEPS"] = 2
    vars(tuning_methods).update(N_FEW=16, FEW_EPOCHS=(1, 2))
    vars(tuning_tasks)["RATES"] = tuning_tasks.RATES[:1]


def main() -> None:
    """Compute the groups and write the record, or only print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.quick:
        shrink()
    settings = {
        "n_labels": tuning_methods.N_LABELS, "n_epochs": tuning_methods.N_EPOCHS,
        "sizes": tuning_tasks.SIZES, "asked": tuning_methods.SIZES,
    }  # fmt: skip
    arms = ArmCache("fine_tuning", settings, keep=not chosen.quick)

    def get(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an arm unless it is there, and say so."""
        value = arms.get(name, partial(function, *arguments))
        print(f"{arms.cpu_seconds:6.0f} CPU-seconds so far: {name}", flush=True)
        return value

    found = {name: GROUPS[name](get) for name in GROUPS if name in chosen.only}
    if set(found) != set(GROUPS):
        print(f"not written: without {sorted(set(GROUPS) - set(found))}")
        return
    arms.conclude({**record(found), "cpu_minutes_total": arms.cpu_seconds / 60})


if __name__ == "__main__":
    main()
