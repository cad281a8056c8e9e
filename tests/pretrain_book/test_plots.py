# SPDX-License-Identifier: MIT
"""Figures: what is drawn is what the numbers say, and colour is never the only cue."""

import io
import itertools

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from pretrain.masks import causal_mask
from pretrain.objectives import REPLACEMENTS
from pretrain_book import plots as p
from pretrain_book.style import PALE

mpl.use("Agg")


@pytest.fixture
def ax():
    """Give axes of a wide figure in the book's style, and close everything afterwards."""
    with plt.rc_context():
        p.use_book_style()
        yield plt.subplots(figsize=p.FIG_WIDE)[1]
    plt.close("all")


def cells(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_importing_changes_no_default_and_the_style_does():
    with plt.rc_context():
        before = dict(plt.rcParams)
        import pretrain_book.style

        assert dict(plt.rcParams) == before
        pretrain_book.style.use_book_style()
        sizes = [plt.rcParams[f"{k}.labelsize"] for k in ("axes", "xtick", "ytick")]
        assert min(*sizes, plt.rcParams["legend.fontsize"]) >= 8.5
        assert tuple(plt.rcParams["figure.figsize"]) == p.FIG_WIDE


def test_paradigms_differ_in_colour_marker_line_and_hatch():
    for cue in ("color", "marker", "linestyle", "hatch", "label"):
        assert len({str(getattr(style, cue)) for style in p.STYLE.values()}) == 4
    assert len({str(style.linestyle) for style in p.BASELINES}) == len(p.BASELINES)
    assert p.STYLE["gpt"].color == "#0072B2"


def test_an_unknown_style_is_refused():
    with pytest.raises(ValueError, match="got 'rnn'"):
        p.style_of("rnn")
    with pytest.raises(ValueError, match=r"baseline in 0\.\.3, got 4"):
        p.style_of("baseline", 4)


def test_a_mask_marks_exactly_the_allowed_cells(ax):
    mask = causal_mask(5)
    p.draw_mask(ax, mask, list("abcde"), list("vw yz"))
    (dots,) = ax.lines
    marked = set(zip(dots.get_ydata(), dots.get_xdata(), strict=True))
    assert marked == {tuple(cell) for cell in torch.nonzero(mask).tolist()}
    filled = [box for box in cells(ax) if to_hex(box.get_facecolor()) != PALE]
    assert len(filled) == mask.sum()
    assert len(cells(ax)) == 25


def test_rows_are_queries_from_the_top_and_columns_are_keys(ax):
    p.draw_mask(ax, np.ones((2, 3), bool), ["q0", "q1"], ["k0", "k1", " "])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("key", "query")
    bottom, top = ax.get_ylim()
    assert bottom > top
    assert [label.get_text() for label in ax.get_xticklabels()] == ["k0", "k1", "␣"]


def test_a_long_grid_names_only_some_positions(ax):
    p.draw_mask(ax, np.ones((40, 40), bool))
    assert len(ax.get_xticks()) <= 13


@pytest.mark.parametrize("mask", [np.ones((2, 2)), np.ones(3, bool), np.ones((1, 2, 2), bool)])
def test_a_mask_that_is_none_is_refused(ax, mask):
    with pytest.raises(ValueError, match="must be bool"):
        p.draw_mask(ax, mask)


def test_labels_that_do_not_fit_are_refused(ax):
    with pytest.raises(ValueError, match="expected 2 labels, got 3"):
        p.draw_mask(ax, np.ones((2, 2), bool), list("abc"))


def test_a_small_matrix_prints_its_numbers_in_readable_ink(ax):
    p.draw_matrix(ax, [[0.0, 1.0], [np.nan, 0.5]], label="weight")
    assert texts(ax) == ["0.00", "1.00", "0.50"]
    light, dark, _ = ax.texts
    assert light.get_color() != dark.get_color() == "white"
    assert ax.figure.axes[1].get_ylabel() == "weight"


def test_a_large_matrix_prints_none(ax):
    p.draw_matrix(ax, np.eye(9))
    assert texts(ax) == []


def test_a_matrix_without_two_axes_is_refused(ax):
    with pytest.raises(ValueError, match=r"must be \(T, S\)"):
        p.draw_matrix(ax, [1.0, 2.0])


def test_a_curve_takes_the_look_of_its_paradigm(ax):
    p.draw_curve(ax, range(100), np.linspace(4, 2, 100), "bert")
    p.draw_curve(ax, [0, 1], [3, 3], "baseline", "unigram", baseline=1)
    bert, unigram = ax.lines
    style = p.STYLE["bert"]
    look = (bert.get_color(), bert.get_marker(), bert.get_linestyle(), bert.get_label())
    assert look == (style.color, style.marker, style.linestyle, "BERT")
    assert (unigram.get_marker(), unigram.get_label()) == ("x", "unigram")
    assert ax.get_ylabel() == "loss (nats per token)"


@pytest.mark.parametrize(
    ("steps", "losses", "message"),
    [([0, 1], [1.0], "one length"), ([], [], "one length"), ([0, 1], [1.0, np.nan], "finite")],
)
def test_a_curve_that_cannot_be_drawn_is_refused(ax, steps, losses, message):
    with pytest.raises(ValueError, match=message):
        p.draw_curve(ax, steps, losses, "gpt")


def edges(ax):
    points = ax.collections[0].get_paths()[0].vertices
    middle = points[points[:, 0] == 1, 1]
    return middle.min(), middle.max()


def test_a_band_spans_the_runs_around_their_mean(ax):
    p.draw_band(ax, [0, 1, 2], [[1, 2, 3], [1, 4, 3]], "t5")
    assert ax.lines[0].get_ydata().tolist() == [1, 3, 3]
    assert edges(ax) == (2, 4)


def test_an_interval_is_students(ax):
    p.draw_band(ax, [0, 1, 2], [[0, 1, 0], [0, 2, 0], [0, 3, 0]], "gpt", "ours", kind="interval")
    half = 4.303 / np.sqrt(3)
    assert edges(ax) == pytest.approx((2 - half, 2 + half))
    assert ax.lines[0].get_label() == "ours"


@pytest.mark.parametrize(
    ("runs", "kind", "message"),
    [
        ([1.0, 2.0], "range", "must be"),
        ([[1.0, 2.0]], "interval", "at least 2 seeds, got 1"),
        ([[1.0, 2.0]], "spread", "got 'spread'"),
        ([[1.0, 2.0, 3.0]], "range", "one length"),
    ],
)
def test_a_band_that_cannot_be_drawn_is_refused(ax, runs, kind, message):
    with pytest.raises(ValueError, match=message):
        p.draw_band(ax, [0, 1], runs, "gpt", kind=kind)


def test_chance_is_a_named_dashed_line_on_either_axis(ax):
    p.draw_chance(ax, 0.5)
    p.draw_chance(ax, 2.0, "uniform", vertical=True)
    across, upright = ax.lines
    assert set(across.get_ydata()) == {0.5}
    assert set(upright.get_xdata()) == {2.0}
    assert across.is_dashed()
    assert texts(ax) == ["chance", "uniform"]
    assert ax.texts[0].xy[0] == 1.0  # at the edge, written outwards: never on the data
    assert ax.texts[0].get_ha() == "left"
    with pytest.raises(ValueError, match="finite level"):
        p.draw_chance(ax, np.inf)


class TestNamesInTheMargin:
    def heights(self, ax) -> list[float]:
        """Return the heights of the names, in points, from the lowest."""
        ax.figure.draw_without_rendering()
        found = [text.get_window_extent() for text in ax.texts if text.get_text()]
        return sorted((box.y0 + box.y1) / 2 * 72 / ax.figure.dpi for box in found)

    def test_names_stand_at_line_ends_in_their_colours(self, ax):
        p.draw_curve(ax, [1, 2], [1, 2], "gpt", "ours")
        p.draw_curve(ax, [1, 2], [2, 9], "bert", "theirs")
        p.label_ends(ax)
        assert texts(ax) == ["ours", "theirs"]
        assert [to_hex(text.get_color()) for text in ax.texts] == ["#0072b2", "#009e73"]
        assert [text.xy[1] for text in ax.texts] == pytest.approx([2, 9])

    def test_names_stand_inside_the_figure_where_nobody_set_limits(self, ax):
        p.draw_curve(ax, [1, 1500], [5.0, 2.0], "gpt", "ours")
        p.label_ends(ax)
        (name,) = ax.texts
        assert 0.5 < name.xy[0] <= 1

    def test_names_that_would_meet_move_apart(self, ax):
        for end in (5.0, 5.01, 5.02):
            p.draw_curve(ax, [1, 2], [0, end], "gpt", f"line {end}")
        p.draw_chance(ax, 5.01)
        p.label_ends(ax, gap=12)
        low = self.heights(ax)
        assert len(low) == 4
        assert min(b - a for a, b in itertools.pairwise(low)) > 11.5
        order = sorted(
            (text for text in ax.texts if text.get_text()),
            key=lambda text: text.get_window_extent().y0,
        )
        assert (order[0].get_text(), order[-1].get_text()) == ("line 5.0", "line 5.02")

    def test_parts_of_a_bar_are_named_beside_it(self, ax):
        ax.bar([0], [1])
        p.label_parts(ax, 0.4, [("low", 0.2, "#444444"), ("high", 0.8, "#009E73")])
        assert texts(ax) == ["low", "high"]

    def test_a_plot_without_names_is_refused(self, ax):
        ax.plot([1, 2], [1, 2])
        with pytest.raises(ValueError, match="expects lines with labels"):
            p.label_ends(ax)


def test_a_function_may_write_the_numbers_of_bars(ax):
    p.draw_bars(ax, ["a", "b"], [2.0, 0.01], fmt=lambda n: f"{n:.0f}" if n >= 1 else "< 1")
    assert texts(ax) == ["2", "< 1"]


def test_bars_are_as_long_as_their_numbers_and_print_them(ax):
    p.draw_bars(ax, ["KN", "GPT"], [2.25, 1.5], [0.5, 0.25], paradigms=["baseline", "gpt"])
    assert [box.get_width() for box in cells(ax)] == [2.25, 1.5]
    assert texts(ax) == ["2.25", "1.50"]
    assert [text.xy[0] for text in ax.texts] == [2.75, 1.75]
    assert cells(ax)[0].get_facecolor() != cells(ax)[1].get_facecolor()
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first bar is the uppermost


@pytest.mark.parametrize(
    ("labels", "values", "options", "message"),
    [
        (["a"], [1, 2], {}, "one length"),
        (["a"], [np.nan], {}, "finite"),
        (["a"], [1], {"errors": [1, 2]}, "errors must be"),
        (["a"], [1], {"errors": [-1]}, "not negative"),
        (["a"], [1], {"paradigms": ["gpt", "t5"]}, "one paradigm a bar"),
    ],
)
def test_bars_that_cannot_be_drawn_are_refused(ax, labels, values, options, message):
    with pytest.raises(ValueError, match=message):
        p.draw_bars(ax, labels, values, **options)


def test_states_of_tokens_differ_without_colour(ax):
    states = [*REPLACEMENTS, "target"]
    p.draw_tokens(ax, ["to", " ", "be", "or", "not"], states, label="input")
    looks = {(b.get_hatch(), b.get_linestyle(), b.get_linewidth()) for b in cells(ax)}
    assert len(looks) == 5
    words = ["to", "␣", "mask", "be", "random", "or", "kept", "not", "target", "input"]
    assert texts(ax) == words


def test_rows_of_tokens_stand_below_each_other(ax):
    for row in range(3):
        p.draw_tokens(ax, list("abc"), row=row, words=False)
    bottom, top = ax.get_ylim()
    assert bottom > 2
    assert top < 0
    assert len(cells(ax)) == 9
    p.draw_token_key(ax, ["masked", "target"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["masked", "target"]


def test_bad_tokens_are_refused(ax):
    with pytest.raises(ValueError, match="one state a token, got 1 for 2"):
        p.draw_tokens(ax, ["a", "b"], ["kept"])
    with pytest.raises(ValueError, match="one state a token, got 0 for 0"):
        p.draw_tokens(ax, [])
    with pytest.raises(ValueError, match=r"got \['lost'\]"):
        p.draw_tokens(ax, ["a"], ["lost"])
    with pytest.raises(ValueError, match=r"got \['lost'\]"):
        p.draw_token_key(ax, ["lost"])


def test_a_full_figure_stays_below_100_kilobytes(ax):
    x = np.linspace(0, 600, 60)
    for shift, paradigm in enumerate(("gpt", "bert", "t5")):
        p.draw_band(ax, x, [np.exp(-x / 150) + shift, np.exp(-x / 170) + shift], paradigm)
    ax.legend()
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="png")
    assert buffer.tell() < 100_000
