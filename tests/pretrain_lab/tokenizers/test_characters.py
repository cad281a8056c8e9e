# SPDX-License-Identifier: MIT
"""The character tokeniser."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pretrain_lab.tokenizers.characters import MASK, PAD, CharTokenizer, id_list


@given(st.text(min_size=1))
def test_decode_undoes_encode(text: str) -> None:
    """Any text comes back, whatever its characters."""
    tokenizer = CharTokenizer.from_text(text)
    ids = tokenizer.encode(text)
    assert ids.dtype == torch.int64
    assert ids.shape == (len(text),)
    assert tokenizer.decode(ids) == text
    assert not set(ids.tolist()) & set(tokenizer.special_ids)


@given(st.sets(st.characters(), min_size=1), st.data())
def test_encode_undoes_decode(characters: set[str], data: st.DataObject) -> None:
    """Any ordinary ids come back too: the map is one to one."""
    tokenizer = CharTokenizer(sorted(characters))
    ordinary = st.integers(len(tokenizer.special_ids), tokenizer.vocab_size - 1)
    ids = data.draw(st.lists(ordinary))
    assert tokenizer.encode(tokenizer.decode(ids)).tolist() == ids


def test_special_tokens_come_first() -> None:
    """[PAD] and [MASK] hold ids 0 and 1, the sorted characters follow."""
    tokenizer = CharTokenizer.from_text("banana")
    assert (tokenizer.pad_id, tokenizer.mask_id) == (0, 1)
    assert tokenizer.special_ids == (0, 1)
    assert tokenizer.vocab_size == 5
    assert tokenizer.encode("abn").tolist() == [2, 3, 4]


def test_special_tokens_decode_to_their_names() -> None:
    """A corrupted text can be read."""
    tokenizer = CharTokenizer("ab")
    assert tokenizer.decode([2, tokenizer.mask_id, 3, tokenizer.pad_id]) == f"a{MASK}b{PAD}"
    assert tokenizer.decode([]) == ""


def test_more_special_tokens() -> None:
    """Other specials may be added; their order is the order of their ids."""
    tokenizer = CharTokenizer("ab", specials=("[CLS]", MASK, PAD))
    assert (tokenizer.mask_id, tokenizer.pad_id) == (1, 2)
    assert tokenizer.special_ids == (0, 1, 2)
    assert tokenizer.encode("a").tolist() == [3]


def test_a_name_of_a_special_token_in_the_text_is_plain_text() -> None:
    """Nobody can smuggle in a mask by writing its name."""
    tokenizer = CharTokenizer.from_text(MASK)
    assert tokenizer.mask_id not in tokenizer.encode(MASK).tolist()


def test_json_round_trip() -> None:
    """The vocabulary survives JSON with all ids in place."""
    tokenizer = CharTokenizer.from_text("To be, or not to be:\n‘é’")
    twin = CharTokenizer.from_dict(json.loads(json.dumps(tokenizer.to_dict())))
    assert twin.tokens == tokenizer.tokens
    assert twin.ids == tokenizer.ids
    more = CharTokenizer("ab", specials=("[PAD]", "[MASK]", "[CLS]"))
    assert CharTokenizer.from_dict(more.to_dict()).tokens == more.tokens


def test_bad_input_is_named() -> None:
    """Unknown characters with their place, ids with their range, vocabularies with the culprit."""
    tokenizer = CharTokenizer.from_text("abc")
    with pytest.raises(ValueError, match=r"vocabulary \(3 of them\), got 'z' at index 2"):
        tokenizer.encode("abzcz")
    with pytest.raises(ValueError, match=r"expected ids in 0\.\.4, got 5 at index 1"):
        tokenizer.decode([2, 5])
    with pytest.raises(ValueError, match=r"in 0\.\.4, got -1 at index 0"):
        tokenizer.decode([-1])
    with pytest.raises(ValueError, match=r"got shape \(1, 2\)"):
        tokenizer.decode(torch.tensor([[2, 3]]))
    with pytest.raises(ValueError, match="at least one character, got an empty one"):
        CharTokenizer.from_text("")
    with pytest.raises(ValueError, match=r"distinct single characters, got \['bc'\]"):
        CharTokenizer(["a", "bc"])
    with pytest.raises(ValueError, match=r"distinct single characters, got \['a', 'a'\]"):
        CharTokenizer(["a", "a"])
    with pytest.raises(ValueError, match=r"specials with \[PAD\] and \[MASK\], got \('\[PAD\]',\)"):
        CharTokenizer(["a"], specials=(PAD,))


def test_no_token_comes_twice() -> None:
    """A special token that is also a character would have two ids."""
    with pytest.raises(ValueError, match="expected every token once"):
        CharTokenizer("ab", specials=("a", "[PAD]", "[MASK]"))


def test_decimal_ids_are_refused() -> None:
    """1.5 was read as 1, and NaN as the smallest number of 64 bits."""
    for wrong in (1.5, float("nan")):
        with pytest.raises(ValueError, match=r"ids in whole numbers, got torch\.float32"):
            id_list(torch.tensor([wrong]), 9)
