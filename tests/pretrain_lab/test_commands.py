# SPDX-License-Identifier: MIT
"""The commands that use a model, and what stands behind them."""

import errno
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab import export, sample
from pretrain_lab.checkpoints import load_model, save_model
from pretrain_lab.commands import one_line
from pretrain_lab.completion import complete
from pretrain_lab.hub import weights
from pretrain_lab.tokenizers.learning import train_subwords
from pretrain_lab.train import __main__ as train
from pretrain_lab.trained import load_trained

SIZES = {"d_model": 16, "n_layers": 1, "n_heads": 2}
TEXT = ["the old king met the young king by the old river and said nothing\n"] * 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a run of each kind of model."""
    made = tmp_path_factory.mktemp("models")
    tokenizer = train_subwords(TEXT, "byte-bpe", 300, n_sentinels=5)
    torch.manual_seed(0)
    for name, model in (
        ("gpt", GPT(GPTConfig(300, max_len=24, **SIZES))),
        ("bert", BERT(BERTConfig(300, max_len=24, **SIZES))),
        ("t5", T5(T5Config(300, **SIZES))),
    ):
        save_model(made / name / "model.safetensors", model, tokenizer, {})
    return made


def test_a_gpt_writes_what_complete_gives(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a run's folder, from its file, from standard input; what it says of a prompt apart."""
    model, tokenizer = load_model(folder / "gpt" / "model.safetensors")
    expected = complete(model, tokenizer, "the old", n_tokens=8, top_k=9, seed=3) + "\n"
    options = ["--n-tokens", "8", "--top-k", "9", "--seed", "3"]
    monkeypatch.setattr(sys, "stdin", StringIO("the old"))
    for name, prompt in (("gpt", "the old"), ("gpt/model.safetensors", "the old"), ("gpt", "-")):
        assert sample.main([str(folder / name), prompt, *options]) == 0
        assert capsys.readouterr() == (expected, "")
    assert sample.main([str(folder / "gpt"), "river " * 40, "--greedy", "--n-tokens", "1"]) == 0
    assert capsys.readouterr().err.startswith("pretrain_lab.sample: the prompt has ")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_stops_reading_is_no_error(folder: Path, unbuffered: str) -> None:
    """As in `python -m pretrain_lab.sample … | head -0`: no traceback, no word."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "pretrain_lab.sample", str(folder / "gpt"), "the old"]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bert_lists_five_guesses_and_a_t5_answers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text without gaps is the last line."""
    assert sample.main([str(folder / "bert"), "the [MASK] met [MASK]"]) == 0
    first, second, text = capsys.readouterr().out.splitlines()
    assert first.startswith("[MASK] 1: ")
    assert second.startswith("[MASK] 2: ")
    assert first.count(" 0.0") == 5
    assert "[MASK]" not in text
    assert sample.main([str(folder / "t5"), "the <extra_id_0> met", "--n-tokens", "5"]) == 0
    assert capsys.readouterr().out.startswith("the")


def test_an_export_is_read_by_transformers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With our ids and our scores; and our commands read it too. Again is fine."""
    target = tmp_path / "exported"
    for _ in range(2):
        assert export.main([str(folder / "gpt"), str(target)]) == 0
    assert f"AutoModelForCausalLM.from_pretrained({str(target)!r})" in capsys.readouterr().out
    model, tokenizer = load_model(folder / "gpt" / "model.safetensors")
    ids = tokenizer.encode("the old king")
    theirs = AutoModelForCausalLM.from_pretrained(target).eval()
    assert AutoTokenizer.from_pretrained(target)("the old king")["input_ids"] == ids.tolist()
    with torch.no_grad():
        assert (theirs(ids[None]).logits - model(ids[None])).abs().max() < 1e-5
    capsys.readouterr()
    assert sample.main([str(target), "the old", "--greedy", "--n-tokens", "4"]) == 0
    assert capsys.readouterr().out == complete(
        model, tokenizer, "the old", greedy=True, n_tokens=4
    ) + "\n"  # fmt: skip


@pytest.mark.parametrize(
    ("name", "auto"),
    [
        ("own_text", AutoModelForCausalLM),
        ("own_text_bert", AutoModelForMaskedLM),
        ("own_text_t5", AutoModelForSeq2SeqLM),
    ],
)
def test_what_a_text_of_ones_own_trained_is_read_by_transformers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, auto: Any
) -> None:
    """The configurations of the README, as they are but for a few small numbers."""
    text = tmp_path / "novel.txt"
    text.write_text("".join(TEXT * 20), encoding="utf-8")
    run, target = tmp_path / "run", tmp_path / "exported"
    small = (
        "tokenizer.vocab_size=300", "training.n_steps=1", "training.batch_size=2",
        "training.evaluate_every=0", f"output.folder={run}",
    )  # fmt: skip
    options = [word for one in small for word in ("--set", one)]
    assert train.main([f"experiments/configs/{name}.toml", str(text), *options]) == 0
    assert export.main([str(run), str(target)]) == 0
    ours, tokenizer = load_trained(run)
    ids = tokenizer.encode("the young king said").unsqueeze(0)
    more = {"decoder_input_ids": ids} if name.endswith("t5") else {}
    theirs = auto.from_pretrained(target).eval()
    with torch.inference_mode():
        expected = ours.eval()(ids, *more.values())
        torch.testing.assert_close(theirs(ids, **more).logits, expected, rtol=1e-4, atol=1e-4)
    assert "with its tokenizer" in capsys.readouterr().out


def test_models_are_found_by_every_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs, files, the book's, and ids of the hub, which alone are asked for elsewhere."""
    monkeypatch.setenv("HOME", str(folder))
    for name in (folder / "gpt", folder / "gpt" / "model.safetensors", "~/gpt", "gpt_chars"):
        assert type(load_trained(name)[0]) is GPT
    asked: list[str] = []

    def asking(name: str) -> tuple[None, None]:
        """Note what the hub is asked for."""
        asked.append(name)
        return None, None

    monkeypatch.setattr("pretrain_lab.trained.load_pretrained", asking)
    monkeypatch.chdir(tmp_path)
    load_trained("openai-community/gpt2")
    with pytest.raises(FileNotFoundError, match="got 'runs/none'"):
        load_trained("runs/none")
    assert asked == ["openai-community/gpt2"]
    assert weights.load_pretrained is not asking


def test_errors_are_told_in_one_line() -> None:
    """With a remedy where there is one."""
    full = OSError(errno.ENOSPC, "No space left on device")
    assert one_line(full).startswith("the disk is full ([Errno 28] No space left on device); what")
    assert one_line(RuntimeError("I/O error: No space left\n on device")).startswith("the disk is")
    assert one_line(ModuleNotFoundError("No module named 'x'", name="x")) == (
        "expected the package x: pip install x"
    )
    assert one_line(ValueError("two\n  lines")) == "two lines"
    assert one_line(KeyboardInterrupt()) == "KeyboardInterrupt"


def test_somebody_who_stops_sees_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while a model is loaded."""

    def pressed(_: str) -> SimpleNamespace:
        """Stand for the keys."""
        raise KeyboardInterrupt

    monkeypatch.setattr(sample, "load_trained", pressed)
    assert sample.main(["gpt", "x"]) == 1
    assert capsys.readouterr().err == "pretrain_lab.sample: stopped\n"
