# SPDX-License-Identifier: MIT
"""The questions of the games in the pages: sentences with a hidden word, lines to be continued.

Sentences, hidden words and lines are drawn from the test plays with a fixed seed, before any model
is asked. The sentences of ours were written before a model was asked, too. What the exercises of
Chapter 1 ask is left out.

Run `python -m experiments.applets.questions` to see them; `games` asks the models.
"""

import re
from typing import Any, NamedTuple

import torch
from torch import Generator

from experiments.book_models.word_models import VOCABULARY
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

SEED = 61
SENTENCE_WORDS = (6, 12)
LINE_LENGTH = (36, 46)
SHOWN = 10  # characters of a line that the reader is given, at least; the word is given whole
OURS: tuple[tuple[str, str], ...] = (
    ("The first hour is slow, but the second is ___ of surprises.", "full"),
    ("It is based on a true ___.", "story"),
    ("We left the cinema before the ___ of the film.", "end"),
    ("She plays a mother who has lost her only ___.", "son"),
    ("He ran to the window, opened it and looked ___.", "out"),
    ("The bread was still warm when we sat down to ___.", "eat"),
)
"""Sentences of our own, and the word that we had in mind."""
TAKEN = ("good morrow", "is this a dagger", "quality of mercy", "lend me your", "foul and fair")
"""What the exercises of Chapter 1 ask already."""


class Question(NamedTuple):
    """A sentence around a hidden word."""

    left: str
    word: str
    right: str
    source: str  # title of the play, or "ours"


def one_of(candidates: list[Any], generator: Generator) -> Any:
    """Draw one of a list."""
    return candidates[int(torch.randint(len(candidates), (), generator=generator))]


def sentences_of(text: str) -> list[str]:
    """List what may be asked of a speech, neither short nor long.

    These are parts of one line that begin with a sentence or with the line, and end with a
    sentence.
    """
    found = re.findall(r"(?:^|(?<=[.!?] ))[A-Z][^.!?\n]*[.!?](?= |$)", text, flags=re.MULTILINE)
    low, high = SENTENCE_WORDS
    free = [one for one in found if not any(taken in one.lower() for taken in TAKEN)]
    return [one for one in free if low <= len(one.split()) <= high]


def hidden_words(sentence: str, tokenizer: SubwordTokenizer) -> list[tuple[int, int]]:
    """Find the words that may be hidden: three lower-case letters or more, and one token.

    Returns first and last character (exclusive) of each.
    """
    words = re.finditer(r"(?<![A-Za-z'])[a-z]{3,}(?![A-Za-z'])", sentence)
    return [word.span() for word in words if len(tokenizer.encode(word.group())) == 1]


def draw_questions(tokenizer: SubwordTokenizer) -> list[Question]:
    """Draw one sentence of each test play and a word of it, and put ours between them."""
    generator = torch.Generator().manual_seed(SEED)
    questions = []
    for play, (ours, word) in zip(load_shakespeare("test"), OURS, strict=True):
        if len(tokenizer.encode(word)) != 1:
            raise ValueError(f"expected a word of one token for {ours!r}, got {word!r}")
        left, right = ours.split("___")
        questions.append(Question(left, word, right, "ours"))
        texts = [one for speech in play.speeches for one in sentences_of(speech.text)]
        drawn = one_of([one for one in texts if hidden_words(one, tokenizer)], generator)
        start, end = one_of(hidden_words(drawn, tokenizer), generator)
        questions.append(Question(drawn[:start], drawn[start:end], drawn[end:], play.title))
    return questions


def draw_lines() -> list[dict[str, str]]:
    """Draw from each test play a speech whose second line is to be continued."""
    generator = torch.Generator().manual_seed(SEED + 1)
    low, high = LINE_LENGTH
    drawn = []
    for play in load_shakespeare("test"):
        speeches = []
        for speech in play.speeches:
            first, *rest = speech.text.split("\n")
            free = not any(taken in speech.text.lower() for taken in TAKEN)
            if free and rest and len(first) >= low and low <= len(rest[0]) <= high:
                speeches.append((speech.speaker, first, rest[0]))
        speaker, before, line = one_of(speeches, generator)
        cut = line.index(" ", SHOWN) + 1
        drawn.append({
            "source": play.title, "context": f"\n\n{speaker}:\n{before}\n",
            "start": line[:cut], "rest": line[cut:],
        })  # fmt: skip
    return drawn


if __name__ == "__main__":
    for asked in [*draw_questions(load_tokenizer(VOCABULARY)), *draw_lines()]:
        print(asked)
