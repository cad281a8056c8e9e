# SPDX-License-Identifier: MIT
"""Plot or review: pairs of equal length, films apart, nothing twice, the same draw each time."""

from collections import Counter
from functools import cache

import pytest
from torch import Generator

from pretrain_lab.corpora.loading import SPLITS, film_split, load_plots, load_reviews
from pretrain_lab.tasks.subjectivity import (
    FORMS,
    LONGEST,
    SHORTEST,
    FilmText,
    load_plot_or_review,
    split_sentences,
)


@cache
def texts(split: str, form: str, seed: int = 0) -> list[FilmText]:
    """Draw once for all tests."""
    return load_plot_or_review(split, form, generator=Generator().manual_seed(seed))


def lengths(found: list[FilmText]) -> list[int]:
    """Count the words of each text."""
    return [len(text.text.split()) for text in found]


def test_sentences_end_where_a_capital_follows() -> None:
    """Numbers, small letters and the last full stop cut nothing; quotes go with the sentence."""
    text = 'He paid 3.50 for it. "Why?" she asks. (So do we.) And then…'
    assert split_sentences(text) == [
        "He paid 3.50 for it.",
        '"Why?" she asks.',
        "(So do we.",
        "And then…",
    ]
    assert split_sentences("  One.  ") == ["One."]
    assert split_sentences("") == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("split", SPLITS)
def test_pairs(split: str, form: str) -> None:
    """Plot, review, plot, review …; films of the split; no text twice; texts as in the file."""
    found = texts(split, form)
    assert [text.label for text in found] == [1, 0] * (len(found) // 2)
    assert {film_split(text.film) for text in found} == {split}
    assert max(Counter(text.text for text in found).values()) == 1
    reviews = {r.sentence for r in load_reviews(split)}
    assert all(text.text in reviews for text in found if text.label == 0)
    told = "\n".join(plot.text for plot in load_plots())
    assert all(text.text in told for text in found[:40:2])


def test_length_gives_nothing_away() -> None:
    """In pairs of sentences both have as many words; whole plots are longer than reviews."""
    found = lengths(texts("test", "sentences"))
    assert found[0::2] == found[1::2]
    assert SHORTEST <= min(found) <= max(found) <= LONGEST
    assert len(found) > 1000
    whole = lengths(texts("test", "whole"))
    longer = sum(plot > review for plot, review in zip(whole[0::2], whole[1::2], strict=True))
    assert longer > 0.95 * len(whole) / 2


def test_draws() -> None:
    """A seed gives the same pairs; n_pairs takes the first of them; another seed gives others."""
    again = load_plot_or_review(
        "test", "sentences", generator=Generator().manual_seed(0), n_pairs=7
    )
    assert again == texts("test", "sentences")[:14]
    assert again != texts("test", "sentences", seed=1)[:14]


def test_refuses() -> None:
    """Other names, and more pairs than there are."""
    with pytest.raises(ValueError, match=r"expected form in \('whole', 'sentences'\), got 'both'"):
        load_plot_or_review("test", "both", generator=Generator())
    with pytest.raises(ValueError, match='split must be "train"'):
        load_plot_or_review("dev", "whole", generator=Generator())
    with pytest.raises(ValueError, match=r"expected n_pairs <= \d+ for 'test', got 100000"):
        load_plot_or_review("test", "whole", generator=Generator(), n_pairs=100_000)
