# SPDX-License-Identifier: MIT
"""Time machines: what a small GPT writes, and a small BERT guesses, while they train.

Writes data/runs/time_machine.json (GPT-I2, BRT-I3). Shapes, steps and learning rates are those of
the live trainings in chapters 4 and 5. At a few steps the training stops for a look: held-out loss,
right first guesses by kind of character, guesses at fixed places, and texts drawn with one fixed
generator. The finished book models answer the same questions once. What a look holds is written in
`snapshot_answers`.

At each look the weights are stored too, rounded to int8 with a scale a row, in
data/checkpoints/time_machine/gpt_00050.safetensors and so on. Then each file is read again and
asked the same questions; what the rounding costs goes to data/runs/time_machine_weights.json.

About two minutes of one core; `--quick` trains a few steps and leaves no file.

Left out: more than one seed, so the steps at which something appears belong to this run alone.
"""

import argparse
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.book_models.snapshot_answers import (
    LINE,
    N_TEXTS,
    PLACES,
    PROMPT,
    TEXT_LEN,
    Look,
    bert_look,
    corpus,
    gpt_look,
    sign_reader,
    speech_starts,
)
from experiments.common.records import Clock, rounded, write_run
from experiments.common.special_ids import special_of
from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM, MaskedLM, Objective
from pretrain.training import Evaluate, OptimConfig, fit
from pretrain_lab.checkpoints import load_model, load_quantized, save_quantized
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tokenizers.characters import CharTokenizer

SEED = 0
STEPS = (0, 50, 150, 300, 500, 800, 1_200)  # and the last step of each recipe
EVERY = 50  # divides all of them
BOOK = 12_000  # steps of the finished book models, trained by a longer recipe of their own
RECIPES: dict[str, dict[str, Any]] = {
    "gpt": {
        "shape": {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_len": 64, "init_std": 0.08},
        "batch": {"batch_size": 16, "seq_len": 64},
        "fit": {"n_steps": 1_500, "lr": 1e-2, "n_warmup": 100, "final_lr": 0.02},
    },
    "bert": {
        "shape": {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_len": 32, "init_std": 0.08},
        "batch": {"batch_size": 32, "seq_len": 32},
        "fit": {"n_steps": 1_200, "lr": 5e-3, "n_warmup": 120, "final_lr": 0.05},
    },
}
N_HELD_OUT = 1_000
WEIGHTS = CHECKPOINTS / "time_machine"


@dataclass(frozen=True)
class Plan:
    """How much is trained and asked."""

    n_steps: int | None = None  # None = as the recipe says
    n_held_out: int = N_HELD_OUT

    @classmethod
    def quick(cls) -> "Plan":
        """Train a few steps only."""
        return cls(60, 50)


def weights_file(folder: Path, name: str, step: int) -> Path:
    """Return the file of a model's weights after so many steps."""
    return folder / f"{name}_{step:05d}.safetensors"


def keeping(look: Look, name: str, tokenizer: CharTokenizer, folder: Path) -> Look:
    """Return a look that also stores the weights, rounded."""

    def look_and_keep(model: Any, step: int) -> dict[str, Any]:
        """Store, then look."""
        save_quantized(weights_file(folder, name, step), model, tokenizer, step)
        return look(model, step)

    return look_and_keep


def rounding_cost(name: str, looks: list[Any], look: Look, folder: Path) -> list[dict[str, Any]]:
    """Ask the rounded models of one training what the float models were asked.

    Args:
        name: A key of RECIPES.
        looks: What the float models answered.
        look: The look that they were given.

    Returns:
        For each look: step, bytes of the file, bits of the float and of the rounded model on the
        same held-out characters, at how many of the fixed places the best guess is the same, and,
        for GPT, whether the greedy text is.
    """
    rows = []
    for exact in looks:
        path = weights_file(folder, name, exact["step"])
        model, _, step = load_quantized(path)
        found = look(model, exact["step"])
        pairs = zip(exact["guesses"], found["guesses"], strict=True)
        rows.append({
            "step": step, "bytes": path.stat().st_size,
            "bits_float": exact["bits"], "bits_int8": found["bits"],
            "same_best_guess": sum(one[0][0] == other[0][0] for one, other in pairs),
            **({"same_greedy_text": exact["greedy"] == found["greedy"]} if name == "gpt" else {}),
        })  # fmt: skip
    return rows


def travel(
    model: Any, batch_loss: Any, look: Look, *, n_steps: int, lr: float, n_warmup: int = 0,
    final_lr: float = 0.0,
) -> list[Any]:  # fmt: skip
    """Train a model, in place, and look at the chosen steps, the first before any update.

    `look` is called with the model and the steps done. The numbers are as in `fit`: `lr` is the
    peak rate, `n_warmup` counts steps, `final_lr` is a share of the peak.
    """
    seen, done = [look(model, 0)], 0

    def evaluate(model: Any) -> float:
        """Count the steps, and look where it is time to."""
        nonlocal done
        done = min(done + EVERY, n_steps)
        if done in STEPS or done == n_steps:
            seen.append(look(model, done))
            print(done, round(seen[-1]["bits"], 3), flush=True)
        return math.nan  # between two looks nothing is measured

    fit(
        model,
        batch_loss,
        OptimConfig(lr=lr, n_warmup=n_warmup, final_lr=final_lr),
        n_steps=n_steps,
        generator=Generator().manual_seed(SEED),
        hooks=[Evaluate(evaluate, every=EVERY)],
    )
    return seen


def trained(name: str, tokenizer: CharTokenizer, ids: Tensor, look: Look, plan: Plan) -> list[Any]:
    """Train the model of one recipe from its seed, and return what was seen on the way."""
    recipe, batch = RECIPES[name], RECIPES[name]["batch"]
    batch_size, seq_len = batch["batch_size"], batch["seq_len"]
    torch.manual_seed(SEED)
    size, shape = tokenizer.vocab_size, recipe["shape"]
    if name == "gpt":
        model: Any = GPT(GPTConfig(size, **shape))
        loss: Objective = CausalLM(ids, batch_size=batch_size, seq_len=seq_len)
    else:
        special = special_of(tokenizer)
        model = BERT(BERTConfig(size, **shape))
        loss = MaskedLM(ids, batch_size=batch_size, seq_len=seq_len, **special)
    settings = recipe["fit"] | ({"n_steps": plan.n_steps, "n_warmup": 5} if plan.n_steps else {})
    return travel(model, loss, look, **settings)


def study(folder: Path, plan: Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train both models, ask the finished book models too, and measure what rounding costs.

    Returns what the looks saw, and what the rounded weights cost; `folder` gets the weights.
    """
    book = {"gpt": load_model("gpt_chars"), "bert": load_model("bert_chars")}
    tokenizer: Any = book["gpt"][1]
    train_ids = tokenizer.encode(corpus("train"))
    n = plan.n_held_out
    read_signs, unseen = sign_reader(), speech_starts(corpus("validation"))
    looks = {"gpt": gpt_look(tokenizer, n, read_signs), "bert": bert_look(tokenizer, 4 * n)}
    result: dict[str, Any] = {
        "recipes": RECIPES, "seed": SEED, "prompt": PROMPT, "n_texts": N_TEXTS,
        "text_len": TEXT_LEN, "line": LINE, "places": list(PLACES),
        "signs_unseen": read_signs(unseen[:: len(unseen) // N_TEXTS][:N_TEXTS]),
        "interval": "95 %, Wilson, over characters, words or texts; one training",
    }  # fmt: skip
    for name in RECIPES:
        look = keeping(looks[name], name, tokenizer, folder)
        result[name] = {
            "looks": trained(name, tokenizer, train_ids, look, plan),
            "book": looks[name](book[name][0], BOOK),
        }
    weights: dict[str, Any] = {
        "format": "int8, one float32 scale a row; what is no matrix stays float32",
        "unit": "bits per character of validation plays, as in time_machine.json",
        "n_places": len(PLACES),
        **{name: rounding_cost(name, result[name]["looks"], looks[name], folder)
           for name in RECIPES},
    }  # fmt: skip
    weights["total_bytes"] = sum(row["bytes"] for name in RECIPES for row in weights[name])
    return result, weights


def main() -> None:
    """Run the study and write both records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    clock = Clock()
    if parser.parse_args().quick:
        with tempfile.TemporaryDirectory() as folder:
            print(study(Path(folder), Plan.quick())[1])
        return
    result, weights = study(WEIGHTS, Plan())
    for name, record in (("time_machine", result), ("time_machine_weights", weights)):
        write_run(name, rounded(record, 4), clock)


if __name__ == "__main__":
    main()
