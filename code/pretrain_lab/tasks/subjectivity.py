# SPDX-License-Identifier: MIT
"""Two kinds of texts about films: some tell a plot, some judge. Which is which?

Paper: Pang & Lee 2004 (arXiv:cs/0409058), who set sentences of plots against sentences of reviews
to tell what is told from what is judged. differs: these are the book's plots and review sentences;
the splitter knows no abbreviations (`Dr. No` makes two sentences, and short pieces are dropped).
"""

import re
from dataclasses import dataclass

import torch
from torch import Generator

from pretrain_lab.corpora.loading import film_split, load_plots, load_reviews

FORMS = ("whole", "sentences")
SHORTEST, LONGEST = 5, 40
"""Words of a sentence that is paired by length."""
_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]?[A-Z])")


@dataclass(frozen=True)
class FilmText:
    """One text, its kind (1 = it tells a plot, 0 = it judges) and the film it speaks of."""

    text: str
    label: int
    film: str


def split_sentences(text: str) -> list[str]:
    """Cut a paragraph after `.`, `!` or `?` where a capital letter follows.

    Blanks at the ends and quotes behind the full stop are dropped.
    """
    return [piece.strip() for piece in _END.split(text) if piece.strip()]


def load_plot_or_review(
    split: str, form: str, *, generator: Generator, n_pairs: int | None = None
) -> list[FilmText]:
    """Pair texts that tell a plot with review sentences: plot, review, plot, review …; none twice.

    The form is "whole" plots beside review sentences of any length, or "sentences" of both kinds,
    of 5 to 40 words, that have as many words in each pair. The split is "train", "validation",
    "test" or "all"; no film is in two. `n_pairs` keeps the first ones drawn, None = all.

    Raises:
        ValueError: The split or the form has another name, or there are fewer pairs.
        SourceError: The texts could not be fetched.
    """
    if form not in FORMS:
        raise ValueError(f"expected form in {FORMS}, got {form!r}")
    by_length = form == "sentences"
    waiting: dict[int, list[FilmText]] = {}
    for review in _shuffled(
        [FilmText(r.sentence, 0, r.film) for r in load_reviews(split)], generator
    ):
        waiting.setdefault(_length(review) if by_length else 0, []).append(review)
    pairs: dict[str, list[FilmText]] = {}
    for plot in _shuffled(_told(split, by_length), generator):
        fits = not by_length or SHORTEST <= _length(plot) <= LONGEST
        partners = waiting.get(_length(plot) if by_length else 0)
        if fits and partners and plot.text not in pairs:
            pairs[plot.text] = [plot, partners.pop()]
    if n_pairs is not None and len(pairs) < n_pairs:
        raise ValueError(f"expected n_pairs <= {len(pairs)} for {split!r}, got {n_pairs}")
    return [text for pair in list(pairs.values())[:n_pairs] for text in pair]


def _told(split: str, by_sentence: bool) -> list[FilmText]:
    """List the plots of a split, whole or cut into sentences."""
    plots = [p for p in load_plots() if split in ("all", film_split(p.film))]
    return [
        FilmText(piece, 1, p.film)
        for p in plots
        for piece in (split_sentences(p.text) if by_sentence else [p.text])
    ]


def _length(text: FilmText) -> int:
    """Count the words between blanks."""
    return len(text.text.split())


def _shuffled(texts: list[FilmText], generator: Generator) -> list[FilmText]:
    """Put texts in random order."""
    return [texts[i] for i in torch.randperm(len(texts), generator=generator).tolist()]
