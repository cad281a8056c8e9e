# SPDX-License-Identifier: MIT
"""How sure a measured number is.

Papers: Efron & Tibshirani 1993 and Künsch 1989 for the bootstrap and its blocks; Wilson 1927 for
the interval of a proportion.
"""

import math
from collections.abc import Sequence

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
    cluster: Sequence[int] | Tensor | None = None,
    confidence: float = 0.95,
) -> tuple[float, float, float]:
    """Compute a mean and its percentile-bootstrap interval: mean, lower end, upper end.

    Neighbouring characters are not independent, so blocks of them are drawn instead of single ones
    when block_len > 1 (what does not fill a last block is left out of the resamples). Nor are
    sentences about one film: items of one cluster are drawn together.

    Args:
        values: (n,), one number per scored item, in text order.
        block_len: Items in a block, >= 1.
        cluster: int64 (n,), the cluster of each item, 0, 1, ...; None = blocks.
        confidence: Coverage aimed at, in (0, 1).

    Raises:
        ValueError: Bad shape or confidence, no resample, or fewer than two blocks or clusters.

    Source: Efron & Tibshirani 1993; Carlstein 1986 for blocks that do not overlap.
    """
    items = torch.as_tensor(values, dtype=torch.float64)
    if items.dim() != 1:
        raise ValueError(f"expected values (n,), got shape {tuple(items.shape)}")
    place = None if cluster is None else torch.as_tensor(cluster)
    if place is not None:
        n_parts = int(place.max()) + 1
    else:
        n_parts = len(items) // block_len if block_len > 0 else 0
    if n_parts < 2 or n_resamples < 1 or not 0 < confidence < 1:
        raise ValueError(
            "expected at least two blocks, n_resamples >= 1 and confidence in (0, 1), got "
            f"{n_parts}, {n_resamples} and {confidence}"
        )
    if place is not None:
        totals = items.new_zeros(n_parts).index_add(0, place, items)
        sizes = torch.bincount(place, minlength=n_parts).double()
    else:
        totals = items[: n_parts * block_len].view(n_parts, block_len).mean(dim=1)
        sizes = items.new_ones(n_parts)
    means = []
    for _ in range(n_resamples):
        drawn = torch.randint(n_parts, (n_parts,), generator=generator)
        means.append(totals[drawn].sum() / sizes[drawn].sum())
    tail = (1 - confidence) / 2
    ends = torch.tensor([tail, 1 - tail], dtype=torch.float64)
    low, high = torch.stack(means).quantile(ends).tolist()
    return items.mean().item(), low, high


def percentiles(
    values: Sequence[float] | NDArray[np.float64], confidence: float = 0.95
) -> tuple[float, float]:
    """Give the ends of the interval that holds the middle share `confidence` of the values.

    Raises:
        ValueError: No value, one that is not finite, or confidence outside 0..1.
    """
    if not np.size(values) or not np.isfinite(values).all() or not 0 <= confidence <= 1:
        raise ValueError(
            f"expected finite values and confidence in 0..1, got {np.size(values)} and {confidence}"
        )
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.asarray(values, float), [tail, 1 - tail])
    return float(low), float(high)


def wilson_interval(n_hits: int, n_trials: int, *, z: float = 1.96) -> tuple[float, float, float]:
    """Compute a proportion and its Wilson score interval: proportion, lower end, upper end.

    `z` is a normal quantile; 1.96 for 95 %.

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
