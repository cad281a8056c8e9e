# SPDX-License-Identifier: MIT
"""Where the files are, and the record of those that were asked for."""

from pathlib import Path

import pytest

from pretrain_lab import paths


def test_the_root_is_the_repository() -> None:
    """The package lies two levels below it, and the data beside."""
    assert (paths.ROOT / "code" / "pretrain_lab" / "paths.py").samefile(paths.__file__)
    assert (paths.ROOT / "pyproject.toml").is_file()
    assert paths.DATA == paths.ROOT / "data"
    assert paths.CHECKPOINTS == paths.DATA / "checkpoints"
    assert paths.RUNS == paths.DATA / "runs"


def test_data_files_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each path that was handed out is remembered once, whether or not the file exists."""
    monkeypatch.setattr(paths, "OPENED", set())
    first = paths.data_file("runs", "no_such_study.json")
    paths.data_file("runs", "no_such_study.json")
    second = paths.data_file("sources.toml")
    assert first == Path(paths.DATA, "runs", "no_such_study.json")
    assert {first, second} == paths.OPENED
