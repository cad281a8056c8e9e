# SPDX-License-Identifier: MIT
"""Who may look at whom: the attention masks of BERT, GPT and T5.

Papers: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.3; Raffel et al. 2020
(arXiv:1910.10683), section 3.2.1, for the prefix mask.

Every mask is boolean, indexed [..., query, key], True = may attend, and broadcasts to (B, H, T, S),
as `torch.nn.functional.scaled_dot_product_attention` has it. In Hugging Face models 1 means "may
attend" too, but `torch.nn.MultiheadAttention` takes True for "may NOT attend".

Left out: sparse and sliding-window masks.
"""

import torch
from torch import Tensor


def causal_mask(
    seq_len: int, *, past_length: int = 0, device: torch.device | None = None
) -> Tensor:
    """Let every query read its own position and the ones before it: bool (T, past_length + T).

    The first past_length keys precede all queries: they are in a cache.
    """
    if seq_len < 1 or past_length < 0:
        raise ValueError(
            f"expected seq_len >= 1 and past_length >= 0, got {seq_len} and {past_length}"
        )
    key = torch.arange(past_length + seq_len, device=device)
    query = key[past_length:]
    return key[None, :] <= query[:, None]  # (T, past_length + T)


def bidirectional_mask(seq_len: int, *, device: torch.device | None = None) -> Tensor:
    """Let every query read every position: bool (T, T), all True."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)


def padding_mask(attention_mask: Tensor) -> Tensor:
    """Hide padding from every query.

    Args:
        attention_mask: bool or int (B, S). True or 1 = real token, False or 0 = padding.

    Returns:
        bool (B, 1, 1, S), the same for every head and every query.

    Raises:
        ValueError: Not (B, S), values other than 0 and 1, or a sequence without a real token,
            whose softmax would be over nothing.
    """
    if attention_mask.dim() != 2:
        raise ValueError(
            f"expected attention_mask of shape (B, S), got {tuple(attention_mask.shape)}"
        )
    real = attention_mask.bool()
    if not torch.equal(real.to(attention_mask.dtype), attention_mask):
        values = sorted(set(attention_mask.flatten().tolist()))[:5]
        raise ValueError(f"expected attention_mask to hold only 0 and 1, got {values}")
    empty = (~real).all(dim=1).nonzero().flatten().tolist()
    if empty:
        raise ValueError(f"expected a real token in every sequence, got none in rows {empty}")
    return real[:, None, None, :]


def cross_mask(target_len: int, memory_mask: Tensor) -> Tensor:
    """Let T decoder queries read the encoder's real tokens: (B, S) becomes bool (B, 1, T, S)."""
    return padding_mask(memory_mask).expand(-1, 1, target_len, -1)


def prefix_lm_mask(prefix_lens: Tensor, seq_len: int) -> Tensor:
    """Let every query read the whole prefix, then only keys at or before it.

    Args:
        prefix_lens: int64 (B,). Prefix length of each sequence, in tokens.

    Returns:
        bool (B, 1, T, T).

    Source: Raffel et al. 2020 (arXiv:1910.10683), the "causal with prefix" mask.
    """
    if prefix_lens.dim() != 1 or ((prefix_lens < 0) | (prefix_lens > seq_len)).any():
        raise ValueError(f"expected prefix_lens (B,) in 0..{seq_len}, got {prefix_lens.tolist()}")
    causal = causal_mask(seq_len, device=prefix_lens.device)  # (T, T)
    position = torch.arange(seq_len, device=prefix_lens.device)
    in_prefix = position[None, :] < prefix_lens[:, None]  # (B, T): over keys
    return (causal[None] | in_prefix[:, None, :])[:, None]  # (B, 1, T, T)


def additive_mask(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Turn a boolean mask into the one that is added to the scores: 0, or minus infinity.

    `(1 - mask) * -inf` would give NaN at every allowed place, because 0 * inf is undefined;
    filling the hidden places avoids the product.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"expected a boolean mask, got {mask.dtype}")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)
