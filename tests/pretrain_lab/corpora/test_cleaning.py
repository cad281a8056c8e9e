# SPDX-License-Identifier: MIT
"""Cleaning: what is spoken stays, what is printed around it goes."""

import pytest

from pretrain_lab.corpora import cleaning
from pretrain_lab.corpora.cleaning import Speech, clean_play, fix_misprints, to_ascii


def speeches(markdown):
    """Clean a play that has no listed repairs."""
    return [(s.speaker, s.text) for s in clean_play(fix_misprints(markdown, "no such play"))]


def test_headings_become_names_and_titles_go():
    play = "# Title\n\n## ACT I\n\n### SCENE I. A room\nand more.\n\n**First Citizen**  \nSpeak.\n"
    assert speeches(play) == [("First Citizen", "Speak.")]


def test_the_rest_of_a_heading_goes():
    play = "**A**\nOne.\n\n### SCENE II. A tent. LEAR asleep,\n\nsoft music.\n\n**B**\nTwo."
    assert speeches(play) == [("A", "One."), ("B", "Two.")]


@pytest.mark.parametrize(
    "direction",
    [
        "_Exit_",
        "_\\[Aside]_",
        "__\\[Aside]_",
        "[Aside]_",
        "*Exit.*",
        "*[Reads.]*",
        "_Enter\nB, with C_",
    ],
)
def test_stage_directions_go_and_the_speech_goes_on(direction):
    inside = f"**A**  \n{direction}  \nOne.\n\n**B**\nTwo."
    between = f"**A**  \nOne,\n\n{direction}\n\nthen more.\n\n**B**\nTwo."
    assert speeches(inside) == [("A", "One."), ("B", "Two.")]
    assert speeches(between) == [("A", "One,\nthen more."), ("B", "Two.")]


def test_a_speaker_who_says_nothing_has_no_speech():
    assert speeches("**A**\n_Dies_\n\n**B**\nAlas!") == [("B", "Alas!")]


def test_a_speaker_heading_inside_a_block_starts_a_speech():
    assert speeches("**A**\nOne.\n**B**  \nTwo.") == [("A", "One."), ("B", "Two.")]


def test_a_song_is_sung_by_the_speaker_before():
    assert speeches("**A**\nSing!\n\nSONG.\nHey, ho.") == [("A", "Sing!\nHey, ho.")]


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("nay \u2014 with threats,", "nay--with threats,"),
        ("'Go,'\\--or", "'Go,'--or"),
        ('"yea"', "'yea'"),
        ("these, & c.'", "these, etc.'"),
        ("child,' &amp; c. This", "child,' etc. This"),
        ("A & B", "A and B"),
        ("a  drum ? Thou'rt", "a drum? Thou'rt"),
    ],
)
def test_characters_become_plain(line, plain):
    assert speeches(f"**A**\n{line}") == [("A", plain)]


def test_windows_line_ends_are_read():
    assert speeches("**A**\r\nOne.\r\n\r\n\r\n**B**\r\nTwo.\r\n") == [("A", "One."), ("B", "Two.")]


def test_a_repair_that_does_not_fit_is_named(monkeypatch):
    repair = {"play": "p", "find": "x", "replace": "y", "count": 2}
    monkeypatch.setattr(cleaning, "_repairs", lambda: {"p": [repair]})
    assert fix_misprints("x x", "p") == "y y"
    with pytest.raises(ValueError, match=r"p: repair 'x' must match 2 times, but matches 1 times"):
        fix_misprints("x", "p")


def test_plain_text_is_ascii_on_one_line():
    given = "\u201cIt\u2019s\u201d  caf\u00e9\u2014\n3\u00bd \u00c6 \u00e6\u2026\x85 \xadok \u00bf"
    assert to_ascii(given) == '"It\'s" cafe- 31/2 ae...... ok'


def test_a_speech_is_a_value():
    assert clean_play("**A**\nOne.") == (Speech("A", "One."),)


def test_control_characters_are_left_out() -> None:
    """They are ASCII, but nobody can print them."""
    assert to_ascii("a\x00b\x1b[0m \x7fc") == "ab[0m c"
