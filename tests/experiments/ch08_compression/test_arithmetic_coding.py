# SPDX-License-Identifier: MIT
"""A text comes back from its code, and the code is as long as the text is surprising."""

import math
from collections.abc import Callable, Sequence

import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.ch08_compression import arithmetic_coding
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare


def surprise(symbols: Sequence[int], predict: Callable[[Sequence[int]], list[int]]) -> float:
    """Sum -log2 of the probabilities that the counts stand for."""
    total = 0.0
    for place, symbol in enumerate(symbols):
        counts = predict(symbols[:place])
        total -= math.log2(counts[symbol] / sum(counts))
    return total


def test_table_of_chapter_4() -> None:
    """Probabilities 1/2, 1/2, 1/8 and 1/4 make an interval of width 1/128, named by 7 bits."""
    rows = [[1, 1], [1, 1], [1, 7], [1, 3]]
    code, n_bits = arithmetic_coding.encode([0, 1, 0, 0], lambda known: rows[len(known)])
    assert n_bits == 7
    assert code / 128 == 0.25  # 0 + 1/2 * 1/2, then twice the lowest part
    assert arithmetic_coding.decode(code, n_bits, 4, lambda known: rows[len(known)]) == [0, 1, 0, 0]


@given(st.lists(st.integers(0, 4), max_size=40), st.lists(st.integers(1, 50), min_size=5))
def test_comes_back(symbols: list[int], weights: list[int]) -> None:
    """Any text, with predictions that depend on what is known, comes back at its surprise."""

    def predict(known: Sequence[int]) -> list[int]:
        """Turn the weights by the sum of what is known."""
        shift = sum(known) % len(weights)
        return (weights[shift:] + weights[:shift])[:5]

    code, n_bits = arithmetic_coding.encode(symbols, predict)
    assert 0 <= code < 2**n_bits or (code, n_bits) == (0, 0)
    assert arithmetic_coding.decode(code, n_bits, len(symbols), predict) == symbols
    assert surprise(symbols, predict) - 1e-6 <= n_bits < surprise(symbols, predict) + 1 + 1e-6


def test_other_predictions_do_not_decode() -> None:
    """A decoder whose predictions differ reads something else: model and code belong together."""
    symbols = [0, 1, 1, 0, 1, 0, 0, 1]
    code, n_bits = arithmetic_coding.encode(symbols, lambda _: [3, 1])
    assert arithmetic_coding.decode(code, n_bits, 8, lambda _: [1, 3]) != symbols


def test_counts_leave_nothing_out() -> None:
    """Even a probability of 0 gets a count, and the others keep their share."""
    counts = arithmetic_coding.counts_of(torch.tensor([0.75, 0.25, 0.0]))
    assert counts == [49153, 16385, 1]


def test_trained_model_pays_its_surprise() -> None:
    """120 unseen characters: decoded exactly, within two bits of -log2 p of the model itself."""
    model, tokenizer = load_model("gpt_chars")
    n_special = len(tokenizer.special_ids)
    ids = tokenizer.encode(load_shakespeare("test")[2].text[:120])
    symbols = (ids - n_special).tolist()
    predict = arithmetic_coding.gpt_counts(model, n_special)
    code, n_bits = arithmetic_coding.encode(symbols, predict)
    assert arithmetic_coding.decode(code, n_bits, 120, predict) == symbols
    with torch.inference_mode():  # one pass over all, without the coder's rounding
        logits = model(ids[None, :-1])[0].double()
    told = logits.log_softmax(dim=-1).gather(1, ids[1:, None]).sum().item() / math.log(2)
    assert abs(n_bits - (math.log2(62) - told)) < 2
    assert n_bits < 0.45 * 8 * 120
