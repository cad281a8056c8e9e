# SPDX-License-Identifier: MIT
"""bfloat16 only where the processor multiplies it faster than float32."""

import pytest
import torch
from torch import Generator, Tensor, nn

from experiments.common.mixed_precision import FastProducts, fast_precision, fast_products


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"avx2": True, "avx512_bf16": False}, torch.float32),
        ({"avx512_bf16": True, "amx_bf16": False}, torch.float32),
        ({"avx512_bf16": True, "amx_bf16": True}, torch.bfloat16),
        ({"architecture": "arm64"}, torch.float32),
    ],
)
def test_the_processor_decides(
    capabilities: dict[str, object], expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products inside are of the type that is fast; weights and gradients are float32."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert fast_precision() == expected
    seen: list[torch.dtype] = []
    layer = nn.Linear(4, 4)

    def objective(model: nn.Module, _: Generator) -> Tensor:
        """Note the type of the product and add it up."""
        product = model(torch.ones(2, 4))
        seen.append(product.dtype)
        return product.float().sum()

    FastProducts(objective)(layer, Generator()).backward()
    assert seen == [expected]
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == torch.float32
    with fast_products(enabled=False):
        assert layer(torch.ones(2, 4)).dtype == torch.float32
