# SPDX-License-Identifier: MIT
"""Prompts: how inputs and answers are written down for a model that is not trained on the task.

Paper: Brown et al. 2020 (arXiv:2005.14165), section 2: zero, one or a few demonstrations stand
before the question, in the same form, and the model continues the text.

Implemented: templates, prompts of k demonstrations, their ids in two parts (what all questions
share, and the question), balanced draws, shuffled and flipped answers. Left out: searching for
good templates or demonstrations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator

Example = tuple[str, str]
"""An input and its answer, as they are written."""
Encode = Callable[[str], list[int]]
"""A tokeniser's way from a text to ids."""


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
        """Write the question about one input.

        Args:
            text: The input.

        Returns:
            The question, without an answer.

        Raises:
            ValueError: The template has no place for an input.
        """
        if self.question.count("{input}") != 1:
            raise ValueError(f"expected one {{input}} in a question, got {self.question!r}")
        return self.question.replace("{input}", text)

    def shared(self, demonstrations: Sequence[Example]) -> str:
        """Write what stands before every question: the head, and the demonstrations.

        Args:
            demonstrations: Examples with their answers, in order.

        Returns:
            The text; it ends with the last answer. Empty without head and demonstrations.
        """
        shown = [self.ask(text) + self.before + answer for text, answer in demonstrations]
        return self.head + self.between.join(shown)

    def last(self, text: str, n_demonstrations: int) -> str:
        """Write the question itself, with the gap before it if demonstrations stand there.

        Args:
            text: The input that is asked about.
            n_demonstrations: How many examples stand before it.
        """
        return (self.between if n_demonstrations else "") + self.ask(text)

    def prompt(self, demonstrations: Sequence[Example], text: str) -> str:
        """Write the whole prompt, as the model reads it.

        Args:
            demonstrations: Examples with their answers, in order; none = zero-shot.
            text: The input that is asked about.

        Returns:
            The prompt; the model's next words are its answer.

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
    """Turn prompts with the same demonstrations into ids: the shared part once, then each question.

    Args:
        template: How examples are written.
        demonstrations: Examples that stand before every question.
        texts: Inputs that are asked about.
        encode: The tokeniser.

    Returns:
        Ids of the shared part, empty if there is none, and ids of each question.

    Raises:
        ValueError: As `Template.ask`.
    """
    shared = template.shared(demonstrations)
    questions = [encode(template.last(text, len(demonstrations))) for text in texts]
    return (encode(shared) if shared else []), questions


def encode_answers(template: Template, answers: Sequence[str], encode: Encode) -> list[list[int]]:
    """Turn answers into ids, with what stands before them.

    Args:
        template: How examples are written.
        answers: For instance label words.
        encode: The tokeniser.

    Returns:
        Ids of each answer, at least one.
    """
    return [encode(template.before + answer) for answer in answers]


def draw_balanced(examples: Sequence[Example], k: int, *, generator: Generator) -> list[Example]:
    """Draw k examples, as many of each answer as possible, in random order within each round.

    The first j of them are a draw of j examples, so that curves over k can be nested.

    Args:
        examples: Pool to draw from without replacement.
        k: How many.
        generator: Of the examples and of their order.

    Returns:
        k examples; every round holds each answer once, the last round may be cut short.

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

    Returns:
        The same inputs with the answers asked for.

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
