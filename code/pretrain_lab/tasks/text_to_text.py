# SPDX-License-Identifier: MIT
"""Tasks as texts: a prefix says what to do, the target is the answer in words.

Paper: Raffel et al. 2020 (arXiv:1910.10683), section 2.4 and appendix D.
`pretrain_lab.finetuning.text_to_text` trains on them.
"""

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple, TypeVar

from pretrain_lab.corpora.loading import (
    SPLITS,
    film_split,
    load_plots,
    load_reviews,
    load_shakespeare,
)

GENRES = {
    "comedies": "comedy", "histories": "history", "problems": "problem", "roman": "roman",
    "romances": "romance", "tragedies": "tragedy",
}  # fmt: skip
"""The word that stands for each genre of `load_shakespeare`."""
SENTIMENTS = ("rotten", "fresh")
"""The word for each label of `load_reviews`."""
PASSAGE_LEN = 50
SENTENCE_LENS = range(4, 17)
"""Words of a sentence that is to be restored."""
PLACES = (
    "church", "prison", "court", "house", "city", "camp", "wood", "field", "chamber", "town"
)  # fmt: skip
MOVES = ("goes to", "comes to", "runs to", "is in", "sleeps in", "waits in", "walks to")
N_PEOPLE, N_SENTENCES = range(2, 5), range(3, 7)
N_STORIES = {"train": 30_000, "validation": 1_000, "test": 1_000}
"""What the stories of `read_questions` consist of."""
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")


Value = TypeVar("Value")


class Example(NamedTuple):
    """One question and its answer."""

    source: str  # prefix and text
    target: str
    group: str  # what the split never divides: the play, the film, the word


class Task(NamedTuple):
    """One kind of question."""

    prefix: str
    read: Callable[[str], Iterator[Example]]  # gives the examples of a split, without the prefix

    def examples(self, split: str) -> list[Example]:
        """Make all examples of a split ("train", "validation" or "test").

        Raises:
            ValueError: The split has another name.
        """
        if split not in SPLITS:
            raise ValueError(f"expected a split from {SPLITS}, got {split!r}")
        return [e._replace(source=self.prefix + e.source) for e in self.read(split)]


def read_reversals(split: str) -> Iterator[Example]:
    """Spell words of the plays, to be spelled backwards: "h e a d" gives "d a e h".

    Blanks part the letters because a model of subwords sees no letters: "head" may be one token,
    and its spelling would have to be learned token by token. Here each letter is a token, the same
    in source and target, and one rule holds for all words. Words have 3 to 8 letters, in lower
    case; each comes once, in alphabetical order, in a split drawn from its hash.
    """
    text = " ".join(play.text for play in load_shakespeare()).lower()
    for word in sorted(set(re.findall(r"\b[a-z]{3,8}\b", text))):
        if film_split(word) == split:  # drawn from a hash, for words as for films
            yield Example(" ".join(word), " ".join(reversed(word)), word)


def read_genres(split: str) -> Iterator[Example]:
    """Cut plays into passages of PASSAGE_LEN words of speech, to be named by genre.

    Speakers are not named: their names tell the play. No play is in two splits.
    """
    for play in load_shakespeare(split):
        speech = " ".join(speech.text for speech in play.speeches).split()
        for start in range(0, len(speech) - PASSAGE_LEN + 1, PASSAGE_LEN):
            passage = " ".join(speech[start : start + PASSAGE_LEN])
            yield Example(passage, GENRES[play.genre], play.slug)


def read_sentiments(split: str) -> Iterator[Example]:
    """Ask of each review sentence whether its review was "fresh" or "rotten".

    No film is in two splits.
    """
    for review in load_reviews(split):
        yield Example(review.sentence, SENTIMENTS[review.label], review.film)


def read_titles(split: str) -> Iterator[Example]:
    """Ask for the title of a film, given its plot; titles are in lower case, as in the file.

    No film is in two splits.
    """
    for plot in load_plots():
        if film_split(plot.film) == split:
            yield Example(plot.text, plot.film.replace("_", " "), plot.film)


def _own(found: dict[str, dict[str, Value]]) -> dict[str, dict[str, Value]]:
    """Keep of each split the keys that no other split has."""
    others = {s: {key for t in SPLITS if t != s for key in found[t]} for s in SPLITS}
    return {
        s: {key: value for key, value in found[s].items() if key not in others[s]} for s in SPLITS
    }


@cache
def _casts() -> dict[str, dict[str, list[str]]]:
    """List the names of one word by split and play; no name is in two splits, or in two plays."""
    found = {
        split: {
            speech.speaker.title(): play.slug
            for play in load_shakespeare(split)
            for speech in play.speeches
            if re.fullmatch(r"[A-Za-z]{3,10}", speech.speaker)
        }
        for split in SPLITS
    }
    casts: dict[str, dict[str, list[str]]] = {split: {} for split in SPLITS}
    for split, plays in _own(found).items():
        for name, play in plays.items():
            casts[split].setdefault(play, []).append(name)
    return casts


def read_questions(split: str) -> Iterator[Example]:
    """Ask where somebody of a short story is; the answer is the last sentence about this person.

    "Where is Puck? Puck goes to the court. Snug is in the town. Puck runs to the wood." is answered
    by "Puck runs to the wood." A story has three to six sentences about at most four people of one
    play; they are drawn at random. No play, name or story is in two splits.

    Source: Weston et al. 2016 (arXiv:1502.05698), task 1, for the kind of question; the stories are
        ours. differs: there, the answer is the place alone.
    """
    rng = random.Random(split)
    casts = {play: cast for play, cast in _casts()[split].items() if len(cast) >= N_PEOPLE[-1]}
    plays, seen = sorted(casts), set[str]()
    while len(seen) < N_STORIES[split]:
        play = rng.choice(plays)
        people = rng.sample(casts[play], rng.choice(N_PEOPLE))
        places = rng.sample(PLACES, rng.choice(N_SENTENCES))
        who = [rng.choice(people) for _ in places]
        said = [f"{w} {rng.choice(MOVES)} the {p}." for w, p in zip(who, places, strict=True)]
        person, story = rng.choice(sorted(set(who))), " ".join(said)
        if story not in seen:
            seen.add(story)
            last = max(i for i, name in enumerate(who) if name == person)
            # A blank first, as inside the story: else its first word would be another token.
            yield Example(f"Where is {person}? {story}", f" {said[last]}", play)


def bare(sentence: str) -> str:
    """Take capitals and marks away: words of a-z and apostrophes, one blank between two."""
    return " ".join(re.sub(r"[^a-z']+", " ", sentence.lower()).split())


@cache
def _sentences() -> dict[str, list[tuple[str, str]]]:
    """List the sentences that stand on one line of a speech, with their play, by split.

    A sentence that two splits have, whatever its marks, is left out.
    """
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for split in SPLITS:
        found[split] = {
            bare(sentence): (sentence, play.slug)
            for play in load_shakespeare(split)
            for speech in play.speeches
            for sentence in _SENTENCE_END.split(speech.text)
            if "\n" not in sentence
            and len(bare(sentence).split()) in SENTENCE_LENS
            and re.fullmatch(r"[A-Z].*[.?!]", sentence)
        }
    return {split: list(sentences.values()) for split, sentences in _own(found).items()}


def read_restorations(split: str) -> Iterator[Example]:
    """Ask for a sentence of a play with its capitals and marks, given its bare words.

    Only sentences on one line: a new line of verse has a capital that no rule of grammar gives.
    No play and no sentence is in two splits.
    """
    for sentence, play in _sentences()[split]:
        yield Example(bare(sentence), sentence, play)


TASKS = {
    "reverse": Task("reverse: ", read_reversals),
    "genre": Task("genre: ", read_genres),
    "sentiment": Task("sentiment: ", read_sentiments),
    "title": Task("title: ", read_titles),
    "answer": Task("answer: ", read_questions),
    "restore": Task("restore: ", read_restorations),
}
"""The supervised tasks. Span filling needs no prefix: the sentinels ask for it."""
