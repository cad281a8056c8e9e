# SPDX-License-Identifier: MIT
"""A memory of what was just read, for count models: the rival of a long context.

Papers: Bell, Witten & Cleary 1989 for prediction by the longest match (PPM); Kuhn & De Mori 1990
for a cache beside a model of the language.

Left out: several matches at once, and matches outside the window.
"""

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pretrain_lab.baselines.kneser_ney import fitted

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
N_ROUNDS = 30
"""Rounds of expectation maximisation; a share no longer moves by 0.001 after them."""


class Scorer(Protocol):
    """A model that scores each symbol of a text given those before it."""

    def log_probs(self, ids: ArrayLike) -> Floats:
        """Score a text, int64 (T,): log-probabilities in nats, float64 (T,)."""
        ...


def longest_matches(ids: Ids, *, window: int, longest: int) -> tuple[Ids, Ids]:
    """Find, before each symbol, the earlier place whose past is most like the present one.

    Args:
        ids: int64 (T,), a text.
        window: How many symbols before each symbol are looked at.
        longest: Longer matches count as this long.

    Returns:
        How many symbols match, (T,), 0 = none, and what followed there, (T,). Of equal matches
        the nearest one counts.
    """
    lengths, followers = np.zeros_like(ids), np.zeros_like(ids)
    place = np.arange(len(ids))
    for distance in range(min(window, len(ids)) - 1, 0, -1):
        equal = np.zeros(len(ids), dtype=bool)
        equal[distance:] = ids[distance:] == ids[:-distance]
        run = place - np.maximum.accumulate(np.where(equal, -1, place))  # of equals, up to here
        before = np.minimum(run[distance - 1 : -1], min(longest, window - distance))
        better = (before > 0) & (before >= lengths[distance:])
        lengths[distance:][better] = before[better]
        followers[distance:][better] = ids[:-distance][better]
    return lengths, followers


class SuffixCache:
    """Mix a model with what followed the longest match in the text's own last symbols.

    The share of the cache depends on the length of the match and is fitted on text held out.
    """

    def __init__(self, model: Scorer, *, window: int, longest: int = 12) -> None:
        """Keep the model, which was fitted before."""
        if window < 2 or longest < 1:
            raise ValueError(f"expected window >= 2 and longest >= 1, got {window} and {longest}")
        self.model, self.window, self.longest = model, window, longest
        self.shares: Floats | None = None  # (longest + 1,), of the cache by length of the match

    def fit(self, texts: Sequence[Ids]) -> Self:
        """Fit the shares on texts, int64 (L,) each, that the model was not fitted on."""
        read = [self._read(text) for text in texts]
        lengths, hits, probs = (np.concatenate(parts) for parts in zip(*read, strict=True))
        shares = np.full(self.longest + 1, 0.5)
        shares[0] = 0.0
        for _ in range(N_ROUNDS):
            share = shares[lengths]
            mixed = share * hits + (1 - share) * probs
            owed = np.bincount(lengths, share * hits / mixed, minlength=len(shares))
            shares = owed / np.maximum(np.bincount(lengths, minlength=len(shares)), 1)
        self.shares = shares
        return self

    def log_probs(self, ids: ArrayLike) -> Floats:
        """Score a text, int64 (T,), each symbol given those before it: float64 (T,), in nats."""
        shares = fitted(self.shares, self)
        lengths, hits, probs = self._read(np.asarray(ids))
        share = shares[lengths]
        scored: Floats = np.log(share * hits + (1 - share) * probs)
        return scored

    def _read(self, ids: Ids) -> tuple[Ids, Floats, Floats]:
        """Give for each symbol its match, whether the cache is right, and the model's chance."""
        lengths, followers = longest_matches(ids, window=self.window, longest=self.longest)
        return lengths, (followers == ids).astype(float), np.exp(self.model.log_probs(ids))
