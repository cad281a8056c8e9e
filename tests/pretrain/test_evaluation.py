# SPDX-License-Identifier: MIT
"""Perplexity and accuracy against numbers computed by hand, and one gap filled from two sides."""

import contextlib
import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.evaluation import (
    batches,
    cloze_log_probs,
    eval_mode,
    gather_log_probs,
    left_log_probs,
    masked_accuracy,
    masked_log_probs,
    nats_to_bits,
    perplexity,
    token_losses,
    top_k_hits,
)
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import IGNORE_INDEX


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
    uniform = Bigram([[0.2] * 5] * 5)  # five equally likely choices
    assert perplexity(uniform, torch.arange(50) % 5, seq_len=7) == pytest.approx(5.0)


def test_bits() -> None:
    """log 2 nats are one bit; eight equal choices are three."""
    assert nats_to_bits(math.log(2)) == pytest.approx(1.0)
    assert nats_to_bits(math.log(8)) == pytest.approx(3.0)


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


def test_losses_of_a_gpt_equal_one_token_at_a_time(tiny_gpt: Callable[..., GPT]) -> None:
    """Each scored token has more than min_context tokens before it, and its loss is -log P."""
    model, ids = tiny_gpt(), torch.randint(11, (23,))
    losses = token_losses(model, ids, seq_len=8, min_context=3, batch_size=2)
    expected = []
    for start in range(0, 23 - 8, 5):
        for end in range(start + 4, start + 9):
            log_probs = model(ids[None, start:end])[0, -1].log_softmax(dim=-1)
            expected.append(-log_probs[ids[end]].item())
    assert losses.tolist() == pytest.approx(expected)
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

    def forward(self, ids: Tensor, *, masked_positions: Tensor) -> Tensor:
        """Give one row of logits per asked position."""
        return torch.tensor([0.3, 5.0, 0.2, 9.0, 0.1]).expand(int(masked_positions.sum()), -1)


LABELS = torch.tensor([[3, IGNORE_INDEX, 1], [IGNORE_INDEX] * 3, [4, 3, IGNORE_INDEX]])


def test_masked_accuracy_by_hand() -> None:
    """Answers 3, 1, 4, 3: the first guess is right twice, the first two three times."""
    ids = torch.zeros_like(LABELS)
    for batch_size in (1, 2, 64):
        accuracy = masked_accuracy(Sure(), ids, LABELS, top_k=(1, 2, 4, 5), batch_size=batch_size)
        assert accuracy == {1: 0.5, 2: 0.75, 4: 0.75, 5: 1.0}


def test_masked_log_probs_equal_the_full_head(tiny_bert: Callable[..., BERT]) -> None:
    """Rows in reading order, normalised, whatever the batch size; rows without label skipped."""
    model = tiny_bert()
    ids = torch.randint(11, (3, 3))
    expected = model(ids).log_softmax(dim=-1)[LABELS != IGNORE_INDEX]
    for batch_size in (1, 3):
        log_probs, answers = masked_log_probs(model, ids, LABELS, batch_size=batch_size)
        assert answers.tolist() == [3, 1, 4, 3]
        assert torch.allclose(log_probs, expected)
    assert not log_probs.requires_grad


def test_bad_labels_are_named() -> None:
    """Other shapes, and nothing asked."""
    ids = torch.zeros_like(LABELS)
    with pytest.raises(ValueError, match=r"one shape \(N, T\), got \(3, 3\) and \(3, 2\)"):
        masked_log_probs(Sure(), ids, LABELS[:, :2])
    with pytest.raises(ValueError, match=r"one shape \(N, T\), got \(3,\) and \(3,\)"):
        masked_accuracy(Sure(), ids[0], LABELS[0])
    with pytest.raises(ValueError, match="at least one label, got only IGNORE_INDEX"):
        masked_accuracy(Sure(), ids[1:2], LABELS[1:2])


@given(st.integers(0, 1000), st.integers(1, 8))
def test_hits_are_ranks_at_most_k(seed: int, k: int) -> None:
    """An answer is a hit exactly when fewer than k tokens score higher."""
    draw = torch.Generator().manual_seed(seed)
    scores = torch.randn(6, 8, generator=draw)
    answers = torch.randint(8, (6,), generator=draw)
    own = scores.gather(1, answers[:, None])
    assert torch.equal(top_k_hits(scores, answers, k), (scores > own).sum(dim=1) < k)
    with pytest.raises(ValueError, match=r"answers \(n,\), got shapes \(6, 8\) and \(1,\)"):
        top_k_hits(scores, answers[:1], 1)


@given(st.integers(0, 1000))
def test_more_guesses_never_lower_a_share(seed: int) -> None:
    """Shares grow with k, up to all of them with as many guesses as tokens."""
    torch.manual_seed(seed)
    model = BERT(BERTConfig(7, d_model=8, n_layers=1, n_heads=2, max_len=6, init_std=0.5)).eval()
    text, labels = torch.randint(7, (2, 3, 5))
    shares = masked_accuracy(model, text, labels, top_k=range(1, 8))
    assert list(shares.values()) == sorted(shares.values())
    assert shares[7] == 1


def test_dropout_is_off_while_judging(
    tiny_gpt: Callable[..., GPT], tiny_bert: Callable[..., BERT]
) -> None:
    """A model left in training mode gives the same numbers, and stays in that mode."""
    gpt, bert, windows = tiny_gpt(dropout=0.3), tiny_bert(dropout=0.3), torch.randint(11, (4, 12))
    places = torch.full((4,), 5)

    def judge() -> list[Tensor]:
        """Call what does not call each other."""
        losses = token_losses(gpt, windows.flatten(), seq_len=8)
        left = left_log_probs(gpt, windows, places)
        return [losses, left, cloze_log_probs(bert, windows, places, mask_id=1)]

    expected = judge()
    gpt.train()
    bert.train()
    assert all(torch.equal(a, b) for a, b in zip(judge(), expected, strict=True))
    assert gpt.training
    assert bert.training


def test_the_mode_comes_back_after_an_error() -> None:
    """What is interrupted does not leave a model without dropout."""
    model = nn.Linear(1, 1)
    with contextlib.suppress(KeyError), eval_mode(model):
        assert not model.training
        raise KeyError
    assert model.training


def test_log_probs_of_answers() -> None:
    """One for each row of logits; no other shape is broadcast."""
    logits = torch.tensor([[1.0, 1.0], [0.0, math.log(3)]])
    log_probs = gather_log_probs(logits, torch.tensor([0, 1]))
    assert log_probs.tolist() == pytest.approx([math.log(1 / 2), math.log(3 / 4)])
    with pytest.raises(ValueError, match=r"expected logits \(\.\.\., V\) and answers \(\.\.\.\)"):
        gather_log_probs(logits, torch.tensor([1]))


def test_batches_are_cut_at_the_same_places() -> None:
    """Tensors of equally many rows are; other numbers of rows, or no row at all, are refused."""
    text = torch.arange(3)
    parts = [[part.tolist() for part in pair] for pair in batches(2, text, text + 5)]
    assert parts == [[[0, 1], [5, 6]], [[2], [7]]]
    for batch_size, other in ((2, torch.zeros(4)), (0, text)):
        with pytest.raises(ValueError, match=f"batch_size >= 1 and .* got {batch_size} and"):
            list(batches(batch_size, text, other))


WINDOWS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8], [9, 7, 9, 3, 2, 3]])
PLACES = torch.tensor([2, 5, 1])


def test_bert_fills_a_masked_place(tiny_bert: Callable[..., BERT]) -> None:
    """The place alone is hidden, so what stood there cannot matter; the rest does."""
    model, windows = tiny_bert(), WINDOWS.clone()
    out = cloze_log_probs(model, windows, PLACES, mask_id=1, batch_size=2)
    assert torch.equal(windows, WINDOWS)
    assert out.shape == (3, 11)
    for row, (window, place) in enumerate(zip(WINDOWS, PLACES.tolist(), strict=True)):
        hidden = window.clone()
        hidden[place] = 1
        expected = model(hidden[None])[0, place].log_softmax(dim=-1)
        assert torch.allclose(out[row], expected, rtol=0, atol=1e-12)


@given(st.integers(0, 1000), st.integers(1, 5))
def test_gpt_from_the_left(seed: int, place: int) -> None:
    """The distribution after what stands to the left; the gap and the rest play no part."""
    torch.manual_seed(seed)
    model = GPT(GPTConfig(10, d_model=8, n_layers=1, n_heads=2, max_len=6, init_std=0.5)).eval()
    places = torch.full((3,), place)
    out = left_log_probs(model, WINDOWS, places, batch_size=2)
    other = WINDOWS.clone()
    other[:, place:] = torch.randint(10, (3, 6 - place))
    assert torch.equal(left_log_probs(model, other, places, batch_size=2), out)
    expected = model(WINDOWS[:, :place])[:, -1].log_softmax(dim=-1)
    assert torch.allclose(out, expected, atol=1e-5)


def test_places_that_do_not_fit(
    tiny_gpt: Callable[..., GPT], tiny_bert: Callable[..., BERT]
) -> None:
    """Shapes, places outside the window, and a GPT asked for the first token."""
    gpt, bert, first = tiny_gpt(), tiny_bert(), torch.tensor([0, 2, 3])
    for windows, places in ((WINDOWS, PLACES[:2]), (WINDOWS[0], PLACES), (WINDOWS[:0], PLACES[:0])):
        with pytest.raises(ValueError, match=r"windows \(N, T\) and places \(N,\), N >= 1, got"):
            cloze_log_probs(bert, windows, places, mask_id=1)
        with pytest.raises(ValueError, match=r"windows \(N, T\) and places \(N,\), N >= 1, got"):
            left_log_probs(gpt, windows, places)
    with pytest.raises(ValueError, match=r"expected places in 0\.\.5, got 2\.\.6"):
        cloze_log_probs(bert, WINDOWS, torch.tensor([2, 6, 3]), mask_id=1)
    assert cloze_log_probs(bert, WINDOWS, first, mask_id=1).shape == (3, 11)
    with pytest.raises(ValueError, match=r"expected places in 1\.\.5, got 0\.\.3"):
        left_log_probs(gpt, WINDOWS, first)
