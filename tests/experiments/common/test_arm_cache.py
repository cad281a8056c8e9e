# SPDX-License-Identifier: MIT
"""Finished arms of a study: computed once, dropped with other settings, gone with the record."""

import json
from pathlib import Path

import pytest

from experiments.common.arm_cache import ArmCache


class Count:
    """Something to compute that counts its calls."""

    calls = 0

    def __call__(self) -> int:
        """Count."""
        self.calls += 1
        return 7


def test_arms_are_computed_once(tmp_path: Path) -> None:
    """An interrupted study goes on; with other settings it starts anew."""
    compute = Count()
    assert ArmCache("study", {"k": (0,)}, folder=tmp_path).get("a/b, 1", compute) == 7
    again = ArmCache("study", {"k": (0,)}, folder=tmp_path)
    assert (again.get("a/b, 1", compute), compute.calls) == (7, 1)
    other = ArmCache("study", {"k": (0, 1)}, folder=tmp_path)
    with pytest.raises(LookupError, match="'a/b, 1' of study"):
        other.get("a/b, 1")
    other.get("a/b, 1", compute)
    assert compute.calls == 2


def test_a_result_is_the_same_whether_it_was_kept_or_not(tmp_path: Path) -> None:
    """Keys are strings and tuples lists from the start, or a study would fail when it goes on."""
    for keep in (True, False):
        arms = ArmCache("study", {}, keep=keep, folder=tmp_path)
        assert arms.get("a", lambda: {1: (2,)}) == {"1": [2]}


def test_record_replaces_the_arms(tmp_path: Path) -> None:
    """The record holds what it is given and the time of all arms, of earlier runs too."""
    arms = ArmCache("study", {}, folder=tmp_path / "kept")
    arms.get("a", Count())
    path = arms.path("a", ".json")
    assert path is not None
    path.write_text(json.dumps({"result": 7, "cpu_seconds": 5000.0}))
    again = ArmCache("study", {}, folder=tmp_path / "kept")
    again.conclude({"share": again.get("a") / 21}, folder=tmp_path)
    assert list((tmp_path / "kept").iterdir()) == []
    record = json.loads((tmp_path / "study.json").read_text())
    assert record["share"] == 0.33333
    assert record["cpu_seconds"] == 5000


def test_a_quick_run_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints its record instead."""
    arms = ArmCache("study", {}, keep=False, folder=tmp_path)
    assert arms.path("weights") is None
    arms.conclude({"a": arms.get("a", Count())}, folder=tmp_path)
    assert json.loads(capsys.readouterr().out) == {"a": 7}
    assert list(tmp_path.iterdir()) == []
