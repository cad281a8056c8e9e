# SPDX-License-Identifier: MIT
"""GPT: a stack of blocks under the causal mask, trained to predict the next token.

Papers: Radford et al. 2018 (GPT-1: post-norm), Radford et al. 2019 (GPT-2: pre-norm and a final
norm; the default here).

Left out: GPT-3's sparse layers.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.attention import KVCache
from pretrain.blocks import init_weights, make_block
from pretrain.embeddings import Embeddings, check_attention_mask
from pretrain.masks import causal_mask, padding_mask, prefix_lm_mask
from pretrain.positions import rotary_table


@dataclass(frozen=True)
class GPTConfig:
    """Sizes and choices of a GPT. GPT-2 has 50,257, 768, 12, 12 and 1,024, and "gelu_tanh"."""

    vocab_size: int  # V
    d_model: int  # D, the width
    n_layers: int  # N blocks
    n_heads: int  # H
    max_len: int  # context, in tokens
    d_ff: int | None = None  # inner width of the feed-forward layers; None = 4 D
    dropout: float = 0.0  # of embeddings, attention weights and branches
    attention_dropout: float | None = None  # of attention weights alone; None = as `dropout`
    norm: str = "pre"  # "pre" (GPT-2, with a final norm) or "post" (GPT-1, without)
    norm_eps: float = 1e-5  # added to the variance in LayerNorm
    positions: str = "learned"  # or "sinusoidal", "rotary"
    activation: str = "gelu"  # or "gelu_tanh", "relu"
    tie_head: bool = True  # the output matrix is the embedding matrix
    init_std: float = 0.02  # of the initial weights


class GPT(nn.Module):
    """A decoder-only Transformer: position t sees positions 1..t and predicts token t + 1."""

    def __init__(self, config: GPTConfig) -> None:
        """Build the model.

        Source: Radford et al. 2019 (GPT-2), section 2.3; Radford et al. 2018 (GPT-1), section 4.1.
        """
        super().__init__()
        self.config = c = config
        self.embeddings = Embeddings(c.vocab_size, c.d_model, c.max_len, positions=c.positions)
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
        pre_norm = c.norm == "pre"
        self.final_norm = nn.LayerNorm(c.d_model, eps=c.norm_eps) if pre_norm else nn.Identity()
        self.head = None if c.tie_head else nn.Linear(c.d_model, c.vocab_size, bias=False)
        init_weights(self, c.n_layers, std=c.init_std)

    def forward(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        *,
        prefix_lens: Tensor | None = None,
        cache: list[KVCache] | None = None,
    ) -> Tensor:
        """Predict the token after each position.

        Args:
            ids: int64 (B, T), token ids.
            attention_mask: bool or int (B, T), True = real token; None = all real. Padding goes
                to the right, so that every real token keeps its position.
            prefix_lens: int64 (B,), number of first tokens that all positions see (a prefix LM);
                None = none.
            cache: From `make_cache`; ids are then only the tokens not read before.

        Returns:
            Logits, float (B, T, V). Row t scores the token at t + 1.
        """
        return self.logits(self.encode(ids, attention_mask, prefix_lens=prefix_lens, cache=cache))

    def encode(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        *,
        prefix_lens: Tensor | None = None,
        cache: list[KVCache] | None = None,
    ) -> Tensor:
        """Give every position the state that the head reads, float (B, T, D)."""
        past_length = 0 if cache is None else cache[0].length
        if cache is not None and not (attention_mask is prefix_lens is None):
            raise ValueError("expected neither attention_mask nor prefix_lens with a cache")
        check_attention_mask(attention_mask, ids)
        x = self.dropout(self.embeddings(ids, past_length=past_length))
        mask = None  # one token by itself sees all that is in the cache
        if prefix_lens is not None:
            mask = prefix_lm_mask(prefix_lens, ids.shape[1])
        elif ids.shape[1] > 1:
            mask = causal_mask(ids.shape[1], past_length=past_length, device=ids.device)
        if attention_mask is not None:
            real = padding_mask(attention_mask)
            mask = real if mask is None else mask & real
        end = past_length + ids.shape[1]
        rotary = None if self.rotary is None else self.rotary[:, past_length:end]
        for i, block in enumerate(self.blocks):
            x = block(x, mask, cache=None if cache is None else cache[i], rotary=rotary)
        return self.final_norm(x)

    def logits(self, states: Tensor) -> Tensor:
        """Apply the output matrix to states from `encode`: (..., D) to (..., V)."""
        return F.linear(states, (self.embeddings.token if self.head is None else self.head).weight)

    def make_cache(self) -> list[KVCache]:
        """Make one empty key-value cache per block."""
        return [KVCache(self.config.max_len) for _ in self.blocks]
