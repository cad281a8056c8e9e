# SPDX-License-Identifier: MIT
"""LoRA: train two thin matrices beside a frozen one.

Paper: Hu et al. 2022 (arXiv:2106.09685): W = W0 + (alpha / r) B A with B (out, r) zero at the start
and A (r, in) random, so that training begins at the pre-trained model exactly. Adapters are kept
and swapped by `trained_state` and `swapped_weights` of `pretrain_lab.finetuning.freezing`, and
stored by `pretrain_lab.finetuning.adapters`.
"""

import math
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

ADAPTERS = ("*.lora_a", "*.lora_b")
"""Patterns of the trained matrices for `pretrain_lab.finetuning.freezing.freeze_except`."""


class LoRALinear(nn.Module):
    """A linear layer with a low-rank correction beside it."""

    def __init__(
        self, base: nn.Linear, *, rank: int, alpha: float, dropout: float, generator: Generator
    ) -> None:
        """Put A (r, in) and B (out, r) beside a layer, whose weights stay where they are.

        B A is multiplied by alpha / r; dropout is that of A's input, in training.

        Raises:
            ValueError: rank < 1.
        """
        super().__init__()
        if rank < 1:
            raise ValueError(f"expected rank >= 1, got {rank}")
        self.base, self.rank, self.alpha = base, rank, alpha
        self.scale, self.merged = alpha / rank, False
        self.dropout = nn.Dropout(dropout)
        self.lora_a = nn.Parameter(base.weight.new_empty(rank, base.in_features))
        self.lora_b = nn.Parameter(base.weight.new_zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5), generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Map x (..., in) to (..., out); a merged layer is the base alone."""
        y: Tensor = self.base(x)
        if self.merged:
            return y
        return y + self.scale * F.linear(F.linear(self.dropout(x), self.lora_a), self.lora_b)

    @torch.no_grad()
    def set_merged(self, merged: bool) -> None:
        """Add (alpha / r) B A (out, in) to the base's weight, or take it out; twice is once."""
        if merged != self.merged:
            sign = 1 if merged else -1
            self.base.weight += sign * self.scale * self.lora_b @ self.lora_a
            self.merged = merged


def add_lora(
    model: nn.Module,
    names: Sequence[str],
    *,
    rank: int,
    alpha: float,
    generator: Generator,
    dropout: float = 0.0,
) -> list[str]:
    """Freeze a model and put trainable adapters beside its named linear layers.

    Args:
        model: Changed in place. A new head must be opened again: `freeze_except(model, [*ADAPTERS,
            "classifier.*"])`.
        names: Last parts of the layers' names, such as ("query", "value").
        rank: Of each correction, r >= 1.
        alpha: Each correction is multiplied by alpha / r.
        generator: Draws the matrices A, in the order of the layers.
        dropout: Of the adapters' input, in training.

    Returns:
        The full names of the layers that were given an adapter.

    Raises:
        ValueError: rank < 1, or a name that no linear layer has.

    Source: Hu et al. 2022 (arXiv:2106.09685), section 4.1. differs: A is uniform, not Gaussian,
        with the bounds of torch's own linear layers, as in the authors' code and in `peft`.
    """
    linear = {n: m for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    chosen = [name for name in linear if name.rpartition(".")[2] in names]
    absent = sorted(set(names) - {name.rpartition(".")[2] for name in chosen})
    if absent or not chosen:
        raise ValueError(f"expected names of linear layers, no layer is called {absent or names}")
    model.requires_grad_(False)
    for name in chosen:
        layer = LoRALinear(
            linear[name], rank=rank, alpha=alpha, dropout=dropout, generator=generator
        )
        replace_module(model, name, layer)
    return chosen


def replace_module(model: nn.Module, name: str, module: nn.Module) -> None:
    """Put a module in the place of the one that a model has under this full name."""
    owner, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(owner), leaf, module)


def lora_layers(model: nn.Module) -> Iterator[LoRALinear]:
    """Yield the layers that have an adapter, in the model's order."""
    return (module for module in model.modules() if isinstance(module, LoRALinear))


def set_merged(model: nn.Module, merged: bool) -> None:
    """Fold all adapters into the weights, or take them out again.

    A merged model computes what it did, without the cost of the second path. Taking out restores
    the weights up to rounding. Train and swap adapters only while they are not merged.
    """
    for layer in lora_layers(model):
        layer.set_merged(merged)


def merge_lora(model: nn.Module) -> list[str]:
    """Fold all adapters into the weights for good: plain linear layers again, with one path.

    The model is changed in place, and all its parameters may be trained again. Returns the names of
    the layers that had an adapter.
    """
    adapted = {n: m for n, m in model.named_modules() if isinstance(m, LoRALinear)}
    for name, layer in adapted.items():
        layer.set_merged(True)
        replace_module(model, name, layer.base)
    model.requires_grad_(True)
    return list(adapted)
