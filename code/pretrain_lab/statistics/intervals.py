# SPDX-License-Identifier: MIT
"""How sure a measured number is.

Papers: Efron & Tibshirani 1993 and Künsch 1989 for the bootstrap and its blocks; Wilson 1927 for
the interval of a proportion.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor


def bootstrap_interval(
    values: NDArray[np.float64] | Tensor,
    *,
    generator: Generator,
    n_resamples: int = 1000,
    block_len: int = 1,
    confidence: float = 0.95,
) -> tuple[float, float, float]:
    """Compute a mean and its percentile-bootstrap interval.

    Neighbouring characters are not independent, so blocks of them are drawn instead of single
    ones when block_len > 1 (what does not fill a last block is left out of the resamples).

    Args:
        values: (n,), one number per scored item, in text order.
        generator: Source of randomness.
        n_resamples: Bootstrap samples.
        block_len: Items in a block, >= 1.
        confidence: Coverage aimed at, in (0, 1).

    Returns:
        Mean, lower end, upper end.

    Raises:
        ValueError: values is not (n,), fewer than two blocks, no resample, or confidence outside
            (0, 1).

    Source: Efron & Tibshirani 1993; Carlstein 1986 for blocks that do not overlap.
    """
    items = torch.as_tensor(values, dtype=torch.float64)
    if items.dim() != 1:
        raise ValueError(f"expected values (n,), got shape {tuple(items.shape)}")
    n_blocks = len(items) // block_len if block_len > 0 else 0
    if n_blocks < 2 or n_resamples < 1 or not 0 < confidence < 1:
        raise ValueError(
            "expected at least two blocks, n_resamples >= 1 and confidence in (0, 1), got "
            f"{n_blocks}, {n_resamples} and {confidence}"
        )
    blocks = items[: n_blocks * block_len].view(n_blocks, block_len).mean(dim=1)
    means = torch.stack(
        [
            blocks[torch.randint(n_blocks, (n_blocks,), generator=generator)].mean()
            for _ in range(n_resamples)
        ]
    )
    tail = (1 - confidence) / 2
    low, high = means.quantile(torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return items.mean().item(), low, high


def wilson_interval(n_hits: int, n_trials: int, *, z: float = 1.96) -> tuple[float, float, float]:
    """Compute a proportion and its Wilson score interval.

    Args:
        n_hits: Successes, 0..n_trials.
        n_trials: Trials, >= 1.
        z: Normal quantile; 1.96 for 95 %.

    Returns:
        Proportion, lower end, upper end.

    Raises:
        ValueError: Counts out of range.

    Source: Wilson 1927, JASA 22:209-212.
    """
    if n_trials < 1 or not 0 <= n_hits <= n_trials:
        raise ValueError(f"expected 0 <= n_hits <= n_trials >= 1, got {n_hits} and {n_trials}")
    share = n_hits / n_trials
    centre = share + z * z / (2 * n_trials)
    spread = z * math.sqrt(share * (1 - share) / n_trials + z * z / (4 * n_trials**2))
    scale = 1 + z * z / n_trials
    low, high = (centre - spread) / scale, (centre + spread) / scale
    # Rounding could put an end past the share or past 0 and 1.
    return share, max(0.0, min(low, share)), min(1.0, max(high, share))
