# SPDX-License-Identifier: MIT
"""Spans and middles: what was cut out or moved can be put back, and noise keeps its counts."""

from itertools import pairwise
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
    ids,
    masks,
    mostly,
    probabilities,
    random_ids,
    shapes,
    sizes,
)
from torch import Generator, Tensor

from pretrain.infilling import Markers, check_order, move_middle, restore_middle
from pretrain.infilling_loss import fim_batch, random_cuts
from pretrain.span_noise import (
    SpanCounts,
    count_spans,
    find_spans,
    geometric_noise,
    random_noise,
    random_segments,
)
from pretrain.spans import SpanCorrupted, apply_spans, corrupt_spans, cut_out, restore_spans

FIRST = 40
"""First sentinel; the texts of these tests have ids below 12."""
MEANS = mostly(st.floats(1.0, 9.0), ODD_FLOATS, st.just(0.5))
ENDINGS = {"final_sentinel": st.booleans(), "eos_id": st.sampled_from([None, 13, 3])}
SENTINELS = {
    "first_sentinel_id": mostly(st.just(FIRST), st.integers(-2, 20)),
    "n_sentinels": mostly(st.integers(4, 25), st.integers(-2, 50)),
}


@fuzz(
    count_spans,
    calls(seq_len=sizes(10**6, 2) | sizes(9, 2), noise_share=probabilities(), mean_span_len=MEANS),
)
def test_count_spans(
    counts: SpanCounts, seq_len: int, noise_share: float, mean_span_len: float
) -> None:
    """A token before every span, and no span empty."""
    assert 1 <= counts.n_spans <= counts.n_noise < seq_len
    assert counts.n_noise + counts.n_spans <= seq_len
    assert abs(counts.n_noise - noise_share * seq_len) <= 1


@fuzz(
    random_segments,
    calls(n_rows=sizes(5, 0), n_items=sizes(20), n_segments=sizes(6), generator=GENERATORS),
)
def test_random_segments(
    lengths: Tensor, n_rows: int, n_items: int, n_segments: int, generator: Generator
) -> None:
    """Lengths of at least one that sum to the items."""
    assert lengths.shape == (n_rows, n_segments)
    assert lengths.dtype == torch.int64
    assert (lengths >= 1).all()
    assert (lengths.sum(dim=1) == n_items).all()


@fuzz(
    random_noise,
    calls(
        batch_size=sizes(5, 0),
        seq_len=sizes(60, 2),
        generator=GENERATORS,
        noise_share=probabilities(),
        mean_span_len=MEANS,
        roll=st.booleans(),
    ),
)
def test_random_noise(
    noise: Tensor, batch_size: int, seq_len: int, roll: bool, generator: Generator, **rates: float
) -> None:
    """The counts of `count_spans`; a kept token first and a cut one last, unless rolled."""
    counts = count_spans(seq_len, **rates)
    assert noise.shape == (batch_size, seq_len)
    assert noise.dtype == torch.bool
    assert (noise.sum(dim=1) == counts.n_noise).all()
    for row in noise:
        assert len(find_spans(row)) in (counts.n_spans, counts.n_spans + roll)
    assert roll or not noise[:, 0].any()
    assert roll or noise[:, -1].all()


@fuzz(
    geometric_noise,
    calls(
        batch_size=sizes(5, 0),
        seq_len=sizes(40, 2),
        generator=GENERATORS,
        noise_shares=st.tuples(st.floats(0.01, 0.2), mostly(st.floats(0.2, 0.5), ODD_FLOATS)),
        mean_span_len=MEANS,
        max_spans=sizes(6),
    ),
)
def test_geometric_noise(
    noise: Tensor, batch_size: int, seq_len: int, max_spans: int, **_: Any
) -> None:
    """The first token stays, and each row has a span, but not too many."""
    assert noise.shape == (batch_size, seq_len)
    assert noise.dtype == torch.bool
    assert not noise[:, 0].any()
    assert all(1 <= len(find_spans(row)) <= max_spans for row in noise)


@fuzz(find_spans, calls(noise=masks(n_axes=1)))
def test_find_spans(spans: list[tuple[int, int]], noise: Tensor) -> None:
    """The spans are the ones of the mask: not empty, not touching, all of it."""
    rebuilt = torch.zeros(noise.shape, dtype=torch.bool)
    for start, end in spans:
        rebuilt[start:end] = True
    assert torch.equal(rebuilt, noise.bool())
    assert all(a[1] < b[0] for a, b in pairwise(spans))


def check_corrupted(cut: SpanCorrupted, text: Tensor, call: dict[str, Any]) -> None:
    """Shapes, types, padding on the right, and the way back to the text."""
    rows = cut if text.dim() == 2 else SpanCorrupted(*(part[None] for part in cut))
    assert cut.noise.shape == text.shape
    for values, mask in ((rows.inputs, rows.input_mask), (rows.targets, rows.target_mask)):
        assert values.shape == mask.shape
        assert mask.dtype == torch.bool
        assert (mask.long().diff(dim=1) <= 0).all()
        assert (values[~mask] == call.get("pad_id", 0)).all()
    back = {name: call[name] for name in ("first_sentinel_id", "n_sentinels", "eos_id")}
    for row, original in enumerate(text if text.dim() == 2 else text[None]):
        inputs, targets = rows.inputs[row], rows.targets[row]
        inputs, targets = inputs[rows.input_mask[row]], targets[rows.target_mask[row]]
        assert torch.equal(restore_spans(inputs, targets, **back), original.long())


@fuzz(
    corrupt_spans,
    calls(
        ids=ids(2, longest=20) | ids(1, longest=30),
        generator=GENERATORS,
        noise_share=probabilities(),
        mean_span_len=MEANS,
        roll=st.booleans(),
        pad_id=st.integers(0, 60),
        **SENTINELS,
        **ENDINGS,
    ),
)
def test_corrupt_spans(cut: SpanCorrupted, ids: Tensor, **call: Any) -> None:
    """Corruption followed by restoring gives the text back."""
    check_corrupted(cut, ids, call)
    assert cut.inputs.dtype == cut.targets.dtype == torch.int64


@st.composite
def chosen_spans(draw: DrawFn) -> dict[str, Any]:
    """Draw a text and bounds, mostly in order."""
    text = draw(ids(1, longest=20))
    bounds = draw(st.lists(st.integers(-1, max(len(text) if text.dim() else 0, 1)), max_size=8))
    if draw(st.integers(0, 4)) < 4:
        bounds = sorted(set(bounds))
    pairs = list(zip(bounds[::2], bounds[1::2], strict=False))
    return {"ids": text, "spans": pairs, **draw(calls(**SENTINELS, **ENDINGS))}


@fuzz(apply_spans, chosen_spans())
def test_apply_spans(
    cut: SpanCorrupted, ids: Tensor, spans: list[tuple[int, int]], **call: Any
) -> None:
    """The given spans are cut out, and can be put back."""
    assert find_spans(cut.noise) == spans
    check_corrupted(cut, ids, call)


@st.composite
def chosen_cuts(draw: DrawFn) -> dict[str, Any]:
    """Draw texts and any choice of their tokens."""
    text = draw(ids(2, longest=9))
    cut = draw(mostly(masks(text.shape), masks()))
    return {"text": text, "cut": cut, "pad_id": draw(st.integers(0, 60)),
            **draw(calls(**SENTINELS, **ENDINGS))}  # fmt: skip


@fuzz(cut_out, chosen_cuts())
def test_cut_out(result: SpanCorrupted, text: Tensor, cut: Tensor, **call: Any) -> None:
    """Any choice of tokens can be undone."""
    assert torch.equal(result.noise, cut)
    check_corrupted(result, text, call)


def near_sentinels(shape: tuple[int, ...], seed: int) -> Tensor:
    """Make a sequence in which every other token or so is a sentinel."""
    drawn = random_ids(shape, seed, 8)
    return torch.where(drawn < 4, drawn, FIRST + 4 - drawn)


@fuzz(
    restore_spans,
    calls(
        inputs=st.builds(near_sentinels, shapes(1), SEEDS),
        targets=st.builds(near_sentinels, shapes(1), SEEDS),
        first_sentinel_id=st.just(FIRST),
        n_sentinels=sizes(5, 0),
        eos_id=st.sampled_from([None, 2]),
    ),
)
def test_restore_spans(text: Tensor, inputs: Tensor, targets: Tensor, **call: Any) -> None:
    """Whatever a model wrote: a text without sentinels, not longer than its two parts."""
    assert text.dim() == 1
    assert text.dtype == torch.int64
    last = FIRST - call["n_sentinels"] + 1
    assert not ((text >= last) & (text <= FIRST)).any()
    assert len(text) <= len(inputs) + len(targets)


MARKERS = mostly(st.just(Markers(20, 21, 22, 23)), st.builds(Markers, *[st.integers(0, 25)] * 4))
ORDERS = mostly(st.sampled_from(["psm", "spm"]), st.text(max_size=4))


@st.composite
def middles(draw: DrawFn) -> dict[str, Any]:
    """Draw texts and where their middle is, now and then with reversed bounds."""
    text = draw(ids(1, longest=12) | ids(2, longest=9))
    high = text.shape[-1] if text.dim() else 0
    start, end = sorted(draw(st.tuples(*[st.integers(0, high)] * 2)))
    start, end = draw(mostly(st.just((start, end)), st.just((end, start)), st.just((-1, high + 1))))
    return {"ids": text, "start": start, "end": end, **draw(calls(markers=MARKERS, order=ORDERS))}


@fuzz(move_middle, middles())
def test_move_middle(
    moved: Tensor, ids: Tensor, start: int, end: int, markers: Markers, order: str
) -> None:
    """Four tokens more, the middle last, and the way back in either order."""
    assert moved.shape == (*ids.shape[:-1], ids.shape[-1] + 4)
    assert moved.dtype == ids.dtype
    assert torch.equal(moved[..., -1 - (end - start) : -1], ids[..., start:end])
    if len(set(markers)) == 4:
        batch = (moved[None], ids[None]) if ids.dim() == 1 else (moved, ids)
        for row, text in zip(*batch, strict=True):
            assert text.dim() != 1 or torch.equal(restore_middle(row, markers), text)


@fuzz(
    restore_middle,
    calls(
        ids=st.permutations([1, 2, 5, 7, 7, 8, 9]).map(torch.tensor) | ids(1, high=10),
        markers=st.just(Markers(5, 7, 8, 9)) | st.just(Markers(1, 5, 8, 9)),
    ),
)
def test_restore_middle(text: Tensor, ids: Tensor, markers: Markers) -> None:
    """What comes back is a text without markers, made of the tokens that were there."""
    assert not set(text.tolist()) & set(markers)
    assert len(text) <= len(ids) - 3


@fuzz(check_order, calls(order=ORDERS))
def test_check_order(result: None, order: str) -> None:
    """Two orders pass."""
    assert result is None
    assert order in ("psm", "spm")


@fuzz(random_cuts, calls(batch_size=sizes(5, 0), seq_len=sizes(9, 0), generator=GENERATORS))
def test_random_cuts(cuts: Tensor, batch_size: int, seq_len: int, **_: Any) -> None:
    """Two places in order."""
    assert cuts.shape == (batch_size, 2)
    assert ((cuts[:, 0] >= 0) & (cuts[:, 0] <= cuts[:, 1]) & (cuts[:, 1] <= seq_len)).all()


@fuzz(
    fim_batch,
    calls(
        windows=ids(2, longest=20),
        markers=MARKERS,
        fim_prob=probabilities(),
        generator=GENERATORS,
        order=ORDERS,
    ),
)
def test_fim_batch(
    batch: Tensor, windows: Tensor, markers: Markers, fim_prob: float, **_: Any
) -> None:
    """Rows stay as they are or start with the first marker; none at probability 0."""
    assert batch.shape == windows.shape
    assert batch.dtype == windows.dtype
    moved = (batch != windows).any(dim=1)
    assert (batch[moved, 0] == markers.prefix).all()
    assert fim_prob > 0 or not moved.any()
