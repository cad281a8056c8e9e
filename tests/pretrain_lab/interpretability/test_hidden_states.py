# SPDX-License-Identifier: MIT
"""States and weights are those of the forward pass; words keep their tokens; poolings by hand."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain_lab.interpretability.hidden_states import (
    LAYER_POOLINGS,
    encode_words,
    hidden_states_and_attentions,
    pool_layers,
)
from pretrain_lab.tokenizers.subwords import load_tokenizer

IDS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 10, 0, 0]])
REAL = torch.tensor([[True] * 5, [True, True, True, False, False]])


def test_encoder_states_end_in_encode(tiny_bert: Callable[..., BERT]) -> None:
    """The last states are what `encode` gives, the first the normed embeddings."""
    model = tiny_bert()
    with torch.no_grad():
        states, maps = hidden_states_and_attentions(model, IDS, REAL)
        assert torch.allclose(states[-1][REAL], model.encode(IDS, REAL)[REAL])
        assert torch.allclose(states[0], model.embedding_norm(model.embeddings(IDS)))
    assert states.shape == (3, 2, 5, 8)
    assert [weights.shape for weights in maps] == [(2, 2, 5, 5)] * 2


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_states_end_in_hidden(tiny_gpt: Callable[..., GPT], norm: str) -> None:
    """Both places of the norm give the states that the head reads."""
    model = tiny_gpt(norm=norm)
    with torch.no_grad():
        states, maps = hidden_states_and_attentions(model, IDS, REAL)
        assert torch.allclose(states[-1][REAL], model.encode(IDS, REAL)[REAL])
    for weights in maps:
        assert (weights.triu(1) == 0).all()  # nothing behind the query


def test_weights_are_those_of_the_layers(tiny_bert: Callable[..., BERT]) -> None:
    """Rows sum to 1, padding gets nothing, and mixing the values gives the layer's output."""
    model = tiny_bert()
    with torch.no_grad():
        states, maps = hidden_states_and_attentions(model, IDS, REAL)
        layer: Any = model.blocks[0].attention
        values = layer.project(states[0])[2]
        mixed = (maps[0] @ values).transpose(1, 2).flatten(2)
        mask = REAL[:, None, None, :]
        assert torch.allclose(layer.output(mixed), layer(states[0], mask))
    assert torch.allclose(maps[1].sum(dim=-1), torch.ones(2, 2, 5).double())
    assert (maps[0][1, :, :, 3:] == 0).all()


@pytest.mark.parametrize("name", ["plays_bpe", "book_wordpiece"])
def test_words_give_the_ids_of_the_text(name: str) -> None:
    """Encoding word by word changes nothing, and each last token ends its word."""
    tokenizer = load_tokenizer(name)
    words = ["Is", "this", "a", "dagger", "which", "I", "see", "before", "me?"]
    ids, last = encode_words(lambda text: tokenizer.encode(text).tolist(), words)
    assert ids == tokenizer.encode(" ".join(words)).tolist()
    assert len(last) == len(words)
    assert last[-1] == len(ids) - 1
    for number, end in enumerate(last):
        text = tokenizer.decode(ids[: end + 1]).lower().replace(" ", "")
        assert text == "".join(words[: number + 1]).lower()


def test_words_without_tokens_are_refused() -> None:
    """A word that the tokeniser drops would shift all places after it."""
    with pytest.raises(ValueError, match="at least one token, got ''"):
        encode_words(lambda text: [1] * len(text.strip()), ["a", ""])


def test_poolings_by_hand() -> None:
    """Numbers small enough to check: padding never counts."""
    states = torch.arange(5.0)[:, None, None, None] + torch.tensor([[[1.0], [3.0], [100.0]]])
    real = torch.tensor([[True, True, False]])
    found = {how: pool_layers(states, real, how)[0].tolist() for how in LAYER_POOLINGS}
    assert found == {
        "first": [5.0], "last": [7.0], "mean": [6.0], "last four layers": [3.0, 4.0, 5.0, 6.0],
    }  # fmt: skip


def test_pooling_refuses() -> None:
    """An unknown name, and too few layers."""
    states, real = torch.zeros(4, 1, 2, 3), torch.ones(1, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match="expected pooling from"):
        pool_layers(states, real, "max")
    with pytest.raises(ValueError, match="at least four layers behind the embeddings, got 4"):
        pool_layers(states, real, "last four layers")
