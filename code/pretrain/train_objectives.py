# SPDX-License-Identifier: MIT
"""What an objective of `pretrain.train` is: one sample at a time, and losses as sums.

Implemented: what every kind of objective consists of, and what several share; the kinds themselves
are in `pretrain.train_kinds`. `pretrain.objectives` and `pretrain.seq2seq` draw a whole batch from
one generator and return its mean; here each sample has a generator of its own, and a mean is taken
only over the predictions of all processes together.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.checkpoints import AnyTokenizer, Model
from pretrain.objectives import IGNORE_INDEX
from pretrain.text_to_text import Batch, Pair, collate


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
    """Its options in [objective]: a dataclass made of `pretrain.train_options.option`."""
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
