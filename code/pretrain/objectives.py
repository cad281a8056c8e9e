# SPDX-License-Identifier: MIT
"""What a model is asked to predict: the next token, or the hidden ones.

Papers: Radford et al. 2018 for causal language modelling; Devlin et al. 2019 (arXiv:1810.04805),
section 3.1, for masked language modelling.

Implemented: targets, BERT's corruption, and the two losses as functions that draw their own batch,
which is the form that `pretrain.training.fit` takes. Span corruption is in
`pretrain.span_corruption`, its functions are known here too; its loss, and those of prefixes, are
in `pretrain.objectives`.

Objectives with something to read and something to write: span corruption and prefixes.

Paper: Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4 and 3.2.

Implemented: the losses of T5 on corrupted spans and on the continuation of a prefix, and the prefix
language model of a GPT, each as a function that draws its own batch, which is the form that
`pretrain.training.fit` takes. Left out: mixtures of objectives.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from pretrain.span_corruption import corrupt_spans


def shift_right(labels: Tensor, *, pad_id: int = 0) -> Tensor:
    """Make the decoder's input from its labels: what stands one place before each of them.

    Args:
        labels: int64 (..., T), with IGNORE_INDEX (-100) where nothing is predicted.
        pad_id: Stands in front, as the start id, and where a label is ignored.

    Returns:
        int64 (..., T); the last label is not in it.

    Raises:
        ValueError: No label at all.

    Source: Raffel et al. 2020 (arXiv:1910.10683); the released code starts with the padding id.
    """
    if labels.dim() < 1 or labels.shape[-1] < 1:
        raise ValueError(f"expected labels (..., T) with T >= 1, got shape {tuple(labels.shape)}")
    before = F.pad(labels[..., :-1], (1, 0), value=pad_id)
    return before.masked_fill(before == IGNORE_INDEX, pad_id)


class Pair(NamedTuple):
    """One encoded example; both parts end with the end-of-sequence id."""

    source: Tensor
    """int64 (S,)."""
    target: Tensor
    """int64 (T,)."""


class Batch(NamedTuple):
    """Several encoded examples, padded on the right."""

    inputs: Tensor
    """int64 (B, S)."""
    labels: Tensor
    """int64 (B, T), IGNORE_INDEX behind the end."""
    input_mask: Tensor
    """bool (B, S): True = real token of inputs."""


def collate(pairs: Sequence[Pair], *, pad_id: int) -> Batch:
    """Put encoded examples into rectangles.

    Args:
        pairs: At least one.
        pad_id: Fills the inputs.

    Returns:
        Inputs, labels and mask, each as long as its longest row.

    Raises:
        ValueError: No example.
    """
    if not pairs:
        raise ValueError("expected at least one example, got none")
    sources = [pair.source for pair in pairs]
    inputs = pad_sequence(sources, batch_first=True, padding_value=pad_id)
    targets = [pair.target for pair in pairs]
    labels = pad_sequence(targets, batch_first=True, padding_value=IGNORE_INDEX)
    lens = torch.tensor([len(source) for source in sources])
    return Batch(inputs, labels, torch.arange(inputs.shape[1]) < lens[:, None])


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
        roll: Whether to turn the pattern of spans; see `pretrain.span_corruption.random_noise`.
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
