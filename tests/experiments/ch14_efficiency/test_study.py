# SPDX-License-Identifier: MIT
"""The study of chapter 14: marks, words, sparse layers, pronouns, and the sum of seconds."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Generator, nn

from experiments.book_models import cpu_seconds
from experiments.ch08_labels.data import Sentences
from experiments.ch14_efficiency import __main__ as study
from experiments.ch14_efficiency import latency, smaller_models
from experiments.ch14_efficiency.smaller_models import Plan
from pretrain_lab.corpora.loading import Review


class Marked(nn.Module):
    """A classifier that gives every text the same logits."""

    def __init__(self, logits: list[float]) -> None:
        """Keep the logits."""
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, ids: Any, mask: Any = None) -> Any:
        """Give them for each text."""
        return self.logits.expand(len(ids), -1)


class Few(Sentences):
    """Eight sentences, drawn in their order."""

    def of(self, split: str) -> tuple[Review, ...]:
        """Give them."""
        return (Review("good film", 1, "a"), Review("bad film", 0, "b")) * 4

    def subset(self, n: int, seed: int) -> list[int]:
        """Take the first ones."""
        return list(range(n))

    def encoded(self, split: str, reader: str) -> list[torch.Tensor]:
        """Give texts of different lengths."""
        return [torch.arange(3 + i) for i in range(4)]


PLAN = Plan(sentences=Few())


def test_marks_are_repeated_at_the_lowest_loss() -> None:
    """The teacher's own logits have no slope; those of the labels have."""
    marks = torch.tensor([[0.4, 1.0]]).expand(4, -1)
    for logits, still in (([0.4, 1.0], True), ([-3.0, 3.0], False)):
        model = Marked(logits)
        smaller_models.marked_loss(PLAN, marks, 0)(model, Generator().manual_seed(0)).backward()
        assert model.logits.grad is not None
        assert bool(model.logits.grad.abs().max() < 1e-6) == still


def test_words_learn_from_probabilities() -> None:
    """A sure teacher who contradicts the labels is followed, not the labels."""
    marks = torch.tensor([[9.0, 0.0], [0.0, 9.0]]).repeat(4, 1)
    assert smaller_models.words_on(PLAN, 8, 0) == "1" * 8
    assert smaller_models.words_on(PLAN, 8, 0, marks) == "0" * 8


def test_sparse_layers_give_the_same() -> None:
    """Only the format differs; bytes count values and places."""
    torch.manual_seed(0)
    layer, x = nn.Linear(6, 4), torch.randn(2, 3, 6)
    with torch.no_grad():
        layer.weight[:, ::2] = 0.0
    sparse = latency.SparseLinear(layer)
    torch.testing.assert_close(sparse(x), layer(x))
    assert sparse.bytes == 4 * (12 + 12 + 5)


def test_a_cut_model_is_a_copy() -> None:
    """The teacher stays as it is, and drawn scores have the shapes of the others."""
    scores = {"heads": [torch.ones(12)] * 6, "neurons": [torch.ones(1536)] * 6}
    drawn = smaller_models.drawn_like(scores, 1)
    assert [len(one) for one in drawn["heads"]] == [12] * 6
    assert not torch.equal(drawn["neurons"][0], smaller_models.drawn_like(scores, 2)["neurons"][0])


def test_pairs_name_what_the_runs_make() -> None:
    """Of each pair both are there, and hits become paired differences over films."""
    names = {name for pair in study.PAIRS for name in pair} | {"teacher"}
    films = Plan().sentences.films("test")
    n = len(films)
    runs = [{name: ("1" * n if name == "teacher" else "01" * (n // 2)) for name in names}] * 2
    found = study.results(runs, films)
    assert found["accuracy"]["teacher"]["mean"] == 1.0
    assert found["minus_teacher"]["teacher"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert found["minus_teacher"]["student, labels"]["high"] < -0.4


def test_seconds_are_the_largest_statement(tmp_path: Path) -> None:
    """Last sessions, minutes and lists of trainings compete; means and intervals do not count."""
    record = {
        "cpu_seconds": 5, "cpu_minutes_total": 2.0,
        "cpu_seconds_each": {"gpt": {"mean": 999.0, "values": [60.0, 70.0]}, "t5": [30.0]},
    }  # fmt: skip
    (tmp_path / "one.json").write_text(json.dumps(record))
    assert cpu_seconds.largest(tmp_path / "one.json") == 160.0
    del record["cpu_seconds_each"]
    (tmp_path / "one.json").write_text(json.dumps(record))
    receipts = {"chapters": {"04": {"cpu": 7.5}}}
    (tmp_path / "receipts.json").write_text(json.dumps(receipts))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "none.json").write_text("{}")
    found = cpu_seconds.add_up(tmp_path, tmp_path / "models")
    assert found["seconds"] == {"studies": 120, "models": 0, "chapters": 8}
    assert found["unstated"] == ["none"]
