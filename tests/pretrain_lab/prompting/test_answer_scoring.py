# SPDX-License-Identifier: MIT
"""Scores through the cache are scores without it; hits are what greedy decoding writes."""

import copy
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pretrain.gpt import GPT, GPTConfig
from pretrain_lab.prompting.answer_scoring import (
    PlainReader,
    PrefixCachedModel,
    answer_log_probs,
    calibrate,
    greedy_answer,
    greedy_hits,
    is_word_continuation,
)

VOCAB = 13
PREFIX = [3, 1, 4, 1, 5]
QUESTIONS = [[9, 2, 6], [5, 3, 5, 8, 9], [7]]
ANSWERS = [[2], [3, 8], [3, 4, 6]]


@pytest.fixture(scope="module")
def decoder() -> Any:
    """A tiny random decoder of the published one's class, with weights large enough to matter."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.7,
    )
    torch.manual_seed(1)
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def gpt() -> GPT:
    """A tiny GPT of this book."""
    torch.manual_seed(2)
    return GPT(GPTConfig(VOCAB, d_model=8, n_layers=2, n_heads=2, max_len=16, init_std=0.7)).eval()


def one_by_one(logits: Any, prefix: list[int]) -> Tensor:
    """Score each answer after each question in a pass of its own, without cache and batch."""
    scores = torch.empty(len(QUESTIONS), len(ANSWERS))
    for i, question in enumerate(QUESTIONS):
        for j, answer in enumerate(ANSWERS):
            ids = [*prefix, *question, *answer]
            with torch.inference_mode():
                log_probs = logits(torch.tensor([ids]))[0].log_softmax(dim=-1)
            start = len(ids) - len(answer)
            scores[i, j] = sum(log_probs[start + t - 1, token] for t, token in enumerate(answer))
    return scores


@pytest.mark.parametrize("batch_size", [1, 2, 16])
@pytest.mark.parametrize("prefix", [PREFIX, []])
def test_the_cache_changes_no_score(decoder: Any, prefix: list[int], batch_size: int) -> None:
    """Prefix read once, rows of unequal length together: the same as everything by itself."""
    reader = PrefixCachedModel(decoder, prefix)
    expected = one_by_one(lambda ids: decoder(ids).logits, prefix)
    assert expected.std() > 0.5, "scores that hardly differ prove nothing"
    for _ in range(2):  # reading must not leave anything in the cache
        scores = answer_log_probs(reader, QUESTIONS, ANSWERS, batch_size=batch_size)
        assert torch.allclose(scores, expected, atol=1e-5)


def test_the_prefix_matters(decoder: Any) -> None:
    """Without its prefix a question is another one, so the test above could have failed."""
    with_prefix = answer_log_probs(PrefixCachedModel(decoder, PREFIX), QUESTIONS, ANSWERS)
    without = answer_log_probs(PrefixCachedModel(decoder), QUESTIONS, ANSWERS)
    assert (with_prefix - without).abs().max() > 0.1


def test_our_gpt_is_scored_in_the_same_way(gpt: GPT) -> None:
    """The reader without a cache agrees with one pass per answer."""
    scores = answer_log_probs(PlainReader(gpt, PREFIX), QUESTIONS, ANSWERS, batch_size=2)
    assert torch.allclose(scores, one_by_one(gpt, PREFIX), atol=1e-5)


def test_answers_of_one_token_share_a_row(decoder: Any) -> None:
    """Two label words cost as many rows as one; all tokens together have probability 1."""
    n_rows: list[int] = []

    class Counting(PrefixCachedModel):
        """Counts the rows that are read."""

        def __call__(self, rows: Tensor, wanted: Tensor) -> Tensor:
            """Count, and read."""
            n_rows.append(len(rows))
            return super().__call__(rows, wanted)

    scores = answer_log_probs(Counting(decoder), QUESTIONS, [[i] for i in range(VOCAB)])
    assert sum(n_rows) == len(QUESTIONS)
    assert torch.allclose(scores.exp().sum(dim=1), torch.ones(len(QUESTIONS)), atol=1e-5)


@pytest.mark.parametrize("n_tokens", [1, 3])
def test_hits_are_what_greedy_decoding_writes(decoder: Any, n_tokens: int) -> None:
    """The written answer is a hit; one with another last token is none."""
    reader = PrefixCachedModel(decoder, PREFIX)
    ends = torch.zeros(VOCAB, dtype=torch.bool)
    for question in QUESTIONS:
        written = greedy_answer(reader, question, max_tokens=n_tokens)
        other = [*written[:-1], (written[-1] + 1) % VOCAB]
        assert greedy_hits(reader, [question], [[other, written]], ends).tolist() == [True]
        assert greedy_hits(reader, [question], [[other]], ends).tolist() == [False]


def test_half_a_word_is_no_hit(decoder: Any) -> None:
    """If the next token would continue the word, the word that was written is a longer one."""
    reader = PrefixCachedModel(decoder, PREFIX)
    first, second = greedy_answer(reader, QUESTIONS[0], max_tokens=2)
    goes_on = torch.zeros(VOCAB, dtype=torch.bool)
    goes_on[second] = True
    assert not greedy_hits(reader, QUESTIONS[:1], [[[first]]], goes_on).any()
    assert is_word_continuation([" a", "a", "1", "\n", "", "."]).tolist() == [0, 1, 1, 0, 0, 0]


def test_greedy_decoding_stops(decoder: Any) -> None:
    """A stop token ends the answer and does not belong to it."""
    reader = PrefixCachedModel(decoder)
    written = greedy_answer(reader, QUESTIONS[0], max_tokens=6)
    stop = next(token for token in written if token != written[0])
    assert greedy_answer(reader, QUESTIONS[0], stop=[stop]) == written[: written.index(stop)]


def test_no_weight_changes(decoder: Any) -> None:
    """In-context use trains nothing."""
    before = copy.deepcopy(decoder.state_dict())
    answer_log_probs(PrefixCachedModel(decoder, PREFIX), QUESTIONS, ANSWERS)
    assert all(torch.equal(before[name], value) for name, value in decoder.state_dict().items())
    assert all(value.grad is None for value in decoder.parameters())


def test_calibration_by_hand() -> None:
    """Without content 0.8 against 0.2; 0.7 against 0.3 then speaks for the second answer."""
    content_free = torch.tensor([[0.8, 0.2]]).log()
    scores = torch.tensor([[0.7, 0.3], [0.8, 0.2]]).log()
    expected = torch.tensor([[0.875, 1.5], [1.0, 1.0]])
    expected /= expected.sum(dim=1, keepdim=True)
    assert torch.allclose(calibrate(scores, content_free), expected)
    smaller = scores - 3.0  # probabilities of the two words among many others
    assert torch.allclose(calibrate(smaller, content_free), expected)


@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([0.0, 1.0, 30.0, 300.0]))
def test_calibrated_scores_are_distributions(seed: int, n_answers: int, scale: float) -> None:
    """Even ones where the question says what the empty one says."""
    draw = torch.Generator().manual_seed(seed)
    scores, empty = -scale * torch.rand(2, 3, n_answers, generator=draw)
    probs = calibrate(scores, empty)
    assert torch.allclose(probs.sum(dim=1), torch.ones(3), atol=1e-4)
    same = calibrate(scores[:1], scores[:1])
    assert torch.allclose(same, torch.full_like(same, 1 / n_answers), atol=1e-3)


def test_refusals(decoder: Any, gpt: GPT) -> None:
    """Empty answers, prompts beyond the context, and tables that do not belong together."""
    reader = PrefixCachedModel(decoder)
    with pytest.raises(ValueError, match="at least one token"):
        answer_log_probs(reader, QUESTIONS, [[]])
    with pytest.raises(ValueError, match="expected at most 16 tokens of prefix and row, got 18"):
        answer_log_probs(PlainReader(gpt, [1] * 17), [[1]], [[1]])
    with pytest.raises(ValueError, match=r"as many answers, got shapes \(\d, 2\) and \(\d, 3\)"):
        calibrate(torch.zeros(1, 2), torch.zeros(1, 3))


def test_a_batch_below_one_is_refused() -> None:
    """No row was read then, and memory that nobody had written came back as scores."""

    def reader(rows: Tensor, wanted: Tensor) -> Tensor:
        """Score nothing."""
        return torch.zeros(int(wanted.sum()), 3)

    with pytest.raises(ValueError, match="batch_size >= 1, got -1"):
        answer_log_probs(reader, [[1]], [[2]], batch_size=-1)


def test_calibrating_by_a_probability_that_rounds_to_zero() -> None:
    """It was divided by: NaN. Where both say the same, the answers come out even."""
    scores = torch.tensor([[0.0, -240.0]])
    assert torch.allclose(calibrate(scores, scores), torch.tensor([[0.5, 0.5]]))
