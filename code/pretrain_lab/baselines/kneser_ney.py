# SPDX-License-Identifier: MIT
"""Predict characters from counts: the baselines that the neural models must beat.

Implemented: a unigram model; interpolated Kneser-Ney with the three discounts per order of Chen
and Goodman 1998 (or one absolute discount), the lowest order mixed with the uniform distribution.
The model that fills a blank from both of its sides is
`pretrain_lab.baselines.bidirectional_ngrams`, offered here too.

Not implemented: pruning, out-of-vocabulary words, sampling.

Count windows of symbols, discount the counts, find them again: the parts of `ngrams`.

Implemented: tables of discounted counts with one or three discounts (Chen and Goodman 1998), the
neighbours of every position, and the checks of what a caller hands in.

Not implemented: the models themselves (`pretrain_lab.baselines.kneser_ney`).

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

        Args:
            lower: float64 (...). Probabilities of `symbols` after the shorter contexts.
            contexts: int64 (...), codes; an unseen or negative one leaves `lower` as it is.
            symbols: int64 (...).
            base: Base of the codes.

        Returns:
            float64 (...).
        """
        shared = _look_up(self.contexts, self.held_back, contexts, otherwise=1.0) * lower
        seen = np.where(contexts >= 0, contexts * base + symbols, -1)
        return _look_up(self.grams, self.direct, seen, otherwise=0.0) + shared


def discounted(grams: Ids, counts: Ids, base: int, discounts: Discounts) -> CountTable:
    """Take discounts off the counts and add up, per context, what they leave over.

    Args:
        grams: int64 (G,), sorted codes of different windows.
        counts: int64 (G,), how often each occurs, at least once.
        base: Base of the codes.
        discounts: "modified" for three discounts, "absolute" for one.

    Returns:
        The table of one window shape.
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

    Args:
        ids: int (T,). Texts, one after the other.
        n_left: Number of neighbours on the left.
        n_right: Number of neighbours on the right.
        boundaries: int (P,). Positions at which a new text starts; 0 is understood.

    Returns:
        int64 (T, n_left), the nearest last, and int64 (T, n_right), the nearest first.

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
    """Refuse windows that one 63-bit integer cannot code.

    Args:
        length: Number of symbols in the longest window.
        vocab_size: V, number of symbols.

    Raises:
        ValueError: A number is below 1, or (V + 1) ** length reaches 2 ** 63.
    """
    if length < 1 or vocab_size < 1:
        raise ValueError(f"order and vocab_size must be at least 1, got {length} and {vocab_size}")
    if length >= 63 or (vocab_size + 1) ** length >= 2**63:  # the power of a huge length hangs
        raise ValueError(
            f"windows of {length} symbols out of {vocab_size} do not fit a 63-bit code:"
            " choose a lower order"
        )


def checked_ids(ids: ArrayLike, vocab_size: int) -> Ids:
    """Give one-dimensional int64 ids, all in the vocabulary.

    Args:
        ids: int (T,), not empty.
        vocab_size: V, number of symbols.

    Returns:
        int64 (T,), a copy.

    Raises:
        ValueError: Another shape, another type, or an id outside 0..V-1.
    """
    found = np.asarray(ids)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise ValueError(f"ids must be integers (T,), T > 0, got {found.dtype} {found.shape}")
    if found.min() < 0 or found.max() >= vocab_size:
        raise ValueError(f"ids must be in 0..{vocab_size - 1}, got {found.min()}..{found.max()}")
    return found.astype(np.int64)


def checked_contexts(contexts: ArrayLike, vocab_size: int, lowest: int) -> Ids:
    """Give two-dimensional int64 contexts whose symbols are known.

    Args:
        contexts: int (n, k).
        vocab_size: V, number of symbols.
        lowest: Smallest value allowed: 0, or -1 where a neighbour may be unknown.

    Returns:
        int64 (n, k), a copy.

    Raises:
        ValueError: Another shape, another type, or a value outside lowest..V-1.
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
    """Give the sorted positions at which texts start, 0 among them.

    Args:
        boundaries: int (P,), in any order, or None for one text.
        length: T, number of symbols of all texts.

    Returns:
        int64 (P,), without repetitions.

    Raises:
        ValueError: A position lies outside 0..T-1.
    """
    given = np.asarray([] if boundaries is None else boundaries)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"boundaries must be integers, got {given.dtype}")
    starts = np.unique(np.append(given.astype(np.int64), 0))
    if starts[0] < 0 or starts[-1] >= length:
        raise ValueError(f"boundaries must be in 0..{length - 1}, got {starts[0]}..{starts[-1]}")
    return starts


def encode_texts(texts: Iterable[str], alphabet: str) -> tuple[Ids, Ids]:
    """Write texts as ids, one after the other, and where each starts.

    Args:
        texts: Texts, none empty.
        alphabet: The symbols; a symbol's id is its place.

    Returns:
        int64 (T,) ids and int64 (P,) boundaries, as the models' `fit` takes them.

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
    """Give a model's state, or say that `fit` comes first.

    Args:
        state: What `fit` has set, None before.
        model: The model, for the message.

    Returns:
        The state.

    Raises:
        RuntimeError: The model is not fitted.
    """
    if state is None:
        raise RuntimeError(f"{type(model).__name__} is not fitted: call fit(ids) first")
    return state


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
