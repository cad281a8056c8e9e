# SPDX-License-Identifier: MIT
"""A stored figure: the same text in every run, its words as words, and nothing useless."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from pretrain_book import style

mpl.use("Agg")


def draw() -> Figure:
    """Draw a figure with a line, a logarithmic axis, an image and words."""
    figure, (left, right) = plt.subplots(1, 2)
    left.plot(np.arange(1, 9), 1 / np.arange(1, 9) / 3, marker="o", label="loss")
    left.set(xscale="log", title="It falls")
    right.imshow(np.eye(3), cmap="Blues")
    return figure


@pytest.fixture
def figure() -> Iterator[Figure]:
    """Give the figure in the book's style, and close everything afterwards."""
    with plt.rc_context():
        style.use_book_style()
        yield draw()
    plt.close("all")


def test_two_runs_store_the_same_text(figure: Figure):
    assert style.svg_of(figure) == style.svg_of(draw())


def test_words_are_words_in_the_books_typeface(figure: Figure):
    svg = style.svg_of(figure)
    assert re.search(rf"<text[^>]*'{style.FACE}'[^>]*>It falls</text>", svg)


def test_what_is_named_is_used_and_what_is_used_is_named(figure: Figure):
    svg = style.svg_of(figure)
    named = re.findall(r' id="([^"]+)"', svg)
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    assert len(named) == len(set(named))
    assert set(named) == used != set()


def test_numbers_are_short_and_no_date_is_kept(figure: Figure):
    svg = style.svg_of(figure)
    ET.fromstring(svg)  # whole
    assert "metadata" not in svg
    assert re.findall(r"[\d]\.\d{5,}", svg) == []


def test_without_the_typeface_a_reader_gets_matplotlibs_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(style.importlib.util, "find_spec", lambda name: None)
    with plt.rc_context():
        style.use_book_style()
        assert plt.rcParams["font.family"] == [style.SPARE_FACE]
