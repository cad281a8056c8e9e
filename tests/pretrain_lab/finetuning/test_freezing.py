# SPDX-License-Identifier: MIT
"""Freezing by patterns of names, and taking out and putting back what was trained."""

import pytest
import torch
from torch import nn

from pretrain.bert import BERT, BERTConfig
from pretrain_lab.finetuning.freezing import (
    BIASES,
    FULL,
    count_parameters,
    freeze_except,
    last_layers,
    load_trained,
    swapped_weights,
    trained_state,
)

OURS = "blocks.{}.*"
IDS = torch.tensor([[1, 2, 3, 4, 5, 6]])


@pytest.fixture
def model() -> BERT:
    """A small encoder of three blocks."""
    return BERT(BERTConfig(11, d_model=8, n_layers=3, n_heads=2, max_len=12))


def step(model: nn.Module) -> set[str]:
    """Take one step of plain descent, and name what moved."""
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    model(IDS).square().mean().backward()
    optimizer.step()
    return {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}


@pytest.mark.parametrize(
    "patterns", [("head.*",), ("head.*", *last_layers(2, 3, form=OURS)), BIASES, FULL]
)
def test_only_the_named_parameters_move(model: BERT, patterns: tuple[str, ...]) -> None:
    """What moves in a step is what `freeze_except` returned; the rest has no gradient at all."""
    trained = freeze_except(model, patterns)
    moved = step(model)
    assert moved <= set(trained)
    # The bias of the keys shifts all scores of a query alike, so parts may rightly have gradient 0.
    assert len(moved) >= len(trained) - 3
    frozen = [p for name, p in model.named_parameters() if name not in trained]
    assert all(p.grad is None for p in frozen)


def test_what_the_patterns_name(model: BERT) -> None:
    """Biases end in bias; the last two blocks are numbers 1 and 2; all is all."""
    names = [name for name, _ in model.named_parameters()]
    assert freeze_except(model, BIASES) == [name for name in names if name.endswith("bias")]
    trained = freeze_except(model, last_layers(2, 3, form=OURS))
    assert {name.split(".")[1] for name in trained} == {"1", "2"}
    assert freeze_except(model, FULL) == names
    assert last_layers(0, 3) == ()


def test_counts(model: BERT) -> None:
    """By hand: each norm has 2 D numbers; a shared matrix counts once."""
    assert count_parameters(model) == sum(p.numel() for p in model.parameters())
    trained = freeze_except(model, ["blocks.*_norm.*"])
    assert len(trained) == 3 * 2 * 2
    assert count_parameters(model, trained_only=True) == 3 * 2 * (2 * 8)


def test_a_pattern_that_fits_nothing_is_refused(model: BERT) -> None:
    """A misspelled name must not freeze everything in silence."""
    with pytest.raises(ValueError, match=r"\['classifier\.\*'\] fit none"):
        freeze_except(model, ["head.*", "classifier.*"])
    with pytest.raises(ValueError, match=r"n_trained in 0\.\.3, got 4"):
        last_layers(4, 3)


def test_two_tasks_on_one_backbone(model: BERT) -> None:
    """Each task's trained part gives its outputs back, and the backbone is the same for both."""
    freeze_except(model, ["head.*", *BIASES])
    first, outputs = trained_state(model), model(IDS)
    step(model)
    second, changed = trained_state(model), model(IDS)
    assert not torch.equal(outputs, changed)
    with swapped_weights(model, first):
        assert torch.equal(model(IDS), outputs)
    assert torch.equal(model(IDS), changed)
    with pytest.raises(RuntimeError, match="inside"), swapped_weights(model, first):
        raise RuntimeError("inside")
    assert all(torch.equal(p, second[n]) for n, p in trained_state(model).items())


def test_the_copy_is_a_copy(model: BERT) -> None:
    """Training on does not change what was taken out."""
    freeze_except(model, ["head.*"])
    state = trained_state(model)
    kept = {name: p.clone() for name, p in state.items()}
    step(model)
    assert all(torch.equal(state[name], kept[name]) for name in kept)


def test_another_tasks_parts_are_refused(model: BERT) -> None:
    """Names and shapes must fit, and nothing is changed when one does not."""
    freeze_except(model, ["head.*"])
    state = trained_state(model)
    freeze_except(model, ["head.norm.*"])
    with pytest.raises(ValueError, match=r"missing \[\], unexpected \['head\.dense\.bias'"):
        load_trained(model, state)
    before = trained_state(model)
    with pytest.raises(ValueError, match=r"\['head\.norm\.bias'\] have others"):
        load_trained(model, {**{n: p + 1 for n, p in before.items()},
                             "head.norm.bias": torch.zeros(3)})  # fmt: skip
    assert all(torch.equal(p, before[n]) for n, p in trained_state(model).items())
