# SPDX-License-Identifier: MIT
"""Pairs of texts: how they are laid out and cut."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.tokenizers.segments import pack_ids, pack_pairs, segment_ids_of, truncate_pair
from pretrain_lab.tokenizers.subwords import load_tokenizer

BOOK = load_tokenizer("plays_bpe")
ROLES = {"cls_id": 1, "sep_id": 2, "pad_id": 0}


def test_layout_by_hand() -> None:
    """[CLS] A [SEP] B [SEP] and padding, with the segment and the mask of every position."""
    packed = pack_ids(
        [(torch.tensor([7, 8]), torch.tensor([9])), (torch.tensor([5]),) * 2], **ROLES
    )
    assert packed.ids.tolist() == [[1, 7, 8, 2, 9, 2], [1, 5, 2, 5, 2, 0]]
    assert packed.segment_ids.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]]
    assert packed.attention_mask.tolist() == [[True] * 6, [True] * 5 + [False]]
    assert [part.dtype for part in packed] == [torch.int64, torch.int64, torch.bool]


def test_pairs_of_texts() -> None:
    """Two speeches of King John come out as their tokens between the special ones."""
    first, second = (speech.text for speech in load_shakespeare("validation")[0].speeches[:2])
    ids, segment_ids, mask = pack_pairs([(first, second)], BOOK)
    parts = [[BOOK.cls_id], BOOK.encode(first), [BOOK.sep_id], BOOK.encode(second), [BOOK.sep_id]]
    assert ids[0].tolist() == [int(i) for part in parts for i in part]
    assert int((segment_ids == 0).sum()) == len(parts[1]) + 2
    assert mask.all()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.integers(3, 24))
def test_rows_keep_their_limit_and_lose_the_longer_end(
    lengths: list[tuple[int, int]], max_len: int
) -> None:
    """Nothing is cut that fits; a cut pair fills the row, and differs by one token at most."""
    pairs = [(torch.arange(a) + 10, torch.arange(b) + 50) for a, b in lengths]
    packed = pack_ids(pairs, **ROLES, max_len=max_len)
    room = max_len - 3
    for (a, b), row, mask in zip(lengths, packed.ids, packed.attention_mask, strict=True):
        left, right = int(((row >= 10) & (row < 50)).sum()), int((row >= 50).sum())
        assert left + right == min(a + b, room) == int(mask.sum()) - 3
        assert left == a or left >= right
        assert right == b or right >= left - 1
        assert row[1 : 1 + left].tolist() == list(range(10, 10 + left))
    assert packed.ids.shape[1] == int(packed.attention_mask.sum(dim=1).max())


def test_truncation_by_hand() -> None:
    """From 5 + 2 tokens to 4: the longer loses three, until both have two."""
    first, second = truncate_pair(torch.arange(5), torch.arange(2), 4)
    assert (first.tolist(), second.tolist()) == ([0, 1], [0, 1])
    first, second = truncate_pair(torch.arange(3), torch.arange(3), 5)
    assert (first.tolist(), second.tolist()) == ([0, 1, 2], [0, 1])


def test_segment_ids_of_rows_without_padding() -> None:
    """The first [SEP] still belongs to the first segment, and later ones change nothing."""
    ids = torch.tensor([[1, 7, 2, 8, 2, 9], [1, 7, 7, 7, 7, 7]])
    assert segment_ids_of(ids, 2).tolist() == [[0, 0, 0, 1, 1, 1], [0] * 6]
    packed = pack_ids([(torch.tensor([7]), torch.tensor([8, 9]))], **ROLES)
    assert torch.equal(segment_ids_of(packed.ids, 2), packed.segment_ids)


def test_bad_arguments_are_named() -> None:
    """What was expected, and what came."""
    with pytest.raises(ValueError, match="max_len >= 3 or None, got 1 pairs and 2"):
        pack_ids([(torch.tensor([5]), torch.tensor([5]))], **ROLES, max_len=2)
    with pytest.raises(ValueError, match="got 0 pairs"):
        pack_ids([], **ROLES)
    with pytest.raises(ValueError, match="n_tokens >= 0, got -1"):
        truncate_pair(torch.arange(2), torch.arange(2), -1)
