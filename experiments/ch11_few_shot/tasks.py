# SPDX-License-Identifier: MIT
"""Tasks and subjects of the in-context study: what is asked, in which words, and who answers.

Reviews: sentences about test films are asked, demonstrations come from training films; both are
half positive. Word pairs: our own list, data/word_pairs.toml; the demonstrations of a draw are
left out of its test. Arithmetic: drawn by a seed; no sum stands twice.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import Review, load_reviews
from pretrain_lab.hub.models import load_smollm2
from pretrain_lab.paths import data_file
from pretrain_lab.prompting.answer_scoring import (
    PlainReader,
    PrefixCachedModel,
    Reader,
    is_word_continuation,
)
from pretrain_lab.prompting.templates import Encode, Example, Template, draw_balanced

LABELS = ("negative", "positive")
CONTENT_FREE = ("N/A", "", "[MASK]")  # the three of Zhao et al. 2021
REVIEW = Template("Review: {input}\nSentiment:")
WORDINGS = {
    "sentiment": REVIEW,
    "instruction": Template(
        REVIEW.question, head="Say of each film review whether it is negative or positive.\n\n"
    ),
    "question": Template("{input}\nQuestion: Is this review negative or positive?\nAnswer:"),
    "critic": Template('A critic wrote: "{input}" This verdict on the film is'),
    "chat": Template(
        "<|im_start|>user\nIs this film review negative or positive? {input}<|im_end|>\n"
        "<|im_start|>assistant\n",
        before="",
        between="<|im_end|>\n",
    ),
}
LABEL_WORDS = {
    "negative / positive": LABELS,
    "bad / good": ("bad", "good"),
    "rotten / fresh": ("rotten", "fresh"),
    "thumbs down / thumbs up": ("thumbs down", "thumbs up"),
    "foo / bar": ("foo", "bar"),
    "positive / negative (swapped)": ("positive", "negative"),
}
BARE = Template("{input}:", between="\n")
NAMED = {
    "opposites": Template("Word: {input}\nOpposite:"),
    "plurals": Template("Singular: {input}\nPlural:"),
    "past-tense": Template("Present: {input}\nPast:"),
}
SUM = Template("{input} =", between="\n")


@dataclass(frozen=True)
class Subject:
    """Who answers: a tokeniser, a way to make readers, and which tokens continue a word.

    `read` makes a reader that has read a prefix of ids; `goes_on` is bool (V,).
    """

    name: str
    encode: Encode
    decode: Callable[[list[int]], str]
    read: Callable[[Sequence[int]], Reader]
    goes_on: Tensor


class Item(NamedTuple):
    """A question with all answers that count as right."""

    text: str
    accepted: tuple[str, ...]


@cache
def decoder() -> Subject:
    """Load the published decoder."""
    model, tokenizer = load_smollm2()
    texts = tokenizer.batch_decode([[i] for i in range(model.config.vocab_size)])
    return Subject(
        "SmolLM2-135M-Instruct",
        lambda text: list(tokenizer.encode(text)),
        tokenizer.decode,
        lambda prefix: PrefixCachedModel(model, prefix),
        is_word_continuation(texts),
    )


@cache
def own_gpt(name: str) -> Subject:
    """Load one of our GPTs from data/checkpoints; characters outside its vocabulary are dropped."""
    model, tokenizer = load_model(name)
    texts = [tokenizer.decode([i]) for i in range(tokenizer.vocab_size)]
    known = {text for text in texts if len(text) == 1}

    def encode(text: str) -> list[int]:
        """Write the known characters of a text as ids."""
        ids: list[int] = tokenizer.encode("".join(c for c in text if c in known)).tolist()
        return ids

    return Subject(
        name,
        encode,
        tokenizer.decode,
        lambda prefix: PlainReader(model, prefix),
        is_word_continuation(texts),
    )


def balanced_reviews(reviews: Sequence[Review], n: int, *, seed: int) -> list[Review]:
    """Draw n reviews without replacement, half of them positive, in random order."""
    generator = torch.Generator().manual_seed(seed)
    drawn: list[Review] = []
    for label in (0, 1):
        group = [review for review in reviews if review.label == label]
        drawn += [group[i] for i in torch.randperm(len(group), generator=generator)[: n // 2]]
    return [drawn[i] for i in torch.randperm(len(drawn), generator=generator)]


def review_demonstrations(k: int, draw: int, labels: Sequence[str] = LABELS) -> list[Example]:
    """Draw k reviews of training films with their labels; draws of one seed are nested."""
    pool = [(review.sentence, str(review.label)) for review in load_reviews("train")]
    chosen = draw_balanced(pool, 8, generator=Generator().manual_seed(draw))[:k]
    return [(text, labels[int(label)]) for text, label in chosen]


@cache
def word_items(task: str) -> tuple[Item, ...]:
    """Read the pairs of a table of data/word_pairs.toml; answers may start with a capital."""
    table: dict[str, Any] = tomllib.loads(data_file("word_pairs.toml").read_text())[task]
    return tuple(
        Item(word, (*answers, *(answer.capitalize() for answer in answers)))
        for word, answers in table.items()
    )


@cache
def sum_items(task: str, n: int = 108) -> tuple[Item, ...]:
    """Draw n different sums or differences, as far as there are so many.

    `task` is "one-digit sums", "two-digit sums" or "two-digit differences" (none negative).
    """
    low, high = (1, 10) if task.startswith("one") else (10, 100)
    minus = task.endswith("differences")
    pairs = [(a, b) for a in range(low, high) for b in range(low, high) if a >= b or not minus]
    order = torch.randperm(len(pairs), generator=Generator().manual_seed(0))[:n].tolist()
    sign = "-" if minus else "+"
    return tuple(
        Item(f"{a} {sign} {b}", (str(a - b if minus else a + b),))
        for a, b in (pairs[i] for i in order)
    )


SUMS = ("one-digit sums", "two-digit sums", "two-digit differences")


def split_items(items: Sequence[Item], draw: int) -> tuple[list[Example], list[int]]:
    """Draw eight demonstrations with their first answers; also list the places of the others."""
    order = torch.randperm(len(items), generator=Generator().manual_seed(100 + draw)).tolist()
    return [(items[i].text, items[i].accepted[0]) for i in order[:8]], sorted(order[8:])
