# SPDX-License-Identifier: MIT
"""The dated facts are complete, in order, and cited; dates are read as they are written."""

import itertools
import re
from dataclasses import astuple, replace

import pytest
from matplotlib import pyplot as plt

from pretrain_book.timeline import (
    KINDS,
    check_steps,
    decimal_year,
    draw_lineage,
    draw_timeline,
    lineage_size,
    load_timeline,
)
from pretrain_lab.paths import ROOT


def test_every_entry_is_cited() -> None:
    """Each key is in the bibliography, and each entry says where its date or number stands."""
    timeline = load_timeline()
    bibliography = (ROOT / "chapters" / "references.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{([^,]+),", bibliography, re.M))
    entries = [*timeline.steps, *timeline.scores, *timeline.corpora]
    assert {entry.key for entry in entries} <= keys
    assert all(entry.seen for entry in entries)


def test_no_field_is_empty_but_the_last_steps() -> None:
    """Only the last step has no successor; every other field of every step says something."""
    *earlier, last = load_timeline().steps
    assert (last.next, last.fix) == ("", "")
    assert all(all(astuple(step)) for step in earlier)
    assert len({step.name for step in earlier}) == len(earlier) >= 10


def test_groups_are_in_order_of_time() -> None:
    """Steps and scores rise in date, and the scores of this benchmark rose with them."""
    timeline = load_timeline()
    for group in (timeline.steps, timeline.scores, timeline.corpora):
        years = [decimal_year(entry.date) for entry in group]
        assert years == sorted(years)
    values = [score.value for score in timeline.scores]
    assert values == sorted(values)
    assert {score.kind for score in timeline.scores} <= set(KINDS)


def test_every_kind_occurs() -> None:
    """No column of the drawing is empty."""
    assert {step.kind for step in load_timeline().steps} == set(KINDS)


@pytest.mark.parametrize(
    ("date", "year"),
    [("1982", 1982.5), ("2018-01", 2018 + 0.5 / 12), ("2018-01-31", 2018 + 30.5 / 31 / 12)],
)
def test_dates_by_hand(date: str, year: float) -> None:
    """The middle of a year, of a month, of a day."""
    assert decimal_year(date) == pytest.approx(year)


@pytest.mark.parametrize("date", ["18", "2018-13", "2018-00", "2018-01-32", "2018-1", "May 2018"])
def test_dates_that_are_none(date: str) -> None:
    """Other forms, and months and days that do not exist."""
    with pytest.raises(ValueError, match="expected a"):
        decimal_year(date)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "other"}, "expected a kind"),
        ({"next": "nobody"}, "expected a step named 'nobody'"),
        ({"next": ""}, "both `next` and `fix`"),
    ],
)
def test_steps_refused(change: dict[str, str], message: str) -> None:
    """Unknown kind, unknown successor, a change without one."""
    first, *others = load_timeline().steps
    with pytest.raises(ValueError, match=message):
        check_steps([replace(first, **change), *others])


def test_a_step_must_come_before_its_successor() -> None:
    """A date behind that of the successor is an error of the file."""
    first, *others = load_timeline().steps
    with pytest.raises(ValueError, match="to be later than"):
        check_steps([replace(first, date="2025"), *others])


def test_lineage_draws_every_step_once() -> None:
    """Each name is drawn once and inside the figure; each step that was mended has a line."""
    steps = load_timeline().steps
    width, height = lineage_size()
    figure, ax = plt.subplots(figsize=(width, height))
    draw_lineage(ax, steps)
    texts = [text.get_text() for text in ax.texts]
    assert all(texts.count(step.name) == 1 for step in steps)
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_zorder() == 1]
    assert len(lines) == sum(bool(step.next) for step in steps)
    assert all(0 < text.get_position()[1] < height for text in ax.texts)
    plt.close(figure)


def test_the_axis_of_years_is_to_scale_in_two_parts() -> None:
    """Equal times are equally long, before 2013 and after it; names of a column do not meet."""
    steps = load_timeline().steps
    figure, ax = plt.subplots(figsize=lineage_size())
    draw_lineage(ax, steps)
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["1980"] - heights["1990"] == pytest.approx(heights["1990"] - heights["2000"])
    assert heights["2013"] - heights["2015"] == pytest.approx(heights["2019"] - heights["2021"])
    assert heights["2013"] - heights["2015"] == pytest.approx(
        2 * (heights["1980"] - heights["1990"])
    )
    for kind in {step.kind for step in steps}:
        column = [heights[step.name] for step in steps if step.kind == kind]
        assert all(a - b > 0.16 for a, b in itertools.pairwise(column))
    plt.close(figure)


def test_the_line_of_years_is_to_scale_and_its_names_keep_apart() -> None:
    """Ten years are ten times as long as one; names stand in order, a line apart."""
    notes = dict.fromkeys(["word2vec", "ULMFiT", "ELMo", "GPT", "BERT", "GPT-2", "ChatGPT"], "…")
    figure = plt.figure(figsize=(5, 4))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 5), ylim=(0, 4))
    draw_timeline(ax, load_timeline().steps, notes, first=2013, last=2023)
    places = {text.get_text(): text.get_position()[1] for text in ax.texts}
    years = [places[str(year)] for year in range(2013, 2024)]
    assert all(a - b == pytest.approx(0.38) for a, b in itertools.pairwise(years))
    names = [places[name] for name in notes]
    assert all(a - b >= 0.2 - 1e-9 for a, b in itertools.pairwise(names))
    assert names[0] == pytest.approx(places["2013"], abs=0.05)
    with pytest.raises(ValueError, match="expected names of steps, got \\['GPT-9'\\]"):
        draw_timeline(ax, load_timeline().steps, {"GPT-9": "…"}, first=2013, last=2023)
    plt.close(figure)
