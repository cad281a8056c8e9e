# SPDX-License-Identifier: MIT
"""Classify each word of a text: a backbone and one linear layer over each word's last token.

Paper: Devlin et al. 2019 (arXiv:1810.04805), section 5.3, names of persons and places by BERT; they
read a word at its first piece. At its last piece a left-to-right model has read the whole word,
too, so we take that one for all.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretrain.evaluation import eval_mode
from pretrain_lab.finetuning.sequence_classification import Passes, class_names
from pretrain_lab.pooling import pad


class Words(NamedTuple):
    """A text in tokens, and where its words end."""

    ids: Tensor  # int64 (T,), token ids
    ends: Tensor  # int64 (W,), place of the last token of each word


class WordTagger(nn.Module):
    """A backbone and one new linear layer over the state of each word's last token.

    Attributes:
        labels: Names of the C classes, which are saved and exported with the weights.
    """

    def __init__(
        self, backbone: Any, n_classes: int, *, labels: Sequence[str] | None = None
    ) -> None:
        """Put an untrained layer on a GPT, BERT or T5, which is not copied: training changes it.

        `labels` are the names of the classes; None = "0", "1", ...

        Raises:
            ValueError: Fewer than two classes, or wrong labels.
        """
        super().__init__()
        if n_classes < 2:
            raise ValueError(f"expected n_classes >= 2, got {n_classes}")
        self.backbone = backbone
        self.labels = class_names(n_classes, labels)
        self.head = nn.Linear(backbone.config.d_model, n_classes)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def head_options(self) -> dict[str, Any]:
        """Give the arguments, beside the backbone, that make such a tagger: JSON values."""
        return {"n_classes": self.head.out_features, "labels": list(self.labels)}

    def forward(self, texts: Sequence[Words], pad_id: int) -> Tensor:
        """Score the classes of all N words of some texts, one text after the other: float (N, C).

        Raises:
            ValueError: A text has no token or no word, a word ends outside its text, or a text
                is too long for the backbone.
        """
        limit = getattr(self.backbone.config, "max_len", None)  # a T5 has none
        for text in texts:
            if len(text.ends) == 0 or not 0 <= int(text.ends.min()) <= int(text.ends.max()) < len(
                text.ids
            ):
                raise ValueError(
                    f"expected words that end at 0..{len(text.ids) - 1}, got {text.ends.tolist()}"
                )
            if limit is not None and len(text.ids) > limit:
                raise ValueError(
                    f"expected at most max_len = {limit} tokens, got {len(text.ids)}: "
                    "cut the text into several, for each word needs its own state"
                )
        ids, real = pad([text.ids for text in texts], pad_id)
        states = self.backbone.encode(ids, None if real.all() else real)
        words = [row[text.ends] for row, text in zip(states, texts, strict=True)]
        logits: Tensor = self.head(torch.cat(words))
        return logits


def tagging_loss(
    texts: Sequence[Words], classes: Sequence[Sequence[int]], *, batch_size: int, pad_id: int
) -> Passes:
    """Make the objective of a tagger on tagged texts, pass after pass, for one training.

    `classes` are those of the words of each text, 0..C-1; the loss is in mean nats per word.

    Raises:
        ValueError: No texts, or another number of classes than words.
    """
    n_words, n_classes = [len(t.ends) for t in texts], [len(c) for c in classes]
    if not texts or n_words != n_classes:
        raise ValueError(
            f"expected a class for each word, got {sum(n_words)} words and {sum(n_classes)} "
            f"classes in {len(texts)} and {len(classes)} texts"
        )
    examples = [(text, list(map(int, c))) for text, c in zip(texts, classes, strict=True)]
    return Passes(examples, [len(text.ids) for text in texts], batch_size, pad_id, _word_loss)


def _word_loss(model: nn.Module, batch: list[tuple[Words, list[int]]], pad_id: int) -> Tensor:
    """Score the classes of the words of some texts."""
    logits = model([text for text, _ in batch], pad_id)
    return F.cross_entropy(logits, torch.tensor([c for _, classes in batch for c in classes]))


@torch.no_grad()
def word_log_probs(
    tagger: WordTagger, texts: Sequence[Words], *, pad_id: int, batch_size: int = 64
) -> list[Tensor]:
    """Score the classes of every word, text by text, with dropout off: float (W, C) each.

    Raises:
        ValueError: batch_size < 1, or as `WordTagger.forward`.
    """
    if batch_size < 1:
        raise ValueError(f"expected batch_size >= 1, got {batch_size}")
    order = sorted(range(len(texts)), key=lambda i: len(texts[i].ids))
    found: dict[int, Tensor] = {}
    with eval_mode(tagger):
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            scores = tagger([texts[i] for i in batch], pad_id).log_softmax(dim=-1)
            parts = scores.split([len(texts[i].ends) for i in batch])
            found.update(zip(batch, parts, strict=True))
    return [found[i] for i in range(len(texts))]


def tag_words(
    tagger: WordTagger, texts: Sequence[Words], *, pad_id: int, batch_size: int = 64
) -> list[list[int]]:
    """Choose the most probable class of every word; arguments and errors of `word_log_probs`."""
    scores = word_log_probs(tagger, texts, pad_id=pad_id, batch_size=batch_size)
    return [rows.argmax(dim=-1).tolist() for rows in scores]
