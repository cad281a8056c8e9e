# SPDX-License-Identifier: MIT
"""Known sources: posteriors are probabilities, and no oracle is less sure than a coin."""

from typing import Any

import torch
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from strategies import (
    GENERATORS,
    ODD_FLOATS,
    SEEDS,
    calls,
    floats,
    ids,
    masks,
    mostly,
    probabilities,
    random_floats,
    sizes,
)
from torch import Generator, Tensor

from pretrain.hidden_markov import Forward, HiddenMarkovSource, random_source, stationary_start
from pretrain.objectives import IGNORE_INDEX
from pretrain.oracles import blank_oracle, causal_oracle, entropy_rate, masked_oracle
from pretrain.span_oracle import span_oracle
from pretrain.spans import SpanCorrupted, corrupt_spans

N_STATES, N_SYMBOLS, OFFSET = 3, 4, 2


def made(seed: int, sharpness: float) -> HiddenMarkovSource:
    """Draw a source of three states and four symbols."""
    return random_source(
        N_STATES, N_SYMBOLS, generator=Generator().manual_seed(seed),
        transition_sharpness=sharpness, emission_sharpness=sharpness,
    )  # fmt: skip


SOURCES = st.builds(made, st.integers(0, 99), st.sampled_from([0.0, 1.0, 3.0]))
SHARPNESS = mostly(st.floats(0.0, 5.0), ODD_FLOATS)


def is_distribution(rows: Tensor) -> bool:
    """Say whether rows are probabilities."""
    return bool((rows >= 0).all()) and torch.allclose(
        rows.sum(dim=-1), torch.ones(rows.shape[:-1], dtype=rows.dtype)
    )


@st.composite
def matrices(draw: DrawFn, n_axes: int = 2) -> Tensor:
    """Draw rows of probabilities, now and then ones that are none."""
    drawn = draw(floats(n_axes, longest=4, special=False, high=30.0))
    return drawn if draw(st.integers(0, 8)) == 8 or not drawn.dim() else drawn.softmax(dim=-1)


@st.composite
def parameters(draw: DrawFn) -> dict[str, Any]:
    """Draw the three parts of a source, mostly fitting ones."""
    n, v = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    shape = {"transition": (n, n), "emission": (n, v), "start": (n,)}
    fitting = {k: random_floats(s, draw(SEEDS), 2.0).softmax(dim=-1) for k, s in shape.items()}
    if draw(st.integers(0, 4)) == 4:
        fitting[draw(st.sampled_from(sorted(shape)))] = draw(matrices())
    return fitting


@fuzz(HiddenMarkovSource, parameters())
def test_source(source: HiddenMarkovSource, transition: Tensor, emission: Tensor, **_: Any) -> None:
    """Sizes, and probabilities in float64."""
    assert (source.n_states, source.n_symbols) == emission.shape
    for rows in (source.transition, source.emission, source.start):
        assert rows.dtype == torch.float64
        assert is_distribution(rows)


@fuzz(
    random_source,
    calls(
        n_states=sizes(4),
        n_symbols=sizes(4),
        generator=GENERATORS,
        transition_sharpness=SHARPNESS,
        emission_sharpness=SHARPNESS,
    ),
)
def test_random_source(source: HiddenMarkovSource, n_states: int, n_symbols: int, **_: Any) -> None:
    """It starts where a step changes nothing."""
    assert (source.n_states, source.n_symbols) == (n_states, n_symbols)
    assert torch.allclose(source.start @ source.transition, source.start, atol=1e-6)


@fuzz(stationary_start, calls(transition=st.builds(
    lambda n, seed: random_floats((n, n), seed, 2.0).softmax(dim=-1), st.integers(1, 5), SEEDS,
) | matrices()))  # fmt: skip
def test_stationary_start(start: Tensor, transition: Tensor) -> None:
    """A distribution that a step leaves alone."""
    assert is_distribution(start)
    assert torch.allclose(start @ transition.double(), start, atol=1e-5)


@fuzz(
    HiddenMarkovSource.sample,
    calls(self=SOURCES, n=sizes(4), seq_len=sizes(9), generator=GENERATORS),
)
def test_sample(symbols: Tensor, self: HiddenMarkovSource, n: int, seq_len: int, **_: Any) -> None:
    """Symbols of the source."""
    assert symbols.shape == (n, seq_len)
    assert symbols.dtype == torch.int64
    assert ((symbols >= 0) & (symbols < self.n_symbols)).all()


@fuzz(HiddenMarkovSource.evidence, calls(self=SOURCES, symbols=ids(2, high=N_SYMBOLS)))
def test_evidence(evidence: Tensor, self: HiddenMarkovSource, symbols: Tensor) -> None:
    """How likely each state emits each symbol."""
    assert evidence.shape == (*symbols.shape, self.n_states)
    assert evidence.dtype == torch.float64
    assert torch.equal(evidence[0, 0], self.emission[:, symbols[0, 0]])


def evidence_of(n_rows: int, seq_len: int, n_states: int, seed: int, share: float) -> Tensor:
    """Make evidence of which some is impossible."""
    drawn = torch.rand(
        n_rows, seq_len, n_states, generator=Generator().manual_seed(seed), dtype=torch.float64
    )
    return drawn.where(drawn > share, 0.0)


EVIDENCE = st.builds(
    evidence_of, st.integers(0, 3), st.integers(0, 5), mostly(st.just(N_STATES), st.just(2)), SEEDS,
    st.sampled_from([0.0, 0.1, 0.9]),
)  # fmt: skip


@fuzz(HiddenMarkovSource.forward, calls(self=SOURCES, evidence=EVIDENCE))
def test_forward(found: Forward, evidence: Tensor, **_: Any) -> None:
    """Distributions of states, one more than there are places."""
    n_rows, seq_len, n_states = evidence.shape
    assert found.predicted.shape == (n_rows, seq_len + 1, n_states)
    assert found.log_probs.shape == (n_rows, seq_len)
    assert is_distribution(found.predicted)


@fuzz(HiddenMarkovSource.backward, calls(self=SOURCES, evidence=EVIDENCE))
def test_backward(messages: Tensor, self: HiddenMarkovSource, evidence: Tensor) -> None:
    """Messages with a largest entry of 1 that agree with the forward ones."""
    assert messages.shape == evidence.shape
    assert torch.allclose(messages.amax(dim=2), torch.ones(()).double())
    try:
        predicted = self.forward(evidence).predicted[:, :-1]
    except ValueError:
        return
    assert ((predicted * messages * evidence).sum(dim=2) > 0).all()


TEXTS_OF_IDS = ids(2, high=N_SYMBOLS).map(lambda text: text + OFFSET)
OFFSETS = mostly(st.just(OFFSET), st.integers(-1, 3))


@fuzz(causal_oracle, calls(source=SOURCES, ids=TEXTS_OF_IDS, offset=OFFSETS))
def test_causal_oracle(scores: Tensor, ids: Tensor, **_: Any) -> None:
    """Log-probabilities."""
    assert scores.shape == ids.shape
    assert scores.dtype == torch.float64
    assert (scores <= 1e-12).all()


@st.composite
def blanks(draw: DrawFn) -> dict[str, Any]:
    """Draw windows with a blank in each."""
    windows = draw(TEXTS_OF_IDS)
    n_rows = len(windows) if windows.dim() else 1
    longest = max(windows.shape[1] - 1, 0) if windows.dim() > 1 else 2
    fitting = draw(st.lists(st.integers(0, longest), min_size=n_rows, max_size=n_rows))
    other = ids(1, high=9).map(torch.atleast_1d)
    places = draw(mostly(st.just(torch.tensor(fitting, dtype=torch.int64)), other))
    sides = mostly(st.sampled_from(["both", "left", "right"]), st.just("none"))
    return {"source": draw(SOURCES), "windows": windows, "places": places, "sides": draw(sides),
            "offset": draw(OFFSETS)}  # fmt: skip


@fuzz(blank_oracle, blanks())
def test_blank_oracle(log_probs: Tensor, windows: Tensor, **_: Any) -> None:
    """A distribution for each blank."""
    assert log_probs.shape == (len(windows), N_SYMBOLS)
    assert is_distribution(log_probs.exp())


@st.composite
def masked(draw: DrawFn) -> dict[str, Any]:
    """Draw corrupted text with what is asked of it."""
    text = draw(TEXTS_OF_IDS)
    shape = draw(mostly(st.just(text.shape), st.just((1, 2))))
    asked = draw(masks(shape)).bool()
    hidden = draw(masks(text.shape)).bool()
    labels = torch.full(shape, IGNORE_INDEX).masked_fill(asked, 3)
    rates = {name: draw(probabilities() | st.floats(0, 0.5))
             for name in ("select_prob", "mask_prob", "random_prob")}  # fmt: skip
    return {"source": draw(SOURCES), "corrupted": text.masked_fill(hidden, 1), "labels": labels,
            "mask_id": draw(mostly(st.just(1), st.integers(-1, 6))), "offset": draw(OFFSETS),
            **rates}  # fmt: skip


@fuzz(masked_oracle, masked())
def test_masked_oracle(log_probs: Tensor, labels: Tensor, **_: Any) -> None:
    """A distribution for each place that is asked."""
    assert log_probs.shape == (int((labels != IGNORE_INDEX).sum()), N_SYMBOLS)
    assert is_distribution(log_probs.exp())


@fuzz(
    entropy_rate,
    calls(
        source=SOURCES,
        generator=GENERATORS,
        n_sequences=sizes(4),
        seq_len=sizes(6),
        n_context=sizes(4, 0),
    ),
)
def test_entropy_rate(found: tuple[float, float, float], **_: Any) -> None:
    """The interval holds the mean, and a symbol has some nats or none."""
    mean, low, high = found
    assert low <= mean <= high
    assert mean >= -1e-9


@st.composite
def corrupted(draw: DrawFn) -> dict[str, Any]:
    """Draw corrupted texts, now and then with an id changed afterwards."""
    source = draw(SOURCES)
    generator = draw(GENERATORS)
    text = source.sample(draw(st.integers(1, 3)), draw(st.integers(2, 9)), generator=generator)
    cut = corrupt_spans(
        text + OFFSET, first_sentinel_id=40, generator=generator, n_sentinels=20,
        noise_share=draw(st.floats(0.1, 0.8)), mean_span_len=draw(st.floats(1.0, 3.0)),
        roll=draw(st.booleans()), final_sentinel=draw(st.booleans()),
        eos_id=draw(st.sampled_from([None, 1])),
    )  # fmt: skip
    fault = draw(st.integers(0, 11))
    if fault == 11:
        cut.targets[0, -1] = OFFSET
    elif fault == 10:
        cut = SpanCorrupted(*(part[0] for part in cut))
    elif fault == 9:
        cut = cut._replace(noise=~cut.noise)
    return {"source": source, "corrupted": cut, "offset": draw(OFFSETS),
            "lengths_given": draw(st.booleans())}  # fmt: skip


@fuzz(span_oracle, corrupted())
def test_span_oracle(scores: Tensor, corrupted: SpanCorrupted, **_: Any) -> None:
    """Log-probabilities, 0 on padding."""
    assert scores.shape == corrupted.targets.shape
    assert scores.dtype == torch.float64
    assert (scores <= 1e-9).all()
    assert (scores[~corrupted.target_mask] == 0).all()
