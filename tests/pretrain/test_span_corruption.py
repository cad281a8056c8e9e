# SPDX-License-Identifier: MIT
"""Span corruption: which tokens are cut out, the sentinels, and the way back."""

import math
from itertools import combinations, pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from pretrain.span_corruption import (
    SpanCorrupted,
    SpanCorruption,
    corrupt_given_spans,
    corrupt_spans,
    corrupt_with_noise_mask,
    count_spans,
    fill_spans,
    find_spans,
    random_noise,
    random_segments,
)

EOS = 1
SPANS = SpanCorruption(first_sentinel_id=199)  # sentinels 199, 198, ... 100
ENDINGS = [
    SpanCorruption(199, final_sentinel=f, eos_id=e) for f in (True, False) for e in (None, 1)
]


def corrupt(ids: Tensor, seed: int = 0, **options: Any) -> SpanCorrupted:
    """Corrupt with the sentinels above."""
    generator = torch.Generator().manual_seed(seed)
    return corrupt_spans(ids, SpanCorruption(199, **options), generator=generator)


def rows(corrupted: SpanCorrupted) -> list[SpanCorrupted]:
    """Take a batch apart, and the padding off."""
    found = []
    for inputs, targets, input_mask, target_mask, noise in zip(*corrupted, strict=True):
        parts = inputs[input_mask], targets[target_mask], input_mask, target_mask, noise
        found.append(SpanCorrupted(*parts))
    return found


def slow_corrupt(text: list[int], noise: list[bool], spans: SpanCorruption) -> list[list[int]]:
    """Write input and target token by token."""
    inputs: list[int] = []
    targets: list[int] = []
    sentinel = spans.first_sentinel_id + 1
    for i, (token, cut) in enumerate(zip(text, noise, strict=True)):
        if cut and (i == 0 or not noise[i - 1]):
            sentinel -= 1
            inputs.append(sentinel)
            targets.append(sentinel)
        (targets if cut else inputs).append(token)
    if spans.final_sentinel:
        targets.append(sentinel - 1)
    end = [] if spans.eos_id is None else [spans.eos_id]
    return [inputs + end, targets + end]


def test_the_example_of_the_paper() -> None:
    """Figure 2 of Raffel et al. 2020, its two spans given."""
    words = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week."]
    names = [*words, "<Z>", "<Y>", "<X>"]
    ids = torch.arange(len(words))
    spans = SpanCorruption(first_sentinel_id=len(names) - 1, n_sentinels=3)
    cut = corrupt_given_spans(ids, [(2, 4), (8, 9)], spans)
    assert [" ".join(names[i] for i in part.tolist()) for part in cut[:2]] == [
        "Thank you <X> me to your party <Y> week.",
        "<X> for inviting <Y> last <Z>",
    ]
    assert find_spans(cut.noise) == [(2, 4), (8, 9)]
    assert find_spans(~cut.noise) == [(0, 2), (4, 8), (9, 10)]
    assert cut.input_mask.all()
    assert cut.target_mask.all()
    assert torch.equal(fill_spans(cut.inputs, cut.targets, spans), ids)


@given(
    st.integers(1, 30), st.floats(0, 1), st.sampled_from(ENDINGS), st.integers(0, 2**32)
)  # fmt: skip
def test_any_choice_of_tokens_equals_the_slow_reference_and_can_be_undone(
    seq_len: int, share: float, spans: SpanCorruption, seed: int
) -> None:
    """None, all, ends and beginnings alike, with each of the four endings.

    The paper's figure ends with a sentinel, the released code with an end id. Short rows are
    filled with the padding id behind their real tokens.
    """
    draw = torch.Generator().manual_seed(seed)
    text = torch.randint(2, 100, (3, seq_len), generator=draw)
    noise = torch.rand(3, seq_len, generator=draw) < share
    before = text.clone()
    cut = corrupt_with_noise_mask(text, noise, spans)
    assert torch.equal(text, before)
    assert torch.equal(cut.noise, noise)
    for row, ids in zip(rows(cut), text, strict=True):
        expected = slow_corrupt(ids.tolist(), row.noise.tolist(), spans)
        assert [row.inputs.tolist(), row.targets.tolist()] == expected
        assert torch.equal(fill_spans(row.inputs, row.targets, spans), ids)
    for values, real in ((cut.inputs, cut.input_mask), (cut.targets, cut.target_mask)):
        assert values[~real].eq(spans.pad_id).all()
        assert (real.long().diff(dim=1) <= 0).all()
        assert real.any(dim=0).all()  # no wider than the longest row


@given(
    st.integers(2, 120), st.floats(0.01, 0.99), st.floats(1.0, 12.0), st.booleans(),
    st.sampled_from(ENDINGS), st.integers(0, 2**32),
)  # fmt: skip
def test_random_spans_can_be_undone(
    seq_len: int, density: float, mean_len: float, roll: bool, ending: SpanCorruption, seed: int
) -> None:
    """Nothing is lost, and the counts are met, whatever the rate and the length of the spans."""
    ids = torch.randint(100, (seq_len,), generator=torch.Generator().manual_seed(seed))
    options = {"noise_density": density, "mean_noise_span_length": mean_len}
    cut = corrupt(
        ids, seed, **options, random_roll=roll, final_sentinel=ending.final_sentinel,
        eos_id=ending.eos_id,
    )  # fmt: skip
    assert torch.equal(fill_spans(cut.inputs, cut.targets, ending), ids)
    n_noise, n_spans = count_spans(seq_len, **options)
    assert 1 <= n_spans <= n_noise <= seq_len - n_spans
    if 1 <= round(density * seq_len) < seq_len:
        assert n_noise == round(density * seq_len)
    assert cut.noise.sum() == n_noise
    assert len(find_spans(cut.noise)) - n_spans in ([0, 1] if roll else [0])
    if not roll:
        assert not cut.noise[0]
        assert cut.noise[-1]


def test_the_counts_of_the_2020_paper() -> None:
    """15 % in spans of 3: round(0.15 T) tokens in round(tokens / 3) spans, on every length.

    568 tokens of text make 512 for the encoder and 114 for the decoder, an end id included; the
    counts depend on the length alone, so a batch needs no padding.
    """
    for seq_len in range(8, 513):
        n_noise = round(0.15 * seq_len)
        assert count_spans(seq_len) == (n_noise, max(round(n_noise / 3), 1))
    cut = corrupt(torch.zeros(3, 568).long(), final_sentinel=False, eos_id=EOS)
    assert cut.inputs.shape == (3, 512)
    assert cut.targets.shape == (3, 114)
    assert cut.input_mask.all()
    assert cut.target_mask.all()


@given(st.lists(st.integers(2, 8), max_size=9), st.lists(st.integers(2, 8), max_size=9))
def test_whatever_a_model_wrote_gives_a_text_or_is_refused(
    inputs: list[int], targets: list[int]
) -> None:
    """Ids 5 to 8 are sentinels; a text holds none, and is no longer than its two parts."""
    parts = torch.tensor(inputs, dtype=torch.int64), torch.tensor(targets, dtype=torch.int64)
    try:
        text = fill_spans(*parts, SpanCorruption(8, n_sentinels=4, eos_id=2))
    except ValueError:
        return
    assert text.dtype == torch.int64
    assert not set(text.tolist()) & {5, 6, 7, 8}
    assert len(text) <= len(inputs) + len(targets)


def test_what_a_model_wrote_can_be_put_in() -> None:
    """Spans of other lengths, even empty ones, fit as long as the sentinels do."""
    spans = SpanCorruption(199, eos_id=EOS)
    inputs, targets = torch.tensor([5, 199, 6, 198, EOS]), torch.tensor([199, 198, 7, 8, 9, EOS])
    assert fill_spans(inputs, targets, spans).tolist() == [5, 6, 7, 8, 9]
    assert fill_spans(inputs[:-1], targets[:-1], spans).tolist() == [5, 6, 7, 8, 9]
    assert fill_spans(inputs[1:2], targets[:1], spans).shape == (0,)


@pytest.mark.parametrize(
    "targets",
    [[199, 7], [199, 7, 197, 8], [198, 7, 199, 8], [199, 7, 198, 8, 197, 9], [7, 199, 198, 9],
     [199, 7, 199, 8], [199, 7, 198, 8, 199], []],
    ids=str,
)  # fmt: skip
def test_targets_that_do_not_answer_the_input(targets: list[int]) -> None:
    """A sentinel missing, wrong, out of order, too many, twice; tokens before the first."""
    inputs = torch.tensor([5, 199, 6, 198])
    with pytest.raises(ValueError, match=r"those of inputs, \[199, 198\], got \["):
        fill_spans(inputs, torch.tensor(targets), SPANS)


def test_one_text_or_a_batch() -> None:
    """(T,) gives (S,) and (T,): the one row of a batch of one."""
    ids = torch.arange(2, 42)
    for one, row in zip(corrupt(ids, seed=3), corrupt(ids[None], seed=3), strict=True):
        assert torch.equal(one, row[0])


def test_the_generator_decides() -> None:
    """One seed, one choice; torch's global generator plays no part."""
    draws = []
    for i, seed in enumerate((1, 1, 2)):
        torch.manual_seed(i)
        draws.append(corrupt(torch.arange(90), seed, random_roll=True).noise)
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_all_choices_are_equally_likely(generator: Generator) -> None:
    """For 12 tokens with 4 in 2 spans, 3 · 7 masks exist; 42,000 draws hit each alike."""
    n_draws = 42_000
    noise = random_noise(
        n_draws, 12, generator=generator, noise_density=1 / 3, mean_noise_span_length=2.0
    )
    codes = (noise.long() * 2 ** torch.arange(12)).sum(dim=1)
    _, counts = codes.unique(return_counts=True)
    assert len(counts) == math.comb(3, 1) * math.comb(7, 1)
    expected = n_draws / 21
    assert ((counts - expected) ** 2 / expected).sum() < 56  # once in 30,000: 20 degrees


def slow_rates(seq_len: int, n_noise: int, n_spans: int) -> Tensor:
    """List all masks that begin with a kept token and end with a cut one, and average them."""
    masks = []
    n_kept = seq_len - n_noise
    for kept_cuts in combinations(range(1, n_kept), n_spans - 1):
        for noise_cuts in combinations(range(1, n_noise), n_spans - 1):
            kept = [b - a for a, b in pairwise([0, *kept_cuts, n_kept])]
            cut = [b - a for a, b in pairwise([0, *noise_cuts, n_noise])]
            masks.append([x for k, c in zip(kept, cut, strict=True) for x in [0] * k + [1] * c])
    return torch.tensor(masks, dtype=torch.float64).mean(dim=0)


@pytest.mark.parametrize(("density", "mean_len"), [(0.3, 3.0), (0.4, 2.7), (0.1, 3.0)])
@pytest.mark.parametrize("roll", [False, True])
def test_each_position_is_cut_at_its_rate(density: float, mean_len: float, roll: bool) -> None:
    """Within 4 sigma: with roll all alike, without it as listing all masks says.

    Without roll the first is never cut out and the last always.
    """
    n_draws, options = 40_000, {"noise_density": density, "mean_noise_span_length": mean_len}
    noise = corrupt(torch.zeros(n_draws, 20).long(), random_roll=roll, **options).noise
    n_noise, n_spans = count_spans(20, **options)
    rates = slow_rates(20, n_noise, n_spans)
    assert rates[[0, -1]].tolist() == [0, 1]
    if roll:
        rates = torch.full_like(rates, n_noise / 20)
    sigma = (rates * (1 - rates) / n_draws).sqrt()
    assert ((noise.double().mean(dim=0) - rates).abs() <= 4 * sigma).all()


def test_segments_cover_all_items(generator: Generator) -> None:
    """One segment takes all, as many segments as items take one each."""
    assert random_segments(2, 5, 1, generator=generator).tolist() == [[5], [5]]
    assert random_segments(2, 4, 4, generator=generator).tolist() == [[1] * 4] * 2
    many = random_segments(100, 9, 4, generator=generator)
    assert many.sum(dim=1).eq(9).all()
    assert many.ge(1).all()
    for n_segments in (0, 4):
        with pytest.raises(ValueError, match=rf"n_segments in 1\.\.3, got {n_segments}"):
            random_segments(1, 3, n_segments, generator=generator)


def test_bad_texts_are_named() -> None:
    """Sentinels inside, too few or impossible sentinels, wrong shapes."""
    ids = torch.arange(40)
    for sentinel in (100, 199):
        with pytest.raises(ValueError, match=rf"sentinels 100\.\.199, got \[{sentinel}\]"):
            corrupt(torch.tensor([1, 2, sentinel, 99]))
    assert corrupt(torch.tensor([200, 99, 3])).inputs[:2].tolist() == [200, 99]
    with pytest.raises(ValueError, match="at most 2 sentinels, got a need of 3"):
        corrupt(ids, n_sentinels=2)
    assert corrupt(ids, n_sentinels=2, final_sentinel=False).inputs[-1] == 198
    for n_sentinels in (0, 101):
        message = rf"n_sentinels in 1\.\.100, counted down from 99, got {n_sentinels}"
        with pytest.raises(ValueError, match=message):
            SpanCorruption(first_sentinel_id=99, n_sentinels=n_sentinels)
    with pytest.raises(ValueError, match=r"ids \(B, T\) or \(T,\), got shape"):
        corrupt(ids[None, None])
    with pytest.raises(ValueError, match=r"ids \(T,\), got shape \(1, 40\)"):
        corrupt_given_spans(ids[None], [(1, 2)], SPANS)
    for text, noise in (
        (ids, ids > 3), (ids[:0, None], ids[:0, None] > 3), (ids[None], ids[None] % 2),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"text \(B, T\), B >= 1, and noise bool of the same"):
            corrupt_with_noise_mask(text, noise, SPANS)


@pytest.mark.parametrize(
    "places",
    [[(2, 2)], [(3, 2)], [(-1, 2)], [(3, 6)], [(0, 2), (2, 3)], [(0, 3), (2, 4)], [(3, 4), (0, 1)]],
    ids=str,
)
def test_bad_spans_are_named(places: list[tuple[int, int]]) -> None:
    """Empty, outside, touching, overlapping or out of order."""
    with pytest.raises(ValueError, match=r"inside 0\.\.5, in order, .* got \[\("):
        corrupt_given_spans(torch.arange(5), places, SPANS)


@pytest.mark.parametrize(
    ("seq_len", "density", "mean_len"),
    [(1, 0.15, 3.0), (9, 0.0, 3.0), (9, 1.0, 3.0), (9, 0.15, 0.9), (9, math.nan, 3.0)],
)
def test_bad_counts_are_named(seq_len: int, density: float, mean_len: float) -> None:
    """Too short a text, everything or nothing cut out, spans shorter than a token."""
    message = rf"mean_noise_span_length >= 1, got {seq_len}, {density} and {mean_len}"
    with pytest.raises(ValueError, match=message):
        corrupt(
            torch.arange(seq_len), noise_density=density, mean_noise_span_length=mean_len
        )  # fmt: skip
