# SPDX-License-Identifier: MIT
"""Try recipes of the strong models on the validation plays, a few hundred steps each.

Run `python -m experiments.book_models.recipe_trials gpt_plays` from the repository's root; a
stopped run goes on with the next variant. Writes data/runs/NAME_trials.json, from which the recipe
in `character_models` or `word_models` was chosen. A short trial says which learning rate starts
well and what each habit is worth at the start, not at the end. There is one stage, of text as it
is: what `looking_back` teaches GPT pays later. All variants are judged by the same question, the
masked ones with 15 % selected, whatever they were trained with.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from torch import Generator, nn

from experiments.book_models import character_models, word_models
from experiments.book_models.character_models import RECIPES, Recipe, corpus, tokenizer_of
from experiments.book_models.stages import stages_of
from experiments.common.arm_cache import ArmCache
from pretrain.evaluation import eval_mode, nats_to_bits
from pretrain.objectives import Objective
from pretrain.training import OptimConfig, fit
from pretrain_lab.tokenizers.subwords import load_tokenizer

SEED = 100  # of no recorded model
N_STEPS = 500
UNITS = {
    "gpt_plays": "character of the validation plays",
    "bert_plays": "selected character of the validation plays",
    "bert_words": "selected token of unseen rows",
}
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "gpt_plays": {
        "rate 0.006": {"fit": {"lr": 6e-3}},
        "rate 0.012": {"fit": {"lr": 1.2e-2}},
        "rate 0.003": {"fit": {"lr": 3e-3}},
        "learned positions": {"fit": {"lr": 6e-3}, "shape": {"positions": "learned"}},
        "AdamW, rate 0.001": {"fit": {"lr": 1e-3, "optimizer": "adamw"}},
        "AdamW, rate 0.002": {"fit": {"lr": 2e-3, "optimizer": "adamw"}},
        "AdamW, rate 0.004": {"fit": {"lr": 4e-3, "optimizer": "adamw"}},
    },
    "bert_plays": {
        "from gpt_plays, rate 0.008": {"start": "gpt_plays", "fit": {"lr": 8e-3}},
        "rate 0.008": {"fit": {"lr": 8e-3}},
        "rate 0.012": {"fit": {"lr": 1.2e-2}},
    },
    "bert_words": {
        "rate 0.0015": {"fit": {"lr": 1.5e-3}},
        "rate 0.003": {"fit": {"lr": 3e-3}},
        "rate 0.006": {"fit": {"lr": 6e-3}},
        "rate 0.012": {"fit": {"lr": 1.2e-2}},
        "AdamW, rate 0.0005": {"fit": {"lr": 5e-4, "optimizer": "adamw"}},
        "AdamW, rate 0.001": {"fit": {"lr": 1e-3, "optimizer": "adamw"}},
        "AdamW, rate 0.002": {"fit": {"lr": 2e-3, "optimizer": "adamw"}},
        "AdamW, rate 0.005": {"fit": {"lr": 5e-3, "optimizer": "adamw"}},
        "15 % selected": {"fit": {"lr": 6e-3, "mlm_probability": 0.15}},
        "learned positions": {"fit": {"lr": 6e-3}, "shape": {"positions": "learned"}},
        "norms last": {"fit": {"lr": 6e-3}, "shape": {"norm": "post"}},
    },
}
"""Model -> name of a variant -> what it changes in the recipe."""
OMITTED = ("stages", "renamed", "start")  # of a recipe, unless a variant has them
MAIN_STAGE = {"gpt_plays": 1, "bert_plays": 0, "bert_words": 0}
"""Model -> which stage of its training is tried."""


class Trial(NamedTuple):
    """A model, what trains it and what judges it, in nats per prediction."""

    model: nn.Module
    objective: Objective
    evaluate: Callable[[nn.Module], float]


def plain(name: str) -> Recipe:
    """Return a model's recipe as one stage of text as it is, without its own schedule."""
    recipe = (RECIPES | word_models.RECIPES)[name]
    text = recipe["stages"][MAIN_STAGE[name]]
    ours = ("lr", "n_steps", "n_warmup")  # what a trial sets by itself
    return {
        **{key: value for key, value in recipe.items() if key not in OMITTED},
        "batch_size": text["batch_size"],
        **({"seq_len": length} if (length := text["seq_len"]) < recipe["shape"]["max_len"] else {}),
        "fit": {key: value for key, value in text["fit"].items() if key not in ours},
    }


def changed(recipe: Recipe, changes: dict[str, Any]) -> Recipe:
    """Return a recipe of N_STEPS steps with some options changed."""
    fit_options = {**recipe["fit"], "n_steps": N_STEPS, "n_warmup": 50, **changes.get("fit", {})}
    shape = {**recipe["shape"], **changes.get("shape", {})}
    return {**recipe, **changes, "fit": fit_options, "shape": shape}


def make_trial(name: str, recipe: Recipe) -> Trial:
    """Make what one variant needs."""
    (stage,) = stages_of(recipe)
    if name in word_models.RECIPES:
        tokenizer = load_tokenizer(word_models.VOCABULARY)
        texts = word_models.load_texts(tokenizer)
        made = word_models.make_parts(recipe, tokenizer, texts, SEED)
        return Trial(made.model, made.make_loss(stage), made.make_evaluate(stage.seq_len))
    plays = (corpus("train"), corpus("validation"))
    parts = character_models.make_parts(name, recipe, tokenizer_of(name), *plays, SEED)
    return Trial(parts.model, parts.make_loss(stage), parts.evaluate)


def attempt(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Train a variant: its validation loss in bits, and its time on the wall."""
    recipe = changed(plain(name), changes)
    trial = make_trial(name, recipe)
    ours = ("n_steps", "mlm_probability")  # what is not the optimiser's
    options = {key: value for key, value in recipe["fit"].items() if key not in ours}
    started = time.monotonic()
    fit(
        trial.model,
        trial.objective,
        OptimConfig(**options),
        n_steps=N_STEPS,
        generator=Generator().manual_seed(SEED),
    )
    seconds = time.monotonic() - started
    with eval_mode(trial.model):
        bits = nats_to_bits(trial.evaluate(trial.model))
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
            "unit": f"bits per {UNITS[name]}, after n_steps",
            "n_steps": N_STEPS,
            "seed": SEED,
            "recipe": recipe,
            "tried": tried,
        }
    )


if __name__ == "__main__":
    main()
