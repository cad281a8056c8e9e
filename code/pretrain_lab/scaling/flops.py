# SPDX-License-Identifier: MIT
"""What a model costs: the floating-point operations of its matrix products, by formula.

A multiplication and its addition count as two operations, and scores that a mask hides count too,
because they are computed. Left out: everything that is no matrix product (norms, softmax,
activations, look-ups), a few per cent at these sizes.

Papers: Kaplan et al. 2020 (arXiv:2001.08361), section 2.1, for the count of a forward pass and for
training as three times that; Raffel et al. 2020 (arXiv:1910.10683) for T5's two stacks.
"""

from typing import Any

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.t5 import T5

TRAINING = 3
"""Forward once, backward twice as much: the products for the weights and for the inputs."""


def gpt_flops(model: GPT, seq_len: int, *, n_predicted: int | None = None) -> int:
    """Count the forward pass of a GPT over one sequence.

    The head runs at `n_predicted` positions, None = all.

    Raises:
        ValueError: seq_len < 1, or n_predicted outside 0..seq_len.

    Source: Kaplan et al. 2020 (arXiv:2001.08361), table 1, with the head and the scores.
    """
    n_predicted = seq_len if n_predicted is None else n_predicted
    _check(seq_len=(seq_len, 1, None), n_predicted=(n_predicted, 0, seq_len))
    options = vars(model.config)
    blocks = options["n_layers"] * _self_block(options, seq_len, seq_len)
    return blocks + _head(options, n_predicted)


def next_token_flops(model: GPT, past_length: int) -> int:
    """Count what one more token costs a GPT that has kept keys and values of past_length tokens.

    Two for each weight, and the scores and the mixing over past_length + 1 keys.

    Raises:
        ValueError: past_length < 0.
    """
    _check(past_length=(past_length, 0, None))
    options = vars(model.config)
    return options["n_layers"] * _self_block(options, 1, past_length + 1) + _head(options, 1)


def bert_flops(model: BERT, seq_len: int, n_predicted: int) -> int:
    """Count the forward pass of a BERT over one sequence.

    The head, with its dense layer, runs at `n_predicted` positions.

    Raises:
        ValueError: seq_len < 1, or n_predicted outside 0..seq_len.

    Source: Devlin et al. 2019 (arXiv:1810.04805); its released code runs the head on the selected
        positions alone.
    """
    _check(seq_len=(seq_len, 1, None), n_predicted=(n_predicted, 0, seq_len))
    options = vars(model.config)
    blocks = options["n_layers"] * _self_block(options, seq_len, seq_len)
    return blocks + _head(options, n_predicted) + 2 * n_predicted * options["d_model"] ** 2


def t5_flops(model: T5, source_len: int, target_len: int) -> int:
    """Count the forward pass of a T5 over one pair of sequences.

    The encoder reads source_len tokens; the decoder reads and predicts target_len.

    Raises:
        ValueError: A length below 1.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.
    """
    _check(source_len=(source_len, 1, None), target_len=(target_len, 1, None))
    options = vars(model.config)
    inner = _inner(options)
    projections = 4 * options["d_model"] * inner * (target_len + source_len)
    cross = projections + 4 * target_len * source_len * inner
    encoder = _self_block(options, source_len, source_len)
    decoder = _self_block(options, target_len, target_len) + cross
    return options["n_layers"] * (encoder + decoder) + _head(options, target_len)


def _self_block(options: dict[str, Any], n_queries: int, n_keys: int) -> int:
    """Count self-attention and feed-forward of one block, without cross-attention."""
    d_model, inner = options["d_model"], _inner(options)
    n_matrices = 3 if options.get("gated") else 2
    weights = 4 * d_model * inner + n_matrices * d_model * (options["d_ff"] or 4 * d_model)
    return 2 * n_queries * weights + 4 * n_queries * n_keys * inner  # scores, then mixing


def _inner(options: dict[str, Any]) -> int:
    """Give the width of all heads together, which only a T5 may choose."""
    width: int = options["n_heads"] * options["d_head"] if options.get("d_head") else 0
    return width or int(options["d_model"])


def _head(options: dict[str, Any], n_predicted: int) -> int:
    """Count the product with the output matrix."""
    return 2 * n_predicted * int(options["d_model"] * options["vocab_size"])


def _check(**numbers: tuple[int, int, int | None]) -> None:
    """Refuse numbers (value, lowest, highest) outside their range; None = no highest."""
    for name, (value, low, high) in numbers.items():
        if value < low or (high is not None and value > high):
            wanted = f">= {low}" if high is None else f"in {low}..{high}"
            raise ValueError(f"expected {name} {wanted}, got {value}")
