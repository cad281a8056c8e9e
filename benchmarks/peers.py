# SPDX-License-Identifier: MIT
"""The published implementations that the benchmarks compare with, with equal settings.

Implemented: `transformers` GPT-2 and BERT of a given shape with random weights, dropout as in the
papers and torch's own attention on both sides. Nothing is downloaded.
"""

from typing import Any, NamedTuple

from torch import nn
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig

VOCAB_SIZE = 64


class Shape(NamedTuple):
    """Sizes that both sides share; seq_len is also the number of positions."""

    d_model: int
    n_layers: int
    n_heads: int
    batch_size: int
    seq_len: int


def gpt_pair(shape: Shape, *, dropout: float, same_kernel: bool = False) -> tuple[GPT, nn.Module]:
    """Build our GPT and `GPT2LMHeadModel`, equal in every size and option.

    Both compute GPT-2's own activation, the tanh form of GELU. The other side's implementation of
    it is seven operations, ours is one. With `same_kernel`, both have the exact GELU in torch's one
    operation, to see the rest alone.
    """
    ours = GPT(
        GPTConfig(
            VOCAB_SIZE,
            **_our_sizes(shape),
            dropout=dropout,
            activation="gelu" if same_kernel else "gelu_tanh",
        )
    )
    config = GPT2Config(
        vocab_size=VOCAB_SIZE,
        n_positions=shape.seq_len,
        n_embd=shape.d_model,
        n_layer=shape.n_layers,
        n_head=shape.n_heads,
        activation_function="gelu" if same_kernel else "gelu_new",
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        resid_pdrop=dropout,
        attn_implementation="sdpa",
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    return ours, GPT2LMHeadModel(config)


def bert_pair(shape: Shape, *, dropout: float) -> tuple[BERT, nn.Module]:
    """Build our BERT and `BertForMaskedLM`, equal in every size and option."""
    ours = BERT(BERTConfig(VOCAB_SIZE, **_our_sizes(shape), dropout=dropout, n_segments=2))
    config = BertConfig(
        vocab_size=VOCAB_SIZE,
        max_position_embeddings=shape.seq_len,
        hidden_size=shape.d_model,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        intermediate_size=4 * shape.d_model,
        hidden_act="gelu",
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        attn_implementation="sdpa",
    )
    return ours, BertForMaskedLM(config)


def _our_sizes(shape: Shape) -> dict[str, Any]:
    """Return the sizes by the names that our models have for them."""
    sizes = {key: getattr(shape, key) for key in ("d_model", "n_layers", "n_heads")}
    return {**sizes, "max_len": shape.seq_len}


def n_parameters(model: nn.Module) -> int:
    """Count a model's parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
