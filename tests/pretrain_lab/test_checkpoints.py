# SPDX-License-Identifier: MIT
"""Trained models on disk: everything comes back, and nothing else is accepted."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.run_state import CheckpointError
from pretrain.t5 import T5
from pretrain_lab import checkpoints
from pretrain_lab.checkpoints import load_card, load_model, save_model
from pretrain_lab.tokenizers.characters import CharTokenizer

TOKENIZER = CharTokenizer.from_text("abcdefghi")  # 11 ids
CARD = {"data": "nine letters", "seed": 0, "metrics": {"loss": 1.5}}
SIZES = {"d_model": 8, "n_layers": 2, "n_heads": 2, "max_len": 12}
IDS = torch.tensor([[2, 3, 4, 10]])


def rewrite(path: Path, change: Callable[[dict[str, torch.Tensor]], object], **edit: str) -> None:
    """Change the tensors of a saved model, and entries of its description, in place."""
    with safe_open(path, framework="pt") as file:
        description = json.loads(file.metadata()["pretrain"])
    state = load_file(path)
    change(state)
    save_file(state, path, metadata={"pretrain": json.dumps({**description, **edit})})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (GPT, {}),
        (GPT, {"tie_head": False, "positions": "sinusoidal", "norm": "post"}),
        (BERT, {"n_segments": 2}),
        (BERT, {"tie_head": False, "activation": "relu"}),
    ],
    ids=["GPT", "untied GPT", "BERT", "untied BERT"],
)
def test_round_trip(tmp_path: Path, kind: type[GPT] | type[BERT], options: dict) -> None:
    """The rebuilt model is of the same class, in evaluation mode, with the same logits."""
    model = kind(11, **SIZES, **options)
    model.train()(torch.randint(11, (1, 7)))
    path = tmp_path / "new" / "model.safetensors"
    save_model(path, model, TOKENIZER, CARD)
    loaded, tokenizer = load_model(path)
    assert type(loaded) is kind
    assert not loaded.training
    assert loaded.options == model.options
    assert torch.equal(loaded(IDS), model.eval()(IDS))
    assert int(loaded.embeddings.trained_len) == 7
    assert tokenizer.tokens == TOKENIZER.tokens
    assert json.loads(path.with_suffix(".json").read_text()) == CARD
    assert sorted(p.name for p in path.parent.iterdir()) == ["model.json", "model.safetensors"]


@pytest.mark.parametrize("options", [{}, {"tie_head": False, "gated": True}], ids=["T5", "1.1"])
def test_round_trip_of_t5(tmp_path: Path, options: dict) -> None:
    """Encoder, decoder and the tables of distances come back too."""
    model = T5(11, d_model=8, n_layers=2, n_heads=2, d_head=3, **options).eval()
    path = tmp_path / "t5.safetensors"
    save_model(path, model, TOKENIZER, CARD)
    loaded, _ = load_model(path)
    assert type(loaded) is T5
    assert not loaded.training
    assert loaded.options == model.options
    assert torch.equal(loaded(IDS, IDS[:, :2]), model(IDS, IDS[:, :2]))
    name = "decoder.relative_bias.weight"
    rewrite(path, lambda state: state.pop(name))
    with pytest.raises(CheckpointError, match=rf"missing \['{name}'\], unexpected \[\]"):
        load_model(path)


def test_tied_weights_are_stored_once_and_tied_again(tmp_path: Path) -> None:
    """One copy in the file; after loading, a change of one is a change of both."""
    path = tmp_path / "bert.safetensors"
    save_model(path, BERT(11, **SIZES), TOKENIZER, CARD)  # type: ignore[arg-type]
    names = load_file(path)
    assert "embeddings.token.weight" in names
    assert "head.output_weight" not in names
    loaded, _ = load_model(path)
    assert loaded.head.output_weight is loaded.embeddings.token.weight


def test_a_name_means_a_file_of_the_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names without an ending are looked up in data/checkpoints, model and card alike."""
    monkeypatch.setattr(checkpoints, "CHECKPOINTS", tmp_path / "checkpoints")
    monkeypatch.setattr(checkpoints, "data_file", lambda *parts: tmp_path.joinpath(*parts))
    model = GPT(11, **SIZES)  # type: ignore[arg-type]
    save_model(tmp_path / "checkpoints" / "small.safetensors", model, TOKENIZER, CARD)
    loaded, _ = load_model("small")
    assert torch.equal(loaded(IDS), model.eval()(IDS))
    assert load_card("small") == CARD
    with pytest.raises(FileNotFoundError, match=r"expected one of \['small'\] or a file, got 'b'"):
        load_model("b")
    with pytest.raises(FileNotFoundError, match=r"b\.json"):
        load_card("b")


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    """The message repeats the path."""
    with pytest.raises(FileNotFoundError, match=r"got '.*gone\.safetensors'"):
        load_model(tmp_path / "gone.safetensors")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    """A name that load_model would not find again is not written."""
    with pytest.raises(ValueError, match=r"ending in \.safetensors, got model\.pt"):
        save_model(tmp_path / "model.pt", GPT(11, **SIZES), TOKENIZER, CARD)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_card_that_is_no_json_leaves_the_old_model(tmp_path: Path) -> None:
    """Weights and card belong together, so both are checked before either is written."""
    path = tmp_path / "model.safetensors"
    save_model(path, GPT(11, **SIZES), TOKENIZER, CARD)  # type: ignore[arg-type]
    before = path.read_bytes()
    with pytest.raises(TypeError, match="Tensor is not JSON serializable"):
        save_model(path, GPT(11, **SIZES), TOKENIZER, {"loss": torch.ones(1)})  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert json.loads(path.with_suffix(".json").read_text()) == CARD


@pytest.mark.parametrize("share", [0.0, 0.01, 0.6, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    """Cut anywhere, the message names the file."""
    path = tmp_path / "model.safetensors"
    save_model(path, GPT(11, **SIZES), TOKENIZER, CARD)  # type: ignore[arg-type]
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(CheckpointError, match=r"a model of this book in .*, .* cannot be read"):
        load_model(path)


@pytest.mark.parametrize(
    "edit",
    [{"model": "RNN"}, {"model": "T5"}, {"options": {"vocab_size": 11}}, {"options": {"width": 8}}],
    ids=str,
)
def test_descriptions_that_describe_no_model(tmp_path: Path, edit: dict) -> None:
    """Unknown classes and options, or missing ones."""
    path = tmp_path / "model.safetensors"
    save_model(path, GPT(11, **SIZES), TOKENIZER, CARD)  # type: ignore[arg-type]
    rewrite(path, lambda state: None, **edit)
    with pytest.raises(CheckpointError, match="it cannot be read"):
        load_model(path)


def test_tensors_without_description(tmp_path: Path) -> None:
    """A safetensors file of another origin is not taken for a model."""
    path = tmp_path / "model.safetensors"
    save_file({"x": torch.zeros(2)}, path)
    with pytest.raises(CheckpointError, match="it cannot be read"):
        load_model(path)


@pytest.mark.parametrize("kind", [GPT, BERT])
def test_missing_extra_and_misshapen_tensors(tmp_path: Path, kind: type[GPT] | type[BERT]) -> None:
    """Each is named; nothing is left at its random start."""
    path = tmp_path / "model.safetensors"
    model = kind(11, **SIZES)  # type: ignore[arg-type]

    def refused(change: Callable[[dict[str, torch.Tensor]], object], message: str) -> None:
        """Save, change the file and expect the message."""
        save_model(path, model, TOKENIZER, CARD)
        rewrite(path, change)
        with pytest.raises(CheckpointError, match=message):
            load_model(path)

    name = "blocks.1.feed_forward.up.bias"
    refused(lambda s: s.pop(name), rf"missing \['{name}'\], unexpected \[\]")
    refused(lambda s: s.update(odd=torch.ones(1)), r"missing \[\], unexpected \['odd'\]")
    refused(
        lambda s: s.update({name: torch.ones(2)}), rf"(?s)do not fit: .*size mismatch for {name}"
    )


def test_an_untied_head_must_be_in_the_file(tmp_path: Path) -> None:
    """Only a tied output matrix may be absent; an own one would stay random."""
    path = tmp_path / "model.safetensors"
    save_model(path, BERT(11, **SIZES, tie_head=False), TOKENIZER, CARD)  # type: ignore[arg-type]
    rewrite(path, lambda state: state.pop("head.output_weight"))
    with pytest.raises(CheckpointError, match=r"missing \['head.output_weight'\]"):
        load_model(path)


def test_the_vocabulary_must_be_the_models(tmp_path: Path) -> None:
    """A model of 11 ids saved with a tokeniser of 5 would load, and write nonsense."""
    path = tmp_path / "model.safetensors"
    with pytest.raises(ValueError, match="expected a tokenizer of 11 ids, as the model has, got 5"):
        save_model(path, GPT(11, **SIZES), CharTokenizer("abc"), CARD)
    assert not list(tmp_path.iterdir())


def test_a_file_without_vocabulary_is_refused(tmp_path: Path) -> None:
    """As are folders."""
    path = tmp_path / "model.safetensors"
    save_model(path, GPT(11, **SIZES), TOKENIZER, CARD)
    rewrite(path, lambda state: None, tokenizer={"characters": []})  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_model(path)
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_model(tmp_path / "folder.safetensors")
