# SPDX-License-Identifier: MIT
"""How far our models are from those of `transformers`; writes data/runs/agreement.json.

Measured: the agreement ladder on tiny random models in float64, and what it says of six planted
faults; T5 with the published norm; a published encoder on real sentences; the number of parameters
of every published size, of both sides' classes. Left out: speed, see benchmarks/.

Run: python -m experiments.parity        (half a CPU-minute)
"""

import json
import logging
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import torch
import transformers
from torch import Generator, Tensor, nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.t5.modeling_t5 import T5LayerNorm

from experiments.common.records import versions
from experiments.parity.published import published_encoder, published_sizes
from pretrain_lab.hub.parity import parity_ladder
from pretrain_lab.hub.weights import from_pretrained
from pretrain_lab.paths import data_file

N_DRAWS = 20  # random models, each with a random batch of its own
VOCAB_SIZE, BATCH_SIZE, SEQ_LEN, OUT_LEN = 19, 3, 7, 5
STD = 0.4  # of every parameter: no bias is 0 and no gain is 1, so none can be forgotten
TOLERANCE, LR = 1e-10, 1e-3
_NO_IDS = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": None}
TINY: dict[str, tuple[type, type, dict[str, Any]]] = {
    "BERT": (
        BertForMaskedLM,
        BertConfig,
        {
            "hidden_size": 12, "num_attention_heads": 3, "intermediate_size": 20,
            "max_position_embeddings": 10, "num_hidden_layers": 2, "pad_token_id": 0,
        },
    ),
    "GPT-2": (
        GPT2LMHeadModel,
        GPT2Config,
        {"n_embd": 12, "n_head": 3, "n_positions": 10, "n_layer": 2, **_NO_IDS},
    ),
    "T5": (
        T5ForConditionalGeneration,
        T5Config,
        {
            "d_model": 12, "num_heads": 3, "d_kv": 5, "d_ff": 20, "num_layers": 2,
            "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6,
        },
    ),
}  # fmt: skip
V1_1 = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
LAYERS = {"BERT": "num_hidden_layers", "GPT-2": "n_layer", "T5": "num_layers"}


def norm_in_own_precision(self: T5LayerNorm, x: Tensor) -> Tensor:
    """Normalise x (..., D) as `T5LayerNorm` does, but in the precision of x, not in float32."""
    variance = x.square().mean(-1, keepdim=True)
    return self.weight * x * torch.rsqrt(variance + self.variance_epsilon)


def draw_peer(family: str, generator: Generator, **options: Any) -> Any:
    """Make a tiny float64 model of `transformers`, in evaluation mode, with random parameters.

    `family` is "BERT", "GPT-2", "T5" or "T5 1.1"; `options` replace those of the configuration.
    """
    kind, config, sizes = TINY[family.removesuffix(" 1.1")]
    more = V1_1 if family == "T5 1.1" else {}
    peer = kind(config(vocab_size=VOCAB_SIZE, **{**sizes, **more, **options})).double().eval()
    if family == "T5 1.1":  # `transformers` 5 ties the output matrix that it makes itself
        peer.lm_head.weight = nn.Parameter(torch.empty_like(peer.lm_head.weight))
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.normal_(std=STD, generator=generator)
    return peer


def draw_batch(family: str, generator: Generator) -> tuple[dict[str, Tensor], Tensor]:
    """Draw token ids with padding on the right, and labels for every real position.

    Returns:
        Keyword arguments of our model, and labels int64 (B, T); -100 = none.
    """

    def draw(length: int) -> Tensor:
        """Draw ids int64 (B, length) from 1 to V - 1, for 0 is padding."""
        return torch.randint(1, VOCAB_SIZE, (BATCH_SIZE, length), generator=generator)

    lengths = torch.randint(3, SEQ_LEN + 1, (BATCH_SIZE, 1), generator=generator)
    real = torch.arange(SEQ_LEN) < lengths  # (B, T)
    inputs = {"ids": draw(SEQ_LEN), "attention_mask": real}
    if family == "BERT":
        inputs["segment_ids"] = torch.randint(0, 2, real.shape, generator=generator)
    if family.startswith("T5"):
        inputs["decoder_ids"] = draw(OUT_LEN)
        return inputs, draw(OUT_LEN)
    return inputs, draw(SEQ_LEN).masked_fill(~real, -100)


def ours_of(peer: Any) -> Any:
    """Save a model of `transformers` and load it as ours, by way of the files on disk."""
    with tempfile.TemporaryDirectory() as folder:
        peer.save_pretrained(folder)
        return from_pretrained(folder)


def ladder(family: str) -> dict[str, float]:
    """Climb the agreement ladder with many random models of a family (as for `draw_peer`).

    Returns rung -> largest difference over all draws, and "largest logit" for scale.
    """
    worst: dict[str, float] = {}
    for seed in range(N_DRAWS):
        generator = Generator().manual_seed(seed)
        peer = draw_peer(family, generator)
        inputs, labels = draw_batch(family, generator)
        model = ours_of(peer)
        gaps = parity_ladder(model, peer, labels, lr=LR, **inputs)
        gaps["largest logit"] = float(model(**inputs).detach().abs().max())
        worst = {rung: max(gap, worst.get(rung, 0.0)) for rung, gap in gaps.items()}
    assert max(gap for rung, gap in worst.items() if rung != "largest logit") <= TOLERANCE
    return worst


def rebuilt(model: Any, **options: Any) -> Any:
    """Build a model with other options and the same parameters."""
    other = type(model)(replace(model.config, **options)).double().eval()
    other.load_state_dict(model.state_dict())
    return other


def scaled(model: Any, name: str, factor: float) -> Any:
    """Multiply one parameter, by its name, and return the model."""
    with torch.no_grad():
        model.get_parameter(name).mul_(factor)
    return model


def nudged(model: Any) -> Any:
    """Add a millionth to one weight of the last feed-forward layer."""
    with torch.no_grad():
        model.blocks[-1].feed_forward.down.weight[0, 0] += 1e-6
    return model


def swapped(model: Any) -> Any:
    """Swap queries and keys in the first attention layer, weights and biases."""
    qkv = model.blocks[0].attention.qkv
    with torch.no_grad():
        for parameter in (qkv.weight, qkv.bias):
            queries, keys, values = parameter.clone().chunk(3)
            parameter.copy_(torch.cat([keys, queries, values]))
    return model


FAULTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "one weight off by a millionth": ("GPT-2", nudged),
    "GELU exact, not its tanh form": ("GPT-2", lambda m: rebuilt(m, activation="gelu")),
    "norm constant 1e-5, not 1e-12": ("BERT", lambda m: rebuilt(m, norm_eps=1e-5)),
    "queries and keys swapped": ("BERT", swapped),
    "scores divided by √K": (
        "T5", lambda m: scaled(m, "encoder.blocks.0.attention.query.weight", 5**-0.5),
    ),
    "last states not divided by √D": (
        "T5", lambda m: scaled(m, "decoder.final_norm.weight", 12**0.5),
    ),
}  # fmt: skip
"""What goes wrong in a port -> the family and how to plant it. Scaling a weight does to the output
what a factor in the code would do."""


def planted_faults() -> dict[str, dict[str, Any]]:
    """Plant one fault at a time into models of one layer, and climb the ladder.

    Returns fault -> family, gaps by rung, and the first rung above the tolerance.
    """
    found = {}
    for fault, (family, plant) in FAULTS.items():
        generator = Generator().manual_seed(0)
        peer = draw_peer(family, generator, **{LAYERS[family]: 1})
        inputs, labels = draw_batch(family, generator)
        gaps = parity_ladder(plant(ours_of(peer)), peer, labels, lr=LR, **inputs)
        first = next(rung for rung, gap in gaps.items() if gap > TOLERANCE)
        found[fault] = {"family": family, "first": first, "gaps": gaps}
    return found


@torch.no_grad()
def published_norm(family: str) -> float:
    """Compare "T5" or "T5 1.1" with the norm that `transformers` has, which squares in float32.

    Returns the largest relative difference of the logits over all draws, a ratio of Euclidean
    norms.
    """
    worst = 0.0
    for seed in range(N_DRAWS):
        generator = Generator().manual_seed(seed)
        peer = draw_peer(family, generator)
        inputs, _ = draw_batch(family, generator)
        theirs = peer(inputs["ids"], inputs["attention_mask"], inputs["decoder_ids"]).logits
        gap = (ours_of(peer)(**inputs) - theirs).norm() / theirs.norm()
        worst = max(worst, float(gap))
    return worst


def significant(value: Any) -> Any:
    """Round floats inside dictionaries to three significant digits."""
    if isinstance(value, dict):
        return {key: significant(item) for key, item in value.items()}
    return float(f"{value:.3g}") if isinstance(value, float) else value


def main() -> None:
    """Run all comparisons and write the record."""
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    started = time.process_time()
    with mock.patch.object(T5LayerNorm, "forward", norm_in_own_precision):
        ladders = {family: ladder(family) for family in ("BERT", "GPT-2", "T5", "T5 1.1")}
        faults = planted_faults()
    record = {
        "tolerance": TOLERANCE, "n_draws": N_DRAWS, "lr": LR,
        "ladder": ladders,
        "faults": faults,
        "published_norm": {family: published_norm(family) for family in ("T5", "T5 1.1")},
        "published_encoder": published_encoder(),
        "sizes": published_sizes(),
        "versions": {**versions(), "transformers": transformers.__version__},
        "cpu_seconds": round(time.process_time() - started),
    }  # fmt: skip
    path = data_file("runs", "agreement.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(significant(record), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
