# SPDX-License-Identifier: MIT
"""Rounded snapshots on disk: close to the model, small, and damage is named.

Whole numbers and a scale for each row.
"""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Generator, Tensor, nn

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.run_state import CheckpointError
from pretrain.t5 import T5
from pretrain_lab.checkpoints import Model
from pretrain_lab.compression import quantization as quantized_checkpoints
from pretrain_lab.compression.quantization import (
    LEVELS,
    QuantizedEmbedding,
    QuantizedLinear,
    load_quantized,
    quantize_layers,
    quantize_rows,
    save_quantized,
    stored_bytes,
)
from pretrain_lab.tokenizers.characters import CharTokenizer

TOKENIZER = CharTokenizer.from_text("abcdefghi")  # 11 ids
SIZES = {"d_model": 16, "n_layers": 2, "n_heads": 2}
IDS = torch.tensor([[2, 3, 4, 10, 7]])
MODELS: dict[str, Callable[[], Model]] = {
    "GPT": lambda: GPT(11, max_len=12, init_std=0.2, **SIZES),  # type: ignore[arg-type]
    "untied GPT": lambda: GPT(11, max_len=12, tie_head=False, **SIZES),  # type: ignore[arg-type]
    "BERT": lambda: BERT(11, max_len=12, init_std=0.2, **SIZES),  # type: ignore[arg-type]
    "T5": lambda: T5(11, **SIZES),  # type: ignore[arg-type]
}
NAME = "blocks.1.feed_forward.up.weight"


def answer(model: Model) -> Tensor:
    """Give the logits of a fixed input."""
    with torch.inference_mode():
        return model(IDS, IDS[:, :3]) if isinstance(model, T5) else model(IDS)


def make(kind: str) -> Model:
    """Make a model from a fixed seed that has read a text in training mode."""
    torch.manual_seed(0)
    model = MODELS[kind]()
    model.train()
    _ = model(IDS, IDS) if isinstance(model, T5) else model(IDS)
    return model.eval()


def header(path: Path) -> dict:
    """Read the header of a safetensors file: eight bytes of length, then JSON."""
    data = path.read_bytes()
    return json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])


def change(path: Path, edit: Callable[[dict[str, Tensor]], object], **metadata: str) -> None:
    """Change tensors and header entries of a file in place."""
    with safe_open(path, framework="pt") as file:
        old = file.metadata()
    state = load_file(path)
    edit(state)
    save_file(state, path, metadata={**old, **metadata})


@pytest.mark.parametrize("kind", MODELS)
def test_every_weight_comes_back_within_half_a_step_of_its_row(tmp_path: Path, kind: str) -> None:
    """Matrices miss by at most max|row| / 254, the rest not at all; answers stay close."""
    model, path = make(kind), tmp_path / "new" / "model_00050.safetensors"
    before = {name: value.clone() for name, value in model.state_dict().items()}
    save_quantized(path, model, TOKENIZER, 50)
    loaded, tokenizer, step = load_quantized(path)
    assert type(loaded) is type(model)
    assert (loaded.options, step, loaded.training) == (model.options, 50, False)
    assert tokenizer.tokens == TOKENIZER.tokens
    found = loaded.state_dict()
    assert found.keys() == before.keys()
    moved = 0.0
    for name, value in before.items():
        assert torch.equal(model.state_dict()[name], value)  # saving changes nothing
        assert found[name].dtype == value.dtype
        if value.dim() == 2:
            error = (found[name] - value).abs()
            assert (error.amax(1) <= value.abs().amax(1) * (0.5 / 127 + 1e-6)).all(), name
            moved = max(moved, float(error.max()))
        else:
            assert torch.equal(found[name], value), name
    assert moved > 0  # it is not the float model that was stored
    spread = float((answer(loaded) - answer(model)).std() / answer(model).std())
    assert 0 < spread < 0.05
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_format_is_the_described_one(tmp_path: Path) -> None:
    """I8 with an F32 scale a row for matrices, F32 for all else; tied weights once."""
    path = tmp_path / "bert.safetensors"
    model = make("BERT")
    save_quantized(path, model, TOKENIZER, 50)
    found = header(path)
    about = found.pop("__metadata__")
    assert about["step"] == "50"
    assert json.loads(about["pretrain"]) == {
        "model": "BERT", "options": model.options, "tokenizer": TOKENIZER.to_dict()
    }  # fmt: skip
    state = model.state_dict()
    names = state.keys() - {"head.output_weight"}
    matrices = {name for name in names if state[name].dim() == 2}
    assert found.keys() == names | {f"{name}.scale" for name in matrices}
    for name in names:
        kind = "I8" if name in matrices else "F32"
        assert (found[name]["dtype"], found[name]["shape"]) == (kind, list(state[name].shape))
    for name in matrices:
        scale = found[f"{name}.scale"]
        assert (scale["dtype"], scale["shape"]) == ("F32", [len(state[name])])
    stored = load_file(path)  # by hand: the row's largest weight is 127 steps
    row, scale = state[NAME][3], stored[f"{NAME}.scale"][3]
    torch.testing.assert_close(scale, row.abs().max() / 127)
    assert stored[NAME][3].tolist() == [round(float(w / scale)) for w in row]


def test_a_time_machines_model_takes_less_than_200_kib(tmp_path: Path) -> None:
    """The shape of the recorded snapshots: a little over one byte a weight."""
    model = GPT(64, d_model=64, n_layers=2, n_heads=4, max_len=64)
    path = tmp_path / "gpt.safetensors"
    save_quantized(path, model, CharTokenizer([chr(i) for i in range(62)], ("[PAD]", "[MASK]")), 0)
    n_weights = sum(p.numel() for p in model.parameters())
    assert n_weights < path.stat().st_size < 1.25 * n_weights
    assert path.stat().st_size <= 200 * 1024


def test_a_model_without_a_step(tmp_path: Path) -> None:
    """A finished model belongs to no step."""
    path = tmp_path / "model.safetensors"
    save_quantized(path, make("GPT"), TOKENIZER)
    assert "step" not in header(path)["__metadata__"]
    assert load_quantized(path)[2] is None


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path: Path) -> None:
    """Wrong name, vocabulary, step or weights: each is named, and nothing is written."""
    path, model = tmp_path / "model.safetensors", make("GPT")
    save_quantized(path, model, TOKENIZER, 1)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"ending in \.safetensors, got model\.pt"):
        save_quantized(tmp_path / "model.pt", model, TOKENIZER)
    with pytest.raises(ValueError, match="expected a tokenizer of 11 ids, as the model has, got 5"):
        save_quantized(path, model, CharTokenizer("abc"))
    with pytest.raises(ValueError, match="expected step >= 0, got -1"):
        save_quantized(path, model, TOKENIZER, -1)
    model.get_parameter(NAME).data[0, 0] = torch.nan
    with pytest.raises(ValueError, match=f"infinite or NaN in {NAME}"):
        save_quantized(path, model, TOKENIZER, 2)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.6, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    """Cut anywhere, the message names the file."""
    path = tmp_path / "model.safetensors"
    save_quantized(path, make("GPT"), TOKENIZER, 50)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(CheckpointError, match=r"a rounded model of this book in .*cannot be read"):
        load_quantized(path)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda s: s.pop(f"{NAME}.scale"), rf"missing \['{NAME}.scale'\], without matrix \[\]"),
        (lambda s: s.pop(NAME), rf"missing \[\], without matrix \['{NAME}.scale'\]"),
        (lambda s: s.update({NAME: torch.ones(64, 16)}), rf"without matrix \['{NAME}.scale'\]"),
        (lambda s: s.update({f"{NAME}.scale": torch.ones(3)}), r"\(64, 16\) and \(3,\)"),
        (lambda s: s.update({f"{NAME}.scale": torch.ones(64).half()}), "torch.float16"),
        (lambda s: s[f"{NAME}.scale"].fill_(torch.inf), f"finite scales of {NAME}"),
        (lambda s: s.pop("final_norm.weight"), r"missing \['final_norm.weight'\]"),
        (lambda s: s.update(odd=torch.ones(1)), r"unexpected \['odd'\]"),
    ],
    ids=["no scale", "no matrix", "float", "short", "half", "infinite", "no norm", "extra"],
)
def test_wrong_tensors_are_named(
    tmp_path: Path, edit: Callable[[dict[str, Tensor]], object], message: str
) -> None:
    """What is missing, extra or misshapen stands in the message."""
    path = tmp_path / "model.safetensors"
    save_quantized(path, make("GPT"), TOKENIZER, 50)
    change(path, edit)
    with pytest.raises(CheckpointError, match=message):
        load_quantized(path)


@pytest.mark.parametrize(
    "entry", [{"step": "soon"}, {"pretrain": "{}"}, {"pretrain": "[1"}], ids=str
)
def test_a_wrong_header_is_refused(tmp_path: Path, entry: dict[str, str]) -> None:
    """A step that is no number, and descriptions that describe nothing."""
    path = tmp_path / "model.safetensors"
    save_quantized(path, make("GPT"), TOKENIZER, 50)
    change(path, lambda state: None, **entry)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_quantized(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The message repeats the path."""
    with pytest.raises(FileNotFoundError, match=r"got '.*gone\.safetensors'"):
        load_quantized(tmp_path / "gone.safetensors")


def test_a_name_means_a_file_of_the_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names without an ending are looked up below data/checkpoints."""
    monkeypatch.setattr(
        quantized_checkpoints, "data_file", lambda *parts: tmp_path.joinpath(*parts)
    )
    save_quantized(
        tmp_path / "checkpoints/machine/gpt_00050.safetensors", make("GPT"), TOKENIZER, 50
    )
    assert load_quantized("machine/gpt_00050")[2] == 50
    with pytest.raises(FileNotFoundError, match=r"got '.*gpt_00051\.safetensors'"):
        load_quantized("machine/gpt_00051")


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
