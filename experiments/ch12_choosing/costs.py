# SPDX-License-Identifier: MIT
"""CPU time of an answer, by who gives it (`choosing.py`).

All models have the same width, heads and vocabulary, those of MiniLM; the encoder and the decoder
have its six blocks, the encoder–decoder six in each half. Their weights are random, for the time
of a product does not depend on its values. Every way is measured once in each turn, so that a
change of the machine's speed hits all of them, and each time is divided by that of the encoder's
pass in the same turn.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.ch12_choosing.tasks import new_model, texts
from pretrain.bert import BERT
from pretrain.generation import generate, generate_from
from pretrain.gpt import GPT
from pretrain.t5 import T5

SHAPE: dict[str, Any] = {"d_model": 384, "n_layers": 6, "n_heads": 12}
VOCAB_SIZE, MAX_LEN = 30_522, 256
READ, WRITTEN, BATCH = 64, (1, 4, 16, 64), 16
N_TURNS = 15
SETTINGS: dict[str, Any] = {
    "shape": SHAPE, "vocab_size": VOCAB_SIZE, "read": READ, "written": WRITTEN,
    "batch": BATCH, "n_turns": N_TURNS,
}  # fmt: skip
Way = Callable[[], Any]


def make_ways(written: tuple[int, ...] = WRITTEN, *, batch: int = BATCH) -> dict[str, Way]:
    """List what is timed, by name; "encoder" is what the others are divided by.

    Args:
        written: Tokens of an answer.
        batch: Texts that are read at once in the ways that end with ", batch".
    """
    torch.manual_seed(0)
    encoder = BERT(VOCAB_SIZE, max_len=MAX_LEN, **SHAPE).eval()
    decoder = GPT(VOCAB_SIZE, max_len=MAX_LEN, **SHAPE).eval()
    both = T5(VOCAB_SIZE, **SHAPE).eval()
    many = torch.randint(1000, VOCAB_SIZE, (batch, READ), generator=Generator().manual_seed(0))
    one = many[:1]
    ways: dict[str, Way] = {"encoder": lambda: read(encoder, one)}
    for n in written:
        ways[f"decoder, {n}"] = partial(generate, decoder, one, n, greedy=True)
        ways[f"encoder-decoder, {n}"] = partial(generate_from, both, one, n, greedy=True)
    n = written[len(written) // 2]  # of an answer of middling length
    ways[f"decoder, {n}, no cache"] = partial(
        generate, decoder, one, n, greedy=True, use_cache=False
    )
    words = new_model("words", 1.0)
    known = texts("train", "sentences", 64, 0)
    words.fit([t.text for t in known], [t.label for t in known])
    sentence = max((t.text for t in known), key=len)
    ways["counted words"] = lambda: words.predict([sentence])
    ways["encoder, batch"] = lambda: read(encoder, many)
    ways[f"decoder, {n}, batch"] = partial(generate, decoder, many, n, greedy=True)
    return ways


@torch.inference_mode()
def read(encoder: BERT, ids: Tensor) -> Tensor:
    """Give one vector a text: the encoder's pass, the head left out."""
    states: Tensor = encoder.encode(ids)
    return states.mean(dim=1)


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Time every way in turns.

    Args:
        quick: Three turns, short answers, a small batch.

    Returns:
        The settings, and for each way the median of its multiples of the encoder's pass with
        the ends of their middle half; batches are divided by the encoder's batch.
    """
    ways = make_ways((1, 4), batch=4) if quick else make_ways()
    turns: list[dict[str, float]] = []
    for _ in range(1 + (3 if quick else N_TURNS)):
        turns.append({name: seconds(way) for name, way in ways.items()})
    multiples: dict[str, dict[str, float]] = {}
    for name in ways:
        base = "encoder, batch" if name.endswith("batch") else "encoder"
        found = [turn[name] / turn[base] for turn in turns[1:]]  # the first one warms up
        low, middle, high = statistics.quantiles(found, n=4)
        multiples[name] = {"median": middle, "low": low, "high": high}
    each = [turn["encoder, batch"] / turn["encoder"] for turn in turns[1:]]
    return {**SETTINGS, "multiples": multiples, "batch_over_one": statistics.median(each)}


def seconds(way: Way) -> float:
    """Give the processor time of a call."""
    started = time.process_time()
    way()
    return time.process_time() - started
