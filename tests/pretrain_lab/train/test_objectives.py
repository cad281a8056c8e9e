# SPDX-License-Identifier: MIT
"""The registry: the core's objectives, one sample at a time."""

import inspect
from typing import Any

import pytest
import torch

from pretrain.objectives import MaskedLM, TextObjective
from pretrain.span_corruption import SpanCorruption
from pretrain.t5 import T5
from pretrain_lab.paths import ROOT
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.train.data import RandomWindows
from pretrain_lab.train.objectives import (
    OBJECTIVES,
    MaskedOptions,
    SpansOptions,
    count_predictions,
    make_batch,
    make_objective,
)
from pretrain_lab.train.options import ConfigError, TokenizerOptions
from pretrain_lab.train.seeds import derive_generator
from pretrain_lab.train.tokenizer import make_tokenizer

SEQ_LEN = 32
TOKENIZER = make_tokenizer(
    TokenizerOptions(kind="characters", n_sentinels=9), ["abcdefgh"], with_sentinels=True
)
TEXT = TOKENIZER.encode("abcdefgh" * 50)


def make(kind: str) -> TextObjective:
    """Make an objective with its defaults, but for rows of different lengths."""
    changes = {"random_roll": True} if kind == "spans" else {}
    return make_objective(OBJECTIVES[kind].options(kind=kind, **changes), TOKENIZER, SEQ_LEN)


def samples(objective: TextObjective, numbers: list[int]) -> list[Any]:
    """Draw windows and generators of some samples of step 3."""
    windows = RandomWindows(TEXT, window_len=objective.window_len)
    generators = [derive_generator(0, 3, number) for number in numbers]
    return [(windows.read(0, generator), generator) for generator in generators]


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_samples_depend_on_their_seeds_alone(kind: str) -> None:
    """Alone, in pairs, or in another order: the same inputs and labels, up to padding."""
    objective = make(kind)
    whole = make_batch(objective, samples(objective, list(range(64))), pad_id=TOKENIZER.pad_id)
    for numbers in ([5], [9, 4]):
        batch = make_batch(objective, samples(objective, numbers), pad_id=TOKENIZER.pad_id)
        for row, number in zip(zip(*batch, strict=True), numbers, strict=True):
            for found, expected in zip(row, (part[number] for part in whole), strict=True):
                assert torch.equal(found, expected[: len(found)])


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_the_loss_of_a_batch_is_the_sum_of_its_rows(kind: str) -> None:
    """Rows are those of the core's class, and collating them changes nothing."""
    objective, spec = make(kind), OBJECTIVES[kind]
    limit = {} if spec.model is T5 else {"max_len": SEQ_LEN}
    sizes = {"d_model": 8, "n_layers": 1, "n_heads": 2, **limit}
    model = spec.model(spec.config(TOKENIZER.vocab_size, **sizes)).double().eval()
    batch = make_batch(objective, samples(objective, list(range(8))), pad_id=TOKENIZER.pad_id)
    rows = [
        objective.corrupt(window[None], generator)
        for window, generator in samples(objective, list(range(8)))
    ]
    assert kind != "spans" or len({row.labels.shape for row in rows}) == 2
    assert count_predictions(batch) == sum(map(count_predictions, rows))
    found = objective.loss_sum(model, batch)
    assert torch.isclose(found, torch.stack([objective.loss_sum(model, r) for r in rows]).sum())


@pytest.mark.parametrize(
    ("options", "core"), [(MaskedOptions, MaskedLM), (SpansOptions, SpanCorruption)]
)
def test_options_have_the_names_and_defaults_of_the_core(options: Any, core: Any) -> None:
    """So that a configuration can be read beside a chapter."""
    arguments = inspect.signature(core).parameters
    for name, field in options.model_fields.items():
        assert name == "kind" or arguments[name].default == field.default, name


def test_what_does_not_fit_a_vocabulary_is_refused() -> None:
    """Before the first batch, not at it."""
    halves = SpansOptions(kind="spans", noise_density=0.5, mean_noise_span_length=2.0)
    with pytest.raises(ConfigError, match=r"with 4 sentinels <extra_id_n>.* of 12 tokens, got 0"):
        make_objective(halves, CharTokenizer("ab"), 12)
    shares = MaskedOptions(kind="masked", mask_replace_prob=0.8, random_replace_prob=0.3)
    with pytest.raises(ConfigError, match=r'kind = "masked": .* at most 1, got 0\.15, 0\.8 and 0'):
        make_objective(shares, TOKENIZER, 12)


def test_an_objective_stands_in_one_module() -> None:
    """No other part of the command names one, so a new one changes no line of another module."""
    for path in (ROOT / "code" / "pretrain_lab" / "train").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        named = [kind for kind in OBJECTIVES if f'"{kind}"' in text]
        assert named == (list(OBJECTIVES) if path.name == "objectives.py" else []), path.name
