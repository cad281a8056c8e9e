# SPDX-License-Identifier: MIT
"""Count models: every row of probabilities sums to 1, and nothing reaches over a text's start."""

from typing import Any

import numpy as np
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from strategies import SEEDS, calls, mostly, sizes

from pretrain.ngram_counts import (
    CountTable,
    check_code_size,
    checked_contexts,
    checked_ids,
    discounted,
    encode_texts,
    fitted,
    neighbours,
    text_starts,
)
from pretrain.ngrams import KneserNey, TwoSidedNGram, UnigramModel

SIZE = 4


@st.composite
def symbols(draw: DrawFn, n_axes: int = 1, low: int = 0) -> Any:
    """Draw symbols, now and then of another type or shape, or out of range."""
    shape = tuple(draw(st.integers(0, 12)) if n_axes == 1 else draw(st.integers(0, 4))
                  for _ in range(n_axes))  # fmt: skip
    found = np.random.default_rng(draw(SEEDS)).integers(low, SIZE, shape)
    fault = draw(st.integers(0, 15))
    if fault == 15 and found.size:
        found.flat[0] = draw(st.sampled_from([-7, SIZE, 2**62]))
    return {14: found.astype(float), 13: found[None], 12: found.tolist(),
            11: found.astype(np.uint8)}.get(fault, found)  # fmt: skip


BOUNDARIES = st.none() | st.lists(mostly(st.integers(0, 5), st.integers(-2, 20)), max_size=4)
SYMBOLS = symbols()
CONTEXTS = symbols(2)
KNOWN_OR_NOT = symbols(2, low=-1)
HUGE = mostly(st.integers(1, 9), st.sampled_from([-1, 0, 62, 63, 64, 10**6, 10**12]))


@fuzz(
    neighbours,
    calls(ids=SYMBOLS, n_left=sizes(4, 0), n_right=sizes(4, 0), boundaries=BOUNDARIES),
)
def test_neighbours(
    found: tuple[Any, Any], ids: Any, n_left: int, n_right: int, boundaries: Any
) -> None:
    """Neighbours that are known stand there; none before a start."""
    left, right = found
    assert left.shape == (len(ids), n_left)
    assert right.shape == (len(ids), n_right)
    for place in [0, *(boundaries or [])]:
        assert (left[place] == -1).all()
    for t, row in enumerate(left.tolist()):
        known = [value for value in row if value >= 0]
        assert known == list(ids[t - len(known) : t])


@fuzz(check_code_size, calls(length=HUGE, vocab_size=HUGE))
def test_check_code_size(result: None, length: int, vocab_size: int) -> None:
    """What passes fits 63 bits."""
    assert result is None
    assert (vocab_size + 1) ** length < 2**63


@fuzz(checked_ids, calls(ids=SYMBOLS, vocab_size=sizes(6, 0)))
def test_checked_ids(found: Any, ids: Any, vocab_size: int) -> None:
    """The same numbers as int64, all in range, in an array of its own."""
    assert found.dtype == np.int64
    assert np.array_equal(found, ids)
    assert ((found >= 0) & (found < vocab_size)).all()
    assert found is not ids


@fuzz(
    checked_contexts,
    calls(contexts=KNOWN_OR_NOT, vocab_size=sizes(6, 0), lowest=st.sampled_from([0, -1])),
)
def test_checked_contexts(found: Any, contexts: Any, vocab_size: int, lowest: int) -> None:
    """The same numbers as int64 (n, k), all in range."""
    assert found.dtype == np.int64
    assert np.array_equal(found, contexts)
    assert ((found >= lowest) & (found < vocab_size)).all()


@fuzz(text_starts, calls(boundaries=BOUNDARIES | SYMBOLS, length=sizes(9, 0)))
def test_text_starts(starts: Any, boundaries: Any, length: int) -> None:
    """Sorted, without repetitions, 0 among them."""
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    assert starts[-1] < length
    assert set(starts.tolist()) == {0, *np.asarray([] if boundaries is None else boundaries).flat}


ALPHABETS = st.text("abc\u00e9\U0001f600", min_size=1, max_size=5)


@fuzz(
    encode_texts,
    calls(
        texts=st.lists(mostly(st.text("abc", min_size=1), st.text(max_size=3)), max_size=3),
        alphabet=mostly(st.just("cab"), ALPHABETS),
    ),
)
def test_encode_texts(found: tuple[Any, Any], texts: list[str], alphabet: str) -> None:
    """The texts come back."""
    ids, starts = found
    assert "".join(alphabet[i] for i in ids) == "".join(texts)
    assert [alphabet[ids[start]] for start in starts] == [text[0] for text in texts]


@fuzz(fitted, calls(state=st.none() | st.integers(), model=st.just(UnigramModel(2))))
def test_fitted(found: int, **given: Any) -> None:
    """What was there."""
    assert found == given["state"]


@st.composite
def counted(draw: DrawFn) -> dict[str, Any]:
    """Draw counts of different windows."""
    grams = sorted(draw(st.sets(st.integers(0, 200), min_size=1, max_size=20)))
    counts = draw(st.lists(st.integers(1, 6), min_size=len(grams), max_size=len(grams)))
    return {"grams": np.array(grams), "counts": np.array(counts), "base": draw(st.integers(2, 9)),
            "discounts": draw(st.sampled_from(["modified", "absolute"]))}  # fmt: skip


@fuzz(discounted, counted())
def test_discounted(table: CountTable, grams: Any, base: int, **_: Any) -> None:
    """What is kept and what is held back of a context are 1 together."""
    for number, context in enumerate(table.contexts):
        direct = table.direct[grams // base == context]
        assert (direct >= 0).all()
        assert np.isclose(direct.sum() + table.held_back[number], 1)


def trained(order: int, discounts: Any) -> KneserNey:
    """Fit a model to a short text."""
    return KneserNey(order, SIZE, discounts).fit([0, 1, 2, 1, 0, 1, 3, 3, 0, 1, 2], [4])


MODELS = st.builds(trained, st.integers(1, 4), st.sampled_from(["modified", "absolute"]))


@fuzz(
    KneserNey,
    calls(order=HUGE, vocab_size=HUGE, discounts=mostly(
        st.sampled_from(["modified", "absolute"]), st.just("none"))),
)  # fmt: skip
def test_kneser_ney(model: KneserNey, order: int, **_: Any) -> None:
    """It keeps its order."""
    assert model.order == order


@fuzz(
    KneserNey.fit,
    calls(self=st.builds(KneserNey, st.integers(1, 4), st.just(SIZE)), ids=SYMBOLS,
          boundaries=BOUNDARIES),
)  # fmt: skip
def test_kneser_ney_fit(model: KneserNey, ids: Any, **_: Any) -> None:
    """What was seen is likelier than nothing."""
    assert np.isfinite(model.log_probs(ids)).all()


@fuzz(
    KneserNey.log_probs,
    calls(self=mostly(MODELS, st.just(KneserNey(2, SIZE))), ids=SYMBOLS, boundaries=BOUNDARIES),
)
def test_kneser_ney_log_probs(scores: Any, ids: Any, **_: Any) -> None:
    """Log-probabilities, all finite: no symbol is impossible."""
    assert scores.shape == np.shape(ids)
    assert np.isfinite(scores).all()
    assert (scores <= 1e-12).all()


@fuzz(KneserNey.next_probs, calls(self=MODELS, contexts=CONTEXTS))
def test_next_probs(probs: Any, contexts: Any, **_: Any) -> None:
    """Distributions."""
    assert probs.shape == (len(contexts), SIZE)
    assert np.allclose(probs.sum(axis=1), 1)
    assert (probs > 0).all()


@fuzz(
    UnigramModel.fit, calls(self=st.builds(UnigramModel, sizes(5)), ids=SYMBOLS), changes=["self"]
)
def test_unigram_fit(model: UnigramModel, ids: Any, **_: Any) -> None:
    """A distribution."""
    every = model.log_probs(np.arange(model.vocab_size))
    assert np.isclose(np.exp(every).sum(), 1)
    assert len(model.log_probs(ids)) == len(ids)


UNIGRAMS = mostly(st.just(UnigramModel(SIZE).fit([0, 1, 1])), st.just(UnigramModel(SIZE)))


@fuzz(UnigramModel.log_probs, calls(self=UNIGRAMS, ids=SYMBOLS))
def test_unigram_log_probs(scores: Any, ids: Any, **_: Any) -> None:
    """Log-probabilities."""
    assert scores.shape == np.shape(ids)
    assert (scores < 0).all()


@fuzz(TwoSidedNGram, calls(order_left=HUGE, order_right=HUGE, vocab_size=HUGE))
def test_two_sided(model: TwoSidedNGram, order_left: int, **_: Any) -> None:
    """It keeps its orders."""
    assert model.order_left == order_left


ORDERS = st.integers(0, 2)
UNTRAINED = st.builds(TwoSidedNGram, ORDERS, ORDERS, st.just(SIZE))


@fuzz(TwoSidedNGram.fit, calls(self=UNTRAINED, ids=SYMBOLS, boundaries=BOUNDARIES))
def test_two_sided_fit(model: TwoSidedNGram, **_: Any) -> None:
    """A distribution without any neighbour."""
    nothing = np.zeros((1, 0), dtype=int)
    assert np.isclose(np.exp(model.log_probs(nothing, nothing)).sum(), 1)


TWO_SIDED = UNTRAINED.map(lambda model: model.fit([0, 1, 2, 1, 0, 1, 3, 3], [4]))


@fuzz(
    TwoSidedNGram.log_probs,
    calls(self=mostly(TWO_SIDED, UNTRAINED), left_contexts=KNOWN_OR_NOT,
          right_contexts=KNOWN_OR_NOT).map(
        lambda call: {**call, "right_contexts": call["left_contexts"]}
        if np.ndim(call["right_contexts"]) == 2 and len(call["right_contexts"]) % 2 else call),
)  # fmt: skip
def test_two_sided_log_probs(scores: Any, left_contexts: Any, **_: Any) -> None:
    """Distributions."""
    assert scores.shape == (len(left_contexts), SIZE)
    assert np.allclose(np.exp(scores).sum(axis=1), 1)
