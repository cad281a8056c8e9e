# SPDX-License-Identifier: MIT
"""The saver: what is refused, and that nothing is lost by it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from pretrain.gpt import GPT
from pretrain.run_state import CheckpointError, History
from pretrain.training import make_optimizer
from pretrain_lab.train import state as train_state
from pretrain_lab.train.state import RunState, gather, read_run, restore, write_run

SETTINGS: dict[str, Any] = {"training.lr": 0.1, "training.betas": (0.9, 0.95)}


def make(seed: int, **sizes: int) -> tuple[GPT, torch.optim.AdamW]:
    """Give a model and its optimiser after one step."""
    torch.manual_seed(seed)
    model = GPT(11, **{"d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 6, **sizes})
    optimizer = make_optimizer(model, lr=0.1, betas=(0.9, 0.95), weight_decay=0.1)
    model(torch.randint(0, 11, (2, 6))).square().mean().backward()
    optimizer.step()
    return model, optimizer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a checkpoint of three steps and a place in a stream."""
    file = tmp_path / "checkpoint.safetensors"
    state = RunState(History([3.0, 2.5, 2.25], [(3, 2.0)]), {"first": 7}, torch.tensor([4, 2]))
    write_run(file, gather(*make(0)), state, SETTINGS)
    return file


def everything(model: GPT, optimizer: torch.optim.AdamW) -> list[Tensor]:
    """Copy all weights and moments."""
    return [value.clone() for value in gather(model, optimizer).values()]


def test_all_comes_back(path: Path) -> None:
    """Weights, moments, losses, evaluations, place: into another model, bit by bit."""
    tensors, state = read_run(path, SETTINGS)
    assert state.history == History([3.0, 2.5, 2.25], [(3, 2.0)])
    assert state.place == {"first": 7}
    assert state.held is not None
    assert state.held.tolist() == [4, 2]
    model, optimizer = make(1)
    restore(model, optimizer, tensors, path)
    pairs = zip(everything(model, optimizer), everything(*make(0)), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_the_file_is_tensors_and_json(path: Path) -> None:
    """Nothing that could run when it is read."""
    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        header = json.loads(file.metadata()["train"])
    assert {"model.final_norm.weight", "optimizer.final_norm.weight.exp_avg_sq"} <= names
    assert {"history.losses", "stream.held"} <= names
    assert header["settings"]["training.betas"] == [0.9, 0.95]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_damaged_file_is_refused_and_kept(path: Path, share: float) -> None:
    """Cut anywhere; the message says what to do, and the file is left to be looked at."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(
        CheckpointError, match=r"expected a checkpoint of pretrain_lab.train in .*dele"
    ):
        read_run(path, SETTINGS)
    assert path.read_bytes() == data[: int(len(data) * share)]


@pytest.mark.parametrize("header", [None, {"run": "{}"}, {"train": "{}"}, {"train": "[1]"}])
def test_a_foreign_file_is_refused(path: Path, header: dict[str, str] | None) -> None:
    """Tensors of another program, also of `fit`."""
    save_file({"x": torch.zeros(2)}, path, metadata=header)
    with pytest.raises(CheckpointError, match="it cannot be read"):
        read_run(path, SETTINGS)


def test_other_settings_are_named(path: Path) -> None:
    """With the saved value and the one of now."""
    with pytest.raises(CheckpointError, match=r"\(saved, now\): {'training.lr': \(0.1, 0.2\)}"):
        read_run(path, {**SETTINGS, "training.lr": 0.2})


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda t: t.pop("model.final_norm.bias"), "model.final_norm.bias"),
        (lambda t: t.pop("optimizer.final_norm.bias.exp_avg"), "final_norm.bias.exp_avg"),
        (lambda t: t.pop("optimizer.final_norm.bias.step"), "final_norm.bias.step"),
        (lambda t: t.update({"model.more": torch.zeros(1)}), "model.more"),
        (lambda t: t.update({"model.final_norm.bias": torch.zeros(9)}), "final_norm.bias"),
    ],
    ids=["weight", "moment", "step", "extra", "shape"],
)
def test_an_incomplete_state_changes_nothing(
    path: Path, spoil: Callable[[dict[str, Tensor]], Any], named: str
) -> None:
    """The tensors are named before the first one is copied."""
    tensors, _ = read_run(path, SETTINGS)
    spoil(tensors)
    model, optimizer = make(1)
    before = everything(model, optimizer)
    with pytest.raises(CheckpointError, match=f"differ: .*{named}"):
        restore(model, optimizer, tensors, path)
    pairs = zip(before, everything(model, optimizer), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("moment", ["while writing", "before renaming"])
def test_a_kill_during_a_save_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The new state stands beside the old one until it is whole."""
    old = path.read_bytes()

    def half(tensors: object, part: Path, **_: object) -> None:
        """Write a piece of a file and die."""
        part.write_bytes(old[:100])
        raise KeyboardInterrupt

    def no_rename(*_: object) -> None:
        """Die instead of renaming."""
        raise KeyboardInterrupt

    if moment == "while writing":
        monkeypatch.setattr(train_state, "save_file", half)
    else:
        monkeypatch.setattr(os, "replace", no_rename)
    with pytest.raises(KeyboardInterrupt):
        write_run(path, gather(*make(2)), RunState(), SETTINGS)
    assert path.read_bytes() == old
