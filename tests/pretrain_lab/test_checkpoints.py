# SPDX-License-Identifier: MIT
"""Trained models on disk, in full and rounded: all comes back, and nothing else is accepted."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Generator, Tensor, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab import checkpoints
from pretrain_lab.checkpoints import (
    FineTuned,
    Model,
    NoHead,
    load_card,
    load_model,
    load_quantized,
    quantize_rows,
    save_model,
    save_quantized,
)
from pretrain_lab.finetuning.lora import add_lora, merge_lora
from pretrain_lab.finetuning.next_sentence import NextSentenceBERT
from pretrain_lab.finetuning.sequence_classification import TextClassifier
from pretrain_lab.finetuning.token_classification import Words, WordTagger
from pretrain_lab.run_state import CheckpointError
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.segments import Packed

TOKENIZER = CharTokenizer.from_text("abcdefghi")  # 11 ids
CARD = {"data": "nine letters", "seed": 0, "metrics": {"loss": 1.5}}
SIZES: dict[str, Any] = {"d_model": 8, "n_layers": 2, "n_heads": 2}
IDS = torch.tensor([[2, 3, 4, 10]])
NAME = "blocks.1.feed_forward.up.weight"
Edit = Callable[[dict[str, Tensor]], object]


def gpt(**options: Any) -> GPT:
    """Make a GPT of 11 tokens."""
    return GPT(GPTConfig(11, max_len=12, **SIZES, **options))


def bert(**options: Any) -> BERT:
    """Make a BERT of 11 tokens."""
    return BERT(BERTConfig(11, max_len=12, **SIZES, **options))


def t5(**options: Any) -> T5:
    """Make a T5 of 11 tokens."""
    return T5(T5Config(11, **SIZES, **options))


MODELS: dict[str, Callable[[], Model]] = {
    "GPT": lambda: gpt(init_std=0.2),
    "untied GPT": lambda: gpt(tie_head=False, positions="sinusoidal", norm="post"),
    "BERT": lambda: bert(n_segments=2, init_std=0.2, dropout=0.1),
    "untied BERT": lambda: bert(tie_head=False, activation="relu"),
    "T5": lambda: t5(d_head=3),
    "T5 1.1": lambda: t5(tie_head=False, gated=True),
}


def answer(model: Model) -> Tensor:
    """Give the logits of a fixed input."""
    with torch.inference_mode():
        return model(IDS, IDS[:, :2]) if isinstance(model, T5) else model(IDS)


def description(path: Path) -> dict[str, Any]:
    """Read what a saved model says of itself."""
    with safe_open(path, framework="pt") as file:
        found: dict[str, Any] = json.loads(file.metadata()["pretrain"])
    return found


def rewrite(path: Path, change: Edit = lambda state: None, **metadata: str) -> None:
    """Change the tensors of a saved model, and entries of its header, in place."""
    with safe_open(path, framework="pt") as file:
        old = file.metadata()
    state = load_file(path)
    change(state)
    save_file(state, path, metadata={**old, **metadata})


def redescribe(path: Path, **edit: Any) -> None:
    """Change entries of the description of a saved model, in place."""
    rewrite(path, pretrain=json.dumps({**description(path), **edit}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a file in a folder that is made when it is needed."""
    return tmp_path / "new" / "model.safetensors"


@pytest.fixture
def saved(path: Path) -> Path:
    """Save a GPT."""
    save_model(path, gpt(), TOKENIZER, CARD)
    return path


@pytest.fixture
def rounded(path: Path) -> Path:
    """Save a GPT as whole numbers, as a snapshot after 50 steps."""
    save_quantized(path, gpt(), TOKENIZER, 50)
    return path


@pytest.mark.parametrize("kind", MODELS)
def test_round_trip(path: Path, kind: str) -> None:
    """The rebuilt model is of the same class, in evaluation mode, with the same logits."""
    model = MODELS[kind]().train()
    save_model(path, model, TOKENIZER, CARD)
    loaded, tokenizer = load_model(path)
    assert type(loaded) is type(model)
    assert not loaded.training
    assert loaded.config == model.config
    assert torch.equal(answer(loaded), answer(model.eval()))
    assert tokenizer.tokens == TOKENIZER.tokens
    assert json.loads(path.with_suffix(".json").read_text()) == CARD
    assert sorted(p.name for p in path.parent.iterdir()) == ["model.json", "model.safetensors"]


def test_bits_of_a_part(path: Path) -> None:
    """Each matrix is rounded with the bits of the longest beginning of its name."""
    save_model(path, gpt(), TOKENIZER, CARD, n_bits={"": 6, "blocks.": 3, "blocks.1.": 2})
    for name, stored in load_file(path).items():
        if stored.dtype == torch.int8:
            levels = {"blocks.0": 3, "blocks.1": 1}.get(name[:8], 31)
            assert stored.abs().amax(dim=1).eq(levels).all(), name
    with pytest.raises(ValueError, match="expected bits for embeddings"):
        save_model(path, gpt(), TOKENIZER, CARD, n_bits={"blocks.": 5})


def test_tied_weights_are_stored_once_and_tied_again(path: Path) -> None:
    """The output matrix of a tied model is in no file of its own name."""
    model = bert()
    save_model(path, model, TOKENIZER, CARD)
    names = load_file(path)
    assert "embeddings.token.weight" in names
    assert "head.output_weight" not in names
    loaded, _ = load_model(path)
    with torch.no_grad():
        for each in (model, loaded):
            each.embeddings.token.weight.mul_(2)
    assert torch.equal(answer(loaded), answer(model.eval()))


LABELS = ("happy", "sad", "neither")
FINE_TUNED: dict[str, Callable[[], FineTuned]] = {
    "classifier of a GPT": lambda: TextClassifier(
        gpt(), 3, pooling="last", labels=LABELS, truncate=True
    ),
    "classifier of a BERT": lambda: TextClassifier(
        bert(), 3, pooling="first", pooler=True, labels=LABELS
    ),
    "classifier of a T5": lambda: TextClassifier(t5(), 2),
    "tagger of a BERT": lambda: WordTagger(bert(), 3, labels=LABELS),
    "tagger of a T5": lambda: WordTagger(t5(), 2),
    "pairs of segments": lambda: NextSentenceBERT(bert(n_segments=2)),
}


def task_answer(model: Any) -> Tensor:
    """Give the scores of a fixed input."""
    with torch.inference_mode():
        if isinstance(model, WordTagger):
            scores: Tensor = model([Words(IDS[0], torch.tensor([1, 3]))], 0)
        elif isinstance(model, NextSentenceBERT):
            scores = model(Packed(IDS, (IDS > 3).long(), torch.ones_like(IDS).bool()))[1]
        else:
            scores = model(IDS)
        return scores


@pytest.mark.parametrize("kind", FINE_TUNED)
def test_a_fine_tuned_model_comes_back_with_its_head(path: Path, kind: str) -> None:
    """The same scores, the names of the classes, how long texts are read, the vocabulary."""
    model = FINE_TUNED[kind]().eval()
    save_model(path, model, TOKENIZER)
    loaded, tokenizer = load_model(path)
    assert type(loaded) is type(model)
    assert loaded.head_options() == model.head_options()
    assert loaded.backbone.config == model.backbone.config
    assert torch.equal(task_answer(loaded), task_answer(model))
    assert not loaded.training
    assert tokenizer.tokens == TOKENIZER.tokens
    assert json.loads(path.with_suffix(".json").read_text()) == {}
    if "classifier" in kind and "T5" not in kind:
        assert loaded.labels == LABELS
    save_model(path, model, TOKENIZER, n_bits=8)
    assert torch.allclose(task_answer(load_model(path)[0]), task_answer(model), atol=0.05)


def test_an_encoder_without_masked_lm_head_stays_without(path: Path) -> None:
    """As published sentence encoders are; a classifier on it is kept."""
    encoder = bert()
    encoder.head = NoHead()  # type: ignore[assignment]
    model = TextClassifier(encoder, 2).eval()
    save_model(path, model, TOKENIZER)
    loaded, _ = load_model(path)
    assert torch.equal(task_answer(loaded), task_answer(model))
    with pytest.raises(RuntimeError, match="this checkpoint has none"):
        loaded.backbone(IDS)


def test_what_is_no_model_of_ours_and_adapters_are_refused(
    path: Path, generator: Generator
) -> None:
    """Named, with what to do; nothing is written. Merged adapters are weights like others."""
    with pytest.raises(TypeError, match=r"expected a GPT, BERT, T5, alone or in a .*, got Linear"):
        save_model(path, nn.Linear(2, 2), TOKENIZER)  # type: ignore[arg-type]
    classifier = TextClassifier(gpt(), 2)
    classifier.backbone = nn.Linear(2, 2)
    with pytest.raises(TypeError, match=r"alone or in a .*, got Linear"):
        save_model(path, classifier, TOKENIZER)
    with pytest.raises(TypeError, match=r"a CharTokenizer or SubwordTokenizer .*, got str"):
        save_model(path, gpt(), "plays_bpe")  # type: ignore[arg-type]
    model = TextClassifier(gpt(), 2).eval()
    add_lora(model, ["qkv"], rank=2, alpha=2.0, generator=generator)
    with pytest.raises(ValueError, match=r"save_adapters, or fold .* merge_lora\(model\)"):
        save_model(path, model, TOKENIZER)
    assert not path.parent.exists()
    merge_lora(model)
    save_model(path, model, TOKENIZER)
    assert torch.equal(task_answer(load_model(path)[0]), task_answer(model))


@pytest.mark.parametrize(
    "head", [{"kind": "Poet", "options": {}}, {"kind": "WordTagger", "options": {"n": 2}}]
)
def test_heads_that_are_none(path: Path, head: dict[str, Any]) -> None:
    """An unknown head, or unknown options of one."""
    save_model(path, WordTagger(gpt(), 2), TOKENIZER)
    redescribe(path, head=head)
    with pytest.raises(CheckpointError, match="it cannot be read"):
        load_model(path)


@pytest.mark.parametrize("load", [load_model, load_quantized])
def test_files_of_the_first_editions(path: Path, load: Callable[[Path], tuple[Any, ...]]) -> None:
    """Dropout had another name, and a buffer said how many positions were trained."""
    model = gpt(dropout=0.3)
    if load is load_model:
        save_model(path, model, TOKENIZER, CARD)
    else:
        save_quantized(path, model, TOKENIZER, 50)
    expected = answer(load(path)[0])
    options = {**description(path)["options"], "dropout_prob": 0.3}
    del options["dropout"]
    redescribe(path, options=options)
    rewrite(path, lambda state: state.update({"embeddings.trained_len": torch.tensor(7.0)}))
    loaded = load(path)[0]
    assert loaded.config == model.config
    assert torch.equal(answer(loaded), expected)


def test_a_name_means_a_file_of_the_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names without an ending are looked up in data/checkpoints: models, cards, snapshots."""
    monkeypatch.setattr(checkpoints, "CHECKPOINTS", tmp_path / "checkpoints")
    monkeypatch.setattr(checkpoints, "data_file", lambda *parts: tmp_path.joinpath(*parts))
    model = gpt()
    save_model(tmp_path / "checkpoints" / "small.safetensors", model, TOKENIZER, CARD)
    save_quantized(tmp_path / "checkpoints/machine/gpt_00050.safetensors", model, TOKENIZER, 50)
    assert torch.equal(answer(load_model("small")[0]), answer(model.eval()))
    assert load_card("small") == CARD
    assert load_quantized("machine/gpt_00050")[2] == 50
    for load in (load_model, load_quantized):
        with pytest.raises(
            FileNotFoundError, match=r"expected one of \['small'\] or a file, got 'b'"
        ):
            load("b")
        with pytest.raises(FileNotFoundError, match=r"got '.*gone\.safetensors'"):
            load(tmp_path / "gone.safetensors")
    with pytest.raises(FileNotFoundError, match=r"b\.json"):
        load_card("b")


def test_what_cannot_be_saved_leaves_the_old_file(saved: Path) -> None:
    """A wrong name, another vocabulary, a card that is no JSON: named, and nothing is written."""
    before = saved.read_bytes()
    other = saved.with_name("model.pt")
    with pytest.raises(ValueError, match=r"ending in \.safetensors, got model\.pt"):
        save_model(other, gpt(), TOKENIZER, CARD)
    with pytest.raises(ValueError, match="expected a tokenizer of 11 ids, as the model has, got 5"):
        save_model(saved, gpt(), CharTokenizer("abc"), CARD)
    with pytest.raises(TypeError, match="Tensor is not JSON serializable"):
        save_model(saved, gpt(), TOKENIZER, {"loss": torch.ones(1)})
    assert saved.read_bytes() == before
    assert json.loads(saved.with_suffix(".json").read_text()) == CARD
    assert len(list(saved.parent.iterdir())) == 2


@pytest.mark.parametrize("share", [0.0, 0.01, 0.6, 0.999])
def test_a_truncated_file_is_refused(path: Path, share: float) -> None:
    """Cut anywhere, the message names the file."""
    for save, load, wanted in (
        (lambda: save_model(path, gpt(), TOKENIZER, CARD), load_model, "a model"),
        (lambda: save_quantized(path, gpt(), TOKENIZER), load_quantized, "a rounded model"),
    ):
        save()
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(CheckpointError, match=rf"{wanted} of this book in .*, .*cannot be rea"):
            load(path)


@pytest.mark.parametrize(
    "edit",
    [
        {"model": "RNN"}, {"model": "T5"}, {"options": {"vocab_size": 11}},
        {"options": {"width": 8}}, {"tokenizer": {"characters": []}},
    ],
    ids=str,
)  # fmt: skip
def test_descriptions_that_describe_no_model(saved: Path, edit: dict[str, Any]) -> None:
    """Unknown classes and options, or missing ones, and a vocabulary of nothing."""
    redescribe(saved, **edit)
    with pytest.raises(CheckpointError, match="it cannot be read"):
        load_model(saved)


def test_files_of_another_origin(tmp_path: Path) -> None:
    """Tensors without a description are not taken for a model, and neither is a folder."""
    save_file({"x": torch.zeros(2)}, tmp_path / "model.safetensors")
    (tmp_path / "folder.safetensors").mkdir()
    for name in ("model", "folder"):
        with pytest.raises(CheckpointError, match="it cannot be read"):
            load_model(tmp_path / f"{name}.safetensors")


@pytest.mark.parametrize("kind", ["GPT", "untied BERT", "T5"])
def test_missing_extra_and_misshapen_tensors(path: Path, kind: str) -> None:
    """Each is named; nothing is left at its random start, an own head least of all."""
    model = MODELS[kind]()
    name = {
        "GPT": "blocks.1.feed_forward.up.bias",
        "untied BERT": "head.output_weight",
        "T5": "decoder.relative_bias.weight",
    }[kind]
    edits: list[tuple[Edit, str]] = [
        (lambda s: s.pop(name), f'Missing key.* "{name}"'),
        (lambda s: s.update(odd=torch.ones(1)), 'Unexpected key.* "odd"'),
        (lambda s: s.update({name: torch.ones(2)}), f"size mismatch for {name}"),
    ]
    for edit, message in edits:
        save_model(path, model, TOKENIZER, CARD)
        rewrite(path, edit)
        with pytest.raises(CheckpointError, match=rf"(?s)tensors of .* do not fit: .*{message}"):
            load_model(path)


# Rounded -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_every_weight_comes_back_within_half_a_step_of_its_row(path: Path, kind: str) -> None:
    """Matrices miss by at most max|row| / 254, the rest not at all; answers stay close."""
    model = MODELS[kind]().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    save_quantized(path, model, TOKENIZER, 50)
    loaded, tokenizer, step = load_quantized(path)
    assert type(loaded) is type(model)
    assert (loaded.config, step, loaded.training) == (model.config, 50, False)
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


def header(path: Path) -> dict[str, Any]:
    """Read the header of a safetensors file: eight bytes of length, then JSON."""
    data = path.read_bytes()
    found: dict[str, Any] = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    return found


def test_the_format_is_the_described_one(path: Path) -> None:
    """I8 with an F32 scale a row for matrices, F32 for all else; tied weights once."""
    model = bert()
    save_quantized(path, model, TOKENIZER, 50)
    found = header(path)
    about = found.pop("__metadata__")
    assert about["step"] == "50"
    assert json.loads(about["pretrain"]) == {
        "model": "BERT", "options": vars(model.config), "tokenizer": TOKENIZER.to_dict()
    }  # fmt: skip
    state = model.state_dict()
    matrices = {name for name, value in state.items() if value.dim() == 2}
    assert found.keys() == state.keys() | {f"{name}.scale" for name in matrices}
    for name, value in state.items():
        kind = "I8" if name in matrices else "F32"
        assert (found[name]["dtype"], found[name]["shape"]) == (kind, list(value.shape))
    for name in matrices:
        scale = found[f"{name}.scale"]
        assert (scale["dtype"], scale["shape"]) == ("F32", [len(state[name])])
    stored = load_file(path)  # by hand: the row's largest weight is 127 steps
    row, scale = state[NAME][3], stored[f"{NAME}.scale"][3]
    torch.testing.assert_close(scale, row.abs().max() / 127)
    assert stored[NAME][3].tolist() == [round(float(w / scale)) for w in row]


def test_a_time_machines_model_takes_less_than_200_kib(path: Path) -> None:
    """The shape of the recorded snapshots: a little over one byte a weight."""
    model = GPT(GPTConfig(64, d_model=64, n_layers=2, n_heads=4, max_len=64))
    save_quantized(path, model, CharTokenizer([chr(i) for i in range(62)], ("[PAD]", "[MASK]")), 0)
    n_weights = sum(p.numel() for p in model.parameters())
    assert n_weights < path.stat().st_size < 1.25 * n_weights
    assert path.stat().st_size <= 200 * 1024


def test_a_model_without_a_step(path: Path) -> None:
    """A finished model belongs to no step."""
    save_quantized(path, gpt(), TOKENIZER)
    assert "step" not in header(path)["__metadata__"]
    assert load_quantized(path)[2] is None


def test_what_cannot_be_rounded_leaves_the_old_file(rounded: Path) -> None:
    """A wrong name, vocabulary, step or weight: each is named, and nothing is written."""
    before, model = rounded.read_bytes(), gpt()
    with pytest.raises(ValueError, match=r"ending in \.safetensors, got model\.pt"):
        save_quantized(rounded.with_name("model.pt"), model, TOKENIZER)
    with pytest.raises(ValueError, match="expected a tokenizer of 11 ids, as the model has, got 5"):
        save_quantized(rounded, model, CharTokenizer("abc"))
    with pytest.raises(ValueError, match="expected step >= 0, got -1"):
        save_quantized(rounded, model, TOKENIZER, -1)
    model.get_parameter(NAME).data[0, 0] = torch.nan
    with pytest.raises(ValueError, match=f"infinite or NaN in {NAME}"):
        save_quantized(rounded, model, TOKENIZER, 2)
    assert rounded.read_bytes() == before
    assert list(rounded.parent.iterdir()) == [rounded]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda s: s.pop(f"{NAME}.scale"), rf"missing \['{NAME}.scale'\], without matrix \[\]"),
        (lambda s: s.pop(NAME), rf"missing \[\], without matrix \['{NAME}.scale'\]"),
        (lambda s: s.update({NAME: torch.ones(32, 8)}), rf"without matrix \['{NAME}.scale'\]"),
        (lambda s: s.update({f"{NAME}.scale": torch.ones(3)}), r"\(32, 8\) and \(3,\)"),
        (lambda s: s.update({f"{NAME}.scale": torch.ones(32).half()}), "torch.float16"),
        (lambda s: s[f"{NAME}.scale"].fill_(torch.inf), f"finite scales of {NAME}"),
        (lambda s: s.pop("final_norm.weight"), '(?s)Missing key.* "final_norm.weight"'),
        (lambda s: s.update(odd=torch.ones(1)), '(?s)Unexpected key.* "odd"'),
    ],
    ids=["no scale", "no matrix", "float", "short", "half", "infinite", "no norm", "extra"],
)
def test_wrong_tensors_are_named(rounded: Path, edit: Edit, message: str) -> None:
    """What is missing, extra or misshapen stands in the message."""
    rewrite(rounded, edit)
    with pytest.raises(CheckpointError, match=message):
        load_quantized(rounded)


@pytest.mark.parametrize(
    "entry", [{"step": "soon"}, {"pretrain": "{}"}, {"pretrain": "[1"}], ids=str
)
def test_a_wrong_header_is_refused(rounded: Path, entry: dict[str, str]) -> None:
    """A step that is no number, and descriptions that describe nothing."""
    rewrite(rounded, **entry)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_quantized(rounded)


def test_load_model_reads_rounded_weights_too(rounded: Path) -> None:
    """They give the same model either way, and so do those that came with a card."""
    model, tokenizer = load_model(rounded)
    expected, _, _ = load_quantized(rounded)
    assert model.state_dict().keys() == expected.state_dict().keys()
    for name, value in expected.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    carded = rounded.with_name("carded.safetensors")
    save_model(carded, model, tokenizer, CARD, n_bits=8)
    again, _ = load_model(carded)
    assert json.loads(carded.with_suffix(".json").read_text()) == CARD
    for name, value in expected.state_dict().items():
        assert torch.allclose(again.state_dict()[name], value, atol=1e-6), name


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


def test_no_number_moves_by_more_than_half_a_step(generator: Generator) -> None:
    """The error of each row is bounded by its own scale, and the bound is nearly reached."""
    x = torch.randn(20, 300, generator=generator) * torch.logspace(-3, 3, 20)[:, None]
    whole, scales = quantize_rows(x)
    steps = (whole * scales[:, None] - x).abs() / scales[:, None]
    assert steps.max() <= 0.5 + 1e-4
    assert (steps.max(dim=1)[0] > 0.45).all()
    assert int(whole.abs().max()) == 127


@pytest.mark.parametrize(("n_bits", "largest"), [(2, 1), (6, 31), (8, 127)])
def test_fewer_bits_give_fewer_numbers(n_bits: int, largest: int, generator: Generator) -> None:
    """All of them are used, and the error stays below half a step."""
    x = 2 * torch.rand(20, 3000, generator=generator) - 1
    whole, scales = quantize_rows(x, n_bits)
    assert set(whole.flatten().tolist()) == set(range(-largest, largest + 1))
    assert ((whole * scales[:, None] - x).abs() <= 0.5001 * scales[:, None]).all()
    for wrong in (1, 9):
        with pytest.raises(ValueError, match=f"expected 2 to 8 bits, got {wrong}"):
            quantize_rows(x, wrong)


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
