# SPDX-License-Identifier: MIT
"""Judging a model on text that it has not seen.

First the losses of a text (perplexity: Jelinek et al. 1977), then what is asked at masked
positions, and last one gap at a time (cloze tests: Taylor 1953): what BERT, from both sides, and a
GPT, from the left, would write into it. Left out: several gaps at once; intervals.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.objectives import IGNORE_INDEX


def nats_to_bits(nats: float) -> float:
    """Convert nats to bits (of a character model: nats per character to bits per character)."""
    return nats / math.log(2)


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Switch dropout off inside the `with` block, and afterwards back to what it was."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def batches(batch_size: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Cut tensors of equally many rows along their first axis, all at the same places."""
    if batch_size < 1 or len({len(tensor) for tensor in tensors}) > 1:
        lens = [len(tensor) for tensor in tensors]
        raise ValueError(f"expected batch_size >= 1 and equal rows, got {batch_size} and {lens}")
    yield from zip(*(tensor.split(batch_size) for tensor in tensors), strict=True)


def gather_log_probs(logits: Tensor, answers: Tensor) -> Tensor:
    """Give the log-probability of each answer, in nats.

    Args:
        logits: float (..., V).
        answers: int64 (...), in 0..V - 1.

    Returns:
        float (...).
    """
    if logits.shape[:-1] != answers.shape:  # gather would take the first rows in silence
        raise ValueError(
            "expected logits (..., V) and answers (...), got shapes "
            f"{tuple(logits.shape)} and {tuple(answers.shape)}"
        )
    return logits.log_softmax(dim=-1).gather(-1, answers[..., None])[..., 0]


@torch.no_grad()
def token_losses(
    model: GPT, ids: Tensor, *, seq_len: int, min_context: int = 0, batch_size: int = 64
) -> Tensor:
    """Score each token of a text once, given up to seq_len tokens before it.

    Windows of seq_len + 1 tokens overlap by min_context + 1, and only tokens with more than
    min_context tokens before them in their window are scored. The first min_context + 1 tokens
    of the text are not scored, nor are those after the last full window.

    Args:
        model: A GPT; dropout is switched off meanwhile.
        ids: int64 (L,), the text, L > seq_len.
        min_context: Tokens before each scored one, beyond the one that any prediction needs,
            0..seq_len - 1. With 0 the first prediction of each window has one token to go by.

    Returns:
        float32 (n,), -log P in nats of the consecutive tokens ids[min_context + 1 :][:n].
    """
    if not 0 <= min_context < seq_len:
        raise ValueError(f"expected min_context in 0..{seq_len - 1}, got {min_context}")
    if ids.dim() != 1 or len(ids) < seq_len + 1:
        raise ValueError(f"expected ids (L,) with L > {seq_len}, got shape {tuple(ids.shape)}")
    windows = ids.unfold(0, seq_len + 1, seq_len - min_context)  # (n_windows, seq_len + 1)
    losses = []
    with eval_mode(model):
        for (batch,) in batches(batch_size, windows):
            losses.append(-gather_log_probs(model(batch[:, :-1]), batch[:, 1:])[:, min_context:])
    return torch.cat(losses).flatten()


def perplexity(model: GPT, ids: Tensor, *, seq_len: int, **options: int) -> float:
    """Say between how many equally likely tokens the model hesitates: exp of the mean loss.

    Takes what `token_losses` takes.
    """
    losses = token_losses(model, ids, seq_len=seq_len, **options)
    return math.exp(losses.double().mean().item())


@torch.no_grad()
def masked_log_probs(
    model: BERT, corrupted: Tensor, labels: Tensor, *, batch_size: int = 64
) -> tuple[Tensor, Tensor]:
    """Give the model's distribution at every selected position.

    Args:
        model: A BERT; dropout is switched off meanwhile.
        corrupted: int64 (N, T), what it reads.
        labels: int64 (N, T), the answer where one is asked, IGNORE_INDEX elsewhere.

    Returns:
        Log-probabilities, float (n, V), and answers, int64 (n,), in row-major order.
    """
    if corrupted.shape != labels.shape or corrupted.dim() != 2:
        raise ValueError(
            "expected corrupted and labels of one shape (N, T), got "
            f"{tuple(corrupted.shape)} and {tuple(labels.shape)}"
        )
    asked = labels != IGNORE_INDEX
    if not asked.any():
        raise ValueError("expected at least one label, got only IGNORE_INDEX")
    with eval_mode(model):
        parts = [
            model(batch, masked_positions=where).log_softmax(dim=-1)
            for batch, where in batches(batch_size, corrupted, asked)
            if where.any()
        ]
    return torch.cat(parts), labels[asked]


def masked_accuracy(
    model: BERT,
    corrupted: Tensor,
    labels: Tensor,
    *,
    top_k: Sequence[int] = (1, 5),
    batch_size: int = 64,
) -> dict[int, float]:
    """Compute the share of selected tokens that are among the model's k best guesses.

    Takes what `masked_log_probs` takes; returns a share between 0 and 1 for each k of top_k.
    """
    log_probs, answers = masked_log_probs(model, corrupted, labels, batch_size=batch_size)
    return {k: top_k_hits(log_probs, answers, k).float().mean().item() for k in top_k}


def top_k_hits(scores: Tensor, answers: Tensor, k: int) -> Tensor:
    """Say of each row whether its answer is among the k highest scores.

    Args:
        scores: float (n, V).
        answers: int64 (n,); the result is bool (n,).
        k: How many guesses count, 1..V.
    """
    if scores.dim() != 2 or answers.shape != scores.shape[:1]:  # == would broadcast in silence
        raise ValueError(
            "expected scores (n, V) and answers (n,), got shapes "
            f"{tuple(scores.shape)} and {tuple(answers.shape)}"
        )
    return (scores.topk(k, dim=-1).indices == answers[:, None]).any(dim=-1)


def cloze_log_probs(
    model: BERT, windows: Tensor, places: Tensor, *, mask_id: int, batch_size: int = 64
) -> Tensor:
    """Hide one token of each window and give BERT's distribution for it.

    Args:
        model: A BERT; dropout is switched off meanwhile.
        windows: int64 (N, T), clean text.
        places: int64 (N,), the position to hide in each, in 0..T-1.
        mask_id: Id of [MASK].

    Returns:
        Log-probabilities, float (N, V).
    """
    _check_places(windows, places)
    hidden = places[:, None] == torch.arange(windows.shape[1])  # (N, T), one True a row
    labels = windows.masked_fill(~hidden, IGNORE_INDEX)
    corrupted = windows.masked_fill(hidden, mask_id)
    return masked_log_probs(model, corrupted, labels, batch_size=batch_size)[0]


@torch.no_grad()
def left_log_probs(model: GPT, windows: Tensor, places: Tensor, *, batch_size: int = 64) -> Tensor:
    """Give a GPT's distribution for one token of each window, from what stands to its left.

    Takes what `cloze_log_probs` takes, with places in 1..T-1; returns float (N, V).
    """
    _check_places(windows, places, first=1)
    with eval_mode(model):
        parts = [
            model(batch)[torch.arange(len(batch)), place - 1].log_softmax(dim=-1)
            for batch, place in batches(batch_size, windows, places)
        ]
    return torch.cat(parts)


def _check_places(windows: Tensor, places: Tensor, first: int = 0) -> None:
    """Refuse windows and places that do not belong together."""
    if windows.dim() != 2 or places.shape != windows.shape[:1] or len(windows) < 1:
        raise ValueError(
            "expected windows (N, T) and places (N,), N >= 1, got "
            f"{tuple(windows.shape)} and {tuple(places.shape)}"
        )
    if not first <= int(places.min()) <= int(places.max()) < windows.shape[1]:
        raise ValueError(
            f"expected places in {first}..{windows.shape[1] - 1}, got "
            f"{int(places.min())}..{int(places.max())}"
        )
