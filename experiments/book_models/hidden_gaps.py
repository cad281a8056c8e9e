# SPDX-License-Identifier: MIT
"""A lesson in gaps: runs of neighbouring characters are hidden, and BERT restores them.

Where characters are selected one by one, eight hidden neighbours almost never meet, so a BERT that
is asked for a gap of eight has hardly seen one. Here gaps of every length hide equally many
characters. What is hidden is always [MASK], as it is when a reader asks.

Paper: Joshi et al. 2020 (arXiv:1907.10529), SpanBERT, section 3.1. differs: a length is drawn in
proportion to its inverse, in characters, and gaps may touch.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from pretrain.objectives import IGNORE_INDEX, Batch, TextObjective, cross_entropy_sum


@dataclass(frozen=True, eq=False)
class HiddenGapsLM(TextObjective):
    """A BERT restores gaps of 1 to `longest` tokens, about `hidden_share` of each window."""

    mask_id: int
    hidden_share: float
    longest: int

    def __post_init__(self) -> None:
        """Refuse gaps that cannot be."""
        if not 0 < self.hidden_share < 1 or self.longest < 1:
            raise ValueError(
                "expected 0 < hidden_share < 1 and longest >= 1, got "
                f"{self.hidden_share} and {self.longest}"
            )

    def corrupt(self, windows: Tensor, generator: Generator) -> Batch:
        """Begin gaps at random places, each of a random length; all in them are hidden."""
        weights = 1 / torch.arange(1, self.longest + 1)
        mean_length = self.longest / weights.sum().item()
        # Gaps overlap by chance; this many starts hide the asked share in spite of it.
        start_prob = 1 - (1 - self.hidden_share) ** (1 / mean_length)
        starts = torch.rand(windows.shape, generator=generator) < start_prob
        drawn = torch.multinomial(weights, windows.numel(), replacement=True, generator=generator)
        lengths = 1 + drawn.view(windows.shape)
        reach = torch.where(starts, lengths, 0)  # how many places from here on are hidden
        hidden = reach > 0
        for _ in range(self.longest - 1):
            reach = torch.cat([reach.new_zeros(len(reach), 1), reach[:, :-1] - 1], dim=1)
            hidden = hidden | (reach > 0)
        labels = windows.masked_fill(~hidden, IGNORE_INDEX)
        return Batch(windows.masked_fill(hidden, self.mask_id), labels)

    def loss_sum(self, model: nn.Module, batch: Batch) -> Tensor:
        """Score the hidden tokens; the head runs on these alone."""
        hidden = batch.labels != IGNORE_INDEX
        return cross_entropy_sum(model(batch.inputs, masked_positions=hidden), batch.labels[hidden])
