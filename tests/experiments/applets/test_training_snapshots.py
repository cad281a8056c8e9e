# SPDX-License-Identifier: MIT
"""The file of the time machines' applet is what the two records say."""

import json
from pathlib import Path

import pytest
import torch

from experiments.applets import training_snapshots
from pretrain_lab.paths import CHECKPOINTS, data_file


def test_the_stored_file_is_fresh() -> None:
    stored = json.loads(training_snapshots.TARGET.read_text(encoding="utf-8"))
    assert stored == training_snapshots.record(), "write it again"


def test_every_look_has_its_file_and_its_loss() -> None:
    record = training_snapshots.record()
    runs = json.loads(data_file("runs", "time_machine.json").read_text(encoding="utf-8"))
    for model in ("gpt", "bert"):
        assert len(record[model]) <= 10
        for look, run in zip(record[model], runs[model]["looks"], strict=True):
            assert (look["step"], look["bits_float"]) == (run["step"], run["bits"])
            path = CHECKPOINTS / f"{look['file']}.safetensors"
            assert path.stat().st_size == look["bytes"] <= 200 * 1024


def test_the_heads_that_are_shown_first_have_learned() -> None:
    record = training_snapshots.record()
    for model in ("gpt", "bert"):
        before, after = record["heads"][model]["shares"]
        assert before < 0.2 < 0.8 < after, "from anywhere to one place"


def test_habits_are_read_from_the_diagonals() -> None:
    weights = torch.zeros(1, 2, 9, 9)
    rows = torch.arange(9)
    weights[0, 0, rows[1:], rows[:-1]] = 1  # one to the left
    weights[0, 1, rows[:-2], rows[2:]] = 0.5  # two to the right, for the queries that have it
    found = training_snapshots.habits(weights)
    assert found.shape == (1, 2, 2 * training_snapshots.NEAR + 1)
    left, right = found[0].argmax(dim=-1) - training_snapshots.NEAR
    assert (left, right) == (-1, 2)
    assert found[0, :, :].amax(dim=-1).tolist() == [1, 0.5]


def test_records_of_different_looks_are_refused(tmp_path: Path) -> None:
    for name in ("time_machine", "time_machine_weights"):
        record = json.loads(data_file("runs", f"{name}.json").read_text(encoding="utf-8"))
        if name == "time_machine_weights":
            record["bert"].pop()
        (tmp_path / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(ValueError, match="in both records of bert"):
        training_snapshots.record(tmp_path)
