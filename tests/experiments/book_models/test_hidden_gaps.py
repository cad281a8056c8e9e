# SPDX-License-Identifier: MIT
"""Whole gaps hidden from a BERT: how many, how long, and that nothing else changes."""

import pytest
import torch
from torch import Generator

from experiments.book_models.hidden_gaps import HiddenGapsLM
from pretrain.objectives import IGNORE_INDEX

MASK = 1
IDS = torch.arange(2, 12).repeat(400)


def corrupted(longest: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Corrupt windows: what is read, what is asked, and the windows."""
    lesson = HiddenGapsLM(IDS, 64, 128, mask_id=MASK, hidden_share=0.1, longest=longest)
    windows = IDS.unfold(0, 128, 1)[:64]
    batch = lesson.corrupt(windows, Generator().manual_seed(seed))
    return batch.inputs, batch.labels, windows


def run_lengths(hidden: torch.Tensor) -> list[int]:
    """List how long the runs of hidden positions are, row by row."""
    lengths = []
    for row in hidden.tolist():
        words = "".join("x" if one else " " for one in row).split()
        lengths += [len(word) for word in words]
    return lengths


def test_what_is_hidden_is_asked_and_all_else_is_read():
    """Labels are the true ids of the hidden places."""
    inputs, labels, windows = corrupted(8)
    hidden = labels != IGNORE_INDEX
    assert (inputs[hidden] == MASK).all()
    assert (labels[hidden] == windows[hidden]).all()
    assert (inputs[~hidden] == windows[~hidden]).all()


@pytest.mark.parametrize("longest", [1, 8])
def test_share_and_lengths(longest: int):
    """About the asked share is hidden; without overlaps no gap is longer than the longest."""
    _, labels, _ = corrupted(longest)
    hidden = labels != IGNORE_INDEX
    assert hidden.float().mean().item() == pytest.approx(0.1, abs=0.02)
    lengths = run_lengths(hidden)
    assert sum(n > longest for n in lengths) < 0.2 * len(lengths)  # two that touch
    if longest == 8:
        hidden_by_length = [n * lengths.count(n) for n in range(1, 9)]
        assert min(hidden_by_length) > 0.3 * max(hidden_by_length), "equally many characters"


def test_same_generator_same_gaps():
    """A seed decides everything."""
    assert torch.equal(corrupted(8, 3)[1], corrupted(8, 3)[1])
    assert not torch.equal(corrupted(8, 3)[1], corrupted(8, 4)[1])


@pytest.mark.parametrize(("share", "longest"), [(0.0, 4), (1.0, 4), (0.1, 0)])
def test_impossible_gaps_are_refused(share: float, longest: int):
    """The message names what was expected."""
    with pytest.raises(ValueError, match="expected 0 < hidden_share < 1 and longest >= 1"):
        HiddenGapsLM(IDS, 64, 128, mask_id=MASK, hidden_share=share, longest=longest)
