# SPDX-License-Identifier: MIT
"""The label study: no film on two sides, nested subsets, and statistics checked by hand."""

import json
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
import torch

from experiments.book_models import mini_models, vocabularies
from experiments.ch08_labels import data, method_table, methods, record
from experiments.common import statistics
from pretrain_lab.corpora.loading import (
    film_split,
    load_plots,
    load_reviews,
    load_shakespeare,
    play_split,
)
from pretrain_lab.paths import CHECKPOINTS

NAMES = ("gpt", "bert", "t5")
SENTENCES = data.Sentences()


def test_no_film_is_in_two_splits() -> None:
    """Recomputed from the films' names, for labels and for the mini models' text."""
    films = {split: set(SENTENCES.films(split)) for split in ("train", "validation", "test")}
    assert not films["train"] & films["validation"]
    assert not (films["train"] | films["validation"]) & films["test"]
    assert all(film_split(film) == split for split, group in films.items() for film in group)
    assert sum(map(len, films.values())) == len({review.film for review in load_reviews()})
    read = {source.origin for source in mini_models.sources("train")}
    assert not read & (films["validation"] | films["test"])
    assert not read & {plot.film for plot in load_plots() if film_split(plot.film) != "train"}
    assert not read & {p.slug for p in load_shakespeare() if play_split(p.slug) != "train"}
    assert films["train"] <= read


def test_no_test_sentence_is_read_in_pre_training() -> None:
    """Neither by the mini models nor by book_bert; told by its letters, not by its film."""

    def letters(texts: Iterable[str]) -> set[str]:
        """Reduce texts to lower-case letters and digits."""
        return {"".join(filter(str.isalnum, text.lower())) for text in texts}

    read = letters(source.text for source in mini_models.sources("train"))
    read |= letters(vocabularies.book_texts("train"))
    unseen = [*SENTENCES.of("test"), *SENTENCES.of("validation")]
    assert not read & letters(review.sentence for review in unseen)


def test_texts_of_other_splits_are_refused() -> None:
    """One foreign film and one foreign play are named."""
    foreign = next(s for s in mini_models.sources("test") if s.kind == "review")
    with pytest.raises(ValueError, match=f"{foreign.origin!r} of test"):
        mini_models.check_split([*mini_models.sources("train"), foreign], "train")
    with pytest.raises(ValueError, match="'macbeth' of test"):
        mini_models.check_split([mini_models.Source("play", "macbeth", "")], "train")


def test_the_order_of_the_reviews_tells_no_label() -> None:
    """In the file, neighbours agree more often than chance; in the named text they do not."""
    labels = {review.sentence: review.label for review in load_reviews("train")}
    in_file = np.array([review.label for review in load_reviews("train")])
    found = [s.text for s in mini_models.sources("train") if s.kind == "review"]
    in_text = np.array([labels[text] for text in found])
    chance = in_text.mean() ** 2 + (1 - in_text.mean()) ** 2
    noise = (chance * (1 - chance) / len(in_text)) ** 0.5
    assert sorted(found) == sorted(labels)
    assert (in_file[1:] == in_file[:-1]).mean() > chance + 4 * noise
    assert abs((in_text[1:] == in_text[:-1]).mean() - chance) < 4 * noise


def test_subsets_are_nested() -> None:
    """The labels of a smaller number are in the larger; other seeds draw other ones."""
    n_labels = data.N_LABELS
    assert n_labels[-1] == len(SENTENCES.of("train"))
    for seed in (0, 1, 100):
        groups = [SENTENCES.subset(n, seed) for n in n_labels]
        assert [len(set(group)) for group in groups] == list(n_labels)
        for small, large in pairwise(groups):
            assert large[: len(small)] == small
        few = [SENTENCES.of("train")[i] for i in groups[0]]
        assert {film_split(review.film) for review in few} == {"train"}
        assert {review.label for review in few} == {0, 1}
    assert set(SENTENCES.subset(32, 0)) != set(SENTENCES.subset(32, 100))
    with pytest.raises(ValueError, match="expected n in"):
        SENTENCES.subset(n_labels[-1] + 1, 0)


def test_readers() -> None:
    """Mini models read at most 64 tokens between two [SEP]; the others read all."""
    longest = max(SENTENCES.of("test"), key=lambda review: len(review.sentence)).sentence
    mini, published = data.read_text(longest, "mini"), data.read_text(longest, "published")
    sep, tokenizer = data.TOKENIZER.sep_id, data.tokenizer_of("published")
    assert len(mini) == 64
    assert mini[0] == mini[-1] == sep
    assert (published[0], published[-1]) == (tokenizer.cls_id, tokenizer.sep_id)
    for reader in ("book", "published"):
        assert max(len(text) for text in SENTENCES.encoded("train", reader)) < data.MAX_LEN


def test_every_arm_has_the_same_effort() -> None:
    """Four different settings each, but for the baseline that is given more, and MiniLM's pair."""
    for name, arm in method_table.ARMS.items():
        n_settings = {"bow_more": 16, "minilm": 5, "random_minilm": 5}.get(name, 4)
        different = {json.dumps(setting, sort_keys=True) for setting in arm.grid}
        assert len(different) == len(arm.grid) == n_settings
        assert not set(arm.seeds) & {s for seeds in data.TUNED_AT.values() for s in seeds}
    assert set(data.USED) == set(data.N_LABELS)


def test_a_network_and_its_twin_choose_from_the_same_settings() -> None:
    """Pre-trained or not, the grids are equal, and so are the updates."""
    arms = method_table.ARMS
    for name, twin in (("mlm", "scratch"), ("book", "scratch_book"), ("minilm", "random_minilm")):
        assert arms[name].grid == arms[twin].grid
        assert arms[name].reader == arms[twin].reader
        assert arms[name].seeds == arms[twin].seeds


def test_settings_are_chosen_by_both_recalls() -> None:
    """A constant answer scores one half whatever the shares; ties go to the middle."""
    labels = torch.tensor([1, 1, 1, 0])
    always_fresh = "1110"
    assert methods.balanced(always_fresh, labels) == 0.5
    assert methods.balanced("0111", labels) == pytest.approx((2 / 3 + 1) / 2)
    assert methods.best_place([0.5, 0.5, 0.5, 0.4]) == 1
    assert methods.best_place([0.5, 0.6, 0.4, 0.6]) == 3


def test_hits_by_film() -> None:
    """By hand: three sentences of film a, one of b."""
    hits, sizes = statistics.by_film(np.array([[1.0, 0, 1, 1], [0, 0, 0, 1]]), ["a", "b", "a", "a"])
    assert hits.tolist() == [[3, 0], [1, 0]]
    assert sizes.tolist() == [3, 1]


def test_films_not_sentences_are_resampled() -> None:
    """Ten films, each all right or all wrong: as uncertain as ten sentences, not as 500."""
    hits, sizes = np.array([[50.0] * 5 + [0.0] * 5]), np.full(10, 50.0)
    found = statistics.film_interval(hits, statistics.draw(sizes, 1, 4000))
    assert found["mean"] == 0.5
    assert found["high"] - found["low"] == pytest.approx(0.6, abs=0.11)  # 500 sentences: 0.09


def test_paired_differences() -> None:
    """Films of very different difficulty: the pairing takes it out, an unpaired one would not."""
    easy = np.linspace(5, 45, 40)
    draws = statistics.draw(np.full(40, 50.0), 2, 2000)
    found = statistics.difference(np.stack([easy + 2, easy + 3]), np.stack([easy, easy]), draws)
    assert found["mean"] == pytest.approx(0.05)
    assert found["film_high"] - found["film_low"] < 1e-9  # every film has the same gap
    half = 12.7062 * 0.01 / 2  # t of one degree of freedom; two seeds, 0.04 and 0.06
    assert found["high"] - 0.05 == pytest.approx(half * 2**0.5 * 2**0.5, rel=1e-3)
    assert 0.05 - found["low"] == pytest.approx(found["high"] - 0.05)
    alone = statistics.film_interval(np.stack([easy + 2, easy + 3]), draws)
    assert alone["high"] - alone["low"] > 0.1


def test_needed_labels() -> None:
    """A made-up curve: the middle of a step is the geometric mean of its ends."""
    needed = statistics.needed_labels
    n_labels, curve = [10, 100, 1000], np.array([0.6, 0.7, 0.8])
    assert needed(n_labels, curve, 0.65) == (pytest.approx(10**1.5), "inside")
    assert needed(n_labels, curve, 0.7) == (pytest.approx(100), "inside")
    assert needed(n_labels, curve, 0.8) == (pytest.approx(1000), "inside")
    assert needed(n_labels, curve, 0.6) == (10, "fewer")
    assert needed(n_labels, curve, 0.81) == (1000, "more")
    fallen = np.array([0.6, 0.5, 0.8])  # not better until it is above 0.6
    assert needed(n_labels, fallen, 0.61) == (pytest.approx(100 * 10**0.05), "inside")


def test_worth() -> None:
    """An arm as good at 10 labels as its reference at 100 is worth ten times the labels."""
    sizes = np.full(30, 10.0)
    flat = {n: np.full((2, 30), hits) for n, hits in ((10, 6.0), (100, 7.0), (1000, 8.0))}
    arm = {10: np.full((2, 30), 7.0), 100: np.full((2, 30), 9.0), 1000: np.full((2, 30), 5.0)}
    draws = statistics.draw(sizes, 2, 200)
    found = statistics.worth(arm, flat, 10, draws)
    assert found["k"] == pytest.approx(10)
    assert (found["low"], found["high"]) == (pytest.approx(10), pytest.approx(10))
    assert not found["more_than_all"]
    assert not found["high_is_bound"]
    more = statistics.worth(arm, flat, 100, draws)
    assert (more["k"], more["more_than_all"], more["high_is_bound"]) == (10, True, True)
    assert more["share_more_than_all"] == 1
    fewer = statistics.worth(arm, flat, 1000, draws)
    assert (fewer["k"], fewer["fewer_than_least"], fewer["low_is_bound"]) == (0.01, True, True)


def test_every_pair_of_the_record_is_an_arm() -> None:
    """Names in the record's comparisons exist, and no pair is listed twice."""
    arms = method_table.ARMS
    assert {name for pair in record.PAIRS for name in pair} <= set(arms)
    assert len(set(record.PAIRS)) == len(record.PAIRS)
    assert {*record.WORTH, *record.REFERENCES, *record.CURVES} <= set(arms)


@pytest.mark.parametrize("name", NAMES)
def test_cards_of_the_mini_models(
    name: str,
) -> None:
    """The stored models were made from today's text with today's recipe."""
    path = CHECKPOINTS / f"mini_{name}.json"
    if not path.exists():
        pytest.skip(f"mini_{name} is not trained yet")
    card = json.loads(path.read_text())
    assert card["digest"] == mini_models.digest(name)
    assert card["n_texts"]["review"] == len(load_reviews("train"))
