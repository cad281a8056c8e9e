# SPDX-License-Identifier: MIT
"""The ruler of chapter 8 has the study's accuracies, in whole hits, and its intervals of k."""

import json
from typing import Any

import numpy as np
import pytest

from experiments.applets.label_ruler import METHODS, REFERENCES, end_of, label_ruler
from experiments.common.statistics import needed_labels
from pretrain_lab.paths import DATA, RUNS


def read(path: str) -> dict[str, Any]:
    """Read a file of the data."""
    found: dict[str, Any] = json.loads((DATA / path).read_text(encoding="utf-8"))
    return found


def study() -> dict[str, Any]:
    """Read the record."""
    found: dict[str, Any] = json.loads((RUNS / "label_study.json").read_text(encoding="utf-8"))
    return found


def test_the_stored_file_is_what_the_record_gives() -> None:
    stored = read("applets/label_ruler.json")
    made = json.loads(json.dumps(label_ruler()))
    assert {key: stored[key] for key in made} == made
    assert (DATA / "applets" / "label_ruler.json").stat().st_size < 10_000


@pytest.mark.parametrize("name", [*METHODS, *REFERENCES])
def test_hits_give_the_accuracies_of_the_record(name: str) -> None:
    record, arm = study(), label_ruler()["arms"][name]
    for n, hits in zip(record["n_labels"], arm["hits"], strict=True):
        assert len(hits) == len(arm["seeds"])
        accuracy = record["arms"][name]["accuracy"][str(n)]["mean"]
        assert np.mean(hits) / record["data"]["n_test"] == pytest.approx(accuracy, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("reference", REFERENCES)
def test_k_from_the_hits_is_the_records(method: str, reference: str) -> None:
    record, data = study(), label_ruler()
    n_labels, arms = record["n_labels"], data["arms"]
    seeds = [seed for seed in arms[method]["seeds"] if seed in arms[reference]["seeds"]]
    curves = [
        np.array([[row[arm["seeds"].index(seed)] for seed in seeds] for row in arm["hits"]]).mean(1)
        for arm in (arms[method], arms[reference])
    ]
    for n, hits in zip(n_labels, curves[0], strict=True):
        found = record["worth"][method][reference][str(n)]
        labels, where = needed_labels(n_labels, curves[1], hits)
        assert labels / n == pytest.approx(found["k"], rel=1e-4)
        assert (where == "more", where == "fewer") == (
            found["more_than_all"], found["fewer_than_least"]
        )  # fmt: skip


def test_an_end_of_an_interval_may_be_a_bound() -> None:
    found = {"low": 0.25, "high": 72.2, "low_is_bound": True, "high_is_bound": True}
    assert end_of(found, "low", 128, 32) == [0.25, "less"]
    assert end_of(found, "high", 128, 32) == [72.2, "more"]
    assert end_of({**found, "high_is_bound": False}, "high", 128, 32) == [72.2, ""]
