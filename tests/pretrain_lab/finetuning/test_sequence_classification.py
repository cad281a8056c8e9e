# SPDX-License-Identifier: MIT
"""Text classifiers: what is pooled, that padding has no part in it, and that they learn."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from pretrain.training import OptimConfig, fit
from pretrain_lab.finetuning.sequence_classification import (
    TextClassifier,
    classification_loss,
    in_batches,
    length_batches,
    predict_classes,
    text_features,
)
from pretrain_lab.pooling import pad

Builder = Callable[..., Any]
TEXTS = [torch.tensor(row) for row in ([3, 4, 5], [6], [7, 8, 9, 10, 1, 2], [5, 5, 4, 3])]
CASES = [
    ("tiny_gpt", "mean"), ("tiny_gpt", "last"), ("tiny_bert", "mean"), ("tiny_bert", "first"),
    ("tiny_t5", "mean"), ("tiny_t5", "last"),
]  # fmt: skip


@pytest.mark.parametrize(("backbone", "pooling"), CASES)
def test_padding_changes_nothing(
    backbone: str, pooling: str, request: pytest.FixtureRequest
) -> None:
    """Each text alone, and all in one padded batch, whatever the padding id."""
    model = request.getfixturevalue(backbone)()
    classifier = TextClassifier(model, 3, pooling=pooling).double().eval()
    alone = torch.cat([classifier(text[None]) for text in TEXTS])
    assert alone.shape == (4, 3)
    assert alone.std(dim=0).min() > 1e-6  # the texts do differ
    for pad_id in (0, 9):
        torch.testing.assert_close(classifier(*pad(TEXTS, pad_id)), alone)


def test_classifier_refuses(tiny_gpt: Builder) -> None:
    """One class, an unknown pooling, and the state of a GPT that has read one token."""
    with pytest.raises(ValueError, match="expected n_classes >= 2"):
        TextClassifier(tiny_gpt(), 1)
    with pytest.raises(ValueError, match="pooling from"):
        TextClassifier(tiny_gpt(), 2, pooling="max")
    with pytest.raises(ValueError, match="'mean' or 'last' for a GPT"):
        TextClassifier(tiny_gpt(), 2, pooling="first")


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "a"), "abc", (1, 2, 3)])
def test_labels_that_name_no_classes(tiny_gpt: Builder, labels: Any) -> None:
    """Too few, one twice, a single text, or no texts."""
    with pytest.raises(ValueError, match="expected a name for each of 3 classes, got"):
        TextClassifier(tiny_gpt(), 3, labels=labels)


def test_classes_have_names(tiny_gpt: Builder) -> None:
    """The given ones, or their numbers."""
    assert TextClassifier(tiny_gpt(), 3).labels == ("0", "1", "2")
    assert TextClassifier(tiny_gpt(), 2, labels=["low", "high"]).labels == ("low", "high")


@pytest.mark.parametrize("backbone", ["tiny_gpt", "tiny_bert"])
def test_long_texts_are_refused_or_truncated(backbone: str, request: pytest.FixtureRequest) -> None:
    """The message names the option; with it, a text is what its first tokens are."""
    model = request.getfixturevalue(backbone)().eval()
    limit = model.config.max_len
    texts = [torch.arange(limit + 3) % 9 + 1, torch.tensor([4, 2])]
    classifier = TextClassifier(model, 2, pooling="last").double()
    with pytest.raises(
        ValueError,
        match=rf"at most max_len = {limit} tokens, got {limit + 3}: "
        rf"TextClassifier\(\.\.\., truncate=True\) reads the first {limit}",
    ):
        predict_classes(classifier, texts, pad_id=0)
    classifier.truncate = True
    cut = [text[:limit] for text in texts]
    torch.testing.assert_close(classifier(*pad(texts, 0)), classifier(*pad(cut, 0)))
    assert torch.equal(
        text_features(model, texts, pad_id=0, truncate=True), text_features(model, cut, pad_id=0)
    )


def test_berts_pooler_is_a_layer_with_tanh(tiny_bert: Builder) -> None:
    """Over the pooled state, before the layer over the classes."""
    classifier = TextClassifier(tiny_bert(), 2, pooling="first", pooler=True).double().eval()
    plain = text_features(classifier.backbone, TEXTS[:1], pad_id=0, pooling="first")
    assert classifier.pooler is not None
    expected = classifier.head(torch.tanh(classifier.pooler(plain)))
    torch.testing.assert_close(classifier(TEXTS[0][None]), expected)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 64])
def test_batches_keep_the_order(batch_size: int) -> None:
    """The rows come back in the order of the texts, though they are read by length."""

    def first_tokens(ids: Tensor, mask: Tensor | None) -> Tensor:
        """Give the first token and the number of real ones."""
        real = torch.ones_like(ids) if mask is None else mask.long()
        return torch.stack([ids[:, 0], real.sum(dim=1)], dim=1)

    found = in_batches(first_tokens, TEXTS, pad_id=0, batch_size=batch_size)
    assert found.tolist() == [[3, 3], [6, 1], [7, 6], [5, 4]]


def test_features_are_frozen(tiny_bert: Builder) -> None:
    """Equal to the classifier's, without dropout and without gradients."""
    model = tiny_bert(dropout=0.5).train()
    found = text_features(model, TEXTS, pad_id=0)
    again = text_features(model, TEXTS, pad_id=0)
    assert found.shape == (4, 8)
    assert torch.equal(found, again)
    assert not found.requires_grad
    assert model.training
    torch.testing.assert_close(found[1], model.eval().encode(TEXTS[1][None])[0, 0])


def test_a_pass_holds_every_text_once(generator: Generator) -> None:
    """Every place once in a pass, batches of like length, and another order in the next pass."""
    lengths = torch.randint(1, 60, (203,), generator=generator).tolist()
    first, second = (list(length_batches(lengths, 16, generator)) for _ in range(2))
    assert sorted(place for batch in first for place in batch) == list(range(203))
    assert sorted(map(len, first)) == [11, *[16] * 12]
    assert first != second
    spread = [max(lengths[i] for i in b) - min(lengths[i] for i in b) for b in first]
    assert sum(spread) / len(spread) < 20  # random batches of 16: about 52


@pytest.mark.parametrize("backbone", ["tiny_gpt", "tiny_bert", "tiny_t5"])
def test_gradient_reaches_what_is_read(backbone: str, request: pytest.FixtureRequest) -> None:
    """Embeddings, blocks and the new layer; neither heads nor a T5's decoder."""
    model = TextClassifier(request.getfixturevalue(backbone)(), 2).double()
    loss = classification_loss(TEXTS, [0, 1, 1, 0], batch_size=4, pad_id=0)
    torch.autograd.backward(loss(model, torch.Generator().manual_seed(1)))
    without = {name for name, p in model.named_parameters() if p.grad is None}
    assert all(n.startswith(("backbone.head.", "backbone.decoder.")) for n in without), without
    assert model.head.weight.grad is not None
    assert model.head.weight.grad.abs().min() > 0


@pytest.mark.parametrize(
    ("backbone", "relative"), [("tiny_gpt", False), ("tiny_bert", False), ("tiny_t5", True)]
)
def test_learns_four_texts(
    backbone: str, relative: bool, request: pytest.FixtureRequest, generator: Generator
) -> None:
    """Four labels are learned by heart, with the rates relative to sizes that a T5 needs too."""
    model = TextClassifier(request.getfixturevalue(backbone)(), 2).float()
    labels = [0, 1, 1, 0]
    loss = classification_loss(TEXTS, labels, batch_size=2, pad_id=0)
    lr = 0.05 if relative else 0.01
    fit(model, loss, OptimConfig(lr=lr, relative_lr=relative), n_steps=60, generator=generator)
    assert predict_classes(model, TEXTS, pad_id=0).tolist() == labels


def test_loss_by_hand(tiny_bert: Builder, generator: Generator) -> None:
    """All texts in one batch: the mean of the negative log-probabilities of their labels."""
    model, labels = TextClassifier(tiny_bert(), 2).double().eval(), [0, 1, 1, 0]
    value = classification_loss(TEXTS, labels, batch_size=9, pad_id=0)(model, generator)
    log_probs = [model(t[None]).log_softmax(-1)[0, k] for t, k in zip(TEXTS, labels, strict=True)]
    torch.testing.assert_close(value, -torch.stack(log_probs).mean())
    with pytest.raises(ValueError, match="4 texts, 1 labels"):
        classification_loss(TEXTS, [1], batch_size=2, pad_id=0)


def test_no_batch_below_one() -> None:
    """A negative size dealt out nothing, so a training would have waited for ever."""
    with pytest.raises(ValueError, match="batch_size >= 1, got -2"):
        list(length_batches([1, 2], -2, torch.Generator()))
