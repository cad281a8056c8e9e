# SPDX-License-Identifier: MIT
"""The command: as many processes as you like, killed as often as you like, and the same losses."""

import itertools
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from train_runs import (
    N_STEPS,
    OBJECTIVES,
    config,
    content,
    history,
    launch,
    train_until,
    write_text,
    write_toml,
)

from pretrain.run_state import CheckpointError
from pretrain.training import learning_rate
from pretrain_lab.checkpoints import load_model
from pretrain_lab.paths import ROOT
from pretrain_lab.train import loop as train_loop
from pretrain_lab.train.__main__ import main
from pretrain_lab.train.config import load_config
from pretrain_lab.train.data import StreamedWindows
from pretrain_lab.train.objectives import KINDS, n_predicted
from pretrain_lab.train.run import prepare


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a text and the runs of one process, which the others must equal."""
    made = tmp_path_factory.mktemp("runs")
    for kind in OBJECTIVES:
        train_loop.train(config(made, kind), cpu=True)
    return made


@pytest.fixture(scope="module")
def two(folder: Path) -> Path:
    """Add the runs of two processes to the folder."""
    launch("torch.distributed.run", "--nproc_per_node=2", "-m", "train_runs", "all", str(folder))
    return folder


def gap(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Give the largest difference between the curves of two runs."""
    assert len(one["losses"]) == len(other["losses"]) == N_STEPS
    assert [step for step, _ in one["evaluations"]] == [5, 10, 12]
    pairs = itertools.chain(
        zip(one["losses"], other["losses"], strict=True),
        zip(*([v for _, v in run["evaluations"]] for run in (one, other)), strict=True),
    )
    return max(abs(a - b) for a, b in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["2", "fsdp"])
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_two_processes_give_the_curve_of_one(two: Path, kind: str, way: str) -> None:
    """With dropout, and with weights shared out too, where the run was stopped on the way."""
    assert gap(history(two / kind), history(two / f"{kind}_{way}")) <= 1e-5


@pytest.mark.slow
def test_two_processes_read_one_stream(two: Path) -> None:
    """Each takes its windows of it; no process, no order of reading changes a loss."""
    changes = {"data__order": "sequential", "output__folder": str(two / "sequential")}
    train_loop.train(config(two, "spans", **changes), cpu=True)
    assert gap(history(two / "sequential"), history(two / "streamed_2")) <= 1e-5


@pytest.mark.slow
def test_the_command_under_a_launcher_ends_what_one_process_began(folder: Path) -> None:
    """`accelerate launch` with two processes resumes a run of one, and ends at the same loss."""
    made = content(folder, "spans", output__folder=str(folder / "began"))
    file = write_toml(folder / "began.toml", made)
    train_until(load_config(file), 9)
    assert not (folder / "began" / "history.json").exists()
    done = launch(
        "accelerate.commands.accelerate_cli", "launch", "--multi_gpu", "--num_processes=2",
        "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no",
        "--main_process_port=0", "-m", "pretrain_lab.train", "--config", str(file), "--cpu",
    )  # fmt: skip
    assert "step 8 of 12" in done.stdout
    assert "by 2 processes on cpu" in done.stdout
    assert gap(history(folder / "spans"), history(folder / "began")) <= 1e-5


def test_a_launcher_that_starts_one_process_instead_of_two_is_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`accelerate launch --cpu --num_processes 2` does; its run would show nothing about two."""
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    file = write_toml(folder / "one.toml", content(folder))
    assert main(["--config", str(file)]) == 2
    assert "starts one, whatever --num_processes says. Take `torchrun" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_process_resumes_to_the_same_losses(tmp_path: Path, folder: Path) -> None:
    """SIGKILL between gradient and update of a random step; then the run goes on elsewhere."""
    step = random.SystemRandom().randrange(4, N_STEPS)
    done = launch("train_runs", "die", str(tmp_path), str(step), check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (tmp_path / "masked" / "history.json").exists()
    resumed = train_loop.train(config(tmp_path, "masked"), cpu=True)
    assert resumed.losses == history(folder / "masked")["losses"], f"killed at step {step}"


@pytest.mark.parametrize("step", range(0, N_STEPS, 3))
def test_stopped_anywhere_the_weights_are_the_same(folder: Path, tmp_path: Path, step: int) -> None:
    """Not only the losses: every weight, bit by bit."""
    made = config(folder, "causal", output__folder=str(tmp_path / "run"))
    train_until(made, step)
    torch.rand(7)  # whoever draws in between changes nothing
    train_loop.train(made, cpu=True)
    assert history(tmp_path / "run") == history(folder / "causal")
    found, expected = (load_model(f / "model.safetensors")[0] for f in (
        tmp_path / "run", folder / "causal"
    ))  # fmt: skip
    for name, value in expected.state_dict().items():
        assert torch.equal(found.state_dict()[name], value), name


def test_a_finished_run_is_not_trained_again(folder: Path) -> None:
    """The same command once more takes no step and leaves the same files."""
    before = history(folder / "causal")
    assert len(train_loop.train(config(folder, "causal"), cpu=True).losses) == N_STEPS
    assert history(folder / "causal") == before


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_the_model_is_loaded_from_its_path(folder: Path, kind: str) -> None:
    """With its vocabulary and a card; training went downwards."""
    model, tokenizer = load_model(folder / kind / "model.safetensors")
    assert isinstance(model, KINDS[kind].model)
    assert model.options["vocab_size"] == tokenizer.vocab_size
    assert not model.training
    card = json.loads((folder / kind / "model.json").read_text())
    losses = history(folder / kind)["losses"]
    assert card["loss"] == losses[-1]
    assert card["settings"]["objective.kind"] == kind
    assert min(losses[-3:]) < losses[0] - 0.1
    text = "abc de"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_loss_is_the_mean_over_all_predictions(folder: Path, tmp_path: Path) -> None:
    """Not the mean of the parts' means: parts of a masked batch predict different numbers."""
    changes = {"model__dropout_prob": 0.0, "model__init_std": 0.5}  # losses that differ
    run = prepare(config(folder, "masked", **changes, output__folder=str(tmp_path)), cpu=True)
    batches = [run.batch(0, part) for part in run.parts]
    counts = [n_predicted(batch) for batch in batches]
    with torch.no_grad():
        sums = [float(run.text.objective.loss_sum(run.model, batch)) for batch in batches]
    mean_of_means = sum(s / n for s, n in zip(sums, counts, strict=True)) / len(counts)
    assert len(set(counts)) > 1
    assert abs(mean_of_means - sum(sums) / sum(counts)) > 1e-4
    assert train_loop.take_step(run, 0) == pytest.approx(sum(sums) / sum(counts), abs=1e-6)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_steps_samples_and_seeds_draw_differently(folder: Path, kind: str) -> None:
    """And the same step, sample and seed draw the same, whatever was drawn before."""
    run, other = (prepare(config(folder, kind, training__seed=s), cpu=True) for s in (0, 1))
    first = run.batch(0, range(2))
    for batch in (run.batch(1, range(2)), run.batch(0, range(2, 4)), other.batch(0, range(2))):
        same = [row.tolist() in batch.labels.tolist() for row in first.labels]
        assert not any(same)
    assert all(torch.equal(a, b) for a, b in zip(first, run.batch(0, range(2)), strict=True))


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_the_size_of_the_parts_changes_nothing_without_dropout(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    """One part of eight windows, two of four, eight of one."""
    curves = []
    for size in (8, 4, 1):
        changes = {"training__micro_batch_size": size, "model__dropout_prob": 0.0}
        changes["output__folder"] = str(tmp_path / str(size))
        curves.append(train_loop.train(config(folder, kind, **changes), cpu=True).losses)
    for curve in curves[1:]:
        assert max(abs(a - b) for a, b in zip(curve, curves[0], strict=True)) <= 1e-5


def test_streaming_equals_reading_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files, read several times over, and stopped in the middle: the same losses."""
    for name, n_lines in (("a", 20), ("b", 13)):
        write_text(tmp_path / f"part_{name}.txt", n_lines, seed=n_lines)
    changes: dict[str, Any] = {"data__files": [str(tmp_path / "part_*.txt")]}
    runs = {}
    for name, extra in (
        ("memory", {"data__order": "sequential"}),
        ("stream", {"data__stream": True}),
    ):
        extra = {**extra, "output__folder": str(tmp_path / name)}
        runs[name] = config(tmp_path, "causal", **changes, **extra)
    expected = train_loop.train(runs["memory"], cpu=True)
    n_read = N_STEPS * 8 * 24
    assert n_read > 2 * sum(len(p.read_text()) for p in tmp_path.glob("part_*.txt"))
    train_until(runs["stream"], 7)
    places, go_to = [], StreamedWindows.go_to

    def noting(self: StreamedWindows, place: dict[str, Any], held: torch.Tensor) -> None:
        """Note where the stream goes on, so that it is not read again from its start."""
        places.append(place["first"])
        go_to(self, place, held)

    monkeypatch.setattr(StreamedWindows, "go_to", noting)
    assert train_loop.train(runs["stream"], cpu=True) == expected
    assert places == [4 * 8 * 24]


def test_other_settings_or_another_text_are_refused(folder: Path, tmp_path: Path) -> None:
    """What is there stays: nothing is overwritten by the run that was refused."""
    where = {"output__folder": str(folder / "causal")}
    other = write_text(tmp_path / "other.txt", seed=5)
    before = {p.name: p.read_bytes() for p in (folder / "causal").iterdir()}
    for changes, message in (
        ({"training__lr": 2e-2}, r"'training.lr': \(0.01, 0.02\)"),
        ({"training__seed": 1}, r"'training.seed': \(0, 1\)"),
        ({"model__n_heads": 4}, r"'model.n_heads': \(2, 4\)"),
        ({"data__files": [str(other)]}, r"'data.sha256'"),
    ):
        with pytest.raises(CheckpointError, match=message):
            train_loop.train(config(folder, "causal", **where, **changes), cpu=True)
    assert {p.name: p.read_bytes() for p in (folder / "causal").iterdir()} == before


def test_a_loss_that_is_not_finite_stops_the_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The step is named, and the checkpoint from before is as it was."""
    made = content(folder, output__folder=str(tmp_path), training__lr=1e30, training__n_warmup=0)
    made["training"]["clip_norm"] = 1e30
    assert main(["--config", str(write_toml(tmp_path / "wild.toml", made)), "--cpu"]) == 1
    assert "expected a finite loss, got nan; the last checkpoint" in capsys.readouterr().err
    assert not (tmp_path / "model.safetensors").exists()


def test_processes_must_share_the_batch_equally(folder: Path) -> None:
    """The message says how many parts there are."""
    changes = {"training__batch_size": 6, "training__micro_batch_size": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accelerate.Accelerator.num_processes", 2)
        with pytest.raises(ValueError, match="divides the 3 micro-batches of a batch"):
            prepare(config(folder, **changes), cpu=True)


def test_the_schedule_is_that_of_fit(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """Every step gets the rate of `pretrain.training.learning_rate`."""
    used = []
    step = torch.optim.AdamW.step

    def record(self: torch.optim.AdamW, *arguments: Any) -> Any:
        """Note the rate, then step."""
        used.append(self.param_groups[0]["lr"])
        return step(self, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", record)
    changes = {"training__final_lr": 0.5, "output__folder": str(tmp_path)}
    train_loop.train(config(folder, "causal", **changes), cpu=True)
    options = {"n_steps": N_STEPS, "n_warmup": 3, "peak": 1e-2, "final": 0.5}
    assert used == [learning_rate(s, **options) for s in range(N_STEPS)]


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody has to read the code to write a configuration."""
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for text in ("micro_batch_size", "[tokenizer]", "validation_files", "torchrun", "default 0.15"):
        assert text in shown


def test_a_wrong_configuration_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a traceback, and before anything is read or made."""
    file = write_toml(tmp_path / "x.toml", content(tmp_path))
    assert main(["--config", str(file), "--set", "training.n_step=5"]) == 2
    assert capsys.readouterr().err == (
        "pretrain_lab.train: unknown option training.n_step: the nearest known one is "
        "training.n_steps; expected one of n_steps, batch_size, lr, micro_batch_size, n_warmup, "
        "final_lr, betas, weight_decay, clip_norm, relative_lr, seed, evaluate_every, "
        "evaluation_batches\n"
    )
    assert not (tmp_path / "causal").exists()


def test_every_objective_has_an_example() -> None:
    """Each is a correct configuration, short, and for the kind of objective that it is about."""
    files = sorted((ROOT / "experiments" / "configs").glob("*.toml"))
    examples = {file.stem: load_config(file) for file in files}
    kinds = {name: made.objective.kind for name, made in examples.items()}
    assert {"gpt": "causal", "bert": "masked", "t5": "spans"}.items() <= kinds.items()
    assert sorted(kinds.values()) == sorted(KINDS)
    for name, made in examples.items():
        assert made.training.n_steps <= 100, name
        assert made.output.folder == f"runs/{name}"


def test_only_the_command_imports_accelerate() -> None:
    """And it does so in one function, so that the rest of the package works without."""
    users = [
        path.name
        for path in (ROOT / "code").rglob("*.py")
        if any(f"{word} accelerate" in path.read_text() for word in ("import", "from"))
    ]
    assert users == ["run.py"]
    code = (
        "import sys, pretrain_lab.train.__main__; "
        "print({'accelerate', 'datasets'} & set(sys.modules))"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"set()\n"
