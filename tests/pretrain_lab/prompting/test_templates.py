# SPDX-License-Identifier: MIT
"""Prompts: written as they are read, the same in two parts as in one, and drawn without bias."""

from collections import Counter

import pytest
import torch
from torch import Generator

from pretrain_lab.hub.tokenizers import load_published_tokenizer
from pretrain_lab.prompting.templates import (
    Template,
    draw_balanced,
    encode_answers,
    encode_task,
    relabel,
)

REVIEW = Template("Review: {input}\nSentiment:")
SHOWN = [("Dull.", "negative"), ("A {joy}.", "positive")]
POOL = [(f"text {i}", ("bad", "good", "mixed")[i % 3]) for i in range(12)]


def test_a_prompt_by_hand() -> None:
    """Two demonstrations and a question, to the last blank."""
    assert REVIEW.prompt(SHOWN, "Never again.") == (
        "Review: Dull.\nSentiment: negative\n\n"
        "Review: A {joy}.\nSentiment: positive\n\n"
        "Review: Never again.\nSentiment:"
    )
    assert REVIEW.prompt([], "Never again.") == "Review: Never again.\nSentiment:"
    headed = Template("{input} ->", head="Translate.\n", between="\n")
    assert headed.prompt([("un", "one")], "deux") == "Translate.\nun -> one\ndeux ->"


@pytest.mark.parametrize("question", ["Review:", "{input} and {input}"])
def test_a_template_needs_one_place(question: str) -> None:
    """None and two are refused."""
    with pytest.raises(ValueError, match=r"expected one \{input\}"):
        Template(question).ask("text")


@pytest.mark.parametrize("between", ["\n\n", "\n"])
@pytest.mark.parametrize("n_shown", [0, 1, 2])
def test_two_parts_are_the_whole(n_shown: int, between: str) -> None:
    """The published tokeniser gives the same ids, whether it sees the prompt in parts or whole.

    Otherwise a cached prefix would ask another question than the prompt on the page.
    """
    tokenizer = load_published_tokenizer("smollm2")
    template = Template(REVIEW.question, between=between)

    def encode(text: str) -> list[int]:
        """Give ids as a list."""
        ids: list[int] = tokenizer.encode(text).tolist()
        return ids

    shared, (question,) = encode_task(template, SHOWN[:n_shown], ["Never again."], encode)
    (answer,) = encode_answers(template, ["positive"], encode)
    assert bool(shared) == bool(n_shown)
    whole = template.prompt(SHOWN[:n_shown], "Never again.") + " positive"
    assert shared + question + answer == encode(whole)


@pytest.mark.parametrize("k", range(8))
def test_draws_are_balanced_and_nested(k: int) -> None:
    """Counts differ by one at most, nothing stands twice, and more examples keep the first ones."""
    drawn = draw_balanced(POOL, k, generator=Generator().manual_seed(3))
    assert len(set(drawn)) == len(drawn) == k
    assert set(drawn) <= set(POOL)
    counts = Counter(answer for _, answer in drawn)
    assert max(counts.values(), default=0) - min(counts[a] for a in ("bad", "good", "mixed")) <= 1
    longer = draw_balanced(POOL, 8, generator=Generator().manual_seed(3))
    assert k % 3 or longer[:k] == draw_balanced(POOL, k, generator=Generator().manual_seed(3))


def test_the_first_answer_is_drawn() -> None:
    """One demonstration carries each answer in some draws: no answer is always the first."""
    first = {draw_balanced(POOL, 1, generator=Generator().manual_seed(i))[0][1] for i in range(30)}
    assert first == {"bad", "good", "mixed"}


def test_too_small_a_pool_is_refused() -> None:
    """Thirteen balanced examples need five of each answer, and there are four."""
    with pytest.raises(ValueError, match="expected 5 examples of 'bad', got 4"):
        draw_balanced(POOL, 13, generator=Generator())


def test_other_answers_for_the_same_texts() -> None:
    """True, all wrong, drawn; the texts stay."""
    labels = ("bad", "good", "mixed")
    assert relabel(POOL, labels, "true") == POOL
    following = {"bad": "good", "good": "mixed", "mixed": "bad"}
    assert relabel(POOL, labels, "next") == [(text, following[a]) for text, a in POOL]
    drawn = relabel(POOL * 100, labels, "random", generator=Generator().manual_seed(0))
    assert [text for text, _ in drawn] == [text for text, _ in POOL * 100]
    right = sum(one == other for one, other in zip(drawn, POOL * 100, strict=True))
    assert 335 < right < 465  # a third of 1,200, within four standard deviations
    with pytest.raises(ValueError, match="'random' with a generator"):
        relabel(POOL, labels, "random")
    with pytest.raises(ValueError, match="expected 'true', 'next'"):
        relabel(POOL, labels, "shuffled")


def test_nothing_to_draw_from_is_refused() -> None:
    """Three examples were asked of none, and none came back."""
    for examples, k in (([], 3), ([("a", "b")], -1)):
        with pytest.raises(ValueError, match=f"k >= 0 and examples to draw from, got {k} and"):
            draw_balanced(examples, k, generator=torch.Generator())


def test_labels_must_be_those_of_the_task() -> None:
    """A KeyError named the answer and not the mistake."""
    for labels in ([], ["yes"]):
        with pytest.raises(ValueError, match=r"answers of the task as labels, got .* \['no'\]"):
            relabel([("a", "no")], labels, "next")
