# SPDX-License-Identifier: MIT
"""Word taggers: which state a word is read at, that padding has no part in it, that they learn."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Generator

from pretrain.training import OptimConfig, fit
from pretrain_lab.finetuning.token_classification import Words, WordTagger, tag_words, tagging_loss

Builder = Callable[..., Any]
TEXTS = [
    Words(torch.tensor([3, 4, 5]), torch.tensor([0, 2])),
    Words(torch.tensor([7, 8, 9, 10, 1]), torch.tensor([1, 3, 4])),
    Words(torch.tensor([6]), torch.tensor([0])),
]
CLASSES = [[0, 1], [1, 0, 2], [2]]
MODELS = ["tiny_gpt", "tiny_bert", "tiny_t5"]


@pytest.mark.parametrize("name", MODELS)
def test_words_are_read_at_their_last_token(name: str, request: pytest.FixtureRequest) -> None:
    """Six words in three padded texts: the scores of each text alone, at the named places."""
    backbone = request.getfixturevalue(name)().eval()
    torch.manual_seed(0)
    tagger = WordTagger(backbone, 3).double().eval()
    scores = tagger(TEXTS, 0)
    alone = [tagger.head(backbone.encode(text.ids[None])[0, text.ends]) for text in TEXTS]
    torch.testing.assert_close(scores, torch.cat(alone))
    best = [row.argmax(dim=-1).tolist() for row in alone]
    assert tag_words(tagger, TEXTS, pad_id=0, batch_size=2) == best


@pytest.mark.parametrize("name", MODELS)
def test_tagger_learns_by_heart(name: str, request: pytest.FixtureRequest) -> None:
    """Three texts and three classes: after some steps every word is right."""
    torch.manual_seed(1)
    tagger = WordTagger(request.getfixturevalue(name)(), 3).double()
    loss = tagging_loss(TEXTS, CLASSES, batch_size=2, pad_id=0)
    generator = Generator().manual_seed(0)
    assert tag_words(tagger, TEXTS, pad_id=0) != CLASSES
    fit(tagger, loss, OptimConfig(lr=1e-2), n_steps=80, generator=generator)
    assert tag_words(tagger, TEXTS, pad_id=0) == CLASSES


def test_loss_is_the_mean_over_words(tiny_bert: Builder) -> None:
    """A head of zeros gives ln 3 for every word; an even batch holds all texts."""
    tagger = WordTagger(tiny_bert(), 3).double()
    torch.nn.init.zeros_(tagger.head.weight)
    found = tagging_loss(TEXTS, CLASSES, batch_size=3, pad_id=0)(tagger, Generator())
    assert found.item() == pytest.approx(torch.tensor(3.0).log().item())
    with torch.no_grad():
        tagger.head.bias.copy_(torch.tensor([0.0, 1.0, 2.0]))
    found = tagging_loss(TEXTS, CLASSES, batch_size=3, pad_id=0)(tagger, Generator())
    log_p = torch.tensor([0.0, 1.0, 2.0]).log_softmax(dim=0)
    assert found.item() == pytest.approx(-(2 * log_p).sum().item() / 6)


def test_refuses(tiny_bert: Builder) -> None:
    """One class, classes that do not fit the words, words outside their text."""
    with pytest.raises(ValueError, match="n_classes >= 2, got 1"):
        WordTagger(tiny_bert(), 1)
    with pytest.raises(ValueError, match="6 words and 5 classes"):
        tagging_loss(TEXTS, [[0, 1], [1, 0], [2]], batch_size=2, pad_id=0)
    with pytest.raises(ValueError, match="0 words and 0 classes"):
        tagging_loss([], [], batch_size=2, pad_id=0)
    tagger = WordTagger(tiny_bert(), 2)
    outside = [Words(torch.tensor([1, 2]), torch.tensor([2]))]
    with pytest.raises(ValueError, match=r"end at 0..1, got \[2\]"):
        tagger(outside, 0)


def test_texts_too_long_for_the_backbone(tiny_gpt: Any) -> None:
    """A word beyond the end would have no state, so the text is refused, with the remedy."""
    model = tiny_gpt()
    limit = model.config.max_len
    text = Words(torch.ones(limit + 1, dtype=torch.int64), torch.tensor([1]))
    message = f"at most max_len = {limit} tokens, got {limit + 1}: cut the text into several"
    with pytest.raises(ValueError, match=message):
        WordTagger(model, 2)([text], 0)


def test_classes_have_names(tiny_gpt: Any) -> None:
    """The given ones, one for each class."""
    assert WordTagger(tiny_gpt(), 2, labels=["name", "other"]).labels == ("name", "other")
    with pytest.raises(ValueError, match="expected a name for each of 2 classes"):
        WordTagger(tiny_gpt(), 2, labels=["name"])
