# SPDX-License-Identifier: MIT
"""The study of chapter 12: rules that need no training, and what is timed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.ch12_choosing import costs, tasks
from experiments.common.arm_cache import ArmCache
from pretrain_lab.tasks.subjectivity import FilmText


def film_texts(*pairs: tuple[str, int]) -> list[FilmText]:
    """Make texts of one film."""
    return [FilmText(text, label, "film") for text, label in pairs]


def test_list_of_words() -> None:
    """A judging word makes a review, whatever stands around it and however it is written."""
    test = film_texts(("A Movie, of sorts.", 0), ("She moves on.", 1), ("It's late, he says.", 1))
    assert tasks.ask_list(test) == "110"
    assert tasks.ask_list(film_texts(("Nice.", 0), ("A filmed robbery.", 1))) == "01"


def test_rule_by_length() -> None:
    """The threshold comes from the training texts, and is applied to the others as it is."""
    train = film_texts(("w " * 30, 1), ("w " * 20, 0), ("w " * 40, 1), ("w " * 12, 0))
    found = tasks.ask_length(train, film_texts(("w " * 25, 1), ("w " * 15, 0), ("w " * 15, 1)))
    assert found == {"threshold": 20, "hits": "110"}


def test_fit_and_ask_chooses_on_validation() -> None:
    """Words that tell the kinds apart are learned from the first n texts alone."""
    told, judged = ("he robs a bank", 1), ("a dull film", 0)
    groups: dict[str, Any] = {
        "train": film_texts(told, judged, ("a dull film", 1)),
        "validation": film_texts(told, judged),
        "test": film_texts(("a film", 0), ("he robs", 1), ("a dull robber", 1)),
    }
    given = [[t.text for t in group] for group in groups.values()]
    labels = [[t.label for t in group] for group in groups.values()]
    found = tasks.fit_and_ask("words", 2, given, labels)
    assert found["hits"] == "110"
    assert found["strength"] == max(tasks.STRENGTHS["words"]), "of equals the last"


def test_a_trial_of_the_study() -> None:
    """Every part of the record is there; the length decides nothing about paired sentences."""
    plan = tasks.Plan({"sentences": (8,)}, (0,), 4, {"sentences": 10}, keep=False)

    def read(kind: str, draw: tasks.Draw) -> Any:
        """Give texts, or the places of the texts for features."""
        texts = tasks.texts(*draw)
        return np.eye(64)[: len(texts)] if kind == "probe" else [found.text for found in texts]

    record = tasks.study(ArmCache("trial", {}, keep=False), "sentences", plan, read)
    assert record["n_test"] == 20
    assert record["length"]["mean"] == 0.5
    gap = record["words_minus_length"][8]
    assert gap["mean"] == pytest.approx(record["accuracy"]["words"][8]["mean"] - 0.5)


def test_what_is_timed() -> None:
    """Each way runs; multiples are of the encoder's pass, batches of the encoder's batch."""
    plan = replace(costs.Plan.quick(), d_model=16, n_layers=1, n_heads=2, vocab_size=1200)
    found = costs.measure(plan)["multiples"]
    assert found["encoder"]["median"] == found["encoder, batch"]["median"] == 1
    assert {"decoder, 4", "encoder-decoder, 1", "decoder, 4, no cache", "counted words"} < {*found}
    assert all(0 < f["low"] <= f["median"] <= f["high"] for f in found.values())
