# SPDX-License-Identifier: MIT
"""Questions asked of a GPT, a BERT and a T5, on the same windows of unseen plays.

Blanks: the middle token of a window. Spans: its middle tokens, and its last ones. Each question is
close to the training of one model: the blank to BERT's, the middle span to T5's (which filled three
at once), the last span to GPT's. All answers are code lengths of the same tokens, in bits.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from experiments.common.special_ids import sentinels_of, special_of
from pretrain.bert import BERT
from pretrain.evaluation import cloze_log_probs, left_log_probs
from pretrain.gpt import GPT
from pretrain.objectives import random_windows
from pretrain_lab.baselines.bidirectional_ngrams import BidirectionalNGram
from pretrain_lab.baselines.kneser_ney import KneserNey, UnigramModel
from pretrain_lab.scoring.bayes_rescoring import (
    length_log_likelihoods,
    posterior_on_shortlist,
    right_log_likelihoods,
)
from pretrain_lab.scoring.spans import (
    bert_span_log_probs,
    gpt_span_log_probs,
    sentinel_log_probs,
    t5_span_log_probs,
)
from pretrain_lab.tokenizers.subwords import load_tokenizer

TOKENIZER = load_tokenizer("plays_bpe")
SEQ_LEN, MIDDLE, SPAN_LEN = 64, 32, 4
SPECIAL, SPANS = special_of(TOKENIZER), sentinels_of(TOKENIZER)
ONE: dict[str, Any] = {"eos_id": TOKENIZER.eos_id, "pad_id": TOKENIZER.pad_id}
PAIR = (TOKENIZER.sentinel_ids[0], TOKENIZER.sentinel_ids[1])
N_GRAM_ORDERS = (2, 3, 4, 5)
TWO_SIDED_ORDERS = ((1, 1), (2, 1), (1, 2), (2, 2))


@dataclass(frozen=True)
class Numbers:
    """How many questions are asked."""

    n_blanks: int = 1500  # single blanks
    n_curve: int = 500  # the first of them, asked along the training
    n_rescored: int = 300  # the first of them, for which the GPT scores a shortlist
    n_exact: int = 16  # the first of them, for which it scores the whole vocabulary (seed 0)
    n_candidates: int = 128
    n_right: int = 16  # tokens to the right that the GPT explains
    n_spans: int = 600
    n_text: int = 600  # windows whose second half is scored from the left

    @classmethod
    def quick(cls) -> "Numbers":
        """Ask little."""
        return cls(60, 40, 6, 1, n_candidates=32, n_spans=30, n_text=20)

    def blanks(self, ids: Tensor) -> Tensor:
        """Draw the windows of the single blanks, int64 (n_blanks, SEQ_LEN)."""
        return windows_of(ids, self.n_blanks, seed=31)


def windows_of(ids: Tensor, n: int, *, seed: int, seq_len: int = SEQ_LEN) -> Tensor:
    """Draw the same windows at each call, int64 (n, seq_len)."""
    return random_windows(ids, n, seq_len, generator=torch.Generator().manual_seed(seed))


def blank_guess(model: Any, windows: Tensor, reach: int = MIDDLE) -> Tensor:
    """Return a model's own log-probabilities for the middle token, (N, V), in one pass.

    Args:
        model: A GPT (left side alone), a BERT ([MASK]) or a T5 (a sentinel).
        windows: int64 (N, SEQ_LEN).
        reach: Tokens on each side that the model may read, as far as there are any: half of the
            longest text that it has been trained on.
    """
    near = windows[:, MIDDLE - reach : MIDDLE + reach]
    places = torch.full((len(windows),), reach)
    if isinstance(model, GPT):
        return left_log_probs(model, near[:, : reach + 1], places)
    if isinstance(model, BERT):
        return cloze_log_probs(model, near, places, mask_id=TOKENIZER.mask_id)
    return sentinel_log_probs(model, near, reach, sentinel_id=PAIR[0], **ONE)


def answer_bits(log_probs: Tensor, windows: Tensor) -> Tensor:
    """Return -log2 P of the middle tokens, float64 (N,)."""
    return -log_probs.double().gather(1, windows[:, MIDDLE, None])[:, 0] / math.log(2)


def answer_hits(log_probs: Tensor, windows: Tensor) -> Tensor:
    """Mark where the middle token is the best guess, float64 (N,) of 0 and 1."""
    return (log_probs.argmax(dim=1) == windows[:, MIDDLE]).double()


def better_guesses(
    model: Any, windows: Tensor, guess: Tensor, numbers: Numbers
) -> dict[str, Tensor]:
    """Rescore a shortlist with what the model did not read at its first guess.

    A GPT explains the right side; a T5 is told that one token is missing. BERT reads all of it.

    Args:
        windows: int64 (N, SEQ_LEN).
        guess: float (N, V), from `blank_guess`.

    Returns:
        Log-probabilities by name, float64 (N, V); of a GPT for the first `n_rescored` blanks only.
    """
    if isinstance(model, BERT):
        return {}
    n = numbers.n_rescored if isinstance(model, GPT) else len(windows)
    windows, guess = windows[:n], guess[:n]
    candidates = guess.topk(numbers.n_candidates, dim=1).indices
    if isinstance(model, GPT):
        found = right_log_likelihoods(model, windows, MIDDLE, candidates, n_right=numbers.n_right)
        name = "rescored"
    else:
        found = length_log_likelihoods(model, windows, MIDDLE, candidates, sentinel_ids=PAIR, **ONE)
        name = "length told"
    return {
        name: posterior_on_shortlist(guess, candidates, found, outside="smallest"),
        f"{name}, others as the median": posterior_on_shortlist(
            guess, candidates, found, outside="median"
        ),
    }


def exact_guess(model: Any, windows: Tensor, guess: Tensor, n_right: int) -> Tensor:
    """Rescore the whole vocabulary by Bayes' rule, with a GPT or a T5: log-probabilities (N, V).

    Args:
        windows: int64 (N, SEQ_LEN).
        guess: float (N, V), from `blank_guess`.
        n_right: Tokens to the right that a GPT explains.
    """
    everything = torch.arange(guess.shape[1]).expand(len(guess), -1)
    parts = []
    for part in everything.split(300, dim=1):
        if isinstance(model, GPT):
            parts.append(right_log_likelihoods(model, windows, MIDDLE, part, n_right=n_right))
        else:
            parts.append(
                length_log_likelihoods(model, windows, MIDDLE, part, sentinel_ids=PAIR, **ONE)
            )
    return posterior_on_shortlist(guess, everything, torch.cat(parts, dim=1))


def ask_whole(
    models: dict[str, Any], ids: Tensor, n: int, numbers: Numbers
) -> dict[str, list[float]]:
    """Rescore the whole vocabulary for the first n blanks, which takes minutes: bits by answer.

    `models` are "gpt", "bert" and "t5" of one seed; `ids` are int64 (L,), the test plays.
    """
    windows = numbers.blanks(ids)[:n]
    found: dict[str, list[float]] = {}
    for name, model in models.items():
        guess = blank_guess(model, windows)
        found[name] = answer_bits(guess, windows).tolist()
        if not isinstance(model, BERT):
            label = f"{name}, {'rescored' if isinstance(model, GPT) else 'length told'}"
            exact = exact_guess(model, windows, guess, numbers.n_right)
            found[label] = answer_bits(exact, windows).tolist()
    return found


def ask_blanks(model: Any, ids: Tensor, numbers: Numbers, *, exact: bool) -> dict[str, Any]:
    """Ask a model the single blanks: for each way of answering, bits and hits of each blank.

    `ids` are int64 (L,), the test plays. With `exact`, a GPT also scores the whole vocabulary for a
    few blanks.
    """
    windows = numbers.blanks(ids)
    guess = blank_guess(model, windows)
    ways = {"own": guess, **better_guesses(model, windows, guess, numbers)}
    if exact and isinstance(model, GPT):
        n = numbers.n_exact
        exactly = exact_guess(model, windows[:n], guess[:n], numbers.n_right)
        ways["rescored, whole vocabulary"] = exactly
    return {name: scored(log_probs, windows) for name, log_probs in ways.items()}


def scored(log_probs: Tensor, windows: Tensor) -> dict[str, list[float]]:
    """Return bits and hits of the first blanks, one for each row of log_probs."""
    asked = windows[: len(log_probs)]
    return {
        "bits": answer_bits(log_probs, asked).tolist(),
        "hits": answer_hits(log_probs, asked).tolist(),
    }


def ask_spans(model: Any, ids: Tensor, n: int) -> dict[str, list[float]]:
    """Ask for four tokens in a row in each of n windows, "middle" and "last": bits per token.

    `ids` are int64 (L,), the test plays. For a T5, also what the end of the span costs, in bits per
    span.
    """
    windows = windows_of(ids, n, seed=32)
    places = {"middle": (MIDDLE, MIDDLE + SPAN_LEN), "last": (SEQ_LEN - SPAN_LEN, SEQ_LEN)}
    result: dict[str, list[float]] = {}
    for name, (start, end) in places.items():
        if isinstance(model, GPT):
            log_probs = gpt_span_log_probs(model, windows, start, end)
        elif isinstance(model, BERT):
            log_probs = bert_span_log_probs(model, windows, start, end, mask_id=SPECIAL["mask_id"])
        else:
            both = t5_span_log_probs(model, windows, start, end, sentinel_ids=PAIR, **ONE)
            log_probs = both[:, :-1]
            result[f"{name}, end"] = in_bits(both[:, -1])
        result[name] = in_bits(log_probs.double().mean(dim=1))
    return result


def ask_text(model: GPT, ids: Tensor, n: int) -> list[float]:
    """Score the second half of each of n windows from the left, in bits per token."""
    windows = windows_of(ids, n, seed=33)
    return in_bits(gpt_span_log_probs(model, windows, MIDDLE, SEQ_LEN).double().mean(dim=1))


def in_bits(log_probs: Tensor) -> list[float]:
    """Turn log-probabilities in nats into code lengths in bits."""
    values: list[float] = (-log_probs.double() / math.log(2)).tolist()
    return values


def count_guess(model: Any, windows: Tensor) -> Tensor:
    """Return a count model's distribution for the middle token, float64 (N, V)."""
    parts = []
    for rows in windows.split(250):
        left, right = rows[:, MIDDLE - 4 : MIDDLE].numpy(), rows[:, MIDDLE + 1 :][:, :4].numpy()
        if isinstance(model, BidirectionalNGram):
            parts.append(torch.from_numpy(model.log_probs(left, right)))
        elif isinstance(model, KneserNey):
            parts.append(torch.from_numpy(model.next_probs(left)).log())
        else:
            every = model.log_probs(torch.arange(TOKENIZER.vocab_size).numpy())
            parts.append(torch.from_numpy(every).expand(len(rows), -1))
    return torch.cat(parts)


def count_models(ids: dict[str, Tensor], n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit the count models by name, their orders chosen on n blanks of the validation plays.

    Also returns the bits of each order tried.
    """
    windows = windows_of(ids["validation"], n, seed=34)
    train, size = ids["train"].numpy(), TOKENIZER.vocab_size
    models: dict[str, Any] = {"unigram": UnigramModel(size).fit(train)}
    tried: dict[str, dict[str, float]] = {"n-gram from the left": {}, "two-sided n-gram": {}}
    for order in (*N_GRAM_ORDERS, *TWO_SIDED_ORDERS):
        if isinstance(order, int):
            name, label, model = "n-gram from the left", str(order), KneserNey(order, size)
        else:
            name, label = "two-sided n-gram", f"{order[0]} left, {order[1]} right"
            model = BidirectionalNGram(*order, size)  # type: ignore[assignment]
        value = answer_bits(count_guess(model.fit(train), windows), windows).mean().item()
        if value < min(tried[name].values(), default=math.inf):
            models[name] = model
        tried[name][label] = value
    return models, tried


def ask_counts(models: dict[str, Any], ids: Tensor, numbers: Numbers) -> dict[str, Any]:
    """Ask the models of `count_models` what the networks are asked, as far as they can answer.

    `ids` are int64 (L,), the test plays. Returns blanks of all three; spans and text of the n-gram
    from the left.
    """
    windows = numbers.blanks(ids)
    blanks = {name: scored(count_guess(model, windows), windows) for name, model in models.items()}
    left = models["n-gram from the left"]

    def from_left(windows: Tensor, start: int, end: int) -> list[float]:
        """Score places start..end-1 with the tokens before them, in bits per token."""
        rows = [torch.from_numpy(left.log_probs(row.numpy())[start:end]) for row in windows]
        return in_bits(torch.stack(rows).mean(dim=1))

    spans = windows_of(ids, numbers.n_spans, seed=32)
    text = windows_of(ids, numbers.n_text, seed=33)
    return {
        "blanks": blanks,
        "spans": {
            "middle": from_left(spans, MIDDLE, MIDDLE + SPAN_LEN),
            "last": from_left(spans, SEQ_LEN - SPAN_LEN, SEQ_LEN),
        },
        "text": from_left(text, MIDDLE, SEQ_LEN),
    }
