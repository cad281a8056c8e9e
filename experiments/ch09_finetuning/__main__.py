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
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from experiments.ch09_finetuning import (
    costs,
    forgetting,
    label_quality,
    other_heads,
    peft_parity,
    pitfalls,
)
from experiments.ch09_finetuning.methods import (
    METHODS,
    SEEDS,
    TUNING_SEED,
    Plan,
    run_few,
    run_longer,
    run_method,
    share,
)
from experiments.ch09_finetuning.record import record
from experiments.common.arm_cache import ArmCache

Get = Callable[..., Any]  # name, function and arguments → the arm's result, computed or kept


def tried_rates(get: Get, plan: Plan, name: str) -> dict[float, dict[str, Any]]:
    """Fine-tune by a method at each of its learning rates and ask the validation films."""
    return {
        lr: get(f"{name} {lr:g} tuning", run_method, plan, name, lr, TUNING_SEED, "validation")
        for lr in METHODS[name].rates[: plan.n_rates]
    }


def chosen_rate(get: Get, plan: Plan, name: str) -> float:
    """Choose a method's learning rate on the validation films."""
    tried = tried_rates(get, plan, name)
    return max(tried, key=lambda lr: share(tried[lr]["hits"]))


def study_methods(get: Get, plan: Plan) -> dict[str, Any]:
    """Fine-tune by every method, three seeds each; two of them with curves."""
    found = {}
    for name in METHODS:
        tried, lr = tried_rates(get, plan, name), chosen_rate(get, plan, name)
        run = partial(run_method, plan, name, lr, curve=name in ("full", "random"))
        found[name] = {
            "lr": lr,
            "tried": {f"{rate:g}": share(made["hits"]) for rate, made in tried.items()},
            "cpu_seconds": [made["cpu_seconds"] for made in tried.values()],
            "runs": [get(f"{name} seed {seed}", run, seed, "test") for seed in SEEDS],
        }
    return found


def study_passes(get: Get, plan: Plan) -> dict[str, Any]:
    """Fine-tune on few labels with few passes and with more; train random weights for longer."""
    lr = chosen_rate(get, plan, "full")
    few = {
        str(n): [get(f"{n} passes seed {seed}", run_few, plan, n, lr, seed) for seed in SEEDS]
        for n in plan.few_epochs
    }
    rate = chosen_rate(get, plan, "random")
    return {"few": few, "random": get("random longer", run_longer, plan, rate, 0)}


def study_peft(get: Get, plan: Plan) -> dict[str, Any]:
    """Train `peft`'s LoRA from the same matrices on the same batches."""
    found: dict[str, Any] = get("peft", peft_parity.gaps, plan, chosen_rate(get, plan, "lora"))
    return found


def study_forgetting(get: Get, plan: Plan) -> dict[str, Any]:
    """Fine-tune the book's BERT by three methods and ask it the plays again."""
    run = partial(forgetting.run, plan)
    found: dict[str, Any] = {"before": get("forget before", forgetting.bits_before, plan)}
    for method, rates in forgetting.RATES.items():
        tried = {
            lr: get(f"forget {method} {lr:g}", run, method, lr, TUNING_SEED, "validation")
            for lr in rates[: plan.n_rates]
        }
        best = max(tried, key=lambda lr: tried[lr]["accuracy"])
        found[method] = {
            "lr": best,
            "tried": {f"{lr:g}": [made["accuracy"], made["bits"]] for lr, made in tried.items()},
            "runs": [get(f"forget {method} seed {s}", run, method, best, s, "test") for s in SEEDS],
        }
    return found


def study_labels(get: Get, plan: Plan) -> dict[str, Any]:
    """Leaks, copies, noise, weights and augmentation."""
    made, lr = label_quality, chosen_rate(get, plan, "full")
    found = {"strength": get("strength", made.strength, plan)}
    for function in (made.film_leak, made.copies, made.noise_frozen, made.class_weights):
        found[function.__name__] = get(function.__name__, function, plan)
    for kind in made.KINDS:
        found[kind] = [get(f"{kind} seed {s}", made.tuned_on, plan, kind, lr, s) for s in SEEDS]
    return found


def study_pitfalls(get: Get, plan: Plan) -> dict[str, Any]:
    """Learning rate, labels, mask, dropout."""
    made, lr = pitfalls, chosen_rate(get, plan, "full")
    functions = (made.high_rate, made.misplaced_labels, made.reading_mistakes)
    return {f.__name__: get(f.__name__, f, plan, lr) for f in functions}


def study_heads(get: Get, plan: Plan) -> dict[str, Any]:
    """Names in unseen plays, and who speaks; the rate that does better in validation is tested."""
    made, found = other_heads, {}
    for task, run, baselines, seeds in (
        ("names", made.run_names, made.name_baselines, (0, 1)),
        ("speakers", made.run_speakers, made.speaker_baselines, (0,)),
    ):
        tried = {
            lr: get(f"{task} {lr:g} seed 0", run, plan, lr, 0) for lr in made.RATES[: plan.n_rates]
        }
        best = max(tried, key=lambda lr: tried[lr]["validation"])
        found[task] = {
            "lr": best,
            "tried": {f"{lr:g}": one["validation"] for lr, one in tried.items()},
            "runs": [get(f"{task} {best:g} seed {seed}", run, plan, best, seed) for seed in seeds],
            "baselines": get(f"{task} baselines", baselines, plan),
        }
    return found


def study_costs(get: Get, plan: Plan) -> dict[str, Any]:
    """Peak memory by method, and latencies."""
    peaks = get("peaks", costs.peaks, plan.memory)
    return {"peak_megabytes": peaks, **get("latencies", costs.latencies, plan.n_passes)}


GROUPS: dict[str, Callable[[Get, Plan], dict[str, Any]]] = {
    "costs": study_costs, "forgetting": study_forgetting, "methods": study_methods,
    "passes": study_passes, "peft": study_peft, "pitfalls": study_pitfalls,
    "labels": study_labels, "heads": study_heads,
}  # fmt: skip
"""In the order in which they are computed."""


def main() -> None:
    """Compute the groups and write the record, or only print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    plan = Plan.quick() if chosen.quick else Plan()
    cache = ArmCache("fine_tuning", asdict(plan), keep=plan.keep)

    def get(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an arm unless it is there, and say so."""
        value = cache.get(name, partial(function, *arguments))
        print(f"{cache.cpu_seconds:6.0f} CPU-seconds so far: {name}", flush=True)
        return value

    found = {name: GROUPS[name](get, plan) for name in GROUPS if name in chosen.only}
    if set(found) != set(GROUPS):
        print(f"not written: without {sorted(set(GROUPS) - set(found))}")
        return
    cache.conclude({**record(plan, found), "cpu_minutes_total": cache.cpu_seconds / 60})


if __name__ == "__main__":
    main()
