# SPDX-License-Identifier: MIT
"""Writing: what is drawn from is a distribution, and what is written keeps what was there."""

from itertools import pairwise
from typing import Any

import torch
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from little import BERTS, GPTS, MAX_LEN, T5S, TEXT_T5, TOKENIZER
from strategies import (
    GENERATORS,
    ODD_FLOATS,
    SEEDS,
    TEXTS,
    V,
    calls,
    floats,
    ids,
    masks,
    mostly,
    padded,
    random_ids,
    sizes,
)
from torch import Tensor

from pretrain.generation import check_sampling, decoding_rule, filter_probs, generate
from pretrain.in_context import (
    answer_log_probs,
    calibrate,
    greedy_answer,
    greedy_hits,
    tokens_that_go_on,
)
from pretrain.infilling import Markers, fill_middle
from pretrain.rewriting import generate_from
from pretrain.text_to_text import predict
from pretrain.unmasking import least, unmask

SHARES = st.none() | mostly(st.floats(0.01, 1.0), ODD_FLOATS)
SETTINGS = {
    "temperature": mostly(st.just(1.0), st.floats(0.01, 50.0), ODD_FLOATS),
    "top_k": st.none() | sizes(V + 2),
    "top_p": SHARES,
    "min_p": SHARES,
}
RULES = {"greedy": st.booleans(), "generator": mostly(GENERATORS, st.none()), **SETTINGS}
DTYPES = st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.int64])


@st.composite
def logits(draw: DrawFn) -> Tensor:
    """Draw finite logits, of which some may be forbidden (minus infinity)."""
    found = draw(floats(2, special=False)).to(draw(DTYPES))
    if found.dim() and found.shape[-1] > 1 and draw(st.booleans()) and found.is_floating_point():
        found[..., 0] = float("-inf")
    return found


@fuzz(filter_probs, calls(logits=logits(), **SETTINGS))
def test_filter_probs(
    probs: Tensor,
    logits: Tensor,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    min_p: float | None,
) -> None:
    """A distribution that keeps the best token, drops none above a kept one, and cuts enough."""
    assert probs.shape == logits.shape
    loose = 0.05 if probs.dtype == torch.bfloat16 else 1e-4
    assert torch.allclose(probs.double().sum(dim=-1), torch.ones(()).double(), atol=loose)
    assert (probs >= 0).all()
    plain = filter_probs(logits, temperature=temperature)
    assert ((plain == plain.amax(dim=-1, keepdim=True)) & (probs > 0)).any(dim=-1).all()
    assert (probs[logits == float("-inf")] == 0).all()
    kept = (probs > 0).sum(dim=-1)
    if top_k is not None and len(set(plain.flatten().tolist())) == plain.numel():
        assert (kept <= top_k).all()
    if min_p is not None:
        assert (probs[probs > 0] >= 0).all()
        assert ((probs == 0) | (probs >= min_p * probs.amax(dim=-1, keepdim=True) * 0.98)).all()


@fuzz(check_sampling, calls(**SETTINGS))
def test_check_sampling(
    result: None, temperature: float, top_k: int | None, top_p: float | None, min_p: float | None
) -> None:
    """What passes is in range."""
    assert result is None
    assert temperature > 0
    assert top_k is None or top_k >= 1
    assert all(share is None or 0 < share <= 1 for share in (top_p, min_p))


@fuzz(decoding_rule, calls(**RULES))
def test_decoding_rule(
    choose: Any, greedy: bool, top_k: int | None, temperature: float, **_: Any
) -> None:
    """Ids of the vocabulary; the best ones where that is asked."""
    scores = torch.randn(4, V) * 9
    found = choose(scores)
    assert found.shape == (4,)
    assert found.dtype == torch.int64
    assert ((found >= 0) & (found < V)).all()
    sharp = greedy or (top_k == 1 and temperature < 1e6)  # far above, all tokens tie
    assert not sharp or torch.equal(found, scores.argmax(dim=-1))


@st.composite
def prompts(draw: DrawFn) -> dict[str, Any]:
    """Draw prompts, and mostly settings that go together."""
    rules = draw(calls(**RULES))
    if rules["greedy"] and draw(st.integers(0, 8)):
        rules = {"greedy": True}
    stop = draw(mostly(st.none(), st.lists(st.integers(0, V - 1), max_size=2)))
    one = st.just(torch.ones(1, 2, dtype=torch.int64))
    text = draw(one if stop is not None else ids(2, longest=3, wrong=False))
    return {"model": draw(st.sampled_from(GPTS)), "ids": draw(mostly(st.just(text), ids(2))),
            "n_new_tokens": draw(sizes(MAX_LEN + 2, 0)), "stop_ids": stop,
            "use_cache": draw(st.booleans()), **rules}  # fmt: skip


@fuzz(generate, prompts())
def test_generate(
    text: Tensor, ids: Tensor, n_new_tokens: int, stop_ids: list[int] | None, **_: Any
) -> None:
    """The prompt stays, and the new tokens are ids of the vocabulary."""
    n_prompt = ids.shape[1]
    assert torch.equal(text[:, :n_prompt], ids)
    assert ((text[:, n_prompt:] >= 0) & (text[:, n_prompt:] < V)).all()
    n_new = text.shape[1] - n_prompt
    assert n_new <= n_new_tokens
    if n_new < n_new_tokens:
        assert stop_ids is not None
        assert text[0, -len(stop_ids) :].tolist() == list(stop_ids)


@st.composite
def gaps(draw: DrawFn) -> dict[str, Any]:
    """Draw two pieces of text with a gap between them."""
    sampling = {"greedy": True} if draw(st.booleans()) else {"generator": draw(GENERATORS)}
    piece = ids(1, high=8, longest=4)
    return {"model": draw(st.sampled_from(GPTS)), "prefix": draw(piece), "suffix": draw(piece),
            "n_new_tokens": draw(sizes(6, 0)),
            "markers": draw(mostly(st.just(Markers(8, 9, 10, 11)), st.just(Markers(1, 2, 3, 4)))),
            "order": draw(mostly(st.sampled_from(["psm", "spm"]), st.just("mps"))),
            **sampling}  # fmt: skip


@fuzz(fill_middle, gaps())
def test_fill_middle(middle: Tensor, n_new_tokens: int, markers: Markers, **_: Any) -> None:
    """No longer than allowed, and without its end."""
    assert middle.dim() == 1
    assert len(middle) <= n_new_tokens
    assert markers.end not in middle.tolist()


@st.composite
def inputs(draw: DrawFn) -> dict[str, Any]:
    """Draw what a T5 reads."""
    text = draw(ids(2, longest=5))
    mask = draw(st.none() | (padded(*text.shape) if text.dim() == 2 else st.none()) | masks())
    rules = {"greedy": True} if draw(st.integers(0, 2)) else draw(calls(**RULES))
    return {"model": draw(st.sampled_from(T5S)), "ids": text, "attention_mask": mask,
            "n_new_tokens": draw(sizes(5, 0)), "use_cache": draw(st.booleans()),
            "eos_id": draw(st.none() | st.integers(0, V)), "pad_id": draw(st.integers(0, V)),
            **rules}  # fmt: skip


@fuzz(generate_from, inputs())
def test_generate_from(
    text: Tensor, ids: Tensor, n_new_tokens: int, eos_id: int | None, pad_id: int, **_: Any
) -> None:
    """As long as asked unless all have ended, and nothing but padding behind an end."""
    assert len(text) == len(ids)
    assert text.shape[1] <= n_new_tokens
    assert eos_id is not None or text.shape[1] == n_new_tokens
    for row in text.tolist():
        if eos_id in row:
            assert set(row[row.index(eos_id) + 1 :]) <= {pad_id}


@fuzz(
    predict,
    calls(
        model=st.just(TEXT_T5),
        tokenizer=st.just(TOKENIZER),
        sources=st.lists(TEXTS, max_size=3),
        max_source_len=sizes(9),
        max_new_tokens=sizes(3, 0),
        batch_size=sizes(3),
    ),
)
def test_predict(answers: list[str], sources: list[str], **_: Any) -> None:
    """One answer for each source."""
    assert len(answers) == len(sources)
    assert all(answer == answer.strip() for answer in answers)


@st.composite
def masked(draw: DrawFn) -> dict[str, Any]:
    """Draw texts with masks."""
    rules = draw(calls(**{name: RULES[name] for name in RULES if name != "min_p"}))
    if rules["greedy"] and draw(st.integers(0, 8)):
        rules = {"greedy": True, "generator": rules["generator"]}
    text = draw(ids(2, longest=6))
    return {"model": draw(st.sampled_from(BERTS)), "ids": text % V if draw(st.booleans()) else text,
            "n_rounds": draw(sizes(4)), "mask_id": draw(mostly(st.just(1), st.integers(-1, V))),
            "special_ids": draw(mostly(st.sampled_from([(), (0,), (0, 1)]),
                                       st.sampled_from([(V,), (-1,), range(V)]))),
            "order": draw(mostly(st.sampled_from(["confidence", "random"]), st.just("left"))),
            **rules}  # fmt: skip


@fuzz(unmask, masked())
def test_unmask(filled: Tensor, ids: Tensor, mask_id: int, special_ids: Any, **_: Any) -> None:
    """No mask is left, no other token changed, and no special one written."""
    asked = ids == mask_id
    assert filled.shape == ids.shape
    assert torch.equal(filled[~asked], ids[~asked])
    assert not (filled == mask_id).any()
    assert not set(filled[asked].tolist()) & set(special_ids)


@st.composite
def ranked(draw: DrawFn) -> dict[str, Any]:
    """Draw values of which some may be marked."""
    values = draw(floats(2, special=False))
    among = draw(masks(values.shape)).bool()
    n_rows = len(values) if values.dim() else 1
    counts = draw(st.lists(st.integers(-1, 7), min_size=n_rows, max_size=n_rows))
    return {"values": values, "among": among, "counts": torch.tensor(counts, dtype=torch.int64)}


@fuzz(least, ranked().filter(lambda call: call["values"].dim() == 2))
def test_least(marked: Tensor, values: Tensor, among: Tensor, counts: Tensor) -> None:
    """As many as asked, as far as there are, and none larger than one left out."""
    assert not (marked & ~among).any()
    assert torch.equal(marked.sum(dim=1), counts.clamp(min=0).minimum(among.sum(dim=1)))
    inf = torch.full_like(values, float("inf"))
    if values.shape[1]:
        highest = torch.where(marked, values, -inf).amax(dim=1)
        assert (highest <= torch.where(among & ~marked, values, inf).amin(dim=1)).all()


def read(rows: Tensor, wanted: Tensor) -> Tensor:
    """Stand in for a decoder: the next token is most likely the one after the last."""
    return torch.eye(V).roll(1, dims=1)[rows[wanted] % V] * 9


ROWS = st.lists(st.lists(st.integers(0, V - 1), min_size=1, max_size=3), min_size=1, max_size=3)
ANY_ROWS = mostly(ROWS, st.just([[]]), st.just([]))


@fuzz(
    answer_log_probs,
    calls(reader=st.just(read), questions=ANY_ROWS, answers=ANY_ROWS, batch_size=sizes(3)),
)
def test_answer_log_probs(
    found: Tensor, questions: list[list[int]], answers: list[list[int]], **_: Any
) -> None:
    """A log-probability for each pair, near 0 for what goes on by one."""
    assert found.shape == (len(questions), len(answers))
    assert (found <= 0).all()
    for row, question in zip(found.tolist(), questions, strict=True):
        for value, answer in zip(row, answers, strict=True):
            chain = [question[-1], *answer]
            follows = all((a + 1) % V == b for a, b in pairwise(chain))
            assert (value > -0.1) == follows


@fuzz(
    greedy_hits,
    calls(
        reader=st.just(read),
        questions=ROWS,
        accepted=st.lists(ANY_ROWS, min_size=1, max_size=3),
        goes_on=st.just(torch.zeros(V, dtype=torch.bool)),
        batch_size=sizes(3),
    ).map(lambda call: {**call, "accepted": (call["accepted"] * 3)[: len(call["questions"])]}),
)
def test_greedy_hits(
    hits: Tensor, questions: list[list[int]], accepted: list[list[list[int]]], **_: Any
) -> None:
    """What counts up from the question is what would be written."""
    assert hits.shape == (len(questions),)
    for hit, question, rows in zip(hits.tolist(), questions, accepted, strict=True):
        counted = [[(question[-1] + 1 + i) % V for i in range(len(row))] for row in rows]
        assert hit == any(row == wanted for row, wanted in zip(rows, counted, strict=True))


@fuzz(
    greedy_answer,
    calls(
        reader=st.just(read),
        question=st.lists(st.integers(0, V - 1), min_size=1, max_size=3),
        stop=st.lists(st.integers(0, V), max_size=3),
        max_tokens=sizes(6, 0),
    ),
)
def test_greedy_answer(
    written: list[int], question: list[int], stop: list[int], max_tokens: int, **_: Any
) -> None:
    """Counts up, and stops before a stop."""
    assert len(written) <= max(max_tokens, 0)
    assert written == [(question[-1] + 1 + i) % V for i in range(len(written))]
    assert not set(written) & set(stop)


@fuzz(tokens_that_go_on, calls(texts=st.lists(TEXTS, max_size=5)))
def test_tokens_that_go_on(found: Tensor, texts: list[str]) -> None:
    """One truth value for each; a blank in front means no."""
    assert found.shape == (len(texts),)
    assert not any(found[i] for i, text in enumerate(texts) if text[:1] in ("", " ", "."))


@st.composite
def answered(draw: DrawFn) -> dict[str, Any]:
    """Draw log-probabilities of answers, with and without content."""
    n_answers = draw(st.integers(1, 4))
    scale = draw(st.sampled_from([0.0, 1.0, 30.0, 300.0]))
    rows = [random_ids((draw(st.integers(1, 3)), n_answers), draw(SEEDS), 9) for _ in range(2)]
    other = draw(mostly(st.just(rows[1]), ids(2, wrong=False)))
    return {"scores": -scale * rows[0], "content_free": -scale * other}


@fuzz(calibrate, answered())
def test_calibrate(probs: Tensor, scores: Tensor, content_free: Tensor) -> None:
    """Distributions; even ones where the input says what the empty one says."""
    assert probs.shape == scores.shape
    assert torch.allclose(probs.sum(dim=-1), torch.ones(len(scores)), atol=1e-4)
    same = calibrate(scores[:1], scores[:1])
    assert torch.allclose(same, torch.full_like(same, 1 / scores.shape[1]), atol=1e-3)
