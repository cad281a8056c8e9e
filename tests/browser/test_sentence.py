# SPDX-License-Identifier: MIT
"""A sentence is cut into words, marks survive its edits, and nothing that is typed vanishes."""

import pytest
from workshop import Workshop

from pretrain_lab.checkpoints import load_model

PARTS = """async ([file, text, options]) => {
  const { tokenizer } = await load(file);
  return (await import("/engine/sentence.mjs")).partsOf(tokenizer, text, options);
}"""
TEXT = "I'll not speak, naïve 😀 Hamlet; 3 unknowables!"


def parts_of(workshop: Workshop, name: str, text: str, *, by_word: bool, most: int = 60) -> list:
    options = {"byWord": by_word, "most": most}
    return workshop.run(PARTS, [f"half/{name}.safetensors", text, options])


@pytest.mark.parametrize("name", ["bert_words", "contest_gpt", "t5_subwords", "gpt_chars"])
@pytest.mark.parametrize("by_word", [True, False])
def test_every_character_stands_in_one_part(workshop: Workshop, name: str, by_word: bool):
    parts = parts_of(workshop, name, TEXT, by_word=by_word)
    end = 0
    for part in parts:
        assert TEXT[end : part["start"]].strip() == "" or "😀" in TEXT[:end]
        end = part["end"]
    assert "".join(part["text"] for part in parts).replace(" ", "") == TEXT.replace(" ", "")
    assert [part for part in parts if part["isUnread"]] == [p for p in parts if not p["ids"]]
    assert any("😀" in part["text"] for part in parts if part["isUnread"])


@pytest.mark.parametrize("name", ["t5_subwords", "bert_words", "gpt_chars"])
@pytest.mark.parametrize("by_word", [True, False])
def test_a_joined_emoji_is_one_part(workshop: Workshop, name: str, by_word: bool):
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    parts = parts_of(workshop, name, f"my {family} lord", by_word=by_word)
    (emoji,) = [part for part in parts if part["isUnread"]]
    assert emoji["text"].strip() == family
    assert emoji["ids"] == []


def test_pieces_of_a_word_stay_together(workshop: Workshop):
    parts = parts_of(workshop, "contest_gpt", "I'll see unknowables, sir.", by_word=True)
    words = ["I'll", "see", "unknowables", ",", "sir", "."]
    assert [part["text"].strip() for part in parts] == words
    assert len(parts[2]["ids"]) > 1


def test_what_does_not_fit_is_there_but_unread(workshop: Workshop):
    parts = parts_of(workshop, "bert_words", "king " * 9, by_word=True, most=5)
    assert [part["isUnread"] for part in parts] == [False] * 5 + [True] * 4


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("my lord", "my lord", {3, 4}),
        ("my lord", "o my lord", {5, 6}),
        ("my lord", "my good lord", {8, 9}),
        ("my lord", "my lord, go", {3, 4}),
        ("my lord", "my lxord", {3, 5}),
        ("my lord", "", set()),
        ("my lord", "xx", set()),
    ],
)
def test_marks_move_with_their_letters(workshop: Workshop, before: str, after: str, kept: set[int]):
    script = """async ([marks, before, after]) => {
      const { movedMarks } = await import("/engine/sentence.mjs");
      return [...movedMarks(new Set(marks), before, after)];
    }"""
    assert set(workshop.run(script, [[3, 4], before, after])) == kept


@pytest.mark.parametrize("name", ["bert_words", "contest_t5"])
def test_ids_become_text_again(workshop: Workshop, name: str):
    _, tokenizer = load_model(name)
    ids = tokenizer.encode("speak unknowables").tolist()
    script = """async ([file, ids]) => {
      const { tokenizer } = await load(file);
      return [tokenizer.decode(ids), tokenizer.tokens.map((_, id) => tokenizer.isSpecial(id))];
    }"""
    text, is_special = workshop.run(script, [f"half/{name}.safetensors", ids])
    assert text == "speak unknowables"
    marked = {tokenizer.tokens[i] for i, one in enumerate(is_special) if one}
    assert {"[PAD]", "[MASK]", "[UNK]"} <= marked
    assert all(token[0] in "[<" for token in marked)
