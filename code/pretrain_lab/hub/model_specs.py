# SPDX-License-Identifier: MIT
"""Tables of published models, and what can be computed from them instead of typed.

Every row of data/tables/*.toml names its sources. Left out: activations, which depend on batch,
length and implementation, and every architecture beyond this book's three.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

import torch

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab.finetuning.freezing import count_parameters
from pretrain_lab.finetuning.next_sentence import NextSentenceBERT
from pretrain_lab.paths import data_file

_V1_1 = {"activation": "gelu_tanh", "gated": True, "tie_head": False}
T5_SIZES: dict[str, dict[str, Any]] = {
    "t5-small": {"d_model": 512, "n_layers": 6, "n_heads": 8, "d_head": 64, "d_ff": 2_048},
    "t5-base": {"d_model": 768, "n_layers": 12, "n_heads": 12, "d_head": 64, "d_ff": 3_072},
    "t5-large": {"d_model": 1_024, "n_layers": 24, "n_heads": 16, "d_head": 64, "d_ff": 4_096},
    "t5-3b": {"d_model": 1_024, "n_layers": 24, "n_heads": 32, "d_head": 128, "d_ff": 16_384},
    "t5-11b": {"d_model": 1_024, "n_layers": 24, "n_heads": 128, "d_head": 128, "d_ff": 65_536},
    "t5-v1_1-small": {
        "d_model": 512, "n_layers": 8, "n_heads": 6, "d_head": 64, "d_ff": 1_024, **_V1_1
    },
    "t5-v1_1-base": {
        "d_model": 768, "n_layers": 12, "n_heads": 12, "d_head": 64, "d_ff": 2_048, **_V1_1
    },
    "t5-v1_1-large": {
        "d_model": 1_024, "n_layers": 24, "n_heads": 16, "d_head": 64, "d_ff": 2_816, **_V1_1
    },
    "t5-v1_1-xl": {
        "d_model": 2_048, "n_layers": 24, "n_heads": 32, "d_head": 64, "d_ff": 5_120, **_V1_1
    },
    "t5-v1_1-xxl": {
        "d_model": 4_096, "n_layers": 24, "n_heads": 64, "d_head": 64, "d_ff": 10_240, **_V1_1
    },
}  # fmt: skip
"""Options of the published models, to be used as `T5Config(32_128, **T5_SIZES["t5-small"])`."""


T5_VOCAB_SIZE = 32_128
"""Rows of T5's published embedding tables."""

BYTES: dict[str, float] = {"float32": 4.0, "bfloat16": 2.0, "int8": 1.0, "4 bits": 0.5}
"""Bytes that one weight takes in memory, by number format."""

ADAM_BYTES = 16
"""Bytes a trained parameter needs in float32: itself, its gradient and Adam's two averages."""


def load_table(name: str) -> list[dict[str, Any]]:
    """Read the rows of a table under data/tables, such as "specifications", in the file's order.

    Raises:
        FileNotFoundError: There is no such table; the message lists those that exist.
    """
    path = data_file("tables", f"{name}.toml")
    if not path.exists():
        known = sorted(other.stem for other in path.parent.glob("*.toml"))
        raise FileNotFoundError(f"expected a table of {known}, got {name!r}")
    (rows,) = tomllib.loads(path.read_text(encoding="utf-8")).values()
    return list(rows)


def build(row: Mapping[str, Any]) -> GPT | BERT | NextSentenceBERT | T5:
    """Build a row's model on the meta device: its parameters can be counted, not used.

    The row's `kind` is "gpt", "bert" or "t5"; `options` are those of the book's class, or `size`
    names one of T5_SIZES; `next_sentence` adds BERT's pooler and second head.

    Raises:
        ValueError: Another kind.
    """
    with torch.device("meta"):
        if row["kind"] == "gpt":
            return GPT(GPTConfig(**row["options"]))
        if row["kind"] == "t5":
            return T5(T5Config(T5_VOCAB_SIZE, **T5_SIZES[row["size"]]))
        if row["kind"] == "bert":
            bert = BERT(BERTConfig(**row["options"]))
            return NextSentenceBERT(bert) if row.get("next_sentence") else bert
    raise ValueError(f"expected kind 'gpt', 'bert' or 't5', got {row['kind']!r}")


def parameters_of(row: Mapping[str, Any]) -> int:
    """Count a row's parameters, shared ones once: as its source states them, or by building it."""
    return int(row["parameters"]) if "parameters" in row else count_parameters(build(row))


def shape_of(row: Mapping[str, Any]) -> dict[str, int]:
    """Read the sizes that a table of specifications prints from the model itself.

    They are layers (in each stack), width, heads, head width, feed-forward width, context (0 = no
    fixed one) and vocabulary.
    """
    options: Mapping[str, Any] = vars(build(row).config)
    d_model, n_heads = options["d_model"], options["n_heads"]
    return {
        "layers": options["n_layers"],
        "width": d_model,
        "heads": n_heads,
        "head width": options.get("d_head") or d_model // n_heads,
        "feed-forward": options["d_ff"] or 4 * d_model,
        "context": options.get("max_len", 0),
        "vocabulary": options["vocab_size"],
    }


def load_bytes(n_parameters: int, number_format: str = "float32") -> float:
    """Compute the bytes that a model's weights take, in a number format that is a key of BYTES.

    Activations, buffers and the scales of quantised formats are not counted.

    Raises:
        ValueError: Another format, or a negative number.
    """
    if number_format not in BYTES:
        raise ValueError(f"expected a number format of {list(BYTES)}, got {number_format!r}")
    if n_parameters < 0:
        raise ValueError(f"expected n_parameters >= 0, got {n_parameters}")
    return BYTES[number_format] * n_parameters


def training_bytes(n_trained: int, n_frozen: int = 0, frozen_format: str = "float32") -> float:
    """Compute the bytes of training with Adam, before activations.

    Trained parameters take ADAM_BYTES each; frozen ones, such as a backbone under LoRA, are only
    read, in a number format that is a key of BYTES. ValueError: as for `load_bytes`.
    """
    if n_trained < 0:
        raise ValueError(f"expected n_trained >= 0, got {n_trained}")
    return ADAM_BYTES * n_trained + load_bytes(n_frozen, frozen_format)


def gigabytes(n_bytes: float) -> str:
    """Write bytes as gigabytes (10⁹ bytes): "0.44", "5.6" or "2,800"."""
    value = n_bytes / 1e9
    digits = 2 if value < 1 else 1 if value < 10 else 0
    return f"{value:,.{digits}f}"


def millions(n_parameters: int) -> str:
    """Write a number of parameters in millions: "0.2", "66.4" or "174,604"."""
    value = n_parameters / 1e6
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
