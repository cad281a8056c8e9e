# SPDX-License-Identifier: MIT
"""What each objective reads, predicts and ignores; its loss is the mean over predictions."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import (
    IGNORE_INDEX,
    REPLACEMENTS,
    CausalLM,
    MaskedBatch,
    MaskedLM,
    Pair,
    PrefixLM,
    SpanCorruptionLM,
    TextObjective,
    causal_targets,
    collate,
    corrupt_mlm,
    prefix_targets,
    random_windows,
    shift_right,
    split_prefixes,
)
from pretrain.span_corruption import SpanCorruption, corrupt_spans
from pretrain.t5 import T5, T5Config
from pretrain.training import OptimConfig, fit

MASKING: dict[str, Any] = {"mask_id": 1, "vocab_size": 30, "special_ids": (0, 1)}
NO = IGNORE_INDEX


def corrupt(ids: Tensor, seed: int = 0, **options: Any) -> MaskedBatch:
    """Corrupt with the ids above."""
    generator = torch.Generator().manual_seed(seed)
    return corrupt_mlm(ids, generator=generator, **{**MASKING, **options})


def within_4_sigma(n_hits: int, n_trials: int, prob: float) -> bool:
    """Say whether a count is a plausible one for its probability."""
    return abs(n_hits - n_trials * prob) <= 4 * math.sqrt(n_trials * prob * (1 - prob))


def test_targets_are_the_next_tokens() -> None:
    """What is read at t is followed by the target at t; one token has no successor."""
    inputs, targets = causal_targets(torch.tensor([[1, 2, 3], [4, 5, 6]]))
    assert inputs.tolist() == [[1, 2], [4, 5]]
    assert targets.tolist() == [[2, 3], [5, 6]]
    for shape in ((1,), (3, 1), ()):
        with pytest.raises(ValueError, match=r"expected ids \(\.\.\., T\) with T >= 2, got shape"):
            causal_targets(torch.zeros(shape, dtype=torch.int64))


@pytest.fixture(scope="module")
def big() -> tuple[Tensor, MaskedBatch]:
    """Corrupt 400,000 ids, special ones among them, once for all rate tests."""
    ids = torch.randint(30, (400, 1000), generator=torch.Generator().manual_seed(1))
    return ids, corrupt(ids)


def test_selection_rate(big: tuple[Tensor, MaskedBatch]) -> None:
    """15 % of the ordinary tokens are selected, wherever they stand and whatever is beside them."""
    ids, (_, labels, _) = big
    ordinary, selected = ids > 1, labels != IGNORE_INDEX
    for half in (slice(0, 500), slice(500, 1000)):
        assert within_4_sigma(int(selected[:, half].sum()), int(ordinary[:, half].sum()), 0.15)
    both_ordinary, both = (x[:, 1:] & x[:, :-1] for x in (ordinary, selected))
    assert within_4_sigma(int(both.sum()), int(both_ordinary.sum()), 0.15**2)


def test_replacements_are_80_10_10(big: tuple[Tensor, MaskedBatch]) -> None:
    """Each replacement has its rate, and does what it says."""
    ids, (read, _, replacement) = big
    assert REPLACEMENTS == ("not selected", "masked", "random", "kept")
    counts = torch.bincount(replacement.flatten().long(), minlength=4)[1:].tolist()
    for count, prob in zip(counts, (0.8, 0.1, 0.1), strict=True):
        assert within_4_sigma(count, sum(counts), prob)
    assert read[replacement == 1].eq(1).all()
    unchanged = (replacement == 0) | (replacement == 3)
    assert torch.equal(read[unchanged], ids[unchanged])


def test_random_draws_are_uniform_and_may_hit_the_original(big: tuple[Tensor, MaskedBatch]) -> None:
    """All 28 ordinary tokens are drawn alike, so 1 draw in 28 changes nothing."""
    ids, (read, _, replacement) = big
    drawn = read[replacement == 2]
    counts = torch.bincount(drawn, minlength=30)
    assert counts[:2].eq(0).all()
    expected = len(drawn) / 28
    assert ((counts[2:] - expected) ** 2 / expected).sum() < 67  # once in 30,000: 27 degrees
    hits = int((drawn == ids[replacement == 2]).sum())
    assert within_4_sigma(hits, len(drawn), 1 / 28)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 12))
def test_labels_and_specials(seed: int, batch_size: int, seq_len: int) -> None:
    """Labels are the originals where selected and -100 elsewhere; specials are left alone."""
    ids = torch.randint(5, (batch_size, seq_len), generator=torch.Generator().manual_seed(seed))
    before = ids.clone()
    read, labels, replacement = corrupt(ids, seed, mlm_probability=0.5)
    assert torch.equal(ids, before)
    assert (read.dtype, labels.dtype, replacement.dtype) == (torch.int64, torch.int64, torch.int8)
    assert torch.equal(labels, ids.where(replacement > 0, torch.tensor(-100)))
    assert torch.equal(labels.where(replacement > 0, read), ids)
    assert replacement[ids < 2].eq(0).all()
    again, other = corrupt(ids, seed, mlm_probability=0.5), corrupt(ids, mlm_probability=1.0)
    assert torch.equal(again.ids, read)
    assert torch.equal(other.replacement > 0, ids > 1)


@pytest.mark.parametrize(
    ("mask", "random", "name"), [(1.0, 0.0, "masked"), (0.0, 1.0, "random"), (0.0, 0.0, "kept")]
)
def test_extreme_rates(mask: float, random: float, name: str) -> None:
    """Everything selected, and all of it masked, random or kept."""
    ids = torch.full((20, 50), 7)
    rates = {"mask_replace_prob": mask, "random_replace_prob": random}
    batch = corrupt(ids, mlm_probability=1.0, **rates)
    assert batch.replacement.eq(REPLACEMENTS.index(name)).all()
    assert torch.equal(batch.labels, ids)


@pytest.mark.parametrize(
    "wrong",
    [{"mlm_probability": 0.0}, {"mlm_probability": 1.1}, {"mask_replace_prob": -0.1},
     {"random_replace_prob": -0.1}, {"random_replace_prob": 0.3}, {"mask_replace_prob": math.nan}],
    ids=str,
)  # fmt: skip
def test_bad_probabilities_are_named(wrong: dict[str, float]) -> None:
    """Nothing or too much to predict; shares below zero or above one in sum. At once, too."""
    message = rf"mlm_probability in \(0, 1\].* got .*{next(iter(wrong.values()))}"
    with pytest.raises(ValueError, match=message):
        corrupt(torch.tensor([[2]]), **wrong)
    with pytest.raises(ValueError, match=message):
        MaskedLM(torch.arange(9), 2, 3, **MASKING, **wrong)


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        ([[2, 30]], {}, r"in 0\.\.29, got \[30\]"),
        ([[-1]], {}, r"in 0\.\.29, got \[-1, -1\]"),
        ([[0, 1]], {"mask_id": 30}, r"in 0\.\.29, got \[30\]"),
        ([[0, 1]], {"special_ids": (-1,)}, r"in 0\.\.29, got \[-1\]"),
        ([[0, 1]], {"vocab_size": 2}, "an ordinary token among 2, got only special ones"),
    ],
)
def test_bad_ids_are_named(ids: list[list[int]], options: dict[str, Any], message: str) -> None:
    """Ids, mask or special ids outside the vocabulary, and a vocabulary of specials only."""
    with pytest.raises(ValueError, match=message):
        corrupt(torch.tensor(ids), **options)


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(0, 5))
def test_windows_are_pieces_of_the_text(seed: int, seq_len: int, n_more: int) -> None:
    """Each window is seq_len consecutive tokens; a text of one window has only that one."""
    ids = torch.arange(100, 100 + seq_len + n_more)
    windows = random_windows(ids, 8, seq_len, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(windows - windows[:, :1], torch.arange(seq_len).expand(8, -1))
    assert torch.isin(windows, ids).all()


def test_every_place_is_drawn(generator: Generator) -> None:
    """First and last start included, all equally often within four standard errors."""
    windows = random_windows(torch.arange(12), 9000, 4, generator=generator)
    counts = torch.bincount(windows[:, 0], minlength=12).tolist()
    assert counts[9:] == [0, 0, 0]
    assert all(within_4_sigma(count, 9000, 1 / 9) for count in counts[:9])


def test_bad_windows(generator: Generator) -> None:
    """A text shorter than a window, not one text, and no window at all."""
    for shape in ((3,), (1, 10)):
        with pytest.raises(ValueError, match=r"ids \(L,\) with L >= seq_len = 4, got shape"):
            random_windows(torch.zeros(shape, dtype=torch.int64), 2, 4, generator=generator)
    for sizes in ((0, 2), (2, 0)):
        with pytest.raises(
            ValueError, match="batch_size, seq_len >= 1, got {} and {}".format(*sizes)
        ):
            random_windows(torch.arange(9), *sizes, generator=generator)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=4))
def test_every_row_of_a_collated_batch_comes_back(lens: list[tuple[int, int]]) -> None:
    """By the mask of the inputs, and the labels that are not ignored."""
    pairs = [Pair(torch.arange(s), torch.arange(10, 10 + t)) for s, t in lens]
    batch = collate(pairs, pad_id=9)
    assert batch.inputs[~batch.input_mask].eq(9).all()
    for pair, inputs, labels, real in zip(pairs, *batch, strict=True):
        assert torch.equal(inputs[real], pair.source)
        assert torch.equal(labels[labels != IGNORE_INDEX], pair.target)


def test_shift_right_starts_with_padding() -> None:
    """The label at t - 1 stands at t; ignored ones become padding; the labels stay as they were."""
    labels = torch.tensor([[5, 6, 7], [8, NO, NO]])
    before = labels.clone()
    assert shift_right(labels).tolist() == [[0, 5, 6], [0, 8, 0]]
    assert shift_right(labels, pad_id=9).tolist() == [[9, 5, 6], [9, 8, 9]]
    assert shift_right(labels[0, :1]).tolist() == [0]
    assert torch.equal(labels, before)
    with pytest.raises(ValueError, match=r"labels \(\.\.\., T\) with T >= 1, got shape \(2, 0\)"):
        shift_right(labels[:, :0])


def test_prefix_targets_begin_after_the_prefix() -> None:
    """The last token of the prefix predicts the first one after it."""
    inputs, labels = prefix_targets(torch.tensor([[5, 6, 7, 8, 9]] * 4), torch.tensor([0, 1, 3, 4]))
    assert inputs.tolist() == [[5, 6, 7, 8]] * 4
    assert labels.tolist() == [[6, 7, 8, 9], [6, 7, 8, 9], [NO, NO, 8, 9], [NO, NO, NO, 9]]


def test_split_prefixes() -> None:
    """The prefix is read, the rest is written; both are padded to the longest."""
    batch = split_prefixes(torch.tensor([[5, 6, 7, 8]] * 3), torch.tensor([1, 3, 2]), pad_id=1)
    assert batch.inputs.tolist() == [[5, 1, 1], [5, 6, 7], [5, 6, 1]]
    assert batch.labels.tolist() == [[6, 7, 8], [8, NO, NO], [7, 8, NO]]
    assert batch.input_mask.sum(dim=1).tolist() == [1, 3, 2]


def test_bad_prefixes_are_named() -> None:
    """Nothing to read, nothing to predict, or of another batch."""
    ids = torch.zeros(2, 4, dtype=torch.int64)
    for function, shortest in ((split_prefixes, 1), (prefix_targets, 0)):
        for lens in ([shortest - 1, 1], [1, 4]):
            with pytest.raises(
                ValueError, match=rf"prefix_lens in {shortest}\.\.3, got \[{lens[0]}"
            ):
                function(ids, torch.tensor(lens))
        for text, lens in ((ids, [1, 1, 1]), (ids[0], [1, 1]), (ids[:0], [])):
            with pytest.raises(ValueError, match=r"ids \(B, T\) and prefix_lens \(B,\), B >= 1"):
                function(text, torch.tensor(lens))


CORPUS = torch.arange(2, 12).repeat(30)  # 2, 3, ... 11, 2, 3, ...
SPANS = SpanCorruption(19, n_sentinels=6, noise_density=0.3, mean_noise_span_length=2.0)
ROLLED = SpanCorruption(
    19, n_sentinels=6, noise_density=0.3, mean_noise_span_length=2.0, random_roll=True,
    final_sentinel=False, eos_id=1, pad_id=12,
)  # fmt: skip
WINDOW = {"batch_size": 6, "seq_len": 9}
OBJECTIVES: dict[str, TextObjective] = {
    "causal": CausalLM(CORPUS, **WINDOW),
    "masked": MaskedLM(CORPUS, **WINDOW, mask_id=1, vocab_size=20, special_ids=(0, 1)),
    "spans": SpanCorruptionLM(CORPUS, **WINDOW, spans=SPANS),
    "rolled spans": SpanCorruptionLM(CORPUS, **WINDOW, spans=ROLLED),
    "prefix": PrefixLM(CORPUS, **WINDOW),
    "prefix, T5": PrefixLM(CORPUS, **WINDOW, encoder_decoder=True, pad_id=12),
}
EACH = pytest.mark.parametrize("name", OBJECTIVES)


def make_model(name: str) -> nn.Module:
    """Give a small model with 20 tokens for an objective."""
    sizes = {"d_model": 16, "n_layers": 2, "n_heads": 2}  # a prefix shows from layer 2 on
    if name in ("causal", "prefix"):
        return GPT(GPTConfig(20, max_len=12, init_std=0.3, **sizes))  # type: ignore[arg-type]
    if name == "masked":
        return BERT(BERTConfig(20, max_len=12, init_std=0.3, **sizes))  # type: ignore[arg-type]
    return T5(T5Config(20, **sizes))  # type: ignore[arg-type]


def slow_losses(name: str, model: nn.Module, windows: Tensor, draw: Generator) -> list[Tensor]:
    """Score every prediction of a batch, one text and one prediction at a time."""
    losses = []
    if name == "masked":
        read, labels, _ = corrupt_mlm(
            windows, mask_id=1, vocab_size=20, special_ids=(0, 1), generator=draw
        )
        for row, t in (labels != IGNORE_INDEX).nonzero().tolist():
            losses.append(-model(read[row][None])[0, t].log_softmax(dim=-1)[labels[row, t]])
        return losses
    spans = {"spans": SPANS, "rolled spans": ROLLED}.get(name)
    cut = corrupt_spans(windows, spans, generator=draw) if spans else None
    lens = torch.randint(1, 10, (6,), generator=draw) if "prefix" in name else torch.zeros(6).long()
    for row, (window, n_prefix) in enumerate(zip(windows, lens.tolist(), strict=True)):
        if cut:
            read, target = (
                cut.inputs[row][cut.input_mask[row]],
                cut.targets[row][cut.target_mask[row]],
            )
        else:
            read, target = window[:n_prefix], window[max(n_prefix, 1) :]
        for t, token in enumerate(target):
            if isinstance(model, T5):
                before = torch.cat([torch.tensor([spans.pad_id if spans else 12]), target[:t]])
                logits = model(read[None], before[None])[0, -1]
            else:
                before = window[: max(n_prefix, 1) + t]
                logits = model(before[None], prefix_lens=torch.tensor([n_prefix]))[0, -1]
            losses.append(-logits.log_softmax(dim=-1)[token])
    return losses


@torch.no_grad()
@EACH
def test_the_loss_is_the_mean_over_all_predictions(name: str) -> None:
    """Equal to scoring each prediction by itself; `corrupt` and `loss_sum` agree with the call."""
    objective, model = OBJECTIVES[name], make_model(name)
    loss = objective(model, torch.Generator().manual_seed(3))
    draw = torch.Generator().manual_seed(3)
    n_tokens = 9 + (name in ("causal", "prefix", "prefix, T5"))
    windows = random_windows(CORPUS, 6, n_tokens, generator=draw)
    state = draw.get_state()
    slow = torch.stack(slow_losses(name, model, windows, draw))
    assert loss.item() == pytest.approx(slow.mean().item(), rel=1e-5)
    draw.set_state(state)
    batch = objective.corrupt(windows, draw)
    assert int((batch.labels != IGNORE_INDEX).sum()) == len(slow)
    assert objective.loss_sum(model, batch).item() == pytest.approx(slow.sum().item(), rel=1e-5)


@EACH
def test_fit_learns_each_objective(name: str, generator: Generator) -> None:
    """On a corpus that counts, sixty steps take at least 30 % off the first losses."""
    optim = OptimConfig(lr=0.01, n_warmup=10, weight_decay=0.0)
    history = fit(make_model(name), OBJECTIVES[name], optim, n_steps=60, generator=generator)
    assert sum(history.losses[-5:]) < 0.7 * sum(history.losses[:5])


def test_both_prefix_objectives_ask_for_the_same_tokens() -> None:
    """One seed, one batch: a GPT and a T5 predict the same tokens; a prefix has 1..T of them."""
    windows = random_windows(CORPUS, 200, 10, generator=torch.Generator().manual_seed(0))
    for_gpt, for_t5 = (
        OBJECTIVES[name].corrupt(windows, torch.Generator().manual_seed(5))
        for name in ("prefix", "prefix, T5")
    )
    assert for_t5.input_mask.sum(dim=1).unique().tolist() == list(range(1, 10))
    for a, b in zip(for_gpt.labels, for_t5.labels, strict=True):
        assert torch.equal(a[a != IGNORE_INDEX], b[b != IGNORE_INDEX])


def test_a_batch_that_asks_nothing_costs_nothing(generator: Generator) -> None:
    """The mean over no tokens is zero with zero gradients, not NaN."""
    model = make_model("masked")
    nothing = torch.zeros(20, dtype=torch.int64)
    loss = MaskedLM(nothing, 2, 8, mask_id=1, vocab_size=20, special_ids=(0, 1))(model, generator)
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is None or p.grad.eq(0).all() for p in model.parameters())
