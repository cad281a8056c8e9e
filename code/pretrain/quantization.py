# SPDX-License-Identifier: MIT
"""Weights in one byte instead of four: symmetric int8, one scale for each row.

Papers: Jacob et al. 2018 (arXiv:1712.05877) for integer arithmetic in inference; Dettmers et al.
2022 (arXiv:2208.07339) for a scale per row of what goes in and of what it meets.

Implemented: rounding of rows; a linear layer and an embedding over such rows, for reading only;
optionally the linear layer rounds what it reads as well and multiplies whole numbers. Left out:
zero points, fewer than eight bits, outlier columns, training with rounding.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 127
"""Whole numbers on each side of 0; -128 is not used, so that both sides are alike."""


def quantize_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Round each row to whole numbers between -127 and 127, times a scale of its own.

    Args:
        x: float32 or float64 (N, D), finite. Of shorter types a scale is so coarse that 127 could
            become 128, which int8 does not have.

    Returns:
        int8 (N, D) and scales, float (N,). Their product misses x by at most half a scale.

    Raises:
        ValueError: Another shape, no column, or another type.

    Source: Jacob et al. 2018 (arXiv:1712.05877), section 2.1, without zero point.
    """
    if x.dim() != 2 or x.shape[1] < 1 or x.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"expected float32 or float64 (N, D), D >= 1, got {x.dtype} of shape {tuple(x.shape)}"
        )
    scales = x.abs().amax(dim=1).clamp(min=torch.finfo(x.dtype).tiny) / LEVELS
    return (x / scales[:, None]).round().to(torch.int8), scales


class QuantizedLinear(nn.Module):
    """A linear layer whose matrix is stored as whole numbers."""

    weight: Tensor
    scales: Tensor
    bias: Tensor | None

    def __init__(self, layer: nn.Linear, *, round_inputs: bool) -> None:
        """Round the matrix of a layer; the layer itself stays as it is.

        Args:
            layer: Its bias is kept in float.
            round_inputs: Whether what comes in is rounded too, token by token, and the product
                taken in whole numbers; otherwise the matrix is turned back at every call.
        """
        super().__init__()
        weight, scales = quantize_rows(layer.weight.detach())
        self.register_buffer("weight", weight)  # (out, in)
        self.register_buffer("scales", scales)  # (out,)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().clone())
        self.round_inputs = round_inputs

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., in) to (..., out)."""
        if not self.round_inputs:
            return F.linear(x, self.weight * self.scales[:, None], self.bias)
        rows, row_scales = quantize_rows(x.flatten(end_dim=-2))
        sums = torch._int_mm(rows, self.weight.t())  # int32 (N, out): exact
        out = (sums * (row_scales[:, None] * self.scales)).unflatten(0, x.shape[:-1])
        return out if self.bias is None else out + self.bias


class QuantizedEmbedding(nn.Module):
    """A table of vectors that is stored as whole numbers."""

    weight: Tensor
    scales: Tensor

    def __init__(self, table: nn.Embedding) -> None:
        """Round the vectors of a table; the table itself stays as it is."""
        super().__init__()
        weight, scales = quantize_rows(table.weight.detach())
        self.register_buffer("weight", weight)  # (V, D)
        self.register_buffer("scales", scales)  # (V,)
        self.num_embeddings = table.num_embeddings

    def forward(self, ids: Tensor) -> Tensor:
        """Look up the vectors of ids (...), as floats (..., D)."""
        return self.weight[ids] * self.scales[ids][..., None]


def quantize_layers(model: nn.Module, *, round_inputs: bool = False) -> nn.Module:
    """Put int8 layers in the place of all linear layers and looked-up tables of a model.

    Tables whose rows are read directly, as learned positions are, stay in float.

    Args:
        model: Changed in place, and from then on for reading only.
        round_inputs: As in `QuantizedLinear`.

    Returns:
        The model.
    """
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, QuantizedLinear(child, round_inputs=round_inputs))
        elif isinstance(child, nn.Embedding) and name != "position":
            setattr(model, name, QuantizedEmbedding(child))
        else:
            quantize_layers(child, round_inputs=round_inputs)
    return model


def stored_bytes(model: nn.Module) -> int:
    """Count the bytes of a model's parameters and stored buffers, shared ones once."""
    stored = {value.data_ptr(): value for value in model.state_dict(keep_vars=True).values()}
    return sum(value.numel() * value.element_size() for value in stored.values())
