# SPDX-License-Identifier: MIT
"""The study of chapter 12: rules that need no training, and what is timed."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pretrain_lab.tasks.subjectivity import FilmText


@pytest.fixture(scope="module")
def study() -> SimpleNamespace:
    """Import the modules beside the script."""
    names = {
        "kinds": "ch12_choosing.tasks", "costs": "ch12_choosing.costs", "arms": "common.memory"
    }  # fmt: skip
    found = {name: import_module(f"experiments.{path}") for name, path in names.items()}
    return SimpleNamespace(**found)


def film_texts(*pairs: tuple[str, int]) -> list[FilmText]:
    """Make texts of one film."""
    return [FilmText(text, label, "film") for text, label in pairs]


def test_list_of_words(study: SimpleNamespace) -> None:
    """A judging word makes a review, whatever stands around it and however it is written."""
    test = film_texts(("A Movie, of sorts.", 0), ("She moves on.", 1), ("It's late, he says.", 1))
    assert study.kinds.ask_list(test) == "110"
    assert study.kinds.ask_list(film_texts(("Nice.", 0), ("A filmed robbery.", 1))) == "01"


def test_rule_by_length(study: SimpleNamespace) -> None:
    """The threshold comes from the training texts, and is applied to the others as it is."""
    train = film_texts(("w " * 30, 1), ("w " * 20, 0), ("w " * 40, 1), ("w " * 12, 0))
    found = study.kinds.ask_length(
        train, film_texts(("w " * 25, 1), ("w " * 15, 0), ("w " * 15, 1))
    )
    assert found == {"threshold": 20, "hits": "110"}


def test_fit_and_ask_chooses_on_validation(
    study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words that tell the kinds apart are learned from the first n texts alone."""
    told, judged = ("he robs a bank", 1), ("a dull film", 0)
    groups: dict[str, Any] = {
        "train": film_texts(told, judged, ("a dull film", 1)),
        "validation": film_texts(told, judged),
        "test": film_texts(("a film", 0), ("he robs", 1), ("a dull robber", 1)),
    }
    monkeypatch.setattr(study.kinds, "texts", lambda split, *_: groups[split])
    draws: list[Any] = [(split, "whole", None, 0) for split in groups]
    found = study.kinds.fit_and_ask("words", 2, draws)
    assert found["hits"] == "110"
    assert found["strength"] == max(study.kinds.STRENGTHS["words"]), "of equals the last"


def test_a_trial_of_the_study(study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of the record is there; the length decides nothing about paired sentences."""
    quick = {"n_labels": (8,), "seeds": (0,), "validation": 4, "test": 10}
    monkeypatch.setattr(study.kinds, "QUICK", quick)
    monkeypatch.setattr(
        study.kinds, "features", lambda *draw: torch.eye(64)[: len(study.kinds.texts(*draw))]
    )
    record = study.kinds.study(
        study.arms.FinishedArms("trial", {}, keep=False), "sentences", quick=True
    )
    assert record["n_test"] == 20
    assert record["length"]["mean"] == 0.5
    gap = record["words_minus_length"][8]
    assert gap["mean"] == pytest.approx(record["accuracy"]["words"][8]["mean"] - 0.5)


def test_what_is_timed(study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way runs; multiples are of the encoder's pass, batches of the encoder's batch."""
    monkeypatch.setattr(study.costs, "SHAPE", {"d_model": 16, "n_layers": 1, "n_heads": 2})
    monkeypatch.setattr(study.costs, "VOCAB_SIZE", 1200)
    found = study.costs.measure(quick=True)["multiples"]
    assert found["encoder"]["median"] == found["encoder, batch"]["median"] == 1
    assert {"decoder, 4", "encoder-decoder, 1", "decoder, 4, no cache", "counted words"} < {*found}
    assert all(0 < f["low"] <= f["median"] <= f["high"] for f in found.values())
