# SPDX-License-Identifier: MIT
"""How the rivals of the strong BERT fill gaps: checked against every possible fill."""

from itertools import product

import numpy as np
import pytest
import torch
from torch import Generator, Tensor

from experiments.ch05_bert import unseen_gaps as gaps
from pretrain_lab.baselines.bidirectional_ngrams import BidirectionalNGram
from pretrain_lab.baselines.kneser_ney import KneserNey

V = 4


@pytest.fixture(scope="module")
def text() -> Tensor:
    """Return a text in which the next symbol is mostly the last plus one, int64 (3000,)."""
    generator = Generator().manual_seed(0)
    steps = (torch.rand(3000, generator=generator) < 0.2).long() * 2 + 1
    return steps.cumsum(0) % V


@pytest.fixture(scope="module")
def windows(text: Tensor) -> Tensor:
    """Cut some windows, int64 (6, SEQ_LEN)."""
    return text.unfold(0, gaps.SEQ_LEN, 200)[:6]


def whole(model: KneserNey, window: Tensor, fill: tuple[int, ...]) -> float:
    """Score a fill and all that follows, the window read from its start."""
    filled = window.clone()
    filled[gaps.span(len(fill))] = torch.tensor(fill)
    return float(model.log_probs(filled.numpy())[gaps.MIDDLE :].sum())


def test_a_wide_beam_finds_the_best_of_all_fills(text: Tensor, windows: Tensor) -> None:
    """With room for every fill, the best by the beam is the best of all, gap by gap."""
    model = KneserNey(3, V).fit(text.numpy())
    filled = gaps.fill_by_beam(model, windows, 3)
    for window, ours in zip(windows, filled, strict=True):
        every = {fill: whole(model, window, fill) for fill in product(range(V), repeat=3)}
        assert tuple(ours[gaps.span(3)].tolist()) == max(every, key=every.__getitem__)
        assert torch.equal(ours[: gaps.MIDDLE], window[: gaps.MIDDLE])


def test_bayes_rule_by_hand(text: Tensor, windows: Tensor) -> None:
    """The distribution of one character is that of all V texts, each scored to its end."""
    model = KneserNey(3, V).fit(text.numpy())
    found = gaps.bayes_log_probs(model, windows)
    for window, ours in zip(windows, found, strict=True):
        every = torch.tensor([whole(model, window, (symbol,)) for symbol in range(V)])
        assert torch.allclose(ours.float(), every.log_softmax(0), atol=1e-4)


def test_the_gap_is_not_read(text: Tensor, windows: Tensor) -> None:
    """Other characters in the gap give the same fills, by counts and by beam."""
    counts = BidirectionalNGram(2, 2, V).fit(text.numpy())
    model = KneserNey(3, V).fit(text.numpy())
    changed = windows.clone()
    changed[:, gaps.span(2)] = (changed[:, gaps.span(2)] + 1) % V
    for fill in (
        lambda part: gaps.fill_by_counts(counts, part, 2),
        lambda part: gaps.fill_by_beam(model, part, 2),
    ):
        filled = fill(windows)
        assert torch.equal(filled, fill(changed))
        assert ((filled >= 0) & (filled < V)).all()


def test_ahead_is_better() -> None:
    """Fewer bits are ahead of more; plays and seeds are the witnesses."""
    ours = {"seed 0": [1.0, 2.0], "seed 1": [1.2, 2.2]}
    found = gaps.compare(ours, {"counts": [2.0, 3.0]}, sign=-1.0)
    ahead = found["ahead_of"]["counts"]
    assert ahead["plays"]["mean"] == pytest.approx(0.9)
    np.testing.assert_allclose(ahead["seeds"]["values"], [1.0, 0.8])
