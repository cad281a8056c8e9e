# SPDX-License-Identifier: MIT
"""Which tokens are cut out: exact counts, and no choice more likely than another."""

import math
from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from pretrain.span_noise import (
    SpanCounts,
    count_spans,
    find_spans,
    random_noise,
    random_segments,
)


def n_runs(noise: Tensor) -> Tensor:
    """Count the spans of each row, (B,)."""
    return (noise & ~torch.cat([torch.zeros_like(noise[:, :1]), noise[:, :-1]], dim=1)).sum(dim=1)


def test_exact_counts_on_every_length() -> None:
    """round(0.15 T) tokens in round(noise / 3) spans, in each of eight draws, whatever the seed."""
    for seq_len in range(8, 513):
        n_noise = round(0.15 * seq_len)
        n_spans = max(round(n_noise / 3), 1)
        assert count_spans(seq_len) == SpanCounts(n_noise, n_spans)
        noise = random_noise(8, seq_len, generator=torch.Generator().manual_seed(seq_len))
        assert noise.dtype == torch.bool
        assert noise.shape == (8, seq_len)
        assert noise.sum(dim=1).eq(n_noise).all(), seq_len
        assert n_runs(noise).eq(n_spans).all(), seq_len


@given(
    st.integers(2, 200),
    st.floats(0.01, 0.99),
    st.floats(1.0, 20.0),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_any_setting_is_valid(
    seq_len: int, share: float, mean_len: float, roll: bool, seed: int
) -> None:
    """At least one token and one span, and at least one token left; the counts are met."""
    n_noise, n_spans = count_spans(seq_len, noise_share=share, mean_span_len=mean_len)
    assert 1 <= n_spans <= n_noise <= seq_len - n_spans
    if 1 <= round(share * seq_len) < seq_len:
        assert n_noise == round(share * seq_len)
    noise = random_noise(
        3, seq_len, generator=torch.Generator().manual_seed(seed),
        noise_share=share, mean_span_len=mean_len, roll=roll,
    )  # fmt: skip
    assert noise.sum(dim=1).eq(n_noise).all()
    more = n_runs(noise) - n_spans
    assert more.ge(0).all()
    assert more.le(roll).all()  # turning divides one span at most
    if not roll:
        assert not noise[:, 0].any()
        assert noise[:, -1].all()


def test_the_lengths_of_the_2020_paper() -> None:
    """568 tokens of text make 512 for the encoder and 114 for the decoder, an end id included."""
    n_noise, n_spans = count_spans(568)
    assert (568 - n_noise + n_spans + 1, n_noise + n_spans + 1) == (512, 114)


def test_all_choices_are_equally_likely(generator: Generator) -> None:
    """For 12 tokens with 4 in 2 spans, 3 · 7 masks exist; 42,000 draws hit each alike."""
    n_draws = 42_000
    noise = random_noise(n_draws, 12, generator=generator, noise_share=1 / 3, mean_span_len=2.0)
    codes = (noise.long() * 2 ** torch.arange(12)).sum(dim=1)
    _, counts = codes.unique(return_counts=True)
    assert len(counts) == math.comb(3, 1) * math.comb(7, 1)
    expected = n_draws / 21
    assert ((counts - expected) ** 2 / expected).sum() < 56  # once in 30,000: 20 degrees


@pytest.mark.parametrize(("seq_len", "share", "mean_len"), [(40, 0.15, 3.0), (30, 0.4, 2.0)])
def test_rolled_positions_are_uniform(
    generator: Generator, seq_len: int, share: float, mean_len: float
) -> None:
    """With roll, each position is cut out with probability noise / T, within four sigma."""
    n_draws = 40_000
    noise = random_noise(
        n_draws, seq_len, generator=generator, noise_share=share, mean_span_len=mean_len, roll=True
    )
    prob = count_spans(seq_len, noise_share=share, mean_span_len=mean_len).n_noise / seq_len
    sigma = math.sqrt(prob * (1 - prob) / n_draws)
    assert (noise.double().mean(dim=0) - prob).abs().max() < 4 * sigma


def exact_rates(seq_len: int, n_noise: int, n_spans: int) -> Tensor:
    """List all masks that begin with a kept token and end with a cut one, and average them."""
    masks = []
    n_kept = seq_len - n_noise
    for kept_cuts in combinations(range(1, n_kept), n_spans - 1):
        for noise_cuts in combinations(range(1, n_noise), n_spans - 1):
            kept = [b - a for a, b in pairwise([0, *kept_cuts, n_kept])]
            cut = [b - a for a, b in pairwise([0, *noise_cuts, n_noise])]
            mask = [x for k, c in zip(kept, cut, strict=True) for x in [0] * k + [1] * c]
            masks.append(mask)
    return torch.tensor(masks, dtype=torch.float64).mean(dim=0)


@pytest.mark.parametrize(("share", "mean_len"), [(0.3, 3.0), (0.4, 2.7), (0.1, 3.0)])
def test_unrolled_positions_are_as_uniform_as_the_pattern_allows(
    generator: Generator, share: float, mean_len: float
) -> None:
    """Without roll, each position has the rate that listing all masks gives it, within 4 sigma.

    The first is never cut out and the last always; a single span is the end of the text.
    """
    n_draws = 40_000
    n_noise, n_spans = count_spans(20, noise_share=share, mean_span_len=mean_len)
    noise = random_noise(
        n_draws, 20, generator=generator, noise_share=share, mean_span_len=mean_len
    )
    rates = exact_rates(20, n_noise, n_spans)
    sigma = (rates * (1 - rates) / n_draws).sqrt()
    assert ((noise.double().mean(dim=0) - rates).abs() <= 4 * sigma).all()
    assert rates[[0, -1]].tolist() == [0, 1]
    if n_spans == 1:
        assert rates.tolist() == [0.0] * 18 + [1.0] * 2


def test_the_generator_decides() -> None:
    """One seed, one choice; torch's global generator plays no part."""
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(len(draws))
        draws.append(random_noise(4, 60, generator=torch.Generator().manual_seed(seed), roll=True))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_segments_cover_all_items(generator: Generator) -> None:
    """One segment takes all, as many segments as items take one each."""
    assert random_segments(2, 5, 1, generator=generator).tolist() == [[5], [5]]
    assert random_segments(2, 4, 4, generator=generator).tolist() == [[1] * 4] * 2
    assert random_segments(0, 4, 2, generator=generator).shape == (0, 2)
    many = random_segments(100, 9, 4, generator=generator)
    assert many.sum(dim=1).eq(9).all()
    assert many.ge(1).all()
    with pytest.raises(ValueError, match=r"n_segments in 1\.\.3, got 4"):
        random_segments(1, 3, 4, generator=generator)
    with pytest.raises(ValueError, match=r"n_segments in 1\.\.3, got 0"):
        random_segments(1, 3, 0, generator=generator)


def test_spans_are_found() -> None:
    """Starts and ends, also at the edges, and none."""
    noise = torch.tensor([1, 1, 0, 1, 0, 0, 1]).bool()
    assert find_spans(noise) == [(0, 2), (3, 4), (6, 7)]
    assert find_spans(noise & False) == []
    with pytest.raises(ValueError, match=r"noise \(T,\), got shape \(1, 7\)"):
        find_spans(noise[None])


@pytest.mark.parametrize(
    ("seq_len", "share", "mean_len"),
    [(1, 0.15, 3.0), (9, 0.0, 3.0), (9, 1.0, 3.0), (9, 0.15, 0.9), (9, math.nan, 3.0)],
)
def test_bad_settings_are_named(
    generator: Generator, seq_len: int, share: float, mean_len: float
) -> None:
    """Too short a text, everything or nothing cut out, spans shorter than a token."""
    message = rf"mean_span_len >= 1, got {seq_len}, {share} and {mean_len}"
    with pytest.raises(ValueError, match=message):
        count_spans(seq_len, noise_share=share, mean_span_len=mean_len)
    with pytest.raises(ValueError, match=message):
        random_noise(1, seq_len, generator=generator, noise_share=share, mean_span_len=mean_len)
