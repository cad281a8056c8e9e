# SPDX-License-Identifier: MIT
"""Predict characters from counts: the baselines that the neural models must beat.

A window of symbols is coded as one integer in base V + 1, the predicted symbol as its last digit,
so that dividing by the base gives the context and equal windows are found by sorting.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Discounts = Literal["modified", "absolute"]
State = TypeVar("State")


@dataclass(frozen=True)
class CountTable:
    """Discounted counts of the windows of one shape.

    `grams` and `contexts` hold sorted codes; `direct` is max(c - D, 0) / total of a gram's
    context, `held_back` the share that a context's discounts leave to the shorter context.
    """

    grams: Ids
    direct: Floats
    contexts: Ids
    held_back: Floats

    def mix(self, lower: Floats, contexts: Ids, symbols: Ids, base: int) -> Floats:
        """Interpolate with the shorter context's probabilities: direct + held_back * lower.

        All arrays are (...); `lower` and the result are float64. `contexts` are codes, of which an
        unseen or negative one leaves `lower` as it is.
        """
        shared = _look_up(self.contexts, self.held_back, contexts, otherwise=1.0) * lower
        seen = np.where(contexts >= 0, contexts * base + symbols, -1)
        return _look_up(self.grams, self.direct, seen, otherwise=0.0) + shared


def discounted(grams: Ids, counts: Ids, base: int, discounts: Discounts) -> CountTable:
    """Take discounts off the counts and add up, per context, what they leave over.

    `grams` are sorted codes of different windows, int64 (G,); `counts` (G,) are at least 1.
    """
    rates = _discount_rates(counts, discounts)
    taken = rates[np.minimum(counts, 3)]
    contexts, first = np.unique(grams // base, return_index=True)
    totals = np.add.reduceat(counts, first)
    n_grams = np.diff(np.append(first, len(grams)))
    direct = (counts - taken) / np.repeat(totals, n_grams)
    return CountTable(grams, direct, contexts, np.add.reduceat(taken, first) / totals)


def _discount_rates(counts: Ids, discounts: Discounts) -> Floats:
    """Estimate the discounts of counts 0, 1, 2 and 3 or more, from how many grams are rare."""
    n1, n2, n3, n4 = (float(np.count_nonzero(counts == c)) for c in (1, 2, 3, 4))
    if discounts == "absolute":
        d = n1 / (n1 + 2 * n2) if n1 and n2 else 0.5
        return np.array([0.0, d, d, d])
    if min(n1, n2, n3, n4) > 0:
        y = n1 / (n1 + 2 * n2)
        rates = np.array([0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
        if (rates[1:] > 0).all():
            return rates
    return np.array([0.0, 0.5, 1.0, 1.5])


def _look_up(keys: Ids, values: Floats, wanted: Ids, otherwise: float) -> Floats:
    """Find each wanted code among the sorted keys, or give the other value."""
    if not len(keys):
        return np.full(wanted.shape, otherwise)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], otherwise)


def neighbours(
    ids: ArrayLike, n_left: int, n_right: int, boundaries: ArrayLike | None = None
) -> tuple[Ids, Ids]:
    """List the symbols on both sides of every position, -1 where the text has ended.

    The texts, int (T,), stand one after the other; each starts at a boundary, int (P,), 0
    understood. Returns int64 (T, n_left), the nearest last, and int64 (T, n_right), the nearest
    first.

    Raises:
        ValueError: A boundary lies outside 0..T-1, or a number of neighbours below 0.
    """
    if min(n_left, n_right) < 0:
        raise ValueError(f"expected n_left, n_right >= 0, got {n_left} and {n_right}")
    symbols = np.asarray(ids, dtype=np.int64)
    starts = text_starts(boundaries, len(symbols))
    text = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(symbols))))
    found = np.full((len(symbols), n_left + n_right), -1)
    offsets = [*range(-n_left, 0), *range(1, n_right + 1)]
    for column, offset in enumerate(offsets):
        here = slice(max(0, -offset), max(0, len(symbols) - max(0, offset)))
        there = slice(max(0, offset), max(0, len(symbols) + min(0, offset)))
        found[here, column] = np.where(text[here] == text[there], symbols[there], -1)
    return found[:, :n_left], found[:, n_left:]


def check_code_size(length: int, vocab_size: int) -> None:
    """Raise ValueError when (V + 1) ** length reaches 2 ** 63, or a number is below 1."""
    if length < 1 or vocab_size < 1:
        raise ValueError(f"order and vocab_size must be at least 1, got {length} and {vocab_size}")
    if length >= 63 or (vocab_size + 1) ** length >= 2**63:  # the power of a huge length hangs
        raise ValueError(
            f"windows of {length} symbols out of {vocab_size} do not fit a 63-bit code:"
            " choose a lower order"
        )


def id_array(ids: ArrayLike, vocab_size: int) -> Ids:
    """Return a copy of int (T,) ids, T > 0, as int64; ValueError if any lies outside 0..V-1."""
    found = np.asarray(ids)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise ValueError(f"ids must be integers (T,), T > 0, got {found.dtype} {found.shape}")
    if found.min() < 0 or found.max() >= vocab_size:
        raise ValueError(f"ids must be in 0..{vocab_size - 1}, got {found.min()}..{found.max()}")
    return found.astype(np.int64)


def checked_contexts(contexts: ArrayLike, vocab_size: int, lowest: int) -> Ids:
    """Return a copy of int (n, k) contexts as int64; ValueError for values outside lowest..V-1.

    `lowest` is 0, or -1 where a neighbour may be unknown.
    """
    found = np.asarray(contexts)
    if found.ndim != 2 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(f"contexts must be integers (n, k), got {found.dtype} {found.shape}")
    if found.size and (found.min() < lowest or found.max() >= vocab_size):
        raise ValueError(
            f"contexts must be in {lowest}..{vocab_size - 1}, got {found.min()}..{found.max()}"
        )
    return found.astype(np.int64)


def text_starts(boundaries: ArrayLike | None, length: int) -> Ids:
    """Sort the positions at which texts start, int64 (P,), each once and 0 among them.

    `boundaries` is int (P,), in any order, or None for one text; ValueError outside 0..length-1.
    """
    given = np.asarray([] if boundaries is None else boundaries)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"boundaries must be integers, got {given.dtype}")
    starts = np.unique(np.append(given.astype(np.int64), 0))
    if starts[0] < 0 or starts[-1] >= length:
        raise ValueError(f"boundaries must be in 0..{length - 1}, got {starts[0]}..{starts[-1]}")
    return starts


def encode_texts(texts: Iterable[str], alphabet: str) -> tuple[Ids, Ids]:
    """Encode texts, none empty; a symbol's id is its place in the alphabet.

    Returns:
        int64 (T,) ids, one text after the other, and int64 (P,) boundaries, as `fit` takes them.

    Raises:
        ValueError: A text is empty or holds a character that the alphabet lacks.
    """
    place = {character: id_ for id_, character in enumerate(alphabet)}
    encoded = []
    for text in texts:
        unknown = sorted(set(text) - set(place))
        if unknown or not text:
            raise ValueError(
                f"texts must be written in {alphabet!r}, got {unknown or 'an empty text'}"
            )
        encoded.append(np.array([place[character] for character in text], dtype=np.int64))
    lengths = [len(ids) for ids in encoded]
    return np.concatenate(encoded), np.cumsum([0, *lengths[:-1]])


def fitted(state: State | None, model: object) -> State:
    """Return a model's state; RuntimeError while it is None, because `fit` comes first."""
    if state is None:
        raise RuntimeError(f"{type(model).__name__} is not fitted: call fit(ids) first")
    return state


class UnigramModel:
    """Predict each symbol by its share of the training text, one count added to each symbol."""

    def __init__(self, vocab_size: int) -> None:
        """Set the vocabulary size V."""
        self.vocab_size = vocab_size
        self._log_p: Floats | None = None

    def fit(self, ids: ArrayLike, boundaries: ArrayLike | None = None) -> Self:
        """Count the symbols of a text, int (T,); `boundaries` are ignored.

        Raises:
            ValueError: The text is empty or holds a symbol outside 0..V-1.
        """
        counts = np.bincount(id_array(ids, self.vocab_size), minlength=self.vocab_size) + 1.0
        self._log_p = np.log(counts / counts.sum())
        return self

    def log_probs(self, ids: ArrayLike) -> Floats:
        """Score a text, int (T,): the log-probability of each symbol, float64 (T,), nats.

        Raises:
            ValueError: The text is empty or holds a symbol outside 0..V-1.
            RuntimeError: The model is not fitted.
        """
        log_p: Floats = fitted(self._log_p, self)[id_array(ids, self.vocab_size)]
        return log_p


class KneserNey:
    """Interpolated Kneser-Ney over symbols, the lowest order mixed with the uniform distribution.

    Source: Chen and Goodman 1998 (TR-10-98, Harvard), modified Kneser-Ney, section 3; Kneser and
    Ney 1995 for the lower orders, which count the different symbols before a window instead of the
    window. differs: the start of a text counts as one such symbol; discounts fall back to 1/2, 1,
    3/2 where an order has too few rare windows to estimate them.
    """

    def __init__(self, order: int, vocab_size: int, discounts: Discounts = "modified") -> None:
        """Set the order: the length of the longest window, a symbol and its order - 1 predecessors.

        `discounts` is "modified" for three discounts per order, "absolute" for one.

        Raises:
            ValueError: The order is below 1, its codes do not fit 63 bits, or unknown discounts.
        """
        check_code_size(order, vocab_size)
        if discounts not in ("modified", "absolute"):
            raise ValueError(f'discounts must be "modified" or "absolute", got {discounts!r}')
        self.order, self.vocab_size, self.discounts = order, vocab_size, discounts
        self._base = vocab_size + 1  # digit V stands before the start of a text
        self._tables: list[CountTable] | None = None

    def fit(self, ids: ArrayLike, boundaries: ArrayLike | None = None) -> Self:
        """Count all windows up to the order; none reaches over the start of a text.

        The texts, int (T,), stand one after the other; each starts at a boundary, int (P,), 0
        understood.

        Raises:
            ValueError: The text is empty, or a symbol or boundary lies outside its range.
        """
        checked = id_array(ids, self.vocab_size)
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

        Takes ids and boundaries as `fit` does. Returns log P(ids[t] | ids[t - order + 1], ...,
        ids[t - 1]), float64 (T,), nats.

        Raises:
            ValueError: The text is empty, or a symbol or boundary lies outside its range.
            RuntimeError: The model is not fitted.
        """
        tables = fitted(self._tables, self)
        checked = id_array(ids, self.vocab_size)
        starts = text_starts(boundaries, len(checked))
        p: Floats = np.full(len(checked), 1.0 / self.vocab_size)
        for order, table in enumerate(tables, start=1):
            codes = self._window_codes(checked, starts, order)
            p = table.mix(p, codes // self._base, checked, self._base)
        return np.log(p)

    def next_probs(self, contexts: ArrayLike) -> Floats:
        """Predict the next symbol after each context: float64 (n, V), each row sums to 1.

        `contexts` are int (n, k), oldest symbol first, k of any size; the last order - 1 count.
        Unlike in `log_probs`, nothing is assumed about what stood before a short context.

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
