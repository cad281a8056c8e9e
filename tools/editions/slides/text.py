# SPDX-License-Identifier: MIT
"""Read a deck's description, ``slides/*.md``.

# BERT and GPT                       the deck; the paragraph below is its subtitle
## The problem                       a part
### One label, or many               a slide: Markdown, $formulas$, and what chapters store:
GPT gains {04_gpt:below_kn5}.        a number that a chapter reports
@figure fig-gpt-tasks                also @equation, by its label
@table tab-gpt-versions 5            the first rows of a table
@code 04_gpt def causal_mask         code and output, found by words of their cell
@output 04_gpt best = probs.topk(5)  before the words, a number limits the rows
@question Why?                       and, on the next line, its answer
@answer Because.
Notes: What the speaker says, to the end of the slide.
"""

import re
from pathlib import Path
from typing import NamedTuple

from tools.chapters.store import ChapterError

SHOWN = ("figure", "equation", "table", "code", "output", "question", "answer")
VALUE = re.compile(r"\{(?P<chapter>\d\d_\w+):(?P<key>[\w-]+)\}")
_COMMAND = re.compile(r"^@(?P<kind>\w+) (?P<text>.+)$")
_TYPED = re.compile(r"\d+\.\d+|\d+(?:\.\d+)? ?%")  # what looks like a result


class Block(NamedTuple):
    """A piece of a slide: its kind, ``text`` or one of SHOWN, and its words."""

    kind: str
    text: str


class Slide(NamedTuple):
    """One slide."""

    title: str
    blocks: tuple[Block, ...]
    notes: str


class Part(NamedTuple):
    """A part of a lecture with its slides."""

    title: str
    slides: tuple[Slide, ...]

    @property
    def questions(self) -> list[str]:
        """The questions that the part asks."""
        blocks = [block for slide in self.slides for block in slide.blocks]
        return [block.text for block in blocks if block.kind == "question"]


class Deck(NamedTuple):
    """A lecture."""

    title: str
    subtitle: str
    parts: tuple[Part, ...]


def read_deck(path: Path) -> Deck:
    """Read a deck's description.

    Raises:
        ChapterError: The file has no title, an unknown command, or a part with fewer than two
            questions.
    """
    head, *rest = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)
    match = re.match(r"# (.+)\n+((?:.+\n)*)", head)
    if not match:
        raise ChapterError(f"{path.name} must begin with '# Title' and a subtitle")
    try:
        parts = tuple(_read_part(text) for text in rest)
    except ChapterError as error:
        raise ChapterError(f"{path.name}: {error}") from None
    return Deck(match[1], " ".join(match[2].split()), parts)


def typed_results(deck: Deck) -> list[str]:
    """List numbers in the slides' own words that look like results, which chapters must supply.

    Formulas, code and stored values are not counted.
    """
    found = []
    for slide in (slide for part in deck.parts for slide in part.slides):
        own = [b.text for b in slide.blocks if b.kind in ("text", "question", "answer")]
        for text in (*own, slide.notes, slide.title):
            bare = re.sub(r"\$[^$]+\$|`[^`]+`", "", VALUE.sub("", text))
            found += _TYPED.findall(bare)
    return found


def _read_part(text: str) -> Part:
    """Read one part: its title, then its slides."""
    title, *slides = re.split(r"^### ", text, flags=re.M)
    part = Part(title.strip(), tuple(_read_slide(slide) for slide in slides))
    if len(part.questions) < 2:
        raise ChapterError(f"part {part.title!r} asks fewer than two questions")
    return part


def _read_slide(text: str) -> Slide:
    """Read one slide: its title, its blocks and the speaker's notes."""
    title, _, body = text.partition("\n")
    body, _, notes = body.partition("\nNotes:")
    blocks: list[Block] = []
    for line in body.split("\n"):
        match = _COMMAND.match(line)
        if match and match["kind"] not in SHOWN:
            raise ChapterError(f"unknown @{match['kind']}; there are: {', '.join(SHOWN)}")
        if match:
            blocks.append(Block(match["kind"], match["text"].strip()))
        elif blocks and blocks[-1].kind == "text":
            blocks[-1] = Block("text", f"{blocks[-1].text}\n{line}")
        elif line.strip():
            blocks.append(Block("text", line))
    return Slide(title.strip(), tuple(blocks), " ".join(notes.split()))
