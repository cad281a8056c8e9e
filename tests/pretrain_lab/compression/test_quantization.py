# SPDX-License-Identifier: MIT
"""Layers over whole numbers and a scale for each row: close to the model, and small."""

import pytest
import torch
from torch import Generator, Tensor, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.generation import Sampling, generate
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab.compression.quantization import (
    QuantizedEmbedding,
    QuantizedLinear,
    quantize_layers,
)


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Draw normal numbers."""
    return torch.randn(*shape, generator=Generator().manual_seed(seed))


def stored_bytes(model: nn.Module) -> int:
    """Count the bytes of what a model keeps, shared tensors once."""
    kept = {id(value): value for value in [*model.parameters(), *model.buffers()]}
    return sum(value.numel() * value.element_size() for value in kept.values())


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
    model = BERT(
        BERTConfig(500, d_model=64, n_layers=2, n_heads=4, max_len=16, n_segments=2, tie_head=False)
    )
    model.add_module("head", nn.Identity())
    model.eval()
    ids = torch.arange(12)[None]
    with torch.inference_mode():
        exact, size = model.encode(ids), stored_bytes(model)
        assert size == 4 * sum(p.numel() for p in model.parameters())
        quantize_layers(model, round_inputs=True)
        found = model.encode(ids)
    assert 0 < float((found - exact).std() / exact.std()) < 0.05
    assert 0.25 < stored_bytes(model) / size < 0.35
    assert isinstance(model.embeddings.position, nn.Embedding)
    with pytest.raises(ValueError, match=r"expected ids in 0\.\.499"):
        model.encode(torch.tensor([[500]]))


SIZES = {"d_model": 32, "n_layers": 1, "n_heads": 2}


@pytest.mark.parametrize("tie_head", [True, False])
@pytest.mark.parametrize("kind", ["GPT", "BERT", "T5"])
def test_a_whole_model_keeps_its_scores(kind: str, tie_head: bool) -> None:
    """The output matrix too, its own or the token table's, and where a layer is read in parts."""
    torch.manual_seed(0)
    ids = torch.arange(12)[None]
    model: nn.Module
    if kind == "T5":
        model = T5(T5Config(50, tie_head=tie_head, **SIZES))
    elif kind == "GPT":
        model = GPT(GPTConfig(50, max_len=16, tie_head=tie_head, **SIZES))
    else:
        model = BERT(BERTConfig(50, max_len=16, tie_head=tie_head, **SIZES))
    read = (ids, ids.flip(1)) if kind == "T5" else (ids,)
    with torch.inference_mode():
        exact = model.eval()(*read)
        found = quantize_layers(model)(*read)
    assert 0 < float((found - exact).std() / exact.std()) < 0.05
    if isinstance(model, GPT):
        written = generate(model, ids[:, :3], 5, Sampling(greedy=True))
        assert written.shape == (1, 8)


def test_inputs_are_rounded_when_asked_for() -> None:
    """The choice reaches all layers, however deep; unless asked, the matrices alone are rounded."""
    for options, expected in (({}, False), ({"round_inputs": True}, True)):
        model = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.Sequential(nn.Linear(3, 2))))
        layers = [m for m in quantize_layers(model, **options).modules() if not list(m.children())]
        assert [type(layer) for layer in layers] == [QuantizedLinear] * 2
        assert {layer.round_inputs for layer in layers} == {expected}
