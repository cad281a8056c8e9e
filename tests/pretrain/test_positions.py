# SPDX-License-Identifier: MIT
"""Sinusoids, rotary positions and T5's relative buckets."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pretrain.positions import (
    relative_position_bucket,
    rotary_table,
    rotate,
    sinusoidal_positions,
)


def test_sinusoids_by_hand() -> None:
    """Width 4: the second pair of channels turns 10000^(2/4) = 100 times slower."""
    table = sinusoidal_positions(4, 4)
    assert table.dtype == torch.float32
    assert table[0].tolist() == [0.0, 1.0, 0.0, 1.0]
    by_hand = [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)]
    assert table[3].tolist() == pytest.approx(by_hand, abs=1e-7)


def test_sinusoids_stay_precise_far_from_the_start() -> None:
    """The angles are computed in double precision, so position 50,000 is as exact as position 3."""
    row = sinusoidal_positions(50_001, 6)[50_000].tolist()
    angles = [50_000 / 10_000 ** (2 * i / 6) for i in range(3)]
    by_hand = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
    assert row == pytest.approx(by_hand, abs=1e-7)


def test_sinusoid_products_depend_on_the_distance_alone() -> None:
    """Two positions k apart have the same dot product wherever they stand."""
    table = sinusoidal_positions(40, 16).double()
    products = table @ table.T
    for k in (0, 1, 7):
        diagonal = products.diagonal(k)
        assert torch.allclose(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5)


@given(st.integers(1, 300), st.integers(1, 20))
def test_each_pair_of_channels_lies_on_the_circle(max_len: int, n_pairs: int) -> None:
    """Position 0 is all sines 0 and cosines 1."""
    table = sinusoidal_positions(max_len, 2 * n_pairs)
    assert table[0].tolist() == [0.0, 1.0] * n_pairs
    radius = table[:, ::2].square() + table[:, 1::2].square()
    assert (radius - 1).abs().max() < 1e-5


@pytest.mark.parametrize(("max_len", "d_model"), [(0, 4), (4, 3), (4, 0)])
def test_bad_sinusoid_sizes(max_len: int, d_model: int) -> None:
    """Sizes without a table are refused."""
    with pytest.raises(ValueError, match=f"an even d_model, got {max_len} and {d_model}"):
        sinusoidal_positions(max_len, d_model)


def test_rotation_by_hand() -> None:
    """Width 4: the second pair turns 100 times slower; channels pair with those 2 further."""
    table = rotary_table(8, 4)
    x = torch.tensor([[1.0, 1.0, 0.0, 0.0]])
    by_hand = [math.cos(3), math.cos(0.03), math.sin(3), math.sin(0.03)]
    assert rotate(x, table[:, 3:4])[0].tolist() == pytest.approx(by_hand, abs=1e-6)
    assert torch.equal(rotate(x, table[:, :1]), x)  # position 0 is not turned


def test_rotated_queries_and_keys_match_by_their_distance_alone() -> None:
    """The same query and key, k apart, have one product wherever they stand; lengths stay."""
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 1, 16, generator=generator)
    table = rotary_table(40, 16)
    queries, keys = (rotate(x.expand(40, 16), table).double() for x in (query, key))
    assert torch.allclose(queries.norm(dim=-1), query.norm().double(), atol=1e-5)
    products = queries @ keys.T
    for k in (-9, 0, 1, 7):
        diagonal = products.diagonal(k)
        assert torch.allclose(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4)
    assert products[20, 20] - products[20, 13] != pytest.approx(0, abs=1e-3)


def test_same_rotation_as_the_published_llama() -> None:
    """Queries and keys are turned as in Hugging Face's Llama."""
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(hidden_size=24, num_attention_heads=2, max_position_embeddings=9)
    x = torch.randn(2, 2, 9, 12, generator=torch.Generator().manual_seed(1))
    cos, sin = llama.LlamaRotaryEmbedding(config)(x, torch.arange(9)[None])
    theirs, _ = llama.apply_rotary_pos_emb(x, x, cos, sin)
    assert torch.allclose(rotate(x, rotary_table(9, 12)), theirs, atol=1e-6)


@pytest.mark.parametrize(("max_len", "d_head"), [(0, 4), (4, 3), (4, 0)])
def test_bad_rotary_sizes(max_len: int, d_head: int) -> None:
    """Sizes without a table are refused."""
    with pytest.raises(ValueError, match=f"an even d_head, got {max_len} and {d_head}"):
        rotary_table(max_len, d_head)


def slow_bucket(distance: int, bidirectional: bool, n_buckets: int, max_distance: int) -> int:
    """Find the bucket of one distance in whole numbers, without a logarithm.

    Of the buckets on one side, half hold one distance each. The others start at distances that
    grow by a constant factor from the first inexact one up to max_distance, so the j-th of m
    starts where (length / exact)^m reaches (max_distance / exact)^j.
    """
    first = 0
    if bidirectional:
        n_buckets //= 2
        first = n_buckets if distance > 0 else 0
    length = abs(distance) if bidirectional else max(-distance, 0)
    exact = n_buckets // 2
    if length < exact:
        return first + length
    m = n_buckets - exact
    starts = [j for j in range(m) if length**m * exact**j >= max_distance**j * exact**m]
    return first + exact + starts[-1]


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(
    ("n_buckets", "max_distance"), [(32, 128), (8, 20), (16, 100), (6, 4), (4, 9)]
)
def test_buckets_equal_the_slow_reference(
    bidirectional: bool, n_buckets: int, max_distance: int
) -> None:
    """Every distance from -300 to 300 falls into the bucket that the description gives it."""
    distance = torch.arange(-300, 301)
    ours = relative_position_bucket(
        distance, bidirectional=bidirectional, n_buckets=n_buckets, max_distance=max_distance
    )
    slow = [slow_bucket(int(d), bidirectional, n_buckets, max_distance) for d in distance]
    assert ours.dtype == torch.int64
    assert ours.tolist() == slow


@given(st.integers(1, 10_000), st.integers(2, 32), st.integers(40, 500))
def test_both_sides_are_mirror_images(length: int, n_half: int, max_distance: int) -> None:
    """A key d to the right has the bucket of a key d to the left, shifted by half."""
    left, right = relative_position_bucket(
        torch.tensor([-length, length]),
        bidirectional=True,
        n_buckets=2 * n_half,
        max_distance=max_distance,
    ).tolist()
    assert right - left == n_half
    assert 0 <= left < n_half


@given(st.integers(2, 40), st.integers(41, 300))
def test_decoder_buckets_grow_with_distance(n_buckets: int, max_distance: int) -> None:
    """Farther keys never get a nearer bucket; the future shares bucket 0; the last is reached."""
    bucket = relative_position_bucket(
        -torch.arange(-5, 400), bidirectional=False, n_buckets=n_buckets, max_distance=max_distance
    )
    assert bucket[:6].eq(0).all()
    assert bucket.diff().ge(0).all()
    assert int(bucket[5 + max_distance]) == n_buckets - 1


def test_bad_bucket_counts() -> None:
    """Buckets that cannot be split, or a maximum inside the exact range, are refused."""
    distance = torch.zeros(1, dtype=torch.int64)
    with pytest.raises(ValueError, match="n_buckets >= 4 and max_distance > 0, got 3 and 128"):
        relative_position_bucket(distance, bidirectional=True, n_buckets=3)
    with pytest.raises(ValueError, match="n_buckets >= 2 and max_distance > 0, got 1 and 128"):
        relative_position_bucket(distance, bidirectional=False, n_buckets=1)
    with pytest.raises(ValueError, match="max_distance > 8, got 32 and 8"):
        relative_position_bucket(distance, bidirectional=True, max_distance=8)
