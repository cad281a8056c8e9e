# SPDX-License-Identifier: MIT
"""Whole numbers and a scale for each row."""

import pytest
import torch
from torch import Generator, Tensor, nn

from pretrain.bert import BERT
from pretrain.quantization import (
    LEVELS,
    QuantizedEmbedding,
    QuantizedLinear,
    quantize_layers,
    quantize_rows,
    stored_bytes,
)


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Draw normal numbers."""
    return torch.randn(*shape, generator=Generator().manual_seed(seed))


def test_a_row_by_hand() -> None:
    """The largest size becomes 127; a row of zeros stays one."""
    whole, scales = quantize_rows(torch.tensor([[0.50, -1.27, 0.004], [0.0, 0.0, 0.0]]))
    assert whole.tolist() == [[50, -127, 0], [0, 0, 0]]
    assert whole.dtype == torch.int8
    torch.testing.assert_close(scales[0], torch.tensor(0.01))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_single_column(dtype: torch.dtype) -> None:
    """Each number is the largest of its row; the scales have the type of what came."""
    whole, scales = quantize_rows(torch.tensor([[2.54], [-1.27]], dtype=dtype))
    assert whole.tolist() == [[127], [-127]]
    assert scales.dtype == dtype
    torch.testing.assert_close(scales, torch.tensor([0.02, 0.01], dtype=dtype))


def test_no_number_moves_by_more_than_half_a_step() -> None:
    """The error of each row is bounded by its own scale, and the bound is nearly reached."""
    x = draw(20, 300) * torch.logspace(-3, 3, 20)[:, None]
    whole, scales = quantize_rows(x)
    steps = (whole * scales[:, None] - x).abs() / scales[:, None]
    assert steps.max() <= 0.5 + 1e-4
    assert (steps.max(dim=1)[0] > 0.45).all()
    assert int(whole.abs().max()) == LEVELS


@pytest.mark.parametrize("round_inputs", [False, True])
def test_linear_is_close_and_keeps_the_shape(round_inputs: bool) -> None:
    """One per cent of the output's size, for any number of leading axes."""
    torch.manual_seed(0)
    layer, x = nn.Linear(64, 48), draw(2, 5, 64)
    small = QuantizedLinear(layer, round_inputs=round_inputs)
    with torch.no_grad():
        exact, found = layer(x), small(x)
    assert found.shape == exact.shape
    assert 0 < float((found - exact).std() / exact.std()) < 0.02


def test_small_inputs_are_lost_only_when_inputs_are_rounded() -> None:
    """Beside a 1, a thousandth is less than half a step of 1/127."""
    layer, x = nn.Linear(2, 1), torch.tensor([[1.0, 1e-3]])
    with torch.no_grad():
        layer.weight.fill_(1.0)
        assert layer.bias is not None
        layer.bias.zero_()
    assert QuantizedLinear(layer, round_inputs=False)(x).item() == pytest.approx(1.001, abs=1e-6)
    assert QuantizedLinear(layer, round_inputs=True)(x).item() == pytest.approx(1.0, abs=1e-6)


def test_whole_products_are_exact_for_whole_numbers() -> None:
    """What int8 holds without rounding is multiplied without error."""
    layer = nn.Linear(4, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[127.0, -3.0, 5.0, 0.0], [1.0, 127.0, 2.0, -7.0]]))
    x = torch.tensor([[127.0, 1.0, -2.0, 9.0]])
    small = QuantizedLinear(layer, round_inputs=True)
    torch.testing.assert_close(small(x), layer(x))
    assert small.bias is None


def test_embedding_looks_up_rounded_rows() -> None:
    """Rows come back to within half a step."""
    torch.manual_seed(0)
    table, ids = nn.Embedding(9, 16), torch.tensor([[1, 8], [0, 1]])
    small = QuantizedEmbedding(table)
    assert small(ids).shape == (2, 2, 16)
    assert (small(ids) - table(ids)).abs().max() <= small.scales.max() * 0.5001


def test_a_model_keeps_its_answers_in_a_quarter_of_the_bytes() -> None:
    """All but norms, biases and positions takes one byte; the states change by per cents."""
    torch.manual_seed(0)
    model = BERT(500, d_model=64, n_layers=2, n_heads=4, max_len=16, n_segments=2, tie_head=False)
    model.add_module("head", nn.Identity())
    model.eval()
    ids = torch.arange(12)[None]
    with torch.inference_mode():
        exact, size = model.encode(ids), stored_bytes(model)
        assert size == 4 * sum(p.numel() for p in model.parameters()) + 8  # trained_len
        quantize_layers(model, round_inputs=True)
        found = model.encode(ids)
    assert 0 < float((found - exact).std() / exact.std()) < 0.05
    assert 0.25 < stored_bytes(model) / size < 0.35
    assert isinstance(model.embeddings.position, nn.Embedding)
    with pytest.raises(ValueError, match=r"expected ids in 0\.\.499"):
        model.encode(torch.tensor([[500]]))


def test_inputs_are_rounded_when_asked_for() -> None:
    """The choice reaches all layers, however deep; unless asked, the matrices alone are rounded."""
    for options, expected in (({}, False), ({"round_inputs": True}, True)):
        model = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.Sequential(nn.Linear(3, 2))))
        layers = [m for m in quantize_layers(model, **options).modules() if not list(m.children())]
        assert [type(layer) for layer in layers] == [QuantizedLinear] * 2
        assert {layer.round_inputs for layer in layers} == {expected}


def test_short_floats_are_refused() -> None:
    """A scale rounded down made 128 of the largest number, which int8 writes as -128."""
    for dtype in (torch.float16, torch.bfloat16):
        with pytest.raises(ValueError, match="float32 or float64"):
            quantize_rows(torch.full((1, 1), 6.1e-5, dtype=dtype))
    with pytest.raises(ValueError, match=r"D >= 1, got torch\.float32 of shape \(2, 0\)"):
        quantize_rows(torch.zeros(2, 0))
    for shape in ((3,), (2, 3, 4)):
        with pytest.raises(ValueError, match=r"float64 \(N, D\), D >= 1, got .* of shape"):
            quantize_rows(torch.zeros(shape))
