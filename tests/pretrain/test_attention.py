# SPDX-License-Identifier: MIT
"""Scaled dot-product attention, its heads and its cache."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from pretrain.attention import KVCache, MultiHeadAttention, attention
from pretrain.masks import causal_mask, padding_mask
from pretrain.t5 import RelativeBias, T5Attention, T5Config

TOLERANCE = 1e-12
"""For float64, between two orders of the same sums."""
REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()


def test_attention_by_hand() -> None:
    """One query, two keys, K = 1: the weights are softmax(1, 3), and the value their mean."""
    mixed, weights = attention(
        torch.tensor([[1.0]]), torch.tensor([[1.0], [3.0]]), torch.tensor([[10.0], [20.0]])
    )
    second = 1 / (1 + math.exp(-2))
    assert weights[0].tolist() == pytest.approx([1 - second, second])
    assert mixed.item() == pytest.approx(10 + 10 * second)


def test_scores_are_divided_by_the_root_of_the_width() -> None:
    """With K = 4, scores of 4 and 0 weigh like 2 and 0; with T5's scale of 1 like 4 and 0."""
    key = torch.stack([torch.ones(4), torch.zeros(4)])
    for scale, score in ((None, 2), (1.0, 4)):
        _, weights = attention(torch.ones(1, 4), key, key, scale=scale)
        assert weights[0, 0].item() == pytest.approx(1 / (1 + math.exp(-score)))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.booleans())
def test_weights_are_distributions(d_head: int, n_queries: int, n_keys: int, hide: bool) -> None:
    """Each row of weights is non-negative and sums to 1, and what is hidden weighs nothing."""
    query, key = torch.randn(2, n_queries, d_head), torch.randn(2, n_keys, d_head)
    mask = torch.ones(n_queries, n_keys, dtype=torch.bool)
    mask[:, 1:] = not hide
    mixed, weights = attention(query, key, key, mask)
    assert mixed.shape == (2, n_queries, d_head)
    assert weights.ge(0).all()
    assert torch.allclose(weights.sum(dim=-1), torch.ones(2, n_queries), atol=1e-6)
    assert torch.equal(weights * ~mask, torch.zeros_like(weights))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("scale", [None, 1.0, 0.3])
def test_attention_equals_torch(masked: bool, biased: bool, scale: float | None) -> None:
    """The same numbers as torch's fused function: BERT's and GPT's form, and T5's with a bias.

    torch takes one of a boolean mask and numbers to add, so the mask goes into the numbers.
    """
    query, key, value = torch.randn(3, 2, 3, 5, 4, dtype=torch.float64)
    mask = causal_mask(5) & padding_mask(REAL) if masked else None
    bias = torch.randn(3, 5, 5, dtype=torch.float64) if biased else None
    added = mask
    if bias is not None:
        added = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=added, scale=scale)
    ours, _ = attention(query, key, value, mask, bias=bias, scale=scale)
    assert torch.allclose(ours, theirs, rtol=0, atol=TOLERANCE)


def test_dropout_drops_weights() -> None:
    """A dropped weight is 0, a kept one doubled at probability 1/2."""
    x = torch.randn(1, 20, 4)
    _, clean = attention(x, x, x)
    _, dropped = attention(x, x, x, dropout_p=0.5)
    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7
    assert torch.allclose(dropped[kept], 2 * clean[kept])


def test_a_mask_that_is_not_boolean() -> None:
    """An additive or integer mask would be silently wrong, so it is refused."""
    x = torch.zeros(1, 3, 4)
    with pytest.raises(ValueError, match=r"expected a boolean mask .* got torch.float32"):
        attention(x, x, x, torch.zeros(3, 3))


def twin_layers(d_model: int = 12, n_heads: int = 3) -> tuple[MultiHeadAttention, nn.Module]:
    """Make our layer and torch's with the same float64 weights."""
    ours = MultiHeadAttention(d_model, n_heads).double()
    theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True).double()
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias)
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    return ours, theirs


@pytest.mark.parametrize("kind", ["plain", "causal", "padded", "causal and padded"])
def test_self_attention_equals_torch(kind: str) -> None:
    """Copied weights give the same output, weights of every head and gradients.

    torch's masks mean the opposite: True = may NOT attend.
    """
    ours, theirs = twin_layers()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    mask = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    hidden: dict[str, Tensor] = {}
    if "causal" in kind:
        mask = mask & causal_mask(5)
        hidden["attn_mask"] = ~causal_mask(5)
    if "padded" in kind:
        mask = mask & padding_mask(REAL)
        hidden["key_padding_mask"] = ~REAL
    out, weights = theirs(x, x, x, average_attn_weights=False, **hidden)
    mixed = ours(x, mask)
    assert torch.allclose(mixed, out, rtol=0, atol=TOLERANCE)
    assert torch.allclose(ours.weights(x, mask), weights, rtol=0, atol=TOLERANCE)
    mixed.square().sum().backward()
    out.square().sum().backward()
    assert torch.allclose(ours.qkv.weight.grad, theirs.in_proj_weight.grad, atol=1e-10)
    assert torch.allclose(ours.output.bias.grad, theirs.out_proj.bias.grad, atol=1e-10)


def test_cross_attention_equals_torch() -> None:
    """Keys and values come from another sequence of another length, with padding."""
    ours, theirs = twin_layers()
    x = torch.randn(2, 3, 12, dtype=torch.float64)
    memory = torch.randn(2, 5, 12, dtype=torch.float64)
    out, _ = theirs(x, memory, memory, key_padding_mask=~REAL)
    assert torch.allclose(ours(x, padding_mask(REAL), memory=memory), out, rtol=0, atol=TOLERANCE)


@torch.no_grad()
def test_layers_mix_what_their_weights_say() -> None:
    """What is looked at is what was computed, in BERT's and GPT's layer and in T5's."""
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    mask = causal_mask(5) & padding_mask(REAL)
    layer, _ = twin_layers()
    value = layer.project(x)[2]
    mixed = layer.output((layer.weights(x, mask) @ value).transpose(1, 2).flatten(2))
    assert torch.allclose(layer(x, mask), mixed, rtol=0, atol=TOLERANCE)

    config = T5Config(11, d_model=12, n_layers=1, n_heads=3, d_head=5)
    t5 = T5Attention(config).double()
    bias = RelativeBias(config, bidirectional=True).double()(5, 5)
    for seen in (mask, None):
        value = t5.value(x).unflatten(-1, (3, 5)).transpose(1, 2)
        weights = t5.weights(x, seen, bias=bias)
        mixed = t5.output((weights @ value).transpose(1, 2).flatten(2))
        assert torch.allclose(t5(x, seen, bias=bias), mixed, rtol=0, atol=TOLERANCE)


def test_dropout_of_the_layer() -> None:
    """In training its mean is the clean output; without dropout not a bit differs."""
    layer = MultiHeadAttention(12, 3, dropout=0.5).double()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    clean = layer.eval()(x)
    layer.train()
    mean = torch.stack([layer(x) for _ in range(1000)]).mean(dim=0)
    assert not torch.allclose(layer(x), clean)
    assert torch.allclose(mean, clean, atol=0.05)
    plain = MultiHeadAttention(12, 3).double()
    assert torch.equal(plain.train()(x), plain.eval()(x))


@pytest.mark.parametrize(("d_model", "n_heads"), [(10, 3), (8, 0), (0, 1)])
def test_bad_head_counts(d_model: int, n_heads: int) -> None:
    """A width that the heads cannot share is refused."""
    with pytest.raises(ValueError, match=f"divisible by n_heads, got {d_model} and {n_heads}"):
        MultiHeadAttention(d_model, n_heads)


def test_cache_returns_old_and_new_in_order() -> None:
    """What is appended in pieces comes back as one sequence, and no more than there is room for."""
    key, value = torch.randn(2, 1, 2, 5, 3)
    cache = KVCache(5)
    for start, end in ((0, 2), (2, 3), (3, 5)):
        keys, values = cache.append(key[:, :, start:end], value[:, :, start:end])
        assert torch.equal(keys, key[:, :, :end])
        assert torch.equal(values, value[:, :, :end])
        assert cache.length == end
    with pytest.raises(ValueError, match="expected at most 5 tokens in the cache, got 6"):
        cache.append(key[:, :, :1], value[:, :, :1])
    assert cache.length == 5


def test_a_cache_serves_one_batch() -> None:
    """One sequence for a cache of two would otherwise be spread over both."""
    cache = KVCache(5)
    cache.append(torch.zeros(2, 1, 2, 4), torch.zeros(2, 1, 2, 4))
    with pytest.raises(AssertionError, match="another batch"):
        cache.append(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))


@torch.no_grad()
def test_cached_attention_equals_one_causal_pass() -> None:
    """Token by token with a cache gives the rows of the whole sequence under a causal mask."""
    layer = MultiHeadAttention(12, 3).double()
    x = torch.randn(2, 6, 12, dtype=torch.float64)
    cache = KVCache(6)
    rows = [layer(x[:, t : t + 1], cache=cache) for t in range(6)]
    whole = layer(x, causal_mask(6))
    assert torch.allclose(torch.cat(rows, dim=1), whole, rtol=0, atol=TOLERANCE)
