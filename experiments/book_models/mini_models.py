# SPDX-License-Identifier: MIT
"""In-domain mini models: one size, one budget, one text, three objectives (ADV-R2, ADV-R3).

Writes data/checkpoints/mini_gpt, mini_bert and mini_t5 (seed 0) with their cards. The models of the
other seeds are kept in runs/studies/mini_models, where `ch08_labels` looks for them.

Each is trained for one budget of operations, as those of `ch07_worldview.three_objectives` are, on
the training plays, and the review sentences and plots of the training films. The text holds no
label and leaks none: the source has the sentences of one film together, where neighbours agree more
often than chance, so the sentences are shuffled. Films of the validation and test splits are left
out. Every text ends with [SEP].

    python -m experiments.book_models.mini_models --seeds 0 &
    python -m experiments.book_models.mini_models --seeds 1 2; wait
    python -m experiments.book_models.mini_models --seeds 3 4 --only bert

A model takes about 200 CPU-seconds; those that exist are not trained again. `--only gpt` trains one
objective, `--quick` takes a few steps of each and stores nothing.
"""

import argparse
import hashlib
import json
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from experiments.ch07_worldview.contest import N_WARMUP, NOISE, Contest, make_loss, totals
from experiments.ch07_worldview.questions import SEQ_LEN, TOKENIZER
from experiments.common.arm_cache import ArmCache
from experiments.common.records import rounded, versions
from pretrain.evaluation import eval_mode
from pretrain_lab.checkpoints import save_model
from pretrain_lab.corpora.loading import (
    film_split,
    load_plots,
    load_reviews,
    load_shakespeare,
    play_split,
)
from pretrain_lab.paths import CHECKPOINTS

SEEDS = (0, 1, 2)
# A T5 of two blocks and two has four attention layers in self-attention and two in
# cross-attention; with d_ff = 3 D its matrices are exactly as large as those of four blocks of 4 D.
RECIPES: dict[str, dict[str, Any]] = {
    "gpt": {
        "options": {"n_layers": 4, "max_len": SEQ_LEN, "norm": "pre", "init_std": 0.05},
        "weight_decay": 0.1,
        "stages": [
            {"seq_len": 64, "batch_size": 32, "share": 1.0, "lr": 1e-2, "final_lr": 0.02},
        ],
    },
    "bert": {
        "options": {"n_layers": 4, "max_len": SEQ_LEN, "norm": "post", "init_std": 0.05},
        "weight_decay": 0.1,
        "stages": [
            {"seq_len": 16, "batch_size": 128, "share": 0.25, "lr": 3e-3, "final_lr": 0.5},
            {"seq_len": 64, "batch_size": 32, "share": 0.75, "lr": 3e-3, "final_lr": 0.02},
        ],
    },
    "t5": {
        "options": {"n_layers": 2, "d_ff": 288},
        "relative_lr": True,
        "weight_decay": 0.01,
        "stages": [
            {"seq_len": 16, "batch_size": 128, "share": 0.25, "lr": 4e-2, "final_lr": 0.5},
            {"seq_len": 64, "batch_size": 32, "share": 0.75, "lr": 4e-2, "final_lr": 0.02},
        ],
    },
}
CONTEST = Contest({"d_model": 96, "n_heads": 4}, RECIPES, budget=1.2e13)
NAMES = tuple(RECIPES)
N_BATCHES = 20  # of the loss on unseen films


class Source(NamedTuple):
    """One text and where it comes from."""

    kind: str  # "play", "review" or "plot"
    origin: str  # the play's file name or the film
    text: str


def sources(split: str) -> list[Source]:
    """List the texts of a split: plays, then review sentences in random order, then plots.

    Neither a play nor a film is in two splits; the random order is the same at every call.
    """
    reviews = load_reviews(split)
    order = torch.randperm(len(reviews), generator=Generator().manual_seed(41)).tolist()
    return [
        *(Source("play", play.slug, play.text) for play in load_shakespeare(split)),
        *(Source("review", reviews[i].film, reviews[i].sentence) for i in order),
        *(Source("plot", p.film, p.text) for p in load_plots() if film_split(p.film) == split),
    ]


def check_split(found: list[Source], split: str) -> None:
    """Refuse texts of any other split, by the names of their plays and films.

    Raises:
        ValueError: A text comes from another split.
    """
    for source in found:
        actual = (play_split if source.kind == "play" else film_split)(source.origin)
        if actual != split:
            raise ValueError(f"expected texts of {split}, got {source.origin!r} of {actual}")


def encode(found: list[Source]) -> Tensor:
    """Concatenate texts, each closed by [SEP]; int64 (L,)."""
    end = torch.tensor([TOKENIZER.sep_id])
    return torch.cat([part for source in found for part in (TOKENIZER.encode(source.text), end)])


@cache
def training_ids() -> Tensor:
    """Encode the training text, after checking where every part of it comes from."""
    found = sources("train")
    check_split(found, "train")
    return encode(found)


def unseen_ids() -> Tensor:
    """Encode reviews and plots of the validation films, to judge the models on."""
    return encode([source for source in sources("validation") if source.kind != "play"])


def digest(name: str) -> str:
    """Hash text and recipe of a model to ten characters."""
    ids = hashlib.sha256(training_ids().numpy().tobytes()).hexdigest()
    parts = [CONTEST.shape, RECIPES[name], NOISE, CONTEST.budget, N_WARMUP, ids]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:10]


def mini_file(name: str, seed: int) -> Path:
    """Return a mini model's path: seed 0 with the book, the others among the finished arms."""
    if seed == 0:
        return CHECKPOINTS / f"mini_{name}.safetensors"
    path = ArmCache("mini_models", digest(name)).path(f"{name} seed {seed}")
    assert path is not None
    return path


def is_made(name: str, seed: int) -> bool:
    """Return whether a model of today's recipe and text is already there."""
    path = mini_file(name, seed)
    card = path.with_suffix(".json")
    return path.exists() and json.loads(card.read_text())["digest"] == digest(name)


def train(name: str, seed: int, share: float = 1.0) -> tuple[Any, dict[str, Any]]:
    """Train one model for a share of the budget.

    Returns:
        The model; its mean loss of the last 100 steps, its loss on unseen films, CPU-seconds.
    """
    model, generator = CONTEST.new_model(name, seed), Generator().manual_seed(2000 + seed)
    started, losses = time.process_time(), []
    for stage in CONTEST.stages(name, share):
        losses += CONTEST.fit_stage(name, model, training_ids(), stage, generator).losses
    seconds = time.process_time() - started
    last = sum(losses[-100:]) / len(losses[-100:])
    found = {"train_loss_nats": last, "unseen_loss_nats": unseen_loss(name, model)}
    return model, {**found, "cpu_seconds": round(seconds)}


@torch.no_grad()
def unseen_loss(name: str, model: Any) -> float:
    """Return a model's own loss on fixed batches of unseen films, in nats per prediction."""
    loss = make_loss(name, unseen_ids(), {"batch_size": 32, "seq_len": SEQ_LEN})
    generator = Generator().manual_seed(42)
    with eval_mode(model):
        return sum(float(loss(model, generator)) for _ in range(N_BATCHES)) / N_BATCHES


def make_card(name: str, seed: int, model: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Describe what a model was made from and how it was trained."""
    texts = sources("train")
    return {
        "data": "Training plays, reviews and plots of training films (data/README.md)",
        "n_texts": {
            kind: sum(s.kind == kind for s in texts) for kind in ("play", "review", "plot")
        },
        "n_train_tokens": len(training_ids()),
        "vocabulary": "plays_bpe",
        "study": f"experiments/book_models/mini_models.py, seed {seed}",
        "digest": digest(name),
        "recipe": RECIPES[name],
        "plan": CONTEST.stages(name),
        "totals": totals(CONTEST.stages(name)),
        "n_parameters": sum(p.numel() for p in model.parameters()),
        **found,
        "unseen_text": "reviews and plots of validation films; losses of two objectives differ",
        "flaws": "Reads 64 tokens at most; the vocabulary was made from the plays alone.",
        "versions": versions(),
    }


def main() -> None:
    """Train what is missing, one model after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=NAMES, nargs="+", default=list(NAMES))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        for name in options.only:
            print(name, rounded(train(name, 0, 1 / 1000)[1], 3), flush=True)
        return
    for seed in options.seeds:
        for name in options.only:
            if is_made(name, seed):
                continue
            model, found = train(name, seed)
            card = rounded(make_card(name, seed, model, found))
            save_model(mini_file(name, seed), model, TOKENIZER, card)
            print(name, seed, rounded(found, 3), flush=True)


if __name__ == "__main__":
    main()
