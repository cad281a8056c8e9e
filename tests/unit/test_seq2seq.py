# SPDX-License-Identifier: MIT
"""The losses of T5 and of prefixes: what is read, what is predicted, what is ignored."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.gpt import GPT
from pretrain.objectives import (
    IGNORE_INDEX,
    BatchLoss,
    causal_lm_loss,
    corrupt_spans,
    masked_lm_loss,
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
from pretrain.t5 import T5, shift_right
from pretrain.training import fit

SIZES = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32}
CORPUS = torch.arange(2, 12).repeat(30)  # 2, 3, ... 11, 2, 3, ...
SENTINELS = {"first_sentinel_id": 19, "n_sentinels": 6}


@pytest.fixture
def t5() -> T5:
    """Give a small T5 with 20 tokens, the last six of them sentinels."""
    return T5(20, **SIZES)  # type: ignore[arg-type]


class Recorder(nn.Module):
    """A model that remembers what it was called with and finds all tokens equally likely."""

    def forward(self, *args: Tensor, **kwargs: Tensor) -> Tensor:
        """Give logits of zero."""
        self.args, self.kwargs = args, kwargs
        read = args[1] if len(args) > 1 else args[0]
        return torch.zeros(*read.shape, 20)


def test_span_loss_reads_and_predicts_the_corruption(generator: Generator) -> None:
    """The encoder reads the inputs, the decoder the shifted targets, and no mask is needed."""
    model = Recorder()
    loss = span_corruption_loss(CORPUS, batch_size=5, seq_len=20, eos_id=1, **SENTINELS)
    assert loss(model, generator).item() == pytest.approx(math.log(20))
    again = torch.Generator().manual_seed(0)
    windows = random_windows(CORPUS, 5, 20, generator=again)
    expected = corrupt_spans(windows, generator=again, eos_id=1, **SENTINELS)
    inputs, decoder_ids, mask = model.args
    assert torch.equal(inputs, expected.inputs)
    assert torch.equal(decoder_ids, shift_right(expected.targets))
    assert mask is None


def test_every_setting_reaches_the_corruption(generator: Generator) -> None:
    """Rows of other lengths, another padding, and no sentinel at the end of the target."""
    options = {"noise_share": 0.3, "mean_span_len": 2.0, "roll": True, "final_sentinel": False}
    model = Recorder()
    loss = span_corruption_loss(
        CORPUS, batch_size=16, seq_len=12, pad_id=12, **options, **SENTINELS
    )
    loss(model, generator)
    again = torch.Generator().manual_seed(0)
    windows = random_windows(CORPUS, 16, 12, generator=again)
    expected = corrupt_spans(windows, generator=again, pad_id=12, **options, **SENTINELS)
    assert not expected.target_mask.all()
    inputs, decoder_ids, mask = model.args
    assert torch.equal(inputs, expected.inputs)
    assert torch.equal(decoder_ids, shift_right(expected.targets, pad_id=12))
    assert torch.equal(mask, expected.input_mask)


def test_span_loss_ignores_padding(t5: T5, generator: Generator) -> None:
    """With roll, rows differ in length: the loss is the mean over real target tokens alone."""
    options = {"noise_share": 0.3, "mean_span_len": 2.0, "roll": True, **SENTINELS}
    loss = span_corruption_loss(CORPUS, batch_size=16, seq_len=12, **options)
    value = loss(t5, generator)
    again = torch.Generator().manual_seed(0)
    windows = random_windows(CORPUS, 16, 12, generator=again)
    rows = zip(*corrupt_spans(windows, generator=again, **options), strict=True)
    losses = []
    lengths = set()
    for inputs, targets, input_mask, target_mask, _ in rows:
        alone, labels = inputs[input_mask][None], targets[target_mask]
        lengths.add(len(labels))
        logits = t5(alone, shift_right(labels)[None])[0]
        losses.append(F.cross_entropy(logits, labels, reduction="none"))
    assert len(lengths) == 2
    assert value.item() == pytest.approx(torch.cat(losses).mean().item(), abs=1e-5)


def test_an_ignored_label_counts_for_nothing(t5: T5) -> None:
    """What the encoder's padding or an ignored label holds does not change the loss."""
    inputs = torch.tensor([[3, 4, 19, 7], [5, 19, 0, 0]])
    labels = torch.tensor([[19, 5, 6, 18], [19, 6, -100, -100]])
    real = inputs > 0
    both = seq2seq_loss(t5, inputs, labels, real)
    parts = [
        seq2seq_loss(t5, inputs[:1], labels[:1]),
        seq2seq_loss(t5, inputs[1:, :2], labels[1:, :2]),
    ]
    assert both.item() == pytest.approx((4 * parts[0] + 2 * parts[1]).item() / 6, abs=1e-6)
    assert seq2seq_loss(t5, inputs, labels, real | True) != both


@pytest.mark.parametrize(("options", "start"), [({}, 0), ({"pad_id": 12}, 12)])
def test_the_decoder_starts_from_the_padding(
    options: dict[str, int], start: int, generator: Generator
) -> None:
    """Id 0 unless another is given; it stands also where the encoder has nothing to read."""
    model = Recorder()
    labels = torch.tensor([[5, 6, IGNORE_INDEX, 7]])
    seq2seq_loss(model, labels, labels, **options)
    assert model.args[1].tolist() == [[start, 5, 6, start]]
    prefix_seq2seq_loss(CORPUS, batch_size=8, seq_len=5, **options)(model, generator)
    inputs, decoder_ids, real = model.args
    assert not real.all()
    assert inputs[~real].eq(start).all()
    assert decoder_ids[:, 0].eq(start).all()


def test_prefix_targets_begin_after_the_prefix() -> None:
    """The last token of the prefix predicts the first one after it."""
    ids = torch.tensor([[5, 6, 7, 8, 9]] * 4)
    inputs, labels = prefix_targets(ids, torch.tensor([0, 1, 3, 4]))
    assert inputs.tolist() == [[5, 6, 7, 8]] * 4
    no = IGNORE_INDEX
    assert labels.tolist() == [[6, 7, 8, 9], [6, 7, 8, 9], [no, no, 8, 9], [no, no, no, 9]]


def test_split_prefixes() -> None:
    """The prefix is read, the rest is written; both are padded to the longest."""
    ids = torch.tensor([[5, 6, 7, 8]] * 3)
    inputs, labels, real = split_prefixes(ids, torch.tensor([1, 3, 2]), pad_id=1)
    assert inputs.tolist() == [[5, 1, 1], [5, 6, 7], [5, 6, 1]]
    assert real.tolist() == [[True, False, False], [True] * 3, [True, True, False]]
    no = IGNORE_INDEX
    assert labels.tolist() == [[6, 7, 8], [8, no, no], [7, 8, no]]
    assert split_prefixes(ids, torch.tensor([1, 3, 2]))[0].tolist()[0] == [5, 0, 0]


def test_one_sequence_is_enough() -> None:
    """A batch of one, cut in its middle."""
    ids = torch.tensor([[5, 6]])
    inputs, labels, real = split_prefixes(ids, torch.tensor([1]))
    assert (inputs.tolist(), labels.tolist(), real.tolist()) == ([[5]], [[6]], [[True]])


@pytest.mark.parametrize("make", [prefix_lm_loss, prefix_seq2seq_loss])
def test_the_shortest_prefix(make: Callable[..., BatchLoss], generator: Generator) -> None:
    """One token is read and one predicted; less is refused."""
    value = make(CORPUS, batch_size=1, seq_len=1)(Recorder(), generator)
    assert value.item() == pytest.approx(math.log(20))
    with pytest.raises(ValueError, match="expected seq_len >= 1, got 0"):
        make(CORPUS, batch_size=1, seq_len=0)


@pytest.mark.parametrize("seed", range(5))
def test_both_prefix_losses_predict_the_same_tokens(seed: int) -> None:
    """One seed, one batch: a GPT and a T5 are asked for the same tokens after the same prefix."""
    gpt, t5 = Recorder(), Recorder()
    sizes = {"batch_size": 6, "seq_len": 9}
    for make, model in ((prefix_lm_loss, gpt), (prefix_seq2seq_loss, t5)):
        value = make(CORPUS, **sizes)(model, torch.Generator().manual_seed(seed))
        assert value.item() == pytest.approx(math.log(20))
    lens = gpt.kwargs["prefix_lens"]
    assert gpt.args[0].shape == (6, 9)
    assert lens.min() >= 1
    assert lens.max() <= 9
    assert torch.equal(t5.args[2].sum(dim=1), lens)
    for i, n in enumerate(lens.tolist()):
        assert torch.equal(t5.args[0][i, :n], gpt.args[0][i, :n])
        assert torch.equal(t5.args[1][i, 1 : 10 - n], gpt.args[0][i, n:])


def test_all_prefix_lengths_occur(generator: Generator) -> None:
    """From one token to all that the model reads."""
    model = Recorder()
    prefix_lm_loss(CORPUS, batch_size=500, seq_len=5)(model, generator)
    assert model.kwargs["prefix_lens"].unique().tolist() == [1, 2, 3, 4, 5]


def test_bad_prefixes_are_named() -> None:
    """Nothing to read, nothing to predict, or of another batch."""
    ids = torch.zeros(2, 4, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"prefix_lens in 1\.\.3, got \[0, 1\]"):
        split_prefixes(ids, torch.tensor([0, 1]))
    for function in (split_prefixes, prefix_targets):
        with pytest.raises(ValueError, match=r"prefix_lens in [01]\.\.3, got \[1, 4\]"):
            function(ids, torch.tensor([1, 4]))
        with pytest.raises(ValueError, match=r"got shapes \(2, 4\) and \(3,\)"):
            function(ids, torch.tensor([1, 1, 1]))
    with pytest.raises(ValueError, match=r"got shapes \(4,\) and \(2,\)"):
        split_prefixes(ids[0], torch.tensor([1, 1]))


@pytest.mark.parametrize("objective", ["spans", "rolled spans", "prefix", "prefix, T5"])
def test_fit_learns_each_objective(t5: T5, generator: Generator, objective: str) -> None:
    """On a corpus that counts, sixty steps more than halve the loss of the first steps."""
    sizes = {"batch_size": 16, "seq_len": 12}
    model: nn.Module = t5
    if objective == "prefix":
        model = GPT(20, d_model=16, n_layers=1, n_heads=2, max_len=12)
        loss = prefix_lm_loss(CORPUS, **sizes)
    elif objective == "prefix, T5":
        loss = prefix_seq2seq_loss(CORPUS, **sizes)
    else:
        loss = span_corruption_loss(CORPUS, **sizes, **SENTINELS, roll=objective != "spans")
    history = fit(model, loss, n_steps=60, lr=0.02, generator=generator, weight_decay=0.0)
    assert sum(history.losses[-5:]) < 0.5 * sum(history.losses[:5])


def test_every_loss_says_what_it_draws_from() -> None:
    """A resume with another text or batch must be noticed for each objective."""
    ids = torch.arange(40)
    makers: dict[str, Callable[..., BatchLoss]] = {
        "causal": causal_lm_loss,
        "masked": partial(masked_lm_loss, mask_id=1, vocab_size=50, special_ids=(0, 1)),
        "spans": partial(span_corruption_loss, first_sentinel_id=49),
        "prefix": prefix_lm_loss,
        "prefix seq2seq": prefix_seq2seq_loss,
    }
    for kind, make in makers.items():
        noted = [
            make(text, batch_size=size, seq_len=8).settings  # type: ignore[attr-defined]
            for text, size in ((ids, 2), (ids, 2), (ids.flip(0), 2), (ids, 3))
        ]
        assert noted[0]["kind"] == kind
        assert noted[0] == noted[1]
        assert noted[0] != noted[2]
        assert noted[0] != noted[3]


@pytest.mark.parametrize(
    ("make", "kind", "options", "defaults"),
    [
        (
            span_corruption_loss,
            "spans",
            {"first_sentinel_id": 149},
            {"n_sentinels": 100, "noise_share": 0.15, "mean_span_len": 3.0, "roll": False,
             "final_sentinel": True, "eos_id": None, "pad_id": 0},
        ),
        (
            span_corruption_loss,
            "spans",
            {"first_sentinel_id": 49, "n_sentinels": 8, "noise_share": 0.3, "mean_span_len": 2.0,
             "roll": True, "final_sentinel": False, "eos_id": 1, "pad_id": 12},
            {},
        ),
        (prefix_lm_loss, "prefix", {}, {}),
        (prefix_seq2seq_loss, "prefix seq2seq", {}, {"pad_id": 0}),
        (prefix_seq2seq_loss, "prefix seq2seq", {"pad_id": 12}, {}),
    ],
)  # fmt: skip
def test_losses_note_every_setting(
    make: Callable[..., BatchLoss], kind: str, options: dict[str, Any], defaults: dict[str, Any]
) -> None:
    """All that decides on a batch, defaults included, beside the hash of the text."""
    options = {**options, "batch_size": 2, "seq_len": 8}
    noted = dict(make(CORPUS, **options).settings)  # type: ignore[attr-defined]
    assert len(noted.pop("ids_sha256")) == 16
    assert noted == {"kind": kind, **options, **defaults}
