# SPDX-License-Identifier: MIT
"""Perplexity and accuracy against numbers computed by hand.

One blank, three ways to fill it.
"""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from pretrain.bert import BERT
from pretrain.evaluation import (
    bits,
    blank_log_probs,
    in_parts,
    left_log_probs,
    masked_accuracy,
    masked_log_probs,
    perplexity,
    taken,
    token_losses,
    top_k_hits,
)
from pretrain.gpt import GPT
from pretrain.objectives import IGNORE_INDEX
from pretrain_lab.scoring.bayes_rescoring import rescored_log_probs


class Bigram(nn.Module):
    """A model made by hand: the next token depends on the last one, by a table."""

    def __init__(self, probs: list[list[float]]) -> None:
        """Keep P(next | last), (V, V)."""
        super().__init__()
        self.logits = torch.tensor(probs).log()

    def forward(self, ids: Tensor) -> Tensor:
        """Look the logits up, (B, T, V)."""
        return self.logits[ids]


class Recorder(nn.Module):
    """Scores every token of a text by its own known loss, and notes how it was called."""

    def __init__(self, vocab_size: int) -> None:
        """Make token v's probability proportional to v + 1."""
        super().__init__()
        self.logits = torch.arange(1, vocab_size + 1).double().log()
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, ids: Tensor) -> Tensor:
        """Give the same logits everywhere."""
        self.shapes.append(tuple(ids.shape))
        return self.logits.expand(*ids.shape, -1)


class CountingContext(nn.Module):
    """Is sure of the right answer in proportion to how many tokens it has read."""

    def forward(self, ids: Tensor) -> Tensor:
        """Give token 0 the log-odds t at position t, out of two tokens."""
        position = torch.arange(ids.shape[1]).double().expand(*ids.shape)
        return torch.stack([position, torch.zeros_like(position)], dim=-1)


HAND = Bigram([[0.5, 0.5], [0.25, 0.75]])


def test_perplexity_by_hand() -> None:
    """0 1 1 0 0: probabilities 1/2, 3/4, 1/4, 1/2, product 3/64."""
    ids = torch.tensor([0, 1, 1, 0, 0])
    losses = token_losses(HAND, ids, seq_len=4)
    expected = [math.log(2), math.log(4 / 3), math.log(4), math.log(2)]
    assert losses.tolist() == pytest.approx(expected)
    assert perplexity(HAND, ids, seq_len=4) == pytest.approx((64 / 3) ** (1 / 4))
    assert perplexity(HAND, ids, seq_len=2) == pytest.approx((64 / 3) ** (1 / 4))
    assert perplexity(HAND, ids, seq_len=4, min_context=3) == pytest.approx(2.0)


def test_guessing_among_v_tokens_has_perplexity_v() -> None:
    """The sense of the number: equally likely choices."""
    uniform = Bigram([[0.2] * 5] * 5)
    assert perplexity(uniform, torch.arange(50) % 5, seq_len=7) == pytest.approx(5.0)


def test_bits() -> None:
    """log 2 nats are one bit; eight equal choices are three."""
    assert bits(math.log(2)) == pytest.approx(1.0)
    assert bits(math.log(8)) == pytest.approx(3.0)


@given(st.data(), st.integers(1, 9), st.integers(0, 40), st.integers(1, 5))
def test_each_token_is_scored_once(
    data: st.DataObject, seq_len: int, n_more: int, batch_size: int
) -> None:
    """The losses are those of consecutive tokens: none twice, none left out, in order."""
    min_context = data.draw(st.integers(0, seq_len - 1))
    ids = torch.arange(seq_len + 1 + n_more)
    model = Recorder(len(ids))
    losses = token_losses(
        model, ids, seq_len=seq_len, min_context=min_context, batch_size=batch_size
    )
    expected = -model.logits.log_softmax(dim=-1)[min_context + 1 :][: len(losses)]
    assert torch.equal(losses, expected)
    n_left = len(ids) - (min_context + 1) - len(losses)
    assert 0 <= n_left < seq_len - min_context
    assert all(n <= batch_size and length == seq_len for n, length in model.shapes)


@given(st.data(), st.integers(1, 9))
def test_each_scored_token_has_its_context(data: st.DataObject, seq_len: int) -> None:
    """A token's loss shows how many tokens were read before it: more than min_context."""
    min_context = data.draw(st.integers(0, seq_len - 1))
    ids = torch.zeros(40, dtype=torch.int64)
    losses = token_losses(CountingContext(), ids, seq_len=seq_len, min_context=min_context)
    n_before = (torch.exp(losses.double()) - 1).log().neg() + 1  # invert the model's log-odds
    assert n_before.min().item() == pytest.approx(min_context + 1, abs=1e-3)
    assert n_before.max().item() == pytest.approx(seq_len, abs=1e-3)


def test_losses_of_a_gpt_equal_one_token_at_a_time(tiny_gpt: Callable[..., GPT]) -> None:
    """Windows and gathering aside, a loss is -log P(token | the tokens before it)."""
    model = tiny_gpt()
    ids = torch.randint(11, (23,))
    losses = token_losses(model, ids, seq_len=8, min_context=3, batch_size=2)
    place = 0
    for start in range(0, 23 - 8, 5):
        for end in range(start + 4, start + 9):
            log_probs = model(ids[None, start:end])[0, -1].log_softmax(dim=-1)
            assert losses[place].item() == pytest.approx(-log_probs[ids[end]].item())
            place += 1
    assert place == len(losses)
    assert not losses.requires_grad


def test_bad_texts_and_contexts() -> None:
    """A text shorter than a window, a batch instead of a text, a context beyond the window."""
    ids = torch.zeros(5, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"ids \(L,\) with L > 5, got shape \(5,\)"):
        token_losses(HAND, ids, seq_len=5)
    with pytest.raises(ValueError, match=r"ids \(L,\) with L > 2, got shape \(1, 5\)"):
        perplexity(HAND, ids[None], seq_len=2)
    for min_context in (-1, 4):
        with pytest.raises(ValueError, match=rf"min_context in 0\.\.3, got {min_context}"):
            token_losses(HAND, ids, seq_len=4, min_context=min_context)


class Sure(nn.Module):
    """A masked model made by hand: prefers token 3, then 1, then the others by number."""

    def __init__(self) -> None:
        """Count the rows of each call."""
        super().__init__()
        self.n_rows: list[int] = []

    def forward(self, ids: Tensor, *, predict: Tensor) -> Tensor:
        """Give one row of logits per asked position."""
        self.n_rows.append(len(ids))
        return torch.tensor([0.3, 5.0, 0.2, 9.0, 0.1]).expand(int(predict.sum()), -1)


LABELS = torch.tensor([[3, IGNORE_INDEX, 1], [IGNORE_INDEX] * 3, [4, 3, IGNORE_INDEX]])


def test_masked_accuracy_by_hand() -> None:
    """Answers 3, 1, 4, 3: the first guess is right twice, the first two three times."""
    ids = torch.zeros_like(LABELS)
    for batch_size in (1, 2, 64):
        accuracy = masked_accuracy(Sure(), ids, LABELS, top_k=(1, 2, 4, 5), batch_size=batch_size)
        assert accuracy == {1: 0.5, 2: 0.75, 4: 0.75, 5: 1.0}
    assert set(masked_accuracy(Sure(), ids, LABELS)) == {1, 5}


def test_masked_log_probs_equal_the_full_head(tiny_bert: Callable[..., BERT]) -> None:
    """Rows in reading order, normalised, whatever the batch size; rows without label skipped."""
    model = tiny_bert()
    ids = torch.randint(11, (3, 3))
    for batch_size in (1, 3):
        log_probs, answers = masked_log_probs(model, ids, LABELS, batch_size=batch_size)
        expected = model(ids).log_softmax(dim=-1)[LABELS != IGNORE_INDEX]
        assert answers.tolist() == [3, 1, 4, 3]
        assert torch.allclose(log_probs, expected)
        assert torch.allclose(log_probs.exp().sum(dim=-1), torch.ones(4, dtype=torch.float64))
    assert not log_probs.requires_grad


def test_bad_labels_and_counts() -> None:
    """Other shapes, nothing asked, more guesses than tokens."""
    ids = torch.zeros_like(LABELS)
    with pytest.raises(ValueError, match=r"one shape \(N, T\), got \(3, 3\) and \(3, 2\)"):
        masked_log_probs(Sure(), ids, LABELS[:, :2])
    with pytest.raises(ValueError, match=r"one shape \(N, T\), got \(3,\) and \(3,\)"):
        masked_accuracy(Sure(), ids[0], LABELS[0])
    with pytest.raises(ValueError, match="at least one label, got only IGNORE_INDEX"):
        masked_accuracy(Sure(), ids[1:2], LABELS[1:2])
    for k in (0, 6):
        with pytest.raises(ValueError, match=rf"expected k in 1\.\.5, got {k}"):
            top_k_hits(torch.zeros(2, 5), torch.zeros(2, dtype=torch.int64), k)


@given(st.integers(0, 1000), st.integers(1, 8))
def test_hits_are_ranks_at_most_k(seed: int, k: int) -> None:
    """An answer is a hit exactly when fewer than k tokens score higher."""
    draw = torch.Generator().manual_seed(seed)
    scores = torch.randn(6, 8, generator=draw)
    answers = torch.randint(8, (6,), generator=draw)
    own = scores.gather(1, answers[:, None])
    assert torch.equal(top_k_hits(scores, answers, k), (scores > own).sum(dim=1) < k)


@given(st.integers(0, 1000))
def test_more_guesses_never_lower_a_share(seed: int) -> None:
    """Shares grow with k, up to all of them with as many guesses as tokens."""
    torch.manual_seed(seed)
    model = BERT(7, d_model=8, n_layers=1, n_heads=2, max_len=6, init_std=0.5).eval()
    text, labels = torch.randint(7, (2, 3, 5))
    shares = masked_accuracy(model, text, labels, top_k=range(1, 8))
    assert list(shares.values()) == sorted(shares.values())
    assert shares[7] == 1


def test_dropout_is_off_while_judging(
    tiny_gpt: Callable[..., GPT], tiny_bert: Callable[..., BERT]
) -> None:
    """A model left in training mode gives the same numbers, and stays in that mode."""
    ids = torch.randint(11, (60,))
    gpt, bert = tiny_gpt(dropout_prob=0.3), tiny_bert(dropout_prob=0.3)
    windows = ids[:48].view(4, 12)
    labels = windows.masked_fill(torch.arange(12) != 5, IGNORE_INDEX)
    losses, scores = token_losses(gpt, ids, seq_len=8), masked_log_probs(bert, windows, labels)[0]
    gpt.train()
    bert.train()
    assert torch.equal(token_losses(gpt, ids, seq_len=8), losses)
    assert torch.equal(masked_log_probs(bert, windows, labels)[0], scores)
    assert gpt.training
    assert bert.training


def test_untrained_positions_are_not_judged() -> None:
    """Trained on 8 of 12 positions, a model must not be scored on windows of 12."""
    model = GPT(11, d_model=8, n_layers=1, n_heads=2, max_len=12)
    model.train()(torch.zeros(1, 8, dtype=torch.int64))
    with pytest.raises(ValueError, match="expected seq_len <= 8, the longest trained text, got 12"):
        token_losses(model, torch.zeros(40, dtype=torch.int64), seq_len=12)


def test_answers_must_fit_the_scores() -> None:
    """One answer was compared with every row, in silence."""
    with pytest.raises(ValueError, match=r"whole answers \(n,\), got shapes \(3, 4\) and \(1,\)"):
        top_k_hits(torch.zeros(3, 4), torch.tensor([1]), 1)


def test_an_answer_outside_the_vocabulary_is_named() -> None:
    """The last token of a text is only asked for, so the model's own check does not see it."""
    with pytest.raises(ValueError, match=r"answers in 0\.\.3, got 1\.\.4"):
        taken(torch.zeros(2, 4), torch.tensor([1, 4]))


def test_one_row_of_scores() -> None:
    """Logits of one place, and a single answer."""
    assert taken(torch.zeros(4), torch.tensor(2)).item() == pytest.approx(-math.log(4))


@pytest.mark.parametrize("answers", [torch.tensor([1]), torch.tensor([1.0, 2.0]), torch.tensor(1)])
def test_answers_of_another_shape_or_type(answers: Tensor) -> None:
    """One whole number is asked for in each row."""
    with pytest.raises(ValueError, match=r"expected logits \(\.\.\., V\) and answers \(\.\.\.\)"):
        taken(torch.zeros(2, 4), answers)


@pytest.mark.parametrize("other", [torch.zeros(4), torch.tensor(0)])
def test_parts_are_cut_at_the_same_places(other: Tensor) -> None:
    """Tensors of equally many rows are; other numbers of rows, or none at all, are refused."""
    text = torch.arange(3)
    parts = [[part.tolist() for part in pair] for pair in in_parts(2, text, text + 5)]
    assert parts == [[[0, 1], [5, 6]], [[2], [7]]]
    with pytest.raises(ValueError, match="as many rows in each, got 2 and"):
        list(in_parts(2, text, other))


def test_parts_have_a_row_at_least() -> None:
    """torch's own error about the size of a split got out."""
    with pytest.raises(ValueError, match=r"batch_size >= 1 .* got 0 and"):
        list(in_parts(0, torch.zeros(3)))


WINDOWS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8], [9, 7, 9, 3, 2, 3]])
PLACES = torch.tensor([2, 5, 1])
CANDIDATES = torch.arange(2, 11)
TOLERANCE = 1e-12


@torch.no_grad()
def log_prob(model: GPT, text: Tensor, first: int) -> Tensor:
    """Sum log P of the tokens from `first` on, one forward pass per token."""
    ends = range(first, len(text))
    return sum(model(text[None, :t])[0, -1].log_softmax(dim=-1)[text[t]] for t in ends)  # type: ignore[return-value]


def test_bert_fills_a_masked_place(tiny_bert: Callable[..., BERT]) -> None:
    """The place alone is hidden, so what stood there cannot matter; the rest does."""
    model = tiny_bert()
    windows = WINDOWS.clone()
    out = blank_log_probs(model, windows, PLACES, mask_id=1, batch_size=2)
    assert torch.equal(windows, WINDOWS)
    assert out.shape == (3, 11)
    for row, (window, place) in enumerate(zip(WINDOWS, PLACES.tolist(), strict=True)):
        hidden = window.clone()
        hidden[place] = 1
        expected = model(hidden[None])[0, place].log_softmax(dim=-1)
        assert torch.allclose(out[row], expected, rtol=0, atol=TOLERANCE)


def test_one_window_may_hold_the_id_0(tiny_bert: Callable[..., BERT]) -> None:
    """0 is a token; what is below is none, also where it would be hidden."""
    windows = torch.tensor([[0, 4]])
    out = blank_log_probs(tiny_bert(), windows, torch.tensor([1]), mask_id=1)
    assert out.shape == (1, 11)
    with pytest.raises(ValueError, match="windows of ids >= 0, got -1"):
        blank_log_probs(tiny_bert(), windows - 1, torch.tensor([0]), mask_id=1)


def test_gpt_from_the_left(tiny_gpt: Callable[..., GPT]) -> None:
    """The blank and what follows it play no part."""
    model = tiny_gpt()
    out = left_log_probs(model, WINDOWS, PLACES, batch_size=2)
    for row, (window, place) in enumerate(zip(WINDOWS, PLACES.tolist(), strict=True)):
        expected = model(window[None, :place])[0, -1].log_softmax(dim=-1)
        assert torch.allclose(out[row], expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("n_right", [None, 0, 1, 2, 5])
def test_gpt_from_both_sides_equals_brute_force(
    tiny_gpt: Callable[..., GPT], n_right: int | None
) -> None:
    """Bayes' rule written out: the probability of each filled text, normalised."""
    model = tiny_gpt()
    out = rescored_log_probs(model, WINDOWS, PLACES, candidates=CANDIDATES, n_right=n_right)
    assert out.shape == (3, 9)
    assert torch.allclose(out.exp().sum(dim=1), torch.ones(3, dtype=torch.float64))
    for row, (window, place) in enumerate(zip(WINDOWS, PLACES.tolist(), strict=True)):
        end = len(window) if n_right is None else place + n_right + 1
        scores = []
        for candidate in CANDIDATES:
            filled = window.clone()
            filled[place] = candidate
            scores.append(log_prob(model, filled[:end], place))
        expected = torch.stack(scores).log_softmax(dim=0)
        assert torch.allclose(out[row], expected, rtol=0, atol=TOLERANCE)


def test_nothing_to_the_right_is_the_view_from_the_left(tiny_gpt: Callable[..., GPT]) -> None:
    """With n_right = 0 the two functions agree on the candidates."""
    model = tiny_gpt()
    left = left_log_probs(model, WINDOWS, PLACES)[:, CANDIDATES].log_softmax(dim=-1)
    both = rescored_log_probs(model, WINDOWS, PLACES, candidates=CANDIDATES, n_right=0)
    assert torch.allclose(both, left, rtol=0, atol=TOLERANCE)


def test_a_single_candidate_is_certain(tiny_gpt: Callable[..., GPT]) -> None:
    """One word that may stand there, stands there."""
    out = rescored_log_probs(tiny_gpt(), WINDOWS, PLACES, candidates=CANDIDATES[:1])
    assert torch.equal(out, torch.zeros(len(WINDOWS), 1))


@pytest.mark.parametrize("wrong", [CANDIDATES[None], CANDIDATES[:0], CANDIDATES[0]])
def test_candidates_are_a_list(tiny_gpt: Callable[..., GPT], wrong: Tensor) -> None:
    """A table of them, none, or a single number."""
    with pytest.raises(ValueError, match=r"expected candidates \(C,\), C >= 1, got shape"):
        rescored_log_probs(tiny_gpt(), WINDOWS, PLACES, candidates=wrong)


def test_places_that_do_not_fit(
    tiny_gpt: Callable[..., GPT], tiny_bert: Callable[..., BERT]
) -> None:
    """Shapes, places outside the window, and a GPT asked for the first token."""
    gpt, bert = tiny_gpt(), tiny_bert()
    shapes = r"windows \(N, T\) and places \(N,\), N >= 1, got \(3, 6\) and \(2,\)"
    with pytest.raises(ValueError, match=shapes):
        blank_log_probs(bert, WINDOWS, PLACES[:2], mask_id=1)
    with pytest.raises(ValueError, match=shapes):
        left_log_probs(gpt, WINDOWS, PLACES[:2])
    with pytest.raises(ValueError, match=r"expected places in 0\.\.5, got 2\.\.6"):
        blank_log_probs(bert, WINDOWS, torch.tensor([2, 6, 3]), mask_id=1)
    for windows, places in ((WINDOWS[0], PLACES), (WINDOWS[:0], PLACES[:0]), (WINDOWS[0, 0],) * 2):
        with pytest.raises(ValueError, match=r"windows \(N, T\) and places \(N,\), N >= 1, got"):
            blank_log_probs(bert, windows, places, mask_id=1)
    with pytest.raises(ValueError, match=r"places in whole numbers, got torch\.float32"):
        blank_log_probs(bert, WINDOWS, PLACES.float(), mask_id=1)
    first = torch.tensor([0, 2, 3])
    blank_log_probs(bert, WINDOWS, first, mask_id=1)  # BERT may be asked for the first one
    with pytest.raises(ValueError, match=r"expected places in 1\.\.5, got 0\.\.3"):
        left_log_probs(gpt, WINDOWS, first)
    with pytest.raises(ValueError, match=r"expected places in 1\.\.5, got 0\.\.3"):
        rescored_log_probs(gpt, WINDOWS, first, candidates=CANDIDATES)
    with pytest.raises(ValueError, match="n_right >= 0 or None, got -1"):
        rescored_log_probs(gpt, WINDOWS, PLACES, candidates=CANDIDATES, n_right=-1)
