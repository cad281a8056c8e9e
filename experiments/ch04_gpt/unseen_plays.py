# SPDX-License-Identifier: MIT
"""Judge the book's strong GPT on the unseen plays; writes data/runs/gpt_plays.json.

Rivals: Kneser-Ney of the order that is best on the validation plays, the same with a cache of what
was just read, and the small GPT. Every model scores the same characters, each with MIN_CONTEXT
others or more before it. Plays and seeds are the witnesses: intervals are Student's t over the six
plays (of means over seeds) and over the seeds (of means over plays).

The second study asks for a memory: words with a capital that no training play holds, met before
within FAR characters, but not within the last NEAR.

Run: python -m experiments.ch04_gpt.unseen_plays
"""

import math
import re
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.book_models.character_models import file_of, seeds_of
from experiments.ch04_gpt.evaluation import char_ids, choose_order, joined
from experiments.common.records import Clock, seed_interval, write_run
from pretrain.evaluation import gather_log_probs, nats_to_bits, token_losses
from pretrain.gpt import GPT
from pretrain_lab.baselines.kneser_ney import KneserNey
from pretrain_lab.baselines.suffix_cache import SuffixCache
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tokenizers.characters import CharTokenizer

NAME = "gpt_plays"
MIN_CONTEXT = 128  # characters before the first scored one, for every model
NEAR, FAR = 100, 240  # characters: a name must stand before within FAR, and not within NEAR
CACHES = (256, 4096)  # characters that the cache remembers: as many as the GPT reads, and more
WORD = re.compile(r"[A-Z][A-Za-z]+")


def stored_seeds() -> list[int]:
    """List the seeds of the strong GPT whose weights are there."""
    return [s for s in seeds_of(NAME) if (CHECKPOINTS / f"{file_of(NAME, s)}.safetensors").exists()]


def play_bits(losses: list[Any]) -> list[float]:
    """Average nats per character of each play, (n,) each, in bits."""
    return [nats_to_bits(float(part.mean())) for part in losses]


def gpt_nats(model: GPT, texts: list[Tensor]) -> list[Tensor]:
    """Score plays, int64 (L,) each, from the character at MIN_CONTEXT + 1 on, float64 (n,) each."""
    seq_len = model.config.max_len
    context = min(MIN_CONTEXT, seq_len // 2)
    return [
        token_losses(model, text, seq_len=seq_len, min_context=context).double()[
            MIN_CONTEXT - context :
        ]
        for text in texts
    ]


def far_names(text: str, known: set[str]) -> list[tuple[int, int]]:
    """Find words with a capital, not known, whose last copy stands NEAR to FAR characters before.

    Returns:
        Start and end of each.
    """
    found, last = [], dict[str, int]()
    for match in WORD.finditer(text):
        word, start, end = match[0], match.start(), match.end()
        before = last.get(word)
        fits = before is not None and start - FAR <= before <= start - NEAR - len(word)
        if fits and word not in known and start >= FAR:
            found.append((start, end))
        last[word] = start
    return found


@torch.inference_mode()
def word_bits(model: GPT, ids: Tensor, places: list[tuple[int, int]], context: int) -> np.ndarray:
    """Score words of a text, int64 (L,), each given `context` characters before it, (n,) bits.

    The last letter of a word is read with `context` characters before the word as well.
    """
    sums = []
    for start, end in places:
        window = ids[max(0, start - context) : end][None]
        log_probs = gather_log_probs(model(window[:, :-1]), window[:, 1:])[0]
        sums.append(-float(log_probs[start - end :].double().sum()))
    return np.array(sums) / math.log(2)


def study_names(
    models: dict[str, GPT], counts: dict[str, Any], tokenizer: CharTokenizer
) -> dict[str, Any]:
    """Score names met again after NEAR characters: bits per name by play, model and seed.

    Seeds are kept apart: what one training has learned, another may have lost.
    """
    known = {w for play in load_shakespeare("train") for w in WORD.findall(play.text)}
    n_special = len(tokenizer.special_ids)
    found: dict[str, list[np.ndarray]] = {}  # reader -> bits of each name, play by play
    n_names = {}
    for play in load_shakespeare("test"):
        ids = tokenizer.encode(play.text)
        places = far_names(play.text, known)
        n_names[play.title] = len(places)
        if not places:
            continue
        for seed, model in models.items():
            for context in (FAR, NEAR):
                bits = word_bits(model, ids, places, context)
                found.setdefault(f"{seed}, {context} characters", []).append(bits)
        for name, count_model in counts.items():
            nats = -count_model.log_probs(ids.numpy() - n_special)
            words = np.array([nats[start:end].sum() for start, end in places])
            found.setdefault(name, []).append(words / math.log(2))
    means = {name: np.array([play.mean() for play in plays]) for name, plays in found.items()}
    rivals = [f"{{}}, {NEAR} characters", *counts]
    return {
        "near": NEAR,
        "far": FAR,
        "n_names": n_names,
        "unit": "bits per name, mean of a play's names",
        "bits_per_name": {name: seed_interval(values.tolist()) for name, values in means.items()},
        "below": {
            seed: {
                rival.format(seed): seed_interval(
                    (means[rival.format(seed)] - means[f"{seed}, {FAR} characters"]).tolist()
                )
                for rival in rivals
            }
            for seed in models
        },
    }


def main() -> None:
    """Judge all seeds that are there and write the record."""
    clock = Clock()
    files = {seed: file_of(NAME, seed) for seed in stored_seeds()}
    loaded = {seed: load_model(file) for seed, file in files.items()}
    models = {f"seed {seed}": model for seed, (model, _) in loaded.items()}
    tokenizer = next(iter(loaded.values()))[1]
    plays = {split: load_shakespeare(split) for split in ("train", "validation", "test")}
    texts, n_special = char_ids(tokenizer, plays["test"])
    train = joined(char_ids(tokenizer, plays["train"])[0], n_special)
    validation = char_ids(tokenizer, plays["validation"])[0]
    n_chars = tokenizer.vocab_size - n_special
    by_order = choose_order(train, validation, n_special, n_chars)
    best = KneserNey(int(min(by_order, key=by_order.__getitem__)), n_chars).fit(*train)
    unread = [text.numpy() - n_special for text in validation]
    counts: dict[str, Any] = {"counts": best} | {
        f"counts, cache of {window}": SuffixCache(best, window=window).fit(unread)
        for window in CACHES
    }
    small, _ = load_model("gpt_chars")
    nats = {name: gpt_nats(model, texts) for name, model in models.items()}
    n_scored = [len(part) for part in next(iter(nats.values()))]
    bits = {name: play_bits(parts) for name, parts in nats.items()}
    own = zip(gpt_nats(small, texts), n_scored, strict=True)
    rivals = {"small GPT": play_bits([part[:n] for part, n in own])}
    for name, model in counts.items():
        scored = (-model.log_probs(text.numpy() - n_special)[MIN_CONTEXT + 1 :] for text in texts)
        pairs = zip(scored, n_scored, strict=True)
        rivals[name] = play_bits([part[:n] for part, n in pairs])
    mean = np.mean(list(bits.values()), axis=0)
    write_run(
        NAME,
        {
            "question": "How well does the strong GPT predict plays that it has not read?",
            "unit": "bits per character of the six test plays",
            "interval": "95 %, Student's t over plays; over seeds where it says so",
            "min_context": MIN_CONTEXT,
            "n_scored": sum(n_scored),
            "files": list(files.values()),
            "validation_bits_by_order": by_order,
            "shares_of_cache": {
                name: model.shares.tolist() for name, model in counts.items() if name != "counts"
            },
            "plays": [play.title for play in plays["test"]],
            "bits_per_play": {**bits, **rivals},
            "bits": {
                "GPT": seed_interval(mean.tolist()),
                **{name: seed_interval(values) for name, values in rivals.items()},
            },
            "below": {
                name: {
                    "plays": seed_interval((np.array(values) - mean).tolist()),
                    "seeds": seed_interval(
                        [float(np.mean(values) - np.mean(own)) for own in bits.values()]
                    )
                    if len(bits) > 1
                    else None,
                }
                for name, values in rivals.items()
            },
            "names": study_names(models, counts, tokenizer),
        },
        clock,
    )


if __name__ == "__main__":
    main()
