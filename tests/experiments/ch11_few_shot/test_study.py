# SPDX-License-Identifier: MIT
"""The in-context study: no film twice, intervals by hand, and an interrupted study goes on."""

import numpy as np
import pytest
import torch

from experiments.ch11_few_shot import bag_of_words, runs, tasks
from experiments.common import statistics
from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.statistics.intervals import wilson_interval


def test_no_film_gives_demonstration_and_question() -> None:
    """Films of demonstrations and of the bag's labels are never films that are asked."""
    asked = tasks.balanced_reviews(load_reviews("test"), 300, seed=0)
    assert len({review.sentence for review in asked}) == 300
    assert sum(review.label for review in asked) == 150
    films = {review.film for review in asked}
    assert not films & {review.film for review in load_reviews("train")}
    assert not films & {review.film for review in load_reviews("validation")}
    texts = {review.sentence for review in load_reviews("train")}
    for draw in range(5):
        shown = tasks.review_demonstrations(8, draw)
        assert {text for text, _ in shown} <= texts
        assert shown[:2] == tasks.review_demonstrations(2, draw), "draws are nested"


@pytest.mark.parametrize("task", ["opposites", "plurals", "past-tense"])
def test_no_demonstration_gives_an_answer_away(task: str) -> None:
    """No word is question and answer, none is asked twice; the eight shown are not asked."""
    items = tasks.word_items(task)
    questions = [item.text for item in items]
    assert len(set(questions)) == len(items) >= 35
    assert not set(questions) & {answer for item in items for answer in item.accepted}
    shown, asked = tasks.split_items(items, 0)
    assert len(shown) == 8
    assert {text for text, _ in shown} | {items[i].text for i in asked} == set(questions)
    assert len(asked) == len(items) - 8


def test_the_sums_are_right() -> None:
    """Python's own arithmetic agrees, and no sum stands twice."""
    for task in tasks.SUMS:
        items = tasks.sum_items(task)
        assert len({item.text for item in items}) == len(items) >= 81
        assert all(str(eval(item.text)) == item.accepted[0] for item in items)
        assert all(int(item.accepted[0]) >= 0 for item in items)


def test_summary_resamples_films() -> None:
    """Ten sentences of one film count as one witness: the interval is wider than Wilson's."""
    rows = ["1" * 50 + "0" * 50]
    films = [str(i // 10) for i in range(100)]
    by_film = statistics.summary(rows, films)
    alone = statistics.summary(rows)
    _, low, high = wilson_interval(50, 100)
    assert by_film["mean"] == alone["mean"] == 0.5
    assert by_film["high"] - by_film["low"] > 2 * (high - low)
    assert abs((alone["high"] - alone["low"]) - (high - low)) < 0.02
    assert statistics.summary(["1" * 30])["low"] == pytest.approx(wilson_interval(30, 30)[1])
    places = statistics.summary(["10", "11"], asked=[[0, 1], [1, 2]])
    assert places["mean"] == 0.75
    assert places["draws"] == [0.5, 1.0]
    assert places["n"] == 3


def test_order_needs_no_threshold() -> None:
    """Three of four pairs stand right, a tie is half; a shift of all scores changes nothing."""
    scores, truth = torch.tensor([0.1, 0.4, 0.3, 0.9]), torch.tensor([0, 0, 1, 1])
    assert runs.ordered(scores, truth) == runs.ordered(scores - 7, truth) == 0.75
    assert runs.ordered(torch.zeros(4), truth) == 0.5


def test_comparisons_are_paired() -> None:
    """An arm against itself differs by nothing; unpaired draws leave doubt, paired ones none."""
    rng = np.random.default_rng(0)
    rows = ["".join(map(str, row)) for row in rng.integers(0, 2, size=(5, 60))]
    better = [row.replace("0", "1", 6) for row in rows]
    same = statistics.compare(rows, rows, same_draws=True)
    assert same == {"mean": 0.0, "low": 0.0, "high": 0.0}
    paired = statistics.compare(better, rows, same_draws=True)
    apart = statistics.compare(better, rows[:3])
    assert paired["mean"] == pytest.approx(0.1)
    assert 0 < paired["low"] < 0.1 < paired["high"]
    assert paired["high"] - paired["low"] < apart["high"] - apart["low"]


def test_the_list_of_words_and_the_bag() -> None:
    """Ties are half a hit; the bag of words gets better with labels."""
    reviews = tasks.balanced_reviews(load_reviews("test"), 200, seed=0)
    hits = bag_of_words.word_list_hits(reviews)
    assert set(hits.tolist()) == {0.0, 0.5, 1.0}
    few, many = (bag_of_words.bag_of_words(reviews, n, 0)["default"].count("1") for n in (4, 2048))
    assert many > few + 10
