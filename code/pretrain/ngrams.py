# SPDX-License-Identifier: MIT
"""Predict characters from counts: the baselines that the neural models must beat.

Implemented: a unigram model; interpolated Kneser-Ney with the three discounts per order of Chen
and Goodman 1998 (or one absolute discount), the lowest order mixed with the uniform distribution.
The model that fills a blank from both of its sides is `pretrain.two_sided`, offered here too.

Not implemented: pruning, out-of-vocabulary words, sampling.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pretrain.ngram_counts import (
    CountTable,
    Discounts,
    Floats,
    Ids,
    check_code_size,
    checked_contexts,
    checked_ids,
    discounted,
    fitted,
    text_starts,
)
from pretrain.two_sided import TwoSidedNGram

__all__ = ["KneserNey", "TwoSidedNGram", "UnigramModel"]


class UnigramModel:
    """Predict each symbol by its share of the training text, one count added to each symbol."""

    def __init__(self, vocab_size: int) -> None:
        """Keep the vocabulary size.

        Args:
            vocab_size: V, number of symbols.
        """
        self.vocab_size = vocab_size
        self._log_p: Floats | None = None

    def fit(self, ids: ArrayLike, boundaries: ArrayLike | None = None) -> Self:
        """Count the symbols.

        Args:
            ids: int (T,). Training text.
            boundaries: Ignored; here so that all models are fitted alike.

        Returns:
            The model itself.

        Raises:
            ValueError: The text is empty or holds a symbol outside 0..V-1.
        """
        counts = np.bincount(checked_ids(ids, self.vocab_size), minlength=self.vocab_size) + 1.0
        self._log_p = np.log(counts / counts.sum())
        return self

    def log_probs(self, ids: ArrayLike) -> Floats:
        """Score a text.

        Args:
            ids: int (T,).

        Returns:
            float64 (T,). Natural logarithm of each symbol's probability, nats.

        Raises:
            ValueError: The text is empty or holds a symbol outside 0..V-1.
            RuntimeError: The model is not fitted.
        """
        log_p: Floats = fitted(self._log_p, self)[checked_ids(ids, self.vocab_size)]
        return log_p


class KneserNey:
    """Interpolated Kneser-Ney over symbols.

    Source: Chen and Goodman 1998 (TR-10-98, Harvard), modified Kneser-Ney, section 3; Kneser and
    Ney 1995 for the lower orders, which count the different symbols before a window instead of
    the window. differs: the start of a text counts as one such symbol; discounts fall back to
    1/2, 1, 3/2 where an order has too few rare windows to estimate them.
    """

    def __init__(self, order: int, vocab_size: int, discounts: Discounts = "modified") -> None:
        """Choose the size of the model.

        Args:
            order: Length of the longest window: the symbol and its order - 1 predecessors.
            vocab_size: V, number of symbols.
            discounts: "modified" for three discounts per order, "absolute" for one.

        Raises:
            ValueError: The order is below 1, its codes would not fit 63 bits, or the discounts
                have another name.
        """
        check_code_size(order, vocab_size)
        if discounts not in ("modified", "absolute"):
            raise ValueError(f'discounts must be "modified" or "absolute", got {discounts!r}')
        self.order, self.vocab_size, self.discounts = order, vocab_size, discounts
        self._base = vocab_size + 1  # digit V stands before the start of a text
        self._tables: list[CountTable] | None = None

    def fit(self, ids: ArrayLike, boundaries: ArrayLike | None = None) -> Self:
        """Count all windows up to the order; none reaches over the start of a text.

        Args:
            ids: int (T,). Training texts, one after the other.
            boundaries: int (P,). Positions at which a new text starts; 0 is understood.

        Returns:
            The model itself.

        Raises:
            ValueError: The text is empty, or a symbol or boundary lies outside its range.
        """
        checked = checked_ids(ids, self.vocab_size)
        codes = self._window_codes(checked, text_starts(boundaries, len(checked)), self.order)
        grams, counts = np.unique(codes, return_counts=True)
        tables = [discounted(grams, counts, self._base, self.discounts)]
        for order in range(self.order - 1, 0, -1):  # each longer window is one predecessor more
            grams, counts = np.unique(grams % self._base**order, return_counts=True)
            tables.append(discounted(grams, counts, self._base, self.discounts))
        self._tables = tables[::-1]
        return self

    def log_probs(self, ids: ArrayLike, boundaries: ArrayLike | None = None) -> Floats:
        """Score each symbol given those before it, at most order - 1, in the same text.

        Args:
            ids: int (T,). One text, or several one after the other.
            boundaries: int (P,). Positions at which a new text starts; 0 is understood.

        Returns:
            float64 (T,). log P(ids[t] | ids[t - order + 1], ..., ids[t - 1]), nats.

        Raises:
            ValueError: The text is empty, or a symbol or boundary lies outside its range.
            RuntimeError: The model is not fitted.
        """
        tables = fitted(self._tables, self)
        checked = checked_ids(ids, self.vocab_size)
        starts = text_starts(boundaries, len(checked))
        p: Floats = np.full(len(checked), 1.0 / self.vocab_size)
        for order, table in enumerate(tables, start=1):
            codes = self._window_codes(checked, starts, order)
            p = table.mix(p, codes // self._base, checked, self._base)
        return np.log(p)

    def next_probs(self, contexts: ArrayLike) -> Floats:
        """Predict the next symbol after each context.

        Args:
            contexts: int (n, k), oldest symbol first, k of any size; the last order - 1 count.
                Unlike in `log_probs`, nothing is assumed about what stood before a short context.

        Returns:
            float64 (n, V). Each row sums to 1.

        Raises:
            ValueError: The contexts are not two-dimensional or hold a symbol outside 0..V-1.
            RuntimeError: The model is not fitted.
        """
        tables = fitted(self._tables, self)
        given = checked_contexts(contexts, self.vocab_size, lowest=0)
        symbols = np.arange(self.vocab_size)[None]  # (1, V)
        p: Floats = np.full((len(given), self.vocab_size), 1.0 / self.vocab_size)
        code = np.zeros((len(given), 1), dtype=np.int64)
        for length, table in enumerate(tables[: given.shape[1] + 1]):
            if length:
                code = code + given[:, -length, None] * self._base ** (length - 1)
            p = table.mix(p, code, symbols, self._base)
        return p

    def _window_codes(self, ids: Ids, starts: Ids, order: int) -> Ids:
        """Code the window that ends at each position; digit V stands before a text's start."""
        position = np.arange(len(ids))
        since_start = position - starts[np.searchsorted(starts, position, side="right") - 1]
        codes = ids.copy()
        for back in range(1, order):
            digit = np.where(
                since_start >= back, ids[np.maximum(position - back, 0)], self.vocab_size
            )
            codes += digit * self._base**back
        return codes
