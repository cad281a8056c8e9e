# SPDX-License-Identifier: MIT
"""Comedies and histories: how well models of one genre predict the other.

The plays of each genre are dealt into four folds; a play is tested once, by models that have not
read it. Counts and a small character GPT, equally many characters of each genre.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from experiments.ch08_compression.code_lengths import code_lengths
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM
from pretrain.training import OptimConfig, fit
from pretrain_lab.baselines.kneser_ney import KneserNey
from pretrain_lab.corpora.loading import Play
from pretrain_lab.statistics.intervals import bootstrap_interval
from pretrain_lab.tokenizers.characters import CharTokenizer

GENRES = ("comedies", "histories")
N_FOLDS = 4
ORDER = 6  # for a fifth of the text, one less than the best order on all (gpt_evaluation.json)
GENRE_SHAPE: dict[str, Any] = {
    "d_model": 64,
    "n_layers": 2,
    "n_heads": 4,
    "max_len": 64,
    "init_std": 0.08,
}
GENRE_FIT: dict[str, Any] = {"n_steps": 2000, "lr": 1e-2, "n_warmup": 100, "final_lr": 0.02}
GENRE_BATCH = 16


@dataclass(frozen=True)
class Plan:
    """How long is trained, and on how much text."""

    n_folds: int = N_FOLDS  # folds that are tested
    n_steps: int = GENRE_FIT["n_steps"]
    n_train: int | None = None
    n_test: int | None = None
    """Characters of a genre, and of a play; None = all."""

    @classmethod
    def quick(cls) -> "Plan":
        """Take one fold, few steps and short texts."""
        return cls(1, 120, 60_000, 3000)


def heading_mask(play: Play) -> np.ndarray:
    """Mark the characters of speaker headings and the blank lines before them, bool (L,)."""
    parts: list[np.ndarray] = []
    for speech in play.speeches:
        lead = 2 * bool(parts)
        parts.append(np.ones(lead + len(speech.speaker) + 2, dtype=bool))
        parts.append(np.zeros(len(speech.text), dtype=bool))
    marked = np.concatenate([*parts, np.ones(1, dtype=bool)])
    assert len(marked) == len(play.text), "the speeches make up the text"
    return marked


def genre_texts(plays: dict[str, list[Play]], fold: int, n_chars: int | None) -> dict[str, str]:
    """Join the training plays of each genre for one fold, cut to equal length.

    Plays number fold, fold + N_FOLDS, ... of each genre are left out. `n_chars` is the most
    characters; None = as many as the smaller genre has.
    """
    joined = {
        genre: "\n".join(play.text for i, play in enumerate(plays[genre]) if i % N_FOLDS != fold)
        for genre in GENRES
    }
    length = min(len(text) for text in joined.values())
    return {genre: text[: min(length, n_chars or length)] for genre, text in joined.items()}


def train_on(ids: Tensor, vocab_size: int, seed: int, n_steps: int) -> GPT:
    """Train a small character GPT on one genre."""
    torch.manual_seed(seed)
    model = GPT(GPTConfig(vocab_size, **GENRE_SHAPE))
    loss = CausalLM(ids, batch_size=GENRE_BATCH, seq_len=GENRE_SHAPE["max_len"])
    fit(
        model,
        loss,
        OptimConfig(
            lr=GENRE_FIT["lr"], n_warmup=GENRE_FIT["n_warmup"], final_lr=GENRE_FIT["final_lr"]
        ),
        n_steps=n_steps,
        generator=Generator().manual_seed(1000 + seed),
    )
    return model


def both_means(lengths: np.ndarray, play: Play, n_chars: int | None) -> list[float]:
    """Average bits per character over a play, and over its speeches without headings."""
    spoken = ~heading_mask(play)[:n_chars]
    return [float(lengths.mean()), float(lengths[spoken].mean())]


def run_fold(
    plays: dict[str, list[Play]], tokenizer: CharTokenizer, fold: int, plan: Plan
) -> dict[str, Any]:
    """Train counts and a GPT on each genre and test them on the fold's plays of both.

    `tokenizer` is of the characters of all plays; the number of the fold is also the seed. Returns
    model → play → trained on → bits of [all, speeches only].
    """
    n_special, limit = len(tokenizer.special_ids), plan.n_test
    n_symbols = tokenizer.vocab_size - n_special
    held_out = [play for genre in GENRES for play in plays[genre][fold::N_FOLDS]]
    result: dict[str, Any] = {"counts": {}, "gpt": {}}
    for genre, text in genre_texts(plays, fold, plan.n_train).items():
        ids = tokenizer.encode(text)
        counts = KneserNey(ORDER, n_symbols).fit(ids.numpy() - n_special)
        gpt = train_on(ids, tokenizer.vocab_size, fold, plan.n_steps)
        for play in held_out:
            test = tokenizer.encode(play.text[:limit])
            log_probs = counts.log_probs(test.numpy() - n_special)
            for name, lengths in (
                ("counts", -log_probs / np.log(2)),
                ("gpt", code_lengths(gpt, test, n_symbols).numpy()),
            ):
                means = both_means(lengths, play, limit)
                result[name].setdefault(play.slug, {})[genre] = means
    return result


def over_plays(values: list[float]) -> list[float]:
    """Return mean and 95 % bootstrap interval over plays."""
    found = bootstrap_interval(
        np.array(values), generator=Generator().manual_seed(0), n_resamples=4000
    )
    return list(found)


def judge_genres(folds: list[dict[str, Any]], plays: dict[str, list[Play]]) -> dict[str, Any]:
    """Average results of `run_fold` over plays: bits by genre trained on and tested on.

    Also the cost of the other genre.
    """
    titles = {play.slug: play.title for genre in GENRES for play in plays[genre]}
    result: dict[str, Any] = {"titles": titles}
    for name in ("counts", "gpt"):
        scores = {slug: both for fold in folds for slug, both in fold[name].items()}
        entry: dict[str, Any] = {"per_play": scores, "bits": {}, "cost": {}}
        for tested, other in (GENRES, GENRES[::-1]):
            slugs = [play.slug for play in plays[tested]]
            for trained in GENRES:
                entry["bits"][f"{trained} -> {tested}"] = over_plays(
                    [scores[slug][trained][0] for slug in slugs]
                )
            for part, title in enumerate(("all", "without headings")):
                costs = [scores[slug][other][part] - scores[slug][tested][part] for slug in slugs]
                entry["cost"].setdefault(tested, {})[title] = over_plays(costs)
        result[name] = entry
    return result
