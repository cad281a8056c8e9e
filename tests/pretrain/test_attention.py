# SPDX-License-Identifier: MIT
"""Scaled dot-product attention, its heads and its cache."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from pretrain.attention import KVCache, MultiHeadAttention, attention, check_mask
from pretrain.masks import causal_mask, padding_mask

TOLERANCE = 1e-12
"""For float64, between two orders of the same sums."""


def test_attention_by_hand() -> None:
    """One query, two keys, K = 1: the weights are softmax(1, 3), and the value their mean."""
    query = torch.tensor([[1.0]])
    key = torch.tensor([[1.0], [3.0]])
    value = torch.tensor([[10.0], [20.0]])
    mixed, weights = attention(query, key, value)
    second = 1 / (1 + math.exp(-2))
    assert weights[0].tolist() == pytest.approx([1 - second, second])
    assert mixed.item() == pytest.approx(10 + 10 * second)


def test_scores_are_divided_by_the_root_of_the_width() -> None:
    """With K = 4, scores of 4 and 0 weigh like 2 and 0."""
    key = torch.stack([torch.ones(4), torch.zeros(4)])
    _, weights = attention(torch.ones(1, 4), key, key)
    assert weights[0, 0].item() == pytest.approx(1 / (1 + math.exp(-2)))


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


def test_attention_equals_torch() -> None:
    """The same numbers as torch's fused function, for a broadcast mask."""
    query, key, value = torch.randn(3, 2, 3, 5, 4, dtype=torch.float64)
    mask = causal_mask(5) & padding_mask(torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]))
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert torch.allclose(attention(query, key, value, mask)[0], theirs, rtol=0, atol=TOLERANCE)


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients() -> None:
    """A row of the mask without a True gives neither NaN values nor NaN gradients."""
    x = torch.randn(1, 3, 4, requires_grad=True)
    mask = torch.tensor([[False, False, False], [True, True, False], [True, True, True]])
    mixed, weights = attention(x, x, x, mask)
    mixed.square().sum().backward()
    assert torch.equal(mixed[0, 0], torch.zeros(4))
    assert torch.equal(weights[0, 0], torch.zeros(3))
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_a_query_that_is_blind_in_one_head_alone() -> None:
    """What another head of the same query sees does not help it."""
    x = torch.randn(1, 2, 3, 4)
    mask = torch.ones(1, 2, 3, 3, dtype=torch.bool)
    mask[0, 1, 2] = False
    mixed, weights = attention(x, x, x, mask)
    assert torch.equal(mixed[0, 1, 2], torch.zeros(4))
    assert torch.allclose(weights.sum(dim=-1), mask.any(dim=-1).float())


def test_dropout_drops_weights() -> None:
    """A dropped weight is 0, a kept one doubled at probability 1/2."""
    x = torch.randn(1, 20, 4)
    _, clean = attention(x, x, x)
    _, dropped = attention(x, x, x, dropout_prob=0.5)
    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7
    assert torch.allclose(dropped[kept], 2 * clean[kept])


@pytest.mark.parametrize(
    "shapes",
    [
        ((1, 2, 4), (1, 2, 3), (1, 2, 3)),
        ((1, 2, 4), (1, 3, 4), (1, 2, 4)),
        ((1, 2, 4), (2, 3, 4), (2, 3, 4)),
        ((1, 2, 4), (4,), (4,)),
    ],
    ids=["width", "length", "leading axes", "too few axes"],
)
def test_bad_shapes(shapes: tuple[tuple[int, ...], ...]) -> None:
    """Shapes that do not fit are named, all three of them."""
    with pytest.raises(ValueError, match=r"expected query \(\.\.\., T, K\).* got \(1, 2, 4\), "):
        attention(*(torch.zeros(shape) for shape in shapes))


@pytest.mark.parametrize("shape", [(3, 4), (2, 1, 4, 3), (5, 2, 2, 3, 3)])
def test_a_mask_of_the_wrong_shape(shape: tuple[int, ...]) -> None:
    """The message shows the shape that the scores have and the one that came."""
    x = torch.zeros(2, 2, 3, 4)
    with pytest.raises(ValueError, match=r"broadcastable to \(2, 2, 3, 3\) \[\.\.\., query, key\]"):
        attention(x, x, x, torch.ones(shape, dtype=torch.bool))
    layer = MultiHeadAttention(8, 2)
    with pytest.raises(ValueError, match=r"broadcastable to \(2, 2, 3, 3\)"):
        layer(torch.zeros(2, 3, 8), torch.ones(shape, dtype=torch.bool))


def test_a_mask_that_is_not_boolean() -> None:
    """An additive or integer mask would be silently wrong, so it is refused."""
    with pytest.raises(ValueError, match=r"expected a boolean mask .* got torch.float32"):
        check_mask(torch.zeros(3, 3), torch.Size((3, 3)))


def twin_layers(d_model: int = 12, n_heads: int = 3) -> tuple[MultiHeadAttention, nn.Module]:
    """Make our layer and torch's with the same float64 weights."""
    ours = MultiHeadAttention(d_model, n_heads).double()
    theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True).double()
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias)
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    return ours, theirs


REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()


@pytest.mark.parametrize("kind", ["plain", "causal", "padded", "causal and padded"])
def test_self_attention_equals_torch(kind: str) -> None:
    """Copied weights give the same output and the same weights of every head.

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
    assert torch.allclose(ours(x, mask), out, rtol=0, atol=TOLERANCE)
    assert torch.allclose(ours.weights(x, mask), weights, rtol=0, atol=TOLERANCE)


def test_cross_attention_equals_torch() -> None:
    """Keys and values come from another sequence of another length, with padding."""
    ours, theirs = twin_layers()
    x = torch.randn(2, 3, 12, dtype=torch.float64)
    source = torch.randn(2, 5, 12, dtype=torch.float64)
    out, _ = theirs(x, source, source, key_padding_mask=~REAL)
    assert torch.allclose(ours(x, padding_mask(REAL), source=source), out, rtol=0, atol=TOLERANCE)


def test_gradients_equal_torch() -> None:
    """The backward pass agrees too, down to the stacked projection."""
    ours, theirs = twin_layers()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    ours(x).square().sum().backward()
    theirs(x, x, x)[0].square().sum().backward()
    assert torch.allclose(ours.qkv.weight.grad, theirs.in_proj_weight.grad, atol=1e-10)
    assert torch.allclose(ours.output.bias.grad, theirs.out_proj.bias.grad, atol=1e-10)


def test_training_with_dropout_uses_the_same_arithmetic() -> None:
    """The path with dropout, its draws aside, is the path without."""
    layer = MultiHeadAttention(12, 3, dropout_prob=0.5).double()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    clean = layer.eval()(x)
    layer.train()
    mean = torch.stack([layer(x) for _ in range(3000)]).mean(dim=0)
    assert not torch.allclose(layer(x), clean)
    assert torch.allclose(mean, clean, atol=0.03)


def test_training_without_dropout_is_evaluation() -> None:
    """Both take torch's fused function, so that not a bit differs; no dropout is the default."""
    layer, x = MultiHeadAttention(12, 3), torch.randn(2, 50, 12)
    assert torch.equal(layer.train()(x), layer.eval()(x))
    by_hand = attention(*layer.project(x))[0].transpose(1, 2).flatten(2)
    assert not torch.equal(layer.output(by_hand), layer(x))


def test_the_smallest_layer() -> None:
    """One head of width 1."""
    x = torch.randn(1, 2, 1)
    assert MultiHeadAttention(1, 1)(x).shape == (1, 2, 1)


def test_rows_without_keys_agree_on_both_paths() -> None:
    """Training with dropout and evaluation both give a blind query the output bias alone."""
    layer = MultiHeadAttention(8, 2, dropout_prob=0.1)
    x = torch.randn(1, 3, 8)
    mask = torch.tensor([[False, False, False], [True, True, False], [True, True, True]])
    for out in (layer.train()(x, mask), layer.eval()(x, mask)):
        assert torch.allclose(out[0, 0], layer.output.bias)


def test_heads_are_the_slices_of_the_width() -> None:
    """Head h reads channels h K to (h + 1) K of the projections."""
    layer = MultiHeadAttention(12, 3)
    x = torch.randn(2, 5, 12)
    query, key, value = layer.project(x)
    assert query.shape == key.shape == value.shape == (2, 3, 5, 4)
    assert torch.equal(query[:, 1], layer.qkv(x)[..., 4:8])
    assert torch.equal(value[:, 2], layer.qkv(x)[..., 32:36])


@pytest.mark.parametrize(("d_model", "n_heads"), [(10, 3), (8, 0), (0, 1)])
def test_bad_head_counts(d_model: int, n_heads: int) -> None:
    """A width that the heads cannot share is refused."""
    with pytest.raises(ValueError, match=f"divisible by n_heads, got {d_model} and {n_heads}"):
        MultiHeadAttention(d_model, n_heads)


def test_cache_returns_old_and_new_in_order() -> None:
    """What is appended in pieces comes back as one sequence."""
    key, value = torch.randn(2, 1, 2, 5, 3)
    cache = KVCache(5)
    assert cache.keys is None
    assert cache.values is None
    for start, end in ((0, 2), (2, 3), (3, 5)):
        keys, values = cache.append(key[:, :, start:end], value[:, :, start:end])
        assert torch.equal(keys, key[:, :, :end])
        assert torch.equal(values, value[:, :, :end])
        assert cache.length == end


def test_a_full_cache_says_so() -> None:
    """Nothing is written beyond the room that was taken."""
    cache = KVCache(2)
    piece = torch.zeros(1, 1, 2, 3)
    cache.append(piece, piece)
    with pytest.raises(ValueError, match="expected at most 2 tokens in the cache, got 4"):
        cache.append(piece, piece)
    assert cache.length == 2


def test_cached_attention_equals_one_causal_pass() -> None:
    """Token by token with a cache gives the rows of the whole sequence under a causal mask."""
    layer = MultiHeadAttention(12, 3).double()
    x = torch.randn(2, 6, 12, dtype=torch.float64)
    cache = KVCache(6)
    rows = [layer(x[:, t : t + 1], cache=cache) for t in range(6)]
    whole = layer(x, causal_mask(6))
    assert torch.allclose(torch.cat(rows, dim=1), whole, rtol=0, atol=TOLERANCE)


def test_a_cache_refuses_other_sizes() -> None:
    """One sequence for a cache of two would otherwise be spread over both."""
    cache = KVCache(5)
    cache.append(torch.zeros(2, 1, 2, 4), torch.zeros(2, 1, 2, 4))
    with pytest.raises(ValueError, match=r"of shape \(2, 1, 1, 4\), as those in the cache"):
        cache.append(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))
    good = torch.zeros(2, 1, 1, 4)
    for pair in ((good, good[:1]), (good[:1], good)):
        with pytest.raises(ValueError, match=r"of shape \(2, 1, 1, 4\), as those in the cache"):
            cache.append(*pair)
    assert cache.length == 2
