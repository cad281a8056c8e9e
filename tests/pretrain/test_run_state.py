# SPDX-License-Identifier: MIT
"""A run killed at any moment goes on as if nothing had happened."""

import functools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import Generator, Tensor, nn

from pretrain import run_state as resume
from pretrain.gpt import GPT
from pretrain.objectives import BatchLoss, causal_lm_loss
from pretrain.run_state import CheckpointError, History
from pretrain.training import fit

N_STEPS = 12
TEXT = torch.arange(200) * 7 % 11
SIZES = {"d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 8}


class Killed(Exception):
    """Stands for a kill in the middle of a step."""


def make_run(
    checkpoint: Path | None, *, dropout_prob: float = 0.0, seed: int = 3
) -> tuple[GPT, Generator, Callable[..., History]]:
    """Make a model, its generator and a function that trains it with evaluations."""
    torch.manual_seed(seed)
    model = GPT(11, **SIZES, dropout_prob=dropout_prob)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(seed)

    def run(batch_loss: BatchLoss | None = None, **options: object) -> History:
        """Call fit; evaluate is the mean logit, a number that any change of weights moves."""
        settings: dict[str, object] = {
            "n_steps": N_STEPS, "lr": 1e-2, "n_warmup": 3, "checkpoint": checkpoint,
            "checkpoint_every": 4, "evaluate_every": 3,
            "evaluate": lambda m: float(m(TEXT[None, :8]).abs().mean()),
        }  # fmt: skip
        loss = batch_loss or causal_lm_loss(TEXT, batch_size=2, seq_len=8)
        return fit(model, loss, generator=generator, **{**settings, **options})  # type: ignore[arg-type]

    return model, generator, run


def killing(step: int, error: type[BaseException] = Killed) -> BatchLoss:
    """Give the usual loss, which raises at its call number `step` instead of returning."""
    loss = causal_lm_loss(TEXT, batch_size=2, seq_len=8)
    n_calls = 0

    @functools.wraps(loss)
    def batch_loss(model: nn.Module, generator: Generator) -> Tensor:
        """Count, draw, and perhaps raise after the draw."""
        nonlocal n_calls
        n_calls += 1
        value = loss(model, generator)
        if n_calls == step:
            raise error
        return value

    return batch_loss


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Say whether two models hold the same bits."""
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(a[0] == b[0] and torch.equal(a[1], b[1]) for a, b in pairs)


@pytest.mark.parametrize("dropout_prob", [0.0, 0.2])
@pytest.mark.parametrize("kills", [[2], [5], [9], [12], [6, 3, 1]], ids=str)
def test_killed_runs_resume_to_the_same_losses(
    tmp_path: Path, dropout_prob: float, kills: list[int]
) -> None:
    """Losses, evaluations and weights equal, bit by bit, those of a run that was left alone."""
    whole, _, run = make_run(None, dropout_prob=dropout_prob)
    expected = run()
    path = tmp_path / "runs" / "run.safetensors"
    for step in kills:
        # Before the first checkpoint a run starts anew; after it, seeds no longer matter.
        seed = 77 if path.exists() else 3
        _, _, run = make_run(path, dropout_prob=dropout_prob, seed=seed)
        with pytest.raises(Killed):
            run(killing(step))
    model, _, run = make_run(path, dropout_prob=dropout_prob, seed=99 if path.exists() else 3)
    assert run() == expected
    assert same_weights(model, whole)
    assert not list(tmp_path.rglob("*.part"))


def test_relative_rates_resume_too(tmp_path: Path) -> None:
    """The size of each parameter is read from the weights, which the file holds."""
    whole, _, run = make_run(None)
    expected = run(relative_lr=True, lr=0.1)
    path = tmp_path / "run.safetensors"
    with pytest.raises(Killed):
        make_run(path)[2](killing(6), relative_lr=True, lr=0.1)
    model, _, run = make_run(path, seed=99)
    assert run(relative_lr=True, lr=0.1) == expected
    assert same_weights(model, whole)


def test_a_finished_run_is_read_not_repeated(tmp_path: Path) -> None:
    """The last step is saved whatever checkpoint_every; a second call trains nothing."""
    path = tmp_path / "run.safetensors"
    first, _, run = make_run(path)
    expected = run(checkpoint_every=5)
    second, _, run = make_run(path, seed=50)
    assert run(killing(1)) == expected
    assert same_weights(first, second)
    assert not second.training


def test_a_keyboard_interrupt_is_a_kill_too(tmp_path: Path) -> None:
    """Stopping a cell by hand loses no more than the steps since the last save."""
    path = tmp_path / "run.safetensors"
    _, _, run = make_run(path)
    with pytest.raises(KeyboardInterrupt):
        run(killing(7, KeyboardInterrupt))
    with safe_open(path, framework="pt") as file:
        saved = json.loads(file.metadata()["run"])["history"]
    assert len(saved["losses"]) == 4
    assert make_run(path)[2]() == make_run(None)[2]()


CHILD = """
import os, signal, sys
sys.path.insert(0, {folder!r})
import torch
torch.set_num_threads(1)
from pathlib import Path
from pretrain import run_state as paths
from test_run_state import TEXT, make_run
from pretrain.objectives import causal_lm_loss

path, where, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
_, _, run = make_run(path, dropout_prob=0.2, seed=seed)
loss, calls, saves, rename = causal_lm_loss(TEXT, batch_size=2, seq_len=8), [], [], os.replace

import functools
def kill():
    os.kill(os.getpid(), signal.SIGKILL)

@functools.wraps(loss)
def batch_loss(model, generator):
    calls.append(1)
    value = loss(model, generator)
    if where == "step" and len(calls) == 6:
        kill()
    return value

def replace(source, target):
    saves.append(1)
    if where == "save":
        kill()
    rename(source, target)

paths.os.replace = replace
run(batch_loss)
"""


def test_sigkill_in_a_step_and_in_a_save(tmp_path: Path) -> None:
    """A process that dies without any clean-up, twice, leaves a file that resumes exactly."""
    path = tmp_path / "run.safetensors"
    script = CHILD.format(folder=str(Path(__file__).parent))
    for where, seed, n_saved in (("step", 3, 4), ("save", 60, 4)):
        child = subprocess.run(
            [sys.executable, "-c", script, str(path), where, str(seed)],
            check=False, capture_output=True,
        )  # fmt: skip
        assert child.returncode == -signal.SIGKILL, child.stderr.decode()
        with safe_open(path, framework="pt") as file:
            saved = json.loads(file.metadata()["run"])["history"]
        assert len(saved["losses"]) == n_saved
    assert len(list(tmp_path.glob("*.part"))) == 1  # of the dead process, which nobody reads
    model, _, run = make_run(path, dropout_prob=0.2, seed=61)
    whole, _, undisturbed = make_run(None, dropout_prob=0.2)
    expected = undisturbed()
    # The global generator was consumed by the undisturbed run: the checkpoint brings its own.
    assert run() == expected
    assert same_weights(model, whole)
    assert len(list(tmp_path.glob("*.part"))) == 1


@pytest.mark.parametrize("moment", ["while writing", "before renaming"])
def test_a_kill_during_the_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The new state is written beside the old one, which stays whole until the rename."""
    path = tmp_path / "run.safetensors"
    with pytest.raises(Killed):
        make_run(path)[2](killing(6))
    old = path.read_bytes()

    def half(tensors: object, part: Path, **_: object) -> None:
        """Write a piece of a file and die."""
        part.write_bytes(old[: len(old) // 2])
        raise Killed

    def no_rename(*_: object) -> None:
        """Die instead of renaming."""
        raise Killed

    with monkeypatch.context() as patch:
        if moment == "while writing":
            patch.setattr(resume, "save_file", half)
        else:
            patch.setattr(os, "replace", no_rename)
        with pytest.raises(Killed):
            make_run(path)[2]()
    assert path.read_bytes() == old
    assert make_run(path)[2]() == make_run(None)[2]()


def test_nothing_is_pickled(tmp_path: Path) -> None:
    """The file is safetensors: weights, moments and generators as tensors, the rest JSON."""
    path = tmp_path / "run.safetensors"
    model, _, run = make_run(path)
    run()
    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        header = json.loads(file.metadata()["run"])
    for name, _ in model.named_parameters():
        assert f"model.{name}" in names
        assert {f"optimizer.{name}.{k}" for k in ("exp_avg", "exp_avg_sq", "step")} <= names
    assert {"generator", "global_generator"} <= names
    assert header["settings"]["lr"] == 1e-2
    assert len(header["history"]["losses"]) == N_STEPS


def snapshot(model: nn.Module, generator: Generator) -> list[Tensor]:
    """Copy all that a failed load must leave alone."""
    weights = [value.clone() for value in model.state_dict().values()]
    return [*weights, generator.get_state(), torch.get_rng_state()]


def refuse(path: Path, message: str, **options: object) -> None:
    """Assert that a run is refused with a message, and that nothing was changed by it."""
    sizes = options.pop("sizes", {})
    before = path.read_bytes()
    model, generator, _ = make_run(path, seed=8)
    if sizes:
        model = GPT(11, **{**SIZES, **sizes})  # type: ignore[arg-type, dict-item]
    settings: dict[str, object] = {
        "n_steps": N_STEPS, "lr": 1e-2, "n_warmup": 3, "checkpoint": path, "evaluate_every": 3,
        "evaluate": lambda m: 0.0,
    }  # fmt: skip
    loss = causal_lm_loss(TEXT, batch_size=2, seq_len=8)
    state = snapshot(model, generator)
    with pytest.raises(CheckpointError, match=message):
        fit(model, loss, generator=generator, **{**settings, **options})  # type: ignore[arg-type]
    after = snapshot(model, generator)
    assert all(torch.equal(a, b) for a, b in zip(state, after, strict=True))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 2e-2}, r"\(saved, now\): {'lr': \(0.01, 0.02\)}"),
        ({"n_steps": 20, "clip_norm": 2.0}, r"{'n_steps': \(12, 20\), 'clip_norm': \(1.0, 2.0\)}"),
        ({"betas": (0.9, 0.99)}, r"{'betas': \(\[0.9, 0.95\], \[0.9, 0.99\]\)}"),
        ({"evaluate": None}, r"{'evaluate_every': \(3, None\)}"),
        ({"relative_lr": True}, r"{'relative_lr': \(None, True\)}"),
    ],
    ids=["lr", "two", "betas", "evaluate", "relative"],
)
def test_other_settings_are_named(tmp_path: Path, options: dict[str, object], message: str) -> None:
    """A resume with other settings would be neither the old run nor a new one."""
    path = tmp_path / "run.safetensors"
    make_run(path)[2]()
    refuse(path, message, **options)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"d_model": 12}, r"'model.d_model': \(8, 12\)"),
        ({"n_heads": 4}, r"{'model.n_heads': \(2, 4\)}"),
        ({"dropout_prob": 0.1}, r"{'model.dropout_prob': \(0.0, 0.1\)}"),
        ({"n_layers": 2}, r"'model.n_layers': \(1, 2\)"),
    ],
    ids=["width", "heads", "dropout", "layers"],
)
def test_another_model_is_named(tmp_path: Path, sizes: dict[str, object], message: str) -> None:
    """Another width, and also another number of heads, whose tensors have the same shapes."""
    path = tmp_path / "run.safetensors"
    make_run(path)[2]()
    refuse(path, message, sizes=sizes)


def test_another_module_is_named_by_its_tensors(tmp_path: Path, generator: Generator) -> None:
    """Models without options are told apart by the names and shapes of their tensors."""
    path = tmp_path / "run.safetensors"
    options = {"n_steps": 2, "lr": 0.1, "checkpoint": path, "generator": generator}

    def loss(model: nn.Module, _: Generator) -> Tensor:
        """Give some loss."""
        return sum(p.square().sum() for p in model.parameters())  # type: ignore[return-value]

    fit(nn.Linear(2, 3), loss, **options)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=r"but tensors differ: \['weight'\]"):
        fit(nn.Linear(4, 3), loss, **options)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=r"but tensors differ: \['bias'\]"):
        fit(nn.Linear(2, 3, bias=False), loss, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_truncated_checkpoint_is_refused(tmp_path: Path, share: float) -> None:
    """Cut anywhere, the message names the file and what to do."""
    path = tmp_path / "run.safetensors"
    make_run(path)[2]()
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    refuse(path, r"checkpoint of this book in .*run\.safetensors.*; delete the file to start anew")


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    """Text, or tensors that are no run, are not taken for one."""
    path = tmp_path / "run.safetensors"
    path.write_text("not a checkpoint")
    refuse(path, "it cannot be read")
    resume.save_file({"x": torch.zeros(2)}, path)
    refuse(path, "it cannot be read")


def test_another_text_or_batch_is_named(tmp_path: Path) -> None:
    """Without this, a changed text would find a finished run and return its old weights."""
    path = tmp_path / "run.safetensors"
    make_run(path)[2]()
    model, generator, _ = make_run(path, seed=8)
    options = {"n_steps": N_STEPS, "lr": 1e-2, "n_warmup": 3, "checkpoint": path}
    evaluate = {"evaluate_every": 3, "evaluate": lambda m: 0.0}
    for ids, size, message in (
        (TEXT.flip(0), 2, "loss.ids_sha256"),
        (TEXT, 4, r"'loss.batch_size': \(2, 4\)"),
    ):
        loss = causal_lm_loss(ids, batch_size=size, seq_len=8)
        with pytest.raises(CheckpointError, match=message):
            fit(model, loss, generator=generator, **options, **evaluate)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "lost", ["generator", "global_generator", "optimizer.final_norm.bias.exp_avg"]
)
def test_an_incomplete_checkpoint_changes_nothing(tmp_path: Path, lost: str) -> None:
    """A file that lacks part of the state is refused before anything is overwritten."""
    path = tmp_path / "run.safetensors"
    make_run(path)[2]()
    with safe_open(path, framework="pt") as file:
        header, tensors = file.metadata(), {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118
    del tensors[lost]
    resume.save_file(tensors, path, metadata=header)
    refuse(path, f"it lacks .*{lost.removeprefix('optimizer.')}")


def test_a_header_without_settings_is_refused(tmp_path: Path) -> None:
    """A file of some other program, with JSON of its own in the header."""
    path = tmp_path / "run.safetensors"
    resume.save_file({"x": torch.zeros(2)}, path, metadata={"run": "{}"})
    refuse(path, "it cannot be read")


def test_the_message_names_the_file_and_ends_there(tmp_path: Path) -> None:
    """A caller may add what else to do; nothing is added otherwise."""
    path = tmp_path / "run.safetensors"
    make_run(path)[2]()
    refuse(path, rf"saved in {re.escape(str(path))}, but .*'lr': \(0.01, 0.02\)}}$", lr=2e-2)
    with pytest.raises(CheckpointError, match=r"\(1, 2\)\}; start anew$"):
        resume.check_settings(path, {"a": 1}, {"a": 2}, "; start anew")
    resume.check_settings(path, {"a": [1, 2]}, {"a": (1, 2)})
