# SPDX-License-Identifier: MIT
"""The sentences of the first game: unseen films, drawn by rule, as many of praise as of blame."""

import json

from experiments.applets.verdicts import N_EACH, draw
from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.paths import DATA


def test_the_sentences_are_drawn_by_rule_from_unseen_films() -> None:
    stored = json.loads((DATA / "applets" / "verdicts.json").read_text(encoding="utf-8"))
    chosen = draw(load_reviews("test"))
    assert [(i["sentence"], i["label"]) for i in stored["items"]] == [
        (one.sentence, one.label) for one in chosen
    ]
    assert sum(one.label for one in chosen) == N_EACH == len(chosen) // 2
    films = {one.film for one in chosen}
    assert len(films) == len(chosen)
    assert not films & {one.film for one in load_reviews("train")}


def test_each_model_gives_a_probability() -> None:
    stored = json.loads((DATA / "applets" / "verdicts.json").read_text(encoding="utf-8"))
    for item in stored["items"]:
        assert set(item["praise"]) == {"published", "random", "counts"}
        assert all(0 <= p <= 1 for p in item["praise"].values())
