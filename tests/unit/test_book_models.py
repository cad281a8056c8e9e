"""The recorded models are what their cards say: same text, same start, same result."""

import hashlib
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from torch import Generator

from pretrain.checkpoints import load_card, load_model
from pretrain.cleaning import PLAY_ALPHABET
from pretrain.paths import CHECKPOINTS
from pretrain.tokenization import CharTokenizer
from pretrain.training import fit

NAMES = sorted(path.stem for path in CHECKPOINTS.glob("*_chars.safetensors"))
N_RETRAINED = 8


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    """Load the script that trained the models."""
    return load_script("train_book_models")


def test_every_recorded_model_is_tested() -> None:
    """The GPT of chapter 4 is there; a model without a card would fail below."""
    assert "gpt_chars" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_card_names_the_text_and_the_recipe(name: str, script: ModuleType) -> None:
    """The card's hash is that of today's training plays, and its recipe that of the script."""
    card = load_card(name)
    text = script.corpus("train")
    assert card["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert card["n_train_characters"] == len(text)
    assert card["recipe"] == script.RECIPES[name.removesuffix("_chars")]
    assert card["seed"] == script.SEED


@pytest.mark.parametrize("name", NAMES)
def test_small_enough_for_a_page(name: str) -> None:
    """At most 200,000 parameters, and one megabyte on disk."""
    model, tokenizer = load_model(name)
    n_parameters = sum(p.numel() for p in model.parameters())
    assert n_parameters == load_card(name)["n_parameters"] <= 200_000
    assert (CHECKPOINTS / f"{name}.safetensors").stat().st_size <= 1_000_000
    assert set(tokenizer.characters) == set(PLAY_ALPHABET)


@pytest.mark.parametrize("name", NAMES)
def test_training_again_starts_with_the_recorded_losses(name: str, script: ModuleType) -> None:
    """The first steps of the recipe, run anew, give the losses on the card."""
    card, kind = load_card(name), name.removesuffix("_chars")
    tokenizer = CharTokenizer(sorted(PLAY_ALPHABET))
    torch.manual_seed(script.SEED)
    parts = script.gpt_parts if kind == "gpt" else script.bert_parts
    train = tokenizer.encode(script.corpus("train"))
    model, make_loss, _ = parts(tokenizer, train, train[:1000])
    first = script.stages(card["recipe"])[0]
    loss = make_loss(first.seq_len, first.batch_size)
    short = {"n_steps": N_RETRAINED, "n_warmup": N_RETRAINED}
    short["lr"] = first.fit["lr"] * N_RETRAINED / first.fit["n_warmup"]  # the same rising rates
    history = fit(model, loss, generator=Generator().manual_seed(script.SEED), **short)
    assert history.losses == pytest.approx(card["first_losses_nats"][:N_RETRAINED], abs=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_stored_weights_reach_the_recorded_loss(name: str, script: ModuleType) -> None:
    """The weights on disk, judged again, give the last validation loss of the card."""
    model, tokenizer = load_model(name)
    kind = name.removesuffix("_chars")
    parts = script.gpt_parts if kind == "gpt" else script.bert_parts
    validation = tokenizer.encode(script.corpus("validation"))[:64_000]
    _, _, evaluate = parts(tokenizer, validation, validation)
    with torch.no_grad():
        loss = evaluate(model)
    assert loss == pytest.approx(load_card(name)["validation_loss_nats"][-1][1], abs=2e-3)
