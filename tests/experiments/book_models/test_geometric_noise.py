# SPDX-License-Identifier: MIT
"""Noise drawn token by token: its shares, its lengths, and what it never does."""

import pytest
import torch
from torch import Generator

from experiments.book_models.t5_chars import geometric_noise
from pretrain.span_corruption import SpanCorruption, corrupt_with_noise_mask, fill_spans, find_spans

N_ROWS, SEQ_LEN = 400, 512


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("mean_span_len", [1.0, 2.0, 5.0])
def test_share_and_lengths_are_those_asked_for(
    share: float, mean_span_len: float, generator: Generator
) -> None:
    """Over 200,000 tokens the share is right within 4 %, the mean length within 5 %."""
    noise = geometric_noise(
        N_ROWS, SEQ_LEN, generator=generator, noise_shares=(share, share),
        mean_span_len=mean_span_len, max_spans=SEQ_LEN,
    )  # fmt: skip
    lengths = [end - start for row in noise for start, end in find_spans(row) if end < SEQ_LEN]
    assert noise.float().mean().item() == pytest.approx(share, rel=0.04)
    assert sum(lengths) / len(lengths) == pytest.approx(mean_span_len, rel=0.05)
    if mean_span_len > 1:  # geometric: the chance to go on does not depend on the length so far
        longer = [sum(n > k for n in lengths) for k in range(1, 4)]
        for before, after in zip([len(lengths), *longer], longer, strict=False):
            assert after / before == pytest.approx(1 - 1 / mean_span_len, abs=0.03)


def test_each_row_has_a_share_of_its_own(generator: Generator) -> None:
    """Between a share and another, the rows differ far more than chance alone would have it."""
    wide, narrow = (
        geometric_noise(N_ROWS, SEQ_LEN, generator=generator, noise_shares=shares,
                        max_spans=SEQ_LEN).float().mean(dim=1)
        for shares in ((0.05, 0.4), (0.225, 0.225))
    )  # fmt: skip
    assert wide.std() > 2 * narrow.std()
    assert wide.mean().item() == pytest.approx(0.225, abs=0.02)
    assert narrow.mean().item() == pytest.approx(0.225, abs=0.01)


def test_each_token_hangs_on_the_one_before(generator: Generator) -> None:
    """By the default shares and length, in plain numbers: a draw for each row, then each token."""
    noise = geometric_noise(60, 24, generator=generator)
    again = Generator().manual_seed(0)
    shares = (0.03 + 0.27 * torch.rand(60, 1, generator=again)).flatten().tolist()
    draws = torch.rand(60, 24, generator=again).tolist()
    places = torch.randint(1, 24, (60,), generator=again).tolist()
    for row, share, numbers, place in zip(noise, shares, draws, places, strict=True):
        slow = [False]
        for number in numbers[1:]:
            slow.append(number < (2 / 3 if slow[-1] else share / (1 - share) / 3))
        if not any(slow):
            slow[place] = True
        assert row.tolist() == slow


def test_a_half_in_single_tokens_is_every_other_token(generator: Generator) -> None:
    """The largest share leaves no choice; of 120 spans the first 99 are cut out, or one alone."""
    settings = {"noise_shares": (0.5, 0.5), "mean_span_len": 1.0}
    every_other = torch.arange(240) % 2 == 1
    noise = geometric_noise(2, 240, generator=generator, **settings)  # type: ignore[arg-type]
    assert torch.equal(noise, (every_other & (torch.arange(240) < 198)).expand(2, -1))
    one = geometric_noise(1, 6, generator=generator, max_spans=1, **settings)  # type: ignore[arg-type]
    assert one.tolist() == [[False, True] + [False] * 4]


def test_no_rows(generator: Generator) -> None:
    """A batch may be empty, but not less than that."""
    assert geometric_noise(0, 5, generator=generator).shape == (0, 5)
    with pytest.raises(ValueError, match="expected batch_size >= 0, got -1"):
        geometric_noise(-1, 5, generator=generator)


@pytest.mark.parametrize("seq_len", [2, 3, 24])
def test_a_kept_token_first_and_a_span_in_each_row(seq_len: int, generator: Generator) -> None:
    """Also in the shortest text, where chance alone would often cut nothing."""
    noise = geometric_noise(N_ROWS, seq_len, generator=generator, noise_shares=(0.01, 0.4))
    assert not noise[:, 0].any()
    assert noise.any(dim=1).all()


def test_no_more_spans_than_allowed(generator: Generator) -> None:
    """The first ones stay; what comes after them is left in the text."""
    few = geometric_noise(
        N_ROWS, 64, generator=generator, noise_shares=(0.4, 0.4), mean_span_len=1.0, max_spans=3
    )
    assert {len(find_spans(row)) for row in few} == {3}


def test_the_first_spans_stay_whole() -> None:
    """A limit counts spans, not tokens: two of any length are those that an unlimited draw has."""
    every, few = (
        geometric_noise(50, 64, generator=Generator().manual_seed(0), max_spans=n) for n in (64, 2)
    )
    for row, limited in zip(every, few, strict=True):
        assert find_spans(limited) == find_spans(row)[:2]


def test_what_is_cut_out_can_be_put_back(generator: Generator) -> None:
    """Texts with one gap and with many, padded to one length, give back their texts."""
    text = torch.randint(20, 90, (50, 40), generator=generator)
    noise = geometric_noise(50, 40, generator=generator, noise_shares=(0.02, 0.4), max_spans=9)
    cut = corrupt_with_noise_mask(
        text, noise, SpanCorruption(first_sentinel_id=12, n_sentinels=10, eos_id=2)
    )
    assert not cut.input_mask.all()
    for row, inputs, targets, read, written in zip(
        text, cut.inputs, cut.targets, cut.input_mask, cut.target_mask, strict=True
    ):
        back = fill_spans(
            inputs[read],
            targets[written],
            SpanCorruption(first_sentinel_id=12, n_sentinels=10, eos_id=2),
        )
        assert torch.equal(back, row)


def test_cuts_of_another_shape_are_refused() -> None:
    """The choice belongs to these texts."""
    with pytest.raises(
        ValueError, match=r"noise bool of the same shape, got \(2, 5\) and torch\.bool \(2, 4\)"
    ):
        corrupt_with_noise_mask(
            torch.zeros(2, 5).long(), torch.zeros(2, 4).bool(), SpanCorruption(first_sentinel_id=99)
        )


@pytest.mark.parametrize(
    ("seq_len", "settings", "message"),
    [
        (1, {}, "seq_len >= 2"),
        (9, {"noise_shares": (0.0, 0.1)}, r"got 9, \(0.0, 0.1\)"),
        (9, {"noise_shares": (0.3, 0.1)}, "in order"),
        (9, {"noise_shares": (0.3, 1.0)}, "< 1"),
        (9, {"mean_span_len": 0.5}, "mean_span_len >= 1"),
        (9, {"max_spans": 0}, "max_spans >= 1"),
        (9, {"noise_shares": (0.1, 0.6), "mean_span_len": 1.0}, "at most 0.500.* got 0.6"),
    ],
)
def test_bad_settings_are_named(
    seq_len: int, settings: dict, message: str, generator: Generator
) -> None:
    """The message has what was expected and what came."""
    with pytest.raises(ValueError, match=message):
        geometric_noise(2, seq_len, generator=generator, **settings)
