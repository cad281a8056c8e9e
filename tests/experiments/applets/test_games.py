# SPDX-License-Identifier: MIT
"""What the games ask and store: drawn by rule, unseen in training, and what the models answer."""

import base64
import json
import math
import re
from typing import Any

import pytest
import torch
from chapter_places import notebook_with

from experiments.applets import questions
from experiments.applets.games import order_of_play
from pretrain.evaluation import cloze_log_probs
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import DATA
from pretrain_lab.tokenizers.subwords import load_tokenizer

GAMES = ("fill_blank", "next_letter", "be_bert")


def game(name: str) -> dict[str, Any]:
    """Read the data of a game."""
    found: dict[str, Any] = json.loads((DATA / "applets" / f"{name}.json").read_text("utf-8"))
    return found


def stored_outputs(marker: str) -> str:
    """Give the plain text that the cell with some words has stored, in the first such chapter."""
    cells = json.loads(notebook_with(marker).read_text("utf-8"))["cells"]
    outputs = next(
        cell["outputs"] for cell in cells
        if cell["cell_type"] == "code" and marker in "".join(cell["source"])
    )  # fmt: skip
    texts = (o.get("text") or o["data"]["text/plain"] for o in outputs)
    return "".join("".join(text) for text in texts)


def letters(text: str) -> str:
    """Drop what lines are broken by."""
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_light_and_says_how_it_was_made(name: str) -> None:
    assert (DATA / "applets" / f"{name}.json").stat().st_size <= 100_000
    assert {"question", "seed", "versions"} <= set(game(name))


def test_what_is_asked_stands_on_one_line_and_ends_a_sentence() -> None:
    speech = (
        "Is this a dagger which I see before me? I have thee not, and yet I see thee still.\n"
        "Go. I see thee yet, in form as palpable\nAs this which now I draw."
    )
    expected = ["I have thee not, and yet I see thee still.", "As this which now I draw."]
    assert questions.sentences_of(speech) == expected


def test_names_short_words_and_pieces_are_not_hidden() -> None:
    sentence = "To Rome my valiant lord prevail'd, ere palpable night."
    spans = questions.hidden_words(sentence, load_tokenizer("book_wordpiece"))
    words = [sentence[start:end] for start, end in spans]
    assert "Rome" not in words
    assert "prevail" not in words
    assert "palpable" not in words  # no piece of the vocabulary
    assert {"lord", "night"} <= set(words)


def test_the_stored_questions_are_those_that_are_drawn() -> None:
    drawn = questions.draw_questions(load_tokenizer("book_wordpiece"))
    stored = [tuple(item[key] for key in drawn[0]._fields) for item in game("fill_blank")["items"]]
    assert stored == sorted(map(tuple, drawn), key=lambda one: one[3] != "ours"), "ours first"
    assert game("next_letter")["lines"] == questions.draw_lines()


def test_no_line_was_read_in_training_or_is_asked_in_an_exercise() -> None:
    plays = {
        split: " ".join(play.text for play in load_shakespeare(split))
        for split in ("train", "test")
    }
    asked = [i["left"] + i["word"] + i["right"] for i in game("fill_blank")["items"]
             if i["source"] != "ours"]  # fmt: skip
    asked += [
        line["context"] + line["start"] + line["rest"] for line in game("next_letter")["lines"]
    ]
    assert len(asked) == 12
    for text in asked:
        assert text in plays["test"]
        assert text.strip() not in plays["train"]
        assert not any(taken in text.lower() for taken in questions.TAKEN)


def test_bert_answers_as_stored() -> None:
    data = game("fill_blank")
    bert, tokenizer = load_model(data["model"])
    words = data["vocabulary"].split()
    ids = [tokenizer.tokens.index(word) for word in words]
    assert data["vocab_size"] == tokenizer.vocab_size
    for item in data["items"]:
        left, word, right = (tokenizer.encode(item[key]) for key in ("left", "word", "right"))
        edges = torch.tensor([tokenizer.cls_id]), torch.tensor([tokenizer.sep_id])
        window = torch.cat([edges[0], left, word, right, edges[1]])[None]
        place = torch.tensor([1 + len(left)])
        found = cloze_log_probs(bert, window, place, mask_id=tokenizer.mask_id)[0]
        bits = -found / math.log(2)
        assert item["bits"]["bert"] == pytest.approx(bits[word].item(), abs=1e-3)
        shares = found.exp().topk(8)
        assert [token for token, _ in item["top"]] == [tokenizer.tokens[i] for i in shares.indices]
        assert [p for _, p in item["top"]] == pytest.approx(shares.values.tolist(), abs=1e-4)
        tenths = torch.tensor(list(base64.b64decode(item["words"])))
        assert (tenths / 10 - bits[ids].clamp(max=25.5)).abs().max() <= 0.0501


def test_be_bert_has_the_blanks_and_the_numbers_of_the_chapter() -> None:
    items = game("be_bert")["items"]
    printed = letters(stored_outputs("enumerate(windows[:8]"))
    rows = stored_outputs("sheet = [").splitlines()[1:]
    assert len(items) == len(rows) - 1 == 8
    for number, (item, row) in enumerate(zip(items, rows, strict=False), start=1):
        shown = f"{number}. {item['left']}▢{item['right']}".replace("\n", "↵")
        assert letters(shown) in printed.replace("␣", "")
        cells = row.split()
        assert cells[:2] == [str(number), item["truth"].replace(" ", "␣")]
        bits = [f"{item['bits'][name]:.1f}" for name in ("unigram", "gpt", "bert")]
        assert cells[3:] == bits


def test_the_page_begins_with_the_gap_where_the_right_side_buys_most() -> None:
    data = game("be_bert")
    assert data["order"] == order_of_play(data["items"])
    worth = [item["bits"]["gpt"] - item["bits"]["bert"] for item in data["items"]]
    assert worth[data["order"][0]] == max(worth) > 1
    assert sorted(data["order"]) == list(range(len(data["items"])))
    made_up = [{"bits": {"gpt": a, "bert": b}} for a, b in ((9, 9), (3, 1), (4, 0))]
    assert order_of_play(made_up) == [2, 0, 1]


def test_the_readers_best_guesses_hold_the_truth_at_its_price() -> None:
    for item in game("be_bert")["items"]:
        for name in ("gpt", "bert"):
            shares = dict(map(tuple, item["top"][name]))
            assert list(shares.values()) == sorted(shares.values(), reverse=True)
            assert shares[item["truth"]] == pytest.approx(2 ** -item["bits"][name], abs=1e-4)


def test_the_frequencies_are_those_of_the_training_plays() -> None:
    data = game("next_letter")
    text = "\n".join(play.text for play in load_shakespeare("train"))
    shares = [2**-bits for bits in data["unigram"]]
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    for character in "e \nZ":
        share = text.count(character) / len(text)
        assert shares[data["characters"].index(character)] == pytest.approx(share, rel=0.03)
