# SPDX-License-Identifier: MIT
"""A run killed at any moment goes on as if nothing had happened."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Generator, Tensor, nn

from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import CausalLM, Objective
from pretrain.training import Evaluate, History, Hook, OptimConfig, Run, fit
from pretrain_lab import run_state
from pretrain_lab.finetuning.sequence_classification import TextClassifier, classification_loss
from pretrain_lab.finetuning.text_to_text import Mixture
from pretrain_lab.finetuning.token_classification import Words, WordTagger, tagging_loss
from pretrain_lab.run_state import (
    CheckpointError,
    RunState,
    SaveRun,
    check_settings,
    gather_state,
    read_state,
    replacing,
    write_state,
)

N_STEPS = 12
TEXT = torch.arange(200) * 7 % 11
SIZES = GPTConfig(11, d_model=8, n_layers=1, n_heads=2, max_len=8, dropout=0.2)
OPTIM = OptimConfig(1e-2, n_warmup=3)


class Killed(Exception):
    """Stands for a kill in the middle of a step."""


class Killing(Hook):
    """Raise after the update of a step, before anything is saved."""

    def __init__(self, step: int) -> None:
        self.step = step

    def after_step(self, run: Run) -> None:
        if run.step == self.step:
            raise Killed


def train(
    path: Path | None, *, seed: int = 3, kill: int = 0, every: int = 4, sizes: GPTConfig = SIZES,
    optim: OptimConfig = OPTIM, objective: Objective | None = None, n_steps: int = N_STEPS,
) -> tuple[History, GPT]:  # fmt: skip
    """Train a model with evaluations: the mean logit, a number that any change of weights moves."""
    torch.manual_seed(seed)
    model = GPT(sizes)
    hooks: list[Hook] = [Evaluate(lambda m: float(m(TEXT[None, :8]).abs().mean()), every=3)]
    hooks += [Killing(kill), *([SaveRun(path, every=every)] if path else [])]
    objective = objective or CausalLM(TEXT, batch_size=2, seq_len=8)
    generator = Generator().manual_seed(seed)
    return fit(model, objective, optim, n_steps=n_steps, generator=generator, hooks=hooks), model


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Say whether two models hold the same bits."""
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(a[0] == b[0] and torch.equal(a[1], b[1]) for a, b in pairs)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Give the file of a finished run."""
    path = tmp_path_factory.mktemp("saved") / "run.safetensors"
    train(path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, saved: bytes) -> Path:
    """Give that file at a place of its own."""
    file = tmp_path / "run.safetensors"
    file.write_bytes(saved)
    return file


@pytest.mark.parametrize("options", [{}, {"relative_lr": True}, {"optimizer": "muon"}], ids=str)
@pytest.mark.parametrize("kills", [[2], [12], [6, 9, 11]], ids=str)
def test_killed_runs_resume_to_the_same_losses(
    tmp_path: Path, kills: list[int], options: dict[str, Any]
) -> None:
    """Losses, evaluations and weights equal, bit by bit, those of a run that was left alone."""
    optim = replace(OPTIM, **options)
    expected, whole = train(None, optim=optim)
    path = tmp_path / "runs" / "run.safetensors"
    for step in kills:
        # Before the first checkpoint a run starts anew; after it, seeds no longer matter.
        with pytest.raises(Killed):
            train(path, seed=77 if path.exists() else 3, kill=step, optim=optim)
    found, model = train(path, seed=99 if path.exists() else 3, optim=optim)
    assert found == expected
    assert same_weights(model, whole)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("saves_first", [False, True])
def test_an_evaluation_of_the_step_that_is_saved_is_saved_with_it(
    tmp_path: Path, saves_first: bool
) -> None:
    """Whatever the order of the hooks; one that draws by chance draws the same after a resume."""

    def drawn(kill: int) -> History:
        """Train with evaluations that are a random number, every second step, and be killed."""
        torch.manual_seed(3)
        hooks: list[Hook] = [
            Evaluate(lambda _: float(torch.rand(())), every=2),
            SaveRun(tmp_path / "run.safetensors", every=2),
        ]
        hooks = [Killing(kill), *(reversed(hooks) if saves_first else hooks)]
        objective, generator = CausalLM(TEXT, batch_size=2, seq_len=8), Generator().manual_seed(3)
        return fit(GPT(SIZES), objective, OPTIM, n_steps=6, generator=generator, hooks=hooks)

    expected = drawn(0)
    (tmp_path / "run.safetensors").unlink()
    with pytest.raises(Killed):
        drawn(3)
    assert drawn(0) == expected
    assert [step for step, _ in expected.evaluations] == [2, 4, 6]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_parameters_without_gradient_have_no_moments(tmp_path: Path, optimizer: str) -> None:
    """A frozen layer and an unused one: a killed run goes on as one that was left alone."""
    optim = replace(OPTIM, optimizer=optimizer)

    def run(kill: int, hooks: list[Hook]) -> tuple[list[float], nn.Module]:
        torch.manual_seed(5)
        model = GPT(SIZES)
        model.blocks[0].requires_grad_(False)
        model.add_module("unused", nn.Linear(8, 8))
        history = fit(
            model, CausalLM(TEXT, 2, 8), optim, n_steps=6,
            generator=Generator().manual_seed(5), hooks=[Killing(kill), *hooks],
        )  # fmt: skip
        return history.losses, model

    hooks: list[Hook] = [SaveRun(tmp_path / "run.safetensors", every=2)]
    expected, whole = run(0, [])
    with pytest.raises(Killed):
        run(3, hooks)
    found, model = run(0, hooks)
    assert found == expected
    assert same_weights(model, whole)


EXAMPLES = [torch.arange(2, 3 + i % 5) for i in range(9)]


def label_loss(labels: Sequence[int] = (0, 1, 1) * 3, n_texts: int = 9) -> Objective:
    """Make the objective of a classifier: passes of three batches, inside a mixture of one part."""
    loss = classification_loss(EXAMPLES[:n_texts], labels[:n_texts], batch_size=3, pad_id=0)
    return Mixture({"labels": loss}, {"labels": 1.0})


def tag_loss() -> Objective:
    """Make the objective of a tagger, one class for each text's last token."""
    words = [Words(ids, torch.tensor([len(ids) - 1])) for ids in EXAMPLES]
    return tagging_loss(words, [[i % 2] for i in range(9)], batch_size=3, pad_id=0)


@pytest.mark.parametrize(
    ("head", "loss"),
    [(TextClassifier, label_loss), (WordTagger, tag_loss)],
    ids=["classifier", "tagger"],
)
def test_a_run_killed_in_a_pass_takes_the_rest_of_it(
    tmp_path: Path, head: type[nn.Module], loss: Callable[..., Objective]
) -> None:
    """Saved after two of three batches, it goes on with the third, not with a new pass."""

    def run(kill: int, hooks: list[Hook], objective: Objective) -> list[float]:
        """Fine-tune for three passes and a batch, unless killed."""
        torch.manual_seed(6)
        optim, generator = OptimConfig(1e-2), Generator().manual_seed(6)
        hooks = [Killing(kill), *hooks]
        model = head(GPT(SIZES), 2)
        return fit(model, objective, optim, n_steps=10, generator=generator, hooks=hooks).losses

    hooks: list[Hook] = [SaveRun(tmp_path / "run.safetensors", every=5)]
    with pytest.raises(Killed):
        run(6, hooks, loss())
    assert run(0, hooks, loss()) == run(0, [], loss())


def test_other_labels_texts_or_heads_are_another_run(tmp_path: Path) -> None:
    """Each is named; so is what a file lacks that says nothing of the passes."""
    path = tmp_path / "run.safetensors"

    def run(objective: Objective, sizes: GPTConfig = SIZES, pooling: str = "mean") -> None:
        """Train for a pass, or read the file of one."""
        fit(
            TextClassifier(GPT(sizes), 2, pooling=pooling), objective, OPTIM, n_steps=3,
            generator=Generator().manual_seed(6), hooks=[SaveRun(path)],
        )  # fmt: skip

    run(label_loss())
    run(label_loss())
    for other in (label_loss([1] * 9), label_loss(n_texts=8)):
        with pytest.raises(CheckpointError, match=r"objective\.objectives\.labels\.examples"):
            run(other)
    for sizes, pooling, name in (
        (replace(SIZES, n_heads=4), "mean", "backbone.n_heads"), (SIZES, "last", "pooling"),
    ):  # fmt: skip
        with pytest.raises(CheckpointError, match=f"'model.{name}': "):
            run(label_loss(), sizes, pooling)
    state = read_state(path, settings_of_file(path), generators="stored")
    write_state(path, replace(state, place=None))
    with pytest.raises(CheckpointError, match="what is left of 1 passes, got 0"):
        run(label_loss())


def settings_of_file(path: Path) -> dict[str, Any]:
    """Read the settings that a file was saved with."""
    with safe_open(path, framework="pt") as file:
        settings: dict[str, Any] = json.loads(file.metadata()["run"])["settings"]
    return settings


def test_a_finished_run_is_read_not_repeated(tmp_path: Path) -> None:
    """The last step is saved whatever `every`; a second call trains nothing."""
    path = tmp_path / "run.safetensors"
    expected, first = train(path, every=5)
    found, second = train(path, seed=50, kill=1)
    assert found == expected
    assert same_weights(first, second)
    assert not second.training


class Reader:
    """Stands for a tokenizer: neither a number, nor a tensor, nor a function."""


@dataclass(frozen=True, eq=False)
class ReadingObjective:
    """An objective that holds such an object."""

    inner: Objective
    reader: Reader

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        return self.inner(model, generator)


def test_an_objective_may_hold_any_object(tmp_path: Path) -> None:
    """Of an object that JSON does not know, the kind is saved, and compared at a resume."""
    path = tmp_path / "run.safetensors"
    inner = CausalLM(TEXT, batch_size=2, seq_len=8)
    train(path, objective=ReadingObjective(inner, Reader()))
    assert train(path, kill=1, objective=ReadingObjective(inner, Reader()))[0].losses
    with pytest.raises(CheckpointError, match="objective"):
        train(path, objective=inner)


CHILD = """
import os, signal, sys
from pathlib import Path
import test_run_state as t
from pretrain_lab import run_state

path, where, rename = Path(sys.argv[1]), sys.argv[2], os.replace
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if where == "step":
    t.Killing.after_step = lambda self, run: kill() if run.step == 6 else None
else:
    run_state.os.replace = kill
t.train(path, seed=int(sys.argv[3]))
"""


@pytest.mark.slow
def test_sigkill_in_a_step_and_in_a_save(tmp_path: Path) -> None:
    """A process that dies without any clean-up, twice, leaves a file that resumes exactly."""
    path = tmp_path / "run.safetensors"
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    for where, seed in (("step", 3), ("save", 60)):
        child = subprocess.run(
            [sys.executable, "-c", CHILD, str(path), where, str(seed)],
            check=False, capture_output=True, env=environment,
        )  # fmt: skip
        assert child.returncode == -signal.SIGKILL, child.stderr.decode()
    assert len(list(tmp_path.glob("*.part"))) == 1  # of the dead process, which nobody reads
    found, model = train(path, seed=61)
    expected, whole = train(None)
    assert found == expected
    assert same_weights(model, whole)


@pytest.mark.parametrize("moment", ["while writing", "before renaming"])
def test_a_kill_during_the_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The new state is written beside the old one, which stays whole until the rename."""
    path = tmp_path / "run.safetensors"
    with pytest.raises(Killed):
        train(path, kill=6)
    old = path.read_bytes()

    def die(_: object, part: Path, **__: object) -> None:
        """Write a piece of a file and die, or die instead of renaming."""
        if moment == "while writing":
            part.write_bytes(old[: len(old) // 2])
        raise Killed

    owner, name = (run_state, "save_file") if moment == "while writing" else (os, "replace")
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, die)
        with pytest.raises(Killed):
            train(path)
    assert path.read_bytes() == old
    assert train(path)[0] == train(None)[0]


def test_the_file_is_tensors_and_json(path: Path) -> None:
    """Nothing that could run when it is read; the header says what the generators are."""
    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        header = json.loads(file.metadata()["run"])
    assert {f"optimizer.final_norm.bias.{k}" for k in ("exp_avg", "exp_avg_sq", "step")} <= names
    assert {"model.final_norm.bias", "generator", "global_generator", "history.losses"} <= names
    assert header["generators"] == "stored"
    assert header["settings"]["optim"]["lr"] == 1e-2


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"optim": replace(OPTIM, lr=2e-2)}, r"\(saved, now\): {'optim.lr': \(0.01, 0.02\)}$"),
    (
        {"optim": replace(OPTIM, betas=(0.9, 0.99)), "n_steps": 20},
        r"'n_steps': \(12, 20\), 'optim.betas': \(\[0.9, 0.95\], \[0.9, 0.99\]\)",
    ),
    ({"sizes": replace(SIZES, n_heads=4)}, r"{'model.n_heads': \(2, 4\)}"),  # the same shapes
    ({"objective": CausalLM(TEXT.flip(0), 2, 8)}, "{'objective.ids': "),
    ({"objective": CausalLM(TEXT, 4, 8)}, r"{'objective.batch_size': \(2, 4\)}"),
]


@pytest.mark.parametrize(("changes", "message"), OTHERS)
def test_another_run_is_refused(path: Path, changes: dict[str, Any], message: str) -> None:
    """A resume with other settings would be neither the old run nor a new one."""
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=re.escape(str(path)) + ".*" + message):
        train(path, **changes)
    assert path.read_bytes() == before


def test_settings_are_compared_as_json() -> None:
    """A tuple equals a list; a caller may say what else to do."""
    check_settings(Path("x"), {"a": [1, 2]}, {"a": (1, 2)})
    with pytest.raises(CheckpointError, match=r"'a.b': \(1, 2\)}; start anew$"):
        check_settings(Path("x"), {"a": {"b": 1}}, {"a": {"b": 2}}, "; start anew")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_damaged_file_is_refused_and_kept(path: Path, saved: bytes, share: float) -> None:
    """Cut anywhere; the message names the file and what to do."""
    data = saved[: int(len(saved) * share)]
    path.write_bytes(data)
    message = r"a checkpoint of this book in .*run\.safetensors.*; delete the file to start anew"
    with pytest.raises(CheckpointError, match=message):
        train(path)
    assert path.read_bytes() == data


@pytest.mark.parametrize("header", [None, {"train": "{}"}, {"run": "{}"}, {"run": "[1]"}])
def test_a_foreign_file_is_refused(path: Path, header: dict[str, str] | None) -> None:
    """Tensors of another program, with a header of its own or without."""
    run_state.save_file({"x": torch.zeros(2)}, path, metadata=header)
    with pytest.raises(CheckpointError, match="it cannot be read"):
        train(path)


def test_a_file_of_the_command_is_refused(path: Path) -> None:
    """It has no states of generators, and its losses would not be those of `fit`."""
    _, model = train(None)
    state = RunState(gather_state(model, torch.optim.AdamW(model.parameters())), History(), {}, "x")
    write_state(path, replace(state, generators="derived"))
    with pytest.raises(CheckpointError, match=r"a run with stored generators in .* got derived"):
        train(path)
    assert read_state(path, {}, generators="derived").place is None


SPOILS: list[tuple[Callable[[dict[str, Tensor]], Any], str]] = [
    (lambda t: t.pop("generator"), "generator"),
    (lambda t: t.pop("global_generator"), "global_generator"),
    (lambda t: t.pop("model.final_norm.bias"), "model.final_norm.bias"),
    (lambda t: t.pop("optimizer.final_norm.bias.exp_avg"), "final_norm.bias.exp_avg"),
    (lambda t: t.pop("optimizer.final_norm.bias.step"), "final_norm.bias.step"),
    (lambda t: t.update({"model.more": torch.zeros(1)}), "model.more"),
    (lambda t: t.update({"model.final_norm.bias": torch.zeros(9)}), "final_norm.bias"),
    (lambda t: t.update({"model.final_norm.bias": torch.zeros(8).double()}), "final_norm.bias"),
]


@pytest.mark.parametrize(("spoil", "named"), SPOILS)
def test_an_incomplete_state_changes_nothing(
    path: Path, spoil: Callable[[dict[str, Tensor]], Any], named: str
) -> None:
    """The tensors are named before the first one is copied."""
    with safe_open(path, framework="pt") as file:
        header, tensors = file.metadata(), {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118
    spoil(tensors)
    run_state.save_file(tensors, path, metadata=header)
    torch.manual_seed(8)
    model, generator = GPT(SIZES), Generator().manual_seed(8)
    before = [value.clone() for value in model.state_dict().values()]
    states = generator.get_state(), torch.get_rng_state()
    with pytest.raises(CheckpointError, match=f"expected .*{named}"):
        fit(
            model, CausalLM(TEXT, 2, 8), OPTIM, n_steps=N_STEPS, generator=generator,
            hooks=[SaveRun(path)],
        )  # fmt: skip
    after = model.state_dict().values()
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert torch.equal(states[0], generator.get_state())
    assert torch.equal(states[1], torch.get_rng_state())


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_files_follow_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    """Also where the library that writes them lets nobody but the owner read."""
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "weights.safetensors") as part:
            save_file({"x": torch.ones(2)}, part)
        with replacing(tmp_path / "card.json") as part:
            part.write_text("{}")
            part.chmod(0o600)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {mode}
