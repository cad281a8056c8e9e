# SPDX-License-Identifier: MIT
"""Classify texts: a backbone (GPT, BERT or a T5's encoder), one vector for each text, one layer.

Papers: Radford et al. 2018 (GPT-1: the last state) and Devlin et al. 2019 (arXiv:1810.04805: the
first state, through a pooler) for fine-tuning with one new layer; Reimers and Gurevych 2019
(arXiv:1908.10084) for the mean of all states.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.evaluation import eval_mode
from pretrain.gpt import GPT
from pretrain_lab.pooling import POOLINGS, pad, pool

_POOL = 8  # batches that are drawn together, to be sorted by length


class TextClassifier(nn.Module):
    """A backbone and one new linear layer over its pooled states.

    Attributes:
        labels: Names of the C classes, which are saved and exported with the weights.
    """

    def __init__(
        self,
        backbone: Any,
        n_classes: int,
        *,
        pooling: str = "mean",
        pooler: bool = False,
        truncate: bool = False,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Put an untrained layer on a GPT, BERT or T5, which is not copied: training changes it.

        Args:
            backbone: A GPT cannot be pooled by its "first" state, which has read one token only.
            n_classes: C.
            pooling: How one vector is made of a text's states, see `pool`.
            pooler: Put BERT's pooler, a dense layer and tanh, before the new layer.
            truncate: Read the start of a text that is too long for the backbone, instead of
                refusing it.
            labels: Names of the classes; None = "0", "1", ...

        Raises:
            ValueError: Fewer than two classes, a pooling that tells nothing, or wrong labels.

        Source: Radford et al. 2018 (GPT-1), section 3.2; Devlin et al. 2019, section 4.1.
        """
        super().__init__()
        if n_classes < 2 or pooling not in POOLINGS:
            raise ValueError(
                f"expected n_classes >= 2 and pooling from {POOLINGS}, got {n_classes}, {pooling!r}"
            )
        if isinstance(backbone, GPT) and pooling == "first":
            raise ValueError("expected pooling 'mean' or 'last' for a GPT, got 'first'")
        self.backbone = backbone
        self.pooling, self.truncate = pooling, truncate
        self.labels = class_names(n_classes, labels)
        d_model = backbone.config.d_model
        self.pooler = nn.Linear(d_model, d_model) if pooler else None
        self.head = nn.Linear(d_model, n_classes)
        for layer in [self.head] if self.pooler is None else [self.pooler, self.head]:
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)

    def head_options(self) -> dict[str, Any]:
        """Give the arguments, beside the backbone, that make such a classifier: JSON values."""
        return {
            "n_classes": self.head.out_features,
            "pooling": self.pooling,
            "pooler": self.pooler is not None,
            "truncate": self.truncate,
            "labels": list(self.labels),
        }

    def features(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Give one vector for each text, float (B, D).

        `ids` are int64 (B, T), padding on the right; the mask is bool (B, T), True = real token,
        None = all real.

        Raises:
            ValueError: More tokens than the backbone can read, without `truncate`.
        """
        real = torch.ones_like(ids, dtype=torch.bool) if attention_mask is None else attention_mask
        limit = getattr(self.backbone.config, "max_len", None)  # a T5 has none
        if limit is not None and ids.shape[-1] > limit:
            if not self.truncate:
                raise ValueError(
                    f"expected at most max_len = {limit} tokens, got {ids.shape[-1]}: "
                    f"TextClassifier(..., truncate=True) reads the first {limit} of a longer text"
                )
            ids, real = ids[:, :limit], real[:, :limit]
        states = self.backbone.encode(ids, None if real.all() else real)  # faster without a mask
        pooled = pool(states, real, self.pooling)
        return pooled if self.pooler is None else torch.tanh(self.pooler(pooled))

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Score the classes of each text, float (B, C); arguments and errors as in `features`."""
        logits: Tensor = self.head(self.features(ids, attention_mask))
        return logits


def class_names(n_classes: int, labels: Sequence[str] | None) -> tuple[str, ...]:
    """Check the names of the classes, or number them: "0", "1", ...

    Raises:
        ValueError: Another number of names, a name twice, or something that is no text.
    """
    names = tuple(map(str, range(n_classes))) if labels is None else tuple(labels)
    fits = len(names) == n_classes == len(set(names))
    if isinstance(labels, str) or not fits or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected a name for each of {n_classes} classes, got {labels!r}")
    return names


@torch.no_grad()
def in_batches(
    function: Callable[[Tensor, Tensor | None], Tensor],
    texts: Sequence[Tensor],
    *,
    pad_id: int,
    batch_size: int = 64,
) -> Tensor:
    """Apply a function to all texts, those of like length together, without gradients.

    The function maps ids (B, T) and mask (B, T) or None to rows (B, ...); texts are int64 (T_i,)
    each. The result is float (N, ...), in the order of the texts.

    Raises:
        ValueError: No text, an empty one, or batch_size < 1.
    """
    if not texts or batch_size < 1:
        raise ValueError(f"expected texts and batch_size >= 1, got {len(texts)} and {batch_size}")
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    parts = [
        function(*pad([texts[i] for i in order[start : start + batch_size]], pad_id))
        for start in range(0, len(order), batch_size)
    ]
    return torch.cat(parts)[torch.tensor(order).argsort()]


def text_features(
    backbone: Any,
    texts: Sequence[Tensor],
    *,
    pad_id: int,
    pooling: str = "mean",
    truncate: bool = False,
) -> Tensor:
    """Read texts, int64 (T_i,) each, with a frozen backbone: one vector for each, float (N, D).

    `truncate` reads the start of a text that is too long for the backbone.

    Raises:
        ValueError: As `TextClassifier`, or a text that is too long.
    """
    frozen = TextClassifier(backbone, 2, pooling=pooling, truncate=truncate)
    with eval_mode(frozen):
        return in_batches(frozen.features, texts, pad_id=pad_id)


def predict_classes(classifier: TextClassifier, texts: Sequence[Tensor], *, pad_id: int) -> Tensor:
    """Choose the class with the highest score for each text, int64 (T_i,): int64 (N,)."""
    with eval_mode(classifier):
        return in_batches(classifier, texts, pad_id=pad_id).argmax(dim=-1)


def length_batches(
    lengths: Sequence[int], batch_size: int, generator: Generator
) -> Iterator[list[int]]:
    """Deal out all texts once, in random order, in batches of like length: lists of their places.

    Eight batches are drawn together, sorted by length, cut, and shuffled: little padding. One batch
    at the end of a pass may be smaller.

    Raises:
        ValueError: batch_size < 1.
    """
    if batch_size < 1:
        raise ValueError(f"expected batch_size >= 1, got {batch_size}")
    order = torch.randperm(len(lengths), generator=generator).tolist()
    for start in range(0, len(order), _POOL * batch_size):
        pool = sorted(order[start : start + _POOL * batch_size], key=lambda i: lengths[i])
        starts = torch.arange(0, len(pool), batch_size)
        for first in starts[torch.randperm(len(starts), generator=generator)].tolist():
            yield pool[first : first + batch_size]


@dataclass(eq=False)
class Passes:
    """Score labelled examples in batches of like length, pass after pass, for one training.

    Called with a model and a generator, it gives the mean loss of the next batch. `SaveRun` saves
    what is left of a pass and compares the examples.

    Attributes:
        left: Batches of this pass that are still to come, as places in `examples`.
    """

    examples: Sequence[Any]  # whatever `score` reads
    lengths: Sequence[int]  # tokens of each
    batch_size: int
    pad_id: int
    score: Callable[[nn.Module, list[Any], int], Tensor]  # of model, batch and pad_id

    def __post_init__(self) -> None:
        """Begin before the first pass."""
        self.left: list[list[int]] = []

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Take the next batch and score it."""
        if not self.left:
            self.left.extend(length_batches(self.lengths, self.batch_size, generator))
        return self.score(model, [self.examples[i] for i in self.left.pop(0)], self.pad_id)


def classification_loss(
    texts: Sequence[Tensor], labels: Sequence[int], *, batch_size: int, pad_id: int
) -> Passes:
    """Make the objective of a classifier on labelled texts, pass after pass, for one training.

    Texts are int64 (T_i,), labels 0..C-1; the loss is in mean nats per text.

    Raises:
        ValueError: No texts, or another number of labels.
    """
    if not texts or len(texts) != len(labels):
        raise ValueError(f"expected as many labels, got {len(texts)} texts, {len(labels)} labels")
    examples = list(zip(texts, map(int, labels), strict=True))
    return Passes(examples, [len(text) for text in texts], batch_size, pad_id, _label_loss)


def _label_loss(model: nn.Module, batch: list[tuple[Tensor, int]], pad_id: int) -> Tensor:
    """Score the labels of some texts."""
    texts, labels = zip(*batch, strict=True)
    return F.cross_entropy(model(*pad(texts, pad_id)), torch.tensor(labels))
