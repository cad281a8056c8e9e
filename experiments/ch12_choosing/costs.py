# SPDX-License-Identifier: MIT
"""CPU time of an answer, by who gives it.

All models have the same width, heads and vocabulary, those of MiniLM; the encoder and the decoder
have its six blocks, the encoder–decoder six in each half. Their weights are random, since the time
of a product does not depend on its values. Every way is measured once in each turn, so that a
change of the machine's speed hits all of them, and each time is divided by that of the encoder's
pass in the same turn.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.ch12_choosing.tasks import new_model, texts
from pretrain.bert import BERT, BERTConfig
from pretrain.generation import Sampling, generate, generate_seq2seq
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config

MAX_LEN, READ = 256, 64
Way = Callable[[], Any]


@dataclass(frozen=True)
class Plan:
    """Size of the models, and what is timed how often."""

    d_model: int = 384
    n_layers: int = 6
    n_heads: int = 12
    vocab_size: int = 30_522
    written: tuple[int, ...] = (1, 4, 16, 64)  # tokens of an answer
    batch: int = 16  # texts that are read at once in the ways that end with ", batch"
    n_turns: int = 15

    @classmethod
    def quick(cls) -> "Plan":
        """Three turns, short answers, a small batch."""
        return cls(written=(1, 4), batch=4, n_turns=3)

    def settings(self) -> dict[str, Any]:
        """Return what the record states."""
        shape = {"d_model": self.d_model, "n_layers": self.n_layers, "n_heads": self.n_heads}
        return {
            "shape": shape, "vocab_size": self.vocab_size, "read": READ, "written": self.written,
            "batch": self.batch, "n_turns": self.n_turns,
        }  # fmt: skip


def make_ways(plan: Plan) -> dict[str, Way]:
    """List what is timed, by name; "encoder" is what the others are divided by."""
    torch.manual_seed(0)
    n, d_model, n_layers, n_heads = plan.vocab_size, plan.d_model, plan.n_layers, plan.n_heads
    encoder = BERT(
        BERTConfig(n, max_len=MAX_LEN, d_model=d_model, n_layers=n_layers, n_heads=n_heads)
    ).eval()
    decoder = GPT(
        GPTConfig(n, max_len=MAX_LEN, d_model=d_model, n_layers=n_layers, n_heads=n_heads)
    ).eval()
    both = T5(T5Config(n, d_model=d_model, n_layers=n_layers, n_heads=n_heads)).eval()
    many = torch.randint(1000, n, (plan.batch, READ), generator=Generator().manual_seed(0))
    one = many[:1]
    greedy = Sampling(greedy=True)
    ways: dict[str, Way] = {"encoder": lambda: read(encoder, one)}
    for n in plan.written:
        ways[f"decoder, {n}"] = partial(generate, decoder, one, n, greedy)
        ways[f"encoder-decoder, {n}"] = partial(generate_seq2seq, both, one, n, greedy)
    n = plan.written[len(plan.written) // 2]  # of an answer of middling length
    ways[f"decoder, {n}, no cache"] = partial(generate, decoder, one, n, greedy, use_cache=False)
    words = new_model("words", 1.0)
    known = texts("train", "sentences", 64, 0)
    words.fit([t.text for t in known], [t.label for t in known])
    sentence = max((t.text for t in known), key=len)
    ways["counted words"] = lambda: words.predict([sentence])
    ways["encoder, batch"] = lambda: read(encoder, many)
    ways[f"decoder, {n}, batch"] = partial(generate, decoder, many, n, greedy)
    return ways


@torch.inference_mode()
def read(encoder: BERT, ids: Tensor) -> Tensor:
    """Return one vector a text: the encoder's pass, the head left out."""
    states: Tensor = encoder.encode(ids)
    return states.mean(dim=1)


def measure(plan: Plan) -> dict[str, Any]:
    """Time every way in turns.

    Returns the settings, and for each way the median of its multiples of the encoder's pass with
    the ends of their middle half; batches are divided by the encoder's batch.
    """
    ways = make_ways(plan)
    turns: list[dict[str, float]] = []
    for _ in range(1 + plan.n_turns):
        turns.append({name: seconds(way) for name, way in ways.items()})
    multiples: dict[str, dict[str, float]] = {}
    for name in ways:
        base = "encoder, batch" if name.endswith("batch") else "encoder"
        found = [turn[name] / turn[base] for turn in turns[1:]]  # the first one warms up
        low, middle, high = statistics.quantiles(found, n=4)
        multiples[name] = {"median": middle, "low": low, "high": high}
    each = [turn["encoder, batch"] / turn["encoder"] for turn in turns[1:]]
    return {**plan.settings(), "multiples": multiples, "batch_over_one": statistics.median(each)}


def seconds(way: Way) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    way()
    return time.process_time() - started
