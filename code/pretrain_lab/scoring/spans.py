# SPDX-License-Identifier: MIT
"""One question for all three models: the tokens of a span, or the one token of a blank.

Papers: Raffel et al. 2020 (arXiv:1910.10683) for T5's sentinels; Devlin et al. 2019
(arXiv:1810.04805) for [MASK].

Implemented: the log-probability of each token of a span, in order, given those before it in the
span: a GPT reads the left side, a BERT both sides with masks in place of what is still hidden, a
T5 both sides with one sentinel for all of it. Each is a chain of proper distributions, so the sums
are comparable code lengths. Left out: several spans at once; what a model does not read by itself
(`pretrain_lab.scoring.bayes_rescoring`).
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
    """Score a span token by token from what stands to its left.

    Args:
        model: A GPT; dropout is switched off meanwhile.
        windows: int64 (N, T).
        start: First place of the span, in 1..T-1.
        end: Place after the last one.
        batch_size: Rows at once.

    Returns:
        float (N, n), n = end - start: log P of each token given all before it, in nats.

    Raises:
        ValueError: The span does not lie inside the window, ids outside the vocabulary, or
            batch_size < 1.
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

    Args:
        model: A BERT; dropout is switched off meanwhile.
        windows: int64 (N, T).
        start: First place of the span.
        end: Place after the last one.
        mask_id: Id of [MASK].
        batch_size: Rows at once.

    Returns:
        float (N, n), n = end - start: log P of each token given both sides and the span so far.

    Raises:
        ValueError: The span does not lie inside the window, ids outside the vocabulary, or
            batch_size < 1.
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

    T5 is not told how long the span is. It pays for that twice: each token might have been the
    end instead, and the end itself costs something.

    Args:
        model: A T5; dropout is switched off meanwhile.
        windows: int64 (N, T).
        start: First place of the span.
        end: Place after the last one.
        sentinel_ids: The sentinel of the span, and the one that closes the output.
        eos_id: Id that closes the input; None = none.
        pad_id: What the decoder starts from.
        batch_size: Rows at once.

    Returns:
        float (N, n + 1), n = end - start: log P of each token given both sides and the span so
        far, and in the last column of the closing sentinel after all of them.

    Raises:
        ValueError: The span does not lie inside the window, ids outside the vocabulary, or
            batch_size < 1.
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
    """Write what T5's encoder reads when one span is missing.

    Args:
        windows: int64 (N, T).
        start: First place of the span.
        end: Place after the last one.
        sentinel_id: Stands in its place.
        eos_id: Closes the input; None = nothing does.

    Returns:
        int64 (N, S): left side, sentinel, right side, end.

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
    """Put a sentinel in place of one token and give T5's distribution for what follows it.

    That is the first token of a span whose length T5 does not know.

    Args:
        model: A T5; dropout is switched off meanwhile.
        windows: int64 (N, T).
        place: The hidden place, the same in each window.
        sentinel_id: The sentinel.
        eos_id: Id that closes the input; None = none.
        pad_id: What the decoder starts from.
        batch_size: Rows at once.

    Returns:
        Log-probabilities, float (N, V).

    Raises:
        ValueError: The place does not lie inside the window, ids outside the vocabulary, or
            batch_size < 1.
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
    """Refuse a span that is empty or leaves the window.

    Args:
        windows: Must be (N, T).
        start: First place of the span.
        end: Place after the last one.
        first: Smallest start allowed.

    Raises:
        ValueError: It does, or windows has another shape.
    """
    if windows.dim() != 2 or not first <= start < end <= windows.shape[1]:
        raise ValueError(
            f"expected windows (N, T) and {first} <= start < end <= T, got shape "
            f"{tuple(windows.shape)}, {start} and {end}"
        )
