# SPDX-License-Identifier: MIT
"""Batches of which some windows are rearranged, and a loss that knows nothing of it."""

from collections.abc import Callable

import pytest
import torch
from torch import Generator, Tensor

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


def test_cuts_of_nothing() -> None:
    """No text has no cuts, and a text without tokens can be cut at its start alone."""
    assert random_cuts(0, 3, generator=seeded()).shape == (0, 2)
    assert random_cuts(2, 0, generator=seeded()).tolist() == [[0, 0], [0, 0]]
    for sizes in ((-1, 3), (2, -1)):
        with pytest.raises(ValueError, match=f"seq_len >= 0, got {sizes[0]} and {sizes[1]}"):
            random_cuts(*sizes, generator=seeded())


def test_the_shortest_window_keeps_one_token() -> None:
    """Four of five places go to the markers."""
    mixed = fim_batch(torch.full((8, 5), 3), MARKERS, fim_prob=1.0, generator=seeded())
    assert [restore_middle(row, MARKERS).tolist() for row in mixed] == [[3]] * 8


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


@pytest.mark.parametrize(("seq_len", "ends"), [(5, {4}), (6, {4, 5}), (12, {7, 8, 9, 10, 11})])
def test_half_of_the_text_at_least_is_transformed(seq_len: int, ends: set[int]) -> None:
    """Of 1, 2 and 8 tokens beside the markers: from 1, 1 and 4 on, then those that follow."""
    windows = torch.randint(7, (300, seq_len), generator=seeded())
    mixed = fim_batch(windows, MARKERS, fim_prob=1.0, generator=seeded(1))
    assert set((mixed == MARKERS.end).nonzero()[:, 1].tolist()) == ends
    moved = fim_batch(windows, MARKERS, fim_prob=1.0, generator=seeded(1), order="psm")
    assert torch.equal(mixed, moved)  # the order when none is named


def test_a_seed_gives_the_windows_of_earlier_runs() -> None:
    """Which windows, how much of each and where it is cut come from the generator alone."""
    windows = torch.arange(4).repeat(6, 3)
    for global_seed in (1, 2):
        torch.manual_seed(global_seed)
        mixed = fim_batch(windows, MARKERS, fim_prob=0.7, generator=seeded(2))
        assert mixed.tolist() == [
            [10, 0, 1, 2, 3, 9, 1, 8, 0, 7, 2, 3],
            [10, 9, 1, 2, 3, 0, 8, 0, 7, 1, 2, 3],
            [10, 0, 9, 3, 0, 1, 2, 3, 8, 1, 2, 7],
            [10, 0, 1, 2, 3, 0, 1, 2, 9, 8, 7, 3],
            [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
            [10, 9, 0, 8, 0, 1, 2, 3, 7, 1, 2, 3],
        ]
    spm = fim_batch(windows, MARKERS, fim_prob=0.7, generator=seeded(2), order="spm")
    assert spm[0].tolist() == [10, 9, 1, 8, 0, 1, 2, 3, 0, 7, 2, 3]


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


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_reaches_the_windows(tiny_gpt: Callable[..., GPT], order: str) -> None:
    """The model reads windows of T tokens in the order that was asked for."""
    model, ids = tiny_gpt(), torch.randint(7, (100,), generator=seeded())
    read: list[torch.Tensor] = []
    model.embeddings.register_forward_hook(lambda _, args, out: read.append(args[0]))
    fim_loss(ids, batch_size=3, seq_len=9, markers=MARKERS, fim_prob=1.0, order=order)(
        model, seeded()
    )
    generator = seeded()
    windows = ids.unfold(0, 10, 1)[torch.randint(91, (3,), generator=generator)]
    mixed = fim_batch(windows, MARKERS, fim_prob=1.0, generator=generator, order=order)
    assert torch.equal(read[0], mixed[:, :-1])


def test_settings_name_all_that_decides() -> None:
    """A resume compares them; half of the windows are transformed unless asked otherwise."""
    ids = torch.arange(7)
    loss = fim_loss(ids, batch_size=3, seq_len=9, markers=MARKERS)
    settings = loss.settings  # type: ignore[attr-defined]
    assert {name: value for name, value in settings.items() if name != "ids_sha256"} == {
        "kind": "fim", "batch_size": 3, "seq_len": 9, "markers": [10, 9, 8, 7], "fim_prob": 0.5,
        "order": "psm",
    }  # fmt: skip
    other = fim_loss(ids + 1, batch_size=3, seq_len=9, markers=MARKERS)
    assert other.settings["ids_sha256"] != settings["ids_sha256"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "defaults"),
    [({}, {"fim_prob": 0.5, "order": "psm"}), ({"fim_prob": 0.3, "order": "spm"}, {})],
)
def test_the_loss_notes_every_setting(options: dict, defaults: dict) -> None:
    """All that decides on a batch, defaults included, beside the hash of the text."""
    sizes = {"batch_size": 2, "seq_len": 8}
    loss = fim_loss(torch.arange(7), markers=MARKERS, **sizes, **options)
    noted = dict(loss.settings)  # type: ignore[attr-defined]
    assert len(noted.pop("ids_sha256")) == 16
    assert noted == {"kind": "fim", "markers": [10, 9, 8, 7], **sizes, **options, **defaults}


@pytest.mark.parametrize(
    "windows", [torch.zeros(3).long(), torch.zeros(3, 4).long(), torch.zeros(1, 1, 9).long()]
)
def test_windows_that_cannot_be_transformed(windows: Tensor) -> None:
    """Only (B, T) with room for a token beside the four markers."""
    with pytest.raises(ValueError, match=r"windows \(B, T\) with T > 4, got 0.5 and shape"):
        fim_batch(windows, MARKERS, fim_prob=0.5, generator=seeded())


def test_refusals() -> None:
    """Orders, shares and windows that do not fit."""
    text = torch.tensor([1, 2, 3])
    with pytest.raises(ValueError, match="expected an order from"):
        fim_loss(text, batch_size=1, seq_len=2, markers=MARKERS, order="mps")
    for windows in (text[None], torch.zeros(1, 4), torch.zeros(1, 5, 5), torch.zeros(9)):
        with pytest.raises(ValueError, match="expected fim_prob in"):
            fim_batch(windows, MARKERS, fim_prob=0.5, generator=seeded())
    with pytest.raises(ValueError, match="expected fim_prob in"):
        fim_batch(text.repeat(2, 3), MARKERS, fim_prob=1.5, generator=seeded())
