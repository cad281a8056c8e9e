# SPDX-License-Identifier: MIT
"""Keys of the quiz of chapter 6."""

import torch
from torch import Generator, Tensor

from pretrain.spans import SpanCorrupted, apply_spans, corrupt_spans
from pretrain.t5 import T5, shift_right

HOLES = {"first_sentinel_id": 199, "n_sentinels": 64}


def _cut_hundred() -> SpanCorrupted:
    """Corrupt 100 tokens with the defaults, a final sentinel and an end."""
    ids = torch.arange(10, 110)
    return corrupt_spans(ids, generator=Generator().manual_seed(0), eos_id=5, **HOLES)


def _small_t5() -> T5:
    """Make a T5 with random weights."""
    torch.manual_seed(0)
    return T5(200, d_model=16, n_layers=2, n_heads=2).eval()


def _n_special(ids: Tensor) -> int:
    """Count sentinels and ends."""
    return int(((ids > 199 - 64) | (ids == 5)).sum())


def quiz_t5_lengths() -> str:
    """Count the tokens of input and target."""
    cut = _cut_hundred()
    return f"{cut.inputs.numel()} and {cut.targets.numel()}"


def quiz_t5_sentinels() -> str:
    """Cut spans of 1, 4 and 2 tokens, and count the sentinels in the input."""
    cut = apply_spans(torch.arange(10, 30), [(2, 3), (5, 9), (12, 14)], **HOLES)
    return f"{_n_special(cut.inputs)}"


def quiz_t5_start() -> str:
    """Shift labels as for T5's decoder, and read the first id."""
    return f"Id {int(shift_right(torch.tensor([199, 42, 198, 5]))[0])}"


def quiz_t5_shift() -> str:
    """Change the label at place 2 of six, and list the rows of logits that move."""
    cut = apply_spans(torch.arange(10, 20), [(2, 4), (8, 9)], **HOLES)
    labels, model = cut.targets[None], _small_t5()
    other = labels.clone()
    other[0, 2] = 42
    with torch.no_grad():
        one, two = (model(cut.inputs[None], shift_right(row))[0] for row in (labels, other))
    rows = ((one - two).abs().amax(dim=-1) > 1e-6).nonzero().flatten().tolist()
    return f"Rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"


def quiz_t5_mean() -> str:
    """Spread the whole sum of 22 tokens over those that are text."""
    targets = _cut_hundred().targets
    n_text = targets.numel() - _n_special(targets)
    return f"{3.5 * targets.numel() / n_text:.1f} nats"


def quiz_t5_set() -> str:
    """Shuffle the encoder's states, and compare the logits of the decoder."""
    model = _small_t5()
    ids, decoder_ids = torch.arange(10, 18)[None], torch.tensor([[0, 30, 31, 32]])
    with torch.no_grad():
        states = model.encode(ids)
        logits = model.decode(decoder_ids, states)
        shuffled = model.decode(decoder_ids, states.flip(1))
    return " ".join(["They", "stay" if torch.allclose(logits, shuffled, atol=1e-5) else "become"])
