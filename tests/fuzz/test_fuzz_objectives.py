# SPDX-License-Identifier: MIT
"""What a model is asked: targets, corruption, windows, batches and the losses made of them."""

from typing import Any

import torch
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from little import BERTS, GPTS, T5S, TEXT_T5, TOKENIZER
from strategies import (
    GENERATORS,
    ODD_FLOATS,
    TEXTS,
    V,
    calls,
    ids,
    mostly,
    padded,
    probabilities,
    sizes,
)
from torch import Generator, Tensor, nn

from pretrain.objectives import (
    FATES,
    IGNORE_INDEX,
    BatchLoss,
    Corrupted,
    causal_lm_loss,
    causal_targets,
    corrupt_mlm,
    masked_lm_loss,
    note_settings,
    random_windows,
)
from pretrain.seq2seq import (
    prefix_lm_loss,
    prefix_seq2seq_loss,
    prefix_targets,
    seq2seq_loss,
    span_corruption_loss,
    split_prefixes,
)
from pretrain.t5 import shift_right
from pretrain.tasks import Example
from pretrain.text_to_text import (
    Batch,
    Pair,
    collate,
    encode_examples,
    encode_text,
    mixture_loss,
    task_loss,
)
from pretrain.training import learning_rate

CORPUS = torch.arange(200) % (V - 2) + 2
"""Ids 2..11: 0 and 1 are left for padding and [MASK]."""
RATES = {"select_prob": probabilities(), "mask_prob": probabilities() | st.floats(0, 0.5),
         "random_prob": probabilities() | st.floats(0, 0.5)}  # fmt: skip
VOCABULARY = {
    "mask_id": mostly(st.just(1), st.integers(-1, V + 1)),
    "vocab_size": mostly(st.just(V), st.integers(-1, V)),
    "special_ids": mostly(
        st.sampled_from([(), (0, 1), [1, 1], range(3)]),
        st.lists(st.integers(-1, V + 1), max_size=3) | st.just(range(V)),
    ),
}  # fmt: skip
WINDOWS = {"batch_size": sizes(4), "seq_len": sizes(10)}


@fuzz(causal_targets, calls(ids=ids(2) | ids(1) | ids(3)))
def test_causal_targets(pair: tuple[Tensor, Tensor], ids: Tensor) -> None:
    """The same tokens, shifted by one."""
    inputs, targets = pair
    assert inputs.shape == targets.shape == (*ids.shape[:-1], ids.shape[-1] - 1)
    assert torch.equal(inputs[..., 1:], targets[..., :-1])


@fuzz(corrupt_mlm, calls(ids=ids(2), generator=GENERATORS, **VOCABULARY, **RATES))
def test_corrupt_mlm(
    result: Corrupted,
    ids: Tensor,
    mask_id: int,
    vocab_size: int,
    special_ids: Any,
    mask_prob: float,
    random_prob: float,
    **_: Any,
) -> None:
    """Labels give the text back, special ids are left alone, fates say what happened."""
    chosen = result.labels != IGNORE_INDEX
    assert torch.equal(torch.where(chosen, result.labels, result.ids), ids)
    assert not torch.isin(ids[chosen], torch.tensor(list(special_ids), dtype=torch.int64)).any()
    fate = {name: result.fates == number for number, name in enumerate(FATES)}
    assert torch.equal(chosen, ~fate["not selected"])
    assert (result.ids[fate["masked"]] == mask_id).all()
    assert torch.equal(result.ids[fate["kept"]], ids[fate["kept"]])
    drawn = result.ids[fate["random"]]
    assert not torch.isin(drawn, torch.tensor(list(special_ids), dtype=torch.int64)).any()
    assert ((drawn >= 0) & (drawn < vocab_size)).all()
    assert mask_prob > 0 or not fate["masked"].any()
    assert random_prob > 0 or not fate["random"].any()


@fuzz(
    random_windows,
    calls(ids=ids(1, longest=40), batch_size=sizes(5, 0), seq_len=sizes(9), generator=GENERATORS),
)
def test_random_windows(
    windows: Tensor, ids: Tensor, batch_size: int, seq_len: int, generator: Generator
) -> None:
    """Each window stands somewhere in the text."""
    assert windows.shape == (batch_size, seq_len)
    assert windows.dtype == ids.dtype
    places = ids.unfold(0, seq_len, 1)
    assert all((places == window).all(dim=1).any() for window in windows)


def give(_model: nn.Module, _generator: Generator) -> Tensor:
    """Stand in for a loss."""
    return torch.ones(())


@fuzz(
    note_settings,
    calls(loss=st.just(give), ids=ids(1, wrong=False), kind=TEXTS, number=st.integers()),
)
def test_note_settings(noted: BatchLoss, ids: Tensor, kind: str, number: int, **_: Any) -> None:
    """The settings, and a hash that another text does not have."""
    settings = dict(vars(noted)["settings"])
    assert (settings["kind"], settings["number"]) == (kind, number)
    other = note_settings(give, torch.cat([ids.flatten(), torch.ones(1, dtype=torch.int64)]))
    assert vars(other)["settings"]["ids_sha256"] != settings["ids_sha256"]


def check_loss(loss: BatchLoss, model: nn.Module) -> None:
    """Either the arguments are refused when the loss is used, or it is a finite number >= 0."""
    try:
        value = loss(model, Generator().manual_seed(0))
    except ValueError:
        return
    assert value.shape == ()
    assert value.isfinite()
    assert value >= 0


@fuzz(causal_lm_loss, calls(ids=st.just(CORPUS) | ids(1, wrong=False), **WINDOWS))
def test_causal_lm_loss(loss: BatchLoss, **_: Any) -> None:
    """A number of nats."""
    check_loss(loss, GPTS[0])


@fuzz(masked_lm_loss, calls(ids=st.just(CORPUS), **WINDOWS, **VOCABULARY, **RATES))
def test_masked_lm_loss(loss: BatchLoss, **_: Any) -> None:
    """A number of nats, 0 where nothing is selected."""
    check_loss(loss, BERTS[0])


@fuzz(prefix_lm_loss, calls(ids=st.just(CORPUS) | ids(1, wrong=False), **WINDOWS))
def test_prefix_lm_loss(loss: BatchLoss, **_: Any) -> None:
    """A number of nats."""
    check_loss(loss, GPTS[0])


@fuzz(prefix_seq2seq_loss, calls(ids=st.just(CORPUS), **WINDOWS, pad_id=st.integers(0, V - 1)))
def test_prefix_seq2seq_loss(loss: BatchLoss, **_: Any) -> None:
    """A number of nats."""
    check_loss(loss, T5S[0])


@fuzz(
    span_corruption_loss,
    calls(
        ids=st.just(CORPUS[CORPUS < 8]),
        first_sentinel_id=mostly(st.just(V - 1), st.integers(-1, V)),
        n_sentinels=sizes(4),
        noise_share=probabilities(),
        mean_span_len=st.floats(0.5, 5.0),
        roll=st.booleans(),
        eos_id=st.sampled_from([None, 1]),
        **WINDOWS,
    ),
)
def test_span_corruption_loss(loss: BatchLoss, **_: Any) -> None:
    """A number of nats."""
    check_loss(loss, T5S[0])


@st.composite
def sources(draw: DrawFn) -> dict[str, Any]:
    """Draw what a T5 reads and is asked for."""
    n_rows, n_read, n_asked = draw(st.tuples(*[st.integers(1, 4)] * 3))
    labels = draw(ids(2, wrong=False)) if draw(st.integers(0, 8)) == 8 else torch.where(
        torch.rand(n_rows, n_asked) < 0.8, 3, IGNORE_INDEX)  # fmt: skip
    mask = draw(st.none() | padded(n_rows, n_read))
    return {"model": T5S[0], "inputs": torch.full((n_rows, n_read), 4), "labels": labels,
            "input_mask": mask, "pad_id": draw(st.integers(0, V - 1))}  # fmt: skip


@fuzz(seq2seq_loss, sources())
def test_seq2seq_loss(loss: Tensor, labels: Tensor, **_: Any) -> None:
    """A number of nats, as long as something is asked."""
    assert loss.shape == ()
    assert loss >= 0 or not (labels != IGNORE_INDEX).any()


@st.composite
def prefixed(draw: DrawFn) -> dict[str, Any]:
    """Draw texts with prefixes of which most leave something to predict."""
    text = draw(ids(2))
    shape = text.shape if text.dim() == 2 else (1, 2)
    lens = draw(st.lists(sizes(max(shape[1] - 1, 1)), min_size=shape[0], max_size=shape[0]))
    wrong = draw(mostly(st.just(None), ids(1), st.just(torch.zeros(shape[0]))))
    lengths = torch.tensor(lens, dtype=torch.int64) if wrong is None else wrong
    return {"ids": text, "prefix_lens": lengths, "pad_id": draw(st.integers(0, V))}


def without_pad(call: dict[str, Any]) -> dict[str, Any]:
    """Leave the padding out."""
    return {name: value for name, value in call.items() if name != "pad_id"}


@fuzz(prefix_targets, prefixed().map(without_pad))
def test_prefix_targets(pair: tuple[Tensor, Tensor], ids: Tensor, prefix_lens: Tensor) -> None:
    """What follows the prefix is asked, and nothing of the prefix itself."""
    inputs, labels = pair
    assert torch.equal(inputs, ids[:, :-1])
    for row, text, length in zip(labels, ids, prefix_lens.tolist(), strict=True):
        first = max(int(length) - 1, 0)
        assert (row[:first] == IGNORE_INDEX).all()
        assert torch.equal(row[first:], text[first + 1 :])


@fuzz(split_prefixes, prefixed())
def test_split_prefixes(
    parts: tuple[Tensor, ...], ids: Tensor, prefix_lens: Tensor, pad_id: int
) -> None:
    """Both parts together are the text."""
    inputs, labels, real = parts
    assert real.dtype == torch.bool
    assert (inputs[~real] == pad_id).all()
    for row in range(len(ids)):
        rest = labels[row][: ids.shape[1] - int(prefix_lens[row])]
        assert torch.equal(torch.cat([inputs[row][real[row]], rest]), ids[row])
        assert (labels[row][len(rest) :] == IGNORE_INDEX).all()


@fuzz(shift_right, calls(labels=ids(2) | ids(1), pad_id=st.integers(0, V)))
def test_shift_right(shifted: Tensor, labels: Tensor, pad_id: int) -> None:
    """One place later, without the last and without ignored labels."""
    assert shifted.shape == labels.shape
    assert (shifted[..., 0] == pad_id).all()
    known = labels[..., :-1] != IGNORE_INDEX
    assert torch.equal(shifted[..., 1:][known], labels[..., :-1][known])
    assert not (shifted[..., 1:] == IGNORE_INDEX).any()


ROWS = ids(1, wrong=False).map(torch.flatten)
PAIRS = st.lists(st.builds(Pair, ROWS, ROWS), max_size=4)


@fuzz(collate, calls(pairs=PAIRS, pad_id=st.integers(0, V)))
def test_collate(batch: Batch, pairs: list[Pair], pad_id: int) -> None:
    """Every row comes back by its mask."""
    assert batch.input_mask.dtype == torch.bool
    for row, pair in enumerate(pairs):
        assert torch.equal(batch.inputs[row][batch.input_mask[row]], pair.source)
        assert torch.equal(batch.labels[row][: len(pair.target)], pair.target)
        assert (batch.labels[row][len(pair.target) :] == IGNORE_INDEX).all()
    assert (batch.inputs[~batch.input_mask] == pad_id).all()


@fuzz(encode_text, calls(text=TEXTS, tokenizer=st.just(TOKENIZER), max_len=sizes(20)))
def test_encode_text(encoded: Tensor, text: str, max_len: int, **_: Any) -> None:
    """The end comes last, whatever was cut."""
    assert encoded.dtype == torch.int64
    assert 1 <= len(encoded) <= max_len
    assert encoded[-1] == TOKENIZER.eos_id
    assert torch.equal(encoded[:-1], TOKENIZER.encode(text)[: len(encoded) - 1])


EXAMPLES = st.lists(st.builds(Example, TEXTS, TEXTS, st.just("place")), max_size=3)
LIMITS = {"max_source_len": sizes(9), "max_target_len": sizes(9)}


@fuzz(encode_examples, calls(examples=EXAMPLES, tokenizer=st.just(TOKENIZER), **LIMITS))
def test_encode_examples(pairs: list[Pair], examples: list[Example], **limits: Any) -> None:
    """One pair for each, both parts closed and within their limits."""
    assert len(pairs) == len(examples)
    for pair in pairs:
        assert 1 <= len(pair.source) <= limits["max_source_len"]
        assert 1 <= len(pair.target) <= limits["max_target_len"]


@fuzz(
    task_loss,
    calls(examples=EXAMPLES, tokenizer=st.just(TOKENIZER), batch_size=sizes(3), **LIMITS),
)
def test_task_loss(loss: BatchLoss, **_: Any) -> None:
    """A number of nats."""
    check_loss(loss, TEXT_T5)


NOTED = note_settings(lambda *_: torch.ones(()), CORPUS, kind="one")
NAMES = st.sampled_from(["a", "b"])


@fuzz(
    mixture_loss,
    calls(
        losses=st.dictionaries(NAMES, mostly(st.just(NOTED), st.just(lambda *_: torch.ones(())))),
        proportions=st.dictionaries(NAMES, mostly(st.floats(0.01, 9.0), ODD_FLOATS)),
    ),
)
def test_mixture_loss(loss: BatchLoss, **_: Any) -> None:
    """The loss of one of the tasks."""
    check_loss(loss, nn.Identity())
    assert loss(nn.Identity(), Generator().manual_seed(0)) == 1


@st.composite
def steps(draw: DrawFn) -> dict[str, Any]:
    """Draw a step of a run."""
    n_steps = draw(st.integers(1, 50))
    return {"step": draw(st.integers(0, n_steps - 1)), "n_steps": n_steps,
            "peak": draw(st.floats(1e-6, 1.0)), "n_warmup": draw(st.integers(0, 60)),
            "final": draw(st.floats(0.0, 1.0))}  # fmt: skip


@fuzz(learning_rate, steps())
def test_learning_rate(
    rate: float, step: int, n_steps: int, peak: float, n_warmup: int, final: float
) -> None:
    """Never above the peak, and after the rise never below its last share."""
    assert 0 <= rate <= peak * (1 + 1e-9)
    assert step < n_warmup or rate >= peak * final * (1 - 1e-9)
