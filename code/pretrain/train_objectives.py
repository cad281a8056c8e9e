"""The three objectives for `pretrain.train`: one sample at a time, and losses as sums.

Papers: Radford et al. 2018; Devlin et al. 2019 (arXiv:1810.04805); Raffel et al. 2020
(arXiv:1910.10683).

Implemented: for each objective, what a window becomes (by the functions that the chapters use), and
the summed loss of several. `pretrain.objectives` and `pretrain.seq2seq` draw a whole batch from one
generator and return its mean; here each sample has a generator of its own, and a mean is taken
only over the predictions of all processes together.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.checkpoints import AnyTokenizer
from pretrain.objectives import IGNORE_INDEX, causal_targets, corrupt_mlm
from pretrain.span_noise import count_spans
from pretrain.spans import corrupt_spans
from pretrain.t5 import shift_right
from pretrain.text_to_text import Batch, Pair, collate
from pretrain.train_options import CausalOptions, ConfigError, MaskedOptions, SpansOptions
from pretrain.train_tokenizer import eos_of, sentinels_of


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


def make_objective(
    options: CausalOptions | MaskedOptions | SpansOptions, tokenizer: AnyTokenizer, seq_len: int
) -> Objective:
    """Make an objective for a vocabulary.

    Args:
        options: Which one, and its rates.
        tokenizer: Gives the ids of the special tokens.
        seq_len: Tokens in a window T: those that a GPT reads, and the text before the corruption.

    Returns:
        The objective.

    Raises:
        ConfigError: Special tokens that the objective needs and the vocabulary lacks.
    """
    try:
        pad_id = tokenizer.pad_id
        if isinstance(options, CausalOptions):
            return Objective(seq_len + 1, _next_tokens, _causal_sum, pad_id)
        if isinstance(options, MaskedOptions):
            corrupt = _masking(options, tokenizer)
            return Objective(seq_len, corrupt, _masked_sum, pad_id)
        corrupt, loss_sum = _span_cutting(options, tokenizer, seq_len), _spans_sum(pad_id)
        return Objective(seq_len, corrupt, loss_sum, pad_id)
    except ValueError as error:  # a role that no token plays, or rates that cut nothing
        raise ConfigError(f'objective "{options.kind}" and [tokenizer]: {error}') from error


def n_predicted(batch: Batch) -> int:
    """Count the predictions of a batch.

    Args:
        batch: Labels with IGNORE_INDEX where nothing is predicted.

    Returns:
        Number of predicted tokens.
    """
    return int((batch.labels != IGNORE_INDEX).sum())


def _next_tokens(window: Tensor, generator: Generator) -> Pair:
    """Read all tokens but the last, predict all but the first; nothing is random."""
    return Pair(*causal_targets(window))


def _masking(
    options: MaskedOptions, tokenizer: AnyTokenizer
) -> Callable[[Tensor, Generator], Pair]:
    """Make the corruption of BERT."""
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

    return corrupt


def _span_cutting(
    options: SpansOptions, tokenizer: AnyTokenizer, seq_len: int
) -> Callable[[Tensor, Generator], Pair]:
    """Make the corruption of T5; without sentinels of its own for every span there is none."""
    sentinels = sentinels_of(tokenizer)
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
            pad_id=tokenizer.pad_id,
            **rates,
        )
        return Pair(cut.inputs, cut.targets)

    return corrupt


def _causal_sum(model: nn.Module, batch: Batch) -> Tensor:
    """Sum the losses of a GPT."""
    return _cross_entropy(model(batch.inputs), batch.labels)


def _masked_sum(model: nn.Module, batch: Batch) -> Tensor:
    """Sum the losses of a BERT, whose head runs on the selected positions alone."""
    selected = batch.labels != IGNORE_INDEX
    return _cross_entropy(model(batch.inputs, predict=selected), batch.labels[selected])


def _spans_sum(pad_id: int) -> Callable[[nn.Module, Batch], Tensor]:
    """Make the sum of the losses of a T5 whose decoder starts from pad_id."""

    def loss_sum(model: nn.Module, batch: Batch) -> Tensor:
        """Score each label given the input and the labels before it."""
        decoder_ids = shift_right(batch.labels, pad_id=pad_id)
        mask = None if batch.input_mask.all() else batch.input_mask  # the same logits, cheaper
        return _cross_entropy(model(batch.inputs, decoder_ids, mask), batch.labels)

    return loss_sum


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum the cross-entropies where a label is given, in 32 bits."""
    flat = logits.reshape(-1, logits.shape[-1]).float()
    return F.cross_entropy(flat, labels.flatten(), ignore_index=IGNORE_INDEX, reduction="sum")
