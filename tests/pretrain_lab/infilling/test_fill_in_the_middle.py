# SPDX-License-Identifier: MIT
"""Batches of which some windows are rearranged, and a loss that knows nothing of it.

Moving the middle to the end, and nothing else.
"""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor, nn

from pretrain.generation import Sampling, generate
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM
from pretrain.training import OptimConfig, fit
from pretrain_lab.infilling.fill_in_the_middle import (
    ORDERS,
    FillInTheMiddleLM,
    Markers,
    fim_batch,
    middle_log_probs,
    move_middle,
    random_cuts,
    restore_middle,
)

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
    plain = CausalLM(ids, batch_size=4, seq_len=8)
    none = FillInTheMiddleLM(ids, batch_size=4, seq_len=8, markers=MARKERS, fim_prob=0.0)
    assert torch.equal(none(model, seeded()), plain(model, seeded()))


def test_all_tokens_count_and_none_sees_the_future(tiny_gpt: Callable[..., GPT]) -> None:
    """The loss of transformed windows is that of each token given those before it."""
    model, ids = tiny_gpt(), torch.randint(7, (100,), generator=seeded())
    loss = FillInTheMiddleLM(ids, batch_size=3, seq_len=9, markers=MARKERS, fim_prob=1.0)
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
    FillInTheMiddleLM(ids, batch_size=3, seq_len=9, markers=MARKERS, fim_prob=1.0, order=order)(
        model, seeded()
    )
    generator = seeded()
    windows = ids.unfold(0, 10, 1)[torch.randint(91, (3,), generator=generator)]
    mixed = fim_batch(windows, MARKERS, fim_prob=1.0, generator=generator, order=order)
    assert torch.equal(read[0], mixed[:, :-1])


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
        FillInTheMiddleLM(text, batch_size=1, seq_len=2, markers=MARKERS, order="mps")
    for windows in (text[None], torch.zeros(1, 4), torch.zeros(1, 5, 5), torch.zeros(9)):
        with pytest.raises(ValueError, match="expected fim_prob in"):
            fim_batch(windows, MARKERS, fim_prob=0.5, generator=seeded())
    with pytest.raises(ValueError, match="expected fim_prob in"):
        fim_batch(text.repeat(2, 3), MARKERS, fim_prob=1.5, generator=seeded())


V = 11


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


@pytest.mark.parametrize("order", ORDERS)
def test_a_gpt_learns_to_look_at_the_suffix(order: str) -> None:
    """A text repeats one letter, and only what follows the missing start says which."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(V, d_model=16, n_layers=2, n_heads=2, max_len=12, init_std=0.1))

    def loss(model: nn.Module, generator: Generator) -> torch.Tensor:
        """Draw texts of one repeated letter and hide the first three tokens."""
        letters = torch.randint(7, (32, 1), generator=generator)
        moved = move_middle(letters.expand(-1, 6), 0, 3, MARKERS, order=order)
        logits = model(moved[:, :-1])
        return nn.functional.cross_entropy(logits.flatten(0, 1), moved[:, 1:].flatten())

    fit(model, loss, OptimConfig(lr=1e-2, n_warmup=20), n_steps=200, generator=seeded())
    prompt = move_middle(torch.tensor([[4, 4, 4], [6, 6, 6]]), 0, 0, MARKERS, order=order)[:, :-1]
    written = generate(model, prompt, 4, Sampling(greedy=True))[:, prompt.shape[1] :]
    assert written.tolist() == [[4, 4, 4, MARKERS.end], [6, 6, 6, MARKERS.end]]


def test_infilling_refusals(tiny_gpt: Callable[..., GPT]) -> None:
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
    with pytest.raises(ValueError, match=r"without markers, got \[9\]"):
        move_middle(torch.tensor([1, 9]), 0, 1, MARKERS)
    with pytest.raises(ValueError, match="expected an order from"):
        move_middle(text, 1, 2, MARKERS, order="mps")
    with pytest.raises(ValueError, match="expected windows"):
        middle_log_probs(tiny_gpt(), text[None], 2, 2, MARKERS)
