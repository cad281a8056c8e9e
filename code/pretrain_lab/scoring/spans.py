# SPDX-License-Identifier: MIT
"""One question for all three models: the tokens of a span, or the one token of a blank.

Each model gives the log-probability of each token of a span, in order, given those before it: a
chain of proper distributions, so the sums are comparable code lengths. Papers: Raffel et al. 2020
(arXiv:1910.10683) for T5's sentinels; Devlin et al. 2019 (arXiv:1810.04805) for [MASK].
"""

import torch
from torch import Tensor

from pretrain.bert import BERT
from pretrain.evaluation import batches, eval_mode, gather_log_probs
from pretrain.gpt import GPT
from pretrain.t5 import T5


@torch.no_grad()
def gpt_span_log_probs(
    model: GPT, windows: Tensor, start: int, end: int, *, batch_size: int = 64
) -> Tensor:
    """Score the span start..end - 1, start >= 1, token by token from what stands to its left.

    Windows are int64 (N, T). Returns log P of each token given all before it, in nats:
    float (N, n), n = end - start.

    Raises:
        ValueError: The span is not in the window, ids not in the vocabulary, or batch_size < 1.
    """
    check_span(windows, start, end, first=1)
    parts = []
    with eval_mode(model):
        for (rows,) in batches(batch_size, windows):
            states = model.encode(rows[:, : end - 1])[:, start - 1 :]  # those that predict it
            parts.append(gather_log_probs(model.logits(states), rows[:, start:end]))
    return torch.cat(parts)


@torch.no_grad()
def bert_span_log_probs(
    model: BERT, windows: Tensor, start: int, end: int, *, mask_id: int, batch_size: int = 64
) -> Tensor:
    """Hide a span, then score and reveal its tokens one after the other.

    The masks tell BERT how long the span is. One pass per token: a token is scored before it is
    shown, and those behind it stay masked, so the product is the probability of the whole span.
    Windows are int64 (N, T). Returns log P of each token given both sides and the span so far, in
    nats: float (N, n), n = end - start.

    Raises:
        ValueError: The span is not in the window, ids not in the vocabulary, or batch_size < 1.
    """
    check_span(windows, start, end)
    parts = []
    with eval_mode(model):
        for (rows,) in batches(batch_size, windows):
            shown = rows.clone()
            shown[:, start:end] = mask_id
            scored = []
            for place in range(start, end):
                here = torch.zeros_like(rows, dtype=torch.bool)
                here[:, place] = True
                scored.append(gather_log_probs(model(shown, masked_positions=here), rows[:, place]))
                shown[:, place] = rows[:, place]
            parts.append(torch.stack(scored, dim=1))
    return torch.cat(parts)


@torch.no_grad()
def t5_span_log_probs(
    model: T5, windows: Tensor, start: int, end: int, *, sentinel_ids: tuple[int, int],
    eos_id: int | None = None, pad_id: int = 0, batch_size: int = 64,
) -> Tensor:  # fmt: skip
    """Put one sentinel in place of a span and score what the decoder should write.

    T5 is not told how long the span is. It pays for that twice: each token might have been the end
    instead, and the end itself costs something.

    Args:
        model: A T5; dropout is switched off meanwhile.
        windows: int64 (N, T); the span is start..end - 1 of them.
        sentinel_ids: The sentinel of the span, and the one that closes the output.
        eos_id: Id that closes the input; None = none.
        pad_id: What the decoder starts from.

    Returns:
        float (N, n + 1), n = end - start: log P of each token given both sides and the span so
        far, and in the last column of the closing sentinel after all of them, in nats.

    Raises:
        ValueError: The span is not in the window, ids not in the vocabulary, or batch_size < 1.
    """
    check_span(windows, start, end)
    parts = []
    with eval_mode(model):
        for (rows,) in batches(batch_size, windows):
            opening = torch.tensor([pad_id, sentinel_ids[0]]).expand(len(rows), -1)
            closing = torch.full((len(rows), 1), sentinel_ids[1])
            span = rows[:, start:end]
            logits = model(
                replace_span_by_sentinel(
                    rows, start, end, sentinel_id=sentinel_ids[0], eos_id=eos_id
                ),
                torch.cat([opening, span], dim=1),
            )
            parts.append(gather_log_probs(logits[:, 1:], torch.cat([span, closing], dim=1)))
    return torch.cat(parts)


def replace_span_by_sentinel(
    windows: Tensor, start: int, end: int, *, sentinel_id: int, eos_id: int | None = None
) -> Tensor:
    """Write what T5's encoder reads, int64 (N, S): left side, sentinel, right side, end.

    Windows are int64 (N, T). No end is written when `eos_id` is None.

    Raises:
        ValueError: The span does not lie inside the window.
    """
    check_span(windows, start, end)
    column = windows.new_ones(len(windows), 1)
    parts = [windows[:, :start], column * sentinel_id, windows[:, end:]]
    return torch.cat(parts if eos_id is None else [*parts, column * eos_id], dim=1)


@torch.no_grad()
def sentinel_log_probs(
    model: T5, windows: Tensor, place: int, *, sentinel_id: int, eos_id: int | None = None,
    pad_id: int = 0, batch_size: int = 64,
) -> Tensor:  # fmt: skip
    """Put a sentinel in place of one token and give T5's distribution for what follows it, (N, V).

    That is the first token of a span whose length T5 does not know. Windows are int64 (N, T), all
    with the same hidden place; the other arguments are those of `t5_span_log_probs`.

    Raises:
        ValueError: The place is not in the window, ids not in the vocabulary, or batch_size < 1.
    """
    hidden = replace_span_by_sentinel(
        windows, place, place + 1, sentinel_id=sentinel_id, eos_id=eos_id
    )
    opening = torch.tensor([pad_id, sentinel_id])
    with eval_mode(model):
        parts = [
            model(rows, opening.expand(len(rows), -1))[:, 1].log_softmax(dim=-1)
            for (rows,) in batches(batch_size, hidden)
        ]
    return torch.cat(parts)


def check_span(windows: Tensor, start: int, end: int, first: int = 0) -> None:
    """Raise ValueError unless windows are (N, T) and first <= start < end <= T."""
    if windows.dim() != 2 or not first <= start < end <= windows.shape[1]:
        raise ValueError(
            f"expected windows (N, T) and {first} <= start < end <= T, got shape "
            f"{tuple(windows.shape)}, {start} and {end}"
        )
