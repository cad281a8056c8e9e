# SPDX-License-Identifier: MIT
"""Linear probes on frozen states, with the control tasks that say how much the probe itself learns.

A probe is a ridge regression onto one-hot labels, whose strength is chosen on validation data.
Papers: Alain & Bengio 2016 (arXiv:1610.01644) for linear probes; Hewitt & Liang 2019
(arXiv:1909.03368) for control tasks and selectivity.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Regularisation, as multiples of the mean eigenvalue of the states' covariance."""


class Probe(NamedTuple):
    """A linear map from states to scores of classes."""

    mean: Tensor  # float64 (D,), subtracted first
    weight: Tensor  # float64 (D, C)
    bias: Tensor  # float64 (C,)

    def scores(self, states: Tensor) -> Tensor:
        """Score the classes of states (n, D); gives float64 (n, C)."""
        return (states.double() - self.mean) @ self.weight + self.bias

    def hits(self, states: Tensor, labels: Tensor) -> Tensor:
        """Say which of the states (n, D) get their label int64 (n,) as the best class."""
        return self.scores(states).argmax(dim=-1) == labels


def fit_probe(train: tuple[Tensor, Tensor], validation: tuple[Tensor, Tensor]) -> Probe:
    """Fit one probe for each strength and keep the one that is best on validation data.

    Both data sets are states, float (n, D), and labels, int64 (n,) from 0 on. Of equally good
    probes the most regularised is kept.

    Raises:
        ValueError: A validation label that training does not have, other numbers of labels, no
            states, states of other widths, or ones that are not finite.
    """
    states, labels = train
    n_classes = int(labels.max()) + 1 if labels.numel() else 0
    for part in (train, validation):
        _check_part(*part, states.shape[-1:], n_classes)
    mean = states.double().mean(dim=0)
    centred = states.double() - mean
    targets = F.one_hot(labels.long(), n_classes).double()
    bias = targets.mean(dim=0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / len(centred))
    projected = vectors.T @ (centred.T @ (targets - bias) / len(centred))
    probes = []
    for strength in sorted(STRENGTHS, reverse=True):
        shrunk = projected / (values.clamp(min=0) + strength * values.mean() + 1e-12)[:, None]
        probes.append(Probe(mean, vectors @ shrunk, bias))
    return max(probes, key=lambda probe: int(probe.hits(*validation).sum()))


def _check_part(states: Tensor, labels: Tensor, width: torch.Size, n_classes: int) -> None:
    """Refuse states (n, D) and labels (n,) of which no probe can be fitted or chosen."""
    if states.dim() != 2 or not states.numel() or states.shape[1:] != width or (
        labels.shape != states.shape[:1]
    ):  # fmt: skip
        raise ValueError(
            f"expected states (n, D) with D = {[*width]} and one label for each, got shapes "
            f"{tuple(states.shape)} and {tuple(labels.shape)}"
        )
    low, high = int(labels.min()), int(labels.max())
    if labels.is_floating_point() or not 0 <= low <= high < n_classes:
        raise ValueError(f"expected one label below {n_classes} for each state, got {low}..{high}")
    if not states.isfinite().all():
        raise ValueError("expected finite states, got infinite or NaN")


def control_labels(
    types: Sequence[Sequence[str]], n_classes: int, *, generator: Generator
) -> list[Tensor]:
    """Draw one label for each type of input, wherever it occurs: int64 (n,) for each split.

    A probe can only learn such labels by heart, so its accuracy on them says how much of the
    accuracy on the real task it could owe to its memory for words. `types` lists, for each split,
    the type of each item, such as its word. Labels are uniform over 0..n_classes-1.

    Raises:
        ValueError: n_classes < 1.

    Source: Hewitt & Liang 2019 (arXiv:1909.03368), section 2. differs: uniform, not by the real
        labels' frequencies, for our tasks are balanced.
    """
    if n_classes < 1:
        raise ValueError(f"expected n_classes >= 1, got {n_classes}")
    known = sorted(set().union(*types))
    drawn = torch.randint(n_classes, (len(known),), generator=generator).tolist()
    label = dict(zip(known, drawn, strict=True))
    return [torch.tensor([label[kind] for kind in split], dtype=torch.int64) for split in types]
