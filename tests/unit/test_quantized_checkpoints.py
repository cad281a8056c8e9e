# SPDX-License-Identifier: MIT
"""Rounded snapshots on disk: close to the model, small, and damage is named."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from pretrain import quantized_checkpoints
from pretrain.bert import BERT
from pretrain.checkpoints import Model
from pretrain.gpt import GPT
from pretrain.quantized_checkpoints import load_quantized, save_quantized
from pretrain.resume import CheckpointError
from pretrain.t5 import T5
from pretrain.tokenization import CharTokenizer

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
