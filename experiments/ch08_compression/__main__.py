# SPDX-License-Identifier: MIT
"""Bits per character of unseen text: file compressors, counts and the book's models (ADV-R4).

Writes data/runs/compression.json. All ways code the same text, the six test plays joined by line
breaks, from its first character to its last. The ways differ in what they had read before: nothing
(they learn from the text itself), or the training plays. For the trained models the bytes of the
weights are recorded too, in 32 and 16 bits, with the length of text at which they would be paid.
A code of the first characters of one play is really written and read back.

A model's code length is the sum of its surprises; `arithmetic_coding` and the test beside it show
that a coder comes within two bits of it. The subword model codes one segmentation of the text.

Some 8 CPU-minutes. `--quick` takes a short text and writes nothing.
"""

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from experiments.ch08_compression.arithmetic_coding import code_for_real
from experiments.ch08_compression.code_lengths import (
    FILES,
    adaptive_lengths,
    by_character,
    code_lengths,
    per_part,
    xz,
)
from experiments.common.arm_cache import ArmCache
from pretrain.gpt import GPT
from pretrain_lab.baselines.kneser_ney import KneserNey, UnigramModel
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_reviews, load_shakespeare
from pretrain_lab.paths import CHECKPOINTS

CHARACTERS, SUBWORDS = "gpt_chars", "worldview_gpt"
STRONG = "gpt_plays"  # its weights are stored in 6 bits, in a byte each
FROZEN_ORDER = 7  # chosen on the validation plays (gpt_evaluation.json)
ADAPTIVE_ORDERS = (4, 5, 6, 7, 8)
READ = "training plays"
CODED_PLAY = "macbeth"


@dataclass(frozen=True)
class Plan:
    """Characters of each text; None = all."""

    play: int | None = None
    train: int | None = None
    reviews: int | None = None
    tune: int = 200_000  # of the validation plays that choose the adaptive order
    coded: int = 400  # of those that are really coded
    keep: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Take little text."""
        return cls(4000, 200_000, 8000, 20_000, 60, keep=False)


def way(bits: float, n_bytes: float, read: str, plays: list[float]) -> dict[str, Any]:
    """Make the entry of one way: bits per character, bytes of the code, what it had read."""
    return {"bits": bits, "bytes": round(n_bytes), "read": read, "per_play": plays}


def judge_files(text: str, plays: list[str]) -> dict[str, Any]:
    """Compress the text with each file compressor, and each play on its own."""
    result = {}
    for name, compress in FILES.items():
        size = len(compress(text.encode()))
        alone = [8 * len(compress(play.encode())) / len(play) for play in plays]
        result[name] = way(8 * size / len(text), size, "nothing", alone)
    return result


def judge_primed(text: str, train: str) -> dict[str, Any]:
    """Measure what the text adds to a file of xz that holds the training plays already."""
    before = (train + "\n").encode()
    size = len(xz(before + text.encode())) - len(xz(before))
    return way(8 * size / len(text), size, READ, [])


def from_lengths(lengths: Any, ends: list[int], read: str) -> dict[str, Any]:
    """Make the entry of a way from the bits of every character."""
    total = float(lengths.sum())
    return way(total / len(lengths), math.ceil(total / 8), read, per_part(lengths, ends))


def choose_order(validation: np.ndarray, n_symbols: int) -> dict[str, float]:
    """Score adaptive counts of each order on validation plays, order (as text) → bits."""
    return {
        str(order): float(adaptive_lengths(validation, order, n_symbols).mean())
        for order in ADAPTIVE_ORDERS
    }


def half_precision(model: GPT) -> GPT:
    """Round all weights to 16 bits in place; the arithmetic stays in 32."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half().float())
    return model


def judge_gpt(name: str, text: str, ends: list[int], *, half: bool) -> dict[str, Any]:
    """Score a recorded GPT on the text, with its weights in 32 or in 16 bits."""
    model, tokenizer = load_model(name)
    model = half_precision(model) if half else model
    ids = tokenizer.encode(text)
    n_symbols = tokenizer.vocab_size - len(tokenizer.special_ids)
    lengths = code_lengths(model, ids, n_symbols)
    tokens = [tokenizer.decode(ids[i : i + 1]) for i in range(len(ids))]
    return from_lengths(by_character(lengths, tokens, len(text)), ends, READ)


def model_bytes(train: str) -> dict[str, Any]:
    """Count what a receiver needs beside the code: weights, vocabulary, or the text counted."""
    result: dict[str, Any] = {}
    for name in (CHARACTERS, SUBWORDS):
        model, tokenizer = load_model(name)
        n = sum(p.numel() for p in model.parameters())
        words = len(xz(json.dumps(tokenizer.to_dict()).encode()))
        result[name] = {
            "n_parameters": n, "fp32_bytes": 4 * n, "fp16_bytes": 2 * n, "vocabulary_bytes": words
        }  # fmt: skip
    model, _ = load_model(STRONG)
    result[STRONG] = {
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "xz_bytes": len(xz((CHECKPOINTS / f"{STRONG}.safetensors").read_bytes())),
    }
    result["training plays"] = {
        "characters": len(train),
        **{f"{name}_bytes": len(compress(train.encode())) for name, compress in FILES.items()},
    }
    return result


def break_even(n_bytes: float, rival: float, own: float) -> float | None:
    """Return the number of characters after which a model's bytes are paid; None = never.

    `rival` and `own` are bits per character without and with the model.
    """
    return 8 * n_bytes / (rival - own) if rival > own else None


def judge_reviews(text: str) -> dict[str, Any]:
    """Code the reviews of the test films: compressors, adaptive counts, the GPT of plays."""
    ends = [len(text)]
    symbols, ids = np.unique(list(text), return_inverse=True)
    return {
        "n_chars": len(text),
        "ways": {
            **judge_files(text, [text]),
            "counts, learning": from_lengths(
                adaptive_lengths(ids, 4, len(symbols)), ends, "nothing"
            ),
            SUBWORDS: judge_gpt(SUBWORDS, text, ends, half=False),
        },
    }


def judge_counts(
    cache: ArmCache, ids: dict[str, np.ndarray], ends: list[int], n_symbols: int, order: int
) -> dict[str, Any]:
    """Code the text with counts: frozen or learning, having read the training plays or not.

    Args:
        ids: The characters from 0, int64 (L,), of "text" and "train".
        ends: Places after the plays of the text.
        n_symbols: V.
        order: Of the counts that had read nothing.
    """
    text, train = ids["text"], ids["train"]

    def frozen(model: Any) -> dict[str, Any]:
        """Fit a count model on the training plays and leave it as it is."""
        return from_lengths(-model.fit(train).log_probs(text) / math.log(2), ends, READ)

    def learning(order: int, before: np.ndarray | None, read: str) -> dict[str, Any]:
        """Let counts learn from the text that was coded already."""
        return from_lengths(adaptive_lengths(text, order, n_symbols, before), ends, read)

    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "unigram": lambda: frozen(UnigramModel(n_symbols)),
        "counts": lambda: frozen(KneserNey(FROZEN_ORDER, n_symbols)),
        "counts, learning": lambda: learning(order, None, "nothing"),
        "counts, read and learning": lambda: learning(FROZEN_ORDER, train, READ),
    }
    return {name: cache.get(name, compute) for name, compute in ways.items()}


def pay_for(sizes: dict[str, Any], ways: dict[str, Any]) -> dict[str, Any]:
    """Return for each model and each rival without one after how many characters it pays off."""
    sent = {
        name: (sizes[name]["fp16_bytes"] + sizes[name]["vocabulary_bytes"], f"{name}, fp16")
        for name in (CHARACTERS, SUBWORDS)
    } | {STRONG: (sizes[STRONG]["xz_bytes"], STRONG)}
    return {
        model: {
            rival: break_even(n_bytes, ways[rival]["bits"], ways[way]["bits"])
            for rival in (*FILES, "counts, learning")
        }
        for model, (n_bytes, way) in sent.items()
    }


def study(texts: dict[str, Any], n_coded: int, cache: ArmCache) -> dict[str, Any]:
    """Measure all ways.

    Args:
        texts: "plays" as a list, "train", "validation" and "reviews" as strings.
        n_coded: Characters that are really coded.
    """
    text, train = "\n".join(texts["plays"]), texts["train"]
    ends = np.cumsum([len(play) + 1 for play in texts["plays"]]).tolist()
    ends[-1] = len(text)
    _, tokenizer = load_model(CHARACTERS)
    n_special = len(tokenizer.special_ids)
    n_symbols = tokenizer.vocab_size - n_special
    ids = {
        name: tokenizer.encode(part).numpy() - n_special
        for name, part in (("text", text), ("train", train), ("tune", texts["validation"]))
    }
    by_order = cache.get("orders", lambda: choose_order(ids["tune"], n_symbols))
    order = int(min(by_order, key=by_order.__getitem__))
    ways = {
        **cache.get("files", lambda: judge_files(text, texts["plays"])),
        **judge_counts(cache, ids, ends, n_symbols, order),
        "xz, primed": cache.get("xz, primed", lambda: judge_primed(text, train)),
    }
    for name in (CHARACTERS, SUBWORDS):
        for title, half in ((name, False), (f"{name}, fp16", True)):
            ways[title] = cache.get(title, partial(judge_gpt, name, text, ends, half=half))
    ways[STRONG] = cache.get(STRONG, partial(judge_gpt, STRONG, text, ends, half=False))
    sizes = cache.get("sizes", lambda: model_bytes(train))
    return {
        "n_chars": len(text), "n_train_chars": len(train), "n_symbols": n_symbols,
        "adaptive_order": order, "adaptive_validation_bits": by_order,
        "frozen_order": FROZEN_ORDER, "ways": ways, "sizes": sizes,
        "break_even": pay_for(sizes, ways),
        "reviews": cache.get("reviews", lambda: judge_reviews(texts["reviews"])),
        "coder": cache.get("coder", lambda: code_for_real(CHARACTERS, CODED_PLAY, n_coded)),
    }  # fmt: skip


def load_texts(plan: Plan) -> dict[str, Any]:
    """Load the texts of the study, or the beginnings of them."""
    plays = {
        split: [play.text for play in load_shakespeare(split)]
        for split in ("train", "validation", "test")
    }
    return {
        "plays": [text[: plan.play] for text in plays["test"]],
        "train": "\n".join(plays["train"])[: plan.train],
        "validation": "\n".join(plays["validation"])[: plan.tune],
        "reviews": "\n".join(r.sentence for r in load_reviews("test"))[: plan.reviews],
    }


def main() -> None:
    """Run the study and write it, or try it on little text and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little text; print, write nothing")
    plan = Plan.quick() if parser.parse_args().quick else Plan()
    cache = ArmCache("compression", asdict(plan), keep=plan.keep)
    record = {
        "question": "How many bits does a character of unseen plays cost?",
        "unit": "bits per character; bytes",
        "plays": [play.title for play in load_shakespeare("test")],
        **study(load_texts(plan), plan.coded, cache),
    }
    cache.conclude(record)


if __name__ == "__main__":
    main()
