# SPDX-License-Identifier: MIT
"""The plays and reviews as loaded: exact passages, alphabet, splits, and the data card's counts."""

import re
import tomllib
from collections import Counter

import pytest

from pretrain_lab.corpora import loading as datasets
from pretrain_lab.corpora.cleaning import PLAY_ALPHABET, to_ascii
from pretrain_lab.corpora.loading import (
    SPLITS,
    Review,
    film_split,
    load_plots,
    load_reviews,
    load_shakespeare,
    play_split,
)
from pretrain_lab.paths import DATA

HAMLET = """\
BERNARDO:
Who's there?

FRANCISCO:
Nay, answer me: stand, and unfold yourself.

BERNARDO:
Long live the king!

FRANCISCO:
Bernardo?

BERNARDO:
He.

FRANCISCO:
You come most carefully upon your hour.

BERNARDO:
'Tis now struck twelve; get thee to bed, Francisco.

FRANCISCO:
For this relief much thanks: 'tis bitter cold,
And I am sick at heart.

BERNARDO:
Have you had quiet guard?

FRANCISCO:
Not a mouse stirring.

BERNARDO:
Well, good night.
If you do meet Horatio and Marcellus,
The rivals of my watch, bid them make haste.

FRANCISCO:
I think I hear them. Stand, ho! Who's there?

HORATIO:
Friends to this ground.
"""
CORIOLANUS = """\
First Citizen:
Before we proceed any further, hear me speak.

All:
Speak, speak.

First Citizen:
You are all resolved rather to die than to famish?

All:
Resolved. resolved.

First Citizen:
First, you know Caius Marcius is chief enemy to the people.
"""


@pytest.fixture(scope="module")
def plays():
    """Return all plays by file name."""
    return {play.slug: play for play in load_shakespeare()}


@pytest.fixture(scope="module")
def card():
    """Return the data card with each paragraph on one line."""
    return re.sub(r"(?<=[^\n|])\n(?=[^\n|])", " ", (DATA / "README.md").read_text())


def test_opening_passages_are_exact(plays):
    assert plays["hamlet"].text.startswith(HAMLET)
    assert plays["coriolanus"].text.startswith(CORIOLANUS)


def test_the_alphabet_is_exact(plays):
    assert "".join(sorted(set().union(*(play.text for play in plays.values())))) == PLAY_ALPHABET
    assert len(PLAY_ALPHABET) == 62


@pytest.mark.parametrize(
    "leftover",
    [
        r"^ | $|  |\n\n\n",
        r"^SCENE|^ACT [IV]+|^SONG|^EPILOGUE|^PROLOGUE|^DUMB SHOW",
        r"^(Enter|Exit|Exeunt|Re-enter) [A-Z]{2}|^Exeunt",
        r"^(OF|DE|LADY|BISHOP|COUNTESS|RICHARD|CARDINAL|Varro's|Ghosts?)$",
    ],
)
def test_no_markup_or_heading_is_left(plays, leftover):
    for play in plays.values():
        assert not re.search(leftover, play.text, re.MULTILINE), play.slug


def test_the_text_is_its_speeches(plays):
    for play in plays.values():
        blocks = play.text.rstrip("\n").split("\n\n")
        assert blocks == [f"{speech.speaker}:\n{speech.text}" for speech in play.speeches]
        assert all(re.fullmatch(r"[A-Z][A-Za-z' -]*", speech.speaker) for speech in play.speeches)


def test_repaired_places_read_well(plays):
    assert "And Censorinus, nobly named so,\n" in plays["coriolanus"].text
    assert "Senators:\nWe'll surety him.\n" in plays["coriolanus"].text
    assert "And either the devil, or throw him out\n" in plays["hamlet"].text
    assert "\nBISHOP OF WINCHESTER:\nRome shall remedy this.\n" in plays["henry-vi-part-1"].text
    assert "This way will I disrobe the images,\n" in plays["julius-caesar"].text
    assert "Isidore's Servant:\nFrom Isidore;\n" in plays["timon-of-athens"].text
    assert "PROSPERO:\nNow my charms are all o'erthrown,\n" in plays["the-tempest"].text


def test_splits_keep_whole_plays_and_every_genre():
    by_split = {split: load_shakespeare(split) for split in SPLITS}
    slugs = [play.slug for split in SPLITS for play in by_split[split]]
    assert sorted(slugs) == [play.slug for play in load_shakespeare("all")]
    genres = {"comedies", "histories", "problems", "roman", "romances", "tragedies"}
    for split in ("validation", "test"):
        assert Counter(play.genre for play in by_split[split]) == Counter(genres)
    sizes = {split: sum(len(play.text) for play in by_split[split]) for split in SPLITS}
    assert sizes["train"] >= 0.68 * sum(sizes.values())
    assert play_split("coriolanus") == play_split("edward-iii") == "train"


def test_a_returned_list_is_the_callers_own():
    load_shakespeare("test").clear()
    load_reviews("test").clear()
    assert load_shakespeare("test")
    assert load_reviews("test")


@pytest.mark.parametrize("load", [load_shakespeare, load_reviews])
def test_an_unknown_split_lists_the_known(load):
    message = 'split must be "train", "validation", "test" or "all", got \'dev\''
    with pytest.raises(ValueError, match=message):
        load("dev")


def test_review_splits_share_neither_film_nor_sentence():
    by_split = {split: load_reviews(split) for split in SPLITS}
    films = [{review.film for review in by_split[split]} for split in SPLITS]
    assert len(set.union(*films)) == sum(map(len, films))
    keys = [re.sub(r"[^a-z0-9]", "", r.sentence.lower()) for r in load_reviews()]
    assert len(set(keys)) == len(keys) == sum(map(len, by_split.values()))
    shares = [len(by_split[split]) / len(keys) for split in SPLITS]
    assert shares == pytest.approx([0.70, 0.15, 0.15], abs=0.04)


def test_reviews_are_plain_and_labelled():
    for review in load_reviews():
        assert review.label in (0, 1)
        assert review.sentence == to_ascii(review.sentence) != ""
        assert review.sentence.isascii()


def test_duplicates_go_and_disagreeing_copies_go_altogether():
    kept, counts = datasets._without_duplicates(
        [
            Review("Good.", 1, "a"),
            Review("good!", 1, "b"),
            Review("Bad", 0, "a"),
            Review("BAD", 1, "c"),
            Review("bad", 0, "c"),
            Review("...", 0, "d"),
            Review("New", 0, "d"),
        ]
    )
    assert kept == (Review("Good.", 1, "a"), Review("New", 0, "d"))
    assert counts == {"rows": 7, "kept": 2, "duplicates": 1, "disagreeing": 3, "empty": 1}


def test_a_films_split_never_changes():
    names = ["about_a_boy", "frida", "xxx", "the_pianist", "abandon"]
    assert [film_split(name) for name in names] == [film_split(name) for name in names]
    drawn = Counter(film_split(f"film {i}") for i in range(10_000))
    assert drawn["train"] / 10_000 == pytest.approx(0.70, abs=0.02)
    assert drawn["validation"] / 10_000 == pytest.approx(0.15, abs=0.02)


def test_plots_hold_text():
    plots = load_plots()
    assert len({plot.text for plot in plots}) == len(plots) > 1_000
    assert all(plot.text and plot.film for plot in plots)


def test_the_card_counts_the_plays(card, plays):
    total = sum(len(play.text) for play in plays.values())
    for split in (*SPLITS, "all"):
        chosen = load_shakespeare(split)
        n_speeches = sum(len(play.speeches) for play in chosen)
        size = sum(len(play.text) for play in chosen)
        row = f"| {split} | {len(chosen)} | {n_speeches:,} | {size:,} | {size / total:.1%} |"
        assert row.replace("%", " %") in card
    for play in plays.values():
        size = f"{len(play.speeches):,} | {len(play.text):,}"
        assert f"| {play.title} | {play.genre} | {play_split(play.slug)} | {size} |" in card
    n_speakers = len({speech.speaker for play in plays.values() for speech in play.speeches})
    assert f"{len(plays)} plays, {total:,} characters after cleaning, 6 genres" in card
    assert f"{n_speakers:,} speaker names" in card
    assert f"The result holds {len(PLAY_ALPHABET)} different characters" in card


def test_the_card_counts_the_repairs(card):
    repairs = tomllib.loads((DATA / "repairs.toml").read_text())["repair"]
    n_places = sum(repair["count"] for repair in repairs)
    assert f"{len(repairs)} listed repairs mend {n_places} places" in card


def test_the_card_counts_the_reviews(card):
    plots = load_plots()
    for split in (*SPLITS, "all"):
        chosen = load_reviews(split)
        n_fresh = sum(review.label for review in chosen)
        n_films = len({review.film for review in chosen})
        n_plots = sum(split in ("all", film_split(plot.film)) for plot in plots)
        share = f"{n_fresh / len(chosen):.1%}".replace("%", " %")
        labels = f"{len(chosen):,} | {n_fresh:,} | {len(chosen) - n_fresh:,}"
        assert f"| {split} | {n_films} | {labels} | {share} | {n_plots:,} |" in card


def test_the_card_counts_what_was_left_out(card):
    counts = datasets._reviews()[1]
    rows = datasets._review_rows()
    n_plot_rows = sum(row["category"] == "plot" for row in rows)
    assert (
        f"Of {counts['rows']:,} sentences in the file, {counts['empty']} are empty,"
        f" {counts['duplicates']} repeat an earlier one and {counts['disagreeing']} disagree with"
        f" a copy; {counts['kept']:,} remain. Of {n_plot_rows:,} plots in the file,"
        f" {n_plot_rows - len(load_plots())} are empty."
    ) in card
    lengths = sorted(len(review.sentence) for review in load_reviews())
    half = f"Half of the sentences are shorter than {lengths[len(lengths) // 2] + 1} characters"
    assert f"{half}; the longest has {lengths[-1]}." in card


def test_the_card_lists_the_packages(card):
    sources = tomllib.loads((DATA / "sources.toml").read_text())
    for name, source in sources.items():
        megabytes = f"{source['wheel_bytes'] / 1e6:.0f} MB"
        assert f"| `{name}` | {source['version']} | {megabytes} |" in card
