# SPDX-License-Identifier: MIT
"""What a model is asked to predict: the next token, the hidden ones, or the spans cut out.

Papers: Radford et al. 2018 for causal language modelling; Devlin et al. 2019 (arXiv:1810.04805),
section 3.1, for masked language modelling; Raffel et al. 2020 (arXiv:1910.10683), sections 3.1.4
and 3.2, for span corruption and prefixes.

First what each makes of a text, then the four objectives: `CausalLM`, `MaskedLM`,
`SpanCorruptionLM` and `PrefixLM`. An objective draws a batch from a text and gives the model's loss
on it; `training.fit` needs no more. Left out: mixtures of objectives.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from pretrain.span_corruption import SpanCorruption, corrupt_spans

IGNORE_INDEX = -100
"""Label of a position that is not predicted; `cross_entropy` skips it."""

Objective = Callable[[nn.Module, Generator], Tensor]
"""Draws a batch with the generator and gives the model's mean loss on it, in nats."""


class Pair(NamedTuple):
    """One encoded example."""

    source: Tensor
    """int64 (S,): what is read."""
    target: Tensor
    """int64 (T,): what is to be predicted."""


class Batch(NamedTuple):
    """Several examples in rectangles."""

    inputs: Tensor
    """int64 (B, S): what is read."""
    labels: Tensor
    """int64 (B, T): what is to be predicted, IGNORE_INDEX where nothing is."""
    input_mask: Tensor | None = None
    """bool (B, S): True = real token of inputs; None = all real."""


def collate(pairs: Sequence[Pair], *, pad_id: int) -> Batch:
    """Put examples into rectangles, each as long as its longest row, padded on the right."""
    sources = [pair.source for pair in pairs]
    inputs = pad_sequence(sources, batch_first=True, padding_value=pad_id)
    targets = [pair.target for pair in pairs]
    labels = pad_sequence(targets, batch_first=True, padding_value=IGNORE_INDEX)
    lens = torch.tensor([len(source) for source in sources])
    return Batch(inputs, labels, torch.arange(inputs.shape[1]) < lens[:, None])


def random_windows(ids: Tensor, batch_size: int, seq_len: int, *, generator: Generator) -> Tensor:
    """Cut windows, int64 (B, T), at random places of one long sequence, int64 (L,)."""
    if batch_size < 1 or seq_len < 1:
        raise ValueError(f"expected batch_size, seq_len >= 1, got {batch_size} and {seq_len}")
    if ids.dim() != 1 or len(ids) < seq_len:
        raise ValueError(
            f"expected ids (L,) with L >= seq_len = {seq_len}, got shape {tuple(ids.shape)}"
        )
    starts = torch.randint(len(ids) - seq_len + 1, (batch_size,), generator=generator)
    return ids.unfold(0, seq_len, 1)[starts]


def causal_targets(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Shift a sequence by one: what is read, and what comes next.

    Of ids, int64 (..., T), inputs and targets are each (..., T - 1); targets[t] is the token after
    inputs[t].

    Source: Radford et al. 2018 (GPT-1), equation (1).
    """
    if ids.dim() < 1 or ids.shape[-1] < 2:
        raise ValueError(f"expected ids (..., T) with T >= 2, got shape {tuple(ids.shape)}")
    return ids[..., :-1], ids[..., 1:]


REPLACEMENTS = ("not selected", "masked", "random", "kept")


class MaskedBatch(NamedTuple):
    """What `corrupt_mlm` returns; each (B, T)."""

    ids: Tensor
    """int64: what the model reads."""
    labels: Tensor
    """int64: the original token where one was selected, IGNORE_INDEX elsewhere."""
    replacement: Tensor
    """int8: what happened to each token, an index into REPLACEMENTS."""


def corrupt_mlm(
    ids: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: Sequence[int],
    generator: Generator,
    mlm_probability: float = 0.15,
    mask_replace_prob: float = 0.8,
    random_replace_prob: float = 0.1,
) -> MaskedBatch:
    """Select tokens to predict and hide most of them.

    Each ordinary token is selected independently with mlm_probability. A selected token becomes
    [MASK] with mask_replace_prob, a token drawn uniformly from the ordinary vocabulary with
    random_replace_prob (which may by chance be the original), and otherwise stays.
    differs: BERT's released code selects an exact count per sequence and draws random tokens
    from the whole vocabulary, special tokens included.

    Args:
        ids: int64 (B, T), token ids; left unchanged.
        mask_id: Id of [MASK].
        special_ids: Ids that are never selected nor drawn at random.
        mlm_probability: Probability that a token is predicted.
        mask_replace_prob: Probability that a selected token becomes [MASK].
        random_replace_prob: Probability that a selected token becomes a random one.

    Returns:
        The corrupted ids, the labels, and what happened to each token.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1 and appendix A.1.
    """
    check_mlm_probabilities(mlm_probability, mask_replace_prob, random_replace_prob)
    known = range(vocab_size)
    low, high = (int(ids.min()), int(ids.max())) if ids.numel() else (0, 0)
    wrong = [i for i in (low, high, mask_id, *special_ids) if i not in known]
    if wrong:
        raise ValueError(f"expected ids in 0..{vocab_size - 1}, got {wrong}")
    ordinary = torch.ones(vocab_size, dtype=torch.bool)
    ordinary[list(special_ids)] = False
    choices = ordinary.nonzero().flatten()  # ids that may be drawn
    if len(choices) == 0:
        raise ValueError(f"expected an ordinary token among {vocab_size}, got only special ones")
    selected = (torch.rand(ids.shape, generator=generator) < mlm_probability) & ordinary[ids]
    draw = torch.rand(ids.shape, generator=generator)
    masked = selected & (draw < mask_replace_prob)
    random = selected & ~masked & (draw < mask_replace_prob + random_replace_prob)
    drawn = choices[torch.randint(len(choices), ids.shape, generator=generator)]
    corrupted = torch.where(random, drawn, ids).masked_fill(masked, mask_id)
    labels = ids.masked_fill(~selected, IGNORE_INDEX)
    replacement = torch.zeros_like(ids, dtype=torch.int8)
    for name, chosen in (("kept", selected), ("random", random), ("masked", masked)):
        replacement = replacement.masked_fill(chosen, REPLACEMENTS.index(name))
    return MaskedBatch(corrupted, labels, replacement)


def check_mlm_probabilities(mlm: float, mask: float, random: float) -> None:
    """Refuse probabilities of `corrupt_mlm` that are none."""
    if not (0 < mlm <= 1 and mask >= 0 and random >= 0 and mask + random <= 1 + 1e-9):
        raise ValueError(
            "expected mlm_probability in (0, 1], and mask_replace_prob and random_replace_prob "
            f">= 0 with a sum of at most 1, got {mlm}, {mask} and {random}"
        )


def shift_right(labels: Tensor, *, pad_id: int = 0) -> Tensor:
    """Make a decoder's input from its labels: what stands one place before each of them.

    Args:
        labels: int64 (..., T), T >= 1, with IGNORE_INDEX where nothing is predicted.
        pad_id: Stands in front, as the start id, and where a label is ignored.

    Returns:
        int64 (..., T); the last label is not in it.

    Source: Raffel et al. 2020 (arXiv:1910.10683); the released code starts with the padding id.
    """
    if labels.dim() < 1 or labels.shape[-1] < 1:
        raise ValueError(f"expected labels (..., T) with T >= 1, got shape {tuple(labels.shape)}")
    before = F.pad(labels[..., :-1], (1, 0), value=pad_id)
    return before.masked_fill(before == IGNORE_INDEX, pad_id)


def prefix_targets(ids: Tensor, prefix_lens: Tensor) -> tuple[Tensor, Tensor]:
    """Shift a sequence by one and predict only what follows its prefix.

    All positions see the whole prefix, so to predict a token of it would be to copy it.

    Args:
        ids: int64 (B, T), token ids, T >= 2.
        prefix_lens: int64 (B,). Prefix length of each sequence, in tokens, 0..T - 1.

    Returns:
        Inputs and labels, each int64 (B, T - 1); labels[t] is the token after inputs[t], or
        IGNORE_INDEX where that token belongs to the prefix.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.2.1, "prefix LM".
    """
    _check_prefixes(ids, prefix_lens, shortest=0)
    inputs, targets = causal_targets(ids)
    position = torch.arange(1, ids.shape[1])  # of the target
    return inputs, targets.masked_fill(position < prefix_lens[:, None], IGNORE_INDEX)


def split_prefixes(ids: Tensor, prefix_lens: Tensor, *, pad_id: int = 0) -> Batch:
    """Give the prefix to the encoder and the rest to the decoder.

    Args:
        ids: int64 (B, T), token ids.
        prefix_lens: int64 (B,). Prefix length of each sequence, in tokens, 1..T - 1.
        pad_id: Fills the inputs up to the longest prefix.

    Returns:
        Inputs (B, S), labels (B, U), padded with IGNORE_INDEX, and the mask of the inputs.

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
    return Batch(inputs, labels, real)


def _check_prefixes(ids: Tensor, prefix_lens: Tensor, *, shortest: int) -> None:
    """Refuse prefixes that do not belong to the sequences or leave nothing to predict."""
    if ids.dim() != 2 or prefix_lens.shape != ids.shape[:1] or len(ids) < 1:
        raise ValueError(
            "expected ids (B, T) and prefix_lens (B,), B >= 1, got shapes "
            f"{tuple(ids.shape)} and {tuple(prefix_lens.shape)}"
        )
    longest = ids.shape[1] - 1
    if ((prefix_lens < shortest) | (prefix_lens > longest)).any():
        raise ValueError(
            f"expected prefix_lens in {shortest}..{longest}, got {prefix_lens.tolist()}"
        )


def cross_entropy_sum(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum -log P of each label that is not ignored, in nats; logits (..., V), labels (...)."""
    flat = logits.flatten(0, -2).to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(flat, labels.flatten(), ignore_index=IGNORE_INDEX, reduction="sum")


def seq2seq_loss_sum(model: nn.Module, batch: Batch, *, pad_id: int = 0) -> Tensor:
    """Score each label given the input and the labels before it, by a T5; the sum, in nats.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1: maximum likelihood of the target,
        with the true tokens before it as the decoder's input.
    """
    mask = batch.input_mask
    if mask is not None and mask.all():
        mask = None  # the same logits, without the work of a mask
    logits = model(batch.inputs, shift_right(batch.labels, pad_id=pad_id), mask)
    return cross_entropy_sum(logits, batch.labels)


@dataclass(frozen=True, eq=False)
class TextObjective(ABC):
    """Draw random windows of a text, hide what is asked, and score the model's answers.

    Called with a model and a generator, it gives the mean loss of a batch, in nats per prediction.
    """

    ids: Tensor  # int64 (L,), the tokens of the text
    batch_size: int  # windows in a batch, B
    seq_len: int  # tokens of each, T

    def __call__(self, model: nn.Module, generator: Generator) -> Tensor:
        """Draw a batch and give the model's mean loss on it."""
        windows = random_windows(self.ids, self.batch_size, self.window_len, generator=generator)
        batch = self.corrupt(windows, generator)
        n_predicted = int((batch.labels != IGNORE_INDEX).sum())
        return self.loss_sum(model, batch) / max(n_predicted, 1)  # a batch may ask nothing

    @property
    def window_len(self) -> int:
        """Tokens that are cut from the text for one row."""
        return self.seq_len

    @abstractmethod
    def corrupt(self, windows: Tensor, generator: Generator) -> Batch:
        """Make of windows, int64 (B, window_len), what is read and what is asked."""

    @abstractmethod
    def loss_sum(self, model: nn.Module, batch: Batch) -> Tensor:
        """Sum the losses of all predictions of a batch, in nats."""


@dataclass(frozen=True, eq=False)
class CausalLM(TextObjective):
    """A GPT predicts each next token.

    Source: Radford et al. 2018 (GPT-1), equation (1).
    """

    @property
    def window_len(self) -> int:
        """T tokens are read, and one more is predicted."""
        return self.seq_len + 1

    def corrupt(self, windows: Tensor, generator: Generator) -> Batch:
        """Read all tokens but the last, predict all but the first; nothing is random."""
        return Batch(*causal_targets(windows))

    def loss_sum(self, model: nn.Module, batch: Batch) -> Tensor:
        """Score every next token."""
        return cross_entropy_sum(model(batch.inputs), batch.labels)


@dataclass(frozen=True, eq=False)
class MaskedLM(TextObjective):
    """A BERT restores hidden tokens; each window is masked anew at each visit.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1.
    """

    mask_id: int
    vocab_size: int
    special_ids: Sequence[int]
    mlm_probability: float = 0.15
    mask_replace_prob: float = 0.8
    random_replace_prob: float = 0.1

    def __post_init__(self) -> None:
        """Refuse probabilities that are none, before the first batch."""
        check_mlm_probabilities(
            self.mlm_probability, self.mask_replace_prob, self.random_replace_prob
        )

    def corrupt(self, windows: Tensor, generator: Generator) -> Batch:
        """Select tokens and hide most of them."""
        masked = corrupt_mlm(
            windows,
            mask_id=self.mask_id,
            vocab_size=self.vocab_size,
            special_ids=self.special_ids,
            generator=generator,
            mlm_probability=self.mlm_probability,
            mask_replace_prob=self.mask_replace_prob,
            random_replace_prob=self.random_replace_prob,
        )
        return Batch(masked.ids, masked.labels)

    def loss_sum(self, model: nn.Module, batch: Batch) -> Tensor:
        """Score the selected tokens; the head runs on these alone."""
        selected = batch.labels != IGNORE_INDEX
        logits = model(batch.inputs, masked_positions=selected)  # (n, V)
        return cross_entropy_sum(logits, batch.labels[selected])


@dataclass(frozen=True, eq=False)
class SpanCorruptionLM(TextObjective):
    """A T5 writes the spans that were cut out of its input.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.1.4.
    """

    spans: SpanCorruption

    def corrupt(self, windows: Tensor, generator: Generator) -> Batch:
        """Cut spans out; labels are the target, sentinels included and padding not."""
        cut = corrupt_spans(windows, self.spans, generator=generator)
        labels = cut.targets.masked_fill(~cut.target_mask, IGNORE_INDEX)
        return Batch(cut.inputs, labels, cut.input_mask)

    def loss_sum(self, model: nn.Module, batch: Batch) -> Tensor:
        """Score each token of the target, given those before it."""
        return seq2seq_loss_sum(model, batch, pad_id=self.spans.pad_id)


@dataclass(frozen=True, eq=False)
class PrefixLM(TextObjective):
    """A model sees a prefix from both sides and predicts the rest.

    With a GPT the prefix is a matter of the mask; a T5's encoder reads it, and its decoder writes
    the rest. The prefix has 1..T tokens, all lengths equally likely.

    Source: Raffel et al. 2020 (arXiv:1910.10683), section 3.2.1, "prefix LM"; section 3.3.1 for T5.
    """

    encoder_decoder: bool = False  # True for a T5
    pad_id: int = 0  # what a T5's inputs are filled with, and its decoder starts from

    @property
    def window_len(self) -> int:
        """At most T tokens are read first, and there is one more to predict."""
        return self.seq_len + 1

    def corrupt(self, windows: Tensor, generator: Generator) -> Batch:
        """Cut each window at a random place."""
        lens = torch.randint(1, self.seq_len + 1, (len(windows),), generator=generator)
        if self.encoder_decoder:
            return split_prefixes(windows, lens, pad_id=self.pad_id)
        return Batch(*prefix_targets(windows, lens))

    def loss_sum(self, model: nn.Module, batch: Batch) -> Tensor:
        """Score what follows the prefixes. A GPT's first label is that of its last prefix token."""
        if self.encoder_decoder:
            return seq2seq_loss_sum(model, batch, pad_id=self.pad_id)
        prefix_lens = (batch.labels != IGNORE_INDEX).int().argmax(dim=1) + 1
        return cross_entropy_sum(model(batch.inputs, prefix_lens=prefix_lens), batch.labels)
