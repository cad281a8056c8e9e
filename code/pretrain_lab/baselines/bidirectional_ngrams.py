# SPDX-License-Identifier: MIT
"""Fill a blank from the characters on both of its sides: the count model that BERT must beat.

One blank at a time; a masked neighbour simply ends the context there.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pretrain_lab.baselines.kneser_ney import (
    CountTable,
    Floats,
    Ids,
    check_code_size,
    checked_contexts,
    discounted,
    fitted,
    id_array,
    neighbours,
)


class BidirectionalNGram:
    """Fill a blank from the symbols on its left and on its right.

    The windows with i neighbours on the left and j on the right give one distribution each, with
    discounted counts. It is mixed with the mean of the two distributions that lack the outermost
    neighbour on one side, down to the unigram distribution and the uniform one.

    Source: our own combination; the discounts are Chen and Goodman's 1998 (TR-10-98, Harvard).
    """

    def __init__(self, order_left: int, order_right: int, vocab_size: int) -> None:
        """Set the largest numbers of neighbours on each side.

        Raises:
            ValueError: A number is negative, or the codes would not fit 63 bits.
        """
        if min(order_left, order_right) < 0:
            raise ValueError(f"orders must not be negative, got {order_left} and {order_right}")
        check_code_size(order_left + order_right + 1, vocab_size)
        self.order_left, self.order_right, self.vocab_size = order_left, order_right, vocab_size
        self._base = vocab_size + 1
        self._tables: dict[tuple[int, int], CountTable] | None = None

    def fit(self, ids: ArrayLike, boundaries: ArrayLike | None = None) -> Self:
        """Count all windows that lie inside one text; arguments are those of `KneserNey.fit`.

        Raises:
            ValueError: The text is empty, or a symbol or boundary lies outside its range.
        """
        checked = id_array(ids, self.vocab_size)
        left, right = neighbours(checked, self.order_left, self.order_right, boundaries)
        self._tables = {}
        for shape in self._shapes():
            contexts = self._context_codes(left, right, shape)
            codes = (contexts * self._base + checked)[contexts >= 0]
            grams, counts = np.unique(codes, return_counts=True)
            self._tables[shape] = discounted(grams, counts, self._base, "modified")
        return self

    def log_probs(self, left_contexts: ArrayLike, right_contexts: ArrayLike) -> Floats:
        """Predict blanks: each symbol's log-probability, float64 (n, V), nats.

        Contexts are int (n, k) before the blank, the nearest symbol last, and int (n, m) after it,
        the nearest first; -1 is unknown (masked, or outside the text) and hides what lies beyond
        it.

        Raises:
            ValueError: Contexts not two-dimensional, unequal in n, or with symbols outside -1..V-1.
            RuntimeError: The model is not fitted.
        """
        tables = fitted(self._tables, self)
        left = checked_contexts(left_contexts, self.vocab_size, lowest=-1)
        right = checked_contexts(right_contexts, self.vocab_size, lowest=-1)
        if len(left) != len(right):
            raise ValueError(
                f"expected as many contexts on both sides, got {len(left)} and {len(right)}"
            )
        symbols = np.arange(self.vocab_size)[None]  # (1, V)
        p: dict[tuple[int, int], Floats] = {}
        for shape in self._shapes():
            lower = self._lower(p, left, right, shape)
            contexts = self._context_codes(left, right, shape)[:, None]
            p[shape] = tables[shape].mix(lower, contexts, symbols, self._base)
        return np.log(p[self.order_left, self.order_right])

    def _shapes(self) -> list[tuple[int, int]]:
        """List all numbers of neighbours (left, right), smaller windows before larger ones."""
        return list(np.ndindex(self.order_left + 1, self.order_right + 1))

    def _lower(
        self, p: dict[tuple[int, int], Floats], left: Ids, right: Ids, shape: tuple[int, int]
    ) -> Floats:
        """Give what a shape is mixed with: the mean of the shapes one neighbour smaller.

        Where a side's outermost neighbour is unknown, only the shape without it counts.
        """
        i, j = shape
        if not i and not j:
            return np.full((len(left), self.vocab_size), 1.0 / self.vocab_size)
        if not i or not j:
            return p[i, j - 1] if j else p[i - 1, j]
        known_left = self._context_codes(left, right, (i, 0))[:, None] >= 0
        known_right = self._context_codes(left, right, (0, j))[:, None] >= 0
        one_side = np.where(known_left, p[i, j - 1], p[i - 1, j])
        return np.where(known_left & known_right, (p[i - 1, j] + p[i, j - 1]) / 2, one_side)

    def _context_codes(self, left: Ids, right: Ids, shape: tuple[int, int]) -> Ids:
        """Code i neighbours on the left and j on the right; -1 where one of them is unknown."""
        i, j = shape
        if i > left.shape[1] or j > right.shape[1]:
            return np.full(len(left), -1)
        digits = np.concatenate([left[:, left.shape[1] - i :], right[:, :j]], axis=1)
        codes = digits @ (self._base ** np.arange(i + j))
        return np.where((digits >= 0).all(axis=1), codes, -1)
