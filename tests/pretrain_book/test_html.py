# SPDX-License-Identifier: MIT
"""Pieces of HTML: the same facts as markup and as text, and nothing loaded from elsewhere."""

import re

import pytest

from pretrain.objectives import REPLACEMENTS
from pretrain_book.html import Html, bars_html, table_html, tokens_html, visible


def test_blanks_become_visible_but_spaces_between_words_stay():
    shown = [visible(text) for text in (" ", "  ", " king", "of the", "\n", "a\tb", "")]
    assert shown == ["␣", "␣␣", "␣king", "of the", "↵", "a⇥b", ""]


def test_a_piece_shows_markup_to_notebooks_and_text_to_terminals():
    piece = Html("<b>x</b>", "x") + Html("<i>y</i>", "y")
    assert piece._repr_html_() == "<b>x</b><i>y</i>"
    assert repr(piece) == "x\ny"


def test_every_bar_is_readable_as_text_and_as_long_as_its_number():
    piece = bars_html(["e", " ", "<"], [0.5, 0.25, 0.0], "P(next)", marked=[1], top=1.0)
    assert re.findall(r"width:(\d+)%", piece.html) == ["50", "25", "0"]
    assert "0.50" in piece.html
    assert "&lt;" in piece.html
    assert piece.text.splitlines() == ["P(next)", "  e    0.50", "  ␣ ✓  0.25", "  <    0.00"]


def test_bars_are_relative_to_the_largest_and_carry_their_unit():
    piece = bars_html(["a", "b"], [1000, 500], "size", fmt=",", unit="lines", paradigm="bert")
    assert re.findall(r"width:(\d+)%", piece.html) == ["100", "50"]
    assert piece.text.endswith("b  500 lines")
    assert "#009E73" in piece.html


def test_bars_of_nothing_have_no_length():
    assert re.findall(r"width:(\d+)%", bars_html(["a"], [0.0], "none").html) == ["0"]


def test_bars_hang_on_the_printed_digits_only():
    first = bars_html(["a", "b"], [0.3333, 0.1], "P")
    assert first == bars_html(["a", "b"], [0.33331, 0.1000001], "P")


@pytest.mark.parametrize(
    ("labels", "values", "options", "message"),
    [
        (["a"], [1.0, 2.0], {}, "one label a value, got 1 and 2"),
        ([], [], {}, "one label a value"),
        (["a"], [-1.0], {}, "not negative"),
        (["a"], [float("nan")], {}, "finite"),
        (["a"], [2.0], {"top": 1.0}, "up to top = 1.0, got 2.0"),
        (["a"], [1.0], {"paradigm": "rnn"}, "got 'rnn'"),
    ],
)
def test_bad_bars_are_refused(labels, values, options, message):
    with pytest.raises(ValueError, match=message):
        bars_html(labels, values, "caption", **options)


def test_a_table_names_columns_and_rows_and_lines_up_as_text():
    piece = table_html(["model", "bits"], [["GPT", "1.9"], ["<KN>", 12.25]], "On plays")
    assert piece.html.count("<tr>") == 3
    assert piece.html.count('scope="row"') == 2
    assert "&lt;KN&gt;" in piece.html
    assert piece.text.splitlines() == ["On plays", "model   bits", "GPT      1.9", "<KN>   12.25"]
    assert table_html(["a"], [["b"]]).text == "a\nb"


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="expects 2 cells a row"):
        table_html(["a", "b"], [["only one"]])


def test_states_of_tokens_are_told_by_border_and_word():
    states = [*REPLACEMENTS, "target"]
    piece = tokens_html(["to", "_", "be", "or", "not"], states, "Corrupted")
    borders = re.findall(r"border:(\d)px (\w+) ", piece.html)
    assert len(set(borders)) == 5
    assert piece.text == "Corrupted\nto _[mask] be[random] or[kept] not[target]"
    assert tokens_html(["a"], ["not selected"]).text == "a"


def test_bad_states_are_refused():
    with pytest.raises(ValueError, match="one state a token, got 2, 1"):
        tokens_html(["a", "b"], ["kept"])
    with pytest.raises(ValueError, match=r"got \['gone'\]"):
        tokens_html(["a"], ["gone"])


def test_nothing_is_loaded_from_elsewhere():
    pieces = [bars_html(["a"], [1], "c"), table_html(["a"], [["b"]]), tokens_html(["a"], ["kept"])]
    assert not any(word in piece.html for piece in pieces for word in ("http", "src=", "<script"))
