# SPDX-License-Identifier: MIT
"""BERT: the same stack under no mask but padding, trained to restore hidden tokens.

Paper: Devlin et al. 2019 (arXiv:1810.04805).

Implemented: token, position and segment embeddings, the encoder, the masked-LM head (dense,
GELU, norm, tied output matrix and a bias). The pooler and the next-sentence head are in
`pretrain_lab.finetuning.next_sentence`.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.blocks import ACTIVATIONS, Block, init_weights
from pretrain.dropout import Dropout
from pretrain.embeddings import Embeddings, check_attention_mask
from pretrain.masks import padding_mask


class BERT(nn.Module):
    """An encoder-only Transformer: every position sees every real position."""

    def __init__(
        self,
        vocab_size: int,
        *,
        d_model: int,
        n_layers: int,
        n_heads: int,
        max_len: int,
        d_ff: int | None = None,
        dropout_prob: float = 0.0,
        norm: str = "post",
        norm_eps: float = 1e-12,
        positions: str = "learned",
        n_segments: int = 0,
        activation: str = "gelu",
        tie_head: bool = True,
        init_std: float = 0.02,
    ) -> None:
        """Build the model.

        Args:
            vocab_size: Number of token ids V.
            d_model: Width D.
            n_layers: Number of blocks N.
            n_heads: Number of heads H.
            max_len: Most positions, in tokens.
            d_ff: Inner width of the feed-forward layers; None = 4 D.
            dropout_prob: Dropout of embeddings, attention weights and branches.
            norm: "post" (BERT: the embeddings are normed, the blocks end in a norm) or "pre"
                (a norm before each branch and a final one).
            norm_eps: Added to the variance in LayerNorm.
            positions: "learned" or "sinusoidal".
            n_segments: Number of segment ids (2 in BERT); 0 = no segment table.
            activation: "gelu", "gelu_tanh" or "relu".
            tie_head: Whether the output matrix is the embedding matrix itself.
            init_std: Standard deviation of the initial weights.

        Raises:
            ValueError: Sizes or names that the parts refuse.

        Source: Devlin et al. 2019 (arXiv:1810.04805), section 3 and figure 2. differs: the initial
            weights, see `init_weights`.
        """
        super().__init__()
        self.options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self.embeddings = Embeddings(
            vocab_size, d_model, max_len, positions=positions, n_segments=n_segments
        )
        post_norm = norm == "post"
        self.embedding_norm = nn.LayerNorm(d_model, eps=norm_eps) if post_norm else nn.Identity()
        self.dropout = Dropout(dropout_prob)
        self.blocks = nn.ModuleList(
            Block(
                d_model,
                n_heads,
                4 * d_model if d_ff is None else d_ff,
                dropout_prob=dropout_prob,
                norm=norm,
                norm_eps=norm_eps,
                activation=activation,
            )
            for _ in range(n_layers)
        )
        self.final_norm = nn.Identity() if post_norm else nn.LayerNorm(d_model, eps=norm_eps)
        tied: Any = self.embeddings.token.weight if tie_head else None
        self.head = MaskedLMHead(
            d_model,
            vocab_size,
            norm_eps=norm_eps,
            activation=activation,
            tied=tied,
            init_std=init_std,
        )
        init_weights(self, n_layers, std=init_std)

    @property
    def max_len(self) -> int:
        """Most positions, in tokens."""
        return self.embeddings.max_len

    def encode(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        segment_ids: Tensor | None = None,
    ) -> Tensor:
        """Give every position a vector that depends on both of its sides.

        Args:
            ids: int64 (B, T), token ids.
            attention_mask: bool or int (B, T), True = real token; None = all real.
            segment_ids: int64 (B, T), 0 = first segment; None = 0 throughout.

        Returns:
            Hidden states, float (B, T, D).

        Raises:
            ValueError: Wrong shapes, more tokens than max_len, segments not expected.
        """
        x = self.dropout(self.embedding_norm(self.embeddings(ids, segment_ids)))
        mask = None
        if attention_mask is not None:
            check_attention_mask(attention_mask, ids)
            mask = padding_mask(attention_mask)
        for block in self.blocks:
            x = block(x, mask)
        states: Tensor = self.final_norm(x)
        return states

    def forward(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        segment_ids: Tensor | None = None,
        *,
        predict: Tensor | None = None,
    ) -> Tensor:
        """Score every vocabulary entry at every position, or only where it is asked for.

        Args:
            ids: int64 (B, T), corrupted token ids.
            attention_mask: As in `encode`.
            segment_ids: As in `encode`.
            predict: bool (B, T), n of them True: the positions to predict. The head is then run
                on these alone, as BERT's own code does.

        Returns:
            Logits, float (B, T, V), or (n, V) in row-major order when predict is given.

        Raises:
            ValueError: As `encode`, or predict is not a bool tensor of the shape of ids.
        """
        x = self.encode(ids, attention_mask, segment_ids)
        if predict is not None:
            if predict.dtype != torch.bool or predict.shape != ids.shape:
                raise ValueError(
                    f"expected predict to be bool of shape {tuple(ids.shape)}, "
                    f"got {predict.dtype} of shape {tuple(predict.shape)}"
                )
            x = x[predict]  # (n, D)
        logits: Tensor = self.head(x)
        return logits


class MaskedLMHead(nn.Module):
    """Dense, activation, LayerNorm, then the output matrix and one bias per token.

    The matrix is usually the embedding matrix itself; the dense layer exists only for
    pre-training and is thrown away afterwards.
    """

    def __init__(
        self,
        d_model: int,
        vocab_size: int,
        *,
        norm_eps: float,
        activation: str,
        tied: nn.Parameter | None = None,
        init_std: float = 0.02,
    ) -> None:
        """Make the layers.

        Args:
            d_model: Width D.
            vocab_size: Number of token ids V.
            norm_eps: Added to the variance in LayerNorm.
            activation: Non-linearity after the dense layer.
            tied: Matrix (V, D) to share as output matrix; None = an own one.
            init_std: Standard deviation of an own matrix.

        Source: Devlin et al. 2019 (arXiv:1810.04805) and its released pre-training code.
        """
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model, eps=norm_eps)
        self.activation = ACTIVATIONS[activation]
        if tied is None:
            tied = nn.Parameter(torch.empty(vocab_size, d_model).normal_(std=init_std))
        self.output_weight = tied
        self.output_bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, x: Tensor) -> Tensor:
        """Map hidden states (..., D) to logits (..., V)."""
        x = self.norm(self.activation(self.dense(x)))
        return F.linear(x, self.output_weight, self.output_bias)
