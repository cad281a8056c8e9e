# SPDX-License-Identifier: MIT
"""Questions to models: blanks, spans, shortlists and losses are log-probabilities that add up."""

import math
from typing import Any

import torch
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from little import BERTS, GPTS, MAX_LEN, T5S
from strategies import SEEDS, V, calls, floats, ids, mostly, random_ids, sizes
from torch import Tensor

from pretrain.attention import KVCache
from pretrain.blanks import blank_log_probs, left_log_probs, rescored_log_probs
from pretrain.evaluation import (
    bits,
    in_parts,
    masked_accuracy,
    masked_log_probs,
    perplexity,
    token_losses,
    top_k_hits,
)
from pretrain.flops import bert_flops, gpt_flops, next_token_flops, t5_flops
from pretrain.infilling import Markers, middle_log_probs
from pretrain.objectives import IGNORE_INDEX
from pretrain.questions import (
    bert_span_log_probs,
    check_span,
    gpt_span_log_probs,
    hide_span,
    sentinel_log_probs,
    t5_span_log_probs,
    taken,
)
from pretrain.shortlists import (
    apply_bayes,
    length_log_likelihoods,
    repeated,
    right_log_likelihoods,
)

GPT_MODELS, BERT_MODELS, T5_MODELS = (st.sampled_from(found) for found in (GPTS, BERTS, T5S))
BATCHES = mostly(st.integers(1, 5), st.integers(-2, 0))
ANY_ID = mostly(st.integers(0, V - 1), st.integers(-2, V + 1))
SENTINELS = {"sentinel_ids": st.tuples(ANY_ID, ANY_ID), "eos_id": st.none() | ANY_ID,
             "pad_id": ANY_ID}  # fmt: skip


def sums_to_one(log_probs: Tensor) -> bool:
    """Say whether every row is a distribution."""
    return torch.allclose(log_probs.exp().sum(dim=-1), torch.ones(log_probs.shape[:-1]).to(
        log_probs.dtype), atol=1e-4)  # fmt: skip


@st.composite
def windows(draw: DrawFn, **more: Any) -> dict[str, Any]:
    """Draw windows with what is asked of them, and further arguments by their strategies."""
    found = {name: draw(strategy) for name, strategy in more.items()}
    return {"windows": draw(ids(2, longest=MAX_LEN - 4)), **found}


@st.composite
def blanks(draw: DrawFn, first: int, **more: Any) -> dict[str, Any]:
    """Draw windows and a place in each, now and then one that does not exist."""
    call = draw(windows(**more))
    shape = call["windows"].shape if call["windows"].dim() == 2 else (1, 3)
    place = mostly(st.integers(min(first, max(shape[1] - 1, 0)), max(shape[1] - 1, 0)),
                   st.integers(-2, shape[1] + 1))  # fmt: skip
    places = draw(st.lists(place, min_size=shape[0], max_size=shape[0]))
    wrong = draw(st.integers(0, 11)) == 11
    call["places"] = draw(ids(1)) if wrong else torch.tensor(places, dtype=torch.int64)
    return call


@st.composite
def spans(draw: DrawFn, lowest: int = 0, **more: Any) -> dict[str, Any]:
    """Draw windows and a span of them, now and then empty or reversed."""
    call = draw(windows(**more))
    high = call["windows"].shape[1] if call["windows"].dim() == 2 else 3
    start, end = sorted(draw(st.tuples(*[st.integers(min(lowest, high), high)] * 2)))
    end += start == end < high
    start, end = draw(mostly(st.just((start, end)), st.just((end, start)), st.just((-1, high + 1))))
    return {**call, "start": start, "end": end}


@fuzz(
    blank_log_probs,
    blanks(0, model=BERT_MODELS, mask_id=ANY_ID, batch_size=BATCHES),
)
def test_blank_log_probs(log_probs: Tensor, windows: Tensor, **_: Any) -> None:
    """One distribution for each blank."""
    assert log_probs.shape == (len(windows), V)
    assert sums_to_one(log_probs)


@fuzz(left_log_probs, blanks(1, model=GPT_MODELS, batch_size=BATCHES))
def test_left_log_probs(
    log_probs: Tensor, model: Any, windows: Tensor, places: Tensor, **_: Any
) -> None:
    """One distribution for each; what stands at the blank or behind it changes nothing."""
    assert log_probs.shape == (len(windows), V)
    assert sums_to_one(log_probs)
    behind = torch.arange(windows.shape[1]) >= places[:, None]
    other = left_log_probs(model, windows.masked_fill(behind, 0), places)
    assert torch.allclose(log_probs, other, atol=1e-4)


@fuzz(
    rescored_log_probs,
    blanks(
        1,
        model=GPT_MODELS,
        candidates=mostly(ids(1, longest=4), st.just(torch.arange(V))),
        n_right=st.none() | sizes(5, 0),
    ),
)
def test_rescored_log_probs(
    log_probs: Tensor, windows: Tensor, candidates: Tensor, **_: Any
) -> None:
    """One distribution over the candidates for each blank."""
    assert log_probs.shape == (len(windows), len(candidates))
    assert sums_to_one(log_probs)


@fuzz(bits, calls(nats=st.floats()))
def test_bits(found: float, nats: float) -> None:
    """One bit is log 2 nats."""
    assert math.isnan(nats) or found == nats / math.log(2)


PARTS = st.builds(lambda size, *tensors: {"*": (size, *tensors)}, BATCHES, ids(2), ids(1))


@fuzz(in_parts, PARTS)
def test_in_parts(parts: list[tuple[Tensor, ...]], *given: Any, **_: Any) -> None:
    """The parts together are the tensors."""
    for number, whole in enumerate(given[1:]):
        assert torch.equal(torch.cat([part[number] for part in parts]), whole)
        assert all(1 <= len(part[number]) <= given[0] for part in parts) or not len(whole)


SCORED = {
    "model": GPT_MODELS,
    "ids": ids(1, longest=40),
    "seq_len": sizes(MAX_LEN),
    "min_context": sizes(3, 0),
    "batch_size": BATCHES,
}


@fuzz(token_losses, calls(**SCORED))
def test_token_losses(
    losses: Tensor, ids: Tensor, seq_len: int, min_context: int, **_: Any
) -> None:
    """Each token once: so many as full windows hold."""
    stride = seq_len - min_context
    assert losses.shape == (((len(ids) - seq_len - 1) // stride + 1) * stride,)
    assert losses.dtype == torch.float32
    assert (losses >= 0).all()


@fuzz(perplexity, calls(**SCORED))
def test_perplexity(found: float, ids: Tensor, model: Any, **options: Any) -> None:
    """At least 1, and the exponential of the mean loss."""
    losses = token_losses(model, ids, **options)
    assert found >= 1
    assert math.isclose(found, math.exp(losses.double().mean()), rel_tol=1e-9)


@st.composite
def asked(draw: DrawFn) -> dict[str, Any]:
    """Draw corrupted text and labels, mostly of its shape."""
    text = draw(ids(2, longest=MAX_LEN - 4))
    shape = draw(mostly(st.just(text.shape), st.just((2, 3))))
    labels = random_ids(shape, draw(SEEDS)).masked_fill(
        random_ids(shape, draw(SEEDS), 3) > 0, IGNORE_INDEX
    )
    return {"model": draw(BERT_MODELS), "corrupted": text, "labels": labels,
            "batch_size": draw(BATCHES)}  # fmt: skip


@fuzz(masked_log_probs, asked())
def test_masked_log_probs(result: tuple[Tensor, Tensor], labels: Tensor, **_: Any) -> None:
    """One distribution for each label, in the order of the labels."""
    log_probs, answers = result
    assert torch.equal(answers, labels[labels != IGNORE_INDEX])
    assert log_probs.shape == (len(answers), V)
    assert sums_to_one(log_probs)


@st.composite
def asked_top(draw: DrawFn) -> dict[str, Any]:
    """Draw the same with numbers of guesses."""
    top_k = mostly(st.lists(st.integers(1, V), max_size=3), st.just([0, V + 1]))
    return {**draw(asked()), "top_k": draw(top_k)}


@fuzz(masked_accuracy, asked_top())
def test_masked_accuracy(shares: dict[int, float], top_k: list[int], **_: Any) -> None:
    """Shares that more guesses do not lower, and all of them with V."""
    assert list(shares) == list(dict.fromkeys(top_k))
    assert all(0 <= share <= 1 for share in shares.values())
    ordered = [shares[k] for k in sorted(shares)]
    assert ordered == sorted(ordered)
    assert shares.get(V, 1.0) == 1.0


@fuzz(top_k_hits, calls(scores=floats(2), answers=ids(1, high=7), k=sizes(7)))
def test_top_k_hits(hits: Tensor, scores: Tensor, answers: Tensor, k: int) -> None:
    """Hit if fewer than k scores are larger (equal ones may stand before it)."""
    assert hits.shape == (len(scores),)
    assert hits.dtype == torch.bool
    for row, answer, hit in zip(scores, answers.tolist(), hits.tolist(), strict=True):
        if 0 <= answer < len(row) and not row.isnan().any():
            larger, equal = (row > row[answer]).sum(), (row == row[answer]).sum()
            assert hit if larger + equal <= k else True
            assert not hit or larger < k


@fuzz(gpt_span_log_probs, spans(1, model=GPT_MODELS, batch_size=BATCHES))
def test_gpt_span_log_probs(
    scores: Tensor, windows: Tensor, start: int, end: int, **_: Any
) -> None:
    """A log-probability for each token of the span."""
    assert scores.shape == (len(windows), end - start)
    assert (scores <= 0).all()


@fuzz(bert_span_log_probs, spans(model=BERT_MODELS, mask_id=ANY_ID, batch_size=BATCHES))
def test_bert_span_log_probs(
    scores: Tensor, windows: Tensor, start: int, end: int, **_: Any
) -> None:
    """A log-probability for each token of the span."""
    assert scores.shape == (len(windows), end - start)
    assert (scores <= 0).all()


@fuzz(t5_span_log_probs, spans(model=T5_MODELS, batch_size=BATCHES, **SENTINELS))
def test_t5_span_log_probs(scores: Tensor, windows: Tensor, start: int, end: int, **_: Any) -> None:
    """One more than the tokens of the span: the end."""
    assert scores.shape == (len(windows), end - start + 1)
    assert (scores <= 0).all()


@fuzz(hide_span, spans(sentinel_id=ANY_ID, eos_id=st.none() | ANY_ID))
def test_hide_span(
    hidden: Tensor, windows: Tensor, start: int, end: int, sentinel_id: int, eos_id: int | None
) -> None:
    """Left side, sentinel, right side, end."""
    n_left = windows.shape[1] - (end - start)
    assert hidden.shape == (len(windows), n_left + 1 + (eos_id is not None))
    assert torch.equal(hidden[:, :start], windows[:, :start])
    assert (hidden[:, start] == sentinel_id).all()
    assert torch.equal(hidden[:, start + 1 : n_left + 1], windows[:, end:])
    assert eos_id is None or (hidden[:, -1] == eos_id).all()


@st.composite
def places(draw: DrawFn, **more: Any) -> dict[str, Any]:
    """Draw windows and one place for all of them."""
    call = draw(spans(1, **more))
    return {**{k: v for k, v in call.items() if k not in ("start", "end")}, "place": call["start"]}


@fuzz(
    sentinel_log_probs,
    places(model=T5_MODELS, batch_size=BATCHES, sentinel_id=ANY_ID, eos_id=st.none() | ANY_ID),
)
def test_sentinel_log_probs(log_probs: Tensor, windows: Tensor, **_: Any) -> None:
    """One distribution for each window."""
    assert log_probs.shape == (len(windows), V)
    assert sums_to_one(log_probs)


@fuzz(taken, calls(logits=floats(3, longest=4), answers=ids(2, high=4, longest=4)))
def test_taken(found: Tensor, logits: Tensor, answers: Tensor) -> None:
    """The log-probability of each answer."""
    assert found.shape == answers.shape
    assert not (found > 0).any()
    assert not found.isnan().any() or not logits.isfinite().all()


@fuzz(check_span, spans(first=sizes(2, 0)))
def test_check_span(result: None, windows: Tensor, start: int, end: int, first: int) -> None:
    """What passes lies inside and is not empty."""
    assert result is None
    assert windows[:, start:end].shape[1] == end - start >= 1
    assert start >= first


@fuzz(
    middle_log_probs,
    spans(
        model=GPT_MODELS,
        markers=mostly(st.just(Markers(8, 9, 10, 11)), st.builds(Markers, *[ANY_ID] * 4)),
        order=mostly(st.sampled_from(["psm", "spm"]), st.just("mps")),
        batch_size=BATCHES,
    ).map(lambda call: {**call, "windows": call["windows"].clamp(max=7)}),
)
def test_middle_log_probs(scores: Tensor, windows: Tensor, start: int, end: int, **_: Any) -> None:
    """One more than the tokens of the middle: the end."""
    assert scores.shape == (len(windows), end - start + 1)
    assert (scores <= 0).all()


@st.composite
def shortlists(draw: DrawFn, **more: Any) -> dict[str, Any]:
    """Draw a place and a few candidates for each window."""
    call = draw(places(**more))
    n_rows = len(call["windows"]) if call["windows"].dim() else 1
    fitting = random_ids((n_rows, draw(st.integers(0, 4))), draw(SEEDS))
    return {**call, "candidates": draw(mostly(st.just(fitting), ids(2)))}


@fuzz(right_log_likelihoods, shortlists(model=GPT_MODELS, n_right=st.none() | sizes(4, 0)))
def test_right_log_likelihoods(scores: Tensor, candidates: Tensor, **_: Any) -> None:
    """A log-probability for each candidate."""
    assert scores.shape == candidates.shape
    assert (scores <= 0).all()


@fuzz(length_log_likelihoods, shortlists(model=T5_MODELS, **SENTINELS))
def test_length_log_likelihoods(scores: Tensor, candidates: Tensor, **_: Any) -> None:
    """A log-probability for each candidate."""
    assert scores.shape == candidates.shape
    assert (scores <= 0).all()


def cache_of(n_texts: int, length: int) -> KVCache:
    """Make a cache that holds some texts; none at length 0."""
    cache = KVCache(9)
    if length:
        cache.append(*torch.randn(2, n_texts, 2, length, 3))
    return cache


@fuzz(repeated, calls(cache=st.builds(cache_of, st.integers(1, 2), st.integers(0, 4)), n=sizes(4)))
def test_repeated(copies: KVCache, cache: KVCache, n: int) -> None:
    """As many equal texts, of the same length."""
    assert copies.keys is not None
    assert cache.keys is not None
    assert copies.length == cache.length
    assert len(copies.keys) == n
    kept = copies.keys[:, :, : copies.length]
    assert (kept == cache.keys[:, :, : cache.length]).all()


@st.composite
def posteriors(draw: DrawFn) -> dict[str, Any]:
    """Draw a distribution and likelihoods of a few of its tokens."""
    log_probs = draw(floats(2, special=False, high=50.0)).log_softmax(dim=-1)
    n_rows, size = log_probs.shape if log_probs.dim() == 2 else (2, 3)
    n = draw(st.integers(0, max(size, 1)))
    chosen = [torch.randperm(max(size, n))[:n] for _ in range(n_rows)]
    fitting = torch.stack(chosen) if chosen else torch.zeros(0, n, dtype=torch.int64)
    candidates = draw(mostly(st.just(fitting), ids(2)))
    known = draw(floats(2)) if draw(st.integers(0, 9)) == 9 else -torch.rand(candidates.shape) * 50
    outside = draw(mostly(st.sampled_from(["smallest", "median"]), st.just("mean")))
    return {"log_probs": log_probs, "candidates": candidates, "log_likelihoods": known,
            "outside": outside}  # fmt: skip


@fuzz(apply_bayes, posteriors())
def test_apply_bayes(result: Tensor, log_probs: Tensor, log_likelihoods: Tensor, **_: Any) -> None:
    """A distribution again."""
    assert result.shape == log_probs.shape
    assert result.dtype == torch.float64
    assert sums_to_one(result) or not log_likelihoods.isfinite().all()


@fuzz(gpt_flops, calls(model=GPT_MODELS, seq_len=sizes(10**6), n_predicted=st.none() | sizes(99)))
def test_gpt_flops(found: int, model: Any, seq_len: int, n_predicted: int | None) -> None:
    """A whole number that grows with the text; no position left out is the default."""
    assert isinstance(found, int)
    assert found > 0
    assert gpt_flops(model, seq_len + 1, n_predicted=n_predicted) > found
    assert n_predicted is not None or found == gpt_flops(model, seq_len, n_predicted=seq_len)


@fuzz(next_token_flops, calls(model=GPT_MODELS, n_past=sizes(10**6, 0)))
def test_next_token_flops(found: int, model: Any, n_past: int) -> None:
    """The last token of a text costs no more than all of it."""
    assert 0 < found <= gpt_flops(model, n_past + 1)


@fuzz(bert_flops, calls(model=BERT_MODELS, seq_len=sizes(10**6), n_predicted=sizes(99, 0)))
def test_bert_flops(found: int, model: Any, seq_len: int, n_predicted: int) -> None:
    """A whole number that grows with the text."""
    assert isinstance(found, int)
    assert 0 < found < bert_flops(model, seq_len + 1, n_predicted)


@fuzz(t5_flops, calls(model=T5_MODELS, source_len=sizes(10**6), target_len=sizes(10**6)))
def test_t5_flops(found: int, model: Any, source_len: int, target_len: int) -> None:
    """Both parts cost."""
    assert isinstance(found, int)
    assert found < t5_flops(model, source_len + 1, target_len)
    assert found < t5_flops(model, source_len, target_len + 1)
