# SPDX-License-Identifier: MIT
"""The objectives that `pretrain_lab.train` knows, each with its options.

What an objective does is written in `pretrain.objectives`. Here each sample is corrupted by a
generator of its own, so that it does not depend on its batch, and losses stay sums, so that a mean
can be taken over the predictions of all processes. `OBJECTIVES` is the only list: configuration,
check, help, vocabulary and model all come from it.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from pydantic import Field
from torch import Generator, Tensor

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import (
    IGNORE_INDEX,
    Batch,
    CausalLM,
    MaskedLM,
    Pair,
    PrefixLM,
    SpanCorruptionLM,
    TextObjective,
    collate,
)
from pretrain.span_corruption import SpanCorruption, count_spans
from pretrain.t5 import T5, T5Config
from pretrain_lab.checkpoints import AnyTokenizer, Model
from pretrain_lab.train.options import ConfigError, ObjectiveOptions
from pretrain_lab.train.tokenizer import eos_of, sentinels_of


class CausalOptions(ObjectiveOptions):
    """[objective] kind = "causal": a GPT predicts the next token."""


class MaskedOptions(ObjectiveOptions):
    """[objective] kind = "masked": a BERT restores hidden tokens."""

    mlm_probability: float = Field(0.15, gt=0, le=1, description="share of tokens to predict")
    mask_replace_prob: float = Field(
        0.8, ge=0, le=1, description="of these, the share that is hidden"
    )
    random_replace_prob: float = Field(
        0.1, ge=0, le=1, description="and the share that becomes random"
    )


class SpansOptions(ObjectiveOptions):
    """[objective] kind = "spans": a T5 writes the spans that were cut out."""

    noise_density: float = Field(0.15, gt=0, lt=1, description="share of tokens that is cut out")
    mean_noise_span_length: float = Field(3.0, ge=1, description="of a span, in tokens")
    random_roll: bool = Field(False, description="turn the pattern of spans by chance")
    final_sentinel: bool = Field(True, description="close targets with one more sentinel")


class PrefixOptions(ObjectiveOptions):
    """[objective] kind = "prefix": a GPT reads a prefix in both directions, predicts the rest."""


def _windows(seq_len: int) -> tuple[Tensor, int, int]:
    """Give the first arguments of an objective: a text, the windows in a batch, their length."""
    # It draws windows of its text when it is called. The command draws its own, one for a sample,
    # and calls `corrupt` and `loss_sum` alone; so the text is empty, and a batch is one window.
    return torch.empty(0, dtype=torch.int64), 1, seq_len


def _causal(options: CausalOptions, tokenizer: AnyTokenizer, seq_len: int) -> CausalLM:
    """Make the objective of a GPT."""
    return CausalLM(*_windows(seq_len))


def _masked(options: MaskedOptions, tokenizer: AnyTokenizer, seq_len: int) -> MaskedLM:
    """Make the objective of a BERT."""
    shares = options.model_dump(exclude={"kind"})
    return MaskedLM(
        *_windows(seq_len), tokenizer.mask_id, tokenizer.vocab_size, tokenizer.special_ids, **shares
    )


def _spans(options: SpansOptions, tokenizer: AnyTokenizer, seq_len: int) -> SpanCorruptionLM:
    """Make the objective of a T5; every span needs a sentinel of its own."""
    sentinels = sentinels_of(tokenizer)
    n_spans = count_spans(
        seq_len,
        noise_density=options.noise_density,
        mean_noise_span_length=options.mean_noise_span_length,
    ).n_spans
    n_needed = n_spans + options.random_roll + options.final_sentinel
    if len(sentinels) < n_needed:
        raise ValueError(
            f"expected a vocabulary with {n_needed} sentinels <extra_id_n>, for windows of "
            f"{seq_len} tokens, got {len(sentinels)}"
        )
    spans = SpanCorruption(
        sentinels[0],
        len(sentinels),
        eos_id=eos_of(tokenizer),
        pad_id=tokenizer.pad_id,
        **options.model_dump(exclude={"kind"}),
    )
    return SpanCorruptionLM(*_windows(seq_len), spans)


def _prefix(options: PrefixOptions, tokenizer: AnyTokenizer, seq_len: int) -> PrefixLM:
    """Make the objective of a GPT that sees a prefix from both sides."""
    return PrefixLM(*_windows(seq_len))


class ObjectiveSpec(NamedTuple):
    """All that the command knows of one objective."""

    options: type[ObjectiveOptions]  # its options in [objective]
    model: Callable[[Any], Model]  # what it trains
    config: type[Any]  # the options of that in [model]
    make: Callable[[Any, AnyTokenizer, int], TextObjective]
    """Makes it of its options, a vocabulary and the length of its windows; a ValueError says that
    they do not fit together."""
    needs_sentinels: bool = False  # whether a vocabulary that is learned for it gets sentinels
    gap: str = ""  # what stands for missing text in a prompt
    note: str = ""  # in what the command that uses the model differs from the training
    aliases: tuple[str, ...] = ()  # other names of its kind, which are taken for it


OBJECTIVES: dict[str, ObjectiveSpec] = {
    "causal": ObjectiveSpec(
        CausalOptions, GPT, GPTConfig, _causal, aliases=("gpt", "clm", "causal_lm")
    ),
    "masked": ObjectiveSpec(
        MaskedOptions, BERT, BERTConfig, _masked, gap="[MASK]", aliases=("bert", "mlm", "masked_lm")
    ),
    "spans": ObjectiveSpec(
        SpansOptions, T5, T5Config, _spans, needs_sentinels=True, gap="<extra_id_0>",
        aliases=("t5", "span", "span_corruption"),
    ),
    "prefix": ObjectiveSpec(
        PrefixOptions, GPT, GPTConfig, _prefix, aliases=("prefix_lm", "prefixlm"),
        note="pretrain_lab.sample reads a prompt from left to right, as a prefix of one token; for "
        "one of n tokens that all see each other, call model(ids, prefix_lens=torch.tensor([n]))",
    ),
}  # fmt: skip
"""Every objective by its kind in [objective]."""

KINDS = {alias: kind for kind, spec in OBJECTIVES.items() for alias in spec.aliases}
"""Other names of the objectives -> ours."""

DEFAULT_KIND = "causal"
"""Whose options are shown for a configuration whose own kind is missing or unknown."""


def make_objective(
    options: ObjectiveOptions, tokenizer: AnyTokenizer, seq_len: int
) -> TextObjective:
    """Make an objective for a vocabulary and windows of seq_len tokens.

    Raises:
        ConfigError: Options that do not fit the windows, or special tokens that the objective
            needs and the vocabulary lacks.
    """
    try:
        return OBJECTIVES[options.kind].make(options, tokenizer, seq_len)
    except ValueError as error:  # a role that no token plays, or rates that cut nothing
        raise ConfigError(f'[objective] kind = "{options.kind}": {error}') from error


def make_batch(
    objective: TextObjective, samples: Iterable[tuple[Tensor, Generator]], *, pad_id: int
) -> Batch:
    """Corrupt windows, int64 (window_len,), each by its own generator, and pad them to a batch."""
    rows = (objective.corrupt(window[None], generator) for window, generator in samples)
    return collate([Pair(row.inputs[0], row.labels[0]) for row in rows], pad_id=pad_id)


def count_predictions(batch: Batch) -> int:
    """Count the labels of a batch that are not ignored."""
    return int((batch.labels != IGNORE_INDEX).sum())
