# SPDX-License-Identifier: MIT
"""BERT's second objective: does the second segment follow the first?

Papers: Devlin et al. 2019 (arXiv:1810.04805), section 3.1 and appendix A.2; Lan et al. 2020
(ALBERT, arXiv:1909.11942), section 3.1, which asks for the order of two neighbours instead.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.bert import BERT
from pretrain.objectives import IGNORE_INDEX, Objective, corrupt_mlm
from pretrain_lab.tasks.sentence_pairs import (
    Pairs,
    Segments,
    next_sentence_pairs,
    sentence_order_pairs,
    true_pairs,
)
from pretrain_lab.tokenizers.segments import Packed, pack_ids
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

PAIRINGS: dict[str, Callable[..., Pairs]] = {
    "none": true_pairs,
    "next": next_sentence_pairs,
    "order": sentence_order_pairs,
}
"""What a pair is asked: nothing, whether B follows A, whether the two are in their order."""


class NextSentenceBERT(nn.Module):
    """A BERT with a pooler and a classifier of pairs, beside its masked-LM head."""

    def __init__(self, bert: BERT, *, n_classes: int = 2) -> None:
        """Put the two layers on a BERT with n_segments >= 2, which is trained with them.

        Raises:
            ValueError: A BERT that cannot tell two segments apart.

        Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1, and its released code: the
            pooler is a dense layer with tanh on the state at [CLS].
        """
        super().__init__()
        if bert.config.n_segments < 2:
            raise ValueError(f"expected a BERT with n_segments >= 2, got {bert.config.n_segments}")
        self.config = bert.config
        self.bert = bert
        self.pooler = nn.Linear(bert.config.d_model, bert.config.d_model)
        self.classifier = nn.Linear(bert.config.d_model, n_classes)
        for layer in (self.pooler, self.classifier):
            nn.init.normal_(layer.weight, std=bert.config.init_std)
            nn.init.zeros_(layer.bias)

    @property
    def backbone(self) -> BERT:
        """The BERT, by the name that it has in the other heads."""
        return self.bert

    def head_options(self) -> dict[str, Any]:
        """Give the arguments, beside the BERT, that make such a model: JSON values."""
        return {"n_classes": self.classifier.out_features}

    def pool(self, states: Tensor) -> Tensor:
        """Reduce hidden states (B, T, D) to one vector for each row, (B, D)."""
        return torch.tanh(self.pooler(states[:, 0]))

    def forward(
        self, batch: Packed, *, masked_positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Score the tokens and the pair of every row, which starts with [CLS], in one encoder pass.

        Tokens are scored at the n True `masked_positions`, bool (B, T); None = all. Returns logits
        of tokens, float (n, V) or (B, T, V), and of classes, float (B, 2). ValueError: as
        `BERT.encode`.
        """
        states = self.bert.encode(batch.ids, batch.attention_mask, batch.segment_ids)
        logits = self.bert.logits(states if masked_positions is None else states[masked_positions])
        return logits, self.classifier(self.pool(states))


def pack_segments(segments: Segments, pairs: Pairs, tokenizer: SubwordTokenizer) -> Packed:
    """Lay out drawn pairs for BERT."""
    texts = zip(segments.tokens(pairs.first), segments.tokens(pairs.second), strict=True)
    roles = {name: getattr(tokenizer, name) for name in ("cls_id", "sep_id", "pad_id")}
    return pack_ids(list(texts), **roles)


def next_sentence_loss(
    segments: Segments,
    tokenizer: SubwordTokenizer,
    *,
    batch_size: int,
    pairing: str = "next",
    **masking: Any,
) -> Objective:
    """Make the objective of two mean losses: nats per selected token plus nats per pair.

    `pairing` is "next" (BERT), "order" (ALBERT), or "none": true neighbours, masked tokens only.
    `masking` are the three probabilities of `corrupt_mlm`.

    Raises:
        ValueError: Another pairing.

    Source: Devlin et al. 2019 (arXiv:1810.04805), appendix A.2.
    """
    if pairing not in PAIRINGS:
        raise ValueError(f"expected a pairing from {sorted(PAIRINGS)}, got {pairing!r}")
    special: dict[str, Any] = {
        "mask_id": tokenizer.mask_id,
        "vocab_size": tokenizer.vocab_size,
        "special_ids": tokenizer.special_ids,
    }

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw pairs, corrupt them, and score tokens and pairs."""
        pairs = PAIRINGS[pairing](segments, batch_size, generator=generator)
        batch = pack_segments(segments, pairs, tokenizer)
        read, labels, _ = corrupt_mlm(batch.ids, generator=generator, **special, **masking)
        selected = labels != IGNORE_INDEX
        logits, classes = model(batch._replace(ids=read), masked_positions=selected)
        total = F.cross_entropy(logits, labels[selected], reduction="sum")
        masked = total / max(int(selected.sum()), 1)  # a batch may select nothing
        return masked if pairing == "none" else masked + F.cross_entropy(classes, pairs.labels)

    return loss
