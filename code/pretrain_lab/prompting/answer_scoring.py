# SPDX-License-Identifier: MIT
"""Ask a frozen decoder: which answer does it find most likely after this prompt?

Papers: Brown et al. 2020 (arXiv:2005.14165) for tasks as prompts; Zhao et al. 2021
(arXiv:2102.09690) for contextual calibration.
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from pretrain.gpt import GPT

Row = tuple[int, ...]


class Reader(Protocol):
    """A decoder with a prefix in front of it: rows of ids in, logits at chosen places out."""

    def __call__(self, rows: Tensor, wanted: Tensor) -> Tensor:
        """Read rows int64 (B, T) behind the prefix; give logits (n, V) where wanted (B, T)."""


class PrefixCachedModel:
    """A decoder of `transformers` that has read a prefix once and keeps its keys and values."""

    def __init__(self, model: Any, prefix: Sequence[int] = ()) -> None:
        """Read the prefix, ids that may be empty; the model has `model` and `lm_head`."""
        self.model = model
        self.cache: Any = None
        if prefix:
            with torch.inference_mode():
                read = model.model(torch.tensor([list(prefix)]), use_cache=True)
            self.cache = read.past_key_values

    @torch.inference_mode()
    def __call__(self, rows: Tensor, wanted: Tensor) -> Tensor:
        """Read rows behind the prefix: logits, float (number of wanted places, V), row by row.

        Rows are int64 (B, T); what fills short ones stands at their right end, where the causal
        mask hides it from every real position. `wanted` is bool (B, T).
        """
        cache = copy.deepcopy(self.cache)  # reading appends to it
        if cache is not None:
            cache.batch_repeat_interleave(len(rows))
        read = self.model.model(rows, past_key_values=cache, use_cache=cache is not None)
        logits: Tensor = self.model.lm_head(read.last_hidden_state[wanted])
        return logits


class PlainReader:
    """One of our GPTs, in evaluation mode, which reads the prefix again with every row."""

    def __init__(self, model: GPT, prefix: Sequence[int] = ()) -> None:
        """Keep the prefix, ids that may be empty."""
        self.model, self.prefix = model, torch.tensor([list(prefix)], dtype=torch.long)

    @torch.inference_mode()
    def __call__(self, rows: Tensor, wanted: Tensor) -> Tensor:
        """Read rows behind the prefix; arguments and result as for `PrefixCachedModel`.

        Raises:
            ValueError: Prefix and row together are longer than what the model was trained on.
        """
        ids = torch.cat([self.prefix.expand(len(rows), -1), rows], dim=1)
        if ids.shape[1] > self.model.config.max_len:
            raise ValueError(
                f"expected at most {self.model.config.max_len} tokens of prefix and row,"
                f" got {ids.shape[1]}"
            )
        states = self.model.encode(ids)[:, self.prefix.shape[1] :]
        return self.model.logits(states[wanted])


def _read(
    reader: Reader, asked: Iterable[tuple[Row, int]], batch_size: int
) -> Iterator[tuple[tuple[Row, int], Tensor]]:
    """Give for each (row, n) the log-probabilities (n, V) after its last n tokens.

    Rows of like length share a batch, so that little is filled up.
    """
    if batch_size < 1:
        raise ValueError(f"expected batch_size >= 1, got {batch_size}")
    ordered = sorted(asked, key=lambda pair: len(pair[0]))
    for start in range(0, len(ordered), batch_size):
        batch = ordered[start : start + batch_size]
        width = max(len(row) for row, _ in batch)
        rows = torch.zeros(len(batch), width, dtype=torch.long)
        wanted = torch.zeros(len(batch), width, dtype=torch.bool)
        for i, (row, n_last) in enumerate(batch):
            rows[i, : len(row)] = torch.tensor(row)
            wanted[i, len(row) - n_last : len(row)] = True
        log_probs = reader(rows, wanted).log_softmax(dim=-1)
        yield from zip(batch, log_probs.split([n for _, n in batch]), strict=True)


def answer_log_probs(
    reader: Reader,
    questions: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    *,
    batch_size: int = 16,
) -> Tensor:
    """Score every answer after every question: log-probabilities in nats, float (N, L).

    The log-probability of an answer is the sum over its tokens, each after all earlier ones. A row
    that several answers need is read once; so answers of one token cost one row together.

    Raises:
        ValueError: A question or an answer is empty, or batch_size < 1.
    """
    if not all(map(len, [*questions, *answers])):
        raise ValueError("expected questions and answers of at least one token, got an empty one")
    places = defaultdict(list)
    for i, question in enumerate(questions):
        for j, answer in enumerate(answers):
            places[(*question, *answer[:-1]), len(answer)].append((i, j))
    scores = torch.empty(len(questions), len(answers))
    for pair, log_probs in _read(reader, places, batch_size):
        for i, j in places[pair]:
            scores[i, j] = log_probs[range(pair[1]), list(answers[j])].sum()
    return scores


def greedy_hits(
    reader: Reader,
    questions: Sequence[Sequence[int]],
    accepted: Sequence[Sequence[Sequence[int]]],
    goes_on: Tensor,
    *,
    batch_size: int = 16,
) -> Tensor:
    """Tell where greedy decoding writes an accepted answer, and then ends the word: bool (N,).

    Nothing is generated. An answer is what greedy decoding writes exactly if each of its tokens is
    the most likely one after all earlier ones, which one pass over question and answer shows.
    `accepted` holds for each question the rows of ids that count as right; `goes_on` is bool (V,),
    True = a token that would continue the word or number before it.

    Raises:
        ValueError: Another number of questions than of lists, or batch_size < 1.
    """
    places = defaultdict(list)
    for i, (question, answers) in enumerate(zip(questions, accepted, strict=True)):
        for answer in answers:
            places[(*question, *answer), len(answer) + 1].append(i)
    hits = torch.zeros(len(questions), dtype=torch.bool)
    for pair, log_probs in _read(reader, places, batch_size):
        row, n_last = pair
        best = log_probs.argmax(dim=-1)
        written = best[:-1].tolist() == list(row[len(row) - n_last + 1 :])
        if written and not goes_on[best[-1]]:
            hits[places[pair]] = True
    return hits


def greedy_answer(
    reader: Reader, question: Sequence[int], *, stop: Iterable[int] = (), max_tokens: int = 10
) -> list[int]:
    """Write the most likely token again and again; the ids at which it stops are not part of it."""
    written: list[int] = []
    stop = set(stop)
    while len(written) < max_tokens:
        _, log_probs = next(_read(reader, [((*question, *written), 1)], 1))
        token = int(log_probs.argmax())
        if token in stop:
            break
        written.append(token)
    return written


def is_word_continuation(texts: Sequence[str]) -> Tensor:
    """Mark the tokens that continue a word or number: those that start with a letter or digit.

    `texts` are the V tokens, with a blank in front where they have one. Returns bool (V,).
    """
    return torch.tensor([text[:1].isalnum() for text in texts])


def calibrate(scores: Tensor, content_free: Tensor) -> Tensor:
    """Divide out what the prompt says before there is any content: probabilities, float (N, L).

    `scores` are log-probabilities of the L answers, float (N, L); `content_free` (C, L) are the
    same for inputs without content, such as "N/A".

    Raises:
        ValueError: Another number of answers, or no input without content.

    Source: Zhao et al. 2021 (arXiv:2102.09690), section 5, W = diag(p_cf)^-1 and b = 0.
    """
    if scores.dim() != 2 or content_free.dim() != 2 or len(content_free) < 1 or (
        scores.shape[1] != content_free.shape[1]
    ):  # fmt: skip
        raise ValueError(
            "expected scores (N, L) and content_free (C, L), C >= 1, of as many answers, got "
            f"shapes {tuple(scores.shape)} and {tuple(content_free.shape)}"
        )
    # As logarithms: a probability that rounds to 0 could not be divided by.
    base = content_free.log_softmax(dim=-1).logsumexp(dim=0)  # the mean's, but for a constant
    return (scores.log_softmax(dim=-1) - base).softmax(dim=-1)
