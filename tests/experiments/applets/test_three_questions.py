# SPDX-License-Identifier: MIT
"""The line of the first page follows its rule, and the stored answers are those of the models."""

import json

import pytest
import torch

from experiments.applets import three_questions as study
from experiments.applets.three_questions import Line, Readers
from pretrain_lab.paths import DATA


@pytest.fixture(scope="module")
def readers() -> Readers:
    """The three models of Chapter 7."""
    return study.load_readers()


@pytest.fixture(scope="module")
def stored() -> dict:
    """What the page shows."""
    return json.loads((DATA / "applets" / "three_questions.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def line(readers: Readers, stored: dict) -> Line:
    """The page's line."""
    return study.read_line(stored["text"], readers.tokenizer)


def test_the_line_is_the_easiest_of_its_kind(readers: Readers, stored: dict):
    lines = study.lines_of(study.PLAY, readers.tokenizer)
    assert all(len(line.places) == study.N_WORDS for line in lines)
    assert len(lines) == stored["n_lines"]
    some = [line for i, line in enumerate(lines) if i % 5 == 0 or line.text == stored["text"]]
    found = {line.text: study.n_found(readers, line) for line in some}
    assert found[stored["text"]] == max(found.values()) == stored["n_found"]


def test_first_gaps_are_those_the_models_know_best(readers: Readers, line: Line, stored: dict):
    assert study.start_gaps(readers, line) == stored["start"]
    first, second = stored["start"]["t5"]
    assert second > first + 1


@pytest.mark.parametrize("name", study.PARADIGMS)
def test_stored_answers_are_the_models_own(name: str, readers: Readers, line: Line, stored: dict):
    for key in (" ".join(map(str, stored["start"][name])), "0", "9"):
        hidden = tuple(map(int, key.split()))
        now = [
            study.written(one, readers.tokenizer) for one in study.ask(readers, name, line, hidden)
        ]
        words = [[guess.split()[0] for guess in one.split(", ")[:3]] for one in now]
        kept = stored["answers"][name][key]
        assert words == [[guess.split()[0] for guess in one.split(", ")[:3]] for one in kept]


def test_gpt_sees_nothing_behind_its_gap(readers: Readers, line: Line):
    other = study.read_line("I have thee not, but what am I to you?", readers.tokenizer)
    (one,), (two,) = (study.ask(readers, "gpt", it, (3,)) for it in (line, other))
    assert torch.allclose(one, two, atol=1e-5)
    (one,), (two,) = (study.ask(readers, "bert", it, (3,)) for it in (line, other))
    assert not torch.allclose(one, two, atol=1e-3)


def test_guesses_are_words_and_shares_add_up(readers: Readers, line: Line):
    (shares,) = study.ask(readers, "bert", line, (4,))
    assert shares.sum().item() == pytest.approx(1)
    kept = [readers.tokenizer.tokens[i] for i in shares.nonzero().flatten().tolist()]
    assert all(token[0] == " " and token[1].isalpha() for token in kept)


def test_hidden_neighbours_are_one_gap_for_t5(readers: Readers, line: Line, stored: dict):
    assert len(study.ask(readers, "t5", line, (7, 8))) == 1
    assert len(study.ask(readers, "t5", line, (3, 4))) == 2, "a comma stands between"
    assert len(stored["answers"]["t5"]["7 8"]) == 1
