# SPDX-License-Identifier: MIT
"""Diagrams: the right parts in the right order, and no text outside of its box."""

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch, Rectangle

from pretrain_book import diagrams as d
from pretrain_book.diagrams import draw_arrow, draw_fork, draw_inset
from pretrain_book.style import FIG_WIDE, svg_of, use_book_style

mpl.use("Agg")


@pytest.fixture(autouse=True)
def book():
    """Draw in the book's style and close everything afterwards."""
    with plt.rc_context():
        use_book_style()
        yield
    plt.close("all")


def boxes(ax):
    """Name the boxes of each column from bottom to top."""
    patches = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    columns: dict[float, list[tuple[float, str]]] = {}
    for box in patches:
        x0, y0, x1, y1 = box.get_window_extent().extents
        inside = [
            text.get_text().replace("\n", " ")
            for text in ax.texts
            if text.get_text()
            and x0 <= text.get_window_extent().x0 + 3 <= x1
            and y0 <= ax.transData.transform(text.get_position())[1] <= y1
        ]
        columns.setdefault(round(x0), []).append((y0, " ".join(inside)))
    return [[name for _, name in sorted(columns[x])] for x in sorted(columns)]


def drawn(*kinds):
    figure = d.draw_stacks(*kinds)
    figure.canvas.draw()
    return figure.axes


def test_gpt_normalises_before_each_part_and_after_the_last_block():
    (column,) = boxes(drawn("gpt")[0])
    assert column == [
        "token + position",
        "LayerNorm",
        "causal self-attention",
        "LayerNorm",
        "feed-forward",
        "LayerNorm",
        "output (tied)",
    ]


def test_bert_normalises_after_each_addition_and_has_the_masked_lm_head():
    (column,) = boxes(drawn("bert")[0])
    assert column == [
        "token + position + segment",
        "LayerNorm",
        "self-attention",
        "LayerNorm",
        "feed-forward",
        "LayerNorm",
        "dense, GELU",
        "LayerNorm",
        "output (tied) + bias",
    ]


def test_t5_has_relative_biases_but_not_in_cross_attention():
    encoder, decoder = boxes(drawn("t5")[0])
    assert encoder[-1] == decoder[-2] == "RMSNorm"
    assert encoder[2] == decoder[2] == "self-attention + relative bias"
    assert decoder[4] == "cross- attention"
    assert "position" not in " ".join(encoder + decoder)


@pytest.mark.parametrize(("kind", "n_filled"), [("gpt", 10), ("bert", 16), ("t5", 16 + 10 + 12)])
def test_insets_show_the_masks(kind, n_filled):
    (ax,) = drawn(kind)
    cells = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_zorder()]
    filled = [cell for cell in cells if cell.get_facecolor()[:3] != (1, 1, 1)]
    assert len(filled) == n_filled


@pytest.mark.parametrize(("kind", "n_adds"), [("gpt", 2), ("bert", 2), ("t5", 2 + 3)])
def test_every_part_has_its_residual_addition(kind, n_adds):
    (ax,) = drawn(kind)
    assert sum(line.get_marker() == "+" for line in ax.lines) == n_adds


def assert_text_fits(ax):
    patches = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    frame = ax.figure.bbox
    for text in ax.texts:
        area = text.get_window_extent()
        if not text.get_text():
            continue
        assert text.get_fontsize() >= 8
        assert frame.x0 <= area.x0 <= area.x1 <= frame.x1, text.get_text()
        centre = ((area.x0 + area.x1) / 2, (area.y0 + area.y1) / 2)
        for box in (patch.get_window_extent() for patch in patches):
            if box.contains(*centre):
                assert box.x0 < area.x0 < area.x1 < box.x1, text.get_text()
                assert box.y0 < area.y0 < area.y1 < box.y1, text.get_text()
            else:
                assert not box.overlaps(area), text.get_text()


def test_no_text_leaves_its_box_or_the_figure():
    figure = d.draw_three_stacks()
    figure.canvas.draw()
    for ax in figure.axes:
        assert_text_fits(ax)


def test_the_three_stacks_are_as_wide_as_the_text_and_light():
    figure = d.draw_three_stacks()
    assert figure.get_figwidth() == 7.0
    assert len(svg_of(figure).encode()) < 100_000


def test_unknown_stacks_are_refused():
    with pytest.raises(ValueError, match="got 'rnn'"):
        d.draw_stack(plt.subplots()[1], "rnn")
    with pytest.raises(ValueError, match="at least one stack"):
        d.draw_stacks()
    with pytest.raises(ValueError, match=r"'bert' needs \d\.\d\d inches, got 1\.00"):
        d.draw_stack(plt.subplots()[1], "bert", 1.0)


def test_a_single_stack_takes_just_its_height():
    ax = plt.subplots()[1]
    d.draw_stack(ax, "gpt")
    assert ax.get_ylim()[1] == pytest.approx(d.draw_stacks("gpt").get_figheight())


@pytest.mark.parametrize(
    ("norm", "order"),
    [
        ("pre", ["norm", "attention", "norm", "feed-forward"]),
        ("post", ["attention", "norm", "feed-forward", "norm"]),
    ],
)
def test_a_block_puts_its_norms_where_they_belong(norm, order):
    figure, ax = plt.subplots(figsize=FIG_WIDE)
    d.draw_block(ax, norm, "gpt")
    figure.canvas.draw()
    assert boxes(ax) == [order]
    assert_text_fits(ax)


def test_an_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="got 'mid'"):
        d.draw_block(plt.subplots()[1], "mid")


def test_bad_shapes_are_refused():
    ax = plt.subplots()[1]
    with pytest.raises(ValueError, match="at least two points"):
        draw_arrow(ax, (0, 0))
    with pytest.raises(ValueError, match="got 'sparse'"):
        draw_inset(ax, (0, 0), "sparse", "red")


def test_one_unit_of_a_blank_sheet_is_an_inch():
    ax = d.blank_sheet(4.3, 3.2)
    inch = ax.transData.transform((1, 1)) - ax.transData.transform((0, 0))
    assert inch.round(6).tolist() == [ax.figure.dpi] * 2
    assert ax.figure.get_size_inches().tolist() == [4.3, 3.2]


def test_a_fork_leads_from_its_question_to_each_answer():
    ax = plt.figure().add_subplot()
    draw_fork(ax, (2, 3), [(1, 2), (3, 1.5)], "no", "yes")
    assert [line.get_xydata()[0].tolist() for line in ax.lines] == [[2, 3], [2, 3]]
    heads = [note.xy for note in ax.texts if not note.get_text()]
    assert heads == [(1, 2), (3, 1.5)]
    beside = [text.get_position()[0] for text in ax.texts if text.get_text()]
    assert 1 < beside[0] < 2
    assert beside[1] > 3


def test_a_fork_needs_an_answer_for_each_end():
    with pytest.raises(ValueError, match="1 for 2 ends"):
        draw_fork(plt.figure().add_subplot(), (2, 3), [(1, 2), (3, 2)], "no")
