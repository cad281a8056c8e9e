# SPDX-License-Identifier: MIT
"""One blank at a time: what BERT, and what a GPT, would write into it.

Implemented: BERT's answer from both sides; a GPT's from the left alone; and a GPT's from both
sides, by Bayes' rule over all candidates. The three are comparable, for they answer one question.
Left out: several blanks at once, whose answers depend on each other.
"""

import torch
from torch import Tensor

from pretrain.bert import BERT
from pretrain.evaluation import evaluating, in_parts, masked_log_probs, taken
from pretrain.gpt import GPT
from pretrain.objectives import IGNORE_INDEX


def blank_log_probs(
    model: BERT, windows: Tensor, places: Tensor, *, mask_id: int, batch_size: int = 64
) -> Tensor:
    """Hide one token of each window and give BERT's distribution for it.

    Args:
        model: A BERT; dropout is switched off meanwhile.
        windows: int64 (N, T), clean text.
        places: int64 (N,), the position to hide in each, in 0..T-1.
        mask_id: Id of [MASK].
        batch_size: Rows at once.

    Returns:
        Log-probabilities, float (N, V).

    Raises:
        ValueError: The shapes do not fit, ids outside the vocabulary, or batch_size < 1.
    """
    _check_places(windows, places)
    if (windows < 0).any():  # under the mask, the model would not see it
        raise ValueError(f"expected windows of ids >= 0, got {int(windows.min())}")
    hidden = places[:, None] == torch.arange(windows.shape[1])  # (N, T), one True a row
    labels = windows.masked_fill(~hidden, IGNORE_INDEX)
    corrupted = windows.masked_fill(hidden, mask_id)
    return masked_log_probs(model, corrupted, labels, batch_size=batch_size)[0]


@torch.no_grad()
def left_log_probs(model: GPT, windows: Tensor, places: Tensor, *, batch_size: int = 64) -> Tensor:
    """Give a GPT's distribution for one token of each window, from what stands to its left.

    Args:
        model: A GPT; dropout is switched off meanwhile.
        windows: int64 (N, T).
        places: int64 (N,), the position to predict, in 1..T-1.
        batch_size: Rows at once.

    Returns:
        Log-probabilities, float (N, V).

    Raises:
        ValueError: The shapes do not fit, a place has nothing to its left, ids outside the
            vocabulary, or batch_size < 1.
    """
    _check_places(windows, places, first=1)
    with evaluating(model):
        parts = [
            model(batch)[torch.arange(len(batch)), place - 1].log_softmax(dim=-1)
            for batch, place in in_parts(batch_size, windows, places)
        ]
    return torch.cat(parts)


@torch.no_grad()
def rescored_log_probs(
    model: GPT, windows: Tensor, places: Tensor, *, candidates: Tensor, n_right: int | None = None
) -> Tensor:
    """Give a GPT's distribution for a blank from both sides, by Bayes' rule.

    Every candidate is put into the blank, and the whole window scored: P(v | left, right) is
    proportional to P(v | left) P(right | left, v). This costs one pass per candidate.

    Args:
        model: A GPT; dropout is switched off meanwhile.
        windows: int64 (N, T).
        places: int64 (N,), the blank of each, in 1..T-1.
        candidates: int64 (C,), the ids that may fill a blank.
        n_right: How many tokens to the right count; None = all.

    Returns:
        Log-probabilities over the candidates, float (N, C), each row normalised.

    Raises:
        ValueError: The shapes do not fit, a place has nothing to its left, ids outside the
            vocabulary, or n_right < 0.
    """
    _check_places(windows, places, first=1)
    if n_right is not None and n_right < 0:
        raise ValueError(f"expected n_right >= 0 or None, got {n_right}")
    if candidates.dim() != 1 or len(candidates) < 1:
        raise ValueError(f"expected candidates (C,), C >= 1, got shape {tuple(candidates.shape)}")
    rows = []
    with evaluating(model):
        for window, place in zip(windows, places.tolist(), strict=True):
            end = None if n_right is None else place + n_right + 1
            filled = window[:end].repeat(len(candidates), 1)
            filled[:, place] = candidates
            scores = taken(model(filled[:, :-1]), filled[:, 1:])  # (C, T - 1)
            rows.append(scores[:, place - 1 :].sum(dim=1))  # the blank and what follows it
    return torch.stack(rows).log_softmax(dim=-1)


def _check_places(windows: Tensor, places: Tensor, first: int = 0) -> None:
    """Refuse windows and places that do not belong together."""
    if windows.dim() != 2 or places.shape != windows.shape[:1] or len(windows) < 1:
        raise ValueError(
            "expected windows (N, T) and places (N,), N >= 1, got "
            f"{tuple(windows.shape)} and {tuple(places.shape)}"
        )
    if places.is_floating_point():
        raise ValueError(f"expected places in whole numbers, got {places.dtype}")
    if not first <= int(places.min()) <= int(places.max()) < windows.shape[1]:
        raise ValueError(
            f"expected places in {first}..{windows.shape[1] - 1}, got "
            f"{int(places.min())}..{int(places.max())}"
        )
