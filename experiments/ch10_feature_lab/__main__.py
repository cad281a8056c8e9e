# SPDX-License-Identifier: MIT
"""The studies of the feature lab: spaces, senses, heads, probes, frozen features.

Run: python -m experiments.ch10_feature_lab    (about 40 CPU-minutes; goes on where it was killed)
     python -m experiments.ch10_feature_lab --quick    (a small trial that writes nothing)

Writes data/runs/feature_lab.json. No model is trained here; models are loaded one after the other.
"""

import argparse
import gc
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import torch

from experiments.ch10_feature_lab.heads import induction, induction_of_smollm2, search_model
from experiments.ch10_feature_lab.probes import probe_reader
from experiments.ch10_feature_lab.readers import load_reader
from experiments.ch10_feature_lab.spaces import (
    noise_space,
    sentence_space,
    sentiment_arm,
    sentiment_record,
    word_senses,
)
from experiments.common.arm_cache import ArmCache
from pretrain_lab.corpora.loading import SPLITS

SIX = ("minilm", "smollm2", "book_bert", "plays_bert", "plays_gpt", "random")


@dataclass(frozen=True)
class Plan:
    """Which models are looked at, and how much they read."""

    space_models: tuple[str, ...] = ("minilm", "smollm2", "book_bert")
    sense_models: tuple[str, ...] = SIX
    head_models: tuple[str, ...] = ("minilm", "book_bert", "plays_bert", "plays_gpt", "chars_gpt")
    probe_models: tuple[str, ...] = SIX
    feature_models: tuple[str, ...] = ("minilm", "smollm2", "book_bert", "random")
    reviews: tuple[int, int, int] = (2000, 500, 1500)
    words: tuple[int, int, int] = (600, 200, 400)
    texts: tuple[int, int, int] = (1200, 360, 780)
    """Training, validation and test items of the frozen features and of the probes."""
    every: Mapping[str, int] = field(default_factory=lambda: {"smollm2": 3})
    """Which layers are probed: every so many."""
    n_rows: int = 24
    seq_len: int = 64
    n_draws: int = 999
    n_repeated: int = 20
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Take small models and little text."""
        return cls(
            ("book_bert",), ("plays_gpt",), ("plays_gpt",), ("plays_gpt",), ("book_bert",),
            (120, 60, 60), (100, 40, 60), (60, 24, 24), {},
            n_rows=8, n_draws=19, n_repeated=4, keep=False,
        )  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """Return what the record states."""
        found = asdict(self)
        del found["keep"]
        sizes = {name: dict(zip(SPLITS, found.pop(name), strict=True))
                 for name in ("reviews", "words", "texts")}  # fmt: skip
        return found | {"reviews": sizes.pop("reviews"), "probes": sizes}


def space_of(model: str) -> Any:
    """Compute the arm "space MODEL"."""
    return sentence_space(load_reader(model))


def senses_of(model: str) -> Any:
    """Compute the arm "senses MODEL"."""
    return word_senses(load_reader(model))


def probes_of(model: str, sizes: dict[str, Any], every: int) -> Any:
    """Compute the arm "probes MODEL"."""
    return probe_reader(load_reader(model), sizes, every)


def runs_of(plan: Plan) -> dict[str, Callable[[], Any]]:
    """List the arms of the study: name -> what computes it."""
    settings, n_repeated, n_draws = plan.settings(), plan.n_repeated, plan.n_draws
    sizes = plan.n_rows, plan.seq_len, n_draws
    runs: dict[str, Callable[[], Any]] = {"noise": partial(noise_space, 120, 384)}
    runs |= {f"space {m}": partial(space_of, m) for m in plan.space_models}
    runs |= {f"senses {m}": partial(senses_of, m) for m in plan.sense_models}
    runs |= {f"heads {m}": partial(search_model, m, *sizes) for m in plan.head_models}
    for m in plan.head_models:
        if m.endswith("gpt"):
            runs[f"induction {m}"] = partial(induction, m, 2 * n_repeated, n_draws)
    if plan.keep:
        runs["induction smollm2"] = partial(induction_of_smollm2, n_repeated, n_draws)
    for m in ("counts", *plan.feature_models):
        runs[f"features {m}"] = partial(sentiment_arm, m, settings["reviews"])
    for m in plan.probe_models:
        every = plan.every.get(m, 1)
        runs[f"probes {m}"] = partial(probes_of, m, settings["probes"], every)
    return runs


def gather(results: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Group the arms by study: "probes minilm" becomes ["probes"]["minilm"]."""
    record: dict[str, Any] = {"settings": settings}
    for name, result in results.items():
        study, _, model = name.partition(" ")
        record.setdefault(study, {})[model or "noise"] = result
    record["features"] = sentiment_record(record["features"], settings["reviews"])
    return record


def main() -> None:
    """Run the arms that are missing and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small trial; writes nothing")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    plan = Plan.quick() if quick else Plan()
    cache = ArmCache("feature_lab", plan.settings(), keep=plan.keep)
    results = {}
    for name, compute in runs_of(plan).items():
        results[name] = cache.get(name, compute)
        gc.collect()  # one large model at a time
        print(f"{name}: {cache.cpu_seconds:.0f} CPU-seconds so far", flush=True)
    cache.conclude(gather(results, plan.settings()))


if __name__ == "__main__":
    main()
