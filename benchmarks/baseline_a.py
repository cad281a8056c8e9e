# SPDX-License-Identifier: MIT
"""A published chapter's two small models, as the first benchmark's baseline.

Implemented as that chapter has it: four separate projections, softmax written out, ReLU, pre-norm,
sinusoidal positions, dropout 0.1, output matrix of its own, Adam with cosine decay and no warm-up,
64 windows of 48 characters a step, and a masked loss whose head runs on every position.
differs: Adam in torch's fused form, which only makes the baseline faster.
"""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.objectives import IGNORE_INDEX, causal_targets, corrupt_mlm, random_windows
from pretrain.positions import sinusoidal_positions
from pretrain_lab.tokenizers.characters import CharTokenizer

D_MODEL, N_HEADS, D_FF, N_LAYERS, DROPOUT = 96, 4, 256, 2, 0.1
BATCH_SIZE, SEQ_LEN, LEARNING_RATE = 64, 48, 3e-3
CAUSAL_STEPS, MASKED_STEPS = 600, 1_500


class SelfAttention(nn.Module):
    """Multi-head attention with one matrix each for queries, keys, values and output."""

    def __init__(self) -> None:
        """Make the four projections."""
        super().__init__()
        self.query = nn.Linear(D_MODEL, D_MODEL)
        self.key = nn.Linear(D_MODEL, D_MODEL)
        self.value = nn.Linear(D_MODEL, D_MODEL)
        self.output = nn.Linear(D_MODEL, D_MODEL)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Mix the positions of x, float (B, T, D); mask is bool (T, T), True = may attend."""
        query, key, value = (
            layer(x).unflatten(-1, (N_HEADS, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T, T)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        mixed = self.dropout(scores.softmax(dim=-1)) @ value
        out: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return out


class Layer(nn.Module):
    """Attention and a ReLU feed-forward layer, each normed before and added."""

    def __init__(self) -> None:
        """Make the sublayers."""
        super().__init__()
        self.attention = SelfAttention()
        self.feed_forward = nn.Sequential(
            nn.Linear(D_MODEL, D_FF), nn.ReLU(), nn.Linear(D_FF, D_MODEL)
        )
        self.attention_norm = nn.LayerNorm(D_MODEL)
        self.feed_forward_norm = nn.LayerNorm(D_MODEL)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Run both sublayers on x, float (B, T, D)."""
        x = x + self.dropout(self.attention(self.attention_norm(x), mask))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class Baseline(nn.Module):
    """Both models of the chapter: the same stack, with or without the causal mask."""

    sinusoids: Tensor

    def __init__(self, vocab_size: int, *, causal: bool) -> None:
        """Build the model for V token ids, with the causal mask or without."""
        super().__init__()
        self.causal = causal
        self.token = nn.Embedding(vocab_size, D_MODEL)
        nn.init.normal_(self.token.weight, std=0.02)
        self.register_buffer("sinusoids", sinusoidal_positions(SEQ_LEN, D_MODEL))
        self.dropout = nn.Dropout(DROPOUT)
        self.layers = nn.ModuleList(Layer() for _ in range(N_LAYERS))
        self.final_norm = nn.LayerNorm(D_MODEL)
        self.head = nn.Linear(D_MODEL, vocab_size)

    def forward(self, ids: Tensor, *, masked_positions: Tensor | None = None) -> Tensor:
        """Score the vocabulary: ids int64 (B, T) → logits, float (B, T, V) or (n, V).

        With `masked_positions`, bool (B, T), the logits of these alone are returned (they are
        computed for all). It lets the package's evaluation score this model too.
        """
        seq_len = ids.shape[1]
        mask = torch.ones(seq_len, seq_len, dtype=torch.bool).tril() if self.causal else None
        x = self.dropout(self.token(ids) * math.sqrt(D_MODEL) + self.sinusoids[:seq_len])
        for layer in self.layers:
            x = layer(x, mask)
        logits: Tensor = self.head(self.final_norm(x))
        return logits if masked_positions is None else logits[masked_positions]


def train_baseline(
    model: Baseline, ids: Tensor, tokenizer: CharTokenizer, generator: Generator
) -> Iterator[float]:
    """Train by the chapter's recipe on a text, int64 (L,), one step for each value asked for.

    Yields the loss of each step, in nats per predicted character; the model is changed in place.
    """
    n_steps = CAUSAL_STEPS if model.causal else MASKED_STEPS
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    model.train()
    for _ in range(n_steps):
        loss = (_causal_loss if model.causal else _masked_loss)(model, ids, tokenizer, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        yield loss.item()


def _causal_loss(
    model: Baseline, ids: Tensor, tokenizer: CharTokenizer, generator: Generator
) -> Tensor:
    """Draw windows and score each next character."""
    windows = random_windows(ids, BATCH_SIZE, SEQ_LEN + 1, generator=generator)
    inputs, targets = causal_targets(windows)
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def _masked_loss(
    model: Baseline, ids: Tensor, tokenizer: CharTokenizer, generator: Generator
) -> Tensor:
    """Draw windows, corrupt 15 % of them as BERT does, and score the selected characters."""
    windows = random_windows(ids, BATCH_SIZE, SEQ_LEN, generator=generator)
    corrupted, labels, _ = corrupt_mlm(
        windows,
        mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids,
        generator=generator,
    )
    logits = model(corrupted).flatten(0, 1)
    return F.cross_entropy(logits, labels.flatten(), ignore_index=IGNORE_INDEX)
