# SPDX-License-Identifier: MIT
"""What a model is asked to predict: the next token, or the hidden ones.

Papers: Radford et al. 2018 for causal language modelling; Devlin et al. 2019 (arXiv:1810.04805),
section 3.1, for masked language modelling.

Implemented: targets, BERT's corruption, and the two losses as functions that draw their own batch,
which is the form that `pretrain.training.fit` takes. Span corruption is in `pretrain.spans`, its
functions are known here too; its loss, and those of prefixes, are in `pretrain.seq2seq`.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.spans import apply_spans as apply_spans
from pretrain.spans import corrupt_spans as corrupt_spans
from pretrain.spans import restore_spans as restore_spans

IGNORE_INDEX = -100
"""Label of a position that is not predicted; `cross_entropy` skips it."""

BatchLoss = Callable[[nn.Module, Generator], Tensor]
"""Draws a batch with the generator and returns the model's mean loss, in nats per prediction."""


def causal_targets(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Shift a sequence by one: what is read, and what comes next.

    Args:
        ids: int64 (..., T), token ids, T >= 2.

    Returns:
        Inputs and targets, each int64 (..., T - 1); targets[t] is the token after inputs[t].

    Raises:
        ValueError: Fewer than two tokens.

    Source: Radford et al. 2018 (GPT-1), equation (1).
    """
    if ids.dim() < 1 or ids.shape[-1] < 2:
        raise ValueError(f"expected ids (..., T) with T >= 2, got shape {tuple(ids.shape)}")
    return ids[..., :-1], ids[..., 1:]


class Corrupted(NamedTuple):
    """What `corrupt_mlm` returns; each (B, T)."""

    ids: Tensor
    """int64: what the model reads."""
    labels: Tensor
    """int64: the original token where one was selected, IGNORE_INDEX elsewhere."""
    fates: Tensor
    """int8: the drawn fate, an index into FATES."""


FATES = ("not selected", "masked", "random", "kept")


def corrupt_mlm(
    ids: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: Sequence[int],
    generator: Generator,
    select_prob: float = 0.15,
    mask_prob: float = 0.8,
    random_prob: float = 0.1,
) -> Corrupted:
    """Select tokens to predict and hide most of them.

    Each ordinary token is selected independently with select_prob. A selected token becomes
    [MASK] with mask_prob, a token drawn uniformly from the ordinary vocabulary with random_prob
    (which may by chance be the original), and otherwise stays.
    differs: BERT's released code selects an exact count per sequence and draws random tokens
    from the whole vocabulary, special tokens included.

    Args:
        ids: int64 (B, T), token ids; left unchanged.
        mask_id: Id of [MASK].
        vocab_size: Number of token ids V.
        special_ids: Ids that are never selected nor drawn at random.
        generator: Source of randomness.
        select_prob: Probability that a token is predicted.
        mask_prob: Probability that a selected token becomes [MASK].
        random_prob: Probability that a selected token becomes a random one.

    Returns:
        The corrupted ids, the labels and the drawn fates.

    Raises:
        ValueError: Probabilities or ids outside their range, ids that are no whole numbers, or no
            ordinary token to draw.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1 and appendix A.1.
    """
    if not 0.0 < select_prob <= 1.0:
        raise ValueError(f"expected select_prob in (0, 1], got {select_prob}")
    if not (mask_prob >= 0 and random_prob >= 0 and mask_prob + random_prob <= 1 + 1e-9):
        raise ValueError(
            "expected mask_prob, random_prob >= 0 with a sum of at most 1, got "
            f"{mask_prob} and {random_prob}"
        )
    if ids.is_floating_point():
        raise ValueError(f"expected ids in whole numbers, got {ids.dtype}")
    low, high = (int(ids.min()), int(ids.max())) if ids.numel() else (0, 0)
    if not 0 <= low <= high < vocab_size or not 0 <= mask_id < vocab_size:
        raise ValueError(
            f"expected ids and mask_id in 0..{vocab_size - 1}, got {low}..{high} and {mask_id}"
        )
    outside = [i for i in special_ids if not 0 <= i < vocab_size]
    if outside:
        raise ValueError(f"expected special_ids in 0..{vocab_size - 1}, got {outside}")
    ordinary = torch.ones(vocab_size, dtype=torch.bool)
    ordinary[list(special_ids)] = False
    choices = ordinary.nonzero().flatten()  # ids that may be drawn
    if len(choices) == 0:
        raise ValueError(f"expected an ordinary token among {vocab_size}, got only special ones")
    selected = (torch.rand(ids.shape, generator=generator) < select_prob) & ordinary[ids]
    fate = torch.rand(ids.shape, generator=generator)
    masked = selected & (fate < mask_prob)
    random = selected & (fate >= mask_prob) & (fate < mask_prob + random_prob)
    drawn = choices[torch.randint(len(choices), ids.shape, generator=generator)]
    corrupted = torch.where(random, drawn, ids).masked_fill(masked, mask_id)
    fates = torch.zeros_like(ids, dtype=torch.int8).masked_fill(selected, FATES.index("kept"))
    fates = fates.masked_fill(random, FATES.index("random"))
    fates = fates.masked_fill(masked, FATES.index("masked"))
    return Corrupted(corrupted, ids.masked_fill(~selected, IGNORE_INDEX), fates)


def random_windows(ids: Tensor, batch_size: int, seq_len: int, *, generator: Generator) -> Tensor:
    """Cut windows at random places of one long sequence.

    Args:
        ids: int64 (L,), the tokens of a corpus.
        batch_size: Number of windows B.
        seq_len: Length T of each, in tokens.
        generator: Source of randomness.

    Returns:
        int64 (B, T).

    Raises:
        ValueError: ids is not one-dimensional or shorter than one window, or a size is below 1.
    """
    if batch_size < 1 or seq_len < 1:
        raise ValueError(f"expected batch_size, seq_len >= 1, got {batch_size} and {seq_len}")
    if ids.dim() != 1 or len(ids) < seq_len:
        raise ValueError(
            f"expected ids (L,) with L >= seq_len = {seq_len}, got shape {tuple(ids.shape)}"
        )
    starts = torch.randint(len(ids) - seq_len + 1, (batch_size,), generator=generator)
    return ids.unfold(0, seq_len, 1)[starts]


def causal_lm_loss(ids: Tensor, *, batch_size: int, seq_len: int) -> BatchLoss:
    """Make the loss of next-token prediction on random windows of a corpus.

    Args:
        ids: int64 (L,), the tokens of the corpus.
        batch_size: Windows in a batch B.
        seq_len: Tokens that the model reads in each, T; each gives T predictions.

    Returns:
        A function of model and generator; mean loss in nats per token.

    Source: Radford et al. 2018 (GPT-1), equation (1).
    """

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows of T + 1 tokens and score each next token."""
        windows = random_windows(ids, batch_size, seq_len + 1, generator=generator)
        inputs, targets = causal_targets(windows)
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    return note_settings(loss, ids, kind="causal", batch_size=batch_size, seq_len=seq_len)


def masked_lm_loss(
    ids: Tensor,
    *,
    batch_size: int,
    seq_len: int,
    mask_id: int,
    vocab_size: int,
    special_ids: Sequence[int],
    select_prob: float = 0.15,
    mask_prob: float = 0.8,
    random_prob: float = 0.1,
) -> BatchLoss:
    """Make the loss of masked-token prediction on random windows, masked anew at each visit.

    Args:
        ids: int64 (L,), the tokens of the corpus.
        batch_size: Windows in a batch B.
        seq_len: Tokens in each, T.
        mask_id: Id of [MASK].
        vocab_size: Number of token ids V.
        special_ids: Ids that are never selected nor drawn at random.
        select_prob: Probability that a token is predicted.
        mask_prob: Probability that a selected token becomes [MASK].
        random_prob: Probability that a selected token becomes a random one.

    Returns:
        A function of model and generator; mean loss in nats per selected token. The model is
        called with `predict`, so its head runs on the selected positions only.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1.
    """

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows, corrupt them and score the selected tokens."""
        windows = random_windows(ids, batch_size, seq_len, generator=generator)
        corrupted, labels, _ = corrupt_mlm(
            windows,
            mask_id=mask_id,
            vocab_size=vocab_size,
            special_ids=special_ids,
            generator=generator,
            select_prob=select_prob,
            mask_prob=mask_prob,
            random_prob=random_prob,
        )
        selected = labels != IGNORE_INDEX
        total = F.cross_entropy(
            model(corrupted, predict=selected), labels[selected], reduction="sum"
        )
        return total / max(int(selected.sum()), 1)  # a batch may select nothing

    return note_settings(
        loss, ids, kind="masked", batch_size=batch_size, seq_len=seq_len, mask_id=mask_id,
        special_ids=list(special_ids), select_prob=select_prob, mask_prob=mask_prob,
        random_prob=random_prob,
    )  # fmt: skip


def note_settings(loss: BatchLoss, ids: Tensor, **settings: Any) -> BatchLoss:
    """Note on a loss what it draws from, so that `fit` refuses to resume with something else.

    Args:
        loss: Gets the attribute `settings`.
        ids: int64 (L,), the tokens of the corpus; their hash is noted.
        settings: All else that decides which batches come and how they are scored; JSON values.

    Returns:
        The same loss.
    """
    digest = hashlib.sha256(ids.contiguous().cpu().numpy().tobytes()).hexdigest()[:16]
    loss.settings = {"ids_sha256": digest, **settings}  # type: ignore[attr-defined]
    return loss
