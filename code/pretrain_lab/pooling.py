# SPDX-License-Identifier: MIT
"""Texts of different lengths: padded into one rectangle, and their states pooled to vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

POOLINGS = ("first", "last", "mean")


def pad(rows: Sequence[Tensor] | Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Pad B rows of ids on the right: int64 (B, T), and bool (B, T), True = real token.

    Raises:
        ValueError: No row, or an empty one.
    """
    if not rows or not all(map(len, rows)):
        raise ValueError(f"expected rows, none empty, got lengths {[*map(len, rows)]}")
    ids = pad_sequence([torch.as_tensor(r) for r in rows], batch_first=True, padding_value=pad_id)
    lengths = torch.tensor([len(row) for row in rows])
    return ids, torch.arange(ids.shape[1]) < lengths[:, None]


def pool(states: Tensor, real: Tensor, how: str) -> Tensor:
    """Make one vector of each text's states: float (..., B, T, D) to (..., B, D).

    `real` is bool (B, T), True = real token, padding on the right; what stands in the padding has
    no part in the result. POOLINGS are the state of the first token ([CLS] in BERT), that of the
    last real token, and the mean over the real tokens.

    Raises:
        ValueError: Unknown pooling, wrong shapes, no bool mask, or a text without a real token.
    """
    if how not in POOLINGS:
        raise ValueError(f"expected pooling from {POOLINGS}, got {how!r}")
    fits = states.dim() >= 3 and real.shape == states.shape[-3:-1] and states.shape[-2] > 0
    if not fits or real.dtype != torch.bool or not real[:, 0].all():
        raise ValueError(
            f"expected states (..., B, T, D) and a mask of shape {tuple(states.shape[-3:-1])} with "
            f"True in its first column, got shape {tuple(real.shape)} of {real.dtype}"
        )
    if how == "first":
        return states[..., 0, :]
    n_real = real.sum(dim=1)  # (B,)
    if how == "last":
        return states[..., torch.arange(len(real)), n_real - 1, :]
    return states.masked_fill(~real[..., None], 0.0).sum(dim=-2) / n_real[:, None]
