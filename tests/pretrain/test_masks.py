# SPDX-License-Identifier: MIT
"""The masks: who may look at whom."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pretrain.masks import (
    additive_mask,
    bidirectional_mask,
    causal_mask,
    cross_mask,
    padding_mask,
    prefix_lm_mask,
)


def test_causal_mask_is_the_lower_triangle() -> None:
    """Query t reads keys 0..t and no other."""
    mask = causal_mask(5)
    assert mask.dtype == torch.bool
    assert torch.equal(mask, torch.ones(5, 5).tril().bool())
    assert causal_mask(1).tolist() == [[True]]


@given(st.integers(1, 8), st.integers(0, 8))
def test_cached_keys_add_the_rows_of_a_longer_mask(seq_len: int, past_length: int) -> None:
    """With a cache, the new queries have the last rows of the whole triangle."""
    whole = causal_mask(past_length + seq_len)
    assert torch.equal(causal_mask(seq_len, past_length=past_length), whole[past_length:])


def test_bidirectional_mask_hides_nothing() -> None:
    """Every query reads every key."""
    mask = bidirectional_mask(4)
    assert mask.shape == (4, 4)
    assert mask.dtype == torch.bool
    assert mask.all()


@given(st.data(), st.integers(1, 9))
def test_prefix_mask_by_its_definition(data: st.DataObject, seq_len: int) -> None:
    """A key is seen exactly when it lies in the prefix or not after the query.

    So a prefix of 0 is the lower triangle, and one of the whole sequence hides nothing.
    """
    lengths = [0, seq_len, *data.draw(st.lists(st.integers(0, seq_len), max_size=3))]
    mask = prefix_lm_mask(torch.tensor(lengths), seq_len)
    assert mask.shape == (len(lengths), 1, seq_len, seq_len)
    assert torch.equal(mask[0, 0], causal_mask(seq_len))
    assert torch.equal(mask[1, 0], bidirectional_mask(seq_len))
    for b, length in enumerate(lengths):
        for t in range(seq_len):
            seen = [s for s in range(seq_len) if mask[b, 0, t, s]]
            assert seen == [s for s in range(seq_len) if s < length or s <= t]


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
def test_padding_mask_hides_padding_from_every_query(dtype: torch.dtype) -> None:
    """0/1 in any type means the same, one row for all heads and queries."""
    mask = padding_mask(torch.tensor([[1, 1, 0], [1, 1, 1]]).to(dtype))
    assert mask.shape == (2, 1, 1, 3)
    assert mask.dtype == torch.bool
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, True, True]]


def test_cross_mask_is_the_padding_of_the_memory_for_each_query() -> None:
    """Decoder queries differ in number from the memory, and each row reads its own."""
    mask = cross_mask(4, torch.tensor([[1, 0, 1], [1, 1, 1]]))
    assert mask.shape == (2, 1, 4, 3)
    assert mask[:, 0].tolist() == [[[True, False, True]] * 4, [[True, True, True]] * 4]


def test_masks_are_made_where_their_data_are() -> None:
    """A mask on another device than the scores would stop the first attention on a GPU.

    The device "meta", which holds shapes and no numbers, is one that every machine has.
    """
    made = [causal_mask(3, device="meta"), bidirectional_mask(3, device="meta")]
    made.append(additive_mask(made[0]))
    assert [mask.device.type for mask in made] == ["meta"] * 3


@given(
    st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 6), st.floats(0, 1),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)  # fmt: skip
def test_adding_hides_what_the_mask_hides(
    seed: int, n: int, n_keys: int, share: float, dtype: torch.dtype
) -> None:
    """Any mask: minus infinity on what it hides, and nothing on what it shows."""
    mask = torch.rand(n, n_keys, generator=torch.Generator().manual_seed(seed)) < share
    added = additive_mask(mask, dtype)
    assert added.dtype == dtype
    assert torch.equal(added == 0, mask)
    assert added[~mask].isneginf().all()


def test_multiplying_by_infinity_would_give_nan() -> None:
    """The reason why the additive mask fills instead of multiplying."""
    mask = causal_mask(2)
    assert ((1 - mask.float()) * float("-inf")).isnan().any()
    assert additive_mask(mask).tolist() == [[0.0, float("-inf")], [0.0, 0.0]]


BAD: dict[str, tuple[Callable[[], Tensor], str]] = {
    "causal, no query": (lambda: causal_mask(0), "seq_len >= 1 and past_length >= 0, got 0 and 0"),
    "causal, past < 0": (lambda: causal_mask(2, past_length=-1), "got 2 and -1"),
    "padding, 1-D": (lambda: padding_mask(torch.ones(3)), r"shape \(B, S\), got \(3,\)"),
    "padding, 2s": (lambda: padding_mask(torch.full((1, 2), 2)), r"only 0 and 1, got \[2\]"),
    "padding, empty": (
        lambda: padding_mask(torch.tensor([[1, 0], [0, 0]])),
        r"a real token in every sequence, got none in rows \[1\]",
    ),
    "cross, 1-D": (lambda: cross_mask(2, torch.ones(2)), r"shape \(B, S\), got \(2,\)"),
    "prefix, 2-D": (lambda: prefix_lm_mask(torch.ones(1, 1), 2), r"prefix_lens \(B,\) in 0\.\.2"),
    "prefix, long": (lambda: prefix_lm_mask(torch.tensor([3]), 2), r"in 0\.\.2, got \[3\]"),
    "prefix, < 0": (lambda: prefix_lm_mask(torch.tensor([-1]), 2), r"in 0\.\.2, got \[-1\]"),
    "additive": (lambda: additive_mask(torch.ones(2)), "a boolean mask, got torch.float32"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name: str) -> None:
    """Each message says what was expected and what came."""
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()
