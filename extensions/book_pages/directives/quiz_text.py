# SPDX-License-Identifier: MIT
"""Read quiz questions from a chapter's text; no build is needed.

    ::::{quiz} quiz-gpt-passes
    How many next-character questions does one training pass answer?

    - [ ] One.

      That is writing: each new character waits for the one before it.
    - [x] 63.

      Every position but the last has a known next character.
    - [ ] 64.

      The character after the last one is not known.
    ::::

An item's first paragraph is the option. The rest says why it is right or wrong.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FEWEST, MOST = 3, 5
LETTERS = "ABCDE"
_LABEL = re.compile(r"quiz-[a-z0-9]+(-[a-z0-9]+)+")
_ITEM = re.compile(r"- \[(?P<mark>[ x])\] (?P<text>\S.*)")
_BLOCK = re.compile(
    r"^(?P<fence>:{3,})\{quiz\} *(?P<label>[^\n]*)\n(?P<body>.*?)^(?P=fence)$", re.M | re.S
)


class QuizError(ValueError):
    """A question is not written as it must be; the message says what is wrong."""


class Option(NamedTuple):
    """One answer on offer; lines count from the start of the question's text."""

    text: str
    text_line: int
    why: str
    why_line: int
    is_right: bool


class Quiz(NamedTuple):
    """One question with its options."""

    label: str
    question: str
    options: tuple[Option, ...]

    @property
    def right(self) -> int:
        """The place of the option that is marked."""
        return [option.is_right for option in self.options].index(True)


def parse_quiz(label: str, lines: Sequence[str]) -> Quiz:
    """Read one question with three to five options, one marked as right, from between its fences.

    Raises:
        QuizError: The label or the text breaks a rule; the message names the label.
    """
    starts = [n for n, line in enumerate(lines) if line.startswith("- ")]
    ends = [*starts[1:], len(lines)]
    try:
        if not _LABEL.fullmatch(label):
            raise QuizError("expected a label such as quiz-gpt-passes")
        question = "\n".join(lines[: starts[0] if starts else len(lines)]).strip()
        if not question:
            raise QuizError("no question stands before the options")
        options = tuple(
            _option(letter, lines[a:b], a)
            for letter, a, b in zip(LETTERS + "?" * len(starts), starts, ends, strict=False)
        )
        _check_marks(options)
    except QuizError as error:
        raise QuizError(f"quiz {label}: {error}") from None
    return Quiz(label, question, options)


def quizzes_of(text: str) -> Iterator[Quiz]:
    """Yield the questions of a chapter's twin in their order.

    Raises:
        QuizError: One of them breaks a rule.
    """
    for match in _BLOCK.finditer(text):
        yield parse_quiz(match["label"].strip(), match["body"].splitlines())


def _option(letter: str, lines: Sequence[str], first_line: int) -> Option:
    """Read one item: its mark, its first paragraph and the explanation below."""
    match = _ITEM.fullmatch(lines[0])
    if not match:
        raise QuizError(f"expected '- [ ] text' or '- [x] text', got {lines[0]!r}")
    loose = [line for line in lines[1:] if line.strip() and not line.startswith("  ")]
    if loose:
        raise QuizError(f"option {letter}: indent by two spaces: {loose[0]!r}")
    inside = [match["text"], *(line[2:] for line in lines[1:])]
    end = next((n for n, line in enumerate(inside) if not line.strip()), len(inside))
    text, why = "\n".join(inside[:end]), "\n".join(inside[end:])
    if not why.strip():
        raise QuizError(f"option {letter} has no explanation below a blank line")
    return Option(text, first_line, why, first_line + end, match["mark"] == "x")


def _check_marks(options: Sequence[Option]) -> None:
    """Refuse too few or too many options, and any number of marks but one."""
    if not FEWEST <= len(options) <= MOST:
        raise QuizError(f"expected {FEWEST} to {MOST} options, got {len(options)}")
    n_right = sum(option.is_right for option in options)
    if n_right != 1:
        raise QuizError(f"expected one option marked [x], got {n_right}")
