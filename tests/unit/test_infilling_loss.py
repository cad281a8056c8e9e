# SPDX-License-Identifier: MIT
"""Batches of which some windows are rearranged, and a loss that knows nothing of it."""

from collections.abc import Callable

import pytest
import torch
from torch import Generator

from pretrain.gpt import GPT
from pretrain.infilling import ORDERS, Markers, restore_middle
from pretrain.infilling_loss import fim_batch, fim_loss, random_cuts
from pretrain.objectives import causal_lm_loss

MARKERS = Markers(prefix=10, suffix=9, middle=8, end=7)


def seeded(seed: int = 0) -> Generator:
    """Give a generator."""
    return torch.Generator().manual_seed(seed)


def test_cuts_are_uniform() -> None:
    """Two places in order, each pair (a, b) with a < b twice as likely as (a, a)."""
    n, length = 40_000, 3
    cuts = random_cuts(n, length, generator=seeded())
    assert bool((cuts[:, 0] <= cuts[:, 1]).all())
    for a in range(length + 1):
        for b in range(a, length + 1):
            p = (1 if a == b else 2) / (length + 1) ** 2
            share = (cuts == torch.tensor([a, b])).all(dim=1).double().mean().item()
            assert abs(share - p) < 4 * (p * (1 - p) / n) ** 0.5


@pytest.mark.parametrize("order", ORDERS)
def test_a_batch_mixes_both_kinds(order: str) -> None:
    """Plain rows are untouched; the others hold the same text, four tokens shorter."""
    windows = torch.randint(7, (2000, 13), generator=seeded())
    mixed = fim_batch(windows, MARKERS, fim_prob=0.3, generator=seeded(1), order=order)
    moved = (mixed == MARKERS.prefix).any(dim=1)
    assert abs(moved.double().mean().item() - 0.3) < 4 * (0.3 * 0.7 / 2000) ** 0.5
    assert torch.equal(mixed[~moved], windows[~moved])
    ends = set()
    for row in moved.nonzero().flatten().tolist():
        end = mixed[row].tolist().index(MARKERS.end)
        restored = restore_middle(mixed[row, : end + 1], MARKERS)
        assert torch.equal(torch.cat([restored, mixed[row, end + 1 :]]), windows[row, :9])
        ends.add(end)
    assert ends == set(range(8, 13))  # texts of 5 to 9 tokens, so that no position means the end


def test_without_transformation_it_is_the_causal_loss(tiny_gpt: Callable[..., GPT]) -> None:
    """The objective is the ordinary one: same windows, same number."""
    model, ids = tiny_gpt(), torch.randint(7, (100,), generator=seeded())
    plain = causal_lm_loss(ids, batch_size=4, seq_len=8)(model, seeded())
    none = fim_loss(ids, batch_size=4, seq_len=8, markers=MARKERS, fim_prob=0.0)(model, seeded())
    assert torch.equal(none, plain)


def test_all_tokens_count_and_none_sees_the_future(tiny_gpt: Callable[..., GPT]) -> None:
    """The loss of transformed windows is that of each token given those before it."""
    model, ids = tiny_gpt(), torch.randint(7, (100,), generator=seeded())
    loss = fim_loss(ids, batch_size=3, seq_len=9, markers=MARKERS, fim_prob=1.0)
    generator = seeded()
    starts = torch.randint(91, (3,), generator=generator)
    mixed = fim_batch(ids.unfold(0, 10, 1)[starts], MARKERS, fim_prob=1.0, generator=generator)
    with torch.no_grad():
        total = sum(
            -model(row[None, :t])[0, -1].log_softmax(dim=-1)[row[t]]
            for row in mixed
            for t in range(1, 10)
        )
        assert torch.allclose(loss(model, seeded()), total / 27)
    assert loss.settings["kind"] == "fim"  # type: ignore[attr-defined]


def test_refusals() -> None:
    """Orders, shares and windows that do not fit."""
    text = torch.tensor([1, 2, 3])
    with pytest.raises(ValueError, match="expected an order from"):
        fim_loss(text, batch_size=1, seq_len=2, markers=MARKERS, order="mps")
    with pytest.raises(ValueError, match="expected fim_prob in"):
        fim_batch(text[None], MARKERS, fim_prob=0.5, generator=seeded())
    with pytest.raises(ValueError, match="expected fim_prob in"):
        fim_batch(text.repeat(2, 3), MARKERS, fim_prob=1.5, generator=seeded())
