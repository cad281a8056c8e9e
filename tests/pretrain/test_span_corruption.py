# SPDX-License-Identifier: MIT
"""Span corruption: sentinels, the way back, and the paper's own example.

Which tokens are cut out: exact counts, and no choice more likely than another.
"""

import math
from itertools import combinations, pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor

from pretrain.span_corruption import (
    SpanCorrupted,
    SpanCounts,
    apply_spans,
    corrupt_spans,
    count_spans,
    cut_out,
    find_spans,
    random_noise,
    random_segments,
    restore_spans,
)

FIRST = 199  # sentinels 199, 198, ... 100
EOS = 1


def corrupt(ids: Tensor, seed: int = 0, **options: Any) -> SpanCorrupted:
    """Corrupt with the sentinels above."""
    generator = torch.Generator().manual_seed(seed)
    return corrupt_spans(ids, first_sentinel_id=FIRST, generator=generator, **options)


def restore(corrupted: SpanCorrupted, eos_id: int | None = None) -> Tensor:
    """Put one corrupted text together again."""
    return restore_spans(
        corrupted.inputs[corrupted.input_mask],
        corrupted.targets[corrupted.target_mask],
        first_sentinel_id=FIRST,
        eos_id=eos_id,
    )


def rows(corrupted: SpanCorrupted) -> list[SpanCorrupted]:
    """Take a batch apart."""
    return [SpanCorrupted(*parts) for parts in zip(*corrupted, strict=True)]


def test_the_example_of_the_paper() -> None:
    """Figure 2 of Raffel et al. 2020, its two spans given."""
    words = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week."]
    names = [*words, "<Z>", "<Y>", "<X>"]
    ids = torch.arange(len(words))
    cut = apply_spans(ids, [(2, 4), (8, 9)], first_sentinel_id=len(names) - 1, n_sentinels=3)
    written = [" ".join(names[i] for i in part.tolist()) for part in cut[:2]]
    assert written == [
        "Thank you <X> me to your party <Y> week.",
        "<X> for inviting <Y> last <Z>",
    ]
    assert find_spans(cut.noise) == [(2, 4), (8, 9)]
    assert cut.input_mask.all()
    assert cut.target_mask.all()
    back = restore_spans(*cut[:2], first_sentinel_id=len(names) - 1, n_sentinels=3)
    assert torch.equal(back, ids)


@pytest.mark.parametrize(
    ("final_sentinel", "eos_id", "inputs", "targets"),
    [
        (True, None, [5, 199, 8], [199, 6, 7, 198]),
        (False, None, [5, 199, 8], [199, 6, 7]),
        (True, EOS, [5, 199, 8, 1], [199, 6, 7, 198, 1]),
        (False, EOS, [5, 199, 8, 1], [199, 6, 7, 1]),
    ],
)
def test_the_four_endings(
    final_sentinel: bool, eos_id: int | None, inputs: list[int], targets: list[int]
) -> None:
    """The paper's figure ends with a sentinel, the released code with an end id."""
    ids = torch.tensor([5, 6, 7, 8])
    cut = apply_spans(
        ids, [(1, 3)], first_sentinel_id=FIRST, final_sentinel=final_sentinel, eos_id=eos_id
    )
    assert cut.inputs.tolist() == inputs
    assert cut.targets.tolist() == targets
    assert torch.equal(restore(cut, eos_id), ids)


def test_a_hundred_sentinels_unless_asked_otherwise() -> None:
    """199 to 100 are sentinels, in every function; 99 and 200 are tokens like others."""
    edge, noise = torch.tensor([200, 99, 6, 7]), torch.tensor([False, False, True, False])
    cut = apply_spans(edge, [(2, 3)], first_sentinel_id=FIRST)
    assert torch.equal(restore(cut), edge)
    assert cut_out(edge[None], noise[None], first_sentinel_id=FIRST).inputs.tolist() == [
        [200, 99, 199, 7]
    ]
    assert corrupt(edge).inputs.shape == (4,)
    for sentinel in (100, 199):
        text = edge.where(edge != 99, sentinel)
        message = rf"without the sentinels 100\.\.199, got \[{sentinel}\]"
        with pytest.raises(ValueError, match=message):
            apply_spans(text, [(2, 3)], first_sentinel_id=FIRST)
        with pytest.raises(ValueError, match=message):
            cut_out(text[None], noise[None], first_sentinel_id=FIRST)
        with pytest.raises(ValueError, match=message):
            corrupt(text)


def test_sentinels_may_count_down_to_zero() -> None:
    """All ids up to the first sentinel are sentinels then; the text stands above them."""
    cut = apply_spans(torch.arange(4, 8), [(1, 3)], first_sentinel_id=3, n_sentinels=4)
    assert cut.inputs.tolist() == [4, 3, 7]
    assert cut.targets.tolist() == [3, 5, 6, 2]


def test_short_rows_end_in_zeros() -> None:
    """Unless another padding is asked for."""
    noise = torch.tensor([[False, True, False, True], [False, True, True, True]])
    cut = cut_out(torch.arange(2, 10).view(2, 4), noise, first_sentinel_id=FIRST)
    assert cut.inputs.tolist() == [[2, 199, 4, 198], [6, 199, 0, 0]]
    assert cut.targets.tolist() == [[199, 3, 198, 5, 197], [199, 7, 8, 9, 198]]
    rolled = corrupt(torch.randint(2, 90, (200, 20)), roll=True)
    assert rolled.targets[~rolled.target_mask].eq(0).all()
    assert not rolled.target_mask.all()


def test_the_defaults_are_those_of_the_paper() -> None:
    """15 % of 100 tokens in spans of 3, not turned: the text begins with a kept token."""
    cut = corrupt(torch.arange(100).repeat(50, 1))
    assert {(int(row.noise.sum()), len(find_spans(row.noise))) for row in rows(cut)} == {(15, 5)}
    assert not cut.noise[:, 0].any()
    more = corrupt(torch.arange(100), noise_share=0.4, mean_span_len=8.0)
    assert (int(more.noise.sum()), len(find_spans(more.noise))) == (40, 5)


def test_spans_may_stand_at_the_edges() -> None:
    """Every span is behind its own sentinel, also one that begins the text."""
    ids = torch.arange(2, 7)
    cut = apply_spans(ids, [(0, 1), (3, 5)], first_sentinel_id=FIRST)
    assert cut.inputs.tolist() == [199, 3, 4, 198]
    assert cut.targets.tolist() == [199, 2, 198, 5, 6, 197]
    assert torch.equal(restore(cut), ids)
    whole = apply_spans(ids, [(0, 5)], first_sentinel_id=FIRST)
    assert whole.inputs.tolist() == [199]
    assert torch.equal(restore(whole), ids)
    near = apply_spans(ids, [(0, 1), (2, 3)], first_sentinel_id=FIRST)  # one token between them
    assert near.inputs.tolist() == [199, 3, 198, 5, 6]
    none = apply_spans(ids, [], first_sentinel_id=FIRST)
    assert none.targets.tolist() == [199]
    assert torch.equal(restore(none), ids)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(
    st.integers(2, 120),
    st.floats(0.01, 0.99),
    st.floats(1.0, 12.0),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, EOS]),
    st.integers(0, 2**32),
)
def test_input_and_target_give_back_the_text(
    seq_len: int,
    share: float,
    mean_len: float,
    roll: bool,
    final_sentinel: bool,
    eos_id: int | None,
    seed: int,
) -> None:
    """Nothing is lost, whatever the rate, the span length, the ending and the text."""
    ids = torch.randint(100, (seq_len,), generator=torch.Generator().manual_seed(seed))
    before = ids.clone()
    corrupted = corrupt(
        ids, seed, noise_share=share, mean_span_len=mean_len, roll=roll,
        final_sentinel=final_sentinel, eos_id=eos_id,
    )  # fmt: skip
    assert torch.equal(ids, before)
    assert torch.equal(restore(corrupted, eos_id), ids)


@given(
    st.integers(1, 30),
    st.floats(0, 1),
    st.booleans(),
    st.sampled_from([None, EOS]),
    st.integers(0, 2**32),
)
def test_any_choice_of_tokens_can_be_undone(
    seq_len: int, share: float, final_sentinel: bool, eos_id: int | None, seed: int
) -> None:
    """Not only the choices that noise makes: none, all, and ends and beginnings alike."""
    draw = torch.Generator().manual_seed(seed)
    text = torch.randint(2, 100, (3, seq_len), generator=draw)
    chosen = torch.rand(3, seq_len, generator=draw) < share
    cut = cut_out(
        text, chosen, first_sentinel_id=FIRST, final_sentinel=final_sentinel, eos_id=eos_id
    )
    assert torch.equal(cut.noise, chosen)
    for row, original in enumerate(text):
        one = SpanCorrupted(*(part[row] for part in cut))
        assert torch.equal(restore(one, eos_id), original)


@given(st.lists(st.integers(2, 8), max_size=9), st.lists(st.integers(2, 8), max_size=9))
def test_whatever_a_model_wrote_gives_a_text_or_is_refused(
    inputs: list[int], targets: list[int]
) -> None:
    """Ids 5 to 8 are sentinels; a text holds none, and is no longer than its two parts."""
    parts = torch.tensor(inputs, dtype=torch.int64), torch.tensor(targets, dtype=torch.int64)
    try:
        text = restore_spans(*parts, first_sentinel_id=8, n_sentinels=4, eos_id=2)
    except ValueError:
        return
    assert not set(text.tolist()) & {5, 6, 7, 8}
    assert len(text) <= len(inputs) + len(targets)


@pytest.mark.parametrize("seq_len", [2, 3, 8, 20, 63, 128, 512])
@pytest.mark.parametrize("roll", [False, True])
def test_sentinels_descend_and_are_shared(seq_len: int, roll: bool) -> None:
    """199, 198, ... in input and target alike, one a span, and one more ends the target."""
    ids = torch.randint(2, 100, (16, seq_len))
    for row, text in zip(rows(corrupt(ids, roll=roll)), ids, strict=True):
        spans = find_spans(row.noise)
        inputs, targets = row.inputs[row.input_mask], row.targets[row.target_mask]
        sentinels = [FIRST - i for i in range(len(spans))]
        assert inputs[inputs >= 100].tolist() == sentinels
        assert targets[targets >= 100].tolist() == [*sentinels, FIRST - len(spans)]
        assert targets[-1] == FIRST - len(spans)
        assert torch.equal(inputs[inputs < 100], text[~row.noise])
        assert torch.equal(targets[targets < 100], text[row.noise])
        assert len(inputs) + len(targets) == seq_len + 2 * len(spans) + 1


def test_lengths_are_fixed_without_roll() -> None:
    """The counts depend on the length alone, so a batch needs no padding."""
    n_noise, n_spans = count_spans(568)
    corrupted = corrupt(torch.zeros(3, 568).long(), final_sentinel=False, eos_id=EOS)
    assert (n_noise, n_spans) == (85, 28)
    assert corrupted.inputs.shape == (3, 512)
    assert corrupted.targets.shape == (3, 114)
    assert corrupted.input_mask.all()
    assert corrupted.target_mask.all()


def test_rolled_rows_are_padded() -> None:
    """A divided span makes a row longer; the others are filled up, and the masks say where."""
    ids = torch.randint(2, 90, (200, 20))
    corrupted = corrupt(ids, roll=True, pad_id=95)
    lengths = corrupted.target_mask.sum(dim=1)
    assert sorted(set(lengths.tolist())) == [5, 6]  # 3 tokens, 1 or 2 spans, a final sentinel
    for values, mask in (
        (corrupted.inputs, corrupted.input_mask),
        (corrupted.targets, corrupted.target_mask),
    ):
        assert values[~mask].eq(95).all()
        assert values[mask].ne(95).all()
        assert (mask.long().diff(dim=1) <= 0).all()  # real tokens first
    for row, text in zip(rows(corrupted), ids, strict=True):
        assert torch.equal(restore(row), text)


def test_one_text_or_a_batch() -> None:
    """(T,) gives (S,) and (T,): the one row of a batch of one."""
    ids = torch.arange(2, 42)
    for one, row in zip(corrupt(ids, seed=3), corrupt(ids[None], seed=3), strict=True):
        assert torch.equal(one, row[0])


def test_the_same_seed_gives_the_same_spans() -> None:
    """Nothing but the generator decides."""
    ids = torch.arange(90)
    assert torch.equal(corrupt(ids, seed=1).inputs, corrupt(ids, seed=1).inputs)
    assert not torch.equal(corrupt(ids, seed=1).noise, corrupt(ids, seed=2).noise)


def test_bad_texts_are_named(generator: Generator) -> None:
    """Sentinels inside, too few or impossible sentinels, wrong shapes."""
    ids = torch.arange(40)
    with pytest.raises(ValueError, match=r"without the sentinels 100\.\.199, got \[100\]"):
        corrupt(torch.tensor([1, 2, 100, 99]))
    with pytest.raises(ValueError, match="at most 2 sentinels, got a need of 3"):
        corrupt(ids, n_sentinels=2)
    assert corrupt(ids, n_sentinels=2, final_sentinel=False).inputs[-1] == 198
    with pytest.raises(ValueError, match=r"n_sentinels in 1\.\.100, counted down from 99, got 101"):
        corrupt_spans(ids, first_sentinel_id=99, n_sentinels=101, generator=generator)
    for wrong in (ids[None, None], torch.tensor(3)):
        with pytest.raises(ValueError, match=r"ids \(B, T\) or \(T,\), got shape"):
            corrupt(wrong)
    with pytest.raises(ValueError, match=r"expected seq_len >= 2, .* got 1, 0.15 and 3.0"):
        corrupt(ids[:1])
    for flat in (ids, ids[None, None]):
        with pytest.raises(ValueError, match=r"text and cut of one shape \(B, T\), B >= 1, got"):
            cut_out(flat, flat > 50, first_sentinel_id=FIRST)
    with pytest.raises(ValueError, match=r"inputs \(S,\) and targets \(T,\), got shapes \(40,\)"):
        restore_spans(ids, ids[None], first_sentinel_id=FIRST)
    with pytest.raises(ValueError, match=r"ids \(T,\), got shape \(1, 40\)"):
        apply_spans(ids[None], [(1, 2)], first_sentinel_id=FIRST)


@pytest.mark.parametrize(
    "spans",
    [[(2, 2)], [(3, 2)], [(-1, 2)], [(3, 6)], [(0, 2), (2, 3)], [(0, 3), (2, 4)], [(3, 4), (0, 1)]],
    ids=str,
)
def test_bad_spans_are_named(spans: list[tuple[int, int]]) -> None:
    """Empty, outside, touching, overlapping or out of order."""
    with pytest.raises(ValueError, match=r"inside 0\.\.5, in order, .* got \[\("):
        apply_spans(torch.arange(5), spans, first_sentinel_id=FIRST)


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
        restore_spans(inputs, torch.tensor(targets), first_sentinel_id=FIRST)


def test_what_a_model_wrote_can_be_put_in() -> None:
    """Spans of other lengths, even empty ones, fit as long as the sentinels do."""
    inputs = torch.tensor([5, 199, 6, 198, EOS])
    targets = torch.tensor([199, 198, 7, 8, 9, EOS])
    back = restore_spans(inputs, targets, first_sentinel_id=FIRST, eos_id=EOS)
    assert back.tolist() == [5, 6, 7, 8, 9]
    unclosed = restore_spans(inputs[:-1], targets[:-1], first_sentinel_id=FIRST, eos_id=EOS)
    assert torch.equal(unclosed, back)
    nothing = restore_spans(inputs[1:2], targets[:1], first_sentinel_id=FIRST)
    assert nothing.shape == (0,)
    assert back.dtype == nothing.dtype == torch.int64


def test_a_choice_in_whole_numbers_is_refused() -> None:
    """~1 is -2 and not "not": spans in 0 and 1 gave another text."""
    ids = torch.arange(4)[None]
    with pytest.raises(ValueError, match=r"cut in bool, got torch\.int64 and torch\.int64"):
        cut_out(ids, torch.tensor([[0, 1, 1, 0]]), first_sentinel_id=FIRST)
    with pytest.raises(ValueError, match=r"whole numbers .* got torch\.float32"):
        corrupt(ids[0].float())


def test_no_text_at_all_is_refused() -> None:
    """The longest of no rows was asked for; a single number is no sequence."""
    with pytest.raises(ValueError, match=r"B >= 1, got \(0, 5\)"):
        corrupt(torch.zeros(0, 5, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"inputs \(S,\) and targets \(T,\), got shapes \(\)"):
        restore_spans(torch.tensor(FIRST), torch.tensor([FIRST]), first_sentinel_id=FIRST)


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
