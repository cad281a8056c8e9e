# SPDX-License-Identifier: MIT
"""Kneser-Ney on torch tensors, the count model of chapter 4 without NumPy.

Papers: Kneser & Ney 1995; Chen & Goodman 1999 for the three discounts.

Implemented: what `pretrain.ngrams.KneserNey` gives for one text; a test holds them together. A
window of symbols is one integer in base V + 1, so equal windows are found by sorting. Left out:
several texts, single discounts, prediction of the whole distribution.
"""

import torch
from torch import Tensor


def kneser_ney(train_ids: Tensor, ids: Tensor, order: int, vocab_size: int) -> Tensor:
    """Score each symbol of a text from counts of the training text.

    Args:
        train_ids: int64 (L,), symbols 0..V - 1.
        ids: int64 (T,), symbols 0..V - 1.
        order: Symbols in the longest window, the scored one included; (V + 1)^order < 2^63.
        vocab_size: V, number of symbols.

    Returns:
        float64 (T,), log P of each symbol given the order - 1 before it, in nats.
    """
    base = vocab_size + 1
    windows, counts = window_codes(train_ids, order, base).unique(return_counts=True)
    tables = [(windows, counts)]
    for shorter in range(order - 1, 0, -1):  # each longer window counts once
        tables.append((tables[-1][0] % base**shorter).unique(return_counts=True))
    probs = torch.full(ids.shape, 1 / vocab_size, dtype=torch.float64)
    for length, (windows, counts) in enumerate(reversed(tables), start=1):
        probs = interpolate(probs, window_codes(ids, length, base), windows, counts, base)
    return probs.log()


def window_codes(ids: Tensor, length: int, base: int) -> Tensor:
    """Code the window that ends at each symbol; the last digit stands before the text's start.

    Args:
        ids: int64 (T,).
        length: Symbols in a window.
        base: V + 1.

    Returns:
        int64 (T,).
    """
    start = torch.full((length - 1,), base - 1)
    places = torch.cat([start, ids]).unfold(0, length, 1)  # (T, length)
    return (places * base ** torch.arange(length - 1, -1, -1)).sum(dim=1)


def interpolate(lower: Tensor, codes: Tensor, windows: Tensor, counts: Tensor, base: int) -> Tensor:
    """Mix the discounted counts of one length with the probabilities of the shorter windows.

    Args:
        lower: float64 (T,).
        codes: int64 (T,), the windows to score.
        windows: int64 (G,), sorted codes of those counted.
        counts: int64 (G,).
        base: V + 1.

    Returns:
        float64 (T,).
    """
    n1, n2, n3, n4 = (float((counts == c).sum()) for c in (1, 2, 3, 4))
    rates = torch.tensor([0.0, 0.5, 1.0, 1.5], dtype=torch.float64)
    if min(n1, n2, n3, n4) > 0:
        y = n1 / (n1 + 2 * n2)
        estimated = [0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3]
        if min(estimated[1:]) > 0:
            rates = torch.tensor(estimated, dtype=torch.float64)
    taken = rates[counts.clamp(max=3)]
    contexts, of_context = (windows // base).unique(return_inverse=True)
    zeros = torch.zeros(len(contexts), dtype=torch.float64)
    totals = zeros.index_add(0, of_context, counts.double())
    held_back = zeros.index_add(0, of_context, taken) / totals
    direct = (counts - taken) / totals[of_context]
    shared = find_values(contexts, held_back, codes // base, 1.0) * lower
    return find_values(windows, direct, codes, 0.0) + shared


def find_values(keys: Tensor, values: Tensor, wanted: Tensor, otherwise: float) -> Tensor:
    """Find each wanted code among the sorted keys, or give the other value.

    Args:
        keys: int64 (G,).
        values: float64 (G,).
        wanted: int64 (T,).
        otherwise: For codes that are not there.

    Returns:
        float64 (T,).
    """
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return torch.where(keys[place] == wanted, values[place], otherwise)
