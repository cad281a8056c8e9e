# SPDX-License-Identifier: MIT
"""How to corrupt, and how much: fates (BRT-R2) and the masking rate (BRT-R3).

Writes data/runs/bert_corruption.json. Every arm has the recipe of `setup`; only the
corruption in training differs, and in two arms the number of steps: at 30 % half the steps make as
many predictions as all of them at 15 %, and at 15 % twice the steps as many as at 30 %. All arms
are then judged on the same five questions:

blank      one [MASK] in clean text of unseen plays: bits and top-1;
corrupted  15 % selected, 80/10/10: top-1 and bits at the selected positions;
clean      the model reads clean text: how often its head names the character that stands there;
typo       one character was replaced by a random one: how often its head names the original;
probes     ridge regression on frozen states of clean text: which character stands here (of the
           vocabulary), and which of the 40 most frequent words starts here.
"""

from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.ch05_bert.setup import (
    N_STEPS,
    RECIPE,
    SEQ_LEN,
    load_ids,
    middle_blanks,
    new_model,
    train,
)
from experiments.common.arm_cache import ArmCache
from experiments.common.records import N_FIRST, seed_interval
from pretrain.bert import BERT
from pretrain.evaluation import cloze_log_probs, masked_log_probs, nats_to_bits
from pretrain.objectives import IGNORE_INDEX, MaskedLM, corrupt_mlm
from pretrain_lab.tokenizers.characters import CharTokenizer

FATES = {  # mask / random / keep, as (mask_prob, random_prob)
    "80/10/10": (0.8, 0.1),
    "all masked": (1.0, 0.0),
    "all kept": (0.0, 0.0),
    "all random": (0.0, 1.0),
}
RATES = (0.05, 0.15, 0.3, 0.5, 0.8)
N_BLANKS = 4000
N_WORDS = 40
SEEDS = (0, 1, 2)
N_PROBE_TRAIN, N_PROBE_TEST = 8000, 4000


class Arm(NamedTuple):
    """How the tokens of a training are corrupted, and for how many steps."""

    select_prob: float
    mask_prob: float
    random_prob: float
    n_steps: int = N_STEPS


REFERENCE, HIGHER = "fates 80/10/10", "rate 0.30"
FEWER, MORE = "half the steps at 0.30", "twice the steps at 0.15"
EQUAL_PREDICTIONS = {"as many as at 15 %": (FEWER, REFERENCE), "as many as at 30 %": (HIGHER, MORE)}
"""Pairs of arms, 30 % and 15 %, that make equally many predictions."""


def arms() -> dict[str, Arm]:
    """Name every arm. 80/10/10 is the 15 % arm of both."""
    result = {f"fates {name}": Arm(0.15, *fate) for name, fate in FATES.items()}
    result |= {f"rate {rate:.2f}": Arm(rate, 0.8, 0.1) for rate in RATES if rate != 0.15}
    result[FEWER] = Arm(0.3, 0.8, 0.1, N_STEPS // 2)
    result[MORE] = Arm(0.15, 0.8, 0.1, 2 * N_STEPS)
    return result


def word_starts(text: str, words: list[str]) -> tuple[list[int], list[int]]:
    """Find where a listed word starts, far enough from the ends for a window around it.

    Returns places in the text, and labels: indices into `words`.
    """
    label = {word: i for i, word in enumerate(words)}
    places, labels = [], []
    start = SEQ_LEN
    for piece in text[SEQ_LEN : -2 * SEQ_LEN].split(" "):
        if piece in label:
            places.append(start)
            labels.append(label[piece])
        start += len(piece) + 1
    return places, labels


def word_probe_data(
    ids: Tensor, text: str, words: list[str], n: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Draw windows whose middle character starts a listed word.

    Returns windows int64 (n, SEQ_LEN) and word labels int64 (n,).
    """
    places, labels = word_starts(text, words)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(places), generator=generator)[:n]
    starts = torch.tensor(places)[chosen] - SEQ_LEN // 2
    return ids.unfold(0, SEQ_LEN, 1)[starts], torch.tensor(labels)[chosen]


@torch.inference_mode()
def middle_states(model: BERT, windows: Tensor) -> Tensor:
    """Return the last hidden state of the middle character, float64 (n, D + 1) with a constant."""
    states = torch.cat([model.encode(w)[:, SEQ_LEN // 2] for w in windows.split(512)]).double()
    return torch.cat([states, torch.ones(len(states), 1, dtype=torch.float64)], dim=1)


def ridge_accuracy(
    train_states: Tensor, train_labels: Tensor, states: Tensor, labels: Tensor, n_classes: int
) -> float:
    """Fit one-hot labels by ridge regression and return the accuracy on other states."""
    targets = F.one_hot(train_labels, n_classes).double()
    gram = train_states.T @ train_states + 1.0 * torch.eye(train_states.shape[1])
    weights = torch.linalg.solve(gram, train_states.T @ targets)
    return ((states @ weights).argmax(dim=1) == labels).double().mean().item()


def judge(model: BERT, data: dict[str, Any]) -> dict[str, float]:
    """Ask one trained model all five questions."""
    tokenizer: CharTokenizer = data["tokenizer"]
    windows, places, answers = data["blanks"]
    blank = cloze_log_probs(model, windows, places, mask_id=tokenizer.mask_id)
    corrupted, labels, _ = data["corrupted"]
    log_probs, hidden = masked_log_probs(model, corrupted, labels)
    clean = masked_log_probs(model, windows, data["only_middle"])[0]
    typo = masked_log_probs(model, data["typos"], data["only_middle"])[0]
    result = {
        "blank_bits": nats_to_bits(F.nll_loss(blank, answers).item()),
        "blank_top1": _top1(blank, answers),
        "corrupted_bits": nats_to_bits(F.nll_loss(log_probs, hidden).item()),
        "corrupted_top1": _top1(log_probs, hidden),
        "clean_top1": _top1(clean, answers),
        "clean_bits": nats_to_bits(F.nll_loss(clean, answers).item()),
        "typo_top1": _top1(typo, answers),
    }
    for name, (train_set, test_set, n_classes) in data["probes"].items():
        result[f"probe_{name}"] = ridge_accuracy(
            middle_states(model, train_set[0]),
            train_set[1],
            middle_states(model, test_set[0]),
            test_set[1],
            n_classes,
        )
    return result


def _top1(log_probs: Tensor, answers: Tensor) -> float:
    """Compute the share of answers that are the best guess."""
    return (log_probs.argmax(dim=1) == answers).double().mean().item()


def prepare() -> dict[str, Any]:
    """Load the text and draw every question once, the same for all arms."""
    tokenizer, ids = load_ids()
    blanks = middle_blanks(ids["test"], N_BLANKS, seed=7)
    windows, _, answers = blanks
    middle = torch.arange(SEQ_LEN) == SEQ_LEN // 2
    generator = torch.Generator().manual_seed(9)
    special: dict[str, Any] = {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }
    n_special = len(tokenizer.special_ids)
    shift = torch.randint(1, tokenizer.vocab_size - n_special, (N_BLANKS,), generator=generator)
    wrong = (answers - n_special + shift) % (tokenizer.vocab_size - n_special) + n_special
    texts = {split: tokenizer.decode(ids[split]) for split in ("train", "test")}
    words = frequent_words(texts["train"])
    practice = middle_blanks(ids["train"], N_PROBE_TRAIN, seed=10)
    return {
        "tokenizer": tokenizer,
        "ids": ids,
        "special": special,
        "words": words,
        "blanks": blanks,
        "corrupted": corrupt_mlm(windows, generator=generator, **special),
        "only_middle": windows.masked_fill(~middle, IGNORE_INDEX),
        "typos": torch.where(middle, wrong[:, None], windows),
        "probes": {
            "character": ((practice[0], practice[2]), (windows, answers), tokenizer.vocab_size),
            "word": (
                word_probe_data(ids["train"], texts["train"], words, N_PROBE_TRAIN, 11),
                word_probe_data(ids["test"], texts["test"], words, N_PROBE_TEST, 12),
                N_WORDS,
            ),
        },
    }


def frequent_words(text: str) -> list[str]:
    """List the most frequent words of two letters or more that stand between two spaces."""
    counts: dict[str, int] = {}
    for word in text.split(" "):
        if len(word) > 1 and word.isalpha() and word.islower():
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))[:N_WORDS]


def run_arm(arm: Arm, seed: int, data: dict[str, Any]) -> tuple[dict[str, float], list[float]]:
    """Train one model and judge it; its first losses come with the answers."""
    loss = MaskedLM(
        data["ids"]["train"],
        batch_size=RECIPE["batch_size"],
        seq_len=SEQ_LEN,
        mlm_probability=arm.select_prob,
        mask_replace_prob=arm.mask_prob,
        random_replace_prob=arm.random_prob,
        **data["special"],
    )
    model = new_model(BERT, data["tokenizer"].vocab_size, seed)
    history = train(model, loss, seed=seed, n_steps=arm.n_steps)
    return judge(model, data), history.losses[:N_FIRST]


def paired(runs: list[dict[str, float]], others: list[dict[str, float]], key: str) -> list[float]:
    """Subtract another arm's number from an arm's, seed by seed."""
    return [run[key] - other[key] for run, other in zip(runs, others, strict=True)]


def main() -> None:
    """Run all arms seed by seed and write the study; a killed one goes on where it stopped."""
    data = prepare()
    cache = ArmCache("bert_corruption", [RECIPE, N_BLANKS, N_PROBE_TRAIN, N_PROBE_TEST, arms()])
    results: dict[str, list[dict[str, float]]] = {name: [] for name in arms()}
    first: dict[str, list[float]] = {}
    for seed in SEEDS:
        for name, arm in arms().items():
            answers, losses = cache.get(f"{name}, seed {seed}", partial(run_arm, arm, seed, data))
            results[name].append(answers)
            first.setdefault(name, losses)
            print(name, seed, {key: round(value, 3) for key, value in answers.items()}, flush=True)
    cache.conclude(summary(results, data) | {"seeds": list(SEEDS), "first_losses": first})


def summary(results: dict[str, list[dict[str, float]]], data: dict[str, Any]) -> dict[str, Any]:
    """Combine means, intervals and paired differences of all arms."""
    reference = results[REFERENCE]
    untrained = judge(new_model(BERT, data["tokenizer"].vocab_size, 0).eval(), data)
    return {
        "question": "How should tokens be corrupted, and how many of them?",
        "recipe": RECIPE,
        "n_blanks": N_BLANKS,
        "n_corrupted": int((data["corrupted"].labels != IGNORE_INDEX).sum()),
        "n_probe": [N_PROBE_TRAIN, N_PROBE_TEST],
        "probe_words": data["words"],
        "interval": "95 % over seeds, Student's t; differences paired by seed",
        "reference": REFERENCE,
        "arms": {
            name: {
                "select_prob": arms()[name].select_prob,
                "n_steps": arms()[name].n_steps,
                **{k: seed_interval([r[k] for r in runs]) for k in runs[0]},
                "minus_reference": {k: seed_interval(paired(runs, reference, k)) for k in runs[0]},
            }
            for name, runs in results.items()
        },
        "equal_predictions": {
            name: {
                key: seed_interval(paired(results[higher], results[lower], key))
                for key in ("blank_bits", "corrupted_bits")
            }
            for name, (higher, lower) in EQUAL_PREDICTIONS.items()
        },
        "untrained": untrained,
        "majority": {
            name: torch.bincount(sets[1][1]).max().item() / len(sets[1][1])
            for name, sets in data["probes"].items()
        },
    }


if __name__ == "__main__":
    main()
