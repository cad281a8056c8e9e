# SPDX-License-Identifier: MIT
"""Objectives with something to read and something to write: span corruption and prefixes.

Paper: Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4 and 3.2.

Implemented: the losses of T5 on corrupted spans and on the continuation of a prefix, and the prefix
language model of a GPT, each as a function that draws its own batch, which is the form that
`pretrain.training.fit` takes. Left out: mixtures of objectives.
"""

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.objectives import (
    IGNORE_INDEX,
    BatchLoss,
    causal_targets,
    note_settings,
    random_windows,
)
from pretrain.spans import corrupt_spans
from pretrain.t5 import shift_right


def seq2seq_loss(
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    input_mask: Tensor | None = None,
    *,
    pad_id: int = 0,
) -> Tensor:
    """Score each label given the input and the labels before it.

    Args:
        model: A T5.
        inputs: int64 (B, S), what the encoder reads.
        labels: int64 (B, T), IGNORE_INDEX where nothing is predicted.
        input_mask: bool (B, S), True = real token of inputs; None = all real.
        pad_id: What the decoder starts from, and reads where a label is ignored.

    Returns:
        Mean loss in nats per label that is not ignored, sentinels and end included.

    Raises:
        ValueError: No label, or what the model refuses.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1: maximum likelihood of the target,
        with the true tokens before it as the decoder's input.
    """
    if input_mask is not None and input_mask.all():
        input_mask = None  # the same logits, without the work of a mask
    logits = model(inputs, shift_right(labels, pad_id=pad_id), input_mask)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX)


def span_corruption_loss(
    ids: Tensor,
    *,
    batch_size: int,
    seq_len: int,
    first_sentinel_id: int,
    n_sentinels: int = 100,
    noise_share: float = 0.15,
    mean_span_len: float = 3.0,
    roll: bool = False,
    final_sentinel: bool = True,
    eos_id: int | None = None,
    pad_id: int = 0,
) -> BatchLoss:
    """Make the loss of T5 on random windows, corrupted anew at each visit.

    Args:
        ids: int64 (L,), the tokens of the corpus, without sentinels.
        batch_size: Windows in a batch B.
        seq_len: Tokens of text in each, before the corruption.
        first_sentinel_id: Id of the first sentinel; the others count down from it.
        n_sentinels: Number of ids that are sentinels.
        noise_share: Share of the tokens that is cut out.
        mean_span_len: Mean length of a span, in tokens.
        roll: Whether to turn the pattern of spans; see `pretrain.span_noise.random_noise`.
        final_sentinel: Whether one more sentinel closes the target.
        eos_id: Id that closes input and target; None = none.
        pad_id: Padding, and what the decoder starts from.

    Returns:
        A function of model and generator; mean loss in nats per token of the target, sentinels
        included and padding not.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.4.
    """

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows, cut spans out and score what was cut out."""
        windows = random_windows(ids, batch_size, seq_len, generator=generator)
        corrupted = corrupt_spans(
            windows,
            first_sentinel_id=first_sentinel_id,
            generator=generator,
            n_sentinels=n_sentinels,
            noise_share=noise_share,
            mean_span_len=mean_span_len,
            roll=roll,
            final_sentinel=final_sentinel,
            eos_id=eos_id,
            pad_id=pad_id,
        )
        labels = corrupted.targets.masked_fill(~corrupted.target_mask, IGNORE_INDEX)
        return seq2seq_loss(model, corrupted.inputs, labels, corrupted.input_mask, pad_id=pad_id)

    return note_settings(
        loss, ids, kind="spans", batch_size=batch_size, seq_len=seq_len,
        first_sentinel_id=first_sentinel_id, n_sentinels=n_sentinels, noise_share=noise_share,
        mean_span_len=mean_span_len, roll=roll, final_sentinel=final_sentinel, eos_id=eos_id,
        pad_id=pad_id,
    )  # fmt: skip


def prefix_targets(ids: Tensor, prefix_lens: Tensor) -> tuple[Tensor, Tensor]:
    """Shift a sequence by one and predict only what follows its prefix.

    All positions see the whole prefix, so to predict a token of it would be to copy it.

    Args:
        ids: int64 (B, T), token ids, T >= 2.
        prefix_lens: int64 (B,). Prefix length of each sequence, in tokens, 0..T - 1.

    Returns:
        Inputs and labels, each int64 (B, T - 1); labels[t] is the token after inputs[t], or
        IGNORE_INDEX where that token belongs to the prefix.

    Raises:
        ValueError: No sequence or fewer than two tokens, a prefix that leaves nothing to predict,
            or lengths that are no whole numbers.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.2.1, "prefix LM".
    """
    inputs, targets = causal_targets(ids)
    _check_prefixes(ids, prefix_lens, shortest=0)
    position = torch.arange(1, ids.shape[1])  # of the target
    return inputs, targets.masked_fill(position < prefix_lens[:, None], IGNORE_INDEX)


def split_prefixes(ids: Tensor, prefix_lens: Tensor, *, pad_id: int = 0) -> tuple[Tensor, ...]:
    """Give the prefix to the encoder and the rest to the decoder.

    Args:
        ids: int64 (B, T), token ids.
        prefix_lens: int64 (B,). Prefix length of each sequence, in tokens, 1..T - 1.
        pad_id: Fills the inputs up to the longest prefix.

    Returns:
        Inputs, int64 (B, S), and labels, int64 (B, U), padded with IGNORE_INDEX; and the mask of
        the inputs, bool (B, S), True = real token.

    Raises:
        ValueError: No sequence, a prefix that leaves nothing to read or nothing to predict, or
            lengths that are no whole numbers.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.3.1, "prefix language modeling".
    """
    _check_prefixes(ids, prefix_lens, shortest=1)
    place = torch.arange(ids.shape[1])
    starts = prefix_lens[:, None]
    real = place[: int(prefix_lens.max())] < starts  # (B, S)
    inputs = ids[:, : real.shape[1]].masked_fill(~real, pad_id)
    places = place[: ids.shape[1] - int(prefix_lens.min())] + starts  # (B, U): of each label
    inside = places < ids.shape[1]
    labels = ids.gather(1, places.clamp(max=ids.shape[1] - 1)).masked_fill(~inside, IGNORE_INDEX)
    return inputs, labels, real


def prefix_lm_loss(ids: Tensor, *, batch_size: int, seq_len: int) -> BatchLoss:
    """Make the loss of a GPT that sees a prefix from both sides and predicts the rest.

    Args:
        ids: int64 (L,), the tokens of the corpus.
        batch_size: Windows in a batch B.
        seq_len: Tokens that the model reads in each, T. The prefix has 1..T of them, all
            lengths equally likely, and the rest and one more are predicted.

    Returns:
        A function of model and generator; mean loss in nats per predicted token.

    Raises:
        ValueError: seq_len < 1.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.2.1, "prefix LM".
    """
    if seq_len < 1:
        raise ValueError(f"expected seq_len >= 1, got {seq_len}")

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows of T + 1 tokens and prefixes, and score what follows them."""
        windows = random_windows(ids, batch_size, seq_len + 1, generator=generator)
        prefix_lens = torch.randint(1, seq_len + 1, (batch_size,), generator=generator)
        inputs, labels = prefix_targets(windows, prefix_lens)
        logits = model(inputs, prefix_lens=prefix_lens)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX)

    return note_settings(loss, ids, kind="prefix", batch_size=batch_size, seq_len=seq_len)


def prefix_seq2seq_loss(
    ids: Tensor, *, batch_size: int, seq_len: int, pad_id: int = 0
) -> BatchLoss:
    """Make the loss of a T5 whose encoder reads a prefix and whose decoder writes the rest.

    Args:
        ids: int64 (L,), the tokens of the corpus.
        batch_size: Windows in a batch B.
        seq_len: Tokens of the longest prefix, T. All lengths 1..T are equally likely, and what
            is left of T + 1 tokens is predicted, as in `prefix_lm_loss`.
        pad_id: Padding, and what the decoder starts from.

    Returns:
        A function of model and generator; mean loss in nats per predicted token.

    Raises:
        ValueError: seq_len < 1.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.3.1, "prefix language modeling".
    """
    if seq_len < 1:
        raise ValueError(f"expected seq_len >= 1, got {seq_len}")

    def loss(model: nn.Module, generator: Generator) -> Tensor:
        """Draw windows of T + 1 tokens and prefixes, and score what follows them."""
        windows = random_windows(ids, batch_size, seq_len + 1, generator=generator)
        prefix_lens = torch.randint(1, seq_len + 1, (batch_size,), generator=generator)
        inputs, labels, real = split_prefixes(windows, prefix_lens, pad_id=pad_id)
        return seq2seq_loss(model, inputs, labels, real, pad_id=pad_id)

    return note_settings(
        loss, ids, kind="prefix seq2seq", batch_size=batch_size, seq_len=seq_len, pad_id=pad_id
    )


def _check_prefixes(ids: Tensor, prefix_lens: Tensor, *, shortest: int) -> None:
    """Refuse prefixes that do not belong to the sequences or leave nothing to predict."""
    if ids.dim() != 2 or prefix_lens.shape != ids.shape[:1] or len(ids) < 1:
        raise ValueError(
            "expected ids (B, T) and prefix_lens (B,), B >= 1, got shapes "
            f"{tuple(ids.shape)} and {tuple(prefix_lens.shape)}"
        )
    if prefix_lens.is_floating_point():
        raise ValueError(f"expected prefix_lens in whole tokens, got {prefix_lens.dtype}")
    longest = ids.shape[1] - 1
    if ((prefix_lens < shortest) | (prefix_lens > longest)).any():
        raise ValueError(
            f"expected prefix_lens in {shortest}..{longest}, got {prefix_lens.tolist()}"
        )
