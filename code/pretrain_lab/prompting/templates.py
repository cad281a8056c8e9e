# SPDX-License-Identifier: MIT
"""Prompts: how inputs and answers are written down for a model that is not trained on the task.

Paper: Brown et al. 2020 (arXiv:2005.14165), section 2: zero, one or a few demonstrations stand
before the question, in the same form, and the model continues the text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator

Example = tuple[str, str]
Encode = Callable[[str], list[int]]


@dataclass(frozen=True)
class Template:
    """How an example becomes text.

    Args:
        question: Holds {input}; the answer follows it.
        before: Stands between question and answer. Most tokenisers glue a blank to the word
            behind it, so the blank belongs here and not at the end of the question.
        between: Stands between an answer and the next question.
        head: Stands once, above everything; usually an instruction.
    """

    question: str
    before: str = " "
    between: str = "\n\n"
    head: str = ""

    def ask(self, text: str) -> str:
        """Write the question about one input, without an answer.

        Raises:
            ValueError: The template has no place for an input.
        """
        if self.question.count("{input}") != 1:
            raise ValueError(f"expected one {{input}} in a question, got {self.question!r}")
        return self.question.replace("{input}", text)

    def shared(self, demonstrations: Sequence[Example]) -> str:
        """Write the head and the demonstrations, which stand before every question."""
        shown = [self.ask(text) + self.before + answer for text, answer in demonstrations]
        return self.head + self.between.join(shown)

    def last(self, text: str, n_demonstrations: int) -> str:
        """Write the question itself, with the gap before it if demonstrations stand there."""
        return (self.between if n_demonstrations else "") + self.ask(text)

    def prompt(self, demonstrations: Sequence[Example], text: str) -> str:
        """Write the whole prompt as the model reads it, zero-shot without demonstrations.

        Raises:
            ValueError: As `ask`.
        """
        return self.shared(demonstrations) + self.last(text, len(demonstrations))


def encode_task(
    template: Template,
    demonstrations: Sequence[Example],
    texts: Sequence[str],
    encode: Encode,
) -> tuple[list[int], list[list[int]]]:
    """Encode prompts with the same demonstrations: ids of the shared part, and of each question.

    Raises:
        ValueError: As `Template.ask`.
    """
    shared = template.shared(demonstrations)
    questions = [encode(template.last(text, len(demonstrations))) for text in texts]
    return (encode(shared) if shared else []), questions


def encode_answers(template: Template, answers: Sequence[str], encode: Encode) -> list[list[int]]:
    """Encode answers, for instance label words, with what stands before them."""
    return [encode(template.before + answer) for answer in answers]


def draw_balanced(examples: Sequence[Example], k: int, *, generator: Generator) -> list[Example]:
    """Draw k examples without replacement, as many of each answer as possible.

    They come in rounds that hold each answer once, in random order; the last may be cut short. The
    first j of them are a draw of j examples, so that curves over k can be nested.

    Raises:
        ValueError: The pool is too small, or k < 0.
    """
    answers = sorted({answer for _, answer in examples})
    if k < 0 or (k > 0 and not answers):
        raise ValueError(f"expected k >= 0 and examples to draw from, got {k} and {len(examples)}")
    n_rounds = -(-k // len(answers)) if answers else 0
    groups = []
    for answer in answers:
        pool = [example for example in examples if example[1] == answer]
        if len(pool) < n_rounds:
            raise ValueError(f"expected {n_rounds} examples of {answer!r}, got {len(pool)}")
        groups.append([pool[i] for i in torch.randperm(len(pool), generator=generator)[:n_rounds]])
    drawn: list[Example] = []
    for i in range(n_rounds):
        order = torch.randperm(len(groups), generator=generator).tolist()
        drawn += [groups[g][i] for g in order]
    return drawn[:k]


def relabel(
    demonstrations: Sequence[Example],
    labels: Sequence[str],
    how: str,
    *,
    generator: Generator | None = None,
) -> list[Example]:
    """Give demonstrations other answers and leave their inputs as they are.

    Args:
        demonstrations: Examples with true answers.
        labels: The answers that the task has.
        how: "true" keeps them; "random" draws each one anew; "next" replaces each label by the
            one after it, which for two labels makes all answers wrong.
        generator: Of "random".

    Raises:
        ValueError: Another `how`, "random" without a generator, no labels, or for "next" an
            answer that is none of them.

    Source: Min et al. 2022 (arXiv:2202.12837), section 4.
    """
    if how == "true":
        return list(demonstrations)
    strange = sorted({answer for _, answer in demonstrations} - set(labels))
    if not labels or (how == "next" and strange):
        raise ValueError(f"expected the answers of the task as labels, got {labels} for {strange}")
    if how == "next":
        following = dict(zip(labels, [*labels[1:], labels[0]], strict=True))
        return [(text, following[answer]) for text, answer in demonstrations]
    if how != "random" or generator is None:
        raise ValueError(
            f"expected 'true', 'next', or 'random' with a generator, got {how!r} and {generator}"
        )
    drawn = torch.randint(len(labels), (len(demonstrations),), generator=generator).tolist()
    return [(text, labels[i]) for (text, _), i in zip(demonstrations, drawn, strict=True)]
