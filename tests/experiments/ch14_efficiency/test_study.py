# SPDX-License-Identifier: MIT
"""The study of chapter 14: marks, words, sparse layers, pronouns, and the sum of seconds."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Generator, nn

from pretrain_lab.corpora.loading import Review


@pytest.fixture(scope="module")
def study() -> Iterator[SimpleNamespace]:
    """Import the modules beside the script."""
    sizes = dict(import_module("experiments.ch08_labels.data").SIZES)
    names = {
        "smaller": "ch14_efficiency.smaller_models", "latency": "ch14_efficiency.latency",
        "pronouns": "ch14_efficiency.pronouns", "seconds": "book_models.cpu_seconds",
        "main": "ch14_efficiency.__main__",
    }  # fmt: skip
    loaded = {name: import_module(f"experiments.{path}") for name, path in names.items()}
    yield SimpleNamespace(**loaded)
    found = import_module("experiments.ch08_labels.data").SIZES
    found.clear()
    found.update(sizes)


class Marked(nn.Module):
    """A classifier that gives every text the same logits."""

    def __init__(self, logits: list[float]) -> None:
        """Keep the logits."""
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, ids: Any, mask: Any = None) -> Any:
        """Give them for each text."""
        return self.logits.expand(len(ids), -1)


def test_marks_are_repeated_at_the_lowest_loss(
    study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The teacher's own logits have no slope; those of the labels have."""
    texts = [torch.arange(3 + i) for i in range(4)]
    monkeypatch.setattr(study.smaller, "encoded", lambda *_: texts)
    monkeypatch.setattr(study.smaller, "subset", lambda n, seed: list(range(n)))
    marks = torch.tensor([[0.4, 1.0]]).expand(4, -1)
    for logits, still in (([0.4, 1.0], True), ([-3.0, 3.0], False)):
        model = Marked(logits)
        study.smaller.marked_loss(marks, 0)(model, Generator().manual_seed(0)).backward()
        assert model.logits.grad is not None
        assert bool(model.logits.grad.abs().max() < 1e-6) == still


def test_words_learn_from_probabilities(
    study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sure teacher who contradicts the labels is followed, not the labels."""
    reviews = [Review("good film", 1, "a"), Review("bad film", 0, "b")] * 4
    monkeypatch.setattr(study.smaller, "labelled", lambda split: reviews)
    monkeypatch.setattr(study.smaller, "subset", lambda n, seed: list(range(n)))
    truth = torch.tensor([review.label for review in reviews])
    monkeypatch.setattr(study.smaller, "labels_of", lambda split: truth)
    marks = torch.tensor([[9.0, 0.0], [0.0, 9.0]]).repeat(4, 1)
    assert study.smaller.words_on(8, 0) == "1" * 8
    assert study.smaller.words_on(8, 0, marks) == "0" * 8


def test_sparse_layers_give_the_same(study: SimpleNamespace) -> None:
    """Only the format differs; bytes count values and places."""
    torch.manual_seed(0)
    layer, x = nn.Linear(6, 4), torch.randn(2, 3, 6)
    with torch.no_grad():
        layer.weight[:, ::2] = 0.0
    sparse = study.latency.SparseLinear(layer)
    torch.testing.assert_close(sparse(x), layer(x))
    assert sparse.bytes == 4 * (12 + 12 + 5)


def test_a_cut_model_is_a_copy(study: SimpleNamespace) -> None:
    """The teacher stays as it is, and drawn scores have the shapes of the others."""
    scores = {"heads": [torch.ones(12)] * 6, "neurons": [torch.ones(1536)] * 6}
    drawn = study.smaller.drawn_like(scores, 1)
    assert [len(one) for one in drawn["heads"]] == [12] * 6
    assert not torch.equal(drawn["neurons"][0], study.smaller.drawn_like(scores, 2)["neurons"][0])


def test_pairs_name_what_the_runs_make(study: SimpleNamespace) -> None:
    """Of each pair both are there, and hits become paired differences over films."""
    names = {name for pair in study.main.PAIRS for name in pair} | {"teacher"}
    n = len(study.main.films_of("test"))
    runs = [{name: ("1" * n if name == "teacher" else "01" * (n // 2)) for name in names}] * 2
    found = study.main.results(runs)
    assert found["accuracy"]["teacher"]["mean"] == 1.0
    assert found["minus_teacher"]["teacher"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert found["minus_teacher"]["student, labels"]["high"] < -0.4


def test_seconds_are_the_largest_statement(study: SimpleNamespace, tmp_path: Path) -> None:
    """Last sessions, minutes and lists of trainings compete; means and intervals do not count."""
    record = {
        "cpu_seconds": 5, "cpu_minutes_total": 2.0,
        "cpu_seconds_each": {"gpt": {"mean": 999.0, "values": [60.0, 70.0]}, "t5": [30.0]},
    }  # fmt: skip
    (tmp_path / "one.json").write_text(json.dumps(record))
    assert study.seconds.largest(tmp_path / "one.json") == 160.0
    del record["cpu_seconds_each"]
    (tmp_path / "one.json").write_text(json.dumps(record))
    receipts = {"chapters": {"04": {"cpu": 7.5}}}
    (tmp_path / "receipts.json").write_text(json.dumps(receipts))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "none.json").write_text("{}")
    found = study.seconds.add_up(tmp_path, tmp_path / "models")
    assert found["seconds"] == {"studies": 120, "models": 0, "chapters": 8}
    assert found["unstated"] == ["none"]
