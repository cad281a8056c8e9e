# SPDX-License-Identifier: MIT
"""The study of chapter 15: pieces of plays, vectors, counted words, joined ranks."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from experiments.ch15_your_own import __main__ as study
from experiments.ch15_your_own.search import bm25, cut_play, embed, fused, rank_of
from pretrain_lab.corpora.cleaning import Speech
from pretrain_lab.corpora.loading import Play

TEXTS = ["the cat sat down", "the dog sat down", "the cat and the cat", "a handkerchief is lost"]


def play(*texts: str) -> Play:
    """Make a play of speeches."""
    speeches = tuple(Speech("A", text) for text in texts)
    return Play("Title", "slug", "comedy", "\n".join(texts), speeches)


class Letters:
    """A sentence encoder whose states are counts of letters; padding has states of its own."""

    config = SimpleNamespace(hidden_size=26)

    def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        """Give the states."""
        states = torch.nn.functional.one_hot(input_ids, 27)[..., 1:].float()
        states[attention_mask == 0] = 100
        return SimpleNamespace(last_hidden_state=states)


def tokenize(texts: list[str], padding: bool, return_tensors: str) -> dict[str, torch.Tensor]:
    """Number letters from 1, and pad with 0."""
    rows = [[ord(c) - 96 for c in text.lower() if "a" <= c <= "z"] for text in texts]
    longest = max(map(len, rows))
    mask = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
    ids = [row + [0] * (longest - len(row)) for row in rows]
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


def test_pieces_end_at_punctuation_and_stand_once() -> None:
    """Lines of verse are joined; short pieces and repetitions go."""
    made = play("If music be\nthe food of love; play on.", "Yes. If music be the food of love;")
    assert cut_play(made) == ["If music be the food of love;"]


def test_vectors_have_length_one_whatever_the_padding() -> None:
    """A text gets the same vector alone and beside a longer one, and in its own place."""
    together = embed(TEXTS, Letters(), tokenize, batch_size=2)
    alone = np.concatenate([embed([text], Letters(), tokenize) for text in TEXTS])
    assert np.allclose(together, alone)
    assert np.allclose(np.linalg.norm(together, axis=1), 1)


def test_bm25_by_hand() -> None:
    """One rare word in a text of mean length: its rarity alone; unknown words count nothing."""
    scores = bm25(["one two", "one three", "one four"])
    assert scores("three") == pytest.approx([0, np.log(1 + 2.5 / 1.5), 0])
    assert (scores("five") == 0).all()
    assert scores("one").max() < scores("three").max()


def test_bm25_counts_a_repetition_less_than_twice() -> None:
    """The second cat adds less than the first."""
    once, _, twice, _ = bm25(TEXTS)("cat")
    assert once < twice < 2 * once


def test_ranks_are_fused() -> None:
    """First and third place against second and first."""
    scores = fused(lambda _: np.array([9.0, 5, 4]), lambda _: np.array([1.0, 7, 3]))("")
    assert scores == pytest.approx([1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62])


def test_ties_count_against_the_right_text() -> None:
    """A score that all share is the last place."""
    assert rank_of(np.array([1.0, 3, 2]), [2]) == 2
    assert rank_of(np.array([1.0, 1, 1]), [0]) == 3
    assert rank_of(np.array([5.0, 1, 4]), [1, 0]) == 1


def test_the_study_ranks_each_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of queries, three ways, and the free ones."""
    monkeypatch.setattr(study, "load_minilm", lambda: (Letters(), tokenize))
    pieces = [("Play", text) for text in TEXTS]
    query = {"play": "p", "find": "handkerchief", "paraphrase": "a hanky", "words": "handkerchief"}
    record = study.study(pieces, [query])
    assert record["n_pieces"] == 4
    assert record["ranks"]["words"] == {"MiniLM": [1], "BM25": [1], "both": [1]}
    assert record["ranks"]["paraphrase"]["BM25"] == [1], "the word a is shared"
    assert set(record["free"]) == set(study.FREE)


def test_lines_without_a_score_are_no_answers() -> None:
    """At most three, the best first, and none at 0."""
    pieces = [("Play", text) for text in TEXTS]
    assert study.best(np.array([0.0, 2, 1, 0]), pieces) == [
        ["Play", "the dog sat down"], ["Play", "the cat and the cat"]
    ]  # fmt: skip
