# SPDX-License-Identifier: MIT
"""The word-piece BERTs of the book: their rows, their loss, and what their cards say."""

import gzip
import hashlib

import pytest
import torch
import torch.nn.functional as F
from torch import Generator

from experiments.book_models import word_models
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
NAMES = [name for name in word_models.RECIPES if (CHECKPOINTS / f"{name}.safetensors").exists()]
MOST_BYTES = {"book_bert": 10_000_000, "bert_words": 3_000_000}
"""Model -> what a page may download, zipped."""


def test_texts_end_in_sep_and_rows_start_with_sentences() -> None:
    """By hand: three texts, six sentences, none of which starts at a mark or at [SEP]."""
    ids, starts = word_models.encode_texts(TEXTS, TOKENIZER)
    assert (ids == TOKENIZER.sep_id).sum() == 3
    assert ids[-1] == TOKENIZER.sep_id
    assert [TOKENIZER.decode(ids[s : s + 1]) for s in starts.tolist()] == [
        "hamlet", "that", "a", "who", "nay",
    ]  # fmt: skip


def test_rows(generator: Generator) -> None:
    """[CLS], then a sentence and what follows it in the text, never past its end."""
    text = word_models.encode_texts(TEXTS * 3, TOKENIZER)
    rows = word_models.draw_rows(text, 200, 9, TOKENIZER.cls_id, generator=generator)
    windows = text.ids.unfold(0, 8, 1)
    allowed = {tuple(windows[s].tolist()) for s in text.starts.tolist() if s < len(windows)}
    assert rows.shape == (200, 9)
    assert (rows[:, 0] == TOKENIZER.cls_id).all()
    assert {tuple(row[1:].tolist()) for row in rows} == allowed


def test_loss_reads_both_segments() -> None:
    """Computed again from the same draws, with the segments of the uncorrupted rows."""
    text = word_models.encode_texts(TEXTS, TOKENIZER)
    model = BERT(
        BERTConfig(
            TOKENIZER.vocab_size,
            **{**word_models.RECIPES["book_bert"]["shape"], "d_model": 20, "n_layers": 1},
        )
    ).eval()
    loss = word_models.RowObjective(text, TOKENIZER, batch_size=20, seq_len=16)
    value = loss(model, Generator().manual_seed(2))
    generator = Generator().manual_seed(2)
    rows = word_models.draw_rows(text, 20, 16, TOKENIZER.cls_id, generator=generator)
    read, labels, _ = corrupt_mlm(rows, generator=generator, **special_of(TOKENIZER))
    first_sep = (rows == TOKENIZER.sep_id).int().argmax(dim=1)
    has_sep = (rows == TOKENIZER.sep_id).any(dim=1)
    segments = ((torch.arange(16) > first_sep[:, None]) & has_sep[:, None]).long()
    assert segments.any()
    assert not segments.all(dim=1).any()
    logits = model(read, segment_ids=segments)
    again = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX)
    assert torch.allclose(value, again)


@pytest.mark.parametrize("name", word_models.RECIPES)
def test_every_step_reads_equally_many_tokens(name: str) -> None:
    """Windows grow up to the model's length, and the batches shrink with them."""
    recipe = word_models.RECIPES[name]
    sizes = [(stage.seq_len, stage.batch_size) for stage in stages_of(recipe)]
    assert {length * batch for length, batch in sizes} == {2048}
    assert sizes == sorted(sizes)
    assert sizes[-1][0] == recipe["shape"]["max_len"]


def test_no_unseen_text_is_trained_on() -> None:
    """No speech of twenty words and no review of another split is among the training texts."""
    seen = set(word_models.book_texts("train"))
    for split in ("validation", "test"):
        texts = [text for text in word_models.book_texts(split) if len(text.split()) >= 20]
        assert len(texts) > 1000
        assert not seen & set(texts)


@pytest.mark.parametrize("name", NAMES)
def test_card_names_the_text_and_the_recipe(name: str) -> None:
    """The card's hash is that of today's texts, and its recipe that of the script."""
    card = load_card(name)
    texts = word_models.book_texts("train")
    assert card["text_sha256"] == hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert card["recipe"] == word_models.RECIPES[name]
    assert card["objective"] == word_models.objective_of(card["recipe"])
    assert card["seed"] == word_models.SEED


@pytest.mark.parametrize("name", NAMES)
def test_size_and_vocabulary(name: str) -> None:
    """Two to five million parameters, few enough bytes, the stored vocabulary."""
    model, tokenizer = load_model(name)
    n_parameters = sum(p.numel() for p in model.parameters())
    assert 2_000_000 <= n_parameters == load_card(name)["n_parameters"] <= 5_000_000
    zipped = gzip.compress((CHECKPOINTS / f"{name}.safetensors").read_bytes())
    assert len(zipped) <= MOST_BYTES[name]
    assert tokenizer.tokens == TOKENIZER.tokens
    assert tokenizer.to_dict() == TOKENIZER.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_training_again_starts_with_the_recorded_losses(name: str) -> None:
    """The first steps of the recipe, run anew, give the losses on the card."""
    card, first = load_card(name), stages_of(word_models.RECIPES[name])[0]
    texts = {"train": word_models.encode_texts(word_models.book_texts("train"), TOKENIZER)}
    parts = word_models.make_parts(
        card["recipe"], TOKENIZER, texts | {"validation": texts["train"]}, card["seed"]
    )
    history = fit(
        parts.model,
        parts.make_loss(first),
        OptimConfig(
            n_warmup=N_RETRAINED,
            lr=first.lr * N_RETRAINED / first.n_warmup,
            optimizer=first.optimizer,
        ),
        n_steps=N_RETRAINED,
        generator=Generator().manual_seed(card["seed"]),
    )
    tolerance = 1e-2 if card["recipe"].get("bfloat16") else 2e-3
    assert history.losses == pytest.approx(card["first_losses_nats"][:N_RETRAINED], abs=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_stored_weights_reach_the_recorded_loss(name: str) -> None:
    """The weights on disk, judged again, give the last validation loss of the card."""
    (model, tokenizer), card = load_model(name), load_card(name)
    text = word_models.encode_texts(word_models.book_texts("validation"), tokenizer)
    length = stages_of(card["recipe"])[-1].seq_len
    rows, fixed = word_models.fixed_rows(text, tokenizer, length)
    loss = word_models.validation_loss(model, rows, fixed, tokenizer.sep_id)
    tolerance = 2e-2 if "n_bits" in card["recipe"] else 2e-3  # stored in 6 bits
    assert loss == pytest.approx(card["validation_loss_nats"][-1][1], abs=tolerance)
    assert loss < card["unigram_nats_validation"] - 1.5
