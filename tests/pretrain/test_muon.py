# SPDX-License-Identifier: MIT
"""Muon: singular values near 1, the steps of PyTorch's own, and no slow imitation of bfloat16."""

from copy import deepcopy

import pytest
import torch
from torch import Generator, nn

from pretrain import muon
from pretrain.muon import Muon, orthogonalise, product_dtype
from pretrain.training import OptimConfig, make_optimizer, set_learning_rate

CPU = torch.device("cpu")


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=str)
def dtype(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.dtype:
    """Multiply matrices in either type, whatever the processor."""
    found: torch.dtype = request.param
    monkeypatch.setattr(muon, "product_dtype", lambda _: found)
    return found


@pytest.mark.parametrize("shape", [(8, 8), (8, 24), (24, 8)])
def test_all_directions_are_equally_long(
    shape: tuple[int, int], dtype: torch.dtype, generator: Generator
) -> None:
    """Singular values near 1, singular vectors those of the matrix: U V' takes its place."""
    matrix = torch.randn(shape, generator=generator)
    found = orthogonalise(matrix)
    assert found.dtype == dtype
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    inside = u.T @ found.float() @ v.T  # diagonal, where the directions are kept
    assert torch.allclose(inside.diagonal(), torch.ones(len(s)), atol=0.4)
    assert (inside - inside.diagonal().diag()).abs().max() < (1e-4 if dtype.itemsize == 4 else 0.1)


def test_steps_are_those_of_pytorch(monkeypatch: pytest.MonkeyPatch, generator: Generator) -> None:
    """Three steps of both on the same gradients, with all products in float32."""
    monkeypatch.setattr(muon, "product_dtype", lambda _: torch.float32)
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    start = torch.randn(12, 20, generator=generator)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    options = {"lr": 0.05, "weight_decay": 0.1, "momentum": 0.95}
    pair = (
        Muon([ours], **options),
        torch.optim.Muon([theirs], adjust_lr_fn="match_rms_adamw", **options),
    )
    for _ in range(3):
        gradient = torch.randn(12, 20, generator=generator)
        for parameter, optimizer in zip((ours, theirs), pair, strict=True):
            parameter.grad = gradient.clone()
            optimizer.step()
    assert (ours - start).abs().max() > 0.05
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_a_state_that_is_loaded_reaches_both_rules(generator: Generator) -> None:
    """Moments and rates go on from there, and the rate is still that which is set.

    `accelerate` loads a state whenever it prepares an optimiser.
    """
    model = nn.ModuleDict({"blocks": nn.Linear(6, 4)})
    pairs = []
    for one in (model, deepcopy(model)):
        pairs.append((one, make_optimizer(one, OptimConfig(lr=0.1, optimizer="muon"))))
    for step in range(3):
        gradients = [torch.randn(p.shape, generator=generator) for p in model.parameters()]
        for one, optimizer in pairs:
            for parameter, gradient in zip(one.parameters(), gradients, strict=True):
                parameter.grad = gradient.clone()
            set_learning_rate(optimizer, 0.1 / (step + 1))
            optimizer.step()
        pairs[1][1].load_state_dict(deepcopy(pairs[1][1].state_dict()))
        assert len(pairs[1][1].state) == len(gradients)  # it has the moments of all
    for whole, loaded in zip(model.parameters(), pairs[1][0].parameters(), strict=True):
        assert torch.equal(whole, loaded)


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
    """bfloat16 only where it is faster."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert product_dtype(CPU) == expected
    assert orthogonalise(torch.eye(3)).dtype == expected


def test_other_shapes_are_refused() -> None:
    """A bias has no directions."""
    with pytest.raises(ValueError, match=r"expected matrices \(M, N\) for Muon, got .*\(3,\)"):
        Muon([nn.Parameter(torch.zeros(3))], lr=0.1, weight_decay=0.0)
