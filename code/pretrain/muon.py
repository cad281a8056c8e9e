# SPDX-License-Identifier: MIT
"""Muon: steps of a matrix that are equally long in all of its directions.

Papers: Jordan et al. 2024 (kellerjordan.github.io/posts/muon) for the rule; Liu et al. 2025
(arXiv:2502.16982) for steps as large as AdamW's, and weight decay.

Left out: several devices at once.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
N_ITERATIONS = 5


def product_dtype(device: torch.device) -> torch.dtype:
    """Return the type in which a device multiplies matrices fastest: bfloat16 or float32.

    Of processors only those with matrix units (Intel's AMX) surely gain by bfloat16: with vector
    instructions alone (AVX-512, measured on a Xeon) products took twice as long as in float32, and
    where PyTorch has to imitate it, a hundred times as long.
    """
    slow = device.type == "cpu" and not torch.cpu.get_capabilities().get("amx_bf16")
    return torch.float32 if slow or device.type == "mps" else torch.bfloat16


def orthogonalise(matrix: Tensor) -> Tensor:
    """Bring all singular values of a matrix near 1, between 0.7 and 1.2, and keep its directions.

    An odd polynomial of the matrix acts on its singular values alone. Applied N_ITERATIONS times,
    this one lifts all but the smallest to about 1; no decomposition is computed.

    Args:
        matrix: float (M, N).

    Returns:
        (M, N), in the type of `product_dtype`.

    Source: Jordan et al. 2024, Newton-Schulz iteration of degree five.
    """
    a, b, c = COEFFICIENTS
    x = matrix.to(product_dtype(matrix.device))
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / x.norm().clamp(min=1e-7)  # no singular value above 1
    for _ in range(N_ITERATIONS):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Muon for matrices, with Nesterov momentum, weight decay, and steps as large as AdamW's."""

    def __init__(
        self, params: Iterable[Tensor], lr: float, weight_decay: float, momentum: float = 0.95
    ) -> None:
        """Take the matrices to be trained.

        Args:
            params: float (M, N) each.
            lr: Learning rate; a step has a root mean square of 0.2 times this, as AdamW's has.
            weight_decay: Share of lr by which a matrix shrinks in a step.
            momentum: Share of the mean gradient that is kept in a step.

        Raises:
            ValueError: A parameter is no matrix.
        """
        matrices = list(params)
        if any(p.dim() != 2 for p in matrices):
            shapes = [tuple(p.shape) for p in matrices if p.dim() != 2]
            raise ValueError(f"expected matrices (M, N) for Muon, got shapes {shapes}")
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update all matrices that have a gradient.

        Source: Liu et al. 2025, equation 4.
        """
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                mean = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p.grad))
                mean.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonalise(p.grad.lerp(mean, group["momentum"]))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-0.2 * max(p.shape) ** 0.5 * group["lr"])


class MuonWithAdamW(torch.optim.Optimizer):
    """Muon for some parameters and AdamW for the others, behind one `step`."""

    def __init__(self, muon: Muon, adamw: torch.optim.AdamW) -> None:
        """Join two optimisers: their groups stand in one list, their states in one dictionary."""
        super().__init__(muon.param_groups + adamw.param_groups, {})
        self.parts = (muon, adamw)
        muon.state = adamw.state = self.state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take groups and moments from a state, for both optimisers.

        Loading puts a new list and a new dictionary into the place of those that were shared.
        """
        super().load_state_dict(state_dict)
        n_of_muon = len(self.parts[0].param_groups)
        groups = self.param_groups[:n_of_muon], self.param_groups[n_of_muon:]
        for part, own in zip(self.parts, groups, strict=True):
            part.param_groups, part.state = own, self.state

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update all parameters."""
        for part in self.parts:
            part.step()
