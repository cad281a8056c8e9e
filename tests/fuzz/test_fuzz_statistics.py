# SPDX-License-Identifier: MIT
"""Measured numbers: intervals hold their estimate, fits hold what they were fitted to."""

import math
from typing import Any

import numpy as np
import torch
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from strategies import (
    GENERATORS,
    ODD_FLOATS,
    SEEDS,
    arrays,
    calls,
    floats,
    ids,
    masks,
    mostly,
    random_floats,
    random_ids,
    sizes,
)
from torch import Tensor

from pretrain.head_search import (
    POSITIONAL,
    Found,
    Rows,
    head_scores,
    null_scores,
    relation_mask,
    repeated_rows,
    search_heads,
)
from pretrain.intervals import bootstrap_interval, wilson_interval
from pretrain.isoflop import (
    Minimum,
    PowerLaw,
    SizeRuns,
    isoflop_curve,
    isoflop_minimum,
    loss_at,
    power_law,
)
from pretrain.oracles import gap_interval
from pretrain.probes import Parts, Probe, control_labels, fit_probe, probe_hits
from pretrain.resampling import bootstrap_laws, percentiles, r_squared, residuals
from pretrain.scaling import KaplanLaw, Law, Runs, best_split, check_runs, fit_kaplan, fit_law
from pretrain.senses import cosines, mean_cosine, neighbour_hits

CONFIDENCES = mostly(st.floats(0.01, 0.99), ODD_FLOATS)
Interval = tuple[float, float, float]


@fuzz(
    bootstrap_interval,
    calls(
        values=mostly(arrays(), floats(1), floats(2), st.just([1.0, 2.0, 4.0])),
        generator=GENERATORS,
        n_resamples=sizes(30),
        block_len=sizes(3),
        confidence=CONFIDENCES,
    ),
)
def test_bootstrap_interval(found: Interval, values: Any, **_: Any) -> None:
    """The mean, and ends in order between the smallest and the largest value."""
    numbers = np.asarray(values, float)
    mean, low, high = found
    if np.isfinite(numbers).all():
        slack = 1e-9 * (1 + np.abs(numbers).max())
        assert math.isclose(mean, numbers.mean(), rel_tol=1e-9, abs_tol=slack)
        assert numbers.min() - slack <= low <= high <= numbers.max() + slack


@fuzz(
    wilson_interval,
    calls(
        n_hits=sizes(30, 0) | st.integers(0, 10**15),
        n_trials=sizes(30) | st.just(10**15),
        z=mostly(st.floats(0.0, 8.0), ODD_FLOATS),
    ),
)
def test_wilson_interval(found: Interval, n_hits: int, n_trials: int, z: float) -> None:
    """The interval holds the share and lies in 0..1."""
    share, low, high = found
    assert share == n_hits / n_trials
    assert 0 <= low <= share <= high <= 1


@fuzz(
    gap_interval,
    calls(
        gaps=floats(1, longest=9),
        rows=ids(1, high=4, longest=9),
        z=st.floats(0.0, 8.0),
    ),
)
def test_gap_interval(found: Interval, gaps: Tensor, **_: Any) -> None:
    """The interval holds the mean."""
    mean, low, high = found
    if gaps.isfinite().all():
        assert low <= mean <= high
        assert math.isclose(mean, gaps.double().mean(), rel_tol=1e-6, abs_tol=1e-6)


LAWS = st.builds(
    Law, st.floats(0.1, 3.0), st.floats(0.1, 1e3), st.floats(0.05, 1.0), st.floats(0.1, 1e3),
    st.floats(0.05, 1.0),
)  # fmt: skip


NOT_POSITIVE = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -1.0])


@st.composite
def runs(draw: DrawFn) -> Runs:
    """Draw runs of a law with noise, now and then with an impossible number or too few."""
    n_runs, seed = draw(mostly(st.integers(4, 12), st.integers(0, 4))), draw(SEEDS)
    rng = np.random.default_rng(seed)
    n, d = (10.0 ** rng.integers(3, 7, n_runs) for _ in range(2))
    loss = np.asarray(draw(LAWS).loss(n, d)) * rng.uniform(0.98, 1.02, n_runs)
    columns = [n, d, loss]
    if n_runs and draw(st.integers(0, 6)) == 6:
        columns[draw(st.integers(0, 2))][0] = draw(NOT_POSITIVE)
    if draw(st.integers(0, 14)) == 14:
        columns[draw(st.integers(0, 2))] = np.ones(3)
    return Runs(*columns)


@fuzz(check_runs, calls(runs=runs(), at_least=sizes(8)))
def test_check_runs(result: None, runs: Runs, at_least: int) -> None:
    """What passes has logarithms."""
    assert result is None
    assert len(runs.n) == len(runs.d) == len(runs.loss) >= at_least
    assert all(np.isfinite(np.log(column)).all() for column in runs)


DELTAS = mostly(st.sampled_from([1e-3, 1e-2, 1.0]), ODD_FLOATS)


@fuzz(fit_law, calls(runs=runs(), delta=DELTAS, near=mostly(LAWS, st.just(Law(0, 1, 1, 1, 1)))))
def test_fit_law(law: Law, **_: Any) -> None:
    """A law: all its numbers positive, and a loss that falls with both sizes."""
    assert all(value > 0 for value in law)
    assert law.loss(1e3, 1e3) >= law.loss(1e4, 1e3) >= law.loss(1e4, 1e4) >= law.e
    assert 0 < law.n_exponent < 1


NEAR = st.builds(KaplanLaw, *[st.floats(1.0, 1e5), st.floats(0.05, 0.5)] * 2)


@fuzz(
    fit_kaplan,
    calls(runs=runs(), delta=DELTAS, near=mostly(NEAR, st.just(KaplanLaw(0, 1, 1, 1)))),
)
def test_fit_kaplan(law: KaplanLaw, **_: Any) -> None:
    """A law: all its numbers positive, and a loss that falls with both sizes."""
    assert all(value > 0 for value in law)
    assert law.loss(1e3, 1e3) >= law.loss(1e4, 1e3) >= law.loss(1e4, 1e4) > 0


@fuzz(best_split, calls(law=LAWS, flops=mostly(st.floats(1.0, 1e24), ODD_FLOATS)))
def test_best_split(found: tuple[float, float], law: Law, flops: float) -> None:
    """The budget is spent, and neighbours on the curve are no better."""
    n, d = found
    assert math.isclose(6 * n * d, flops, rel_tol=1e-9)
    best = law.loss(n, d)
    for factor in (0.9, 1.1):
        assert law.loss(n * factor, d / factor) >= best * (1 - 1e-12)


@fuzz(
    bootstrap_laws,
    calls(
        runs=runs(),
        refit=st.just(lambda found: PowerLaw(found.loss.mean(), len(found.n), 0.0)),
        rng=SEEDS.map(np.random.default_rng),
        n_resamples=sizes(5, 0),
    ),
)
def test_bootstrap_laws(laws: list[PowerLaw], runs: Runs, n_resamples: int, **_: Any) -> None:
    """As many refits as asked, each to runs that were there."""
    assert len(laws) == max(n_resamples, 0)
    if np.isfinite(runs.loss).all():
        assert all(runs.loss.min() <= law.constant * (1 + 1e-9) for law in laws)


@fuzz(residuals, calls(law=LAWS, runs=runs()))
def test_residuals(found: Any, runs: Runs, **_: Any) -> None:
    """One for each run."""
    assert found.shape == runs.loss.shape
    assert np.isfinite(found).all()


MODERATE = arrays().map(lambda values: np.where(np.abs(values) == 1e300, 1e100, values))


@fuzz(r_squared, calls(measured=MODERATE, predicted=MODERATE))
def test_r_squared(found: float, measured: Any, predicted: Any) -> None:
    """At most 1, and 1 for what was measured."""
    assert found <= 1 or not np.isfinite([*measured.flat, *predicted.flat]).all()
    assert r_squared(measured, measured) == 1 or not np.isfinite(measured).all()


@fuzz(percentiles, calls(values=arrays(), confidence=CONFIDENCES))
def test_percentiles(found: tuple[float, float], values: Any, confidence: float) -> None:
    """In order, and between the smallest and the largest."""
    assert 0 <= confidence <= 1
    assert values.min() <= found[0] <= found[1] <= values.max()


def decades(n: int, seed: int) -> Any:
    """Make numbers that differ clearly or not at all: near ones give curves out of all range."""
    return 10.0 ** np.random.default_rng(seed).integers(3, 8, n)


SIZES = st.builds(decades, st.integers(0, 12), SEEDS)


@st.composite
def curves(draw: DrawFn, *names: str) -> dict[str, Any]:
    """Draw two columns, mostly of one length."""
    first = draw(SIZES)
    if len(first) and draw(st.integers(0, 6)) == 6:
        first[0] = draw(NOT_POSITIVE)
    fitting = np.random.default_rng(draw(SEEDS)).uniform(0.5, 5.0, len(first))
    if len(first) > 2 and draw(st.integers(0, 5)) == 5:
        first[1:] = first[0] * draw(st.sampled_from([1.0, 1 + 1e-12]))  # all equal, or nearly
    return dict(zip(names, (first, draw(mostly(st.just(fitting), SIZES))), strict=True))


@fuzz(power_law, curves("x", "y"))
def test_power_law(law: PowerLaw, x: Any, y: Any) -> None:
    """The line through the logarithms explains a share of them."""
    assert law.constant > 0
    assert -1e-9 <= law.r_squared <= 1
    assert np.isfinite(law).all()


@st.composite
def size_runs(draw: DrawFn) -> SizeRuns:
    """Draw the runs of one size."""
    columns = draw(curves("d", "loss"))
    return SizeRuns(draw(st.floats(1e3, 1e7)), draw(mostly(st.floats(10.0, 1e5), ODD_FLOATS)),
                    **columns)  # fmt: skip


@fuzz(loss_at, calls(runs=size_runs(), d=mostly(st.floats(1e3, 1e7), ODD_FLOATS)))
def test_loss_at(loss: float | None, runs: SizeRuns, d: float) -> None:
    """A positive loss inside, none outside of what was run."""
    assert (loss is None) == (not runs.d.min() * (1 - 1e-8) <= d <= runs.d.max() * (1 + 1e-8)) or (
        math.isclose(d, runs.d.min(), rel_tol=1e-7) or math.isclose(d, runs.d.max(), rel_tol=1e-7)
    )
    assert loss is None or loss > 0


@fuzz(
    isoflop_curve,
    calls(
        sizes=st.dictionaries(st.integers(1, 9), size_runs(), max_size=3),
        flops=mostly(st.floats(1e4, 1e12), ODD_FLOATS),
    ),
)
def test_isoflop_curve(curve: tuple[Any, Any], **_: Any) -> None:
    """As many losses as sizes, sizes in order."""
    n, losses = curve
    assert n.shape == losses.shape
    assert (np.diff(n) >= 0).all()
    assert (losses > 0).all()


@fuzz(isoflop_minimum, curves("n", "loss"))
def test_isoflop_minimum(found: Minimum | None, n: Any, loss: Any) -> None:
    """A positive size, and interior if it lies among the sizes."""
    if found is not None and found.interior:
        assert n.min() <= found.n <= n.max()


@fuzz(cosines, calls(vectors=floats(2, high=1e6)))
def test_cosines(found: Tensor, vectors: Tensor) -> None:
    """Symmetric, in -1..1, and 0 for vectors of zeros."""
    assert found.shape == (len(vectors), len(vectors))
    assert found.dtype == torch.float64
    if vectors.isfinite().all():
        assert torch.allclose(found, found.T)
        assert (found.abs() <= 1 + 1e-9).all()
        assert (found[(vectors == 0).all(dim=1)] == 0).all()


@fuzz(mean_cosine, calls(vectors=floats(2, high=1e6)))
def test_mean_cosine(found: float, vectors: Tensor) -> None:
    """In -1..1; 0 for zeros, 1 for equal vectors."""
    if vectors.isfinite().all():
        assert -1 <= found <= 1
        assert vectors.any() or found == 0
        alike = vectors[:1].expand(3, -1)
        assert not alike.any() or math.isclose(mean_cosine(alike), 1)


@fuzz(
    neighbour_hits,
    calls(
        vectors=floats(2, special=False),
        labels=st.lists(st.sampled_from("ab"), max_size=7),
        groups=st.lists(st.sampled_from("xy"), max_size=7),
    ).map(lambda call: {**call, **{name: (call[name] * 7)[: len(call["vectors"])]
                                   for name in ("labels", "groups")
                                   if call["vectors"].dim()}}),
)  # fmt: skip
def test_neighbour_hits(
    hits: Tensor, vectors: Tensor, labels: list[str], groups: list[str]
) -> None:
    """Shares, and 1 for all if there is one label only."""
    assert hits.shape == (len(vectors),)
    assert hits.dtype == torch.float64
    assert ((hits >= 0) & (hits <= 1)).all()
    assert len(set(labels)) > 1 or (hits == 1).all()


@st.composite
def parts(draw: DrawFn) -> tuple[Tensor, Tensor]:
    """Draw states with labels, now and then of another number."""
    states = draw(floats(2))
    n = len(states) if states.dim() else 1
    return states, draw(mostly(st.just(random_ids((n,), draw(SEEDS), 3)), ids(1, high=3)))


@fuzz(fit_probe, calls(train=parts(), validation=parts()))
def test_fit_probe(probe: Probe, train: tuple[Tensor, Tensor], **_: Any) -> None:
    """A map from states to classes."""
    scores = probe.scores(train[0])
    assert scores.shape == (len(train[0]), int(train[1].max()) + 1)
    assert scores.isfinite().all()


@fuzz(probe_hits, calls(parts=st.builds(Parts, parts(), parts(), parts())))
def test_probe_hits(hits: Tensor, parts: Parts) -> None:
    """One answer for each test state."""
    assert hits.shape == (len(parts.test[0]),)
    assert hits.dtype == torch.bool


TYPES = st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=3)


@fuzz(control_labels, calls(types=TYPES, n_classes=sizes(4), generator=GENERATORS))
def test_control_labels(labels: list[Tensor], types: Any, n_classes: int, **_: Any) -> None:
    """Equal types have equal labels, in range."""
    known = dict[str, int]()
    for row, kinds in zip(labels, types, strict=True):
        assert row.dtype == torch.int64
        assert row.shape == (len(kinds),)
        for label, kind in zip(row.tolist(), kinds, strict=True):
            assert 0 <= label < n_classes
            assert known.setdefault(kind, label) == label


@st.composite
def token_rows(draw: DrawFn, n_rows: int, seq_len: int) -> Rows:
    """Draw rows of which some tokens are marks or headings."""
    shape = (n_rows, seq_len)
    return Rows(random_ids(shape, draw(SEEDS), 4), *(draw(masks(shape)).bool() for _ in range(2)))


RELATIONS = mostly(st.sampled_from([*POSITIONAL, "same", "mark", "heading"]), st.just("verb"))


@st.composite
def relations(draw: DrawFn) -> dict[str, Any]:
    """Draw a relation and rows."""
    shape = draw(st.integers(0, 3)), draw(st.integers(0, 6))
    return {"relation": draw(RELATIONS), "rows": draw(token_rows(*shape)),
            "causal": draw(st.booleans())}  # fmt: skip


@fuzz(relation_mask, relations())
def test_relation_mask(mask: Tensor, rows: Rows, causal: bool, **_: Any) -> None:
    """Never the query itself, and nothing behind it where that is out of reach."""
    n_rows, seq_len = rows.ids.shape
    assert mask.shape == (n_rows, seq_len, seq_len)
    assert mask.dtype == torch.bool
    assert not mask.diagonal(dim1=1, dim2=2).any()
    assert not causal or not mask.triu(1).any()


def attention_maps(n_layers: int, n_rows: int, seq_len: int, seed: int) -> Tensor:
    """Make maps of two heads, each row a distribution."""
    return random_floats((n_layers, n_rows, 2, seq_len, seq_len), seed).softmax(dim=-1)


@st.composite
def maps(draw: DrawFn, **more: Any) -> dict[str, Any]:
    """Draw maps and a relation of their shape, mostly."""
    n_rows, seq_len = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    mask = draw(masks((n_rows, seq_len, seq_len)))
    off = ~torch.eye(seq_len, dtype=torch.bool)
    found = {name: draw(strategy) for name, strategy in more.items()}
    return {"maps": attention_maps(2, n_rows, seq_len, draw(SEEDS)),
            "mask": mask.bool() & off, **found}  # fmt: skip


@fuzz(head_scores, maps())
def test_head_scores(scores: Tensor, **_: Any) -> None:
    """Shares of the weight."""
    assert scores.shape == (2, 2)
    assert ((scores >= 0) & (scores <= 1 + 1e-5)).all()


PERMUTATIONS = {"causal": st.booleans(), "generator": GENERATORS, "n_draws": sizes(4)}


@fuzz(null_scores, maps(positional=st.booleans(), **PERMUTATIONS))
def test_null_scores(scores: Tensor, n_draws: int, **_: Any) -> None:
    """A share of the weight for each draw."""
    assert scores.shape == (n_draws,)
    known = scores[~scores.isnan()]
    assert ((known >= 0) & (known <= 1 + 1e-5)).all()


@st.composite
def searches(draw: DrawFn) -> dict[str, Any]:
    """Draw what is searched, and fresh rows."""
    shape = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    two = [(draw(token_rows(*shape)), attention_maps(2, *shape, draw(SEEDS))) for _ in range(2)]
    return {"relation": draw(RELATIONS), "search": two[0], "fresh": two[1],
            **draw(calls(**PERMUTATIONS))}  # fmt: skip


@fuzz(search_heads, searches())
def test_search_heads(found: Found, n_draws: int, **_: Any) -> None:
    """A head of the two layers of two, and shares."""
    assert found.layer in (1, 2)
    assert found.head in (1, 2)
    assert 0 <= found.score <= 1 + 1e-5
    assert 1 / (1 + n_draws) <= found.p_value <= 1


@fuzz(
    repeated_rows,
    calls(
        token_ids=mostly(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.just([])),
        n_rows=sizes(3, 0),
        half_len=sizes(4, 0),
        generator=GENERATORS,
    ),
)
def test_repeated_rows(
    rows: Rows, token_ids: list[int], n_rows: int, half_len: int, **_: Any
) -> None:
    """Two equal halves of known tokens."""
    assert rows.ids.shape == (n_rows, 2 * half_len)
    assert torch.equal(rows.ids[:, :half_len], rows.ids[:, half_len:])
    assert set(rows.ids.flatten().tolist()) <= set(token_ids)
