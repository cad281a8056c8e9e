# SPDX-License-Identifier: MIT
"""Train in bfloat16: twice as fast on processors that have it."""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from pretrain.objectives import Objective


@dataclass(frozen=True, eq=False)
class InBfloat16:
    """An objective whose matrix products are in bfloat16; weights and losses stay float32.

    Other processors give slightly other losses: bfloat16 has eight bits of precision.
    """

    objective: Objective

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Give the mean loss of a batch."""
        with torch.autocast("cpu", torch.bfloat16):
            return self.objective(model, generator)
