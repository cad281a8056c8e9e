# SPDX-License-Identifier: MIT
"""The table of minutes for each stage of a check."""

import sys
from pathlib import Path

import pytest

import stage_times


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of one check."""
    path = tmp_path / "stages.tsv"
    monkeypatch.setenv("STAGE_TIMES", str(path))
    return path


def test_stages_are_noted_in_order_with_their_status(log: Path, capfd: pytest.CaptureFixture[str]):
    assert stage_times.main(["run", "first", sys.executable, "-c", "print('seen')"]) == 0
    assert capfd.readouterr().out == "seen\n"
    assert stage_times.main(["run", "second", sys.executable, "-c", "raise SystemExit(3)"]) == 3
    assert stage_times.main(["table"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == [
        "stage", "first", "second", "together",
    ]  # fmt: skip
    assert lines[2].endswith("failed with status 3")


def test_minutes_are_added_up(log: Path):
    log.write_text("one\t1.25\t0.5\t\ntwo\t2.5\t2.25\t\n", encoding="utf-8")
    *_, last = stage_times.table(log).splitlines()
    assert last.split() == ["together", "3.8", "2.8"]


def test_other_words_are_refused(log: Path, capsys: pytest.CaptureFixture[str]):
    assert stage_times.main(["run", "only a name"]) == 2
    assert "expected: run NAME COMMAND" in capsys.readouterr().err


def test_every_stage_of_the_check_is_timed(repository: Path):
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.split("\ntest: ")[1].split("\n\n")[0].split("\n\t")[1:]
    work = [line for line in recipe if "pytest" in line or "lint" in line]
    assert len(work) == 4
    assert all(line.lstrip("@").startswith("$(STAGE)") for line in work)
    assert recipe[-2] == "@$(BIN)/python tools/stage_times.py table"
