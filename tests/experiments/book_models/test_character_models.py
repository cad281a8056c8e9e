# SPDX-License-Identifier: MIT
"""The recorded models are what their cards say: same text, same start, same result."""

import hashlib
from typing import Any

import pytest
import torch
from torch import Generator

from experiments.book_models import character_models
from experiments.book_models.stages import stages_of
from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.training import OptimConfig, fit
from pretrain_lab.checkpoints import load_card, load_model
from pretrain_lab.paths import CHECKPOINTS

KINDS = {
    character_models.file_of(kind, seed): (kind, seed)
    for kind in character_models.RECIPES
    for seed in character_models.seeds_of(kind)
}
NAMES = [name for name in KINDS if (CHECKPOINTS / f"{name}.safetensors").exists()]
LIMITS = {
    **dict.fromkeys(("gpt", "bert", "t5_chars"), (200_000, 1_000_000)),
    **dict.fromkeys(("gpt_plays", "bert_plays"), (3_000_000, 3_000_000)),
    "t5": (1_000_000, 4_000_000),
}
"""Parameters, and bytes on disk: what a page of the book loads without a wait."""


def made(kind: str, seed: int, *, n_train: int | None = None) -> tuple[Any, Any]:
    """Make tokeniser and parts of a model as the script does."""
    tokenizer, recipe = character_models.tokenizer_of(kind), character_models.RECIPES[kind]
    text, validation = (character_models.corpus(split) for split in ("train", "validation"))
    return tokenizer, character_models.make_parts(
        kind, recipe, tokenizer, text[:n_train], validation, seed
    )


def test_every_recorded_model_is_tested() -> None:
    """The models of chapters 4 and 5 are there, each under a name of its own."""
    assert {"gpt_chars", "bert_chars", "t5_chars", "t5_subwords", "gpt_plays"} <= set(NAMES)
    assert len(KINDS) == sum(len(character_models.seeds_of(kind)) for kind in LIMITS)


@pytest.mark.parametrize("name", NAMES)
def test_card_names_the_text_and_the_recipe(name: str) -> None:
    """The card's hash is that of today's training plays, and its recipe that of the script."""
    card = load_card(name)
    text = character_models.corpus("train")
    assert card["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert card["n_train_characters"] == len(text)
    kind, seed = KINDS[name]
    assert card["recipe"] == character_models.RECIPES[kind]
    assert card["seed"] == seed
    assert card["objective"] == character_models.OBJECTIVES[kind]


@pytest.mark.parametrize("name", NAMES)
def test_small_enough_for_a_page(name: str) -> None:
    """Few parameters, few bytes, and the vocabulary that the script names."""
    model, tokenizer = load_model(name)
    kind, _ = KINDS[name]
    most_parameters, most_bytes = LIMITS[kind]
    n_parameters = sum(p.numel() for p in model.parameters())
    assert n_parameters == load_card(name)["n_parameters"] <= most_parameters
    assert (CHECKPOINTS / f"{name}.safetensors").stat().st_size <= most_bytes
    assert tokenizer.to_dict() == character_models.tokenizer_of(kind).to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_training_again_starts_with_the_recorded_losses(name: str) -> None:
    """The first steps of the recipe, run anew, give the losses on the card."""
    card, (kind, seed) = load_card(name), KINDS[name]
    n_steps = 3 if kind.endswith("_plays") else 8
    _, (model, make_loss, _) = made(kind, seed)
    first = stages_of(card["recipe"])[0]
    history = fit(
        model,
        make_loss(first),
        OptimConfig(
            n_warmup=n_steps,
            lr=first.lr * n_steps / first.n_warmup,
            final_lr=first.final_lr,
            weight_decay=first.weight_decay,
            relative_lr=first.relative_lr,
            optimizer=first.optimizer,
        ),
        n_steps=n_steps,
        generator=Generator().manual_seed(seed),
    )
    tolerance = 1e-2 if card["recipe"].get("bfloat16") else 2e-3
    assert history.losses == pytest.approx(card["first_losses_nats"][:n_steps], abs=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_stored_weights_reach_the_recorded_loss(name: str) -> None:
    """The weights on disk, judged again, give the last validation loss of the card."""
    model, _ = load_model(name)
    _, (_, _, evaluate) = made(*KINDS[name], n_train=1000)
    with torch.no_grad():
        loss = evaluate(model)
    tolerance = 5e-3 if "seeds" in load_card(name)["recipe"] else 2e-3  # stored in 6 bits
    assert loss == pytest.approx(load_card(name)["validation_loss_nats"][-1][1], abs=tolerance)


def test_an_extension_goes_on_after_the_stages_of_the_card() -> None:
    """Only what the card lacks is trained, and both parts are told as one training."""
    stages = [{"lr": 1.0}, {"lr": 0.5}, {"lr": 0.1}]
    before = {
        "recipe": {"stages": stages[:2]},
        "first_losses_nats": [3.0],
        "train_loss_every_100_steps_nats": [2.5, 2.0],
        "validation_loss_nats": [[150, 2.2], [200, 2.1]],
        "cpu_seconds_of_last_session": 60,
        "seconds_of_last_session": 40,
    }
    assert character_models.stages_done(before, {"stages": stages}) == 2
    for unlike in (stages[:2], stages[1:], [*stages[1:], stages[0]]):
        with pytest.raises(ValueError, match="after the 2 of the card"):
            character_models.stages_done(before, {"stages": unlike})
    later = {
        "train_loss_every_100_steps_nats": [1.9],
        "validation_loss_nats": [[100, 1.8]],
        "cpu_seconds_of_last_session": 30,
        "seconds_of_last_session": 20,
    }
    whole = character_models.joined_histories(before, later)
    assert whole["validation_loss_nats"] == [[150, 2.2], [200, 2.1], [300, 1.8]]
    assert whole["train_loss_every_100_steps_nats"] == [2.5, 2.0, 1.9]
    assert (whole["cpu_seconds_of_last_session"], whole["seconds_of_last_session"]) == (90, 60)
    assert whole["first_losses_nats"] == [3.0]
    assert "after step 200" in whole["extended"]


def test_the_t5_of_the_script_is_trained_by_its_stages() -> None:
    """Each stage gives a loss on its own windows, and a few steps of it lower the judged loss."""
    tokenizer, (model, make_loss, evaluate) = made("t5", 1, n_train=20_000)
    assert model.config.vocab_size == tokenizer.vocab_size
    first, *others = stages_of(character_models.RECIPES["t5"])
    assert others[-1].seq_len > first.seq_len  # short windows come first
    for stage in (first, *others):
        loss = make_loss(stage._replace(batch_size=2))
        assert loss.seq_len == stage.seq_len
        assert loss(model, Generator().manual_seed(0)).isfinite()
    before = evaluate(model)
    history = fit(
        model,
        make_loss(first._replace(batch_size=4)),
        OptimConfig(lr=5e-3),
        n_steps=4,
        generator=Generator().manual_seed(0),
    )
    assert len(history.losses) == 4
    assert evaluate(model) < before


def test_a_bert_begins_with_the_weights_of_a_gpt() -> None:
    """Its blocks and tokens are the GPT's, its head is not; a GPT has no place for a BERT's."""
    sizes = {"d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 6, "positions": "rotary",
             "norm": "pre", "norm_eps": 1e-5}  # fmt: skip
    bert, gpt = BERT(BERTConfig(11, **sizes)), GPT(GPTConfig(11, **sizes))
    head = bert.head.dense.weight.clone()
    character_models.begin_with(bert, gpt)
    ids = torch.randint(11, (3, 6), generator=Generator().manual_seed(0))
    last = torch.tensor([[0, 0, 0, 0, 0, 1]]).bool()
    assert torch.allclose(bert.encode(ids[:, :1]), gpt.encode(ids[:, :1]), atol=1e-4)
    assert not torch.allclose(bert.encode(ids)[:, 0], gpt.encode(ids)[:, 0]), "no triangle"
    assert torch.allclose(bert.encode(ids)[last.expand(3, -1)], gpt.encode(ids)[:, -1], atol=1e-4)
    assert torch.equal(bert.head.dense.weight, head)
    before = gpt.embeddings.token.weight.clone()
    with pytest.raises(ValueError, match=r"got one without .*head\.dense\.weight"):
        character_models.begin_with(gpt, BERT(BERTConfig(11, **sizes)))
    assert torch.equal(gpt.embeddings.token.weight, before)
