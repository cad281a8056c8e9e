"""The published implementations that the benchmarks compare with, set up to be our equals.

Implemented: `transformers` GPT-2 and BERT of a given shape with random weights, dropout as in the
papers, the fused GELU that our models use, and torch's fused attention. Nothing is downloaded.
"""

from typing import NamedTuple

from torch import nn
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from pretrain.bert import BERT
from pretrain.gpt import GPT

VOCAB_SIZE = 64


class Shape(NamedTuple):
    """Sizes that both sides share."""

    d_model: int
    n_layers: int
    n_heads: int
    batch_size: int
    seq_len: int


def gpt_pair(shape: Shape, *, dropout_prob: float) -> tuple[nn.Module, nn.Module]:
    """Build our GPT and `GPT2LMHeadModel`, equal in every size and option.

    Args:
        shape: Sizes; seq_len is the number of positions.
        dropout_prob: Of embeddings, attention weights and branches.

    Returns:
        Ours and theirs.
    """
    ours = GPT(
        VOCAB_SIZE,
        d_model=shape.d_model,
        n_layers=shape.n_layers,
        n_heads=shape.n_heads,
        max_len=shape.seq_len,
        dropout_prob=dropout_prob,
    )
    config = GPT2Config(
        vocab_size=VOCAB_SIZE,
        n_positions=shape.seq_len,
        n_embd=shape.d_model,
        n_layer=shape.n_layers,
        n_head=shape.n_heads,
        activation_function="gelu",  # the same kernel as ours; its default is seven operations
        embd_pdrop=dropout_prob,
        attn_pdrop=dropout_prob,
        resid_pdrop=dropout_prob,
        attn_implementation="sdpa",
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    return ours, GPT2LMHeadModel(config)


def bert_pair(shape: Shape, *, dropout_prob: float) -> tuple[nn.Module, nn.Module]:
    """Build our BERT and `BertForMaskedLM`, equal in every size and option.

    Args:
        shape: Sizes; seq_len is the number of positions.
        dropout_prob: Of embeddings, attention weights and branches.

    Returns:
        Ours and theirs.
    """
    ours = BERT(
        VOCAB_SIZE,
        d_model=shape.d_model,
        n_layers=shape.n_layers,
        n_heads=shape.n_heads,
        max_len=shape.seq_len,
        dropout_prob=dropout_prob,
        n_segments=2,
    )
    config = BertConfig(
        vocab_size=VOCAB_SIZE,
        max_position_embeddings=shape.seq_len,
        hidden_size=shape.d_model,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        intermediate_size=4 * shape.d_model,
        hidden_act="gelu",
        hidden_dropout_prob=dropout_prob,
        attention_probs_dropout_prob=dropout_prob,
        attn_implementation="sdpa",
    )
    return ours, BertForMaskedLM(config)


def n_parameters(model: nn.Module) -> int:
    """Count a model's parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
