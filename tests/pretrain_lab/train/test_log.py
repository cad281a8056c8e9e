# SPDX-License-Identifier: MIT
"""What a run says while it goes."""

import csv
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pretrain.training import History
from pretrain_lab.train import log as run_log
from pretrain_lab.train.log import LOG, RunLog, open_log, tell, time_of


def rows_of(path: Path) -> list[list[str]]:
    """Read a log."""
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def make(folder: Path, history: History | None = None, **options: Any) -> RunLog:
    """Make a log of ten steps of 100 tokens, two characters each."""
    settings = {"n_steps": 10, "tokens_per_step": 100, "tokens_per_character": 0.5, "every": 2}
    return RunLog(folder, history or History(), bar=False, **{**settings, **options})


def test_a_line_has_the_mean_since_the_last_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With rate, speed and time left; an evaluation has a line of its own, in bits too."""
    log = make(tmp_path)
    log.step(3.0, 0.01, 0.5, None)
    log.step(1.0, 0.02, 1.5, 2 * math.log(2))
    log.close()
    assert capsys.readouterr().out.splitlines() == [
        "step 2/10: loss 2.0000, lr 2.00e-02, 100 tokens/s, 8 s left",
        "step 2/10: held out 1.3863 nats (1.00 bits per character)",
    ]
    rows = rows_of(tmp_path / LOG)
    assert rows[0] == list(run_log.COLUMNS)
    assert rows[1] == ["1", "3.000000", "0.01", "200", "", ""]
    assert rows[2] == ["2", "1.000000", "0.02", "67", "1.386294", "1.000000"]


def test_bits_stand_where_they_mean_something(tmp_path: Path) -> None:
    """Not for a BERT or T5, whose losses are no code length of the text."""
    log = make(tmp_path, tokens_per_character=0.0)
    log.close()
    assert log.bits(1.0) is None
    other = make(tmp_path)
    other.close()
    assert other.bits(None) is None


def test_each_step_is_in_the_file_once(tmp_path: Path) -> None:
    """After a kill too, when lines stand behind the checkpoint and the last one is torn."""
    log = make(tmp_path)
    for step in range(6):
        log.step(float(step), 0.01, 1.0, None)
    log.close()
    with (tmp_path / LOG).open("a") as file:
        file.write("7,6.0")
    log = make(tmp_path, History([0.0, 1.0, 2.0, 3.0]))
    log.step(4.5, 0.01, 1.0, None)
    log.close()
    rows = rows_of(tmp_path / LOG)
    assert [row[0] for row in rows] == ["step", "1", "2", "3", "4", "5"]
    assert rows[4] == ["4", "3.000000", "0.01", "100", "", ""]
    assert rows[5][1] == "4.500000"
    (tmp_path / LOG).unlink()
    open_log(tmp_path / LOG, History([1.0, 2.0], [(2, 3.0)])).close()
    rows = rows_of(tmp_path / LOG)
    assert rows[1:] == [
        ["1", "1.000000", "", "", "", ""],
        ["2", "2.000000", "", "", "3.000000", ""],
    ]


def test_tensorboard_is_written_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in takes the numbers; steps after the checkpoint are purged."""
    written: list[tuple[Any, ...]] = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            written.append((Path(folder).name, purge_step))

        def add_scalar(self, *values: Any) -> None:
            written.append(values)

        def close(self) -> None:
            written.append(("closed",))

    module = SimpleNamespace(SummaryWriter=Writer)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)  # type: ignore[arg-type]
    monkeypatch.setattr(run_log, "find_spec", lambda name: name == "tensorboard")
    log = make(tmp_path, History([1.0]))
    log.step(2.0, 0.01, 1.0, None)
    log.close()
    assert written[0] == ("tensorboard", 2)
    assert ("loss/training", 2.0, 2) in written
    assert ("tokens_per_second", 100.0, 2) in written
    assert not any(name == "loss/held_out" for name, *_ in written)
    assert written[-1] == ("closed",)


def test_only_the_first_process_speaks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others have another RANK."""
    for rank, said in (("1", ""), ("0", "hello\n")):
        monkeypatch.setenv("RANK", rank)
        tell("hello")
        assert capsys.readouterr().out == said


def test_times_are_said_as_people_do() -> None:
    """Seconds, minutes, hours."""
    assert [time_of(s) for s in (7.4, 99, 720, 12_600)] == ["7 s", "99 s", "12 min", "3.5 h"]
