# SPDX-License-Identifier: MIT
"""The second objective of BERT: its layers, its loss, and what they are not."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Generator

from pretrain.bert import BERT, BERTConfig
from pretrain.objectives import IGNORE_INDEX, corrupt_mlm
from pretrain.training import OptimConfig, fit
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.finetuning.next_sentence import (
    NextSentenceBERT,
    next_sentence_loss,
    pack_segments,
)
from pretrain_lab.tasks.sentence_pairs import Pairs, Segments, find_segments, next_sentence_pairs
from pretrain_lab.tokenizers.segments import pack_ids
from pretrain_lab.tokenizers.subwords import load_tokenizer

BOOK = load_tokenizer("plays_bpe")
ROLES = {"cls_id": 1, "sep_id": 2, "pad_id": 0}
SMALL = {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_len": 32, "n_segments": 2}


@pytest.fixture(scope="module")
def segments() -> Segments:
    """Give segments of two plays, 12 tokens at most."""
    plays = load_shakespeare("validation")[:2]
    return find_segments(
        [[BOOK.encode(speech.text) for speech in play.speeches[:60]] for play in plays], 12
    )


@pytest.mark.parametrize(
    ("shape", "encoder", "whole"),
    [((12, 768, 12), 109_482_240, 110_106_428), ((24, 1024, 16), 335_141_888, 336_226_108)],
    ids=["base", "large"],
)
def test_published_counts(shape: tuple[int, int, int], encoder: int, whole: int) -> None:
    """Base and Large, encoder with pooler and with both heads, as released."""
    n_layers, d_model, n_heads = shape
    with torch.device("meta"):
        sizes = {"d_model": d_model, "n_layers": n_layers, "n_heads": n_heads}
        bert = BERT(BERTConfig(30_522, max_len=512, n_segments=2, **sizes))
        model = NextSentenceBERT(bert)
    assert sum(p.numel() for p in model.parameters()) == whole
    heads = {id(p) for p in bert.head.parameters()} | {id(p) for p in model.classifier.parameters()}
    assert sum(p.numel() for p in model.parameters() if id(p) not in heads) == encoder


def test_forward_by_hand(tiny_bert: Callable[..., BERT]) -> None:
    """Tanh of a dense layer at [CLS], then the classes; tokens as the BERT alone scores them."""
    model = NextSentenceBERT(tiny_bert(n_segments=2)).double()
    batch = pack_ids(
        [(torch.tensor([7, 8]), torch.tensor([9])), (torch.tensor([5]), torch.tensor([6]))], **ROLES
    )
    logits, classes = model(batch)
    states = model.bert.encode(batch.ids, batch.attention_mask, batch.segment_ids)
    pooled = torch.tanh(states[:, 0] @ model.pooler.weight.T + model.pooler.bias)
    assert torch.allclose(classes, pooled @ model.classifier.weight.T + model.classifier.bias)
    assert torch.allclose(logits, model.bert(batch.ids, batch.attention_mask, batch.segment_ids))
    masked = batch.ids == 9
    assert torch.allclose(model(batch, masked_positions=masked)[0], logits[masked])


def test_two_new_layers() -> None:
    """Drawn as widely as the BERT's own, without biases at first; as many classes as asked for."""
    bert = BERT(BERTConfig(9, **{**SMALL, "d_model": 64}, init_std=0.5))
    model = NextSentenceBERT(bert)
    assert model.config is bert.config
    assert model.classifier.weight.shape == (2, 64)
    assert model.pooler.weight.std().item() == pytest.approx(0.5, rel=0.06)
    assert 0.4 < model.classifier.weight.std().item() < 0.6
    assert not model.pooler.bias.any()
    assert not model.classifier.bias.any()
    wider = NextSentenceBERT(bert, n_classes=3)
    assert wider.classifier.weight.shape == (3, 64)


def test_padding_and_partner_do_not_leak(tiny_bert: Callable[..., BERT]) -> None:
    """A pair's classes are the same alone and in a batch; they change with the second segment."""
    model = NextSentenceBERT(tiny_bert(n_segments=2)).double()
    pair, other = (torch.tensor([7, 8]), torch.tensor([9])), (torch.tensor([5] * 3),) * 2
    alone = model(pack_ids([pair], **ROLES))[1][0]
    assert torch.allclose(alone, model(pack_ids([pair, other], **ROLES))[1][0])
    swapped = model(pack_ids([pair[::-1]], **ROLES))[1][0]
    assert not torch.allclose(alone, swapped, atol=1e-4)


@pytest.mark.parametrize("pairing", ["next", "none"])
def test_loss_is_the_sum_of_two_means(segments: Segments, pairing: str) -> None:
    """Computed again from the same draws: nats per token, and for pairs nats per pair."""
    model = NextSentenceBERT(BERT(BERTConfig(BOOK.vocab_size, **SMALL))).eval()
    loss = next_sentence_loss(segments, BOOK, batch_size=5, pairing=pairing)
    value = loss(model, Generator().manual_seed(4))
    if pairing == "none":
        assert abs(value.item() - 8.0) < 0.4  # ln 3000, and no second term
        return
    generator = Generator().manual_seed(4)
    pairs = next_sentence_pairs(segments, 5, generator=generator)
    batch = pack_segments(segments, pairs, BOOK)
    read, labels, _ = corrupt_mlm(
        batch.ids, mask_id=BOOK.mask_id, vocab_size=BOOK.vocab_size,
        special_ids=BOOK.special_ids, generator=generator,
    )  # fmt: skip
    logits, classes = model(batch._replace(ids=read))
    masked = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX)
    assert torch.allclose(value, masked + F.cross_entropy(classes, pairs.labels))


def test_few_selected_tokens(segments: Segments) -> None:
    """A single one is its own mean; without any, the loss is that of the pair alone."""
    model = NextSentenceBERT(BERT(BERTConfig(BOOK.vocab_size, **SMALL))).eval()
    loss = next_sentence_loss(segments, BOOK, batch_size=1, mlm_probability=0.05)
    met = set()
    for seed in range(30):
        generator = Generator().manual_seed(seed)
        pairs = next_sentence_pairs(segments, 1, generator=generator)
        batch = pack_segments(segments, pairs, BOOK)
        read, labels, _ = corrupt_mlm(
            batch.ids, mask_id=BOOK.mask_id, vocab_size=BOOK.vocab_size,
            special_ids=BOOK.special_ids, generator=generator, mlm_probability=0.05,
        )  # fmt: skip
        selected = labels != IGNORE_INDEX
        if selected.sum() > 1:
            continue
        logits, classes = model(batch._replace(ids=read))
        expected = F.cross_entropy(classes, pairs.labels)
        if selected.any():
            expected = expected + F.cross_entropy(logits[selected], labels[selected])
        assert torch.allclose(loss(model, Generator().manual_seed(seed)), expected)
        met.add(int(selected.sum()))
    assert met == {0, 1}


def test_every_parameter_learns(segments: Segments, generator: Generator) -> None:
    """The two losses together reach all of them; without pairs the classifier stays."""
    model = NextSentenceBERT(BERT(BERTConfig(BOOK.vocab_size, **SMALL)))
    next_sentence_loss(segments, BOOK, batch_size=8)(model, generator).backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())
    model.zero_grad()
    next_sentence_loss(segments, BOOK, batch_size=8, pairing="none")(model, generator).backward()
    assert model.classifier.weight.grad is None


@pytest.mark.parametrize("pairing", ["next", "order"])
def test_it_learns_a_rule(pairing: str, generator: Generator) -> None:
    """Documents of one token each betray a false pair; falling numbers betray a swapped one."""
    if pairing == "next":
        documents = [[torch.full((2,), 10 + d)] * 6 for d in range(4)]
    else:
        documents = [[torch.full((2,), 10 + i) for i in range(6)]]
    toy = find_segments(documents, 2)
    model = NextSentenceBERT(BERT(BERTConfig(BOOK.vocab_size, **SMALL, init_std=0.3)))
    loss = next_sentence_loss(toy, BOOK, batch_size=32, pairing=pairing, mlm_probability=0.01)
    fit(model, loss, OptimConfig(lr=3e-3, n_warmup=10), n_steps=300, generator=generator)
    check = next_sentence_loss(toy, BOOK, batch_size=256, pairing=pairing, mlm_probability=1e-9)
    assert check(model, generator).item() < 0.2  # ln 2 = 0.69 before


def test_bad_arguments_are_named(segments: Segments) -> None:
    """A BERT with one segment, and an unknown pairing."""
    with pytest.raises(ValueError, match="n_segments >= 2, got 0"):
        NextSentenceBERT(BERT(BERTConfig(9, **{**SMALL, "n_segments": 0})))
    with pytest.raises(ValueError, match=r"\['next', 'none', 'order'\], got 'last'"):
        next_sentence_loss(segments, BOOK, batch_size=2, pairing="last")
    uneven = Pairs(torch.tensor([0, 1]), torch.tensor([1]), torch.tensor([0, 0]))
    with pytest.raises(ValueError, match="zip"):
        pack_segments(segments, uneven, BOOK)
