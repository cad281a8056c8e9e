# SPDX-License-Identifier: MIT
"""Weights, neurons and heads that a model can do without.

Papers: Han et al. 2015 (arXiv:1506.02626) for single weights by their size; Michel et al. 2019
(arXiv:1905.10650) for heads by what the loss says of them.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from pretrain.blocks import Block


def zero_smallest(model: nn.Module, share: float) -> nn.Module:
    """Set the smallest weights of every matrix of the linear layers to zero, in place.

    `share` is that of the weights of each matrix, 0..1; biases, norms and tables stay.

    Raises:
        ValueError: share outside its range.

    Source: Han et al. 2015 (arXiv:1506.02626), without the training that follows there.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"expected a share in 0..1, got {share}")
    for module in model.modules():
        if isinstance(module, nn.Linear):
            flat = module.weight.detach().view(-1)
            flat[flat.abs().argsort()[: round(share * flat.numel())]] = 0.0
    return model


def importances(blocks: Iterable[Any], losses: Iterable[Tensor]) -> dict[str, list[Tensor]]:
    """Estimate how much the loss would change without each head and each neuron.

    A gate of 1 on a head's output has the gradient sum of weight times gradient over the columns of
    the output matrix that read this head; its size, summed over batches, is the importance. Losses
    are scalars, each with a fresh graph; their gradients are taken here.

    Returns:
        "heads": for each block float (H,); "neurons": for each block float (F,).

    Source: Michel et al. 2019 (arXiv:1905.10650), section 4.1.
    """
    blocks = list(blocks)
    outputs = [block.attention.output.weight for block in blocks]
    downs = [block.feed_forward.down.weight for block in blocks]
    found = {
        "heads": [torch.zeros(block.attention.n_heads) for block in blocks],
        "neurons": [torch.zeros(down.shape[1]) for down in downs],
    }
    for loss in losses:
        gradients = torch.autograd.grad(loss, [*outputs, *downs])
        with torch.no_grad():
            gates = [(w * g).sum(dim=0) for w, g in zip(outputs + downs, gradients, strict=True)]
            for heads, gate in zip(found["heads"], gates, strict=False):
                heads += gate.unflatten(0, (len(heads), -1)).sum(dim=1).abs()
            for neurons, gate in zip(found["neurons"], gates[len(blocks) :], strict=True):
                neurons += gate.abs()
    return found


def keep_best(block: Block, heads: Tensor, neurons: Tensor, share: float) -> None:
    """Cut out of a block, in place, all but its most important heads and neurons.

    The block has self-attention only. Importances are float (H,) and (F,); the share of each that
    stays is above 0 and up to 1, rounded, at least one.

    Raises:
        ValueError: share outside its range.
    """
    if not 0 < share <= 1:
        raise ValueError(f"expected a share above 0 and up to 1, got {share}")
    kept, neurons_kept = (
        scores.argsort(descending=True, stable=True)[: max(1, round(share * len(scores)))].sort()[0]
        for scores in (heads, neurons)
    )
    attention, feed_forward = block.attention, block.feed_forward
    d_head = attention.output.in_features // attention.n_heads
    columns = (kept[:, None] * d_head + torch.arange(d_head)).flatten()  # of the output matrix
    width = attention.output.in_features
    rows = torch.cat([columns + part * width for part in range(3)])  # queries, keys, values
    attention.qkv = _cut(attention.qkv, rows=rows)
    attention.output = _cut(attention.output, columns=columns)
    attention.n_heads = len(kept)
    feed_forward.up = _cut(feed_forward.up, rows=neurons_kept)
    feed_forward.down = _cut(feed_forward.down, columns=neurons_kept)


def _cut(layer: nn.Linear, *, rows: Any = slice(None), columns: Any = slice(None)) -> nn.Linear:
    """Make a layer of some of the rows (outputs) and columns (inputs) of another."""
    weight = layer.weight.detach()[rows][:, columns].clone()
    smaller = nn.Linear(weight.shape[1], weight.shape[0], bias=layer.bias is not None)
    smaller.weight = nn.Parameter(weight)
    if layer.bias is not None:
        smaller.bias = nn.Parameter(layer.bias.detach()[rows].clone())
    return smaller
