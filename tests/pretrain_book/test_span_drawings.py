# SPDX-License-Identifier: MIT
"""Drawings of spans: a row that grows by one token a step, and the hole that is being filled."""

from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from matplotlib.patches import Rectangle

from pretrain_book.span_drawings import LIT, draw_tasks, draw_writing

READ = ["a", "<X>", "d", "<Y>"]
WRITTEN = ["<X>", "b", "c", "<Y>", "e", "<Z>"]


def words() -> list[str]:
    """Read the texts of the figure that was drawn last."""
    return [text.get_text() for text in plt.gcf().axes[0].texts]


def test_each_step_reads_what_was_written_before():
    draw_writing(READ, WRITTEN, "S")
    assert words().count("S") == len(WRITTEN)
    assert words().count("b") == 1 + 4, "written once, read at each later step"
    bold = [text.get_text() for text in plt.gcf().axes[0].texts if text.get_weight() == "bold"]
    assert bold == WRITTEN


def test_the_hole_that_is_filled_is_lit():
    draw_writing(READ, WRITTEN, "S")
    boxes = [patch for patch in plt.gcf().axes[0].patches if isinstance(patch, Rectangle)]
    lit = [same_color(box.get_edgecolor(), LIT) for box in boxes[2:]]  # the input's two come first
    steps = [lit[i : i + 2] for i in range(0, len(lit), 2)]
    assert steps == [[True, False]] * 3 + [[False, True]] * 2 + [[False, False]]


def test_a_task_shows_prefix_text_and_answer():
    draw_tasks({("reverse:", "a b"): "b a", ("", "a <X>"): "<X> b"})
    assert {"reverse:", "a b", "b a", "a <X>", "<X> b", "T5"} <= set(words())
