# SPDX-License-Identifier: MIT
"""Try recipes of the strong models on the validation plays, a few hundred steps each.

Run `python -m experiments.book_models.recipe_trials gpt_plays` from the repository's root; a
stopped run goes on with the next variant. Writes data/runs/gpt_plays_trials.json, from which the
recipe in `character_models` was chosen. A short trial says which learning rate starts well and what
each habit is worth at the start, not at the end. There is one stage, of plays as they are: what
`looking_back` teaches pays later.
"""

import argparse
import time
from functools import partial
from typing import Any

from torch import Generator

from experiments.book_models.character_models import (
    RECIPES,
    Recipe,
    corpus,
    make_parts,
    stages,
    tokenizer_of,
)
from experiments.common.arm_cache import ArmCache
from pretrain.evaluation import eval_mode, nats_to_bits
from pretrain.training import OptimConfig, fit

SEED = 100  # of no recorded model
N_STEPS = 500
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "gpt_plays": {
        "rate 0.006": {"fit": {"lr": 6e-3}},
        "rate 0.012": {"fit": {"lr": 1.2e-2}},
        "rate 0.003": {"fit": {"lr": 3e-3}},
        "learned positions": {"fit": {"lr": 6e-3}, "shape": {"positions": "learned"}},
        "AdamW, rate 0.003": {"fit": {"lr": 3e-3, "optimizer": "adamw"}},
    },
}
"""Model -> name of a variant -> what it changes in the recipe."""


def plain(name: str) -> Recipe:
    """Return a model's recipe as one stage of plays as they are, without its own schedule."""
    recipe = RECIPES[name]
    text = recipe["stages"][-1]
    ours = ("lr", "n_steps", "n_warmup")  # what a trial sets by itself
    return {
        **{key: value for key, value in recipe.items() if key not in ("stages", "renamed")},
        "batch_size": text["batch_size"],
        "fit": {key: value for key, value in text["fit"].items() if key not in ours},
    }


def changed(recipe: Recipe, changes: dict[str, Any]) -> Recipe:
    """Return a recipe of N_STEPS steps with some options changed."""
    fit_options = {**recipe["fit"], "n_steps": N_STEPS, "n_warmup": 50, **changes.get("fit", {})}
    shape = {**recipe["shape"], **changes.get("shape", {})}
    return {**recipe, "fit": fit_options, "shape": shape}


def attempt(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Train a variant: its validation loss in bits, and its time on the wall."""
    recipe = changed(plain(name), changes)
    tokenizer = tokenizer_of(name)
    parts = make_parts(name, recipe, tokenizer, corpus("train"), corpus("validation"), SEED)
    (stage,) = stages(recipe)
    options = {key: value for key, value in recipe["fit"].items() if key != "n_steps"}
    started = time.monotonic()
    fit(
        parts.model,
        parts.make_loss(stage),
        OptimConfig(**options),
        n_steps=N_STEPS,
        generator=Generator().manual_seed(SEED),
    )
    seconds = time.monotonic() - started
    with eval_mode(parts.model):
        bits = nats_to_bits(parts.evaluate(parts.model))
    print(f"{changes}: {bits:.4f} bits, {seconds:.0f} s", flush=True)
    return {"changes": changes, "validation_bits": bits, "seconds": seconds}


def main() -> None:
    """Try the variants of one model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=sorted(VARIANTS))
    name = parser.parse_args().model
    recipe = plain(name)
    base = {key: value for key, value in recipe.items() if key != "fit"}
    cache = ArmCache(f"{name}_trials", [base, recipe["fit"], N_STEPS, SEED])
    tried = {
        variant: cache.get(variant, partial(attempt, name, changes))
        for variant, changes in VARIANTS[name].items()
    }
    cache.conclude(
        {
            "question": "Which recipe starts best?",
            "unit": "bits per character of the validation plays, after n_steps",
            "n_steps": N_STEPS,
            "seed": SEED,
            "recipe": recipe,
            "tried": tried,
        }
    )


if __name__ == "__main__":
    main()
