# SPDX-License-Identifier: MIT
"""The formulas against torch's own count of the products that are really computed."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab.scaling.flops import TRAINING, bert_flops, gpt_flops, next_token_flops, t5_flops

SIZES: dict[str, Any] = {"d_model": 16, "n_layers": 3, "n_heads": 2}
V, B, T, S = 23, 4, 6, 9


def counted(run: Callable[[], Tensor | None]) -> int:
    """Count the matrix products of a call, with attention spelled out in two of them."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


def ids(n_rows: int, seq_len: int) -> Tensor:
    """Draw token ids."""
    return torch.randint(V, (n_rows, seq_len))


@pytest.mark.parametrize("d_ff", [None, 40])
def test_gpt(d_ff: int | None) -> None:
    """One forward pass, and one step of training, which costs exactly three times as much."""
    model = GPT(GPTConfig(V, max_len=T, d_ff=d_ff, **SIZES))
    text = ids(B, T)
    assert counted(lambda: model(text)) == B * gpt_flops(model, T)
    step = counted(lambda: torch.autograd.backward(model(text).sum()))
    assert step == TRAINING * B * gpt_flops(model, T)


def test_gpt_that_scores_one_position() -> None:
    """The head may run on the last state alone."""
    model = GPT(GPTConfig(V, max_len=T, **SIZES))
    text = ids(B, T)
    found = counted(lambda: model.logits(model.encode(text)[:, -1]))
    assert found == B * gpt_flops(model, T, n_predicted=1)


@torch.no_grad()
def test_gpt_with_a_cache() -> None:
    """The prompt in one pass and then token by token: each costs what the formula says."""
    model = GPT(GPTConfig(V, max_len=T, **SIZES)).eval()
    text, cache = ids(1, T), model.make_cache()
    assert counted(lambda: model(text[:, :3], cache=cache)) == gpt_flops(model, 3)
    for past_length in (3, 4, 5):
        found = counted(lambda n=past_length: model(text[:, n : n + 1], cache=cache))
        assert found == next_token_flops(model, past_length)


def test_bert() -> None:
    """The head runs on the selected positions alone, forward and backward."""
    model = BERT(BERTConfig(V, max_len=T, **SIZES))
    text = ids(B, T)
    selected = torch.zeros(B, T, dtype=torch.bool)
    selected[:, 2:4] = True
    assert counted(lambda: model(text, masked_positions=selected)) == B * bert_flops(model, T, 2)
    step = counted(lambda: torch.autograd.backward(model(text, masked_positions=selected).sum()))
    assert step == TRAINING * B * bert_flops(model, T, 2)


@pytest.mark.parametrize(
    "options", [{}, {"d_ff": 40, "d_head": 5}, {"gated": True, "activation": "gelu"}]
)
def test_t5(options: dict[str, Any]) -> None:
    """Both stacks and what joins them, with any width of heads, with and without a gate."""
    model = T5(T5Config(V, **SIZES, **options))
    source, target = ids(B, S), ids(B, T)
    assert counted(lambda: model(source, target)) == B * t5_flops(model, S, T)
    step = counted(lambda: torch.autograd.backward(model(source, target).sum()))
    assert step == TRAINING * B * t5_flops(model, S, T)


def test_writing_with_a_cache_is_cheaper_than_reading_again() -> None:
    """One token with a cache costs less than one pass, and all of them together no more than it."""
    model = GPT(GPTConfig(V, max_len=64, **SIZES))
    with_cache = sum(next_token_flops(model, n) for n in range(64))
    assert next_token_flops(model, 63) < gpt_flops(model, 64) / 40
    assert with_cache < gpt_flops(model, 64)  # no score is computed that a mask hides
    assert with_cache * 20 < sum(gpt_flops(model, n) for n in range(1, 65))


def test_the_shortest_passes() -> None:
    """One token, and a head that need not run; a T5 that reads one and writes one."""
    gpt, bert, t5 = (
        GPT(GPTConfig(V, max_len=T, **SIZES)),
        BERT(BERTConfig(V, max_len=T, **SIZES)),
        T5(T5Config(V, **SIZES)),
    )
    assert gpt_flops(gpt, 1) == next_token_flops(gpt, 0) == counted(lambda: gpt(ids(1, 1)))
    assert gpt_flops(gpt, 1, n_predicted=0) == counted(lambda: gpt.encode(ids(1, 1)))
    assert bert_flops(bert, 1, 0) == counted(lambda: bert.encode(ids(1, 1)))
    assert t5_flops(t5, 1, 1) == counted(lambda: t5(ids(1, 1), ids(1, 1)))


def test_refusals() -> None:
    """Lengths that no pass has."""
    gpt, bert = GPT(GPTConfig(V, max_len=T, **SIZES)), BERT(BERTConfig(V, max_len=T, **SIZES))
    with pytest.raises(ValueError, match="expected seq_len >= 1, got 0"):
        gpt_flops(gpt, 0)
    with pytest.raises(ValueError, match=r"expected n_predicted in 0\.\.3, got 4"):
        bert_flops(bert, 3, 4)
    with pytest.raises(ValueError, match="expected past_length >= 0, got -1"):
        next_token_flops(gpt, -1)
    with pytest.raises(ValueError, match=r"expected n_predicted in 0\.\.3, got 4"):
        gpt_flops(gpt, 3, n_predicted=4)
    with pytest.raises(ValueError, match=r"expected n_predicted in 0\.\.3, got -1"):
        gpt_flops(gpt, 3, n_predicted=-1)
    with pytest.raises(ValueError, match="expected seq_len >= 1, got 0"):
        bert_flops(bert, 0, 0)
    with pytest.raises(ValueError, match="expected source_len >= 1, got 0"):
        t5_flops(T5(T5Config(V, **SIZES)), 0, 3)
    with pytest.raises(ValueError, match="expected target_len >= 1, got 0"):
        t5_flops(T5(T5Config(V, **SIZES)), 3, 0)
