# SPDX-License-Identifier: MIT
"""The first layer of BERT and GPT: tokens, positions and, in BERT, segments, added up.

Papers: Vaswani et al. 2017 (arXiv:1706.03762), sections 3.4 and 3.5; Devlin et al. 2019
(arXiv:1810.04805), figure 2.

Rotary positions add nothing here: they turn queries and keys (`attention.py`). Left out: relative
positions, which are added to the attention scores (`t5.py`).
"""

import math

import torch
from torch import Tensor, nn

from pretrain.positions import sinusoidal_positions

POSITIONS = ("learned", "sinusoidal", "rotary")


class Embeddings(nn.Module):
    """Add token, position and segment vectors."""

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
            vocab_size, d_model, max_len: V, D, and the most positions.
            positions: "learned" (BERT, GPT), "sinusoidal" (2017; tokens are then scaled by
                sqrt(D), as there), or "rotary" (none is added).
            n_segments: Number of segment ids; 0 = no segment table.
        """
        super().__init__()
        if positions not in POSITIONS:
            raise ValueError(f"expected positions in {POSITIONS}, got {positions!r}")
        self.max_len = max_len
        self.token = nn.Embedding(vocab_size, d_model)
        self.positions = positions
        if positions == "learned":
            self.position = nn.Embedding(max_len, d_model)
        elif positions == "sinusoidal":
            table = sinusoidal_positions(max_len, d_model)
            self.register_buffer("sinusoids", table, persistent=False)
        self.segment = nn.Embedding(n_segments, d_model) if n_segments else None

    def forward(
        self, ids: Tensor, segment_ids: Tensor | None = None, *, past_length: int = 0
    ) -> Tensor:
        """Look up and add the vectors.

        Args:
            ids: int64 (B, T), token ids.
            segment_ids: int64 (B, T), or None for segment 0 throughout.
            past_length: Position of the first token (those before it are in a cache).

        Returns:
            float (B, T, D).

        Raises:
            ValueError: Unknown ids, more tokens than positions, or segments that it does not have.
        """
        x = look_up(self.token, ids)
        end = past_length + ids.shape[1]
        if end > self.max_len:
            raise ValueError(f"expected at most max_len = {self.max_len} tokens, got {end}")
        if self.positions == "learned":
            x = x + self.position.weight[past_length:end]
        elif self.positions == "sinusoidal":
            x = x * math.sqrt(x.shape[-1]) + self.sinusoids[past_length:end]
        if self.segment is not None:
            segments = torch.zeros_like(ids) if segment_ids is None else segment_ids
            x = x + look_up(self.segment, segments, "segment_ids")
        elif segment_ids is not None:
            raise ValueError("expected no segment_ids: this model was made with n_segments=0")
        return x


def look_up(table: nn.Embedding, ids: Tensor, name: str = "ids") -> Tensor:
    """Read rows of a table, (B, T) to (B, T, D), and say what was expected when it cannot."""
    if ids.dim() != 2 or ids.shape[1] < 1 or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"expected integer {name} of shape (B, T) with T >= 1, got {ids.dtype} "
            f"of shape {tuple(ids.shape)}"
        )
    try:
        return table(ids)
    except IndexError:
        low, high = int(ids.min()), int(ids.max())
        known = f"0..{table.num_embeddings - 1}"
        raise ValueError(f"expected {name} in {known}, got {low}..{high}") from None


def check_attention_mask(attention_mask: Tensor | None, ids: Tensor) -> None:
    """Refuse an attention mask that does not belong to these ids, both (B, T)."""
    if attention_mask is not None and attention_mask.shape != ids.shape:
        raise ValueError(
            f"expected attention_mask of shape {tuple(ids.shape)}, the shape of ids, "
            f"got {tuple(attention_mask.shape)}"
        )
