# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 14, computed."""

from itertools import combinations
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from pretrain.bert import BERT
from pretrain.pruning import zero_smallest
from pretrain.quantization import quantize_rows


def quiz_eff_adam() -> str:
    """Count the bytes of a matrix, its gradient and what Adam keeps for it after one step."""
    layer = nn.Linear(10, 10, bias=False)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(1, 10)).sum().backward()
    optimizer.step()
    means = [value for value in optimizer.state[layer.weight].values() if value.numel() > 1]
    kept = [layer.weight, layer.weight.grad, *means]
    size = sum(t.numel() * t.element_size() for t in kept if t is not None)
    return f"{size // layer.weight.numel()} bytes"


def quiz_eff_batch() -> str:
    """Weigh activations and gradients of a small BERT for a batch and for twice as many texts."""
    model = BERT(20, d_model=8, n_layers=1, n_heads=2, max_len=8)
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    sizes: dict[str, list[int]] = {"activations": [], "gradients": []}
    for n_texts in (4, 8):
        kept: dict[int, Any] = {}

        def keep(tensor: torch.Tensor, kept: dict[int, Any] = kept) -> torch.Tensor:
            """Note a tensor's memory once."""
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in own:
                kept[storage.data_ptr()] = storage
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = model(torch.ones(n_texts, 8, dtype=torch.long)).sum()
        sizes["activations"].append(sum(storage.nbytes() for storage in kept.values()))
        model.zero_grad()
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        sizes["gradients"].append(sum(g.numel() for g in grads))
    doubled = [name for name, (one, two) in sizes.items() if two > 1.9 * one]
    assert len(doubled) == 1
    return f"The {doubled[0]}"


def quiz_eff_zeros() -> str:
    """Count the operations of a layer before and after half its weights became zero."""
    layer, found = nn.Linear(16, 16), []
    for share in (0.0, 0.5):
        zero_smallest(layer, share)
        with FlopCounterMode(display=False) as counter:
            layer(torch.ones(3, 16))
        found.append(counter.get_total_flops())
    return {1.0: "As many as before", 0.5: "Half as many"}[found[1] / found[0]]


def quiz_eff_rounding() -> str:
    """Round many rows whose largest weight is 1.27, and look for the largest error."""
    row = torch.cat([torch.linspace(-1.27, 1.27, 20_001), torch.tensor([1.27])])[None]
    whole, scales = quantize_rows(row)
    return f"{float((whole * scales[:, None] - row).abs().max()):.3f}"


def quiz_eff_grid() -> str:
    """Compute energy and carbon of one training on both grids."""
    energy = [1000 * 0.4 * 24 for _ in ("France", "India")]
    carbon = [e * grid for e, grid in zip(energy, (56, 713), strict=True)]
    assert energy[0] == energy[1]
    return f"The carbon, by a factor of about {carbon[1] / carbon[0]:.0f}; not the energy"


def quiz_eff_shuffle() -> str:
    """Regroup six words in all ways, and count gaps as large as the largest."""
    leans = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
    gaps = [
        abs(sum(leans[i] for i in first) - sum(leans[i] for i in range(6) if i not in first))
        for first in combinations(range(6), 3)
    ]
    return f"{sum(gap >= max(gaps) - 1e-9 for gap in gaps) / len(gaps):g}"
