# SPDX-License-Identifier: MIT
"""How a model is told the order of its tokens.

Papers: Vaswani et al. 2017 (arXiv:1706.03762), section 3.5, for the sinusoids; Raffel et al. 2020
(arXiv:1910.10683), section 2.1, for T5's relative buckets; Su et al. 2021 (arXiv:2104.09864) for
rotary positions.

Learned positions are a plain `torch.nn.Embedding` and need no function of ours (`embeddings.py`).
Left out: scalings of the rotary angles for texts longer than those of the training.
"""

import math

import torch
from torch import Tensor


def sinusoidal_positions(max_len: int, d_model: int) -> Tensor:
    """Make the fixed table of sines and cosines, float32 (max_len, D).

    Channel 2i holds sin(p / 10000^(2i / D)), channel 2i + 1 the cosine of the same angle.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.5.
    """
    if max_len < 1 or d_model < 2 or d_model % 2:
        raise ValueError(f"expected max_len >= 1 and an even d_model, got {max_len} and {d_model}")
    position = torch.arange(max_len, dtype=torch.float64)[:, None]
    channel = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10_000 ** (channel / d_model)  # (max_len, D / 2)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (max_len, D / 2, 2)
    return table.flatten(1).float()


def rotary_table(max_len: int, d_head: int, *, base: float = 10_000.0) -> Tensor:
    """Make the cosines and sines by which `rotate` turns, float32 (2, max_len, K / 2).

    Position p turns pair i by the angle p / base^(2i / K): the first pairs turn fast, the last
    hardly at all.

    Source: Su et al. 2021 (arXiv:2104.09864), section 3.2.2.
    """
    if max_len < 1 or d_head < 2 or d_head % 2:
        raise ValueError(f"expected max_len >= 1 and an even d_head, got {max_len} and {d_head}")
    pair = torch.arange(0, d_head, 2, dtype=torch.float64)
    angle = torch.arange(max_len, dtype=torch.float64)[:, None] / base ** (pair / d_head)
    return torch.stack([angle.cos(), angle.sin()]).float()


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Turn each pair of channels of a query or key by the angle of its position.

    A query at position t and a key at s then match by their contents and by t - s alone.

    Args:
        x: float (..., T, K).
        table: float (2, T, K / 2), the rows of `rotary_table` for these positions.

    Returns:
        float (..., T, K), of the same dtype and of the same length as a vector.

    Source: Su et al. 2021 (arXiv:2104.09864), equation (34). differs: channel i is paired with
        i + K / 2, as in Llama's released code, and not with its neighbour.
    """
    cos, sin = table
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
    return turned.to(x.dtype)


def relative_position_bucket(
    distance: Tensor, *, bidirectional: bool, n_buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """Sort relative distances into T5's buckets: exact when near, logarithmic when far.

    Args:
        distance: int64, any shape. Key position minus query position, in tokens.
        bidirectional: True in an encoder, where half the buckets serve keys to the right;
            False in a decoder, where those keys are hidden anyway.
        n_buckets: Number of buckets.
        max_distance: Distance from which on all share the last bucket, in tokens.

    Returns:
        int64, the shape of distance, values in 0..n_buckets - 1.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1; default sizes from the same.
    """
    n_side = n_buckets // 2 if bidirectional else n_buckets
    n_exact = n_side // 2
    if n_exact < 1 or max_distance <= n_exact:
        raise ValueError(
            f"expected n_buckets >= {4 if bidirectional else 2} and max_distance > {n_exact}, "
            f"got {n_buckets} and {max_distance}"
        )
    offset = (distance > 0).long() * n_side if bidirectional else torch.zeros_like(distance)
    length = distance.abs() if bidirectional else (-distance).clamp(min=0)
    log_share = (length.clamp(min=1) / n_exact).log() / math.log(max_distance / n_exact)
    far = (n_exact + (log_share * (n_side - n_exact)).long()).clamp(max=n_side - 1)
    return offset + torch.where(length < n_exact, length, far)
