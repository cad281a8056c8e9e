# SPDX-License-Identifier: MIT
"""The file of the time machines' applet is what the two records say."""

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from pretrain_lab.paths import CHECKPOINTS, data_file


@pytest.fixture
def applet() -> ModuleType:
    """The script that writes the file."""
    return import_module("experiments.applets.training_snapshots")


def test_the_stored_file_is_fresh(applet: ModuleType) -> None:
    stored = json.loads(applet.TARGET.read_text(encoding="utf-8"))
    assert stored == applet.record(), "run experiments/applets/training_snapshots.py again"


def test_every_look_has_its_file_and_its_loss(applet: ModuleType) -> None:
    record = applet.record()
    runs = json.loads(data_file("runs", "time_machine.json").read_text(encoding="utf-8"))
    for model in ("gpt", "bert"):
        assert len(record[model]) <= 10
        for look, run in zip(record[model], runs[model]["looks"], strict=True):
            assert (look["step"], look["bits_float"]) == (run["step"], run["bits"])
            path = CHECKPOINTS / f"{look['file']}.safetensors"
            assert path.stat().st_size == look["bytes"] <= 200 * 1024


def test_records_of_different_looks_are_refused(
    applet: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("time_machine", "time_machine_weights"):
        record = json.loads(data_file("runs", f"{name}.json").read_text(encoding="utf-8"))
        if name == "time_machine_weights":
            record["bert"].pop()
        (tmp_path / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    monkeypatch.setattr(applet, "data_file", lambda _, name: tmp_path / name)
    with pytest.raises(ValueError, match="in both records of bert"):
        applet.record()
