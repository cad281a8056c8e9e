# SPDX-License-Identifier: MIT
"""The word-piece BERT of the book: its rows, its loss, and, once trained, what its card says."""

import hashlib

import pytest
import torch
import torch.nn.functional as F
from torch import Generator

from experiments.book_models import book_bert
from experiments.book_models.stages import stages_of
from experiments.common.special_ids import special_of
from pretrain.bert import BERT, BERTConfig
from pretrain.objectives import IGNORE_INDEX, corrupt_mlm
from pretrain.training import OptimConfig, fit
from pretrain_lab.checkpoints import load_card, load_model
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tokenizers.subwords import load_tokenizer

TOKENIZER = load_tokenizer("book_wordpiece")
TEXTS = [
    "HAMLET:\nTo be, or not to be. That is the question!",
    "A dull film.",
    "Who's there? Nay, answer me.",
]
N_RETRAINED = 4
STAGES = stages_of(book_bert.RECIPE)


def test_texts_end_in_sep_and_rows_start_with_sentences() -> None:
    """By hand: three texts, six sentences, none of which starts at a mark or at [SEP]."""
    ids, starts = book_bert.encode_texts(TEXTS, TOKENIZER)
    assert (ids == TOKENIZER.sep_id).sum() == 3
    assert ids[-1] == TOKENIZER.sep_id
    assert [TOKENIZER.decode(ids[s : s + 1]) for s in starts.tolist()] == [
        "hamlet", "that", "a", "who", "nay",
    ]  # fmt: skip


def test_rows(generator: Generator) -> None:
    """[CLS], then a sentence and what follows it in the text, never past its end."""
    text = book_bert.encode_texts(TEXTS * 3, TOKENIZER)
    rows = book_bert.draw_rows(text, 200, 9, TOKENIZER.cls_id, generator=generator)
    windows = text.ids.unfold(0, 8, 1)
    allowed = {tuple(windows[s].tolist()) for s in text.starts.tolist() if s < len(windows)}
    assert rows.shape == (200, 9)
    assert (rows[:, 0] == TOKENIZER.cls_id).all()
    assert {tuple(row[1:].tolist()) for row in rows} == allowed


def test_loss_reads_both_segments() -> None:
    """Computed again from the same draws, with the segments of the uncorrupted rows."""
    text = book_bert.encode_texts(TEXTS, TOKENIZER)
    model = BERT(
        BERTConfig(TOKENIZER.vocab_size, **{**book_bert.SHAPE, "d_model": 20, "n_layers": 1})
    ).eval()
    loss = book_bert.RowObjective(text, TOKENIZER, batch_size=20, seq_len=16)
    value = loss(model, Generator().manual_seed(2))
    generator = Generator().manual_seed(2)
    rows = book_bert.draw_rows(text, 20, 16, TOKENIZER.cls_id, generator=generator)
    read, labels, _ = corrupt_mlm(rows, generator=generator, **special_of(TOKENIZER))
    first_sep = (rows == TOKENIZER.sep_id).int().argmax(dim=1)
    has_sep = (rows == TOKENIZER.sep_id).any(dim=1)
    segments = ((torch.arange(16) > first_sep[:, None]) & has_sep[:, None]).long()
    assert segments.any()
    assert not segments.all(dim=1).any()
    logits = model(read, segment_ids=segments)
    again = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX)
    assert torch.allclose(value, again)


def test_every_step_reads_equally_many_tokens() -> None:
    """Windows grow up to the model's length, and the batches shrink with them."""
    sizes = [(stage.seq_len, stage.batch_size) for stage in STAGES]
    assert {length * batch for length, batch in sizes} == {2048}
    assert sizes == sorted(sizes)
    assert sizes[-1][0] == book_bert.SHAPE["max_len"]


def test_no_unseen_text_is_trained_on() -> None:
    """No speech of twenty words and no review of another split is among the training texts."""
    seen = set(book_bert.book_texts("train"))
    for split in ("validation", "test"):
        texts = [text for text in book_bert.book_texts(split) if len(text.split()) >= 20]
        assert len(texts) > 1000
        assert not seen & set(texts)


def test_card_names_the_text_and_the_recipe() -> None:
    """The card's hash is that of today's texts, and its recipe that of the script."""
    card = load_card("book_bert")
    texts = book_bert.book_texts("train")
    assert card["text_sha256"] == hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert card["recipe"] == book_bert.RECIPE
    assert card["seed"] == book_bert.SEED


def test_size_and_vocabulary() -> None:
    """Two to five million parameters, ten megabytes at most, the stored vocabulary."""
    model, tokenizer = load_model("book_bert")
    n_parameters = sum(p.numel() for p in model.parameters())
    assert 2_000_000 <= n_parameters == load_card("book_bert")["n_parameters"] <= 5_000_000
    assert (CHECKPOINTS / "book_bert.safetensors").stat().st_size <= 10_000_000
    assert tokenizer.tokens == TOKENIZER.tokens
    assert tokenizer.to_dict() == TOKENIZER.to_dict()


@pytest.mark.slow
def test_training_again_starts_with_the_recorded_losses() -> None:
    """The first steps of the recipe, run anew, give the losses on the card."""
    card, first = load_card("book_bert"), STAGES[0]
    text = book_bert.encode_texts(book_bert.book_texts("train"), TOKENIZER)
    torch.manual_seed(book_bert.SEED)
    model = BERT(BERTConfig(TOKENIZER.vocab_size, **book_bert.SHAPE))
    history = fit(
        model,
        book_bert.make_loss(text, TOKENIZER, first),
        OptimConfig(
            n_warmup=N_RETRAINED,
            lr=first.lr * N_RETRAINED / first.n_warmup,
            optimizer=first.optimizer,
        ),
        n_steps=N_RETRAINED,
        generator=Generator().manual_seed(book_bert.SEED),
    )
    assert history.losses == pytest.approx(card["first_losses_nats"][:N_RETRAINED], abs=1e-2)


@pytest.mark.slow
def test_stored_weights_reach_the_recorded_loss() -> None:
    """The weights on disk, judged again, give the last validation loss of the card."""
    model, tokenizer = load_model("book_bert")
    text = book_bert.encode_texts(book_bert.book_texts("validation"), tokenizer)
    rows, fixed = book_bert.fixed_rows(text, tokenizer, STAGES[-1].seq_len)
    loss = book_bert.validation_loss(model, rows, fixed, tokenizer.sep_id)
    card = load_card("book_bert")
    assert loss == pytest.approx(card["validation_loss_nats"][-1][1], abs=5e-3)
    assert loss < card["unigram_nats_validation"] - 1.5
