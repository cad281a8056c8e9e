# SPDX-License-Identifier: MIT
"""BERT: the same stack under no mask but padding, trained to restore hidden tokens.

Paper: Devlin et al. 2019 (arXiv:1810.04805), with its released pre-training code for the head.

Implemented: the encoder and the masked-LM head. The pooler and the next-sentence head are in
`pretrain_lab.finetuning.next_sentence`.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.blocks import find_activation, init_weights, make_block
from pretrain.embeddings import Embeddings, check_attention_mask
from pretrain.masks import padding_mask
from pretrain.positions import rotary_table


@dataclass(frozen=True)
class BERTConfig:
    """Sizes and choices of a BERT. BERT base has 30,522, 768, 12, 12, 512 and two segments."""

    vocab_size: int  # V
    d_model: int  # D, the width
    n_layers: int  # N blocks
    n_heads: int  # H
    max_len: int  # most positions, in tokens
    d_ff: int | None = None  # inner width of the feed-forward layers; None = 4 D
    dropout: float = 0.0  # of embeddings, attention weights and branches
    attention_dropout: float | None = None  # of attention weights alone; None = as `dropout`
    norm: str = "post"  # "post" (BERT: the embeddings have a norm too) or "pre" (and a final norm)
    norm_eps: float = 1e-12  # added to the variance in LayerNorm
    positions: str = "learned"  # or "sinusoidal", "rotary"
    n_segments: int = 0  # segment ids; 0 = no segment table
    activation: str = "gelu"  # or "gelu_tanh", "relu"
    tie_head: bool = True  # the output matrix is the embedding matrix
    init_std: float = 0.02  # of the initial weights


class BERT(nn.Module):
    """An encoder-only Transformer: every position sees every real position."""

    def __init__(self, config: BERTConfig) -> None:
        """Build the model.

        Source: Devlin et al. 2019 (arXiv:1810.04805), section 3 and figure 2. differs: the initial
            weights, see `init_weights`.
        """
        super().__init__()
        self.config = c = config
        self.embeddings = Embeddings(
            c.vocab_size, c.d_model, c.max_len, positions=c.positions, n_segments=c.n_segments
        )
        post = c.norm == "post"
        self.embedding_norm = nn.LayerNorm(c.d_model, eps=c.norm_eps) if post else nn.Identity()
        self.dropout = nn.Dropout(c.dropout) if c.dropout else nn.Identity()
        self.blocks = nn.ModuleList(
            make_block(
                c.d_model, c.n_heads, c.d_ff or 4 * c.d_model, dropout=c.dropout, norm=c.norm,
                norm_eps=c.norm_eps, activation=c.activation,
                attention_dropout=c.attention_dropout,
            )
            for _ in range(c.n_layers)
        )  # fmt: skip
        self.rotary: Tensor | None
        table = rotary_table(c.max_len, c.d_model // c.n_heads) if c.positions == "rotary" else None
        self.register_buffer("rotary", table, persistent=False)
        self.final_norm = nn.Identity() if post else nn.LayerNorm(c.d_model, eps=c.norm_eps)
        self.head = MaskedLMHead(c)
        init_weights(self, c.n_layers, std=c.init_std)

    def forward(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        segment_ids: Tensor | None = None,
        *,
        masked_positions: Tensor | None = None,
    ) -> Tensor:
        """Score every vocabulary entry at every position, or only where it is asked for.

        Args:
            ids: int64 (B, T), corrupted token ids.
            attention_mask: bool or int (B, T), True = real token; None = all real.
            segment_ids: int64 (B, T), 0 = first segment; None = 0 throughout.
            masked_positions: bool (B, T), n of them True: the positions to predict. The head is
                then run on these alone, as BERT's own code does.

        Returns:
            Logits, float (B, T, V), or (n, V) in row-major order with masked_positions.
        """
        x = self.encode(ids, attention_mask, segment_ids)
        if masked_positions is not None:
            if masked_positions.dtype != torch.bool or masked_positions.shape != ids.shape:
                raise ValueError(
                    f"expected masked_positions to be bool of shape {tuple(ids.shape)}, got "
                    f"{masked_positions.dtype} of shape {tuple(masked_positions.shape)}"
                )
            x = x[masked_positions]  # (n, D)
        return self.logits(x)

    def encode(
        self, ids: Tensor, attention_mask: Tensor | None = None, segment_ids: Tensor | None = None
    ) -> Tensor:
        """Give every position a vector that depends on both of its sides, float (B, T, D)."""
        check_attention_mask(attention_mask, ids)
        x = self.dropout(self.embedding_norm(self.embeddings(ids, segment_ids)))
        mask = None if attention_mask is None else padding_mask(attention_mask)
        rotary = None if self.rotary is None else self.rotary[:, : ids.shape[1]]
        for block in self.blocks:
            x = block(x, mask, rotary=rotary)
        return self.final_norm(x)

    def logits(self, states: Tensor) -> Tensor:
        """Apply the head to states from `encode`: (..., D) to (..., V)."""
        return self.head(states, self.embeddings.token.weight)


class MaskedLMHead(nn.Module):
    """Dense, activation, LayerNorm, then the output matrix and one bias per token.

    The dense layer exists only for pre-training and is thrown away afterwards.
    """

    def __init__(self, config: BERTConfig) -> None:
        """Make the layers; a tied output matrix is not among them."""
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.activation = find_activation(config.activation)
        self.output_weight = None
        if not config.tie_head:
            own = torch.empty(config.vocab_size, config.d_model).normal_(std=config.init_std)
            self.output_weight = nn.Parameter(own)
        self.output_bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, x: Tensor, embedding_weight: Tensor) -> Tensor:
        """Map hidden states (..., D) to logits (..., V), by the embedding matrix if tied."""
        x = self.norm(self.activation(self.dense(x)))
        weight = embedding_weight if self.output_weight is None else self.output_weight
        return F.linear(x, weight, self.output_bias)
