# SPDX-License-Identifier: MIT
"""The recorded models are what their cards say: same text, same start, same result."""

import hashlib
from typing import Any

import pytest
import torch
from torch import Generator

from experiments.book_models import character_models
from pretrain.training import OptimConfig, fit
from pretrain_lab.checkpoints import load_card, load_model
from pretrain_lab.paths import CHECKPOINTS

KINDS = {"gpt_chars": "gpt", "bert_chars": "bert", "t5_chars": "t5_chars", "t5_subwords": "t5"}
NAMES = [name for name in KINDS if (CHECKPOINTS / f"{name}.safetensors").exists()]
LIMITS = {
    **dict.fromkeys(("gpt", "bert", "t5_chars"), (200_000, 1_000_000)),
    "t5": (1_000_000, 4_000_000),
}
"""Parameters, and bytes on disk: what a page of the book loads without a wait."""
N_RETRAINED = 8


def made(kind: str, *, n_train: int | None = None) -> tuple[Any, Any]:
    """Make tokeniser and parts of a model as the script does."""
    tokenizer = character_models.tokenizer_of(kind)
    train = tokenizer.encode(character_models.corpus("train")[:n_train])
    validation = tokenizer.encode(character_models.corpus("validation"))[
        : character_models.N_VALIDATION
    ]
    torch.manual_seed(character_models.SEED)
    return tokenizer, character_models.PARTS[kind](tokenizer, train, validation)


def test_every_recorded_model_is_tested() -> None:
    """The models of chapters 4 and 5 are there, and the script names those that are tested."""
    assert {"gpt_chars", "bert_chars", "t5_chars"} <= set(NAMES)
    assert {kind: name for name, kind in KINDS.items()} == character_models.FILE_NAMES


@pytest.mark.parametrize("name", NAMES)
def test_card_names_the_text_and_the_recipe(name: str) -> None:
    """The card's hash is that of today's training plays, and its recipe that of the script."""
    card = load_card(name)
    text = character_models.corpus("train")
    assert card["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert card["n_train_characters"] == len(text)
    assert card["recipe"] == character_models.RECIPES[KINDS[name]]
    assert card["seed"] == character_models.SEED
    assert card["objective"] == character_models.OBJECTIVES[KINDS[name]]


@pytest.mark.parametrize("name", NAMES)
def test_small_enough_for_a_page(name: str) -> None:
    """Few parameters, few bytes, and the vocabulary that the script names."""
    model, tokenizer = load_model(name)
    most_parameters, most_bytes = LIMITS[KINDS[name]]
    n_parameters = sum(p.numel() for p in model.parameters())
    assert n_parameters == load_card(name)["n_parameters"] <= most_parameters
    assert (CHECKPOINTS / f"{name}.safetensors").stat().st_size <= most_bytes
    assert tokenizer.to_dict() == character_models.tokenizer_of(KINDS[name]).to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_training_again_starts_with_the_recorded_losses(name: str) -> None:
    """The first steps of the recipe, run anew, give the losses on the card."""
    card = load_card(name)
    _, (model, make_loss, _) = made(KINDS[name])
    first = character_models.stages(card["recipe"])[0]
    loss = make_loss(first.seq_len, first.batch_size)
    history = fit(
        model,
        loss,
        OptimConfig(
            n_warmup=N_RETRAINED,
            lr=first.lr * N_RETRAINED / first.n_warmup,
            final_lr=first.final_lr,
            weight_decay=first.weight_decay,
            relative_lr=first.relative_lr,
        ),
        n_steps=N_RETRAINED,
        generator=Generator().manual_seed(character_models.SEED),
    )
    assert history.losses == pytest.approx(card["first_losses_nats"][:N_RETRAINED], abs=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_stored_weights_reach_the_recorded_loss(name: str) -> None:
    """The weights on disk, judged again, give the last validation loss of the card."""
    model, _ = load_model(name)
    _, (_, _, evaluate) = made(KINDS[name], n_train=1000)
    with torch.no_grad():
        loss = evaluate(model)
    assert loss == pytest.approx(load_card(name)["validation_loss_nats"][-1][1], abs=2e-3)


def test_the_t5_of_the_script_is_trained_by_its_stages() -> None:
    """Each stage gives a loss on its own windows, and a few steps of it lower the judged loss."""
    tokenizer, (model, make_loss, evaluate) = made("t5", n_train=20_000)
    assert model.config.vocab_size == tokenizer.vocab_size
    first, *others = character_models.stages(character_models.RECIPES["t5"])
    assert others[-1].seq_len > first.seq_len  # short windows come first
    for stage in (first, *others):
        loss = make_loss(stage.seq_len, 2)
        assert loss.seq_len == stage.seq_len
        assert loss(model, Generator().manual_seed(0)).isfinite()
    before = evaluate(model)
    history = fit(
        model,
        make_loss(16, 4),
        OptimConfig(lr=5e-3),
        n_steps=4,
        generator=Generator().manual_seed(0),
    )
    assert len(history.losses) == 4
    assert evaluate(model) < before
