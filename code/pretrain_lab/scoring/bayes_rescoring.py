# SPDX-License-Identifier: MIT
"""Bayes' rule on a shortlist: a model's first guess for a blank, and what it overlooked.

A GPT does not see what stands to the right of a blank, and a T5 does not see how long it is. Both
can say how likely the one or the other is once a candidate is filled in, at the price of a pass per
candidate. Paper: Shannon 1948 for why any normalised distribution is a code.
"""

import torch
from torch import Tensor

from pretrain.attention import KVCache
from pretrain.evaluation import _check_places, eval_mode, gather_log_probs
from pretrain.gpt import GPT
from pretrain.t5 import T5
from pretrain_lab.scoring.spans import check_span, replace_span_by_sentinel


@torch.no_grad()
def rescored_log_probs(
    model: GPT, windows: Tensor, places: Tensor, *, candidates: Tensor, n_right: int | None = None
) -> Tensor:
    """Give a GPT's distribution for a blank from both sides, by Bayes' rule.

    Every candidate is put into the blank, and the whole window scored: P(v | left, right) is
    proportional to P(v | left) P(right | left, v). This costs one pass per candidate.

    Args:
        model: A GPT; dropout is switched off meanwhile.
        windows: int64 (N, T).
        places: int64 (N,), the blank of each, in 1..T-1.
        candidates: int64 (C,), the ids that may fill a blank.
        n_right: How many tokens to the right count; None = all.

    Returns:
        Log-probabilities over the candidates, float (N, C), each row normalised.

    Raises:
        ValueError: Shapes or ids do not fit, a place has nothing to its left, or n_right < 0.
    """
    _check_places(windows, places, first=1)
    if n_right is not None and n_right < 0:
        raise ValueError(f"expected n_right >= 0 or None, got {n_right}")
    if candidates.dim() != 1 or len(candidates) < 1:
        raise ValueError(f"expected candidates (C,), C >= 1, got shape {tuple(candidates.shape)}")
    rows = []
    with eval_mode(model):
        for window, place in zip(windows, places.tolist(), strict=True):
            end = None if n_right is None else place + n_right + 1
            filled = window[:end].repeat(len(candidates), 1)
            filled[:, place] = candidates
            scores = gather_log_probs(model(filled[:, :-1]), filled[:, 1:])  # (C, T - 1)
            rows.append(scores[:, place - 1 :].sum(dim=1))  # the blank and what follows it
    return torch.stack(rows).log_softmax(dim=-1)


@torch.no_grad()
def right_log_likelihoods(
    model: GPT, windows: Tensor, place: int, candidates: Tensor, *, n_right: int | None = None
) -> Tensor:
    """Say how well candidates for a blank explain what stands to its right: log P(right | left, v).

    Windows are int64 (N, T), with the blank at the same place in each; candidates are int64 (N, C).
    `n_right` tokens to the right count, None = all. Returns float (N, C), in nats.

    Raises:
        ValueError: The place is not in the window, shapes or ids do not fit, or n_right < 0.
    """
    _check_candidates(windows, place, candidates)
    if n_right is not None and n_right < 0:
        raise ValueError(f"expected n_right >= 0 or None, got {n_right}")
    end = windows.shape[1] if n_right is None else min(place + n_right + 1, windows.shape[1])
    out = []
    if end == place + 1:  # nothing stands to the right
        return torch.zeros(candidates.shape, dtype=next(model.parameters()).dtype)
    with eval_mode(model):
        for window, shortlist in zip(windows, candidates, strict=True):
            left = model.make_cache()
            model.encode(window[None, :place], cache=left)  # read once, for all candidates
            filled = window[place:end].repeat(len(shortlist), 1)
            filled[:, 0] = shortlist
            cache = [repeated(layer, len(shortlist)) for layer in left]
            logits = model.logits(model.encode(filled[:, :-1], cache=cache))
            out.append(gather_log_probs(logits, filled[:, 1:]).sum(dim=1))
    return torch.stack(out)


def repeated(cache: KVCache, n: int) -> KVCache:
    """Copy the keys and values of one text n times, so that n texts can go on from there.

    Raises:
        ValueError: The cache is empty, or holds more than one text; or n < 1.
    """
    if n < 1:
        raise ValueError(f"expected n >= 1, got {n}")
    if cache.keys is None or cache.values is None or len(cache.keys) != 1:
        raise ValueError("expected a cache with the keys and values of one text")
    copy = KVCache(cache.max_len)
    read = slice(0, cache.length)
    copy.append(*(x[:, :, read].expand(n, -1, -1, -1) for x in (cache.keys, cache.values)))
    return copy


@torch.no_grad()
def length_log_likelihoods(
    model: T5, windows: Tensor, place: int, candidates: Tensor, *, sentinel_ids: tuple[int, int],
    eos_id: int | None = None, pad_id: int = 0,
) -> Tensor:  # fmt: skip
    """Say how likely T5 would close the span right after each candidate for a blank.

    Windows are int64 (N, T), with the blank at the same place in each; candidates are int64 (N, C).
    `sentinel_ids` are that of the blank and the one that closes the output; the other arguments are
    those of `pretrain_lab.scoring.spans.t5_span_log_probs`.

    Returns:
        float (N, C): log P(the span has one token | both sides, candidate), in nats.

    Raises:
        ValueError: The place is not in the window, or shapes or ids do not fit.
    """
    _check_candidates(windows, place, candidates)
    n_ids = model.config.vocab_size
    if not 0 <= sentinel_ids[1] < n_ids:  # torch counts a negative one from the end
        raise ValueError(f"expected sentinel_ids in 0..{n_ids - 1}, got {sentinel_ids}")
    hidden = replace_span_by_sentinel(
        windows, place, place + 1, sentinel_id=sentinel_ids[0], eos_id=eos_id
    )
    out = []
    with eval_mode(model):
        for row, shortlist in zip(hidden, candidates, strict=True):
            n = len(shortlist)
            opening = torch.tensor([pad_id, sentinel_ids[0]]).expand(n, -1)
            states = model.encode(row[None]).expand(n, -1, -1)
            logits = model.decode(torch.cat([opening, shortlist[:, None]], dim=1), states)[:, 2]
            out.append(logits.log_softmax(dim=-1)[:, sentinel_ids[1]])
    return torch.stack(out)


def posterior_on_shortlist(
    log_probs: Tensor, candidates: Tensor, log_likelihoods: Tensor, *, outside: str = "smallest"
) -> Tensor:
    """Multiply a distribution by a likelihood that is known for a shortlist only.

    All other tokens get one and the same likelihood. The result is normalised whatever that is, and
    depends on the context alone, so it is a code that a receiver could decode.

    Args:
        log_probs: float (N, V), normalised.
        candidates: int64 (N, C), the shortlist of each row, all different.
        log_likelihoods: float (N, C), in nats.
        outside: What all others get: the "smallest" or the "median" one of the shortlist.

    Returns:
        Log-probabilities, float64 (N, V).

    Raises:
        ValueError: Shapes that do not fit, candidates outside 0..V-1, or another word for outside.
    """
    fit = log_probs.dim() == candidates.dim() == 2 and candidates.shape == log_likelihoods.shape
    if not fit or len(candidates) != len(log_probs) or candidates.shape[1] < 1:
        raise ValueError(
            "expected log_probs (N, V), candidates and log_likelihoods (N, C), C >= 1, got shapes "
            f"{tuple(log_probs.shape)}, {tuple(candidates.shape)}, {tuple(log_likelihoods.shape)}"
        )
    n_ids = log_probs.shape[1]
    if candidates.is_floating_point() or ((candidates < 0) | (candidates >= n_ids)).any():
        raise ValueError(f"expected candidates in 0..{n_ids - 1}, got {candidates.tolist()[:5]}")
    if outside not in ("smallest", "median"):
        raise ValueError(f"expected outside 'smallest' or 'median', got {outside!r}")
    known = log_likelihoods.double()
    rest = known.amin(dim=1) if outside == "smallest" else known.median(dim=1).values
    likelihoods = rest[:, None].repeat(1, log_probs.shape[1]).scatter(1, candidates.long(), known)
    return (log_probs.double() + likelihoods).log_softmax(dim=-1)


def _check_candidates(windows: Tensor, place: int, candidates: Tensor) -> None:
    """Refuse a place outside the window, and shortlists for other windows."""
    check_span(windows, place, place + 1, first=1)
    if candidates.dim() != 2 or len(candidates) != len(windows) or not candidates.numel():
        raise ValueError(
            f"expected candidates ({len(windows)}, C), none empty, got shape "
            f"{tuple(candidates.shape)}"
        )
