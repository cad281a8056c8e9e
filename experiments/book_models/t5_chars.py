# SPDX-License-Identifier: MIT
"""What is special to the T5 on characters of the applets; `character_models` trains it.

A reader of the applets chooses the gaps, one letter or four words. So the training hides by
`geometric_noise`: a text may have one gap or nine, of any length.

The windows differ in length too. With windows of one length, input and target together always have
as many characters, and the model learns to end the last gap by counting: on 64 characters it knew
the end for 0.03 bits, on 62 it paid 5.8.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.objectives import (
    IGNORE_INDEX,
    Batch,
    random_windows,
    seq2seq_loss_sum,
)
from pretrain.span_corruption import SpanCorrupted, SpanCorruption, corrupt_with_noise_mask
from pretrain.t5 import T5
from pretrain_lab.tokenizers.characters import MASK, PAD, CharTokenizer


def geometric_noise(
    batch_size: int,
    seq_len: int,
    *,
    generator: Generator,
    noise_shares: tuple[float, float] = (0.03, 0.3),
    mean_span_len: float = 3.0,
    max_spans: int = 99,
) -> Tensor:
    """Choose spans of any length, token by token, bool (B, T), True = cut out.

    A token is cut out with a probability that depends only on whether the one before it was: so the
    lengths of the spans, and those of the runs between them, are geometric. The first token always
    stays, and each row has a span.

    Args:
        batch_size: Number of sequences B.
        seq_len: Length T of each, in tokens, at least 2.
        noise_shares: Least and greatest expected share of tokens that is cut out; each sequence
            draws its own between them.
        mean_span_len: Mean length of a span, in tokens, if none met the end of the text.
        max_spans: Spans after these are left out.

    Raises:
        ValueError: A shorter text, shares outside (0, 1) or in the wrong order, a mean length or a
            number of spans below 1, a share too large for the mean length, or batch_size < 0.
    """
    if batch_size < 0:
        raise ValueError(f"expected batch_size >= 0, got {batch_size}")
    low, high = noise_shares
    if seq_len < 2 or not 0 < low <= high < 1 or not mean_span_len >= 1 or max_spans < 1:
        raise ValueError(
            "expected seq_len >= 2, 0 < noise_shares in order < 1, mean_span_len >= 1 and "
            f"max_spans >= 1, got {seq_len}, {noise_shares}, {mean_span_len} and {max_spans}"
        )
    if high > mean_span_len / (1 + mean_span_len):
        raise ValueError(
            f"expected a share of at most {mean_span_len / (1 + mean_span_len):.3f}, or there "
            f"would be no room between the spans, got {high}"
        )
    share = low + (high - low) * torch.rand(batch_size, 1, generator=generator)
    start = share / (1 - share) / mean_span_len  # chance after a kept token
    go_on = 1 - 1 / mean_span_len  # chance after one that was cut out
    draws = torch.rand(batch_size, seq_len, generator=generator)
    noise = torch.zeros(batch_size, seq_len, dtype=torch.bool)
    for t in range(1, seq_len):
        noise[:, t] = draws[:, t] < torch.where(noise[:, t - 1], go_on, start[:, 0])
    place = torch.randint(1, seq_len, (batch_size,), generator=generator)
    empty = ~noise.any(dim=1)
    noise[empty, place[empty]] = True
    starts = noise & ~F.pad(noise, (1, 0))[:, :-1]
    return noise & (starts.cumsum(dim=1) <= max_spans)


N_SENTINELS = 10
EOS = "</s>"
SPECIALS = [PAD, MASK, EOS, *(f"<extra_id_{n}>" for n in reversed(range(N_SENTINELS)))]
NOISE: dict[str, Any] = {
    "noise_shares": (0.05, 0.4),
    "mean_span_len": 3.0,
    "max_spans": N_SENTINELS - 1,
}


@torch.no_grad()
def match_sentinels(model: T5) -> None:
    """Initialise a new T5's cross-attention, in place, so that queries look for equal keys.

    Drawn independently, queries and keys agree in nothing, and the decoder needs thousands of steps
    to find its sentinel in the input. With the query matrix a multiple of the key matrix, a token
    scores highest with itself from the start. Both matrices are then free; the size of the queries
    stays that of T5's draw.
    """
    d_head = model.config.d_head or model.config.d_model // model.config.n_heads
    for name, layer in model.decoder.named_modules():
        if name.endswith("cross_attention"):
            layer.query.weight.copy_(layer.key.weight * d_head**-0.5)


def hide(windows: Tensor, tokenizer: CharTokenizer, generator: Generator) -> SpanCorrupted:
    """Cut random gaps out of windows, int64 (B, T)."""
    noise = geometric_noise(*windows.shape, generator=generator, **NOISE)
    return corrupt_with_noise_mask(
        windows,
        noise,
        SpanCorruption(
            first_sentinel_id=tokenizer.ids["<extra_id_0>"],
            n_sentinels=N_SENTINELS,
            eos_id=tokenizer.ids[EOS],
            pad_id=tokenizer.pad_id,
        ),
    )


def loss_of(model: nn.Module, hidden: SpanCorrupted) -> Tensor:
    """Score the targets, in nats per token, sentinels and end included."""
    labels = hidden.targets.masked_fill(~hidden.target_mask, IGNORE_INDEX)
    total = seq2seq_loss_sum(model, Batch(hidden.inputs, labels, hidden.input_mask))
    return total / hidden.target_mask.sum()


@dataclass(frozen=True, eq=False)
class RandomGaps:
    """The loss on random windows of a text, with new gaps at each visit."""

    ids: Tensor  # int64 (L,), the text
    tokenizer: CharTokenizer  # with the specials of this module
    seq_len: int  # of the longest windows; each batch has a length of its own, from a quarter on
    batch_size: int

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows, cut gaps into them and score what was cut out."""
        shortest = self.seq_len // 4
        length = int(torch.randint(shortest, self.seq_len + 1, (), generator=generator))
        windows = random_windows(self.ids, self.batch_size, length, generator=generator)
        return loss_of(model, hide(windows, self.tokenizer, generator))


def evaluate_t5_chars(model: nn.Module, *, windows: Tensor, tokenizer: CharTokenizer) -> float:
    """Score one fixed choice of gaps in windows, int64 (N, T), in nats per token of the target.

    As in training, the windows are cut to different lengths, by the hundred.
    """
    generator = Generator().manual_seed(0)
    total, n_tokens = 0.0, 0
    for n_cut, rows in enumerate(windows.split(100)):
        length = windows.shape[1] // (1 + n_cut % 4)
        hidden = hide(rows[:, :length], tokenizer, generator)
        n = int(hidden.target_mask.sum())
        total += loss_of(model, hidden).item() * n
        n_tokens += n
    return total / n_tokens
