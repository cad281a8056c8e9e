# SPDX-License-Identifier: MIT
"""The n-gram baselines: proper distributions, a hand-worked example, better than unigrams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrain_lab.baselines.bidirectional_ngrams import BidirectionalNGram
from pretrain_lab.baselines.kneser_ney import (
    KneserNey,
    UnigramModel,
    discounted,
    encode_texts,
    neighbours,
    text_starts,
)
from pretrain_lab.corpora.cleaning import PLAY_ALPHABET
from pretrain_lab.corpora.loading import load_shakespeare

V = 5


@pytest.fixture(scope="module")
def play_ids():
    """Return 60,000 characters of Coriolanus to fit on and the next 20,000 to score."""
    play = next(p for p in load_shakespeare("train") if p.slug == "coriolanus")
    ids, _ = encode_texts([play.text], PLAY_ALPHABET)
    return ids[:60_000], ids[60_000:80_000]


def random_text(seed, length=200):
    """Draw a text in which some symbols are rare and V - 1 never occurs."""
    return np.random.default_rng(seed).choice(V - 1, size=length, p=[0.6, 0.3, 0.08, 0.02])


def test_unigram_counts_one_extra_of_each():
    log_p = UnigramModel(3).fit([0, 0, 1]).log_probs([0, 1, 2])
    assert np.allclose(np.exp(log_p), [3 / 6, 2 / 6, 1 / 6])


@pytest.mark.parametrize("discounts", ["modified", "absolute"])
def test_hand_worked_bigrams(discounts):
    # Text 0 1 0 0 over V = 2; "^" is the start. Windows: ^0, 01, 10, 00, each once.
    # Too few rare windows to estimate discounts: one occurrence loses 1/2 (both kinds), two lose 1
    # (modified) or 1/2 (absolute), three lose 3/2 (modified) or 1/2 (absolute).
    model = KneserNey(2, 2, discounts).fit([0, 1, 0, 0])
    three, one = (1.5, 0.5) if discounts == "modified" else (0.5, 0.5)
    # Order 1 counts what stands before: 0 follows ^, 1 and 0 (three), 1 follows 0 (one); total 4.
    held_back = (three + one) / 4
    p0 = (3 - three) / 4 + held_back / 2
    p1 = (1 - one) / 4 + held_back / 2
    assert p0 + p1 == pytest.approx(1)
    # After 0: windows 01 and 00, total 2, each loses 1/2, so half of the mass is held back.
    after_0 = [0.25 + 0.5 * p0, 0.25 + 0.5 * p1]
    # After 1: window 10 alone, total 1, half held back. The start behaves alike: window ^0 alone.
    after_1 = [0.5 + 0.5 * p0, 0.5 * p1]
    assert np.allclose(model.next_probs([[0], [1]]), [after_0, after_1])
    expected = [after_1[0], after_0[1], after_1[0], after_0[0]]
    assert np.allclose(np.exp(model.log_probs([0, 1, 0, 0])), expected)


def test_hand_worked_symbols_with_one_discount():
    # Text 0 0 1: one symbol once, one twice, so each count loses 1 / (1 + 2) and 2/9 is shared.
    probs = np.exp(KneserNey(1, 2, "absolute").fit([0, 0, 1]).log_probs([0, 1]))
    assert np.allclose(probs, [5 / 9 + 1 / 9, 2 / 9 + 1 / 9])


def test_the_longest_codes_are_exact():
    assert np.allclose(KneserNey(62, 1).fit([0, 0, 0]).log_probs([0, 0, 0]), 0)  # 62 binary digits
    text = np.tile([63, 61, 62, 60], 8)
    model = KneserNey(10, 64).fit(text)  # ten digits in base 65 need 61 bits
    contexts = [text[t - 9 : t] for t in (12, 13, 14, 15)]
    expected = np.exp(model.log_probs(text))[12:16]
    assert np.allclose(model.next_probs(contexts)[range(4), text[12:16]], expected)
    assert np.allclose(model.next_probs(contexts).sum(axis=1), 1)


def test_discounts_follow_the_counts_of_counts():
    # Ten grams once, four twice, two three times, one four times: Y = 10 / 18.
    counts = np.array([1] * 10 + [2] * 4 + [3] * 2 + [4])
    table = discounted(np.arange(17) * 100, counts, 100, "modified")  # one gram per context
    y = 10 / 18
    d1, d2, d3 = 1 - 2 * y * 4 / 10, 2 - 3 * y * 2 / 4, 3 - 4 * y * 1 / 2
    expected = np.array([d1] * 10 + [d2 / 2] * 4 + [d3 / 3] * 2 + [d3 / 4])
    assert np.allclose(table.held_back, expected)
    assert np.allclose(table.direct, 1 - expected)
    absolute = discounted(np.arange(17) * 100, counts, 100, "absolute")
    assert np.allclose(absolute.held_back, y / counts)


@given(
    st.dictionaries(st.integers(0, 200), st.integers(1, 6), min_size=1, max_size=20),
    st.integers(2, 9),
    st.sampled_from(["modified", "absolute"]),
)
def test_what_is_kept_and_what_is_held_back_are_one(counts, base, discounts):
    grams = np.array(sorted(counts))
    table = discounted(grams, np.array([counts[g] for g in sorted(counts)]), base, discounts)
    for context, held_back in zip(table.contexts, table.held_back, strict=True):
        direct = table.direct[grams // base == context]
        assert (direct >= 0).all()
        assert np.isclose(direct.sum() + held_back, 1)


@given(st.integers(1, 4), st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_no_symbol_is_impossible(order, ids):
    model = KneserNey(order, 4).fit([0, 1, 2, 1, 0, 1, 3, 3, 0, 1, 2], [4])
    scores = model.log_probs(ids)
    assert np.isfinite(scores).all()
    assert (scores <= 1e-12).all()


def test_a_discount_of_nothing_falls_back():
    # Four grams once, one each twice, three and four times: Y = 2/3, and a count of 2 would keep
    # all of it, for 2 - 3 Y = 0.
    counts = np.array([1, 1, 1, 1, 2, 3, 4])
    table = discounted(np.arange(7) * 100, counts, 100, "modified")
    assert np.allclose(table.held_back, np.array([0.5, 0.5, 0.5, 0.5, 1, 1.5, 1.5]) / counts)


def test_the_third_discount_needs_grams_that_occur_four_times():
    rare = [1] * 10 + [2] * 4 + [3] * 2
    for more, d3 in (([4, 4], 3 - 4 * 10 / 18 * 2 / 2), ([5], 1.5)):
        counts = np.array(rare + more)
        table = discounted(np.arange(len(counts)) * 100, counts, 100, "modified")
        assert table.held_back[-1] == pytest.approx(d3 / counts[-1])


@pytest.mark.parametrize("missing", [1, 2, 3, 4])
def test_discounts_need_grams_of_every_small_count(missing):
    counts = np.array([count for count in (1, 2, 3, 4, 5) if count != missing])
    table = discounted(np.arange(len(counts)) * 100, counts, 100, "modified")
    fallback = np.array([0.5, 1.0, 1.5, 1.5, 1.5])[counts - 1]
    assert np.allclose(table.held_back, fallback / counts)


@pytest.mark.parametrize("counts", [[1, 1], [2, 2], [3]])
def test_one_discount_without_rare_grams_is_one_half(counts):
    table = discounted(np.arange(len(counts)) * 100, np.array(counts), 100, "absolute")
    assert np.allclose(table.held_back, 0.5 / np.array(counts))


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    order=st.integers(1, 6),
    context=st.lists(st.integers(0, V - 1), max_size=7),
    discounts=st.sampled_from(["modified", "absolute"]),
)
def test_kneser_ney_distributions_sum_to_one(seed, order, context, discounts):
    model = KneserNey(order, V, discounts).fit(random_text(seed), [70, 120])
    probs = model.next_probs([context])
    assert probs.shape == (1, V)
    assert probs.sum() == pytest.approx(1)
    assert (probs > 0).all()


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    orders=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    left=st.lists(st.integers(-1, V - 1), max_size=4),
    right=st.lists(st.integers(-1, V - 1), max_size=4),
)
def test_two_sided_distributions_sum_to_one(seed, orders, left, right):
    model = BidirectionalNGram(*orders, V).fit(random_text(seed))
    log_p = model.log_probs([left], [right])
    assert log_p.shape == (1, V)
    assert np.exp(log_p).sum() == pytest.approx(1)
    assert np.isfinite(log_p).all()


def test_scores_of_a_text_are_the_predictions_after_its_contexts():
    model = KneserNey(3, V).fit(random_text(1))
    text = random_text(2, 50)
    log_p = model.log_probs(text)
    contexts = np.stack([text[:-2], text[1:-1]], axis=1)
    picked = model.next_probs(contexts)[np.arange(48), text[2:]]
    assert np.allclose(np.exp(log_p[2:]), picked)


def test_short_contexts_use_the_shorter_windows():
    text = random_text(3)
    assert np.allclose(
        KneserNey(4, V).fit(text).next_probs([[1]]), KneserNey(4, V).fit(text).next_probs([[4, 1]])
    ), "symbol 4 never occurs, so it cannot change the prediction"


def test_windows_do_not_cross_the_start_of_a_text():
    apart = KneserNey(2, 4).fit([0, 1, 2, 3], boundaries=[2])
    joined = KneserNey(2, 4).fit([0, 1, 2, 3])
    assert joined.next_probs([[1]])[0, 2] > apart.next_probs([[1]])[0, 2]
    assert np.allclose(apart.next_probs([[1]]), apart.next_probs([[3]])), "neither has a successor"
    left, right = neighbours([0, 1, 2, 3], 2, 1, [2])
    assert left.tolist() == [[-1, -1], [-1, 0], [-1, -1], [-1, 2]]
    assert right.tolist() == [[1], [-1], [3], [-1]]


def test_neighbours_beyond_the_text():
    left, right = neighbours([3, 4], 3, 3)
    assert left.tolist() == [[-1, -1, -1], [-1, -1, 3]]
    assert right.tolist() == [[4, -1, -1], [-1, -1, -1]]
    left, right = neighbours([3, 4], 0, 0)
    assert left.shape == right.shape == (2, 0)
    assert left.dtype == right.dtype == np.int64


def test_unsigned_ids_will_do():
    left, _ = neighbours(np.array([3, 4], dtype=np.uint8), 1, 0)
    assert left.tolist() == [[-1], [3]]
    assert left.dtype == np.int64, "an id times the base must not overflow"
    assert np.allclose(
        KneserNey(2, 3).fit(np.array([0, 1, 2], dtype=np.uint8), np.array([1], dtype=np.uint8))
        .next_probs(np.array([[0]], dtype=np.uint8)),
        KneserNey(2, 3).fit([0, 1, 2], [1]).next_probs([[0]]),
    )  # fmt: skip


def test_scoring_several_texts_equals_scoring_each():
    model = KneserNey(4, V).fit(random_text(4))
    first, second = random_text(5, 30), random_text(6, 20)
    together = model.log_probs(np.concatenate([first, second]), [30])
    assert np.allclose(together, np.concatenate([model.log_probs(first), model.log_probs(second)]))


def test_a_missing_neighbour_shortens_the_context():
    text = random_text(7)
    model = BidirectionalNGram(3, 2, V).fit(text)
    masked = model.log_probs([[0, -1, 1]], [[0, -1]])
    assert np.allclose(masked, model.log_probs([[1]], [[0]]))
    nothing = model.log_probs([[-1]], np.zeros((1, 0), dtype=int))
    assert np.allclose(nothing, BidirectionalNGram(0, 0, V).fit(text).log_probs([[]], [[]]))
    only_right = BidirectionalNGram(0, 2, V).fit(text)
    assert np.allclose(model.log_probs([[-1]], [[0, 1]]), only_right.log_probs([[2]], [[0, 1]]))


def test_two_sided_hand_worked_blank():
    # Text 0 1 0, one neighbour on the left only: windows 0>1 and 1>0, each once, each loses 1/2.
    # Without neighbours: 0 twice (loses 1), 1 once (loses 1/2), total 3, so 1/2 is held back.
    model = BidirectionalNGram(1, 0, 2).fit([0, 1, 0])
    p0, p1 = 1 / 3 + 0.25, 0.5 / 3 + 0.25
    assert np.allclose(np.exp(model.log_probs([[0]], [[]])), [[0.5 * p0, 0.5 + 0.5 * p1]])


def test_windows_longer_than_the_text_leave_the_shorter_ones():
    model = BidirectionalNGram(3, 3, V).fit([0, 1])
    assert np.exp(model.log_probs([[0, 1, 0]], [[1, 0, 1]])).sum() == pytest.approx(1)


def test_longer_contexts_help_on_unseen_text(play_ids):
    train, held_out = play_ids
    n_symbols = len(PLAY_ALPHABET)
    bits = [
        -model.fit(train).log_probs(held_out).mean() / np.log(2)
        for model in (UnigramModel(n_symbols), KneserNey(2, n_symbols), KneserNey(5, n_symbols))
    ]
    assert bits[0] > bits[1] + 0.5
    assert bits[1] > bits[2] + 0.5


def test_two_sides_beat_one(play_ids):
    train, held_out = play_ids
    left, right = neighbours(held_out, 2, 2)
    model = BidirectionalNGram(2, 2, len(PLAY_ALPHABET)).fit(train)
    here = np.arange(len(held_out))
    both = model.log_probs(left, right)[here, held_out].mean()
    only_left = model.log_probs(left, right[:, :0])[here, held_out].mean()
    assert both > only_left + 0.3


def test_texts_become_ids_and_boundaries():
    ids, boundaries = encode_texts(["ab", "b", "ba"], "ab")
    assert ids.tolist() == [0, 1, 1, 1, 0]
    assert boundaries.tolist() == [0, 2, 3]
    assert text_starts([2, 2], 3).tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"written in 'ab', got \['c'\]"):
        encode_texts(["abc"], "ab")
    with pytest.raises(ValueError, match="got an empty text"):
        encode_texts([""], "ab")


def test_an_unfitted_model_says_so():
    with pytest.raises(RuntimeError, match="UnigramModel is not fitted: call fit"):
        UnigramModel(2).log_probs([0, 1])
    with pytest.raises(RuntimeError, match="KneserNey is not fitted: call fit"):
        KneserNey(2, 2).log_probs([0, 1])
    with pytest.raises(RuntimeError, match="KneserNey is not fitted: call fit"):
        KneserNey(2, 2).next_probs([[0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: KneserNey(0, 2), "at least 1, got 0 and 2"),
        (lambda: KneserNey(11, 65), "do not fit a 63-bit code"),
        (lambda: KneserNey(1, 0), "at least 1, got 1 and 0"),
        (lambda: KneserNey(21, 7), "do not fit a 63-bit code"),  # 8 ** 21 = 2 ** 63
        (lambda: KneserNey(2, 2).fit([[0, 1]]), r"ids must be integers \(T,\), T > 0, got .* \(1"),
        (lambda: KneserNey(2, 2).fit([-1, 1]), r"ids must be in 0..1, got -1..1"),
        (lambda: KneserNey(2, 2).fit([0, 1], [-1]), r"boundaries must be in 0..1, got -1..0"),
        (lambda: KneserNey(2, 2).fit([0, 1], [0.5]), "boundaries must be integers, got float64"),
        (
            lambda: KneserNey(2, 2).fit([0, 1]).next_probs([[0.5]]),
            r"integers \(n, k\), got float64",
        ),
        (lambda: KneserNey(2, 2).fit([0, 1]).next_probs([[2]]), r"in 0..1, got 2..2"),
        (
            lambda: BidirectionalNGram(1, 1, 2).fit([0, 1]).log_probs([[-2]], [[0]]),
            r"in -1..1, got -2",
        ),
        (lambda: neighbours([0, 1], -1, 0), "n_left, n_right >= 0, got -1 and 0"),
        (lambda: neighbours([0, 1], 0, -1), "n_left, n_right >= 0, got 0 and -1"),
        (lambda: KneserNey(2, 2, "linear"), 'must be "modified" or "absolute", got \'linear\''),
        (lambda: KneserNey(2, 2).fit([]), r"shape|integers \(T,\), T > 0"),
        (lambda: KneserNey(2, 2).fit([0.5]), "got float64"),
        (lambda: KneserNey(2, 2).fit([0, 2]), r"ids must be in 0..1, got 0..2"),
        (lambda: KneserNey(2, 2).fit([0, 1], [2]), r"boundaries must be in 0..1, got 0..2"),
        (lambda: KneserNey(2, 2).fit([0, 1]).next_probs([0]), r"integers \(n, k\)"),
        (lambda: KneserNey(2, 2).fit([0, 1]).next_probs([[-1]]), r"in 0..1, got -1..-1"),
        (lambda: BidirectionalNGram(-1, 1, 2), "must not be negative, got -1 and 1"),
        (
            lambda: BidirectionalNGram(1, 1, 2).fit([0, 1]).log_probs([[0]], [[0], [1]]),
            "as many contexts on both sides, got 1 and 2",
        ),
    ],
)
def test_wrong_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_texts_shorter_than_the_order():
    model = KneserNey(6, 2).fit([0, 1, 0, 0, 1, 1, 0, 1] * 3)
    assert np.array_equal(model.log_probs([0, 1]), model.log_probs([0, 1, 0, 1, 0, 1, 0])[:2])
    assert KneserNey(6, 2).fit([0]).log_probs([0])[0] < 0


def test_a_huge_order_is_refused_at_once() -> None:
    """The power of a huge length was computed first, for minutes."""
    with pytest.raises(ValueError, match="do not fit a 63-bit code"):
        KneserNey(10**12, 10**12)
