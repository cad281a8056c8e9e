# SPDX-License-Identifier: MIT
"""Who may look at whom: the boolean attention masks of BERT, GPT and T5.

Paper: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.3; Raffel et al. 2020
(arXiv:1910.10683), section 3.2.1, for the prefix mask.

Implemented: causal, bidirectional, padding, prefix and cross masks, and the additive form of any
of them. Every mask is boolean, indexed [..., query, key], True = may attend, and broadcasts to
(B, H, T, S), as `torch.nn.functional.scaled_dot_product_attention` has it. Hugging Face models
take 1 for "may attend" too, but `torch.nn.MultiheadAttention` takes True for "may NOT attend".

Left out: sparse and sliding-window masks.
"""

import torch
from torch import Tensor


def causal_mask(seq_len: int, *, n_past: int = 0, device: torch.device | None = None) -> Tensor:
    """Let every query read its own position and the ones before it.

    Args:
        seq_len: Number of queries T, in tokens.
        n_past: Keys that precede the first query, in tokens (the part held in a cache).
        device: Where the mask is made.

    Returns:
        bool (T, n_past + T), indexed [query, key]. True = may attend.

    Raises:
        ValueError: seq_len < 1 or n_past < 0.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.3.
    """
    if seq_len < 1 or n_past < 0:
        raise ValueError(f"expected seq_len >= 1 and n_past >= 0, got {seq_len} and {n_past}")
    key = torch.arange(n_past + seq_len, device=device)
    query = key[n_past:]
    return key[None, :] <= query[:, None]  # (T, n_past + T)


def bidirectional_mask(seq_len: int, *, device: torch.device | None = None) -> Tensor:
    """Let every query read every position.

    Args:
        seq_len: Sequence length T, in tokens.
        device: Where the mask is made.

    Returns:
        bool (T, T), all True.

    Raises:
        ValueError: seq_len < 1.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.
    """
    if seq_len < 1:
        raise ValueError(f"expected seq_len >= 1, got {seq_len}")
    return torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)


def padding_mask(attention_mask: Tensor) -> Tensor:
    """Hide padding from every query.

    Args:
        attention_mask: bool or int (B, S). True or 1 = real token, False or 0 = padding.

    Returns:
        bool (B, 1, 1, S), the same for every head and every query.

    Raises:
        ValueError: The mask is not two-dimensional, holds something other than 0 and 1, or a
            sequence has no real token at all (its softmax would be over nothing).
    """
    if attention_mask.dim() != 2:
        raise ValueError(f"expected attention_mask of shape (B, S), got {_shape(attention_mask)}")
    real = attention_mask.bool()
    if not torch.equal(real.to(attention_mask.dtype), attention_mask):
        values = sorted(set(attention_mask.flatten().tolist()))[:5]
        raise ValueError(f"expected attention_mask to hold only 0 and 1, got {values}")
    empty = (~real).all(dim=1).nonzero().flatten().tolist()
    if empty:
        raise ValueError(f"expected a real token in every sequence, got none in rows {empty}")
    return real[:, None, None, :]


def cross_mask(target_len: int, source_mask: Tensor) -> Tensor:
    """Let every decoder query read the real tokens of the encoder's sequence.

    Args:
        target_len: Number of decoder queries T, in tokens.
        source_mask: bool or int (B, S). True or 1 = real source token.

    Returns:
        bool (B, 1, T, S).

    Raises:
        ValueError: target_len < 1, or source_mask is not a valid padding mask.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), encoder-decoder attention.
    """
    if target_len < 1:
        raise ValueError(f"expected target_len >= 1, got {target_len}")
    return padding_mask(source_mask).expand(-1, 1, target_len, -1)


def prefix_lm_mask(prefix_lens: Tensor, seq_len: int) -> Tensor:
    """Let every query read the whole prefix, then only keys at or before it.

    Args:
        prefix_lens: int64 (B,). Prefix length of each sequence, in tokens.
        seq_len: Padded sequence length T, in tokens.

    Returns:
        bool (B, 1, T, T), indexed [batch, head, query, key]. True = may attend.

    Raises:
        ValueError: seq_len < 1, a prefix length lies outside 0..seq_len, or prefix_lens is
            not (B,).

    Source: Raffel et al. 2020 (arXiv:1910.10683), the "causal with prefix" mask.
    """
    if prefix_lens.dim() != 1:
        raise ValueError(f"expected prefix_lens of shape (B,), got {_shape(prefix_lens)}")
    if ((prefix_lens < 0) | (prefix_lens > seq_len)).any():
        raise ValueError(f"prefix_lens must be in 0..{seq_len}, got {prefix_lens.tolist()}")
    causal = causal_mask(seq_len, device=prefix_lens.device)
    position = torch.arange(seq_len, device=prefix_lens.device)
    in_prefix = position[None, :] < prefix_lens[:, None]  # (B, T): over keys
    return (causal[None] | in_prefix[:, None, :])[:, None]  # (B, 1, T, T)


def additive_mask(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Turn a boolean mask into the one that is added to the scores.

    `(1 - mask) * -inf` would give NaN at every allowed place, because 0 * inf is undefined;
    filling the hidden places avoids the product.

    Args:
        mask: bool, any shape. True = may attend.
        dtype: Floating-point type of the scores.

    Returns:
        The same shape: 0 where the mask is True, minus infinity where it is False.

    Raises:
        ValueError: The mask is not boolean, or dtype is not a floating-point type.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"expected a boolean mask, got {mask.dtype}")
    if not dtype.is_floating_point:
        raise ValueError(f"expected a floating-point dtype, got {dtype}")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(
        ~mask, float("-inf")
    )


def _shape(tensor: Tensor) -> tuple[int, ...]:
    """Give a tensor's shape as a plain tuple, for messages."""
    return tuple(tensor.shape)
