# SPDX-License-Identifier: MIT
"""Finished arms of a study: computed once, dropped with other settings, gone with the record."""

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Load the module beside the studies."""
    return import_module("experiments.common.memory")


class Count:
    """Something to compute that counts its calls."""

    calls = 0

    def __call__(self) -> int:
        """Count."""
        self.calls += 1
        return 7


def test_arms_are_computed_once(script: ModuleType, tmp_path: Path) -> None:
    """An interrupted study goes on; with other settings it starts anew."""
    compute = Count()
    assert script.FinishedArms("study", {"k": (0,)}, folder=tmp_path).get("a", compute) == 7
    again = script.FinishedArms("study", {"k": (0,)}, folder=tmp_path)
    assert (again.get("a", compute), compute.calls) == (7, 1)
    assert json.loads((tmp_path / "study.arms.json").read_text())["arms"] == {"a": 7}
    script.FinishedArms("study", {"k": (0, 1)}, folder=tmp_path).get("a", compute)
    assert compute.calls == 2


def test_record_replaces_the_arms(script: ModuleType, tmp_path: Path) -> None:
    """The record holds what it is given and the time of all arms, of earlier runs too."""
    arms = script.FinishedArms("study", {}, folder=tmp_path)
    arms.get("a", Count())
    state = json.loads((tmp_path / "study.arms.json").read_text())
    (tmp_path / "study.arms.json").write_text(json.dumps({**state, "cpu_seconds": 5000.0}))
    script.FinishedArms("study", {}, folder=tmp_path).conclude({"share": 1 / 3})
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]
    record = json.loads((tmp_path / "study.json").read_text())
    assert record["share"] == 0.33333
    assert record["cpu_seconds"] == 5000


def test_a_trial_leaves_no_file(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints its record instead."""
    arms = script.FinishedArms("study", {}, keep=False, folder=tmp_path)
    arms.conclude({"a": arms.get("a", Count())})
    assert json.loads(capsys.readouterr().out) == {"a": 7}
    assert list(tmp_path.iterdir()) == []
