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
    config,
    content,
    history,
    launch,
    train_until,
    write_text,
    write_toml,
)

from pretrain.training import History
from pretrain_lab.checkpoints import load_model
from pretrain_lab.paths import ROOT
from pretrain_lab.run_state import CheckpointError
from pretrain_lab.train import loop as train_loop
from pretrain_lab.train.__main__ import main
from pretrain_lab.train.config import load_config
from pretrain_lab.train.data import StreamedWindows
from pretrain_lab.train.objectives import OBJECTIVES, count_predictions
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


@pytest.mark.slow
def test_a_killed_process_resumes_to_the_same_losses(tmp_path: Path, folder: Path) -> None:
    """SIGKILL between gradient and update of a random step; then the run goes on elsewhere."""
    step = random.SystemRandom().randrange(4, N_STEPS)
    done = launch("train_runs", "die", str(tmp_path), str(step), check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (tmp_path / "masked" / "history.json").exists()
    resumed = train_loop.train(config(tmp_path, "masked"), cpu=True)
    assert resumed.losses == history(folder / "masked")["losses"], f"killed at step {step}"


@pytest.mark.parametrize(("kind", "step"), [("causal", 0), ("prefix", 6), ("spans", 9)])
def test_stopped_anywhere_the_weights_are_the_same(
    folder: Path, tmp_path: Path, kind: str, step: int
) -> None:
    """Not only the losses: every weight, bit by bit. A finished run is not trained again."""
    made = config(folder, kind, output__folder=str(tmp_path / "run"))
    train_until(made, step)
    torch.rand(7)  # whoever draws in between changes nothing
    for _ in range(2):
        train_loop.train(made, cpu=True)
        assert history(tmp_path / "run") == history(folder / kind)
    found, expected = (
        load_model(run / "model.safetensors")[0].state_dict()
        for run in (tmp_path / "run", folder / kind)
    )
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def test_the_end_says_how_the_model_reads_its_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command reads one under the causal mask; a prefix LM was trained to see all of it."""
    for kind in OBJECTIVES:
        train_loop.train(config(tmp_path, kind, training__n_steps=3), cpu=True)
        *_, note, last = capsys.readouterr().out.splitlines()
        assert last.startswith("use it: python -m pretrain_lab.sample ")
        call = "model(ids, prefix_lens=torch.tensor([n]))"
        assert (call in note) == (kind == "prefix")
    model, _ = load_model(tmp_path / "prefix" / "model.safetensors")
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        one_way, both_ways = model(ids), model(ids, prefix_lens=torch.tensor([4]))
        assert torch.equal(model(ids, prefix_lens=torch.tensor([1])), one_way)  # as is said
    assert not torch.allclose(one_way, both_ways)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_the_model_is_loaded_from_its_path(folder: Path, kind: str) -> None:
    """With its vocabulary and a card; training went downwards."""
    model, tokenizer = load_model(folder / kind / "model.safetensors")
    assert type(model) is OBJECTIVES[kind].model
    assert model.config.vocab_size == tokenizer.vocab_size
    card = json.loads((folder / kind / "model.json").read_text())
    losses = history(folder / kind)["losses"]
    assert card["loss"] == losses[-1]
    assert card["settings"]["objective"]["kind"] == kind
    assert min(losses[-3:]) < losses[0] - 0.1
    assert tokenizer.decode(tokenizer.encode("abc de")) == "abc de"


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
def test_a_model_is_written_without_a_draw_and_reads_as_the_one_trained(
    folder: Path, tmp_path: Path, positions: str
) -> None:
    """Tables of positions, which no file holds, are made when it is loaded."""
    made = config(folder, output__folder=str(tmp_path), model__positions=positions)
    run = prepare(made, cpu=True)
    torch.rand(7)  # where the draws for new weights do not end
    before = torch.get_rng_state()
    train_loop.save_weights(run, History([1.0]))
    assert torch.equal(torch.get_rng_state(), before)
    model, _ = load_model(tmp_path / "model.safetensors")
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        assert torch.equal(model(ids), run.bare_model.eval()(ids))


def test_the_loss_is_the_mean_over_all_predictions(folder: Path, tmp_path: Path) -> None:
    """Not the mean of the parts' means: parts of a masked batch predict different numbers."""
    changes = {"model__dropout": 0.0, "model__init_std": 0.5}  # losses that differ
    run = prepare(config(folder, "masked", **changes, output__folder=str(tmp_path)), cpu=True)
    batches = [run.batch(0, part) for part in run.parts]
    counts = [count_predictions(batch) for batch in batches]
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
        assert not any(row.tolist() in batch.labels.tolist() for row in first.labels)
    assert all(torch.equal(a, b) for a, b in zip(first, run.batch(0, range(2)), strict=True))


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_the_size_of_the_parts_changes_nothing_without_dropout(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    """One part of eight windows, or eight of one."""
    curves = []
    for size in (8, 1):
        changes = {"training__micro_batch_size": size, "model__dropout": 0.0}
        changes["output__folder"] = str(tmp_path / str(size))
        curves.append(train_loop.train(config(folder, kind, **changes), cpu=True).losses)
    assert max(abs(a - b) for a, b in zip(*curves, strict=True)) <= 1e-5


def test_streaming_equals_reading_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files, read several times over, and stopped in the middle: the same losses."""
    for name, n_lines in (("a", 20), ("b", 13)):
        write_text(tmp_path / f"part_{name}.txt", n_lines, seed=n_lines)
    runs = {
        name: config(
            tmp_path, data__files=[str(tmp_path / "part_*.txt")],
            output__folder=str(tmp_path / name), **changes,
        )
        for name, changes in (
            ("memory", {"data__order": "sequential"}), ("stream", {"data__stream": True}),
        )
    }  # fmt: skip
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
    other = write_text(tmp_path / "other.txt", seed=5)
    before = {p.name: p.read_bytes() for p in (folder / "causal").iterdir()}
    for changes, message in (
        ({"training__seed": 2}, r"'training.seed': \(0, 2\)"),
        ({"training__n_steps": 9, "training__lr": 1e-3}, "n_steps: expected at least the 12 steps"),
        ({"model__n_heads": 4}, r"'model.n_heads': \(2, 4\)"),
        ({"data__files": [str(other)]}, r"'data.sha256'.*; or choose another output.folder"),
    ):
        with pytest.raises(CheckpointError, match=message):
            train_loop.train(config(folder, **changes), cpu=True)
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


def test_a_gradient_that_is_not_finite_stops_before_the_update(
    folder: Path, tmp_path: Path
) -> None:
    """Also where the loss is finite: the weights are those from before."""
    run = prepare(config(folder, output__folder=str(tmp_path)), cpu=True)
    before = [p.detach().clone() for p in run.model.parameters()]
    last = run.bare_model.final_norm.bias
    last.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(FloatingPointError, match="step 0: expected a finite gradient, got norm"):
        train_loop.take_step(run, 0)
    assert all(torch.equal(a, b) for a, b in zip(before, run.model.parameters(), strict=True))


def test_processes_that_cannot_work_together_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They must share a batch equally."""
    file = write_toml(folder / "one.toml", content(folder, training__batch_size=6))
    with monkeypatch.context() as patch:
        patch.setattr("accelerate.Accelerator.num_processes", 2)
        assert main(["--config", str(file), "--cpu"]) == 2
    assert "divides the 3 micro-batches of a batch" in capsys.readouterr().err


@pytest.mark.slow
def test_a_launcher_that_starts_one_process_trains_with_one(folder: Path) -> None:
    """`accelerate launch --cpu` does, whatever --num_processes says; how to get two is said."""
    made = content(folder, output__folder=str(folder / "launched"))
    file = write_toml(folder / "launched.toml", made)
    done = launch(
        "accelerate.commands.accelerate_cli", "launch", "--cpu", "--num_processes=2",
        "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no",
        "-m", "pretrain_lab.train", str(file),
    )  # fmt: skip
    assert "starts one, whatever --num_processes says; for two, take `torchrun" in done.stdout
    assert gap(history(folder / "causal"), history(folder / "launched")) == 0


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
