# SPDX-License-Identifier: MIT
"""Masks, positions and attention: nothing looks past its query, no row of weights is broken."""

from typing import Any

import torch
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from strategies import (
    SEEDS,
    calls,
    floats,
    ids,
    masks,
    mostly,
    probabilities,
    random_floats,
    shapes,
    sizes,
)
from torch import Tensor, nn

from pretrain.attention import attention, check_mask
from pretrain.dropout import dropout
from pretrain.embeddings import check_attention_mask, check_ids, look_up
from pretrain.head_search import reachable
from pretrain.masks import (
    additive_mask,
    bidirectional_mask,
    causal_mask,
    cross_mask,
    padding_mask,
    prefix_lm_mask,
)
from pretrain.positions import relative_position_bucket, sinusoidal_positions

LENGTHS = mostly(st.integers(1, 40), st.integers(-3, 0), st.just(200))
DTYPES = st.sampled_from(
    [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool]
)


@fuzz(causal_mask, calls(seq_len=LENGTHS, n_past=sizes(40, 0)))
def test_causal_mask(mask: Tensor, seq_len: int, n_past: int) -> None:
    """Query t reads the n_past + t + 1 keys up to itself and none behind."""
    assert mask.shape == (seq_len, n_past + seq_len)
    assert mask.dtype == torch.bool
    assert mask.sum(dim=1).tolist() == list(range(n_past + 1, n_past + seq_len + 1))
    assert not mask.triu(n_past + 1).any()


@fuzz(bidirectional_mask, calls(seq_len=LENGTHS, device=st.sampled_from([None, "cpu"])))
def test_bidirectional_mask(mask: Tensor, seq_len: int, **_: Any) -> None:
    """Everything may be read."""
    assert mask.shape == (seq_len, seq_len)
    assert mask.dtype == torch.bool
    assert mask.all()


@fuzz(reachable, calls(seq_len=LENGTHS, causal=st.booleans()))
def test_reachable(mask: Tensor, seq_len: int, causal: bool) -> None:
    """The two masks above, by name."""
    assert torch.equal(mask, causal_mask(seq_len) if causal else bidirectional_mask(seq_len))


@fuzz(padding_mask, calls(attention_mask=masks() | ids(high=2) | floats()))
def test_padding_mask(mask: Tensor, attention_mask: Tensor) -> None:
    """Only ones are read, by every query, and there is at least one in each row."""
    n_rows, n_keys = attention_mask.shape
    assert mask.shape == (n_rows, 1, 1, n_keys)
    assert mask.dtype == torch.bool
    assert torch.equal(mask[:, 0, 0], attention_mask == 1)
    assert mask.any(dim=-1).all()


@fuzz(cross_mask, calls(target_len=LENGTHS, source_mask=masks()))
def test_cross_mask(mask: Tensor, target_len: int, source_mask: Tensor) -> None:
    """Each of the queries reads the same real keys."""
    assert mask.shape == (len(source_mask), 1, target_len, source_mask.shape[1])
    assert (mask == source_mask.bool()[:, None, None]).all()


@st.composite
def prefixes(draw: DrawFn) -> dict[str, Any]:
    """Draw lengths of prefixes that mostly fit the sequence."""
    seq_len = draw(sizes(9))
    lengths = ids(1, high=max(seq_len, 0) + 1)
    return {"prefix_lens": draw(lengths), "seq_len": seq_len}


@fuzz(prefix_lm_mask, prefixes())
def test_prefix_lm_mask(mask: Tensor, prefix_lens: Tensor, seq_len: int) -> None:
    """A key past the query is read exactly if it lies in the prefix."""
    assert mask.shape == (len(prefix_lens), 1, seq_len, seq_len)
    assert mask.dtype == torch.bool
    assert mask[:, 0][:, causal_mask(seq_len)].all()
    for row, length in zip(mask[:, 0], prefix_lens.tolist(), strict=True):
        past = row & ~causal_mask(seq_len)
        assert not past[:, int(length) :].any()
        assert past[0, 1 : int(length)].all()


@fuzz(additive_mask, calls(mask=masks(), dtype=DTYPES))
def test_additive_mask(added: Tensor, mask: Tensor, dtype: torch.dtype) -> None:
    """Adding it hides what the mask hides and leaves the rest alone."""
    assert added.dtype == dtype
    assert added.shape == mask.shape
    assert torch.equal(added == 0, mask)
    assert added[~mask].isneginf().all()


@fuzz(sinusoidal_positions, calls(max_len=LENGTHS, d_model=sizes(20, 2)))
def test_sinusoidal_positions(table: Tensor, max_len: int, d_model: int) -> None:
    """Position 0 is all sines 0 and cosines 1, and each pair lies on the circle."""
    assert table.shape == (max_len, d_model)
    assert table.dtype == torch.float32
    assert table[0].tolist() == [0.0, 1.0] * (d_model // 2)
    radius = table[:, ::2].square() + table[:, 1::2].square()
    assert (radius - 1).abs().max() < 1e-5


@fuzz(
    relative_position_bucket,
    calls(
        distance=ids(2, high=300) | st.integers(-(2**40), 2**40).map(torch.tensor),
        bidirectional=st.booleans(),
        n_buckets=sizes(64),
        max_distance=sizes(300),
    ),
)
def test_relative_position_bucket(
    bucket: Tensor, distance: Tensor, bidirectional: bool, n_buckets: int, max_distance: int
) -> None:
    """Buckets are in range, sorted by distance, and both sides mirror each other."""
    options = {"n_buckets": n_buckets, "max_distance": max_distance}
    assert bucket.shape == distance.shape
    assert bucket.dtype == torch.int64
    assert ((bucket >= 0) & (bucket < n_buckets)).all()
    ordered = -distance.abs().flatten().sort().values  # from near to far, on the left
    left = relative_position_bucket(ordered, bidirectional=bidirectional, **options)
    assert (left.diff() >= 0).all()
    if not bidirectional:
        assert (bucket[distance > 0] == 0).all()
    elif distance.numel():
        assert torch.equal(bucket % (n_buckets // 2), relative_position_bucket(
            -distance, bidirectional=True, **options) % (n_buckets // 2))  # fmt: skip


@st.composite
def attentions(draw: DrawFn) -> dict[str, Any]:
    """Draw queries, keys and values of which now and then one does not fit."""
    lead = draw(st.sampled_from([(), (2,), (2, 3)]))
    n_queries, n_keys, width = (draw(mostly(st.integers(1, 5), st.just(0))) for _ in range(3))
    shape = [(*lead, n_queries, width), (*lead, n_keys, width), (*lead, n_keys, width + 1)]
    if draw(st.integers(0, 5)) == 5:
        shape[draw(st.integers(0, 2))] = draw(shapes(4))
    scale = draw(st.sampled_from([0.0, 1.0, 1e3]))
    query, key, value = (random_floats(size, draw(SEEDS), scale) for size in shape)
    mask = draw(st.none() | masks((n_queries, n_keys)) | masks())
    return {"query": query, "key": key, "value": value, "mask": mask,
            "dropout_prob": draw(st.just(0.0) | probabilities())}  # fmt: skip


@fuzz(attention, attentions())
def test_attention(
    result: tuple[Tensor, Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_prob: float,
) -> None:
    """Weights are probabilities that no hidden key shares; a blind query gets zeros."""
    mixed, weights = result
    assert mixed.shape == (*weights.shape[:-1], value.shape[-1])
    assert weights.shape[-2:] == (query.shape[-2], key.shape[-2])
    assert (weights >= 0).all()
    seen = torch.ones_like(weights) if mask is None else mask.expand(weights.shape)
    assert (weights[seen == 0] == 0).all()
    if dropout_prob == 0:
        wanted = seen.bool().any(dim=-1).float()
        assert torch.allclose(weights.sum(dim=-1), wanted, atol=1e-5)
    assert torch.equal(mixed[~seen.bool().any(dim=-1)].count_nonzero(), torch.tensor(0))


@fuzz(check_mask, calls(mask=masks(n_axes=3), scores_shape=shapes(3).map(torch.Size)))
def test_check_mask(result: None, mask: Tensor, scores_shape: torch.Size) -> None:
    """What passes is boolean and can be broadcast."""
    assert result is None
    assert mask.dtype == torch.bool
    assert mask.expand(scores_shape).shape == scores_shape


@fuzz(dropout, calls(x=floats(2, special=False), prob=probabilities()))
def test_dropout(dropped: Tensor, x: Tensor, prob: float) -> None:
    """A value becomes 0 or grows by the factor that keeps the mean."""
    assert dropped.shape == x.shape
    kept = dropped != 0
    factor = 65_536 / (65_536 - min(round(prob * 65_536), 65_535))
    assert torch.allclose(dropped[kept], x[kept] * factor, rtol=1e-5)


@fuzz(check_ids, calls(ids=ids() | floats(), name=st.text(min_size=1, max_size=5)))
def test_check_ids(result: None, ids: Tensor, name: str) -> None:
    """What passes is (B, T) of whole numbers with T >= 1."""
    assert result is None
    assert ids.dim() == 2
    assert ids.shape[1] >= 1
    assert not ids.is_floating_point()


TABLE = nn.Embedding(12, 3)


@fuzz(look_up, calls(table=st.just(TABLE), ids=ids(wrong=True), name=st.just("ids")))
def test_look_up(rows: Tensor, table: nn.Embedding, ids: Tensor, **_: Any) -> None:
    """The rows of the table."""
    assert rows.shape == (*ids.shape, 3)
    assert torch.equal(rows.detach(), table.weight.detach()[ids])


@fuzz(check_attention_mask, calls(attention_mask=masks(), ids=ids()))
def test_check_attention_mask(result: None, attention_mask: Tensor, ids: Tensor) -> None:
    """What passes has the shape of the ids."""
    assert result is None
    assert attention_mask.shape == ids.shape
