# SPDX-License-Identifier: MIT
"""Judge the book's strong character BERT on gaps of unseen plays; writes data/runs/bert_plays.json.

Single gaps, in bits: against the two-sided counts whose numbers of neighbours are best on the
validation plays, against Kneser-Ney by Bayes' rule (every character tried, what follows scored),
against the strong GPT by the same rule, and against the small BERT. Longer gaps, as the share
filled exactly: BERT and the two-sided counts fill the surest character first; Kneser-Ney keeps the
best beginnings (a beam) and lets the right side choose among them.

Plays and seeds are the witnesses: intervals are Student's t over the six plays (of means over
seeds) and over the seeds (of means over plays).

Run: python -m experiments.ch05_bert.unseen_gaps (--quick: few gaps; prints, writes nothing)
"""

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from experiments.book_models.character_models import file_of, seeds_of
from experiments.ch04_gpt.evaluation import char_ids, choose_order, joined
from experiments.ch05_bert.evaluation import (
    MIDDLE,
    ORDERS,
    SEQ_LEN,
    choose_n_gram,
    n_gram_log_probs,
    rescored_by_reach,
    unmask,
)
from experiments.common.records import Clock, rounded, seed_interval, write_run
from pretrain.bert import BERT
from pretrain.evaluation import cloze_log_probs
from pretrain.gpt import GPT
from pretrain.objectives import random_windows
from pretrain_lab.baselines.bidirectional_ngrams import BidirectionalNGram
from pretrain_lab.baselines.kneser_ney import KneserNey
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import CHECKPOINTS

NAME = "bert_plays"
SEED = 31
LENGTHS = (1, 2, 4, 8)
N_GAPS = 200  # of each length in each play
N_RESCORED = 100  # single gaps in each play for the GPT: it reads each once per character
BEAM = 50
Fill = Callable[[Tensor, int], Tensor]  # windows (N, T), length of the gap -> filled windows


def stored(name: str) -> dict[int, str]:
    """Name the files of a model's seeds whose weights are there."""
    files = {seed: file_of(name, seed) for seed in seeds_of(name)}
    return {s: f for s, f in files.items() if (CHECKPOINTS / f"{f}.safetensors").exists()}


def span(length: int) -> slice:
    """Return the places of a gap: it begins in the middle of its window."""
    return slice(MIDDLE, MIDDLE + length)


def fill_by_counts(model: BidirectionalNGram, windows: Tensor, length: int) -> Tensor:
    """Fill a gap with the two-sided counts, the surest character first.

    Args:
        model: Fitted counts over V symbols.
        windows: int64 (N, T), symbols counted from 0; what stands in the gap is not read.
        length: Number of characters in the gap.

    Returns:
        The windows as filled, int64 (N, T).
    """
    filled = windows.clone()
    filled[:, span(length)] = -1
    rows = torch.arange(len(filled))
    for _ in range(length):
        hidden = filled == -1
        top, guess = n_gram_log_probs(model, filled, hidden).max(dim=-1)
        sure = torch.full(filled.shape, -torch.inf)
        sure[hidden] = top
        guesses = torch.zeros_like(filled)
        guesses[hidden] = guess
        best = sure.argmax(dim=1)
        filled[rows, best] = guesses[rows, best]
    return filled


def beam(
    model: KneserNey, windows: Tensor, length: int, *, width: int = BEAM
) -> tuple[np.ndarray, np.ndarray]:
    """Fill a gap by the best beginnings, and score them with what follows on the right.

    Returns:
        Fills, int64 (N, width, length), and the log-probability of fill and right side given the
        left side, float64 (N, width), in nats; the number of fills is V where there are no more.
    """
    texts, memory = windows.numpy(), model.order - 1
    n, start = len(texts), MIDDLE - memory
    fills = np.repeat(texts[:, None, start:MIDDLE], 1, axis=1)  # (N, 1, memory): the left side
    scores = np.zeros((n, 1))

    def next_log_probs(so_far: np.ndarray) -> np.ndarray:
        """Predict after each beginning, (N, W, k) to (N, W, V)."""
        flat = so_far[..., so_far.shape[-1] - memory :].reshape(-1, memory)
        return np.log(model.next_probs(flat)).reshape(*so_far.shape[:2], -1)

    for _ in range(length):
        everything = scores[..., None] + next_log_probs(fills)  # (N, W, V)
        flat = everything.reshape(n, -1)
        kept = np.argsort(-flat, axis=1, kind="stable")[:, :width]  # (N, W')
        parents, symbols = np.divmod(kept, everything.shape[-1])
        before = np.take_along_axis(fills, parents[..., None], axis=1)
        fills = np.concatenate([before, symbols[..., None]], axis=2)
        scores = np.take_along_axis(flat, kept, axis=1)
    texts_so_far = fills
    for place in range(MIDDLE + length, min(MIDDLE + length + memory, SEQ_LEN)):
        truth = np.broadcast_to(texts[:, None, place, None], (*fills.shape[:2], 1))
        scores = scores + np.take_along_axis(next_log_probs(texts_so_far), truth, axis=2)[..., 0]
        texts_so_far = np.concatenate([texts_so_far, truth], axis=2)
    return fills[..., memory:], scores


def fill_by_beam(model: KneserNey, windows: Tensor, length: int) -> Tensor:
    """Fill a gap with the best fill of a beam; as `fill_by_counts`."""
    fills, scores = beam(model, windows, length)
    filled = windows.clone()
    best = fills[np.arange(len(fills)), scores.argmax(axis=1)]
    filled[:, span(length)] = torch.from_numpy(best)
    return filled


def bayes_log_probs(model: KneserNey, windows: Tensor) -> Tensor:
    """Give Kneser-Ney's distribution of the middle character, both sides known, float (N, V)."""
    fills, scores = beam(model, windows, 1, width=model.vocab_size)
    ordered = np.empty_like(scores)
    np.put_along_axis(ordered, fills[..., 0], scores, axis=1)
    return torch.from_numpy(ordered).log_softmax(dim=-1)


def bits(log_probs: Tensor, answers: Tensor) -> float:
    """Return the mean surprisal of the answers, in bits."""
    return float(-log_probs.gather(1, answers[:, None]).double().mean() / np.log(2))


def draw(texts: list[Tensor], n: int) -> list[Tensor]:
    """Draw windows of each play, int64 (n, SEQ_LEN) each; the gap is in the middle."""
    generator = Generator().manual_seed(SEED)
    return [random_windows(text, n, SEQ_LEN, generator=generator) for text in texts]


def exact(fill: Fill, windows: list[Tensor], length: int) -> list[float]:
    """Return the share of gaps of each play that are filled without a mistake."""
    return [
        float((fill(part, length) == part)[:, span(length)].all(dim=1).double().mean())
        for part in windows
    ]


def compare(
    ours: dict[str, list[float]], rivals: dict[str, list[float]], sign: float
) -> dict[str, Any]:
    """Combine numbers by play of our seeds and of the rivals; positive gaps favour us."""
    own = np.array(list(ours.values()))  # (seeds, plays)
    return {
        "per_play": {**ours, **rivals},
        "means": {"BERT": seed_interval(own.mean(axis=0).tolist())}
        | {name: seed_interval(values) for name, values in rivals.items()},
        "ahead_of": {
            name: {
                "plays": seed_interval((sign * (own.mean(axis=0) - np.array(values))).tolist()),
                "seeds": seed_interval((sign * (own.mean(axis=1) - np.mean(values))).tolist())
                if len(own) > 1
                else None,
            }
            for name, values in rivals.items()
        },
    }


def study(n_gaps: int, n_rescored: int) -> dict[str, Any]:
    """Ask all seeds that are there, and all rivals, the same gaps."""
    files = stored(NAME)
    loaded = {f"seed {seed}": load_model(file) for seed, file in files.items()}
    tokenizer = next(iter(loaded.values()))[1]
    berts: dict[str, BERT] = {name: model for name, (model, _) in loaded.items()}
    berts["small BERT"] = load_model("bert_chars")[0]
    mask_id, first = tokenizer.mask_id, len(tokenizer.special_ids)
    n_chars = tokenizer.vocab_size - first
    plays = {split: load_shakespeare(split) for split in ("train", "validation", "test")}
    texts, _ = char_ids(tokenizer, plays["test"])
    ids = {split: torch.cat(char_ids(tokenizer, plays[split])[0]) - first for split in plays}
    two_sided, tried = choose_n_gram(ids, n_chars, (*ORDERS, (4, 5)))  # more do not fit 63 bits
    train = joined(char_ids(tokenizer, plays["train"])[0], first)
    by_order = choose_order(train, char_ids(tokenizer, plays["validation"])[0], first, n_chars)
    best_order = int(min(by_order, key=by_order.__getitem__))
    one_sided = KneserNey(best_order, n_chars).fit(*train)
    windows = draw(texts, n_gaps)
    symbols = [part - first for part in windows]
    middle, places = span(1), torch.full((n_gaps,), MIDDLE)
    single = {
        name: [
            bits(cloze_log_probs(model, part, places, mask_id=mask_id), part[:, MIDDLE])
            for part in windows
        ]
        for name, model in berts.items()
    }
    hidden = (torch.arange(SEQ_LEN) == middle.start).expand(n_gaps, -1)
    single["two-sided counts"] = [
        bits(n_gram_log_probs(two_sided, part, hidden), part[:, MIDDLE]) for part in symbols
    ]
    single["Kneser-Ney, both sides"] = [
        bits(bayes_log_probs(one_sided, part), part[:, MIDDLE]) for part in symbols
    ]

    def blanked(model: BERT) -> Fill:
        """Fill a gap with a BERT, the surest character first."""

        def fill(part: Tensor, length: int) -> Tensor:
            holes = part.clone()
            holes[:, span(length)] = mask_id
            return unmask(model, holes, mask_id, at_once=False)

        return fill

    shares: dict[int, dict[str, list[float]]] = {}
    for length in LENGTHS:
        shares[length] = {name: exact(blanked(m), windows, length) for name, m in berts.items()}
        shares[length]["two-sided counts"] = exact(
            lambda part, n: fill_by_counts(two_sided, part, n), symbols, length
        )
        shares[length]["Kneser-Ney, both sides"] = exact(
            lambda part, n: fill_by_beam(one_sided, part, n), symbols, length
        )
        print(length, rounded(shares[length], 3), flush=True)
    seeds = [name for name in berts if name != "small BERT"]

    def parted(values: dict[str, list[float]], sign: float) -> dict[str, Any]:
        """Compare our seeds with everything else."""
        ours = {name: values[name] for name in seeds}
        return compare(ours, {n: v for n, v in values.items() if n not in seeds}, sign)

    return {
        "question": "How well does the strong BERT fill gaps in plays that it has not read?",
        "unit": "bits per character of single gaps; shares of gaps filled exactly",
        "interval": "95 %, Student's t over the six plays; over seeds where it says so",
        "files": list(files.values()),
        "seq_len": SEQ_LEN,
        "n_gaps_per_play": n_gaps,
        "beam": BEAM,
        "two_sided": tried,
        "validation_bits_by_order": by_order,
        "plays": [play.title for play in plays["test"]],
        "single": parted(single, -1.0),
        "exact": {str(length): parted(values, 1.0) for length, values in shares.items()},
        "rescored": rescored(berts[seeds[0]], windows, n_rescored, mask_id, first),
    }


def rescored(
    bert: BERT, windows: list[Tensor], n: int, mask_id: int, first: int
) -> dict[str, Any] | None:
    """Compare one BERT with the strong GPT by Bayes' rule on single gaps; None without a GPT."""
    files = stored("gpt_plays")
    if not files:
        return None
    gpt: GPT = load_model(next(iter(files.values())))[0]
    found: dict[str, list[float]] = {"GPT, both sides": [], "BERT": []}
    candidates = torch.arange(first, gpt.config.vocab_size)
    for part in windows:
        few = part[:n]
        places, answers = torch.full((len(few),), MIDDLE), few[:, MIDDLE]
        by_rule = rescored_by_reach(gpt, few, candidates, (SEQ_LEN - 1 - MIDDLE,))[0]
        found["GPT, both sides"].append(bits(by_rule, answers))
        found["BERT"].append(bits(cloze_log_probs(bert, few, places, mask_id=mask_id), answers))
    gap = np.array(found["GPT, both sides"]) - np.array(found["BERT"])
    return {
        "n_per_play": n,
        "bits": {name: seed_interval(values) for name, values in found.items()},
        "bert_ahead": seed_interval(gap.tolist()),
    }


def main() -> None:
    """Judge and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few gaps; prints, writes nothing")
    clock = Clock()
    if parser.parse_args().quick:
        print(json.dumps(rounded(study(10, 2), 3), indent=1))
    else:
        write_run(NAME, study(N_GAPS, N_RESCORED), clock)


if __name__ == "__main__":
    main()
