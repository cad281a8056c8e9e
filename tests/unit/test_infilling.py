# SPDX-License-Identifier: MIT
"""Moving the middle to the end, and nothing else."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, nn

from pretrain.gpt import GPT
from pretrain.infilling import (
    ORDERS,
    Markers,
    fill_middle,
    middle_log_probs,
    move_middle,
    restore_middle,
)
from pretrain.training import fit

MARKERS = Markers(prefix=10, suffix=9, middle=8, end=7)
V = 11


def seeded(seed: int = 0) -> Generator:
    """Give a generator."""
    return torch.Generator().manual_seed(seed)


def test_by_hand() -> None:
    """Prefix, suffix, middle, each behind its marker; a batch row by row."""
    text = torch.tensor([1, 2, 3, 4, 5])
    assert move_middle(text, 1, 3, MARKERS).tolist() == [10, 1, 9, 4, 5, 8, 2, 3, 7]
    assert move_middle(text, 0, 0, MARKERS).tolist() == [10, 9, 1, 2, 3, 4, 5, 8, 7]
    assert move_middle(text, 0, 5, MARKERS).tolist() == [10, 9, 8, 1, 2, 3, 4, 5, 7]
    spm = move_middle(text, 1, 3, MARKERS, order="spm")
    assert spm.tolist() == [10, 9, 4, 5, 8, 1, 2, 3, 7]
    both = move_middle(text.repeat(2, 1), 1, 3, MARKERS)
    assert both.tolist() == [[10, 1, 9, 4, 5, 8, 2, 3, 7]] * 2


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.data())
def test_invertible(tokens: list[int], data: st.DataObject) -> None:
    """Any text, any two cuts, with and without the end."""
    start = data.draw(st.integers(0, len(tokens)))
    end = data.draw(st.integers(start, len(tokens)))
    order = data.draw(st.sampled_from(ORDERS))
    moved = move_middle(torch.tensor(tokens), start, end, MARKERS, order=order)
    assert sorted(moved.tolist()) == sorted([*tokens, *MARKERS])
    assert restore_middle(moved, MARKERS).tolist() == tokens
    assert restore_middle(moved[:-1], MARKERS).tolist() == tokens


@pytest.mark.parametrize(
    "ids", [[1, 2, 3], [10, 1, 8, 2, 9, 3, 7], [1, 10, 9, 8, 7], [10, 9, 9, 8, 1], [10, 9, 7, 8]]
)
def test_what_cannot_be_restored(ids: list[int]) -> None:
    """Markers that are missing, in another order, late or repeated."""
    with pytest.raises(ValueError, match="expected the markers"):
        restore_middle(torch.tensor(ids), MARKERS)


@torch.no_grad()
@pytest.mark.parametrize("order", ORDERS)
def test_scores_of_a_middle(tiny_gpt: Callable[..., GPT], order: str) -> None:
    """Each token of the middle and its end, given prefix, suffix and the middle so far."""
    model = tiny_gpt()
    text = torch.tensor([[1, 2, 3, 4, 5], [6, 5, 4, 3, 2]])
    out = middle_log_probs(model, text, 2, 4, MARKERS, order=order, batch_size=1)
    assert out.shape == (2, 3)
    moved = move_middle(text, 2, 4, MARKERS, order=order)
    for row in range(2):
        for column, t in enumerate((6, 7, 8)):
            expected = model(moved[row : row + 1, :t])[0, -1].log_softmax(dim=-1)[moved[row, t]]
            assert torch.allclose(out[row, column], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [10, 1, 2, 9, 3, 8]),
        ({"order": "psm"}, [10, 1, 2, 9, 3, 8]),
        ({"order": "spm"}, [10, 9, 3, 8, 1, 2]),
    ],
)
def test_the_prompt_is_an_open_middle(
    tiny_gpt: Callable[..., GPT], options: dict[str, str], expected: list[int]
) -> None:
    """The first pass reads the parts in the order asked for, up to where the middle begins."""
    model = tiny_gpt()
    seen: list[list[int]] = []
    model.embeddings.register_forward_pre_hook(lambda _, args: seen.append(args[0][0].tolist()))
    fill_middle(model, [1, 2], [3], 2, markers=MARKERS, greedy=True, **options)
    assert seen[0] == expected


@torch.no_grad()
def test_writing_stops_at_the_end_marker(tiny_gpt: Callable[..., GPT]) -> None:
    """A model that always ends writes one token, which is not part of the middle."""
    model = tiny_gpt()
    model.final_norm.bias.copy_(50 * model.embeddings.token.weight[MARKERS.end])
    n_passes = []
    model.embeddings.register_forward_hook(lambda *_: n_passes.append(1))
    written = fill_middle(model, [1, 2], [3], 4, markers=MARKERS, greedy=True)
    assert written.tolist() == []
    assert len(n_passes) == 1


@pytest.mark.parametrize("order", ORDERS)
def test_a_gpt_learns_to_look_at_the_suffix(order: str) -> None:
    """A text repeats one letter, and only what follows the missing start says which."""
    torch.manual_seed(0)
    model = GPT(V, d_model=16, n_layers=2, n_heads=2, max_len=12, init_std=0.1)

    def loss(model: nn.Module, generator: Generator) -> torch.Tensor:
        """Draw texts of one repeated letter and hide the first three tokens."""
        letters = torch.randint(7, (32, 1), generator=generator)
        moved = move_middle(letters.expand(-1, 6), 0, 3, MARKERS, order=order)
        logits = model(moved[:, :-1])
        return nn.functional.cross_entropy(logits.flatten(0, 1), moved[:, 1:].flatten())

    fit(model, loss, n_steps=200, lr=1e-2, n_warmup=20, generator=seeded())
    written = fill_middle(model, [], [4, 4, 4], 4, markers=MARKERS, order=order, greedy=True)
    assert written.tolist() == [4, 4, 4]  # it stopped by itself
    cut = fill_middle(model, [], [4, 4, 4], 2, markers=MARKERS, order=order, greedy=True)
    assert cut.tolist() == [4, 4]
    sampled = fill_middle(
        model, [], [6, 6, 6], 4, markers=MARKERS, order=order, top_k=1, generator=seeded()
    )
    assert sampled.tolist() == [6, 6, 6]


def test_refusals(tiny_gpt: Callable[..., GPT]) -> None:
    """Cuts, texts, shares and lengths that do not fit."""
    text = torch.tensor([1, 2, 3])
    for start, end in ((2, 4), (2, 1), (-1, 1)):
        with pytest.raises(
            ValueError, match=rf"<= end <= 3, the text's length, got {start}, {end}"
        ):
            move_middle(text, start, end, MARKERS)
    with pytest.raises(ValueError, match="got a single number"):
        move_middle(text[0], 0, 0, MARKERS)
    with pytest.raises(ValueError, match=r"expected ids \(T,\), got shape \(1, 3\)"):
        restore_middle(text[None], MARKERS)
    for sides in (([[1]], [2]), ([1], [[2]])):
        with pytest.raises(ValueError, match=r"expected prefix \(P,\) and suffix \(S,\)"):
            fill_middle(tiny_gpt(), *sides, 2, markers=MARKERS, greedy=True)
    with pytest.raises(ValueError, match=r"without markers, got \[9\]"):
        move_middle(torch.tensor([1, 9]), 0, 1, MARKERS)
    with pytest.raises(ValueError, match="expected an order from"):
        move_middle(text, 1, 2, MARKERS, order="mps")
    with pytest.raises(ValueError, match="expected windows"):
        middle_log_probs(tiny_gpt(), text[None], 2, 2, MARKERS)
    with pytest.raises(ValueError, match="expected prefix, suffix, markers and middle"):
        fill_middle(tiny_gpt(), [1] * 6, [2] * 3, 2, markers=MARKERS, greedy=True)
