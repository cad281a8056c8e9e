# SPDX-License-Identifier: MIT
"""Weights in one byte instead of four: symmetric int8, one scale for each row, for reading only.

Papers: Jacob et al. 2018 (arXiv:1712.05877) for integer arithmetic in inference; Dettmers et al.
2022 (arXiv:2208.07339) for a scale per row of what goes in and of what it meets.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain_lab.checkpoints import quantize_rows


class QuantizedLinear(nn.Module):
    """A linear layer whose matrix is stored as whole numbers."""

    weight: Tensor
    scales: Tensor
    bias: Tensor | None

    def __init__(self, layer: nn.Linear, *, round_inputs: bool) -> None:
        """Round the matrix of a layer; the layer itself stays as it is, and its bias in float.

        With `round_inputs` what comes in is rounded too, token by token, and the product taken in
        whole numbers; otherwise the matrix is turned back at every call.
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

    Tables whose rows are read directly, as learned positions are, stay in float. The model is
    changed in place, and from then on for reading only. `round_inputs` is as in `QuantizedLinear`.
    """
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, QuantizedLinear(child, round_inputs=round_inputs))
        elif isinstance(child, nn.Embedding) and name != "position":
            setattr(model, name, QuantizedEmbedding(child))
        else:
            quantize_layers(child, round_inputs=round_inputs)
    return model
