# SPDX-License-Identifier: MIT
"""One question for all three models: each answer against a pass written out."""

from collections.abc import Callable

import pytest
import torch

from pretrain.bert import BERT
from pretrain.evaluation import cloze_log_probs, left_log_probs
from pretrain.gpt import GPT
from pretrain.span_corruption import SpanCorruption, corrupt_given_spans
from pretrain.t5 import T5
from pretrain_lab.scoring.spans import (
    bert_span_log_probs,
    gpt_span_log_probs,
    replace_span_by_sentinel,
    sentinel_log_probs,
    t5_span_log_probs,
)

WINDOWS = torch.tensor([[3, 1, 4, 1, 5, 6], [2, 6, 5, 3, 5, 4], [6, 2, 4, 3, 2, 3]])
SENTINELS = (10, 9)
START, END = 2, 4
CLOSE = {"rtol": 0, "atol": 1e-12}


@torch.no_grad()
def test_gpt_reads_the_left_side(tiny_gpt: Callable[..., GPT]) -> None:
    """Each token given those before it; what follows the span plays no part."""
    model = tiny_gpt()
    out = gpt_span_log_probs(model, WINDOWS, START, END, batch_size=2)
    assert out.shape == (3, 2)
    for row, window in enumerate(WINDOWS):
        for column, t in enumerate(range(START, END)):
            expected = model(window[None, :t])[0, -1].log_softmax(dim=-1)[window[t]]
            assert torch.allclose(out[row, column], expected, **CLOSE)
    changed = WINDOWS.clone()
    changed[:, END:] = 0
    assert torch.equal(gpt_span_log_probs(model, changed, START, END, batch_size=2), out)


@torch.no_grad()
def test_bert_hides_what_it_has_not_scored(tiny_bert: Callable[..., BERT]) -> None:
    """The first token is scored with all masked, the second with the first one shown."""
    model = tiny_bert()
    out = bert_span_log_probs(model, WINDOWS, START, END, mask_id=1, batch_size=2)
    for row, window in enumerate(WINDOWS):
        shown = window.clone()
        shown[START:END] = 1
        for column, t in enumerate(range(START, END)):
            expected = model(shown[None])[0, t].log_softmax(dim=-1)[window[t]]
            assert torch.allclose(out[row, column], expected, **CLOSE)
            shown[t] = window[t]


@torch.no_grad()
def test_t5_writes_the_span_and_closes_it(tiny_t5: Callable[..., T5]) -> None:
    """Input and target are those of `corrupt_given_spans`, and the end is a column of its own."""
    model = tiny_t5()
    out = t5_span_log_probs(
        model, WINDOWS, START, END, sentinel_ids=SENTINELS, eos_id=8, pad_id=7, batch_size=2
    )
    assert out.shape == (3, 3)
    for row, window in enumerate(WINDOWS):
        spans = SpanCorruption(first_sentinel_id=SENTINELS[0], n_sentinels=2, eos_id=8)
        cut = corrupt_given_spans(window, [(START, END)], spans)
        hidden = replace_span_by_sentinel(
            window[None], START, END, sentinel_id=SENTINELS[0], eos_id=8
        )
        assert torch.equal(hidden[0], cut.inputs)
        read = torch.cat([torch.tensor([7]), cut.targets])
        log_probs = model(cut.inputs[None], read[None, :-1])[0].log_softmax(dim=-1)
        expected = log_probs.gather(1, cut.targets[:, None])[1:4, 0]  # without sentinel and eos
        assert torch.allclose(out[row], expected, **CLOSE)


def test_a_span_of_one_token_is_a_blank(
    tiny_gpt: Callable[..., GPT], tiny_bert: Callable[..., BERT], tiny_t5: Callable[..., T5]
) -> None:
    """The functions for blanks and for spans agree where both apply."""
    gpt, bert, t5 = tiny_gpt(), tiny_bert(), tiny_t5()
    places, answers = torch.full((3,), START), WINDOWS[:, START, None]
    one = (WINDOWS, START, START + 1)
    left = left_log_probs(gpt, WINDOWS, places).gather(1, answers)
    assert torch.allclose(gpt_span_log_probs(gpt, *one), left, **CLOSE)
    masked = cloze_log_probs(bert, WINDOWS, places, mask_id=1).gather(1, answers)
    assert torch.allclose(bert_span_log_probs(bert, *one, mask_id=1), masked, **CLOSE)
    dist = sentinel_log_probs(t5, WINDOWS, START, sentinel_id=SENTINELS[0], batch_size=2)
    assert torch.allclose(dist.exp().sum(dim=1), torch.ones(3, dtype=torch.float64))
    written = t5_span_log_probs(t5, *one, sentinel_ids=SENTINELS)
    assert torch.allclose(written[:, :1], dist.gather(1, answers), **CLOSE)


def test_hidden_by_hand() -> None:
    """The sentinel stands for the whole span, and the end is optional."""
    assert replace_span_by_sentinel(WINDOWS[:1], 2, 5, sentinel_id=10).tolist() == [[3, 1, 10, 6]]
    assert replace_span_by_sentinel(WINDOWS[:1], 3, 6, sentinel_id=10, eos_id=8).tolist() == [
        [3, 1, 4, 10, 8]
    ]


def test_all_spans_of_a_length_sum_to_one(tiny_bert: Callable[..., BERT]) -> None:
    """The chain through masks is a distribution over spans: 11 x 11 of them sum to 1."""
    model = tiny_bert()
    every = WINDOWS[:1].repeat(121, 1)
    every[:, 2] = torch.arange(11).repeat_interleave(11)
    every[:, 3] = torch.arange(11).repeat(11)
    total = bert_span_log_probs(model, every, 2, 4, mask_id=1).sum(dim=1).exp().sum()
    assert total.item() == pytest.approx(1.0, abs=1e-12)


def test_refusals(tiny_gpt: Callable[..., GPT], tiny_t5: Callable[..., T5]) -> None:
    """Spans that are empty or leave the window, and nothing to the left of a GPT's span."""
    gpt, t5 = tiny_gpt(), tiny_t5()
    with pytest.raises(ValueError, match="1 <= start < end <= T"):
        gpt_span_log_probs(gpt, WINDOWS, 0, 2)
    with pytest.raises(ValueError, match="start < end"):
        t5_span_log_probs(t5, WINDOWS, 3, 3, sentinel_ids=SENTINELS)
    with pytest.raises(ValueError, match="start < end"):
        sentinel_log_probs(t5, WINDOWS, 6, sentinel_id=10)
    with pytest.raises(ValueError, match=r"got shape \(6,\)"):
        replace_span_by_sentinel(WINDOWS[0], 1, 2, sentinel_id=10)
