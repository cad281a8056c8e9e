# SPDX-License-Identifier: MIT
"""Labelled texts by id: what stands in, the draw, and the named ones from a made-up cache."""

from pathlib import Path

import pytest
from tiny_hub import lay_out, run
from torch import Generator

from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.hub.cache import ONLINE_VARIABLE
from pretrain_lab.hub.datasets import TEXTS, load_texts

IMDB = "stanfordnlp/imdb"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the tester's own."""
    monkeypatch.delenv(ONLINE_VARIABLE, raising=False)


def test_reviews_stand_in_and_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """The texts are review sentences with their labels, of films of their split."""
    train, test = load_texts(IMDB, 30, 20, generator=Generator().manual_seed(0))
    assert (len(train.texts), len(test.labels)) == (30, 20)
    for part, split in ((train, "train"), (test, "test")):
        known = {(review.sentence, review.label) for review in load_reviews(split)}
        assert set(zip(part.texts, part.labels, strict=True)) <= known
    assert capsys.readouterr().out == f"the book's film-review sentences stand in for {IMDB}\n"


def test_the_generator_decides_the_draw() -> None:
    """Same seed, same texts; another seed, others; none twice."""
    drawn = [
        load_texts(IMDB, 50, 5, generator=Generator().manual_seed(s), report=None)[0].texts
        for s in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 50


def test_the_named_texts_come_from_the_cache(tmp_path: Path) -> None:
    """Both data sets are read, each with its own column, and SST-2's validation split is unseen."""
    lay_out(tmp_path)
    code = f"""
from torch import Generator
from pretrain_lab.hub.datasets import load_texts
for name in {[*TEXTS]}:
    train, test = load_texts(name, 150, 40, generator=Generator().manual_seed(0))
    print(len(train.texts), sorted(set(test.labels)), train.texts[0].split()[0])
"""
    finished = run(code, tmp_path, HF_HUB_OFFLINE="1")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines() == [
        line for name in TEXTS for line in (name, "150 [0, 1] to")
    ]


def test_bad_requests_are_refused() -> None:
    """An unknown id, and more texts than there are."""
    with pytest.raises(ValueError, match=r"expected an id from .* got 'imdb'"):
        load_texts("imdb", 1, 1, generator=Generator())
    with pytest.raises(ValueError, match=r"expected at most [0-9]+ texts, got 1000000"):
        load_texts(IMDB, 1_000_000, 1, generator=Generator(), report=None)
