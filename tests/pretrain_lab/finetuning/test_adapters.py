# SPDX-License-Identifier: MIT
"""Adapters on disk: small, complete with their head, and for their own base alone."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Generator, Tensor, nn

from pretrain.gpt import GPT, GPTConfig
from pretrain_lab.checkpoints import save_model
from pretrain_lab.finetuning.adapters import load_adapters, save_adapters
from pretrain_lab.finetuning.freezing import freeze_except
from pretrain_lab.finetuning.lora import ADAPTERS, LoRALinear, add_lora, set_merged
from pretrain_lab.finetuning.sequence_classification import TextClassifier
from pretrain_lab.run_state import CheckpointError
from pretrain_lab.tokenizers.characters import CharTokenizer

TOKENIZER = CharTokenizer.from_text("abcdefghi")  # 11 ids
IDS = torch.tensor([[2, 3, 4, 10], [5, 5, 9, 2]])
NAME = "blocks.1.attention.qkv.lora_b"


def new_base(seed: int = 1) -> GPT:
    """Make a GPT of 11 tokens, the same one for a seed."""
    torch.manual_seed(seed)
    return GPT(GPTConfig(11, 8, 2, 2, 12, init_std=0.3)).eval()


def adapt(model: Any, generator: Generator) -> Any:
    """Give a model adapters, and move all that is trained away from its start."""
    add_lora(model, ("qkv", "output"), rank=2, alpha=3.0, dropout=0.1, generator=generator)
    has_head = isinstance(model, TextClassifier)
    freeze_except(model, [*ADAPTERS, "head.*"] if has_head else ADAPTERS)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.normal_(generator=generator)
    return model.eval()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Save the base."""
    save_model(tmp_path / "base.safetensors", new_base(), TOKENIZER)
    return tmp_path / "base.safetensors"


@pytest.fixture
def file(base: Path, generator: Generator) -> Path:
    """Save adapters of it."""
    path = base.with_name("adapters.safetensors")
    save_adapters(path, adapt(new_base(), generator), base=str(base))
    return path


def test_one_call_gives_the_adapted_model(base: Path, generator: Generator) -> None:
    """With the base's name in the file, by another name, or on a model at hand."""
    model = adapt(new_base(), generator)
    path = base.with_name("adapters.safetensors")
    save_adapters(path, model, base=str(base))
    tensors = load_file(path)
    assert set(tensors) == {n for n, p in model.named_parameters() if p.requires_grad}
    for given in (None, str(base), base, new_base()):
        again, tokenizer = load_adapters(path, given)
        assert torch.equal(again(IDS), model(IDS))
        assert not torch.allclose(again(IDS), new_base()(IDS))
        assert [p.requires_grad for p in again.parameters()] == [
            p.requires_grad for p in model.parameters()
        ]
        assert (tokenizer is None) == isinstance(given, nn.Module)
    layer = again.get_submodule("blocks.0.attention.qkv")
    assert isinstance(layer, LoRALinear)
    assert (layer.rank, layer.alpha, layer.dropout.p) == (2, 3.0, 0.1)


def test_a_new_head_comes_along(base: Path, generator: Generator) -> None:
    """Its weights and the names of its classes, but not the base's weights."""
    names = ("rose", "tragedy", "ghost")
    model = adapt(TextClassifier(new_base(), 3, pooling="last", labels=names), generator)
    path = base.with_name("adapters.safetensors")
    save_adapters(path, model, base=str(base))
    assert path.stat().st_size < base.stat().st_size
    again, tokenizer = load_adapters(path)
    assert torch.equal(again(IDS), model(IDS))
    assert again.labels == names
    assert tokenizer.tokens == TOKENIZER.tokens


def test_adapters_of_another_base_are_refused(file: Path) -> None:
    """The base is named, and stays as it was."""
    other = new_base(seed=2)
    before = {name: value.clone() for name, value in other.state_dict().items()}
    with pytest.raises(
        CheckpointError, match=r"expected the base '.*base\.safetensors' of .*, got a GPT with"
    ):
        load_adapters(file, other)
    with pytest.raises(CheckpointError, match="got a Linear with"):
        load_adapters(file, nn.Linear(2, 2))
    assert other.state_dict().keys() == before.keys()
    assert all(torch.equal(value, before[name]) for name, value in other.state_dict().items())


def test_a_base_with_adapters_is_refused(file: Path) -> None:
    """A second file on the same model: the first one's adapters still stand in it, unchanged."""
    model, _ = load_adapters(file, new_base())
    expected = model(IDS)
    with pytest.raises(CheckpointError, match=r"a base without adapters for .*, got a GPT with 4"):
        load_adapters(file, model)
    assert torch.equal(model(IDS), expected)
    assert any(parameter.requires_grad for parameter in model.parameters())


def test_what_cannot_be_saved_writes_nothing(tmp_path: Path, generator: Generator) -> None:
    """Another ending, no adapters, merged ones."""
    model = adapt(new_base(), generator)
    path = tmp_path / "new" / "adapters.safetensors"
    with pytest.raises(ValueError, match=r"ending in \.safetensors, got adapters\.pt"):
        save_adapters(path.with_suffix(".pt"), model, base="gpt_chars")
    with pytest.raises(ValueError, match=r"adapters \(add_lora\), got none in its GPT"):
        save_adapters(path, new_base(), base="gpt_chars")
    set_merged(model, True)
    with pytest.raises(ValueError, match=r"call set_merged\(model, False\)"):
        save_adapters(path, model, base="gpt_chars")
    assert list(tmp_path.iterdir()) == []


def test_files_that_hold_no_adapters(file: Path, base: Path) -> None:
    """None, a whole model, a cut file, a header that is not whole, an unknown head, a lost base."""
    with pytest.raises(FileNotFoundError, match="expected a file of save_adapters, got"):
        load_adapters(file.with_name("gone.safetensors"))
    with pytest.raises(CheckpointError, match="expected adapters of save_adapters in"):
        load_adapters(base)
    with safe_open(file, framework="pt") as content:
        header: dict[str, Any] = json.loads(content.metadata()["pretrain_adapters"])
    tensors: dict[str, Tensor] = load_file(file)
    for edit, error in (
        ({"head": {"kind": "Poet", "options": {}}}, CheckpointError),
        ({"base": "gone"}, FileNotFoundError),
    ):
        save_file(tensors, file, metadata={"pretrain_adapters": json.dumps({**header, **edit})})
        with pytest.raises(error, match=r"unknown head 'Poet'|got 'gone'"):
            load_adapters(file)
    del header["layers"]
    save_file(tensors, file, metadata={"pretrain_adapters": json.dumps(header)})
    with pytest.raises(CheckpointError, match="its header is not whole"):
        load_adapters(file)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_adapters(file)
