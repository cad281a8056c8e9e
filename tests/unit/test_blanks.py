# SPDX-License-Identifier: MIT
"""One blank, three ways to fill it."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pretrain.bert import BERT
from pretrain.blanks import blank_log_probs, left_log_probs, rescored_log_probs
from pretrain.gpt import GPT

WINDOWS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8], [9, 7, 9, 3, 2, 3]])
PLACES = torch.tensor([2, 5, 1])
CANDIDATES = torch.arange(2, 11)
TOLERANCE = 1e-12


@torch.no_grad()
def log_prob(model: GPT, text: Tensor, first: int) -> Tensor:
    """Sum log P of the tokens from `first` on, one forward pass per token."""
    ends = range(first, len(text))
    return sum(model(text[None, :t])[0, -1].log_softmax(dim=-1)[text[t]] for t in ends)  # type: ignore[return-value]


def test_bert_fills_a_masked_place(tiny_bert: Callable[..., BERT]) -> None:
    """The place alone is hidden, so what stood there cannot matter; the rest does."""
    model = tiny_bert()
    windows = WINDOWS.clone()
    out = blank_log_probs(model, windows, PLACES, mask_id=1, batch_size=2)
    assert torch.equal(windows, WINDOWS)
    assert out.shape == (3, 11)
    for row, (window, place) in enumerate(zip(WINDOWS, PLACES.tolist(), strict=True)):
        hidden = window.clone()
        hidden[place] = 1
        expected = model(hidden[None])[0, place].log_softmax(dim=-1)
        assert torch.allclose(out[row], expected, rtol=0, atol=TOLERANCE)


def test_one_window_may_hold_the_id_0(tiny_bert: Callable[..., BERT]) -> None:
    """0 is a token; what is below is none, also where it would be hidden."""
    windows = torch.tensor([[0, 4]])
    out = blank_log_probs(tiny_bert(), windows, torch.tensor([1]), mask_id=1)
    assert out.shape == (1, 11)
    with pytest.raises(ValueError, match="windows of ids >= 0, got -1"):
        blank_log_probs(tiny_bert(), windows - 1, torch.tensor([0]), mask_id=1)


def test_gpt_from_the_left(tiny_gpt: Callable[..., GPT]) -> None:
    """The blank and what follows it play no part."""
    model = tiny_gpt()
    out = left_log_probs(model, WINDOWS, PLACES, batch_size=2)
    for row, (window, place) in enumerate(zip(WINDOWS, PLACES.tolist(), strict=True)):
        expected = model(window[None, :place])[0, -1].log_softmax(dim=-1)
        assert torch.allclose(out[row], expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("n_right", [None, 0, 1, 2, 5])
def test_gpt_from_both_sides_equals_brute_force(
    tiny_gpt: Callable[..., GPT], n_right: int | None
) -> None:
    """Bayes' rule written out: the probability of each filled text, normalised."""
    model = tiny_gpt()
    out = rescored_log_probs(model, WINDOWS, PLACES, candidates=CANDIDATES, n_right=n_right)
    assert out.shape == (3, 9)
    assert torch.allclose(out.exp().sum(dim=1), torch.ones(3, dtype=torch.float64))
    for row, (window, place) in enumerate(zip(WINDOWS, PLACES.tolist(), strict=True)):
        end = len(window) if n_right is None else place + n_right + 1
        scores = []
        for candidate in CANDIDATES:
            filled = window.clone()
            filled[place] = candidate
            scores.append(log_prob(model, filled[:end], place))
        expected = torch.stack(scores).log_softmax(dim=0)
        assert torch.allclose(out[row], expected, rtol=0, atol=TOLERANCE)


def test_nothing_to_the_right_is_the_view_from_the_left(tiny_gpt: Callable[..., GPT]) -> None:
    """With n_right = 0 the two functions agree on the candidates."""
    model = tiny_gpt()
    left = left_log_probs(model, WINDOWS, PLACES)[:, CANDIDATES].log_softmax(dim=-1)
    both = rescored_log_probs(model, WINDOWS, PLACES, candidates=CANDIDATES, n_right=0)
    assert torch.allclose(both, left, rtol=0, atol=TOLERANCE)


def test_a_single_candidate_is_certain(tiny_gpt: Callable[..., GPT]) -> None:
    """One word that may stand there, stands there."""
    out = rescored_log_probs(tiny_gpt(), WINDOWS, PLACES, candidates=CANDIDATES[:1])
    assert torch.equal(out, torch.zeros(len(WINDOWS), 1))


@pytest.mark.parametrize("wrong", [CANDIDATES[None], CANDIDATES[:0], CANDIDATES[0]])
def test_candidates_are_a_list(tiny_gpt: Callable[..., GPT], wrong: Tensor) -> None:
    """A table of them, none, or a single number."""
    with pytest.raises(ValueError, match=r"expected candidates \(C,\), C >= 1, got shape"):
        rescored_log_probs(tiny_gpt(), WINDOWS, PLACES, candidates=wrong)


def test_places_that_do_not_fit(
    tiny_gpt: Callable[..., GPT], tiny_bert: Callable[..., BERT]
) -> None:
    """Shapes, places outside the window, and a GPT asked for the first token."""
    gpt, bert = tiny_gpt(), tiny_bert()
    shapes = r"windows \(N, T\) and places \(N,\), N >= 1, got \(3, 6\) and \(2,\)"
    with pytest.raises(ValueError, match=shapes):
        blank_log_probs(bert, WINDOWS, PLACES[:2], mask_id=1)
    with pytest.raises(ValueError, match=shapes):
        left_log_probs(gpt, WINDOWS, PLACES[:2])
    with pytest.raises(ValueError, match=r"expected places in 0\.\.5, got 2\.\.6"):
        blank_log_probs(bert, WINDOWS, torch.tensor([2, 6, 3]), mask_id=1)
    for windows, places in ((WINDOWS[0], PLACES), (WINDOWS[:0], PLACES[:0]), (WINDOWS[0, 0],) * 2):
        with pytest.raises(ValueError, match=r"windows \(N, T\) and places \(N,\), N >= 1, got"):
            blank_log_probs(bert, windows, places, mask_id=1)
    with pytest.raises(ValueError, match=r"places in whole numbers, got torch\.float32"):
        blank_log_probs(bert, WINDOWS, PLACES.float(), mask_id=1)
    first = torch.tensor([0, 2, 3])
    blank_log_probs(bert, WINDOWS, first, mask_id=1)  # BERT may be asked for the first one
    with pytest.raises(ValueError, match=r"expected places in 1\.\.5, got 0\.\.3"):
        left_log_probs(gpt, WINDOWS, first)
    with pytest.raises(ValueError, match=r"expected places in 1\.\.5, got 0\.\.3"):
        rescored_log_probs(gpt, WINDOWS, first, candidates=CANDIDATES)
    with pytest.raises(ValueError, match="n_right >= 0 or None, got -1"):
        rescored_log_probs(gpt, WINDOWS, PLACES, candidates=CANDIDATES, n_right=-1)
