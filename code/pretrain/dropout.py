# SPDX-License-Identifier: MIT
"""Dropout with cheap random bits.

Paper: Srivastava et al. 2014 (JMLR 15), "inverted" form: kept values are scaled up in training,
so that nothing changes afterwards.

Implemented: one 64-bit draw serves four values. On a CPU the draw is what dropout costs; torch's
own draws once a value. differs: the drop probability is rounded to a multiple of 1 / 65,536
(and what would round to 1, to the largest one below).
"""

import torch
from torch import Tensor, nn


def dropout(x: Tensor, prob: float) -> Tensor:
    """Zero each value with probability prob and scale the others by 1 / (1 - prob).

    Args:
        x: float, any shape.
        prob: Probability in 0..1 (1 excluded). 0 returns x itself.

    Returns:
        The same shape.

    Raises:
        ValueError: prob lies outside [0, 1).

    Source: Srivastava et al. 2014, JMLR 15:1929-1958.
    """
    if not 0.0 <= prob < 1.0:
        raise ValueError(f"expected a dropout probability in [0, 1), got {prob}")
    threshold = min(round(prob * 65_536), 65_535)
    if threshold == 0:
        return x
    n_words = (x.numel() + 3) // 4
    words = torch.empty(n_words, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    bits = words.view(torch.int16)[: x.numel()].view(x.shape)  # uniform in -32768..32767
    first_kept = threshold - 32_768
    # Clamping whole numbers to two neighbours is a comparison, and many times faster than one on
    # a CPU: a kept value gives 1, a dropped one 0.
    kept = bits.clamp_(first_kept - 1, first_kept).sub_(first_kept - 1).to(x.dtype)
    return x * kept.mul_(65_536 / (65_536 - threshold))


class Dropout(nn.Module):
    """The same as a layer: active in training, the identity in evaluation."""

    def __init__(self, prob: float) -> None:
        """Keep the probability.

        Args:
            prob: Probability in [0, 1) with which a value is dropped.

        Raises:
            ValueError: prob lies outside [0, 1).
        """
        super().__init__()
        if not 0.0 <= prob < 1.0:
            raise ValueError(f"expected a dropout probability in [0, 1), got {prob}")
        self.prob = prob

    def forward(self, x: Tensor) -> Tensor:
        """Drop values of x (any shape) in training, return it unchanged otherwise."""
        return dropout(x, self.prob) if self.training else x
