# SPDX-License-Identifier: MIT
"""A source of known entropy: each oracle against enumeration and the package's own batches."""

import math
from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from pretrain.objectives import IGNORE_INDEX, MaskedBatch, corrupt_mlm
from pretrain.span_corruption import (
    SpanCorrupted,
    SpanCorruption,
    corrupt_given_spans,
    corrupt_spans,
    find_spans,
    random_noise,
)
from pretrain_lab.oracles.hmm import HiddenMarkovSource, random_source, stationary_start
from pretrain_lab.oracles.optimal_losses import (
    entropy_rate,
    gap_interval,
    optimal_causal_log_probs,
    optimal_cloze_log_probs,
    optimal_masked_log_probs,
)
from pretrain_lab.oracles.optimal_span_losses import optimal_span_log_probs

MASK, OFFSET = 1, 3  # ids 0..2 are special, sentinels stand above the symbols
FIRST = 99
SPANS = SpanCorruption(first_sentinel_id=FIRST, n_sentinels=20)
CORRUPTION = {"mlm_probability": 0.4, "mask_replace_prob": 0.5, "random_replace_prob": 0.3}


def make(
    n_states: int = 2, n_symbols: int = 3, seed: int = 0, **options: Any
) -> HiddenMarkovSource:
    """Draw a small source."""
    generator = torch.Generator().manual_seed(seed)
    return random_source(n_states, n_symbols, generator=generator, **options)


def cycle(n: int = 4) -> HiddenMarkovSource:
    """Make the source that counts 0, 1, .. n - 1, 0, .."""
    return HiddenMarkovSource(torch.eye(n).roll(1, dims=1), torch.eye(n), torch.eye(n)[0])


def all_texts(n_symbols: int, seq_len: int) -> Tensor:
    """List every text, (V^T, T)."""
    return torch.tensor(list(product(range(n_symbols), repeat=seq_len)))


def text_prob(source: HiddenMarkovSource, text: tuple[int, ...]) -> float:
    """Compute P(text) by adding up all paths of hidden states."""
    total = 0.0
    for path in product(range(source.n_states), repeat=len(text)):
        p = source.start[path[0]] * source.emission[path[0], text[0]]
        for t in range(1, len(text)):
            p = p * source.transition[path[t - 1], path[t]] * source.emission[path[t], text[t]]
        total += float(p)
    return total


def all_probs(source: HiddenMarkovSource, seq_len: int) -> dict[tuple[int, ...], float]:
    """Give the probability of every text, by all paths."""
    texts = product(range(source.n_symbols), repeat=seq_len)
    return {text: text_prob(source, text) for text in texts}


# The source ---------------------------------------------------------------------------------------


def test_samples_follow_the_probabilities(generator: Generator) -> None:
    """Every text of three symbols comes as often as all paths say, within four sigma."""
    source, n = make(), 40_000
    samples = source.sample(n, 3, generator=generator)
    assert samples.dtype == torch.int64
    assert samples.shape == (n, 3)
    counts = torch.bincount(samples @ torch.tensor([9, 3, 1]), minlength=27)
    for count, p in zip(counts.tolist(), all_probs(source, 3).values(), strict=True):
        assert abs(count - n * p) < 4 * math.sqrt(n * p * (1 - p))


def test_the_start_of_a_random_source_is_stationary() -> None:
    """A step of the chain changes nothing, so windows of a long text are like its beginning."""
    source = make(5, 4)
    assert torch.allclose(source.start @ source.transition, source.start, atol=1e-14)
    assert source.start.sum().item() == pytest.approx(1.0)
    assert (source.n_states, source.n_symbols) == (5, 4)
    assert source.transition.dtype == torch.float64


def test_a_random_source_by_its_definition() -> None:
    """Softmax of twice as many standard normal numbers, drawn in 64 bits, transitions first."""
    generator = torch.Generator().manual_seed(0)
    transition = (2.0 * torch.randn(2, 2, generator=generator, dtype=torch.float64)).softmax(1)
    emission = (2.0 * torch.randn(2, 3, generator=generator, dtype=torch.float64)).softmax(1)
    source = make(2, 3)
    assert torch.allclose(source.transition, transition, rtol=0, atol=1e-14)
    assert torch.allclose(source.emission, emission, rtol=0, atol=1e-14)


def test_only_the_generator_decides() -> None:
    """The same seed gives the same source and the same texts, whatever else was drawn."""
    drawn = []
    for other in (1, 2):
        torch.manual_seed(other)
        source = make(3, 4, seed=5)
        drawn.append((source, source.sample(50, 20, generator=torch.Generator().manual_seed(0))))
    (source, texts), (same_source, same_texts) = drawn
    assert torch.equal(source.emission, same_source.emission)
    assert torch.equal(source.transition, same_source.transition)
    assert torch.equal(texts, same_texts)


def test_rounded_probabilities_are_made_to_sum_to_one() -> None:
    """What a table of seven decimal places leaves over is shared out."""
    rounded = torch.tensor([[0.5000004, 0.5], [0.3, 0.7000004]], dtype=torch.float64)
    source = HiddenMarkovSource(rounded, rounded, rounded[0])
    for rows in (source.transition, source.emission, source.start):
        ones = torch.ones(rows.shape[:-1], dtype=torch.float64)
        assert torch.allclose(rows.sum(dim=-1), ones, rtol=0, atol=1e-12)


def test_messages_from_the_right_are_scaled_text_by_text(generator: Generator) -> None:
    """The largest entry is 1 for every text and place, however unlikely the others are."""
    source = make(4, 6)
    messages = source.backward(source.evidence(source.sample(7, 9, generator=generator)))
    assert torch.equal(messages.amax(dim=2), torch.ones(7, 9, dtype=torch.float64))


def test_the_smallest_source(generator: Generator) -> None:
    """One state that emits one symbol, and a text of it."""
    source = make(1, 1)
    assert source.sample(1, 1, generator=generator).tolist() == [[0]]
    assert torch.equal(stationary_start(torch.ones(1, 1)), torch.ones(1, dtype=torch.float64))
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    assert torch.equal(source.backward(source.evidence(torch.tensor([[0]]))), one)


def test_sharpness_goes_from_noise_to_repetition() -> None:
    """At 0 nothing can be predicted; the entropy rate falls as the sharpness grows."""
    flat = make(4, 6, transition_sharpness=0.0, emission_sharpness=0.0)
    assert torch.allclose(flat.emission, torch.full_like(flat.emission, 1 / 6))
    rates = []
    for sharpness in (0.0, 2.0, 6.0):
        source = make(4, 6, transition_sharpness=sharpness, emission_sharpness=sharpness)
        generator = torch.Generator().manual_seed(1)
        rates.append(entropy_rate(source, generator=generator, n_sequences=50)[0])
    assert rates[0] == pytest.approx(math.log(6))
    assert rates[0] > rates[1] > rates[2]


def test_both_sides_tell_something() -> None:
    """By default each side lowers the entropy of a blank, and both lower it more."""
    source = make(8, 16)
    generator = torch.Generator().manual_seed(2)
    windows = source.sample(300, 17, generator=generator)
    places = torch.full((300,), 8)
    entropy = {}
    for sides in ("left", "right", "both"):
        log_probs = optimal_cloze_log_probs(source, windows, places, sides=sides)
        entropy[sides] = -(log_probs.exp() * log_probs).sum(dim=1).mean().item()
    unigram = source.start @ source.emission
    alone = -(unigram * unigram.log()).sum().item()
    assert entropy["both"] + 0.03 < min(entropy["left"], entropy["right"])
    assert max(entropy["left"], entropy["right"]) + 0.03 < alone


def test_stationary_start_of_a_known_chain() -> None:
    """Two states that are left with 0.1 and 0.3 are visited three times to one."""
    start = stationary_start(torch.tensor([[0.9, 0.1], [0.3, 0.7]]))
    assert torch.allclose(start, torch.tensor([0.75, 0.25], dtype=torch.float64), atol=1e-7)


def test_a_counting_source_has_no_entropy(generator: Generator) -> None:
    """Its text is certain under each oracle, from either side, for the start is known too."""
    source = cycle()
    ids = source.sample(6, 12, generator=generator)
    assert torch.equal(ids[0], torch.arange(12) % 4)
    assert torch.equal(
        optimal_causal_log_probs(source, ids), torch.zeros(6, 12, dtype=torch.float64)
    )
    assert entropy_rate(source, generator=generator, n_sequences=5) == (0.0, 0.0, 0.0)
    places = torch.tensor([0, 1, 5, 6, 10, 11])
    for sides in ("left", "right", "both"):
        log_probs = optimal_cloze_log_probs(source, ids, places, sides=sides)
        answers = ids[torch.arange(6), places]
        assert log_probs[torch.arange(6), answers].abs().max() < 1e-12
    cut = corrupt(ids + OFFSET, 0, noise_density=0.5, mean_noise_span_length=2.0)
    assert (
        optimal_span_log_probs(source, cut, offset=OFFSET, lengths_given=True).abs().max() < 1e-12
    )


# Causal and single blanks -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_causal_sums_are_the_probability_of_the_text(seed: int) -> None:
    """log P(text) by all paths is the sum of log P(next); all texts together have 1."""
    source = make(seed=seed)
    texts = all_texts(3, 5)
    sums = optimal_causal_log_probs(source, texts + OFFSET, offset=OFFSET).sum(dim=1)
    expected = torch.tensor(list(all_probs(source, 5).values()), dtype=torch.float64).log()
    assert torch.allclose(sums, expected, rtol=0, atol=1e-12)
    assert sums.exp().sum().item() == pytest.approx(1.0, abs=1e-12)


def test_each_causal_term_is_a_conditional_probability() -> None:
    """P(x_t | before) is a ratio of two sums over all texts."""
    source = make(seed=4)
    probs = all_probs(source, 4)
    for text in ((0, 1, 2, 1), (2, 2, 0, 0)):
        log_probs = optimal_causal_log_probs(source, torch.tensor([text]))[0]
        for t in range(4):
            joint = sum(p for x, p in probs.items() if x[: t + 1] == text[: t + 1])
            before = sum(p for x, p in probs.items() if x[:t] == text[:t])
            assert log_probs[t].item() == pytest.approx(math.log(joint / before), abs=1e-12)


@pytest.mark.parametrize("sides", ["both", "left", "right"])
def test_blanks_by_enumeration(sides: str) -> None:
    """P(x_i | neighbours) for every place of some texts."""
    source = make(seed=5)
    probs = all_probs(source, 4)
    for text, place in product([(0, 1, 2, 1), (2, 0, 0, 1)], range(4)):
        read = [
            j for j in range(4)
            if (j < place and sides != "right") or (j > place and sides != "left")
        ]  # fmt: skip
        weights = torch.zeros(3, dtype=torch.float64)
        for x, p in probs.items():
            if all(x[j] == text[j] for j in read):
                weights[x[place]] += p
        window = torch.tensor([text]) + OFFSET
        got = optimal_cloze_log_probs(
            source, window, torch.tensor([place]), sides=sides, offset=OFFSET
        )
        assert torch.allclose(got[0].exp(), weights / weights.sum(), rtol=0, atol=1e-12)


def test_long_texts_do_not_underflow(generator: Generator) -> None:
    """5,000 symbols have a probability far below the smallest float."""
    source = make(4, 8)
    ids = source.sample(2, 5_000, generator=generator)
    assert optimal_causal_log_probs(source, ids).sum() < -3_000
    assert optimal_cloze_log_probs(source, ids, torch.tensor([0, 2_500])).isfinite().all()
    cut = corrupt(ids[:, :600] + OFFSET, 0, noise_density=0.02)
    assert optimal_span_log_probs(source, cut, offset=OFFSET).isfinite().all()


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 12), st.integers(0, 10_000))
def test_any_source_gives_probabilities(n_states: int, n_symbols: int, n: int, seed: int) -> None:
    """Rows sum to one; the last blank needs no right side, the first no left one."""
    source = make(n_states, n_symbols, seed=seed)
    ids = source.sample(2, n, generator=torch.Generator().manual_seed(seed))
    assert optimal_causal_log_probs(source, ids).le(1e-12).all()
    places = torch.tensor([0, n - 1])
    rows = {
        s: optimal_cloze_log_probs(source, ids, places, sides=s) for s in ("both", "left", "right")
    }
    for row in rows.values():
        assert torch.allclose(row.exp().sum(dim=1), torch.ones(2, dtype=torch.float64))
    assert torch.allclose(rows["both"][0], rows["right"][0])
    assert torch.allclose(rows["both"][1], rows["left"][1])
    taken = rows["left"][1, ids[1, n - 1]]
    assert torch.allclose(taken, optimal_causal_log_probs(source, ids)[1, n - 1])


@given(st.integers(1, 4), st.integers(2, 5), st.integers(2, 9), st.integers(0, 10_000))
def test_masked_places_get_distributions_and_the_entropy_rate_an_interval(
    n_states: int, n_symbols: int, n: int, seed: int
) -> None:
    """One row for each place that is asked; the mean lies in its interval."""
    source = make(n_states, n_symbols, seed=seed)
    draw = torch.Generator().manual_seed(seed)
    ids = source.sample(2, n, generator=draw) + OFFSET
    rates = {"mlm_probability": 1.0, "mask_replace_prob": 0.6, "random_replace_prob": 0.2}
    read, labels, _ = corrupt_mlm(
        ids, mask_id=1, vocab_size=n_symbols + OFFSET, special_ids=range(OFFSET),
        generator=draw, **rates,
    )  # fmt: skip
    rows = optimal_masked_log_probs(source, read, labels, mask_id=1, offset=OFFSET, **rates)
    assert rows.shape == (2 * n, n_symbols)
    assert torch.allclose(rows.exp().sum(dim=1), torch.ones(len(rows), dtype=torch.float64))
    mean, low, high = entropy_rate(source, generator=draw, n_sequences=3, seq_len=n, n_context=1)
    assert low <= mean <= high


# Masked tokens ------------------------------------------------------------------------------------


def outcomes(x: int, n_symbols: int, p: float, m: float, r: float) -> list[tuple[int, bool, float]]:
    """List what can become of a symbol: (what is read, selected, probability), fate by fate."""
    not_selected = [(x + OFFSET, False, 1 - p)]
    masked = [(MASK, True, p * m)]
    random = [(v + OFFSET, True, p * r / n_symbols) for v in range(n_symbols)]
    kept = [(x + OFFSET, True, p * (1 - m - r))]
    return not_selected + masked + random + kept


@pytest.mark.parametrize(
    ("p", "m", "r"), [(0.15, 0.8, 0.1), (0.4, 0.5, 0.3), (0.5, 1.0, 0.0), (1.0, 0.3, 0.3)]
)
def test_masked_by_enumeration(p: float, m: float, r: float) -> None:
    """Add up every text with every fate of every token; no Bayes' rule by hand."""
    source, seq_len = make(seed=6), 3
    weights: dict[Any, Tensor] = defaultdict(lambda: torch.zeros(3, dtype=torch.float64))
    for text, prob in all_probs(source, seq_len).items():
        for fates in product(*(outcomes(x, 3, p, m, r) for x in text)):
            joint = prob * math.prod(fate[2] for fate in fates)
            read = tuple(fate[0] for fate in fates)
            for i in range(seq_len):
                if fates[i][1]:
                    weights[read, i][text[i]] += joint
    n_checked = 0
    for (read, i), weight in weights.items():
        if weight.sum() <= 1e-15:
            continue
        corrupted = torch.tensor([read])
        labels = torch.full((1, seq_len), IGNORE_INDEX)
        labels[0, i] = OFFSET
        got = optimal_masked_log_probs(
            source, corrupted, labels, mask_id=MASK, offset=OFFSET,
            mlm_probability=p, mask_replace_prob=m, random_replace_prob=r,
        )  # fmt: skip
        assert torch.allclose(got[0].exp(), weight / weight.sum(), rtol=0, atol=1e-12)
        n_checked += 1
    assert n_checked >= 27


def corrupted_batch(source: HiddenMarkovSource, n: int, seq_len: int) -> MaskedBatch:
    """Sample and corrupt with the package's own function."""
    generator = torch.Generator().manual_seed(3)
    return corrupt_mlm(
        source.sample(n, seq_len, generator=generator) + OFFSET,
        mask_id=MASK, vocab_size=OFFSET + source.n_symbols, special_ids=range(OFFSET),
        generator=generator, **CORRUPTION,
    )  # fmt: skip


def test_masked_posterior_is_what_corrupt_mlm_leaves() -> None:
    """Among equal corrupted texts the originals are as frequent as it says, within 4 sigma."""
    source = make(seed=7)
    ids, labels, _ = corrupted_batch(source, 60_000, 2)
    log_probs = optimal_masked_log_probs(
        source, ids, labels, mask_id=MASK, offset=OFFSET, **CORRUPTION
    )
    row, place = (labels != IGNORE_INDEX).nonzero().T
    groups = (ids[row] @ torch.tensor([10, 1])) * 2 + place
    answers = labels[row, place] - OFFSET
    n_groups = 0
    for group in groups.unique():
        inside = groups == group
        n = int(inside.sum())
        assert (log_probs[inside] == log_probs[inside][0]).all()
        for v, p in enumerate(log_probs[inside][0].exp().tolist()):
            hits = int((answers[inside] == v).sum())
            assert abs(hits - n * p) < 4 * math.sqrt(n * p * (1 - p)) + 1
        n_groups += 1
    assert n_groups == 32  # 4 x 4 things to read, two places


def test_masked_oracle_knows_how_sure_it_is() -> None:
    """Its mean loss on long texts is its mean entropy, and other oracles lose more, at 4 sigma."""
    source = make(6, 12, seed=8)
    ids, labels, _ = corrupted_batch(source, 2_000, 32)
    answers = labels[labels != IGNORE_INDEX] - OFFSET
    rows = (labels != IGNORE_INDEX).nonzero()[:, 0]
    pick = torch.arange(len(answers)), answers

    def losses(**changed: float) -> Tensor:
        """Score the answers with an oracle that may believe in another corruption."""
        settings = {**CORRUPTION, **changed}
        return -optimal_masked_log_probs(
            source, ids, labels, mask_id=MASK, offset=OFFSET, **settings
        )[pick]

    best = optimal_masked_log_probs(source, ids, labels, mask_id=MASK, offset=OFFSET, **CORRUPTION)
    entropy = -(best.exp() * best).sum(dim=1)
    _, low, high = gap_interval(-best[pick] - entropy, rows, z=4.0)
    assert low < 0 < high
    for changed in (
        {"mlm_probability": 0.05},
        {"random_replace_prob": 0.05},
        {"random_replace_prob": 0.49},
    ):
        assert gap_interval(losses(**changed) - losses(), rows, z=4.0)[1] > 0


def test_a_masked_blank_in_a_text_that_is_never_random() -> None:
    """With [MASK] alone, one hidden token is the single blank; 80/10/10 leaves more doubt."""
    source = make(seed=9)
    text = torch.tensor([[0, 2, 1, 1, 0]])
    one = torch.where(torch.arange(5) == 2, MASK, text + OFFSET)
    options: dict[str, Any] = {
        "mask_id": MASK,
        "offset": OFFSET,
        "mask_replace_prob": 1.0,
        "random_replace_prob": 0.0,
    }
    labels = torch.where(one == MASK, text, IGNORE_INDEX)
    got = optimal_masked_log_probs(source, one, labels, **options)
    assert torch.allclose(got, optimal_cloze_log_probs(source, text, torch.tensor([2])))
    noisy = optimal_masked_log_probs(source, one, labels, mask_id=MASK, offset=OFFSET)
    assert not torch.allclose(got, noisy)  # the neighbours may be random


# Span corruption ----------------------------------------------------------------------------------


def corrupt(ids: Tensor, seed: int, **options: Any) -> SpanCorrupted:
    """Cut random spans out with the package's own function."""
    generator = torch.Generator().manual_seed(seed)
    return corrupt_spans(ids, replace(SPANS, **options), generator=generator)


def stack(rows: list[SpanCorrupted]) -> SpanCorrupted:
    """Make a batch of texts that were corrupted one by one."""
    return SpanCorrupted(*(torch.stack(parts) for parts in zip(*rows, strict=True)))


COUNTS = {4: (2, 1), 5: (3, 2), 6: (3, 2), 7: (4, 3)}
"""Tokens to cut out and spans, by length of the text."""


def compositions(n: int, k: int) -> list[tuple[int, ...]]:
    """List all ways to write n as a sum of k positive numbers, in order."""
    return [parts for parts in product(range(1, n + 1), repeat=k) if sum(parts) == n]


def admissible_spans(seq_len: int) -> list[list[tuple[int, int]]]:
    """List what `random_noise` draws without roll: kept tokens first, cut ones last."""
    n_noise, n_spans = COUNTS[seq_len]
    result = []
    kept_lens, cut_lens = compositions(seq_len - n_noise, n_spans), compositions(n_noise, n_spans)
    for kept, cut in product(kept_lens, cut_lens):
        starts = [sum(kept[: i + 1]) + sum(cut[:i]) for i in range(n_spans)]
        result.append([(start, start + n) for start, n in zip(starts, cut, strict=True)])
    return result


@pytest.mark.parametrize("seq_len", COUNTS)
@pytest.mark.parametrize("lengths_given", [False, True])
def test_spans_by_enumeration(seq_len: int, lengths_given: bool) -> None:
    """Add up all texts and all choices of spans that agree with the input and the target so far."""
    source = make(n_symbols=3 if seq_len < 6 else 2, seed=10)
    weights: dict[Any, float] = defaultdict(float)
    cases = []
    for text, prob in all_probs(source, seq_len).items():
        for spans in admissible_spans(seq_len):
            cut = corrupt_given_spans(torch.tensor(text) + OFFSET, spans, SPANS)
            known = (tuple(cut.inputs.tolist()), tuple(spans) if lengths_given else None)
            target = tuple(cut.targets.tolist())
            cases.append((known, target, cut))
            for u in range(len(target) + 1):
                weights[known, target[:u]] += prob / len(admissible_spans(seq_len))
    got = optimal_span_log_probs(
        source, stack([cut for *_, cut in cases]), offset=OFFSET, lengths_given=lengths_given
    )
    for (known, target, _), log_probs in zip(cases, got, strict=True):
        for u, log_prob in enumerate(log_probs.tolist()):
            ratio = weights[known, target[: u + 1]] / weights[known, target[:u]]
            assert log_prob == pytest.approx(math.log(ratio), abs=1e-12)
    # Over all targets of one input the probabilities sum to 1.
    sums: dict[Any, dict[Any, float]] = defaultdict(dict)
    for (known, target, _), log_probs in zip(cases, got, strict=True):
        sums[known][target] = log_probs.sum().exp().item()
    for targets in sums.values():
        assert sum(targets.values()) == pytest.approx(1.0, abs=1e-12)


def test_the_enumerated_spans_are_those_of_the_sampler(generator: Generator) -> None:
    """The list above is what `random_noise` draws, each entry equally often within 4 sigma."""
    n = 4_000
    for seq_len, (n_noise, n_spans) in COUNTS.items():
        share, mean_len = n_noise / seq_len, n_noise / n_spans
        noise = random_noise(
            n, seq_len, generator=generator, noise_density=share, mean_noise_span_length=mean_len
        )
        codes = noise.long() @ (2 ** torch.arange(seq_len))
        spans_of = admissible_spans(seq_len)
        listed = [sum(2**t for a, b in spans for t in range(a, b)) for spans in spans_of]
        assert set(codes.tolist()) == set(listed)
        p = 1 / len(listed)
        for code in listed:
            hits = int((codes == code).sum())
            assert abs(hits - n * p) <= 4 * math.sqrt(n * p * (1 - p))


def test_a_row_sums_over_all_ways_to_place_the_gaps(generator: Generator) -> None:
    """On a longer text: log P(text) - log of the sum of P(kept tokens) with gaps of any lengths."""
    source = make(5, 7, seed=11)
    ids = source.sample(1, 40, generator=generator)
    cut = corrupt(ids + OFFSET, 4, noise_density=0.25)  # 10 tokens in 3 spans
    spans = find_spans(cut.noise[0])
    kept_from = [0, *(end for _, end in spans[:-1])]
    pieces = [ids[:, a:b] for a, (b, _) in zip(kept_from, spans, strict=True)]
    total = 0.0
    for lens in compositions(10, 3):
        parts = []
        for piece, n in zip(pieces, lens, strict=True):
            parts += [source.evidence(piece), torch.ones(1, n, 5, dtype=torch.float64)]
        total += source.forward(torch.cat(parts, dim=1)).log_probs.sum().exp().item()
    expected = optimal_causal_log_probs(source, ids).sum().item() - math.log(total)
    got = optimal_span_log_probs(source, cut, offset=OFFSET).sum().item()
    assert got == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("final_sentinel", "eos_id"), [(True, None), (False, None), (True, 2), (False, 2)]
)
def test_every_ending_is_certain(final_sentinel: bool, eos_id: int | None) -> None:
    """What closes the target costs nothing, and the rest does not depend on it."""
    source = make(4, 6)
    ids = source.sample(5, 20, generator=torch.Generator().manual_seed(1)) + OFFSET
    options: dict[str, Any] = {"noise_density": 0.3, "mean_noise_span_length": 2.0}
    plain = optimal_span_log_probs(
        source, corrupt(ids, 2, final_sentinel=False, **options), offset=OFFSET
    )
    cut = corrupt(ids, 2, final_sentinel=final_sentinel, eos_id=eos_id, **options)
    got = optimal_span_log_probs(source, cut, offset=OFFSET)
    assert got.shape == cut.targets.shape
    assert torch.equal(got[:, : plain.shape[1]], plain)
    assert torch.equal(got[:, plain.shape[1] :], torch.zeros_like(got[:, plain.shape[1] :]))
    assert torch.equal(plain[:, 0], torch.zeros(5, dtype=torch.float64))
    assert plain[:, 1:].max() <= 1e-12


def test_one_span_of_one_token_is_the_single_blank() -> None:
    """Its length is known, for one token is cut out, so T5 is asked what BERT is asked."""
    source = make(4, 6)
    ids = source.sample(9, 7, generator=torch.Generator().manual_seed(1))
    cut = corrupt(ids + OFFSET, 3, noise_density=0.1)
    expected = optimal_cloze_log_probs(source, ids, torch.full((9,), 6))[torch.arange(9), ids[:, 6]]
    for lengths_given in (True, False):
        got = optimal_span_log_probs(source, cut, offset=OFFSET, lengths_given=lengths_given)
        assert torch.allclose(got[:, 1], expected)
        assert torch.allclose(got.sum(dim=1), expected)


@given(st.integers(4, 40), st.floats(0.1, 0.8), st.floats(1.0, 4.0), st.integers(0, 1000))
def test_any_spans_have_a_probability(n: int, share: float, mean_len: float, seed: int) -> None:
    """Both oracles give finite log-probabilities.

    With given lengths, the sum over a row is log P(text) - log P(kept tokens).
    """
    source = make(3, 4, seed=seed)
    ids = source.sample(3, n, generator=torch.Generator().manual_seed(seed))
    cut = corrupt(ids + OFFSET, seed, noise_density=share, mean_noise_span_length=mean_len)
    unknown = optimal_span_log_probs(source, cut, offset=OFFSET)
    known = optimal_span_log_probs(source, cut, offset=OFFSET, lengths_given=True)
    assert unknown.isfinite().all()
    assert max(unknown.max().item(), known.max().item()) <= 1e-12
    evidence = source.evidence(ids)
    kept = source.forward(evidence.masked_fill(cut.noise[..., None], 1.0)).log_probs
    expected = optimal_causal_log_probs(source, ids).sum(dim=1) - kept.sum(dim=1)
    assert torch.allclose(known.sum(dim=1), expected)


def test_given_lengths_work_with_roll() -> None:
    """A rolled pattern may differ in length between rows; padding scores 0."""
    source = make(4, 6)
    ids = source.sample(40, 24, generator=torch.Generator().manual_seed(1)) + OFFSET
    cut = corrupt(ids, 0, random_roll=True, noise_density=0.4)
    assert not cut.target_mask.all()
    got = optimal_span_log_probs(source, cut, offset=OFFSET, lengths_given=True)
    assert (got[~cut.target_mask] == 0).all()
    assert (got[cut.target_mask & (cut.targets < FIRST - 20)] < 0).all()
    with pytest.raises(ValueError, match="without roll"):
        optimal_span_log_probs(source, cut, offset=OFFSET)


def test_lengths_are_worth_something() -> None:
    """Not knowing the lengths costs nats on average, at four sigma."""
    source = make(8, 16)
    ids = source.sample(400, 64, generator=torch.Generator().manual_seed(1)) + OFFSET
    cut = corrupt(ids, 5)
    unknown = optimal_span_log_probs(source, cut, offset=OFFSET).sum(dim=1)
    known = optimal_span_log_probs(source, cut, offset=OFFSET, lengths_given=True).sum(dim=1)
    mean, low, _ = gap_interval(known - unknown, torch.arange(400), z=4.0)
    assert low > 0
    assert mean < math.log(math.comb(9, 2)) + 0.5  # 10 tokens in 3 spans: at most log 36 expected


# Intervals ----------------------------------------------------------------------------------------


def test_gap_interval_covers_and_knows_windows(generator: Generator) -> None:
    """95 % of intervals hold the true mean, although tokens of a window move together."""
    n_runs, n_windows, n_tokens = 400, 40, 10
    rows = torch.arange(n_windows).repeat_interleave(n_tokens)
    shared = torch.randn(n_runs, n_windows, generator=generator).repeat_interleave(n_tokens, dim=1)
    values = shared + torch.randn(n_runs, len(rows), generator=generator) + 1.0
    hits = sum(low < 1.0 < high for _, low, high in (gap_interval(v, rows) for v in values))
    assert 0.90 < hits / n_runs < 0.98
    mean, low, high = gap_interval(values[0], rows)
    assert mean == pytest.approx(values[0].mean().item(), abs=1e-5)
    assert mean - low == pytest.approx(high - mean)
    alone = gap_interval(values[0], torch.arange(len(rows)))
    assert alone[2] - alone[1] < 0.7 * (high - low)


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transition", "emission", "start", "message"),
    [
        (torch.eye(2), torch.eye(3), torch.ones(2) / 2, "expected transition"),
        (torch.eye(3), torch.eye(2), torch.ones(2) / 2, "expected transition"),
        (torch.eye(2), torch.eye(2), torch.eye(2), "expected transition"),
        (torch.ones(1, 1), torch.ones(1, 1), torch.tensor(1.0), "expected transition"),
        (torch.eye(2), torch.zeros(2, 0), torch.ones(2) / 2, "expected transition"),
        (torch.eye(2) * 2, torch.eye(2), torch.ones(2) / 2, "transition to hold prob"),
        (torch.eye(2), torch.eye(2), torch.tensor([1.5, -0.5]), "start to hold prob"),
        (torch.eye(2), torch.eye(2) * float("nan"), torch.ones(2) / 2, "emission to hold prob"),
    ],
)
def test_bad_sources(transition: Tensor, emission: Tensor, start: Tensor, message: str) -> None:
    """Shapes that do not fit, and rows that are no probabilities."""
    with pytest.raises(ValueError, match=message):
        HiddenMarkovSource(transition, emission, start)


def test_bad_sizes(generator: Generator) -> None:
    """Sizes below one, negative sharpness, chains in pieces, too little context."""
    source = make()
    for sizes in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match="n_states, n_symbols >= 1"):
            random_source(*sizes, generator=generator)
    for wrong in (-1.0, math.inf):  # an infinite one would make NaN, and no start could be found
        for name in ("transition_sharpness", "emission_sharpness"):
            with pytest.raises(ValueError, match="sharpness >= 0"):
                make(**{name: wrong})
    with pytest.raises(ValueError, match="one stationary distribution"):
        stationary_start(torch.eye(2))
    for n, seq_len in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match="expected n >= 1"):
            source.sample(n, seq_len, generator=generator)
    with pytest.raises(ValueError, match=r"n_context in 0..7, got 8"):
        entropy_rate(source, generator=generator, seq_len=8, n_context=8)
    with pytest.raises(ValueError, match="at least two windows"):
        entropy_rate(source, generator=generator, n_sequences=1)
    with pytest.raises(ValueError, match="at least two windows"):
        gap_interval(torch.zeros(3), torch.zeros(2))


def test_bad_texts() -> None:
    """Ids that are no symbols, shapes that do not fit, texts that cannot be."""
    source, two = make(), torch.zeros(2, dtype=torch.int64)
    text = torch.tensor([[0, 1, 2, 0], [1, 1, 1, 1]])
    with pytest.raises(ValueError, match=r"symbols in 0..2, got -3..-1"):
        optimal_causal_log_probs(source, text, offset=3)
    with pytest.raises(ValueError, match=r"symbols \(B, T\), got shape \(4,\)"):
        optimal_causal_log_probs(source, text[0])
    for wrong in (text[:0], text[:, :0], text.double()):
        with pytest.raises(ValueError, match=r"expected whole symbols \(B, T\), got shape"):
            source.evidence(wrong)
    with pytest.raises(ValueError, match=r"symbols in 0..2, got 0..3"):
        source.evidence(torch.tensor([[0, 3]]))
    for shape in ((4, 2), (1, 0, 2), (1, 4, 3)):
        for read in (source.forward, source.backward):
            with pytest.raises(ValueError, match=r"evidence \(B, T, 2\), T >= 1, got shape"):
                read(torch.ones(shape, dtype=torch.float64))
    with pytest.raises(ValueError, match="none in rows"):
        optimal_causal_log_probs(cycle(), text)
    with pytest.raises(ValueError, match="none in rows"):
        cycle().backward(torch.zeros(1, 3, 4, dtype=torch.float64))
    with pytest.raises(ValueError, match="expected sides"):
        optimal_cloze_log_probs(source, text, two, sides="middle")
    with pytest.raises(ValueError, match=r"expected places \(2,\) in 0..3"):
        optimal_cloze_log_probs(source, text, two + 4)
    with pytest.raises(ValueError, match=r"expected places \(2,\)"):
        optimal_cloze_log_probs(source, text, two[:1])


def test_bad_masked_batches() -> None:
    """Shapes, labels, probabilities, and a token that shows where all are masked."""
    source = make()
    ids = torch.tensor([[3, MASK, 5]])
    labels = torch.tensor([[IGNORE_INDEX, 4, IGNORE_INDEX]])
    options: dict[str, Any] = {"mask_id": MASK, "offset": OFFSET}
    with pytest.raises(ValueError, match="of one shape"):
        optimal_masked_log_probs(source, ids, labels[0], **options)
    with pytest.raises(ValueError, match="at least one label"):
        optimal_masked_log_probs(source, ids, torch.full_like(ids, IGNORE_INDEX), **options)
    for bad in (
        {"mlm_probability": 0.0},
        {"mask_replace_prob": 0.9, "random_replace_prob": 0.2},
        {"random_replace_prob": -0.1},
    ):
        with pytest.raises(ValueError, match="expected mlm_probability"):
            optimal_masked_log_probs(source, ids, labels, **options, **bad)
    with pytest.raises(ValueError, match="expected symbols"):
        optimal_masked_log_probs(source, torch.tensor([[0, MASK, 5]]), labels, **options)
    with pytest.raises(ValueError, match="corruption can produce"):
        optimal_masked_log_probs(
            source, ids, ids, **options, mask_replace_prob=1.0, random_replace_prob=0.0
        )


def test_bad_span_batches() -> None:
    """One text without a batch, another offset, and counts that differ between rows."""
    source = make()
    ids = source.sample(2, 8, generator=torch.Generator().manual_seed(0)) + OFFSET
    with pytest.raises(ValueError, match="expected a batch"):
        optimal_span_log_probs(source, corrupt(ids[0], 0), offset=OFFSET)
    with pytest.raises(ValueError, match=r"expected the symbols 9..11"):
        optimal_span_log_probs(source, corrupt(ids, 0), offset=9)
    first = corrupt_given_spans(ids[0], [(1, 2), (7, 8)], SPANS)
    second = corrupt_given_spans(ids[1], [(6, 8)], SPANS)
    second = SpanCorrupted(
        torch.cat([second.inputs, torch.tensor([0])]),
        torch.cat([second.targets, torch.tensor([0])]),
        torch.cat([second.input_mask, torch.tensor([False])]),
        torch.cat([second.target_mask, torch.tensor([False])]),
        second.noise,
    )
    with pytest.raises(ValueError, match="equal counts in all rows"):
        optimal_span_log_probs(source, stack([first, second]), offset=OFFSET)


def test_a_start_belongs_to_a_chain() -> None:
    """Rows that are no probabilities gave a start that a step does not leave alone."""
    flat = (torch.tensor(1.0), torch.ones(2) / 2)
    for wrong in (torch.zeros(2, 2), torch.ones(2, 3) / 3, torch.zeros(0, 0), *flat):
        with pytest.raises(ValueError, match="whose rows are probabilities"):
            stationary_start(wrong)
