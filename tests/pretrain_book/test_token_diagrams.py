# SPDX-License-Identifier: MIT
"""Drawings of cuts show every piece, and mark what was taken."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Arc, Rectangle

from pretrain_book.token_diagrams import draw_lattice, draw_merges, draw_sum, draw_tries


def words() -> list[str]:
    """Read the texts of the figure that was drawn last."""
    return [text.get_text() for text in plt.gcf().axes[0].texts]


def test_a_tree_holds_letters_and_merges_once():
    draw_merges([[list("tea"), ["t", "ea"], ["tea"]]])
    assert sorted(words()) == sorted(["t", "e", "a", "ea", "1", "tea", "2"])
    assert len(plt.gcf().axes[0].lines) == 4, "two lines to each merge"


def test_a_try_tells_what_it_found():
    draw_tries("tea", [(0, 3, False), (0, 2, True), (2, 3, True)])
    told = [word for word in words() if len(word) > 1]
    assert told == ["tea  not in the list", "te  ✓ taken", "##a  ✓ taken"]


def test_a_lattice_has_an_edge_for_each_piece_and_a_bold_path():
    draw_lattice("team", {"t": 0.1, "ea": 0.2, "eam": 0.3, "m": 0.4}, ["t", "eam"])
    assert sorted(words()) == sorted(["t 0.1", "ea 0.2", "eam 0.3", "m 0.4"])
    arcs = [patch for patch in plt.gcf().axes[0].patches if isinstance(patch, Arc)]
    assert len(arcs) == 2
    bold = [text.get_text() for text in plt.gcf().axes[0].texts if text.get_weight() == "bold"]
    assert bold == ["t 0.1", "eam 0.3"]


def test_a_sum_has_a_cell_for_each_number():
    numbers = np.zeros((2, 4))
    draw_sum(["a", "b"], {"token": (["7", "8"], numbers), "= input": (["", ""], numbers)})
    frames_and_cells = [p for p in plt.gcf().axes[0].patches if isinstance(p, Rectangle)]
    assert len(frames_and_cells) == 2 * 2 * (4 + 1)
