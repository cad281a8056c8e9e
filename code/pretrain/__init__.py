# SPDX-License-Identifier: MIT
"""BERT, GPT and T5: one Transformer, three questions.

Read in this order: masks, positions, attention, embeddings, blocks, the three models, span
corruption, objectives, evaluation, muon, training, generation.
"""

from pretrain.bert import BERT, BERTConfig
from pretrain.generation import Sampling, generate, generate_seq2seq, mask_predict
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM, MaskedLM, PrefixLM, SpanCorruptionLM
from pretrain.span_corruption import SpanCorruption
from pretrain.t5 import T5, T5Config
from pretrain.training import Evaluate, OptimConfig, fit

__all__ = [
    "BERT", "GPT", "T5", "BERTConfig", "CausalLM", "Evaluate", "GPTConfig", "MaskedLM",
    "OptimConfig", "PrefixLM", "Sampling", "SpanCorruption", "SpanCorruptionLM", "T5Config", "fit",
    "generate", "generate_seq2seq", "mask_predict",
]  # fmt: skip
