# SPDX-License-Identifier: MIT
"""What the first page shows at once: one line, every word hidden, the guesses of three models.

Run `python -m experiments.applets.three_questions`. Writes data/applets/three_questions.json with
the answers of the GPT, the BERT and the T5 of Chapter 7, which read the same plays and cost the
same (`experiments.ch07_worldview.three_objectives`). The page shows them before the models
themselves have come.

**Which line.** None of the three has read *Macbeth*. Of its whole lines of verse in ten words, each
of which is a token of its own, we take the one whose words stand most often among the five
likeliest guesses, over all places and all three models; of equals the first. So the line is an
easy one, and every other word of it can be asked, the hard ones too.

**Which gaps at first.** For GPT and BERT the word inside the line that the model gives the most;
for T5 the two such words that do not touch.

**What is a guess.** A word is hidden, so the shares are those among the tokens that begin a word.
GPT reads what stands to the left; BERT reads one [MASK]; T5 reads a sentinel for each gap, and at
its second gap its own first answer too.
"""

import re
from collections import Counter
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from experiments.applets.games import FOLDER
from experiments.common.records import Clock, write_run
from pretrain.bert import BERT
from pretrain.evaluation import cloze_log_probs, left_log_probs
from pretrain.gpt import GPT
from pretrain.t5 import T5
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

PLAY = "Macbeth"
N_WORDS, N_TOP, N_STORED = 10, 5, 20
PARADIGMS = ("gpt", "bert", "t5")
_BEGINS_LINE = re.compile(r"[A-Z][a-z']*")
_BEGINS_WORD = re.compile(r" [A-Za-z][A-Za-z']*")
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")


class Readers(NamedTuple):
    """The three models and their one vocabulary."""

    gpt: GPT
    bert: BERT
    t5: T5
    tokenizer: SubwordTokenizer


class Line(NamedTuple):
    """A line between two line ends, as the models read it."""

    text: str
    ids: Tensor  # int64 (1, T)
    places: list[int]  # of its words in `ids`


def load_readers() -> Readers:
    """Load the models of Chapter 7."""
    (gpt, tokenizer), (bert, _), (t5, _) = (load_model(f"contest_{name}") for name in PARADIGMS)
    return Readers(gpt.eval(), bert.eval(), t5.eval(), tokenizer)


def read_line(text: str, tokenizer: SubwordTokenizer) -> Line:
    """Cut a line; its words are the tokens with letters."""
    ids = tokenizer.encode(f"\n{text}\n")
    places = [i for i, token in enumerate(ids.tolist()) if _WORD.search(tokenizer.tokens[token])]
    return Line(text, ids[None], places)


def lines_of(play: str, tokenizer: SubwordTokenizer) -> list[Line]:
    """List the lines of a play that have ten words, each of them one token."""
    texts = [
        line
        for one in load_shakespeare("test")
        if one.title == play
        for speech in one.speeches
        for line in speech.text.split("\n")
    ]
    found = [read_line(text, tokenizer) for text in dict.fromkeys(texts) if text[:1].isupper()]
    return [
        line
        for line in found
        if len(line.places) == N_WORDS
        and [tokenizer.tokens[i].strip() for i in line.ids[0, line.places]]
        == _WORD.findall(line.text)
    ]


def word_starts(tokenizer: SubwordTokenizer, *, first: bool) -> Tensor:
    """Mark the tokens that begin a word, bool (V,), inside a line or as the first of it."""
    pattern = _BEGINS_LINE if first else _BEGINS_WORD
    return torch.tensor([bool(pattern.fullmatch(token)) for token in tokenizer.tokens])


def among_words(log_probs: Tensor, tokenizer: SubwordTokenizer, *, first: bool) -> Tensor:
    """Turn log-probabilities (V,) into shares among the tokens that begin a word."""
    probs = torch.where(word_starts(tokenizer, first=first), log_probs.exp(), 0)
    return probs / probs.sum()


def ask(readers: Readers, name: str, line: Line, hidden: tuple[int, ...]) -> list[Tensor]:
    """Ask one model for the hidden words, given by their numbers in the line.

    Returns:
        For each gap the shares of all tokens, (V,). Neighbours that T5 misses are one gap.
    """
    tokenizer = readers.tokenizer
    if name == "t5":
        return ask_t5(readers, line, hidden)
    (number,) = hidden
    place = torch.tensor([line.places[number]])
    if name == "gpt":
        found = left_log_probs(readers.gpt, line.ids, place)
    else:
        found = cloze_log_probs(readers.bert, line.ids, place, mask_id=tokenizer.mask_id)
    return [among_words(found[0], tokenizer, first=number == 0)]


@torch.no_grad()
def ask_t5(readers: Readers, line: Line, hidden: tuple[int, ...]) -> list[Tensor]:
    """Put a sentinel in each gap, and let the decoder name the first word of each, in order."""
    tokenizer, sentinels = readers.tokenizer, readers.tokenizer.sentinel_ids
    source: list[int] = []
    firsts: list[int] = []  # numbers of the words that begin a gap
    places = {line.places[number]: number for number in hidden}
    for place, token in enumerate(line.ids[0].tolist()):
        if place not in places:
            source.append(token)
        elif place - 1 not in places:
            source.append(sentinels[len(firsts)])
            firsts.append(places[place])
    read = torch.tensor([[*source, tokenizer.eos_id]])
    written, found = [tokenizer.pad_id], []
    for number, sentinel in zip(firsts, sentinels, strict=False):
        written.append(sentinel)
        logits = readers.t5(read, torch.tensor([written]))[0, -1]
        found.append(among_words(logits.log_softmax(dim=-1), tokenizer, first=number == 0))
        written.append(int(found[-1].argmax()))
    return found


def share_of_truth(readers: Readers, name: str, line: Line, number: int) -> float:
    """Return what a model gives the true word when it alone is hidden."""
    (shares,) = ask(readers, name, line, (number,))
    return float(shares[line.ids[0, line.places[number]]])


def n_found(readers: Readers, line: Line) -> int:
    """Count how often the true word stands among the likeliest guesses, over places and models."""
    found = 0
    for name in PARADIGMS:
        for number, place in enumerate(line.places):
            (shares,) = ask(readers, name, line, (number,))
            found += int(line.ids[0, place] in shares.topk(N_TOP).indices)
    return found


def start_gaps(readers: Readers, line: Line) -> dict[str, list[int]]:
    """Choose the gaps that are open at first, by the rule above."""
    inside = range(1, len(line.places) - 1)
    gaps = {}
    for name in PARADIGMS:
        shares = {number: share_of_truth(readers, name, line, number) for number in inside}
        if name == "t5":
            apart = {
                (one, other): shares[one] + shares[other]
                for one, other in combinations(inside, 2)
                if other > one + 1
            }
            pair = max(apart, key=lambda pair: apart[pair])
            gaps[name] = list(pair)
        else:
            gaps[name] = [max(inside, key=lambda number: shares[number])]
    return gaps


def written(shares: Tensor, tokenizer: SubwordTokenizer) -> str:
    """Write the likeliest words with their shares in per cent: ``thee 34.1, not 5.2``."""
    best = shares.topk(N_STORED)
    return ", ".join(
        f"{tokenizer.tokens[i].strip()} {100 * share:.1f}"
        for i, share in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )


def word_parts(tokenizer: SubwordTokenizer) -> str:
    """List the tokens that begin a word, but end one less than half the times they are read."""
    text = "\n".join(play.text for play in load_shakespeare("train"))
    ids = tokenizer.encode(text).tolist()
    seen, whole = Counter(ids), Counter(
        here for here, after in pairwise(ids)
        if not tokenizer.tokens[after][0].isalpha()
    )  # fmt: skip
    inside = word_starts(tokenizer, first=False).nonzero().flatten().tolist()
    return " ".join(tokenizer.tokens[i].strip() for i in inside if 2 * whole[i] < seen[i])


def answers(readers: Readers, line: Line) -> dict[str, dict[str, list[str]]]:
    """Hide every word, for T5 every pair too; give each model's guesses for each gap."""
    numbers = range(len(line.places))
    alone = [(number,) for number in numbers]
    asked = dict.fromkeys(PARADIGMS, alone) | {"t5": [*alone, *combinations(numbers, 2)]}
    return {
        name: {
            " ".join(map(str, hidden)): [
                written(shares, readers.tokenizer) for shares in ask(readers, name, line, hidden)
            ]
            for hidden in ways
        }
        for name, ways in asked.items()
    }


def three_questions() -> dict[str, Any]:
    """Choose the line and ask all three."""
    readers = load_readers()
    lines = lines_of(PLAY, readers.tokenizer)
    found = [n_found(readers, line) for line in lines]
    line = lines[found.index(max(found))]
    return {
        "question": "Which word? Per hidden words and gap: the likeliest and their shares in %",
        "play": PLAY, "n_lines": len(lines), "n_asked": len(PARADIGMS) * N_WORDS,
        "n_found": max(found), "text": line.text,
        "start": start_gaps(readers, line), "answers": answers(readers, line),
        "parts": word_parts(readers.tokenizer),
    }  # fmt: skip


def main() -> None:
    """Write the file."""
    clock = Clock()
    write_run("three_questions", three_questions(), clock, folder=FOLDER)


if __name__ == "__main__":
    main()
