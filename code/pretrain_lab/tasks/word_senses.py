# SPDX-License-Identifier: MIT
"""Sentences whose words have two senses, and whether equal senses lie together in a space.

Paper: Ethayarajh 2019 (arXiv:1909.00512) for the question how contextual a vector is.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from pretrain_lab.paths import data_file


class SenseSentence(NamedTuple):
    """One sentence and the sense that its word has there."""

    text: str
    word: str
    sense: str
    clue: str  # where the words that tell the sense stand: "left" or "right" of it

    @property
    def place(self) -> int:
        """Index of the word among the words of the sentence (parted by blanks)."""
        words = [w.strip(".,").lower() for w in self.text.split()]
        return words.index(self.word)


@cache
def load_senses() -> tuple[SenseSentence, ...]:
    """Read data/senses.toml, word by word and sense by sense, clues on the left first."""
    entries = tomllib.loads(data_file("senses.toml").read_text(encoding="utf-8"))["sense"]
    return tuple(
        SenseSentence(text, entry["word"], entry["sense"], clue)
        for entry in entries
        for clue in ("left", "right")
        for text in entry[clue]
    )


def cosines(vectors: Tensor) -> Tensor:
    """Compute the cosine of every pair of vectors, (n, D): float64 (n, n), 0 with a zero vector.

    Raises:
        ValueError: vectors is not (n, D).
    """
    if vectors.dim() != 2:
        raise ValueError(f"expected vectors (n, D), got shape {tuple(vectors.shape)}")
    unit = torch.nn.functional.normalize(vectors.double(), dim=-1, eps=1e-150)
    return unit @ unit.T


def mean_cosine(vectors: Tensor) -> float:
    """Average the cosine of all pairs of different vectors, (n, D): near 1, they share a direction.

    Raises:
        ValueError: Fewer than two vectors, or vectors is not (n, D).
    """
    n = len(vectors) if vectors.dim() else 0
    if n < 2:
        raise ValueError(f"expected at least two vectors, got {n}")
    every = cosines(vectors)
    mean = float((every.sum() - every.trace()) / (n * (n - 1)))
    return max(-1.0, min(mean, 1.0))  # rounding may lead just past the ends


def neighbour_hits(vectors: Tensor, labels: Sequence[str], groups: Sequence[str]) -> Tensor:
    """Ask of every vector whether its nearest other one in the group has the same label.

    Near is the largest cosine. Of equally near ones (within 1e-9) each counts its share, so vectors
    that are all alike give the share of equal labels among the others, which is chance. Vectors are
    float (n, D). Returns float64 (n,): 1 = yes, 0 = no, between them for ties.

    Raises:
        ValueError: No vectors, other numbers of labels or groups, or a group of one.
    """
    if vectors.dim() != 2 or not 1 <= len(vectors) == len(labels) == len(groups):
        raise ValueError(
            "expected vectors (n, D) and as many labels and groups, got shape "
            f"{tuple(vectors.shape)}, {len(labels)} and {len(groups)}"
        )
    together = torch.tensor([[a == b for b in groups] for a in groups])
    together.fill_diagonal_(False)
    if not together.any(dim=1).all():
        raise ValueError("expected at least two vectors in every group")
    alike = torch.tensor([[a == b for b in labels] for a in labels])
    near = cosines(vectors).masked_fill(~together, -2.0)
    nearest = near >= near.amax(dim=1, keepdim=True) - 1e-9
    return (nearest & alike).sum(dim=1).double() / nearest.sum(dim=1)
