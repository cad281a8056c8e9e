# SPDX-License-Identifier: MIT
"""The studies of the feature lab: spaces, senses, heads, probes, frozen features.

Run: python -m experiments.ch10_feature_lab        (about 40 CPU-minutes; goes on where it was
killed)
     python -m experiments.ch10_feature_lab --quick        (a small trial that writes nothing)

Writes data/runs/feature_lab.json. No model is trained here; models are loaded one after the other.
"""

import argparse
import gc
from collections.abc import Callable
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
from experiments.common.memory import ArmCache

FULL: dict[str, Any] = {
    "space_models": ["minilm", "smollm2", "book_bert"],
    "sense_models": ["minilm", "smollm2", "book_bert", "plays_bert", "plays_gpt", "random"],
    "head_models": ["minilm", "book_bert", "plays_bert", "plays_gpt", "chars_gpt"],
    "probe_models": ["minilm", "smollm2", "book_bert", "plays_bert", "plays_gpt", "random"],
    "feature_models": ["minilm", "smollm2", "book_bert", "random"],
    "reviews": {"train": 2000, "validation": 500, "test": 1500},
    "probes": {
        "words": {"train": 600, "validation": 200, "test": 400},
        "texts": {"train": 1200, "validation": 360, "test": 780},
    },
    "every": {"smollm2": 3},
    "n_rows": 24, "seq_len": 64, "n_draws": 999, "n_repeated": 20,
}  # fmt: skip
QUICK: dict[str, Any] = {
    "space_models": ["book_bert"], "sense_models": ["plays_gpt"],
    "head_models": ["plays_gpt"], "probe_models": ["plays_gpt"], "feature_models": ["book_bert"],
    "reviews": {"train": 120, "validation": 60, "test": 60},
    "probes": {
        "words": {"train": 100, "validation": 40, "test": 60},
        "texts": {"train": 60, "validation": 24, "test": 24},
    },
    "every": {}, "n_rows": 8, "seq_len": 64, "n_draws": 19, "n_repeated": 4,
}  # fmt: skip


def space_of(model: str) -> Any:
    """Compute the arm "space MODEL"."""
    return sentence_space(load_reader(model))


def senses_of(model: str) -> Any:
    """Compute the arm "senses MODEL"."""
    return word_senses(load_reader(model))


def probes_of(model: str, sizes: dict[str, Any], every: int) -> Any:
    """Compute the arm "probes MODEL"."""
    return probe_reader(load_reader(model), sizes, every)


def arms_of(settings: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """List the arms of the study: name -> what computes it."""
    n_repeated, n_draws = settings["n_repeated"], settings["n_draws"]
    sizes = settings["n_rows"], settings["seq_len"], n_draws
    arms: dict[str, Callable[[], Any]] = {"noise": partial(noise_space, 120, 384)}
    arms |= {f"space {m}": partial(space_of, m) for m in settings["space_models"]}
    arms |= {f"senses {m}": partial(senses_of, m) for m in settings["sense_models"]}
    arms |= {f"heads {m}": partial(search_model, m, *sizes) for m in settings["head_models"]}
    for m in settings["head_models"]:
        if m.endswith("gpt"):
            arms[f"induction {m}"] = partial(induction, m, 2 * n_repeated, n_draws)
    if settings is FULL:
        arms["induction smollm2"] = partial(induction_of_smollm2, n_repeated, n_draws)
    for m in ("counts", *settings["feature_models"]):
        arms[f"features {m}"] = partial(sentiment_arm, m, settings["reviews"])
    for m in settings["probe_models"]:
        every = settings["every"].get(m, 1)
        arms[f"probes {m}"] = partial(probes_of, m, settings["probes"], every)
    return arms


def gather(results: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Put the arms together by study: "probes minilm" becomes ["probes"]["minilm"]."""
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
    settings = QUICK if quick else FULL
    kept = ArmCache("feature_lab", settings, keep=not quick)
    results = {}
    for name, compute in arms_of(settings).items():
        results[name] = kept.get(name, compute)
        gc.collect()  # one large model at a time
        print(f"{name}: {kept.cpu_seconds:.0f} CPU-seconds so far", flush=True)
    kept.conclude(gather(results, settings))


if __name__ == "__main__":
    main()
