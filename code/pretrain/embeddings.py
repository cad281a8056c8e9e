# SPDX-License-Identifier: MIT
"""The first layer of BERT and GPT: tokens, positions and, in BERT, segments, added up.

Papers: Vaswani et al. 2017 (arXiv:1706.03762), sections 3.4 and 3.5; Devlin et al. 2019
(arXiv:1810.04805), figure 2.

Implemented: learned or sinusoidal positions and optional segments, and the checks of what a
caller passes. Left out: relative positions, which live in the attention scores (chapter 6).
"""

import math

import torch
from torch import Tensor, nn

from pretrain.positions import sinusoidal_positions


class Embeddings(nn.Module):
    """Add token, position and segment vectors; remember how far training reached.

    `trained_len` is the longest sequence seen in training (training mode, gradients on), in
    tokens. A learned position beyond it holds the noise it was initialised with, so generation
    never goes there.
    """

    trained_len: Tensor
    sinusoids: Tensor

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        max_len: int,
        *,
        positions: str = "learned",
        n_segments: int = 0,
    ) -> None:
        """Make the tables.

        Args:
            vocab_size: Number of token ids V.
            d_model: Width D.
            max_len: Most positions, in tokens.
            positions: "learned" (BERT, GPT) or "sinusoidal" (2017; tokens are then scaled by
                sqrt(D), as there).
            n_segments: Number of segment ids; 0 = no segment table.

        Raises:
            ValueError: A size below 1, or an unknown kind of positions.
        """
        super().__init__()
        if min(vocab_size, d_model, max_len) < 1:
            raise ValueError(
                "expected vocab_size, d_model and max_len >= 1, got "
                f"{vocab_size}, {d_model} and {max_len}"
            )
        if positions not in ("learned", "sinusoidal"):
            raise ValueError(f"expected positions 'learned' or 'sinusoidal', got {positions!r}")
        self.max_len = max_len
        self.token = nn.Embedding(vocab_size, d_model)
        self.learned = positions == "learned"
        if self.learned:
            self.position = nn.Embedding(max_len, d_model)
        else:
            table = sinusoidal_positions(max_len, d_model)
            self.register_buffer("sinusoids", table, persistent=False)
        self.segment = nn.Embedding(n_segments, d_model) if n_segments else None
        self.register_buffer("trained_len", torch.zeros((), dtype=torch.int64))

    def forward(self, ids: Tensor, segment_ids: Tensor | None = None, *, n_past: int = 0) -> Tensor:
        """Look up and add the vectors.

        Args:
            ids: int64 (B, T), token ids.
            segment_ids: int64 (B, T), or None for segment 0 throughout.
            n_past: Position of the first token, in tokens (those before it are in a cache).

        Returns:
            float (B, T, D).

        Raises:
            ValueError: Wrong shape or type, ids that the tables do not have, more tokens than
                positions, segments not expected.
        """
        self._check(ids, segment_ids, n_past)
        end = n_past + ids.shape[1]
        x = look_up(self.token, ids, "ids")
        if self.learned:
            x = x + self.position.weight[n_past:end]
        else:
            x = x * math.sqrt(x.shape[-1]) + self.sinusoids[n_past:end]
        if self.segment is not None:
            segments = torch.zeros_like(ids) if segment_ids is None else segment_ids
            x = x + look_up(self.segment, segments, "segment_ids")
        if self.training and torch.is_grad_enabled():
            self.trained_len.clamp_(min=end)
        return x

    def _check(self, ids: Tensor, segment_ids: Tensor | None, n_past: int) -> None:
        """Refuse ids and segments that the tables cannot serve."""
        check_ids(ids)
        if n_past + ids.shape[1] > self.max_len:
            raise ValueError(
                f"expected at most max_len = {self.max_len} tokens, got {n_past + ids.shape[1]}"
            )
        if segment_ids is not None and self.segment is None:
            raise ValueError("expected no segment_ids: this model was made with n_segments=0")
        if segment_ids is not None and segment_ids.shape != ids.shape:
            raise ValueError(
                f"expected segment_ids of shape {tuple(ids.shape)}, got {tuple(segment_ids.shape)}"
            )


def check_ids(ids: Tensor, name: str = "ids") -> None:
    """Refuse what is not a batch of token sequences.

    Args:
        ids: Must be int64 or int32 (B, T) with T >= 1.
        name: What the caller calls them.

    Raises:
        ValueError: Wrong shape or type.
    """
    if ids.dim() != 2 or ids.shape[1] < 1 or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"expected integer {name} of shape (B, T) with T >= 1, got {ids.dtype} "
            f"of shape {tuple(ids.shape)}"
        )


def look_up(table: nn.Embedding, ids: Tensor, name: str) -> Tensor:
    """Read rows of a table, and say which ids were expected when it does not have them.

    Args:
        table: Table with one row per id, (V, D).
        ids: int64 (B, T).
        name: What the caller calls them.

    Returns:
        float (B, T, D).

    Raises:
        ValueError: An id that the table does not have.
        RuntimeError: Ids that are no whole numbers, which `check_ids` refuses by name.
    """
    try:
        rows: Tensor = table(ids)
    except IndexError:
        low, high = int(ids.min()), int(ids.max())
        raise ValueError(
            f"expected {name} in 0..{table.num_embeddings - 1}, got {low}..{high}"
        ) from None
    return rows


def check_attention_mask(attention_mask: Tensor, ids: Tensor) -> None:
    """Refuse an attention mask that does not belong to these ids.

    Args:
        attention_mask: bool or int (B, T), True or 1 = real token.
        ids: int64 (B, T).

    Raises:
        ValueError: The shapes differ.
    """
    if attention_mask.shape != ids.shape:
        raise ValueError(
            f"expected attention_mask of shape {tuple(ids.shape)}, the shape of ids, "
            f"got {tuple(attention_mask.shape)}"
        )
