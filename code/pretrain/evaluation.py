# SPDX-License-Identifier: MIT
"""Judging a model on text that it has not seen.

Paper: Jelinek et al. 1977 for perplexity.

Implemented: losses with a minimum of context, perplexity, bits per character, masked accuracy.
Left out: single blanks (`pretrain.evaluation`), intervals (`pretrain_lab.statistics.intervals`).

One blank at a time: what BERT, and what a GPT, would write into it.

Implemented: BERT's answer from both sides; a GPT's from the left alone; and a GPT's from both
sides, by Bayes' rule over all candidates. The three are comparable, for they answer one question.
Left out: several blanks at once, whose answers depend on each other.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.objectives import IGNORE_INDEX


def bits(nats: float) -> float:
    """Convert nats to bits (of a character model: nats per character to bits per character)."""
    return nats / math.log(2)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch dropout off, and afterwards back to what it was.

    Args:
        model: Changed only inside the `with` block.
    """
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def in_parts(batch_size: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Cut tensors along their first axis, all at the same places.

    Args:
        batch_size: Rows of a part, fewer in the last one.
        tensors: Of equally many rows.

    Yields:
        One part of each tensor.

    Raises:
        ValueError: batch_size < 1, or other numbers of rows.
    """
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if batch_size < 1 or () in shapes or len({shape[0] for shape in shapes}) > 1:
        raise ValueError(
            f"expected batch_size >= 1 and as many rows in each, got {batch_size} and {shapes}"
        )
    yield from zip(*(tensor.split(batch_size) for tensor in tensors), strict=True)


def taken(logits: Tensor, answers: Tensor) -> Tensor:
    """Give the log-probability of each answer.

    Args:
        logits: float (..., V).
        answers: int64 (...), in 0..V - 1.

    Returns:
        float (...), in nats.

    Raises:
        ValueError: Shapes that do not fit, or answers that are no ids of this vocabulary.
    """
    if answers.is_floating_point() or logits.dim() < 1 or logits.shape[:-1] != answers.shape:
        raise ValueError(
            "expected logits (..., V) and answers (...) in whole numbers, got shapes "
            f"{tuple(logits.shape)} and {tuple(answers.shape)}, {answers.dtype}"
        )
    if ((answers < 0) | (answers >= logits.shape[-1])).any():
        raise ValueError(
            f"expected answers in 0..{logits.shape[-1] - 1}, got {int(answers.min())}.."
            f"{int(answers.max())}"
        )
    return logits.log_softmax(dim=-1).gather(-1, answers.long()[..., None])[..., 0]


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
        ids: int64 (L,), the text.
        seq_len: Tokens that the model reads at once, at most its `context_limit`.
        min_context: Tokens before each scored one, beyond the one that any prediction needs,
            0..seq_len - 1. With 0 the first prediction of each window has one token to go by.
        batch_size: Windows at once.

    Returns:
        float32 (n,), -log P in nats of the consecutive tokens ids[min_context + 1 :][:n].

    Raises:
        ValueError: min_context, seq_len or batch_size outside its range, a text shorter than one
            window, or ids outside the vocabulary.
    """
    limit = getattr(model, "context_limit", seq_len)
    if seq_len > limit:
        raise ValueError(f"expected seq_len <= {limit}, the longest trained text, got {seq_len}")
    if not 0 <= min_context < seq_len:
        raise ValueError(f"expected min_context in 0..{seq_len - 1}, got {min_context}")
    if ids.dim() != 1 or len(ids) < seq_len + 1:
        raise ValueError(f"expected ids (L,) with L > {seq_len}, got shape {tuple(ids.shape)}")
    windows = ids.unfold(0, seq_len + 1, seq_len - min_context)  # (n_windows, seq_len + 1)
    losses = []
    with evaluating(model):
        for (batch,) in in_parts(batch_size, windows):
            losses.append(-taken(model(batch[:, :-1]), batch[:, 1:])[:, min_context:])
    return torch.cat(losses).flatten()


def perplexity(
    model: GPT, ids: Tensor, *, seq_len: int, min_context: int = 0, batch_size: int = 64
) -> float:
    """Compute exp of the mean loss: how many equally likely tokens the model hesitates between.

    Args:
        model: A GPT; dropout is switched off meanwhile.
        ids: int64 (L,), the text.
        seq_len: Tokens that the model reads at once.
        min_context: Tokens before the first scored one in each window.
        batch_size: Windows at once.

    Returns:
        Perplexity per token, between 1 and infinity.

    Raises:
        ValueError: As `token_losses`.
    """
    losses = token_losses(
        model, ids, seq_len=seq_len, min_context=min_context, batch_size=batch_size
    )
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
        batch_size: Rows at once.

    Returns:
        Log-probabilities, float (n, V), and answers, int64 (n,), in row-major order.

    Raises:
        ValueError: The shapes differ, nothing is asked, ids outside the vocabulary, or
            batch_size < 1.
    """
    if corrupted.shape != labels.shape or corrupted.dim() != 2:
        raise ValueError(
            "expected corrupted and labels of one shape (N, T), got "
            f"{tuple(corrupted.shape)} and {tuple(labels.shape)}"
        )
    asked = labels != IGNORE_INDEX
    if not asked.any():
        raise ValueError("expected at least one label, got only IGNORE_INDEX")
    with evaluating(model):
        parts = [
            model(batch, predict=where).log_softmax(dim=-1)
            for batch, where in in_parts(batch_size, corrupted, asked)
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
    """Compute the share of selected tokens that stand among the model's k best guesses.

    Args:
        model: A BERT; dropout is switched off meanwhile.
        corrupted: int64 (N, T), what it reads.
        labels: int64 (N, T), the answer where one is asked, IGNORE_INDEX elsewhere.
        top_k: The k to report.
        batch_size: Rows at once.

    Returns:
        For each k, a share between 0 and 1.

    Raises:
        ValueError: As `masked_log_probs` and `top_k_hits`.
    """
    log_probs, answers = masked_log_probs(model, corrupted, labels, batch_size=batch_size)
    return {k: top_k_hits(log_probs, answers, k).float().mean().item() for k in top_k}


def top_k_hits(scores: Tensor, answers: Tensor, k: int) -> Tensor:
    """Say of each row whether its answer is among the k highest scores.

    Args:
        scores: float (n, V).
        answers: int64 (n,).
        k: How many guesses count, 1..V.

    Returns:
        bool (n,).

    Raises:
        ValueError: k outside 1..V, or shapes that do not fit.
    """
    if scores.dim() != 2 or answers.shape != scores.shape[:1] or answers.is_floating_point():
        raise ValueError(
            "expected scores (n, V) and whole answers (n,), got shapes "
            f"{tuple(scores.shape)} and {tuple(answers.shape)}, {answers.dtype}"
        )
    if not 1 <= k <= scores.shape[-1]:
        raise ValueError(f"expected k in 1..{scores.shape[-1]}, got {k}")
    return (scores.topk(k, dim=-1).indices == answers[:, None]).any(dim=-1)


def blank_log_probs(
    model: BERT, windows: Tensor, places: Tensor, *, mask_id: int, batch_size: int = 64
) -> Tensor:
    """Hide one token of each window and give BERT's distribution for it.

    Args:
        model: A BERT; dropout is switched off meanwhile.
        windows: int64 (N, T), clean text.
        places: int64 (N,), the position to hide in each, in 0..T-1.
        mask_id: Id of [MASK].
        batch_size: Rows at once.

    Returns:
        Log-probabilities, float (N, V).

    Raises:
        ValueError: The shapes do not fit, ids outside the vocabulary, or batch_size < 1.
    """
    _check_places(windows, places)
    if (windows < 0).any():  # under the mask, the model would not see it
        raise ValueError(f"expected windows of ids >= 0, got {int(windows.min())}")
    hidden = places[:, None] == torch.arange(windows.shape[1])  # (N, T), one True a row
    labels = windows.masked_fill(~hidden, IGNORE_INDEX)
    corrupted = windows.masked_fill(hidden, mask_id)
    return masked_log_probs(model, corrupted, labels, batch_size=batch_size)[0]


@torch.no_grad()
def left_log_probs(model: GPT, windows: Tensor, places: Tensor, *, batch_size: int = 64) -> Tensor:
    """Give a GPT's distribution for one token of each window, from what stands to its left.

    Args:
        model: A GPT; dropout is switched off meanwhile.
        windows: int64 (N, T).
        places: int64 (N,), the position to predict, in 1..T-1.
        batch_size: Rows at once.

    Returns:
        Log-probabilities, float (N, V).

    Raises:
        ValueError: The shapes do not fit, a place has nothing to its left, ids outside the
            vocabulary, or batch_size < 1.
    """
    _check_places(windows, places, first=1)
    with evaluating(model):
        parts = [
            model(batch)[torch.arange(len(batch)), place - 1].log_softmax(dim=-1)
            for batch, place in in_parts(batch_size, windows, places)
        ]
    return torch.cat(parts)


def _check_places(windows: Tensor, places: Tensor, first: int = 0) -> None:
    """Refuse windows and places that do not belong together."""
    if windows.dim() != 2 or places.shape != windows.shape[:1] or len(windows) < 1:
        raise ValueError(
            "expected windows (N, T) and places (N,), N >= 1, got "
            f"{tuple(windows.shape)} and {tuple(places.shape)}"
        )
    if places.is_floating_point():
        raise ValueError(f"expected places in whole numbers, got {places.dtype}")
    if not first <= int(places.min()) <= int(places.max()) < windows.shape[1]:
        raise ValueError(
            f"expected places in {first}..{windows.shape[1] - 1}, got "
            f"{int(places.min())}..{int(places.max())}"
        )
