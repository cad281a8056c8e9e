# SPDX-License-Identifier: MIT
"""Runs that are stopped, grow, change their rate, or start from other weights."""

import csv
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from train_runs import N_STEPS, config, content, history, train_until, write_text, write_toml

from pretrain.bert import BERT, BERTConfig
from pretrain_lab.checkpoints import load_model, save_model
from pretrain_lab.run_state import CheckpointError
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.train import loop as train_loop
from pretrain_lab.train import text as train_text
from pretrain_lab.train.__main__ import main
from pretrain_lab.train.config import check_config
from pretrain_lab.train.interrupts import Interrupts
from pretrain_lab.train.kept import KEPT, keep
from pretrain_lab.train.options import ConfigError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a text and an undisturbed run."""
    made = tmp_path_factory.mktemp("runs")
    train_loop.train(config(made), cpu=True)
    return made


def rows_of(path: Path) -> list[list[str]]:
    """Read a log."""
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def own(folder: Path, run: Path, **changes: Any) -> dict[str, Any]:
    """Describe a run on own text, of which the end is held out."""
    changes = {"data__validation_files": None, "output__folder": str(run), **changes}
    return content(folder, **changes)


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "Ctrl")])
def test_a_signal_saves_after_the_step_and_names_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], number: int, name: str,
) -> None:  # fmt: skip
    """The same command then ends at the losses of a run that nobody stopped, with one log."""
    take_step = train_loop.take_step

    def signalled(run: Any, step: int) -> float:
        """Get a signal in the middle of a step that no checkpoint follows."""
        if step == 5:
            os.kill(os.getpid(), number)
        return take_step(run, step)

    file = write_toml(tmp_path / "x.toml", content(folder, output__folder=str(tmp_path / "run")))
    with monkeypatch.context() as patch:
        patch.setattr(train_loop, "take_step", signalled)
        assert main([str(file), "--cpu"]) == 1
    error = capsys.readouterr().err
    assert f"stopped by {name}" in error
    assert f"after step 6 of {N_STEPS}, and saved in {tmp_path / 'run'}; the same" in error
    load_model(tmp_path / "run" / "model.safetensors")  # what there is can be used
    assert main([str(file), "--cpu"]) == 0
    assert f"from step 6 of {N_STEPS}" in capsys.readouterr().out
    assert history(tmp_path / "run") == history(folder / "causal")
    rows = rows_of(tmp_path / "run" / "log.csv")
    assert [row[0] for row in rows] == ["step", *map(str, range(1, N_STEPS + 1))]
    assert [float(row[1]) for row in rows[1:]] == pytest.approx(
        history(folder / "causal")["losses"], abs=1e-6
    )


def test_signals_before_the_first_step_and_a_second_one_stop_at_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """As KeyboardInterrupt; and the handlers from before have their place again."""
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
    with Interrupts() as interrupts:
        interrupts.wait = True
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.came == "SIGTERM"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before

    def pressed(*_: Any) -> Any:
        """Stand for somebody who presses the keys while the text is read."""
        raise KeyboardInterrupt

    monkeypatch.setattr(train_loop, "announce", pressed)
    file = write_toml(tmp_path / "x.toml", content(folder, output__folder=str(tmp_path / "run")))
    assert main([str(file), "--cpu"]) == 1
    assert "stopped at once; the same command goes on where the run was last" in (
        capsys.readouterr().err
    )


def test_a_run_with_muon_keeps_its_rates_and_goes_on(folder: Path, tmp_path: Path) -> None:
    """Both rules follow the schedule; stopped on the way, it ends at the same losses."""
    whole, stopped = (
        own(folder, tmp_path / name, training__optimizer="muon") for name in ("whole", "stopped")
    )
    rates, take_step = [], train_loop.take_step

    def noting(run: Any, step: int) -> float:
        """Take a step, and note the rates that were used."""
        loss = take_step(run, step)
        parts = run.optimizer.optimizer.parts
        rates.append({group["lr"] for part in parts for group in part.param_groups})
        return loss

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_loop, "take_step", noting)
        train_loop.train(check_config(whole), cpu=True)
    optim = check_config(whole).training.optim
    assert rates == [{optim.rate(step, N_STEPS)} for step in range(N_STEPS)]
    train_until(check_config(stopped), 6)
    train_loop.train(check_config(stopped), cpu=True)
    assert history(tmp_path / "stopped") == history(tmp_path / "whole")


def test_a_run_grows_and_changes_its_rate(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """More steps, another rate, evaluations at last; it says what has changed."""
    run = tmp_path / "run"
    first = train_loop.train(
        check_config(own(folder, run, training__n_steps=4, training__evaluate_every=0)), cpu=True
    )
    changes = {"training__lr": 2e-3, "training__evaluate_every": 3, "training__n_steps": 6}
    grown = train_loop.train(check_config(own(folder, run, **changes)), cpu=True)
    assert grown.losses[:4] == first.losses
    assert len(grown.losses) == 6
    assert [step for step, _ in grown.evaluations] == [6]
    said = capsys.readouterr().out
    for change in ("training.n_steps 4 -> 6", "training.lr 0.01 -> 0.002", "evaluate_every 0 -> 3"):
        assert change in said.split("changed since the checkpoint: ")[1]
    with pytest.raises(CheckpointError, match=r"training.n_steps: .* the 6 steps of the run"):
        train_loop.train(check_config(own(folder, run, training__n_steps=5)), cpu=True)


def test_what_is_held_out_is_not_trained_on(folder: Path, tmp_path: Path) -> None:
    """Whether it is evaluated or not, so that an evaluation may be added later."""
    run = tmp_path / "run"
    texts = [
        train_text.read_text(check_config(own(folder, run, training__evaluate_every=every)))
        for every in (0, 5)
    ]
    whole = (folder / "text.txt").read_text()
    assert texts[0].validation is None
    assert texts[0].facts["data.sha256"] == texts[1].facts["data.sha256"]
    ids = texts[1].ids
    assert ids is not None
    kept, held = (texts[1].tokenizer.decode(part) for part in (ids.train, ids.held_out))
    assert kept + held == whole
    assert len(held) == pytest.approx(0.05 * len(whole), rel=0.1)
    assert texts[1].counts.characters == len(kept)
    assert texts[1].counts.tokens_per_character == 1.0


def test_a_resume_neither_learns_nor_encodes_anew(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The ids are kept beside the run, for the text as it is; they give the same losses."""
    text = write_text(tmp_path / "text.txt")
    made = check_config(own(tmp_path, tmp_path / "run", data__files=[str(text)]))
    train_until(made, 6)
    with monkeypatch.context() as patch:
        patch.setattr(train_text, "_encode", None)
        train_loop.train(made, cpu=True)
    assert "vocabulary and ids as they are kept in" in capsys.readouterr().out
    undisturbed = own(tmp_path, tmp_path / "again", data__files=[str(text)])
    train_loop.train(check_config(undisturbed), cpu=True)
    assert history(tmp_path / "again") == history(tmp_path / "run")
    text.write_text(text.read_text() + "one word more\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"'data\.sha256'"):
        train_loop.train(made, cpu=True)
    kept = tmp_path / "run" / KEPT
    kept.write_bytes(b"damaged")
    assert train_text.read_text(made).counts.characters > 0  # it is read anew


def test_a_text_with_its_end_is_not_taken_for_one_without(folder: Path, tmp_path: Path) -> None:
    """Files to evaluate on keep the whole text for training, also where nothing is evaluated."""
    lengths, keys = [], []
    for files in (None, [str(folder / "text.txt")]):
        changes = {"training__evaluate_every": 0, "data__validation_files": files}
        made = check_config(own(folder, tmp_path / "run", **changes))
        text = train_text.read_text(made)
        keep(tmp_path / "run" / KEPT, text.key, text.ids)
        lengths.append(text.counts.characters)
        keys.append(text.key)
    assert keys[0] != keys[1]
    assert lengths[1] == len((folder / "text.txt").read_text()) > lengths[0]


def test_a_run_starts_from_the_weights_of_another(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its sizes and vocabulary; its first loss is that of the other's last weights."""
    other = str(folder / "causal")
    made = own(folder, tmp_path / "run", training__init_from=other, model__d_model=99)
    made["model"]["dropout"] = 0.0
    trained = train_loop.train(check_config(made), cpu=True)
    assert f"model and vocabulary are those of {other}" in capsys.readouterr().out
    model, tokenizer = load_model(folder / "causal" / "model.safetensors")
    found, same = load_model(tmp_path / "run" / "model.safetensors")
    assert found.config.d_model == 16
    assert found.config.dropout == 0.0
    assert same.to_dict() == tokenizer.to_dict()
    assert trained.losses[0] < history(folder / "causal")["losses"][0] - 0.1
    run = train_loop.prepare(check_config(made), cpu=True)
    for name, value in model.state_dict().items():
        assert torch.equal(run.bare_model.state_dict()[name], value), name


def test_weights_that_do_not_fit_are_refused(folder: Path, tmp_path: Path) -> None:
    """Another model, none at all, or sizes that somebody asked for beside them."""
    tokenizer = CharTokenizer("abc")
    save_model(tmp_path / "b.safetensors", BERT(BERTConfig(5, 8, 1, 2, 24)), tokenizer, {})
    for name, given, message in (
        (
            tmp_path / "b.safetensors",
            (),
            r"expected a GPT, which kind \"causal\" trains, got a BER",
        ),
        (tmp_path / "none", (), "training.init_from: expected the folder of a run, a .safetensors"),
        (tmp_path, (), r"training.init_from: expected model.safetensors in .*, found none"),
        (folder / "causal", ("model.d_model",), "model.d_model: expected none beside training.ini"),
        (folder / "causal", ("tokenizer.kind",), "tokenizer.kind: expected none beside"),
    ):
        made = own(folder, tmp_path / "run", training__init_from=str(name))
        with pytest.raises(ConfigError, match=message):
            check_config(made, given)
    too_long = own(folder, tmp_path, training__init_from=str(folder / "causal"), data__seq_len=99)
    with pytest.raises(ConfigError, match=r"model.max_len: expected at least data.seq_len = 99"):
        check_config(too_long)
