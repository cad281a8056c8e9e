# SPDX-License-Identifier: MIT
"""Made-up names are the same at each place of a window; noise is asked where it repeats."""

import math
import re

import pytest
import torch
from torch import Generator, Tensor, nn

from experiments.book_models import character_models, looking_back
from pretrain.objectives import IGNORE_INDEX

TEXT = "ROMEO:\nO Juliet, the Nurse. Romeo's here.\n\nNURSE:\nHere, nurse, here? Juliet! JULIET!"
NAMES = ["hamlet", "horatio", "juliet", "ophelia", "romeo"]


def test_a_name_is_never_in_lower_case() -> None:
    """Nurse and here are, O is too short."""
    assert looking_back.names_in(TEXT) == ["juliet", "romeo"]


@pytest.mark.parametrize("seed", range(20))
def test_each_name_gets_one_of_its_length(seed: int) -> None:
    """Written as the old one is, wherever it stands; all else stays."""
    new = looking_back.rename(TEXT, NAMES, Generator().manual_seed(seed))
    assert len(new) == len(TEXT)
    romeo, juliet = new[:5].lower(), new[9:15].lower()
    assert (romeo + juliet).isalpha()
    written = {"ROMEO": romeo.upper(), "Romeo": romeo.capitalize(),
               "Juliet": juliet.capitalize(), "JULIET": juliet.upper()}  # fmt: skip
    assert new == re.sub("|".join(written), lambda found: written[found[0]], TEXT)
    assert new == looking_back.rename(TEXT, NAMES, Generator().manual_seed(seed))


def test_windows_differ_from_each_other() -> None:
    """Two windows with one text get different names."""
    generator = Generator().manual_seed(0)
    assert len({looking_back.rename("Romeo", NAMES, generator) for _ in range(20)}) > 5


def test_a_made_up_name_is_the_beginning_of_one_and_the_end_of_another() -> None:
    """Of any length that a name has."""
    generator = Generator().manual_seed(0)
    for length in range(3, 8):
        for _ in range(20):
            name = looking_back.made_up(length, NAMES, generator)
            half = (length + 1) // 2
            assert len(name) == length
            assert any(one.startswith(name[:half]) for one in NAMES)
            assert any(one.endswith(name[half:]) for one in NAMES)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_so_many_windows_are_renamed(share: float) -> None:
    """Inputs and targets together; the others are the plays' own."""
    tokenizer = character_models.tokenizer_of("gpt_plays")
    ids = tokenizer.encode("Romeo, go. ")
    objective = looking_back.RenamedLM(
        ids.repeat(2), 200, 10, names=NAMES, share=share,
        encode=tokenizer.encode, decode=tokenizer.decode,
    )  # fmt: skip
    windows = ids.repeat(200, 1)
    batch = objective.corrupt(windows, Generator().manual_seed(0))
    assert torch.equal(batch.inputs[:, 1:], batch.labels[:, :-1])
    changed = (batch.inputs != windows[:, :-1]).any(dim=1).float().mean()
    assert share * 0.8 <= changed <= share + 0.1
    assert (batch.labels[:, 5:] == windows[:, 6:]).all(), "only the name"


class Echo(nn.Module):
    """Knows each id that stood `period` places before the one that is asked."""

    def __init__(self, period: int) -> None:
        super().__init__()
        self.period = period

    def forward(self, ids: Tensor) -> Tensor:
        """Score all ids, (B, T) → (B, T, 64)."""
        before = torch.roll(ids, self.period - 1, dims=1)
        return 30.0 * torch.nn.functional.one_hot(before, 64)


def test_noise_is_asked_from_its_first_repeat_on() -> None:
    """And then each id is the one that stood a period before."""
    noise = looking_back.RepeatsLM(50, 40, 64, first_id=2, shortest=5, longest=9)
    batch = noise.draw(Generator().manual_seed(0))
    assert batch.inputs.shape == batch.labels.shape == (50, 40)
    periods = (batch.labels == IGNORE_INDEX).sum(dim=1) + 1  # nothing predicts the first id
    assert set(periods.tolist()) == set(range(5, 10))
    for row, labels, period in zip(batch.inputs, batch.labels, periods.tolist(), strict=True):
        assert row.min() >= 2
        assert torch.equal(row[period:], row[:-period])
        assert torch.equal(labels[period - 1 :], row[: 40 - period + 1])


def test_only_looking_back_answers_noise() -> None:
    """Whoever copies pays nothing; whoever guesses pays for all ids."""
    noise = looking_back.RepeatsLM(8, 40, 64, first_id=2, shortest=7, longest=7)
    assert noise(Echo(7), Generator().manual_seed(0)) < 1e-6
    assert noise(Echo(6), Generator().manual_seed(0)) > math.log(62)
