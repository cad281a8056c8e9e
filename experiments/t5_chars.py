# SPDX-License-Identifier: MIT
"""What is special to the T5 on characters of the applets; `train_book_models` trains it.

A reader of the applets chooses the gaps, one letter or four words. So the training hides by
`geometric_noise`: a text may have one gap or nine, of any length.

The windows differ in length too. With windows of one length, input and target together always have
as many characters, and the model learns to end the last gap by counting: on 64 characters it knew
the end for 0.03 bits, on 62 it paid 5.8.
"""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from pretrain.objectives import IGNORE_INDEX, BatchLoss, note_settings, random_windows
from pretrain.seq2seq import seq2seq_loss
from pretrain.span_noise import geometric_noise
from pretrain.spans import SpanCorrupted, cut_out
from pretrain.t5 import T5
from pretrain.tokenization import MASK, PAD, CharTokenizer

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
    """Let the cross-attention start with queries that look for what equals them.

    Drawn independently, queries and keys agree in nothing, and the decoder needs thousands of
    steps to find its sentinel in the input. With the query matrix a multiple of the key matrix,
    a token scores highest with itself from the start. Both matrices are then free.

    Args:
        model: Just drawn; changed in place. The size of the queries stays that of T5's draw.
    """
    d_head = model.options["d_head"] or model.options["d_model"] // model.options["n_heads"]
    for name, layer in model.decoder.named_modules():
        if name.endswith("cross_attention"):
            layer.query.weight.copy_(layer.key.weight * d_head**-0.5)


def hide(windows: Tensor, tokenizer: CharTokenizer, generator: Generator) -> SpanCorrupted:
    """Cut random gaps out of windows, int64 (B, T)."""
    noise = geometric_noise(*windows.shape, generator=generator, **NOISE)
    return cut_out(
        windows,
        noise,
        first_sentinel_id=tokenizer.ids["<extra_id_0>"],
        n_sentinels=N_SENTINELS,
        eos_id=tokenizer.ids[EOS],
        pad_id=tokenizer.pad_id,
    )


def loss_of(model: nn.Module, hidden: SpanCorrupted) -> Tensor:
    """Score the targets, in nats per token, sentinels and end included."""
    labels = hidden.targets.masked_fill(~hidden.target_mask, IGNORE_INDEX)
    return seq2seq_loss(model, hidden.inputs, labels, hidden.input_mask)


def span_loss(ids: Tensor, tokenizer: CharTokenizer, seq_len: int, batch_size: int) -> BatchLoss:
    """Make the loss on random windows of a text, with new gaps at each visit.

    Args:
        ids: int64 (L,), the text.
        tokenizer: With the specials of this module.
        seq_len: Characters in the longest windows; each batch has a length of its own, from a
            quarter of that on.
        batch_size: Windows in a batch.
    """

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows, cut gaps into them and score what was cut out."""
        length = int(torch.randint(seq_len // 4, seq_len + 1, (), generator=generator))
        windows = random_windows(ids, batch_size, length, generator=generator)
        return loss_of(model, hide(windows, tokenizer, generator))

    return note_settings(
        loss, ids, kind="geometric spans", batch_size=batch_size, seq_len=seq_len,
        **{**NOISE, "noise_shares": list(NOISE["noise_shares"])},
    )  # fmt: skip


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
