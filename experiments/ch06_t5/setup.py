# SPDX-License-Identifier: MIT
"""What the recorded studies of chapter 6 share: questions, losses, writing, intervals.

A question is a window of unseen plays with spans cut out. It is answered in two ways:

free   the model also decides where each span ends, by writing the next sentinel;
told   the sentinels are set where the truth has them, so that the lengths are known; the tokens
       between them are the model's own, also those that it reads when it writes later ones.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor

from experiments.common.special_ids import sentinels_of
from pretrain.generation import Sampling, generate_seq2seq
from pretrain.objectives import random_windows, shift_right
from pretrain.span_corruption import SpanCorrupted, SpanCorruption, corrupt_spans, find_spans
from pretrain.t5 import T5
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.statistics.intervals import bootstrap_interval, wilson_interval
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

SEQ_LEN = 64
SPAN_LENS = (1, 2, 3, 4, 5, 6)


class Questions(NamedTuple):
    """Corrupted windows, and what was cut out of them."""

    windows: Tensor  # int64 (N, T): the text
    corrupted: SpanCorrupted
    spans: list[list[tuple[int, int]]]  # (start, end) of each span of each window


def split_ids(tokenizer: SubwordTokenizer, split: str) -> Tensor:
    """Encode the plays of a split as one long sequence, int64 (L,)."""
    return tokenizer.encode("\n".join(play.text for play in load_shakespeare(split)))


def ask(tokenizer: SubwordTokenizer, ids: Tensor, n: int, *, seed: int) -> Questions:
    """Draw windows and cut spans out of them, as in training."""
    generator = Generator().manual_seed(seed)
    windows = random_windows(ids, n, SEQ_LEN, generator=generator)
    corrupted = corrupt_spans(
        windows, SpanCorruption(**sentinels_of(tokenizer)), generator=generator
    )
    return Questions(windows, corrupted, [find_spans(noise) for noise in corrupted.noise])


@torch.inference_mode()
def target_log_probs(model: T5, inputs: Tensor, targets: Tensor) -> Tensor:
    """Return the distribution at each token of the targets, float (N, T, V)."""
    parts = [
        model(read, shift_right(written)).log_softmax(dim=-1)
        for read, written in zip(inputs.split(100), targets.split(100), strict=True)
    ]
    return torch.cat(parts)


def taken(log_probs: Tensor, targets: Tensor) -> Tensor:
    """Look up -log P of the targets, nats, float64 (N, T)."""
    return -log_probs.gather(-1, targets[..., None])[..., 0].double()


def text_only(log_probs: Tensor, special_ids: tuple[int, ...]) -> Tensor:
    """Renormalise a distribution over the ordinary tokens, as if told that no span ends here."""
    special = torch.zeros(log_probs.shape[-1], dtype=torch.bool)
    special[list(special_ids)] = True
    return log_probs.masked_fill(special, float("-inf")).log_softmax(dim=-1)


def cluster_interval(hits: Tensor, trials: Tensor) -> list[float]:
    """Compute a mean over all items with both ends of its 95 % interval, resampling whole clusters.

    Args:
        hits: float (C,), sum over each cluster (a window, a film) of what is averaged.
        trials: float (C,), number of items in each cluster; some may have none.
    """
    hits, trials = hits.double()[trials > 0], trials[trials > 0].long()
    cluster = torch.arange(len(hits)).repeat_interleave(trials)
    values = (hits / trials).repeat_interleave(trials)
    generator = Generator().manual_seed(0)
    return list(bootstrap_interval(values, cluster=cluster, generator=generator))


def share_interval(hits: Tensor, trials: Tensor) -> list[float]:
    """Compute a share with an interval over clusters, also when nothing or everything hits.

    The bootstrap would then have no spread; Wilson's interval, with the number of clusters as that
    of trials, has one. `hits` and `trials` (items) of each cluster are int (C,).
    """
    if 0 < int(hits.sum()) < int(trials.sum()):
        return cluster_interval(hits, trials)
    n = int((trials > 0).sum())
    return list(wilson_interval(n if int(hits.sum()) else 0, n))


def where(values: Tensor, chosen: Tensor) -> list[float]:
    """Average values (N, T) where chosen, with an interval over windows."""
    kept = values.masked_fill(~chosen, 0.0)  # a product would make NaN of infinity
    return cluster_interval(kept.sum(dim=1), chosen.sum(dim=1))


def written_spans(output: list[int], tokenizer: SubwordTokenizer) -> dict[int, list[int]]:
    """Cut an output at its sentinels: the tokens behind the n-th sentinel, for each n written.

    What stands before the first sentinel belongs to none; of a sentinel written twice, the first
    span counts; </s> ends the output.
    """
    spans: dict[int, list[int]] = {}
    span: list[int] = []
    for token in output:
        if token == tokenizer.eos_id:
            break
        if token in tokenizer.sentinel_ids:
            span = []
            spans.setdefault(tokenizer.sentinel_ids.index(token), span)
        else:
            span.append(token)
    return spans


def write_free(model: T5, inputs: Tensor, n_new: int) -> Tensor:
    """Write greedily, sentinels and all, int64 (N, T)."""
    parts = [
        generate_seq2seq(model, read, n_new, Sampling(greedy=True), eos_id=None)
        for read in inputs.split(100)
    ]
    return torch.cat(parts)


@torch.inference_mode()
def write_told(model: T5, inputs: Tensor, targets: Tensor, special: tuple[int, ...]) -> Tensor:
    """Write greedily with the sentinels set where the targets have them, int64 (N, T)."""
    states, cache = model.encode(inputs), model.make_cache(targets.shape[1], inputs.shape[1])
    written = torch.zeros_like(targets)
    unread = torch.zeros_like(targets[:, :1])  # the start id
    is_special = torch.isin(targets, torch.tensor(special))
    for t in range(targets.shape[1]):
        logits = model.decode(unread, states, cache=cache)[:, -1]
        guess = text_only(logits, special).argmax(dim=-1)
        written[:, t] = torch.where(is_special[:, t], targets[:, t], guess)
        unread = written[:, t : t + 1]
    return written


def truths(asked: Questions) -> list[list[list[int]]]:
    """List the tokens of each span of each window."""
    return [
        [window[start:end].tolist() for start, end in spans]
        for window, spans in zip(asked.windows, asked.spans, strict=True)
    ]


def by_length(asked: Questions, hits: list[list[bool]]) -> dict[str, list[float]]:
    """Return the share of exact spans by span length and over all, with intervals over windows.

    `hits` says for each window whether each of its spans is exact. The result has, for "1" to "6"
    and "all", share, lower end, upper end; a length that fewer than two windows have is left out.
    """
    result = {}
    for length in (*SPAN_LENS, None):
        chosen = [
            [end - start == length or length is None for start, end in spans]
            for spans in asked.spans
        ]
        trials = torch.tensor([sum(row) for row in chosen])
        exact = torch.tensor(
            [
                sum(hit for hit, c in zip(row, keep, strict=True) if c)
                for row, keep in zip(hits, chosen, strict=True)
            ]
        )
        if int((trials > 0).sum()) > 1:
            result["all" if length is None else str(length)] = share_interval(exact, trials)
    return result


def exact_spans(written: Tensor, asked: Questions, tokenizer: SubwordTokenizer) -> list[list[bool]]:
    """Return for each span of each window whether it was written exactly behind its sentinel."""
    outputs = [written_spans(row.tolist(), tokenizer) for row in written]
    return [
        [output.get(i) == span for i, span in enumerate(spans)]
        for output, spans in zip(outputs, truths(asked), strict=True)
    ]


def until_end(output: Tensor, tokenizer: SubwordTokenizer) -> list[int]:
    """Cut an output behind its first </s>."""
    tokens: list[int] = output.tolist()
    return tokens[: tokens.index(tokenizer.eos_id) + 1] if tokenizer.eos_id in tokens else tokens
