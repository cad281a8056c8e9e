# SPDX-License-Identifier: MIT
"""Forty wrong calls of the commands: each says one line, and leaves nothing behind."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from train_runs import content, write_text, write_toml

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain_lab import export, paths, sample
from pretrain_lab.checkpoints import save_model
from pretrain_lab.corpora import download, loading
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.train import __main__ as train
from pretrain_lab.train import run as train_run

SET = "--set"


class Call(NamedTuple):
    """A wrong call: the command, its arguments, and words of what it says."""

    command: str
    arguments: list[str]
    words: str


CALLS = [
    # the configuration
    Call("train", [], "expected a configuration, such as experiments/configs/own_text.toml"),
    Call("train", ["nowhere.toml"], "expected a TOML file, but nowhere.toml cannot be read"),
    Call("train", ["text.txt"], "a text comes second: python -m pretrain_lab.train"),
    Call("train", ["x.toml", SET, "lr=1e-3"], "did you mean training.lr=1e-3?"),
    Call("train", ["x.toml", SET, "steps=5"], "did you mean training.n_steps=5?"),
    Call("train", ["x.toml", SET, "training.lerning_rate=1"], "did you mean training.lr?"),
    Call("train", ["x.toml", SET, "training.epochs=3"], "did you mean training.n_steps?"),
    Call("train", ["x.toml", SET, "training.device=cuda"], "the command's --cpu leaves it alone"),
    Call("train", ["x.toml", SET, "model.width=32"], "did you mean model.d_model?"),
    Call("train", ["x.toml", SET, "model.colour=red"], "expected one of d_model, n_layers"),
    Call("train", ["x.toml", SET, "trainings.lr=1"], "did you mean [training]?"),
    Call("train", ["x.toml", SET, "objective.kind=diffusion"], 'one of "causal", "masked"'),
    Call("train", ["x.toml", SET, "training.lr=fast"], "training.lr: expected a number > 0"),
    Call("train", ["x.toml", SET, "training.n_steps=1.5"], "expected a whole number >= 1, got 1.5"),
    Call("train", ["x.toml", SET, "model.n_heads=3"], "[model]: "),
    Call(
        "train",
        ["x.toml", SET, "objective.kind=spans", SET, "model.n_heads=0"],
        "[model]: expected d_model >= 1 and n_heads >= 1, got 16 and 0",
    ),
    Call("train", ["x.toml", SET, "training.n_warmup=99"], "n_warmup: expected at most training"),
    # the text
    Call("train", ["x.toml", "missing.txt"], "expected files, got 'missing.txt', which no file"),
    Call("train", ["x.toml", "~/a.txt"], "expected files, got '~/a.txt', which no file fits"),
    Call("train", ["x.toml", "pictures"], "the folder holds no *.txt, so name pictures/*"),
    Call("train", ["x.toml", "empty.txt"], "expected text in empty.txt, got none"),
    Call("train", ["x.toml", "line.txt"], "expected a text of at least 25 tokens, got 14"),
    Call("train", ["x.toml", "line.txt", SET, "data.seq_len=4"], "in the text held out; more text"),
    Call("train", ["x.toml", "latin1.txt"], "iconv -f latin1 -t utf-8 latin1.txt > latin1-utf8"),
    Call("train", ["x.toml", "utf16.txt"], "iconv -f utf-16 -t utf-8 utf16.txt > utf16-utf8.txt"),
    Call("train", ["x.toml", "program.bin"], "program.bin holds zero bytes: it is a binary file"),
    Call("train", ["plays.toml", "chinese.txt"], "of this text are [UNK], for the vocabulary"),
    Call(
        "train",
        ["x.toml", SET, 'data.validation_files="chinese.txt"'],
        "chinese.txt, line 1: expected characters of the vocabulary",
    ),
    Call("train", ["offline.toml"], "which this Python lacks: python -m ensurepip, or uv pip"),
    # the folder
    Call("train", ["x.toml", SET, "output.folder=text.txt"], "a folder, but text.txt is a file"),
    Call(
        "train", ["x.toml", SET, "output.folder=closed/run"], "to write to, but closed is not one"
    ),
    Call("train", ["x.toml", SET, "output.folder=full"], "MB of free disk for the files of this"),
    Call("train", ["x.toml", SET, "output.folder=damaged"], "delete the file to start anew"),
    Call(
        "train", ["x.toml", SET, "training.init_from=none"], "training.init_from: expected the fol"
    ),
    # the model
    Call(
        "sample", ["nothing", "x"], "expected the folder of a run, a .safetensors file, or one of"
    ),
    Call("sample", ["pictures", "x"], "expected model.safetensors in pictures, found none"),
    Call("sample", ["damaged", "x"], "in damaged, but the run is not finished: the command that"),
    Call("sample", ["gpt.safetensors", ""], "expected a prompt of at least one character"),
    Call("sample", ["gpt.safetensors", "a月"], "trained on, got '月'; it knows 'abc'"),
    Call("sample", ["gpt.safetensors", "a", "--temperature", "0"], "at 0 pass greedy=True"),
    Call("sample", ["bert.safetensors", "abc"], "expected a [MASK] in the prompt"),
    Call(
        "sample", ["text.safetensors", "abc"], "expected a model of this book in text.safetensors"
    ),
    Call("export", ["nothing", "out"], "expected the folder of a run, a .safetensors file, or one"),
    Call("export", ["gpt.safetensors", "text.txt"], "expected a folder, but text.txt is a file"),
    Call("export", ["gpt.safetensors", "."], "but . holds other files"),
]
COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "train": train.main, "sample": sample.main, "export": export.main
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fill a folder with what one may find on a disk."""
    made = tmp_path_factory.mktemp("wrong")
    write_text(made / "text.txt", 60)
    (made / "empty.txt").write_text("")
    (made / "line.txt").write_text("one short line")
    (made / "latin1.txt").write_bytes("naïve ".encode("latin1") * 99)
    (made / "utf16.txt").write_bytes("some text ".encode("utf-16") * 99)
    (made / "program.bin").write_bytes(b"\x7fELF\0\0\xff" * 99)
    (made / "chinese.txt").write_text("月落乌啼霜满天\n" * 99, encoding="utf-8")
    for name in ("pictures", "closed", "full", "damaged"):
        (made / name).mkdir()
    (made / "damaged" / "checkpoint.safetensors").write_bytes(b"no checkpoint")
    changes: dict[str, Any] = {"data__files": ["text.txt"], "data__validation_files": None}
    own = content(made, output__folder="run", **changes)
    write_toml(made / "x.toml", own)
    named = {"kind": "file", "path": "plays_bpe"}
    write_toml(made / "plays.toml", {**own, "tokenizer": named})
    plays = {"corpus": "plays", "seq_len": 24}
    write_toml(made / "offline.toml", {**own, "data": plays, "tokenizer": named})
    sizes = {"d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 16}
    tokenizer = CharTokenizer("abc")
    save_model(made / "gpt.safetensors", GPT(GPTConfig(5, **sizes)), tokenizer, {})
    save_model(made / "bert.safetensors", BERT(BERTConfig(5, **sizes)), tokenizer, {})
    (made / "text.safetensors").write_bytes(b"no weights")
    return made


@pytest.fixture
def world(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in that folder, with a closed folder, a full disk, and a Python without pip."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(loading, "_plays", loading._plays.__wrapped__)  # read before, by others
    access, usage = os.access, train_run.shutil.disk_usage
    monkeypatch.setattr(
        train_run.os, "access", lambda path, mode: path.name != "closed" and access(path, mode)
    )
    full = usage(folder)._replace(free=1000)
    monkeypatch.setattr(
        train_run.shutil, "disk_usage", lambda path: full if path.name == "full" else usage(path)
    )
    failed = subprocess.CompletedProcess([], 1, "", "python: No module named pip")
    monkeypatch.setattr(download.subprocess, "run", lambda *_, **__: failed)
    return folder


def test_there_are_forty() -> None:
    """No two alike."""
    assert len({(call.command, *call.arguments) for call in CALLS}) == len(CALLS) >= 40


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join([call.command, *call.arguments]))
def test_a_wrong_call_is_told_in_one_line(
    world: Path, capsys: pytest.CaptureFixture[str], call: Call
) -> None:
    """Exit code 2, no traceback, and every file is as it was."""
    before = {path: path.read_bytes() for path in world.rglob("*") if path.is_file()}
    folders = {path for path in world.rglob("*") if path.is_dir()}
    more = ["--cpu"] if call.command == "train" else []
    assert COMMANDS[call.command]([*call.arguments, *more]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"pretrain_lab.{call.command}: ")
    assert call.words in error
    assert error.count("\n") == 1
    assert {path: path.read_bytes() for path in world.rglob("*") if path.is_file()} == before
    assert {path for path in world.rglob("*") if path.is_dir()} == folders


def test_a_package_without_its_repository_says_so(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever data is looked up."""
    monkeypatch.setattr(paths, "DATA", world / "site-packages" / "data")
    assert train.main(["plays.toml", "--cpu"]) == 2
    assert "its repository. Clone the repository, and in it: pip install --editable ." in (
        capsys.readouterr().err
    )


def test_a_disk_that_fills_up_while_training_is_told_in_one_line(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run's folder holds no half-written file then."""
    for name, error in (
        ("replace", OSError(28, "No space left on device")),
        ("replace", PermissionError(13, "Permission denied")),
    ):
        run = tmp_path / type(error).__name__

        def fails(*_: Any, error: OSError = error) -> None:
            """Refuse to write."""
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(f"pretrain_lab.run_state.os.{name}", fails)
            assert train.main(["x.toml", "--cpu", SET, f"output.folder={run}"]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert str(error.strerror) in told
        assert list(run.iterdir()) == []
