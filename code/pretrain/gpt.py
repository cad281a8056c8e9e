# SPDX-License-Identifier: MIT
"""GPT: a stack of blocks under the causal mask, trained to predict the next token.

Papers: Radford et al. 2018 (GPT-1: post-norm), Radford et al. 2019 (GPT-2: pre-norm and a final
norm; the default here).

Implemented: the model, its tied head, a key-value cache. Left out: GPT-3's sparse layers.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.attention import KVCache
from pretrain.blocks import Block, init_weights
from pretrain.dropout import Dropout
from pretrain.embeddings import Embeddings, check_attention_mask
from pretrain.masks import causal_mask, padding_mask, prefix_lm_mask


class GPT(nn.Module):
    """A decoder-only Transformer: position t sees positions 1..t and predicts token t + 1."""

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
        norm: str = "pre",
        norm_eps: float = 1e-5,
        positions: str = "learned",
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
            max_len: Context length, in tokens.
            d_ff: Inner width of the feed-forward layers; None = 4 D.
            dropout_prob: Dropout of embeddings, attention weights and branches.
            norm: "pre" (GPT-2, with a final norm) or "post" (GPT-1, without).
            norm_eps: Added to the variance in LayerNorm.
            positions: "learned" or "sinusoidal".
            activation: "gelu", "gelu_tanh" or "relu".
            tie_head: Whether the output matrix is the embedding matrix itself.
            init_std: Standard deviation of the initial weights.

        Raises:
            ValueError: Sizes or names that the parts refuse.

        Source: Radford et al. 2019 (GPT-2), section 2.3; Radford et al. 2018 (GPT-1), section 4.1.
        """
        super().__init__()
        self.options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self.embeddings = Embeddings(vocab_size, d_model, max_len, positions=positions)
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
        self.final_norm = nn.LayerNorm(d_model, eps=norm_eps) if norm == "pre" else nn.Identity()
        self.head = None if tie_head else nn.Linear(d_model, vocab_size, bias=False)
        init_weights(self, n_layers, std=init_std)

    @property
    def max_len(self) -> int:
        """Context length, in tokens."""
        return self.embeddings.max_len

    @property
    def context_limit(self) -> int:
        """Longest context that the model may read, in tokens.

        The longest sequence seen in training; for a fresh model, which has seen nothing, max_len.
        """
        return int(self.embeddings.trained_len) or self.max_len

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
            cache: One KVCache per block; ids are then only the tokens not read before.

        Returns:
            Logits, float (B, T, V). Row t scores the token at t + 1.

        Raises:
            ValueError: Wrong shapes, more tokens than max_len, a mask together with a cache, a
                prefix that was already read, or another number of caches than blocks.
        """
        return self.score(self.hidden(ids, attention_mask, prefix_lens=prefix_lens, cache=cache))

    def score(self, states: Tensor) -> Tensor:
        """Apply the output matrix to states from `hidden`, float (..., D); gives (..., V)."""
        return F.linear(states, (self.embeddings.token if self.head is None else self.head).weight)

    def hidden(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        *,
        prefix_lens: Tensor | None = None,
        cache: list[KVCache] | None = None,
    ) -> Tensor:
        """Compute the states that the head reads; arguments as in `forward`.

        Returns:
            float (B, T, D).

        Raises:
            ValueError: As `forward`.
        """
        if cache is not None and attention_mask is not None:
            raise ValueError("expected no attention_mask together with a cache")
        if cache is not None and len(cache) != len(self.blocks):
            raise ValueError(f"expected {len(self.blocks)} caches, one a block, got {len(cache)}")
        n_past = 0 if cache is None else cache[0].length
        x = self.dropout(self.embeddings(ids, n_past=n_past))
        mask = self._mask(ids, attention_mask, prefix_lens, n_past)
        for i, block in enumerate(self.blocks):
            x = block(x, mask, cache=None if cache is None else cache[i])
        states: Tensor = self.final_norm(x)
        return states

    def make_cache(self) -> list[KVCache]:
        """Make one empty key-value cache per block."""
        return [KVCache(self.max_len) for _ in self.blocks]

    def _mask(
        self,
        ids: Tensor,
        attention_mask: Tensor | None,
        prefix_lens: Tensor | None,
        n_past: int,
    ) -> Tensor | None:
        """Combine the causal triangle with prefix and padding; one new token needs no mask."""
        seq_len = ids.shape[1]
        if prefix_lens is not None:
            if n_past or prefix_lens.shape != ids.shape[:1]:
                raise ValueError(
                    f"expected prefix_lens of shape ({len(ids)},) at the first call, "
                    f"got {tuple(prefix_lens.shape)} after {n_past} tokens"
                )
            mask = prefix_lm_mask(prefix_lens, seq_len)
        elif attention_mask is None and seq_len == 1:
            return None
        else:
            mask = causal_mask(seq_len, n_past=n_past, device=ids.device)
        if attention_mask is None:
            return mask
        check_attention_mask(attention_mask, ids)
        return mask & padding_mask(attention_mask)
