# SPDX-License-Identifier: MIT
"""Targets, corruption and the losses that draw their own batches.

The losses of T5 and of prefixes: what is read, what is predicted, what is ignored.
"""

import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor, nn

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.objectives import (
    FATES,
    IGNORE_INDEX,
    BatchLoss,
    Corrupted,
    causal_lm_loss,
    causal_targets,
    corrupt_mlm,
    masked_lm_loss,
    prefix_lm_loss,
    prefix_seq2seq_loss,
    prefix_targets,
    random_windows,
    seq2seq_loss,
    shift_right,
    span_corruption_loss,
    split_prefixes,
)
from pretrain.span_corruption import corrupt_spans
from pretrain.t5 import T5
from pretrain.training import fit

VOCAB_SIZE, MASK_ID, SPECIAL_IDS = 30, 1, (0, 1)
SIZES = {"d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 16}


def corrupt(ids: Tensor, seed: int = 0, **options: float) -> Corrupted:
    """Corrupt with the ids above."""
    return corrupt_mlm(
        ids,
        mask_id=MASK_ID,
        vocab_size=VOCAB_SIZE,
        special_ids=SPECIAL_IDS,
        generator=torch.Generator().manual_seed(seed),
        **options,
    )


def within_4_sigma(n_hits: int, n_trials: int, prob: float) -> bool:
    """Say whether a count is a plausible one for its probability."""
    return abs(n_hits - n_trials * prob) <= 4 * math.sqrt(n_trials * prob * (1 - prob))


def test_targets_are_the_next_tokens() -> None:
    """What is read at t is followed by the target at t."""
    inputs, targets = causal_targets(torch.tensor([[1, 2, 3], [4, 5, 6]]))
    assert inputs.tolist() == [[1, 2], [4, 5]]
    assert targets.tolist() == [[2, 3], [5, 6]]


def test_two_tokens_make_one_target() -> None:
    """The shortest text, without a batch."""
    inputs, targets = causal_targets(torch.tensor([5, 6]))
    assert inputs.tolist() == [5]
    assert targets.tolist() == [6]


@pytest.mark.parametrize("shape", [(1,), (3, 1), (2, 0), ()])
def test_targets_need_two_tokens(shape: tuple[int, ...]) -> None:
    """One token has no successor."""
    with pytest.raises(ValueError, match=r"expected ids \(\.\.\., T\) with T >= 2, got shape"):
        causal_targets(torch.zeros(shape, dtype=torch.int64))


@pytest.fixture(scope="module")
def big() -> tuple[Tensor, Corrupted]:
    """Corrupt 400,000 ids, special ones among them, once for all rate tests."""
    ids = torch.randint(VOCAB_SIZE, (400, 1000), generator=torch.Generator().manual_seed(1))
    return ids, corrupt(ids)


def test_selection_rate(big: tuple[Tensor, Corrupted]) -> None:
    """15 % of the ordinary tokens are selected, within four standard errors."""
    ids, corrupted = big
    ordinary = ids > 1
    selected = corrupted.labels != IGNORE_INDEX
    assert within_4_sigma(int(selected.sum()), int(ordinary.sum()), 0.15)


def test_fates_are_80_10_10(big: tuple[Tensor, Corrupted]) -> None:
    """Each drawn fate has its rate, and all three together pass a chi-square test."""
    fates = big[1].fates
    assert FATES == ("not selected", "masked", "random", "kept")
    counts = torch.bincount(fates.flatten().long(), minlength=4)[1:].tolist()
    total = sum(counts)
    for count, prob in zip(counts, (0.8, 0.1, 0.1), strict=True):
        assert within_4_sigma(count, total, prob)
    expected = [0.8 * total, 0.1 * total, 0.1 * total]
    chi_square = sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True))
    assert chi_square < 18.4  # exceeded once in 10,000 times with two degrees of freedom


def test_each_fate_does_what_it_says(big: tuple[Tensor, Corrupted]) -> None:
    """Masked becomes [MASK], kept and not selected stay, random is some ordinary token."""
    ids, (read, _, fates) = big
    assert read[fates == 1].eq(MASK_ID).all()
    unchanged = (fates == 0) | (fates == 3)
    assert torch.equal(read[unchanged], ids[unchanged])
    assert read[fates == 2].gt(1).all()


def test_random_draws_are_uniform_and_may_hit_the_original(big: tuple[Tensor, Corrupted]) -> None:
    """All 28 ordinary tokens are drawn alike, so 1 draw in 28 changes nothing."""
    ids, (read, _, fates) = big
    drawn = read[fates == 2]
    counts = torch.bincount(drawn, minlength=VOCAB_SIZE)[2:].double()
    expected = len(drawn) / 28
    assert ((counts - expected) ** 2 / expected).sum() < 67  # once in 30,000: 27 degrees
    hits = int((drawn == ids[fates == 2]).sum())
    assert within_4_sigma(hits, len(drawn), 1 / 28)


def test_selection_does_not_depend_on_place_or_neighbour(big: tuple[Tensor, Corrupted]) -> None:
    """The two halves of a sequence have one rate, and neighbours are selected independently."""
    ids, (_, _, fates) = big
    selected = fates > 0
    left, right = selected[:, :500], selected[:, 500:]
    ordinary = int((ids[:, :500] > 1).sum())
    assert abs(int(left.sum()) - int(right.sum())) < 4 * math.sqrt(2 * ordinary * 0.15 * 0.85)
    both_ordinary = (ids[:, 1:] > 1) & (ids[:, :-1] > 1)
    pairs = int((selected[:, 1:] & selected[:, :-1]).sum())
    assert within_4_sigma(pairs, int(both_ordinary.sum()), 0.15**2)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 12))
def test_labels_and_specials(seed: int, batch_size: int, seq_len: int) -> None:
    """Labels are the originals where selected and -100 elsewhere; specials are left alone."""
    ids = torch.randint(5, (batch_size, seq_len), generator=torch.Generator().manual_seed(seed))
    before = ids.clone()
    read, labels, fates = corrupt(ids, seed, select_prob=0.5)
    assert torch.equal(ids, before)
    assert read.shape == labels.shape == fates.shape == ids.shape
    assert (read.dtype, labels.dtype, fates.dtype) == (torch.int64, torch.int64, torch.int8)
    assert torch.equal(labels, ids.where(fates > 0, torch.tensor(-100)))
    assert torch.equal(labels.where(fates > 0, read), ids)
    assert (read[fates == FATES.index("masked")] == MASK_ID).all()
    kept = fates == FATES.index("kept")
    assert torch.equal(read[kept], ids[kept])
    assert fates[ids < 2].eq(0).all()


def test_the_same_seed_gives_the_same_corruption() -> None:
    """Nothing but the generator decides; drawing on gives another result."""
    ids = torch.randint(2, VOCAB_SIZE, (4, 50))
    first, again = corrupt(ids, seed=3), corrupt(ids, seed=3)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first.fates, corrupt(ids, seed=4).fates)


def test_extreme_rates() -> None:
    """Everything selected and masked; everything random; everything kept."""
    ids = torch.randint(2, VOCAB_SIZE, (2, 50))
    assert corrupt(ids, select_prob=1.0, mask_prob=1.0, random_prob=0.0).ids.eq(MASK_ID).all()
    assert corrupt(ids, select_prob=1.0, mask_prob=0.0, random_prob=1.0).fates.eq(2).all()
    kept = corrupt(ids, select_prob=1.0, mask_prob=0.0, random_prob=0.0)
    assert torch.equal(kept.ids, ids)
    assert torch.equal(kept.labels, ids)


@pytest.mark.parametrize(("masked", "random"), [(0.9, 0.1), (0.8, 0.2), (1 + 1e-9, 0.0)])
def test_shares_may_sum_to_one_up_to_rounding(masked: float, random: float) -> None:
    """With nothing left for it, no token is kept."""
    ids = torch.full((20, 50), 7)
    fates = corrupt(ids, select_prob=1.0, mask_prob=masked, random_prob=random).fates
    assert fates.ne(FATES.index("kept")).all()


def test_the_smallest_vocabulary(generator: Generator) -> None:
    """One token, which is the mask as well; and a text without any."""
    for seq_len in (0, 3):
        ids = torch.zeros(1, seq_len, dtype=torch.int64)
        read = corrupt_mlm(ids, mask_id=0, vocab_size=1, special_ids=(), generator=generator).ids
        assert torch.equal(read, ids)


@pytest.mark.parametrize("prob", [0.0, -0.1, 1.1])
def test_bad_selection_rates(prob: float) -> None:
    """Nothing to predict, or more than everything."""
    with pytest.raises(ValueError, match=rf"select_prob in \(0, 1\], got {prob}"):
        corrupt(torch.tensor([[2]]), select_prob=prob)


@pytest.mark.parametrize(("masked", "random"), [(-0.1, 0.1), (0.8, -0.1), (0.8, 0.3)])
def test_bad_fate_rates(masked: float, random: float) -> None:
    """Shares below zero or above one in sum."""
    with pytest.raises(ValueError, match=f"sum of at most 1, got {masked} and {random}"):
        corrupt(torch.tensor([[2]]), mask_prob=masked, random_prob=random)


def test_bad_ids(generator: Generator) -> None:
    """Ids outside the vocabulary, a mask outside it, and a vocabulary of specials only."""
    with pytest.raises(ValueError, match=r"in 0\.\.29, got 2\.\.30 and 1"):
        corrupt(torch.tensor([[2, 30]]))
    with pytest.raises(ValueError, match=r"in 0\.\.29, got -1\.\.-1 and 1"):
        corrupt(torch.tensor([[-1]]))
    ids = torch.tensor([[0, 1]])
    with pytest.raises(ValueError, match=r"in 0\.\.1, got 0\.\.1 and 2"):
        corrupt_mlm(ids, mask_id=2, vocab_size=2, special_ids=(0,), generator=generator)
    with pytest.raises(ValueError, match="an ordinary token among 2, got only special ones"):
        corrupt_mlm(ids, mask_id=1, vocab_size=2, special_ids=(0, 1), generator=generator)


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(0, 5))
def test_windows_are_pieces_of_the_text(seed: int, seq_len: int, n_more: int) -> None:
    """Each window is seq_len consecutive tokens; a text of one window has only that one."""
    ids = torch.arange(100, 100 + seq_len + n_more)
    windows = random_windows(ids, 8, seq_len, generator=torch.Generator().manual_seed(seed))
    assert windows.shape == (8, seq_len)
    assert torch.equal(windows - windows[:, :1], torch.arange(seq_len).expand(8, -1))
    assert windows.min() >= 100
    assert windows.max() < 100 + seq_len + n_more


def test_one_window_of_one_token(generator: Generator) -> None:
    """The smallest batch of the shortest text."""
    assert random_windows(torch.tensor([5]), 1, 1, generator=generator).tolist() == [[5]]


def test_every_place_is_drawn(generator: Generator) -> None:
    """First and last start included, all equally often within four standard errors."""
    windows = random_windows(torch.arange(12), 9000, 4, generator=generator)
    counts = torch.bincount(windows[:, 0], minlength=12).tolist()
    assert counts[9:] == [0, 0, 0]
    assert all(within_4_sigma(count, 9000, 1 / 9) for count in counts[:9])


@pytest.mark.parametrize("shape", [(3,), (1, 10)])
def test_bad_windows(shape: tuple[int, ...], generator: Generator) -> None:
    """A text shorter than a window, or not one text."""
    with pytest.raises(ValueError, match=r"ids \(L,\) with L >= seq_len = 4, got shape"):
        random_windows(torch.zeros(shape, dtype=torch.int64), 2, 4, generator=generator)


class Constant(nn.Module):
    """Scores tokens by a fixed vector, whatever it reads, and records what it was given."""

    def __init__(self, scores: Tensor) -> None:
        """Keep the scores (V,)."""
        super().__init__()
        self.scores = scores
        self.read: list[Tensor] = []
        self.asked: list[Tensor] = []

    def forward(self, ids: Tensor, *, predict: Tensor | None = None) -> Tensor:
        """Give the same logits everywhere, or one row per asked position."""
        self.read.append(ids)
        if predict is None:
            return self.scores.expand(*ids.shape, -1)
        self.asked.append(predict)
        return self.scores.expand(int(predict.sum()), -1)


def test_causal_loss_is_the_mean_over_next_tokens(generator: Generator) -> None:
    """The text repeats 0 1 2, so every window's targets are known; uniform scores cost log V."""
    model = Constant(torch.zeros(5))
    loss = causal_lm_loss(torch.arange(60) % 3, batch_size=4, seq_len=7)(model, generator)
    assert loss.item() == pytest.approx(math.log(5))
    assert model.read[0].shape == (4, 7)
    certain = Constant(torch.tensor([0.0, -math.log(3), -math.inf]))  # P = 3/4, 1/4, 0
    loss = causal_lm_loss(torch.arange(60) % 2, batch_size=4, seq_len=8)(certain, generator)
    assert loss.item() == pytest.approx(-(math.log(3 / 4) + math.log(1 / 4)) / 2, rel=1e-6)


def test_masked_loss_is_the_mean_over_selected_tokens(generator: Generator) -> None:
    """The head is asked at exactly the selected positions, and the mean is over those."""
    model = Constant(torch.arange(VOCAB_SIZE).float())
    loss = masked_lm_loss(
        torch.full((200,), 7), batch_size=4, seq_len=16, mask_id=MASK_ID,
        vocab_size=VOCAB_SIZE, special_ids=SPECIAL_IDS, mask_prob=1.0, random_prob=0.0,
    )(model, generator)  # fmt: skip
    expected = F.cross_entropy(model.scores[None], torch.tensor([7]))
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    assert torch.equal(model.read[0] == MASK_ID, model.asked[0])


@pytest.mark.parametrize("batch_size", [1, 3])
def test_the_shares_reach_the_corruption(batch_size: int, generator: Generator) -> None:
    """All selected and masked, or all selected and kept; the mean of equal losses is that loss."""
    for mask_prob, read in ((1.0, MASK_ID), (0.0, 7)):
        model = Constant(torch.arange(VOCAB_SIZE).float())
        loss = masked_lm_loss(
            torch.full((9,), 7), batch_size=batch_size, seq_len=1, mask_id=MASK_ID,
            vocab_size=VOCAB_SIZE, special_ids=SPECIAL_IDS, select_prob=1.0, mask_prob=mask_prob,
            random_prob=0.0,
        )(model, generator)  # fmt: skip
        assert model.asked[0].all()
        assert model.read[0].eq(read).all()
        expected = F.cross_entropy(model.scores[None], torch.tensor([7]))
        assert loss.item() == pytest.approx(expected.item(), rel=1e-6)


def test_losses_note_what_they_draw_from() -> None:
    """The hash of the text, its first 16 digits, and every number that decides on a batch."""
    ids = torch.arange(9)
    noted = {"ids_sha256": hashlib.sha256(ids.numpy().tobytes()).hexdigest()[:16]}
    sizes = {"batch_size": 2, "seq_len": 3}
    causal = causal_lm_loss(ids, **sizes)
    assert causal.settings == {**noted, "kind": "causal", **sizes}  # type: ignore[attr-defined]
    shares = {"select_prob": 0.3, "mask_prob": 0.6, "random_prob": 0.2}
    options = {"mask_id": MASK_ID, "special_ids": SPECIAL_IDS, **sizes, **shares}
    masked = masked_lm_loss(ids, vocab_size=VOCAB_SIZE, **options)  # type: ignore[arg-type]
    expected = {**noted, "kind": "masked", **options, "special_ids": [0, 1]}
    assert masked.settings == expected  # type: ignore[attr-defined]


def test_a_batch_that_selects_nothing_costs_nothing(generator: Generator) -> None:
    """The mean over no tokens is zero with zero gradients, not NaN."""
    model = BERT(VOCAB_SIZE, **SIZES)  # type: ignore[arg-type]
    loss = masked_lm_loss(
        torch.zeros(20, dtype=torch.int64), batch_size=2, seq_len=8, mask_id=MASK_ID,
        vocab_size=VOCAB_SIZE, special_ids=SPECIAL_IDS,
    )(model, generator)  # fmt: skip
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is None or p.grad.eq(0).all() for p in model.parameters())


def test_losses_equal_those_written_out(generator: Generator) -> None:
    """With real models: the same number as the full head and cross_entropy's own skipping."""
    ids = torch.randint(2, VOCAB_SIZE, (100,))
    gpt = GPT(VOCAB_SIZE, **SIZES)  # type: ignore[arg-type]
    bert = BERT(VOCAB_SIZE, **SIZES)  # type: ignore[arg-type]
    state = generator.get_state()
    causal = causal_lm_loss(ids, batch_size=3, seq_len=8)(gpt, generator)
    generator.set_state(state)
    windows = random_windows(ids, 3, 9, generator=generator)
    by_hand = F.cross_entropy(gpt(windows[:, :-1]).transpose(1, 2), windows[:, 1:])
    assert causal.item() == pytest.approx(by_hand.item(), rel=1e-6)

    options = {"mask_id": MASK_ID, "vocab_size": VOCAB_SIZE, "special_ids": SPECIAL_IDS}
    generator.set_state(state)
    masked = masked_lm_loss(ids, batch_size=3, seq_len=8, **options)(bert, generator)  # type: ignore[arg-type]
    generator.set_state(state)
    windows = random_windows(ids, 3, 8, generator=generator)
    read, labels, _ = corrupt_mlm(windows, **options, generator=generator)  # type: ignore[arg-type]
    by_hand = F.cross_entropy(bert(read).transpose(1, 2), labels, ignore_index=IGNORE_INDEX)
    assert masked.item() == pytest.approx(by_hand.item(), rel=1e-6)


@pytest.mark.parametrize("special_id", [-1, 5])
def test_special_ids_must_exist(special_id: int, generator: Generator) -> None:
    """-1 would otherwise protect the last token in silence."""
    with pytest.raises(ValueError, match=rf"expected special_ids in 0..4, got \[{special_id}\]"):
        corrupt_mlm(
            torch.zeros(1, 3, dtype=torch.int64),
            mask_id=1, vocab_size=5, special_ids=(0, special_id), generator=generator,
        )  # fmt: skip


def test_a_probability_that_is_no_number_is_refused() -> None:
    """NaN is below nothing and above nothing, and passed as a share of 0."""
    ids, generator = torch.zeros(1, 4, dtype=torch.int64), torch.Generator()
    options = {"mask_id": 1, "vocab_size": 3, "special_ids": (1,), "generator": generator}
    with pytest.raises(ValueError, match=r"mask_prob, random_prob >= 0 .* got nan and 0.1"):
        corrupt_mlm(ids, mask_prob=float("nan"), **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ids in whole numbers"):
        corrupt_mlm(ids.float(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("batch_size", "seq_len"), [(0, 2), (-1, 2), (2, 0), (2, -1)])
def test_windows_have_a_size(batch_size: int, seq_len: int) -> None:
    """torch's own errors about negative sizes got out; no window has no token."""
    with pytest.raises(ValueError, match=f"got {batch_size} and {seq_len}"):
        random_windows(torch.arange(9), batch_size, seq_len, generator=torch.Generator())


SEQ2SEQ_SIZES = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32}
CORPUS = torch.arange(2, 12).repeat(30)  # 2, 3, ... 11, 2, 3, ...
SENTINELS = {"first_sentinel_id": 19, "n_sentinels": 6}


@pytest.fixture
def t5() -> T5:
    """Give a small T5 with 20 tokens, the last six of them sentinels."""
    return T5(20, **SEQ2SEQ_SIZES)  # type: ignore[arg-type]


class Recorder(nn.Module):
    """A model that remembers what it was called with and finds all tokens equally likely."""

    def forward(self, *args: Tensor, **kwargs: Tensor) -> Tensor:
        """Give logits of zero."""
        self.args, self.kwargs = args, kwargs
        read = args[1] if len(args) > 1 else args[0]
        return torch.zeros(*read.shape, 20)


def test_span_loss_reads_and_predicts_the_corruption(generator: Generator) -> None:
    """The encoder reads the inputs, the decoder the shifted targets, and no mask is needed."""
    model = Recorder()
    loss = span_corruption_loss(CORPUS, batch_size=5, seq_len=20, eos_id=1, **SENTINELS)
    assert loss(model, generator).item() == pytest.approx(math.log(20))
    again = torch.Generator().manual_seed(0)
    windows = random_windows(CORPUS, 5, 20, generator=again)
    expected = corrupt_spans(windows, generator=again, eos_id=1, **SENTINELS)
    inputs, decoder_ids, mask = model.args
    assert torch.equal(inputs, expected.inputs)
    assert torch.equal(decoder_ids, shift_right(expected.targets))
    assert mask is None


def test_every_setting_reaches_the_corruption(generator: Generator) -> None:
    """Rows of other lengths, another padding, and no sentinel at the end of the target."""
    options = {"noise_share": 0.3, "mean_span_len": 2.0, "roll": True, "final_sentinel": False}
    model = Recorder()
    loss = span_corruption_loss(
        CORPUS, batch_size=16, seq_len=12, pad_id=12, **options, **SENTINELS
    )
    loss(model, generator)
    again = torch.Generator().manual_seed(0)
    windows = random_windows(CORPUS, 16, 12, generator=again)
    expected = corrupt_spans(windows, generator=again, pad_id=12, **options, **SENTINELS)
    assert not expected.target_mask.all()
    inputs, decoder_ids, mask = model.args
    assert torch.equal(inputs, expected.inputs)
    assert torch.equal(decoder_ids, shift_right(expected.targets, pad_id=12))
    assert torch.equal(mask, expected.input_mask)


def test_span_loss_ignores_padding(t5: T5, generator: Generator) -> None:
    """With roll, rows differ in length: the loss is the mean over real target tokens alone."""
    options = {"noise_share": 0.3, "mean_span_len": 2.0, "roll": True, **SENTINELS}
    loss = span_corruption_loss(CORPUS, batch_size=16, seq_len=12, **options)
    value = loss(t5, generator)
    again = torch.Generator().manual_seed(0)
    windows = random_windows(CORPUS, 16, 12, generator=again)
    rows = zip(*corrupt_spans(windows, generator=again, **options), strict=True)
    losses = []
    lengths = set()
    for inputs, targets, input_mask, target_mask, _ in rows:
        alone, labels = inputs[input_mask][None], targets[target_mask]
        lengths.add(len(labels))
        logits = t5(alone, shift_right(labels)[None])[0]
        losses.append(F.cross_entropy(logits, labels, reduction="none"))
    assert len(lengths) == 2
    assert value.item() == pytest.approx(torch.cat(losses).mean().item(), abs=1e-5)


def test_an_ignored_label_counts_for_nothing(t5: T5) -> None:
    """What the encoder's padding or an ignored label holds does not change the loss."""
    inputs = torch.tensor([[3, 4, 19, 7], [5, 19, 0, 0]])
    labels = torch.tensor([[19, 5, 6, 18], [19, 6, -100, -100]])
    real = inputs > 0
    both = seq2seq_loss(t5, inputs, labels, real)
    parts = [
        seq2seq_loss(t5, inputs[:1], labels[:1]),
        seq2seq_loss(t5, inputs[1:, :2], labels[1:, :2]),
    ]
    assert both.item() == pytest.approx((4 * parts[0] + 2 * parts[1]).item() / 6, abs=1e-6)
    assert seq2seq_loss(t5, inputs, labels, real | True) != both


@pytest.mark.parametrize(("options", "start"), [({}, 0), ({"pad_id": 12}, 12)])
def test_the_decoder_starts_from_the_padding(
    options: dict[str, int], start: int, generator: Generator
) -> None:
    """Id 0 unless another is given; it stands also where the encoder has nothing to read."""
    model = Recorder()
    labels = torch.tensor([[5, 6, IGNORE_INDEX, 7]])
    seq2seq_loss(model, labels, labels, **options)
    assert model.args[1].tolist() == [[start, 5, 6, start]]
    prefix_seq2seq_loss(CORPUS, batch_size=8, seq_len=5, **options)(model, generator)
    inputs, decoder_ids, real = model.args
    assert not real.all()
    assert inputs[~real].eq(start).all()
    assert decoder_ids[:, 0].eq(start).all()


def test_prefix_targets_begin_after_the_prefix() -> None:
    """The last token of the prefix predicts the first one after it."""
    ids = torch.tensor([[5, 6, 7, 8, 9]] * 4)
    inputs, labels = prefix_targets(ids, torch.tensor([0, 1, 3, 4]))
    assert inputs.tolist() == [[5, 6, 7, 8]] * 4
    no = IGNORE_INDEX
    assert labels.tolist() == [[6, 7, 8, 9], [6, 7, 8, 9], [no, no, 8, 9], [no, no, no, 9]]


def test_split_prefixes() -> None:
    """The prefix is read, the rest is written; both are padded to the longest."""
    ids = torch.tensor([[5, 6, 7, 8]] * 3)
    inputs, labels, real = split_prefixes(ids, torch.tensor([1, 3, 2]), pad_id=1)
    assert inputs.tolist() == [[5, 1, 1], [5, 6, 7], [5, 6, 1]]
    assert real.tolist() == [[True, False, False], [True] * 3, [True, True, False]]
    no = IGNORE_INDEX
    assert labels.tolist() == [[6, 7, 8], [8, no, no], [7, 8, no]]
    assert split_prefixes(ids, torch.tensor([1, 3, 2]))[0].tolist()[0] == [5, 0, 0]


def test_one_sequence_is_enough() -> None:
    """A batch of one, cut in its middle."""
    ids = torch.tensor([[5, 6]])
    inputs, labels, real = split_prefixes(ids, torch.tensor([1]))
    assert (inputs.tolist(), labels.tolist(), real.tolist()) == ([[5]], [[6]], [[True]])


@pytest.mark.parametrize("make", [prefix_lm_loss, prefix_seq2seq_loss])
def test_the_shortest_prefix(make: Callable[..., BatchLoss], generator: Generator) -> None:
    """One token is read and one predicted; less is refused."""
    value = make(CORPUS, batch_size=1, seq_len=1)(Recorder(), generator)
    assert value.item() == pytest.approx(math.log(20))
    with pytest.raises(ValueError, match="expected seq_len >= 1, got 0"):
        make(CORPUS, batch_size=1, seq_len=0)


@pytest.mark.parametrize("seed", range(5))
def test_both_prefix_losses_predict_the_same_tokens(seed: int) -> None:
    """One seed, one batch: a GPT and a T5 are asked for the same tokens after the same prefix."""
    gpt, t5 = Recorder(), Recorder()
    sizes = {"batch_size": 6, "seq_len": 9}
    for make, model in ((prefix_lm_loss, gpt), (prefix_seq2seq_loss, t5)):
        value = make(CORPUS, **sizes)(model, torch.Generator().manual_seed(seed))
        assert value.item() == pytest.approx(math.log(20))
    lens = gpt.kwargs["prefix_lens"]
    assert gpt.args[0].shape == (6, 9)
    assert lens.min() >= 1
    assert lens.max() <= 9
    assert torch.equal(t5.args[2].sum(dim=1), lens)
    for i, n in enumerate(lens.tolist()):
        assert torch.equal(t5.args[0][i, :n], gpt.args[0][i, :n])
        assert torch.equal(t5.args[1][i, 1 : 10 - n], gpt.args[0][i, n:])


def test_all_prefix_lengths_occur(generator: Generator) -> None:
    """From one token to all that the model reads."""
    model = Recorder()
    prefix_lm_loss(CORPUS, batch_size=500, seq_len=5)(model, generator)
    assert model.kwargs["prefix_lens"].unique().tolist() == [1, 2, 3, 4, 5]


def test_bad_prefixes_are_named() -> None:
    """Nothing to read, nothing to predict, or of another batch."""
    ids = torch.zeros(2, 4, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"prefix_lens in 1\.\.3, got \[0, 1\]"):
        split_prefixes(ids, torch.tensor([0, 1]))
    for function in (split_prefixes, prefix_targets):
        with pytest.raises(ValueError, match=r"prefix_lens in [01]\.\.3, got \[1, 4\]"):
            function(ids, torch.tensor([1, 4]))
        with pytest.raises(ValueError, match=r"got shapes \(2, 4\) and \(3,\)"):
            function(ids, torch.tensor([1, 1, 1]))
    with pytest.raises(ValueError, match=r"got shapes \(4,\) and \(2,\)"):
        split_prefixes(ids[0], torch.tensor([1, 1]))


@pytest.mark.parametrize("objective", ["spans", "rolled spans", "prefix", "prefix, T5"])
def test_fit_learns_each_objective(t5: T5, generator: Generator, objective: str) -> None:
    """On a corpus that counts, sixty steps more than halve the loss of the first steps."""
    sizes = {"batch_size": 16, "seq_len": 12}
    model: nn.Module = t5
    if objective == "prefix":
        model = GPT(20, d_model=16, n_layers=1, n_heads=2, max_len=12)
        loss = prefix_lm_loss(CORPUS, **sizes)
    elif objective == "prefix, T5":
        loss = prefix_seq2seq_loss(CORPUS, **sizes)
    else:
        loss = span_corruption_loss(CORPUS, **sizes, **SENTINELS, roll=objective != "spans")
    history = fit(model, loss, n_steps=60, lr=0.02, generator=generator, weight_decay=0.0)
    assert sum(history.losses[-5:]) < 0.5 * sum(history.losses[:5])


def test_every_loss_says_what_it_draws_from() -> None:
    """A resume with another text or batch must be noticed for each objective."""
    ids = torch.arange(40)
    makers: dict[str, Callable[..., BatchLoss]] = {
        "causal": causal_lm_loss,
        "masked": partial(masked_lm_loss, mask_id=1, vocab_size=50, special_ids=(0, 1)),
        "spans": partial(span_corruption_loss, first_sentinel_id=49),
        "prefix": prefix_lm_loss,
        "prefix seq2seq": prefix_seq2seq_loss,
    }
    for kind, make in makers.items():
        noted = [
            make(text, batch_size=size, seq_len=8).settings  # type: ignore[attr-defined]
            for text, size in ((ids, 2), (ids, 2), (ids.flip(0), 2), (ids, 3))
        ]
        assert noted[0]["kind"] == kind
        assert noted[0] == noted[1]
        assert noted[0] != noted[2]
        assert noted[0] != noted[3]


@pytest.mark.parametrize(
    ("make", "kind", "options", "defaults"),
    [
        (
            span_corruption_loss,
            "spans",
            {"first_sentinel_id": 149},
            {"n_sentinels": 100, "noise_share": 0.15, "mean_span_len": 3.0, "roll": False,
             "final_sentinel": True, "eos_id": None, "pad_id": 0},
        ),
        (
            span_corruption_loss,
            "spans",
            {"first_sentinel_id": 49, "n_sentinels": 8, "noise_share": 0.3, "mean_span_len": 2.0,
             "roll": True, "final_sentinel": False, "eos_id": 1, "pad_id": 12},
            {},
        ),
        (prefix_lm_loss, "prefix", {}, {}),
        (prefix_seq2seq_loss, "prefix seq2seq", {}, {"pad_id": 0}),
        (prefix_seq2seq_loss, "prefix seq2seq", {"pad_id": 12}, {}),
    ],
)  # fmt: skip
def test_losses_note_every_setting(
    make: Callable[..., BatchLoss], kind: str, options: dict[str, Any], defaults: dict[str, Any]
) -> None:
    """All that decides on a batch, defaults included, beside the hash of the text."""
    options = {**options, "batch_size": 2, "seq_len": 8}
    noted = dict(make(CORPUS, **options).settings)  # type: ignore[attr-defined]
    assert len(noted.pop("ids_sha256")) == 16
    assert noted == {"kind": kind, **options, **defaults}
