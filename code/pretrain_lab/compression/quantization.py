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

    rows: Tensor
    scales: Tensor
    bias: Tensor | None

    def __init__(self, layer: nn.Linear, *, round_inputs: bool) -> None:
        """Round the matrix of a layer; the layer itself stays as it is, and its bias in float.

        With `round_inputs` what comes in is rounded too, token by token, and the product taken in
        whole numbers; otherwise the matrix is turned back at every call.
        """
        super().__init__()
        rows, scales = quantize_rows(layer.weight.detach())
        self.register_buffer("rows", rows)  # (out, in)
        self.register_buffer("scales", scales)  # (out,)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().clone())
        self.round_inputs = round_inputs

    @property
    def weight(self) -> Tensor:
        """The matrix turned back into floats, (out, in), for who reads it directly."""
        return self.rows * self.scales[:, None]

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., in) to (..., out)."""
        if not self.round_inputs:
            return F.linear(x, self.weight, self.bias)
        inputs, input_scales = quantize_rows(x.flatten(end_dim=-2))
        sums = torch._int_mm(inputs, self.rows.t())  # int32 (N, out): exact
        out = (sums * (input_scales[:, None] * self.scales)).unflatten(0, x.shape[:-1])
        return out if self.bias is None else out + self.bias


class QuantizedEmbedding(nn.Module):
    """A table of vectors that is stored as whole numbers."""

    rows: Tensor
    scales: Tensor

    def __init__(self, table: nn.Embedding) -> None:
        """Round the vectors of a table; the table itself stays as it is."""
        super().__init__()
        rows, scales = quantize_rows(table.weight.detach())
        self.register_buffer("rows", rows)  # (V, D)
        self.register_buffer("scales", scales)  # (V,)
        self.num_embeddings = table.num_embeddings

    @property
    def weight(self) -> Tensor:
        """The table turned back into floats, (V, D), as a head reads it that shares it."""
        return self.rows * self.scales[:, None]

    def forward(self, ids: Tensor) -> Tensor:
        """Look up the vectors of ids (...), as floats (..., D)."""
        return self.rows[ids] * self.scales[ids][..., None]


def quantize_layers(model: nn.Module, *, round_inputs: bool = False) -> nn.Module:
    """Put int8 layers in the place of all linear layers and looked-up tables of a model.

    Learned positions, and an output matrix that is a bare parameter of BERT's head, stay in float.
    The model is changed in place, and from then on for reading only. `round_inputs` is as in
    `QuantizedLinear`.
    """
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, QuantizedLinear(child, round_inputs=round_inputs))
        elif isinstance(child, nn.Embedding) and name != "position":
            setattr(model, name, QuantizedEmbedding(child))
        else:
            quantize_layers(child, round_inputs=round_inputs)
    return model
