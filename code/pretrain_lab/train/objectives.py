# SPDX-License-Identifier: MIT
"""The kinds of objectives that `pretrain_lab.train` knows, each with its options in one place.

Papers: Radford et al. 2018; Devlin et al. 2019 (arXiv:1810.04805); Raffel et al. 2020
(arXiv:1910.10683).

Implemented: for each kind, its options in [objective], what a window becomes (by the functions that
the chapters use), and the summed loss of several. `KINDS` is the only list of them: the
configuration, its check, the command's help, the vocabulary and the model all come from it.

What an objective of `pretrain_lab.train` is: one sample at a time, and losses as sums.

Implemented: what every kind of objective consists of, and what several share; the kinds themselves
are in `pretrain_lab.train.objectives`. `pretrain.objectives` and `pretrain.objectives` draw a whole
batch from one generator and return its mean; here each sample has a generator of its own, and a
mean is taken only over the predictions of all processes together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.objectives import (
    IGNORE_INDEX,
    Batch,
    Pair,
    causal_targets,
    collate,
    corrupt_mlm,
    prefix_targets,
    shift_right,
)
from pretrain.span_corruption import corrupt_spans, count_spans
from pretrain.t5 import T5
from pretrain_lab.checkpoints import AnyTokenizer, Model
from pretrain_lab.train.options import ConfigError, ObjectiveOptions, option
from pretrain_lab.train.tokenizer import eos_of, sentinels_of


class Objective(NamedTuple):
    """What a model is asked."""

    window_len: int
    """Tokens of text that a sample needs."""
    corrupt: Callable[[Tensor, Generator], Pair]
    """Turns a window, int64 (window_len,), into what is read and what is to be predicted."""
    loss_sum: Callable[[nn.Module, Batch], Tensor]
    """Sums the losses of all predictions of a batch, in nats."""
    pad_id: int
    """Fills the inputs of shorter samples."""

    def batch(self, samples: Sequence[tuple[Tensor, Generator]]) -> Batch:
        """Corrupt windows, each by its own generator, and put them into one batch.

        Args:
            samples: Windows and generators.

        Returns:
            Inputs and labels, padded to the longest.
        """
        pairs = [self.corrupt(window, generator) for window, generator in samples]
        return collate(pairs, pad_id=self.pad_id)


class Kind(NamedTuple):
    """One kind of objective: all that the command knows of it."""

    options: type[Any]
    """Its options in [objective]: a dataclass made of `pretrain_lab.train.options.option`."""
    model: type[Model]
    """What it trains."""
    make: Callable[[Any, AnyTokenizer, int], Objective]
    """Makes it of its options, a vocabulary and the tokens in a window T.

    Raises ValueError when they do not fit together.
    """
    needs_sentinels: bool = False
    """Whether a vocabulary that is learned for it gets sentinels."""


def n_predicted(batch: Batch) -> int:
    """Count the predictions of a batch.

    Args:
        batch: Labels with IGNORE_INDEX where nothing is predicted.

    Returns:
        Number of predicted tokens.
    """
    return int((batch.labels != IGNORE_INDEX).sum())


def summed_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum the cross-entropies where a label is given, in 32 bits.

    Args:
        logits: Float (..., V).
        labels: int64 (...), IGNORE_INDEX where nothing is predicted.

    Returns:
        Scalar, in nats.
    """
    flat = logits.reshape(-1, logits.shape[-1]).float()
    return F.cross_entropy(flat, labels.flatten(), ignore_index=IGNORE_INDEX, reduction="sum")


@dataclass(frozen=True)
class CausalOptions(ObjectiveOptions):
    """[objective] kind = "causal": a GPT predicts the next token."""


def _causal(options: CausalOptions, tokenizer: AnyTokenizer, seq_len: int) -> Objective:
    """Read all tokens but the last, predict all but the first; nothing is random."""

    def shift(window: Tensor, generator: Generator) -> Pair:
        """Give what is read, and what comes next."""
        return Pair(*causal_targets(window))

    return Objective(seq_len + 1, shift, _causal_sum, tokenizer.pad_id)


def _causal_sum(model: nn.Module, batch: Batch) -> Tensor:
    """Sum the losses of a GPT."""
    return summed_cross_entropy(model(batch.inputs), batch.labels)


@dataclass(frozen=True)
class MaskedOptions(ObjectiveOptions):
    """[objective] kind = "masked": a BERT restores hidden tokens."""

    select_prob: float = option("share of tokens to predict", default=0.15, above=0, high=1)
    mask_prob: float = option("of these, the share that is hidden", default=0.8, low=0, high=1)
    random_prob: float = option("and the share that is random", default=0.1, low=0, high=1)


def _masked(options: MaskedOptions, tokenizer: AnyTokenizer, seq_len: int) -> Objective:
    """Hide tokens as BERT does."""
    if options.mask_prob + options.random_prob > 1 + 1e-9:
        raise ValueError(
            "expected mask_prob and random_prob with a sum of at most 1, got "
            f"{options.mask_prob} and {options.random_prob}"
        )
    mask_id, vocab_size = tokenizer.mask_id, tokenizer.vocab_size
    special_ids = tokenizer.special_ids

    def corrupt(window: Tensor, generator: Generator) -> Pair:
        """Select tokens of one window and hide most of them."""
        corrupted = corrupt_mlm(
            window[None],
            mask_id=mask_id,
            vocab_size=vocab_size,
            special_ids=special_ids,
            generator=generator,
            select_prob=options.select_prob,
            mask_prob=options.mask_prob,
            random_prob=options.random_prob,
        )
        return Pair(corrupted.ids[0], corrupted.labels[0])

    return Objective(seq_len, corrupt, _masked_sum, tokenizer.pad_id)


def _masked_sum(model: nn.Module, batch: Batch) -> Tensor:
    """Sum the losses of a BERT, whose head runs on the selected positions alone."""
    selected = batch.labels != IGNORE_INDEX
    return summed_cross_entropy(model(batch.inputs, predict=selected), batch.labels[selected])


@dataclass(frozen=True)
class SpansOptions(ObjectiveOptions):
    """[objective] kind = "spans": a T5 writes the spans that were cut out."""

    noise_share: float = option("share of tokens that is cut out", default=0.15, above=0, below=1)
    mean_span_len: float = option("mean length of a span, in tokens", default=3.0, low=1)
    roll: bool = option("turn the pattern of spans by chance", default=False)
    final_sentinel: bool = option("close targets with one more sentinel", default=True)


def _spans(options: SpansOptions, tokenizer: AnyTokenizer, seq_len: int) -> Objective:
    """Cut spans out as T5 does; without a sentinel of its own for every span there is none."""
    sentinels, pad_id = sentinels_of(tokenizer), tokenizer.pad_id
    rates = {"noise_share": options.noise_share, "mean_span_len": options.mean_span_len}
    n_needed = count_spans(seq_len, **rates).n_spans + options.roll + options.final_sentinel
    if len(sentinels) < n_needed:
        raise ValueError(
            f"expected a vocabulary with {n_needed} sentinels <extra_id_n>, for windows of "
            f"{seq_len} tokens, got {len(sentinels)}"
        )
    eos_id = eos_of(tokenizer)

    def corrupt(window: Tensor, generator: Generator) -> Pair:
        """Cut spans out of one window."""
        cut = corrupt_spans(
            window,
            first_sentinel_id=sentinels[0],
            generator=generator,
            n_sentinels=len(sentinels),
            roll=options.roll,
            final_sentinel=options.final_sentinel,
            eos_id=eos_id,
            pad_id=pad_id,
            **rates,
        )
        return Pair(cut.inputs, cut.targets)

    return Objective(seq_len, corrupt, _spans_sum(pad_id), pad_id)


def _spans_sum(pad_id: int) -> Callable[[nn.Module, Batch], Tensor]:
    """Make the sum of the losses of a T5 whose decoder starts from pad_id."""

    def loss_sum(model: nn.Module, batch: Batch) -> Tensor:
        """Score each label given the input and the labels before it."""
        decoder_ids = shift_right(batch.labels, pad_id=pad_id)
        mask = None if batch.input_mask.all() else batch.input_mask  # the same logits, cheaper
        return summed_cross_entropy(model(batch.inputs, decoder_ids, mask), batch.labels)

    return loss_sum


@dataclass(frozen=True)
class PrefixOptions(ObjectiveOptions):
    """[objective] kind = "prefix": a GPT reads a prefix in both directions, predicts the rest."""

    min_prefix_len: int = option("shortest prefix, in tokens", default=1, low=0)
    max_prefix_len: int | None = option("longest; none = data.seq_len", default=None, low=0)


def _prefix(options: PrefixOptions, tokenizer: AnyTokenizer, seq_len: int) -> Objective:
    """Cut each window where its generator says, all lengths of the prefix equally likely.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.2.1, "prefix LM", and 3.2.3 for the
        random place of the cut.
    """
    shortest = options.min_prefix_len
    longest = seq_len if options.max_prefix_len is None else options.max_prefix_len
    if not shortest <= longest <= seq_len:
        raise ValueError(
            f"expected min_prefix_len <= max_prefix_len <= data.seq_len = {seq_len}, "
            f"got {shortest} and {longest}"
        )

    def cut(window: Tensor, generator: Generator) -> Pair:
        """Draw a prefix, and leave labels only behind it."""
        prefix_lens = torch.randint(shortest, longest + 1, (1,), generator=generator)
        inputs, labels = prefix_targets(window[None], prefix_lens)
        return Pair(inputs[0], labels[0])

    return Objective(seq_len + 1, cut, _prefix_sum, tokenizer.pad_id)


def _prefix_sum(model: nn.Module, batch: Batch) -> Tensor:
    """Sum the losses of a GPT that sees each prefix from both sides.

    The first label is that of the prefix's last token. Without a prefix it is that of the first
    token, and a prefix of that one token is the same: every position sees it anyway.
    """
    prefix_lens = (batch.labels != IGNORE_INDEX).int().argmax(dim=1) + 1
    return summed_cross_entropy(model(batch.inputs, prefix_lens=prefix_lens), batch.labels)


KINDS: dict[str, Kind] = {
    "causal": Kind(CausalOptions, GPT, _causal),
    "masked": Kind(MaskedOptions, BERT, _masked),
    "spans": Kind(SpansOptions, T5, _spans, needs_sentinels=True),
    "prefix": Kind(PrefixOptions, GPT, _prefix),
}
"""Every kind of objective by its name in [objective]."""


def make_objective(options: ObjectiveOptions, tokenizer: AnyTokenizer, seq_len: int) -> Objective:
    """Make an objective for a vocabulary.

    Args:
        options: Which one, and its rates.
        tokenizer: Gives the ids of the special tokens.
        seq_len: Tokens in a window T: those that a GPT reads, and the text before the corruption.

    Returns:
        The objective.

    Raises:
        ConfigError: Options that do not fit the windows, or special tokens that the objective
            needs and the vocabulary lacks.
    """
    try:
        return KINDS[options.kind].make(options, tokenizer, seq_len)
    except ValueError as error:  # a role that no token plays, or rates that cut nothing
        raise ConfigError(f'[objective] kind = "{options.kind}": {error}') from error
