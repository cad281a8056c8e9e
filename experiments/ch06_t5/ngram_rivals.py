# SPDX-License-Identifier: MIT
"""Count models of subwords beside the book's T5: from the left, and from both sides of a blank.

`evaluation` asks them. They are told the lengths of the spans, and read the true text to the
left of a place, earlier spans included; on the right, only what was not cut out.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.ch06_t5.setup import (
    Questions,
    ask,
    by_length,
    cluster_interval,
    share_interval,
    split_ids,
    taken,
    target_log_probs,
    text_only,
    truths,
)
from pretrain.t5 import T5
from pretrain_lab.baselines.bidirectional_ngrams import BidirectionalNGram
from pretrain_lab.baselines.kneser_ney import KneserNey, UnigramModel
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

CHECK_SEED = 32
N_CHECK = 20_000  # tokens of the validation plays on which the left order is chosen
LEFT_ORDERS = (2, 3, 4)
TWO_SIDED_ORDERS = ((1, 1), (2, 1), (1, 2), (2, 2))


def cut_places(asked: Questions) -> list[tuple[int, int, int, int]]:
    """List all spans: window, number of the span in it, start, end."""
    return [
        (row, i, start, end)
        for row, spans in enumerate(asked.spans)
        for i, (start, end) in enumerate(spans)
    ]


def next_log_probs(model: KneserNey, texts: list[list[int]]) -> Tensor:
    """Predict the token after each text, from as much of it as the model reads; float (n, V)."""
    out = torch.empty(len(texts), model.vocab_size)
    lens = np.array([min(len(text), model.order - 1) for text in texts])
    for length in np.unique(lens):
        rows = np.flatnonzero(lens == length)
        for part in np.array_split(rows, -(-len(rows) // 250)):
            contexts = [texts[row][len(texts[row]) - length :] for row in part]
            probs = model.next_probs(np.array(contexts, dtype=np.int64).reshape(-1, length))
            out[torch.from_numpy(part)] = torch.from_numpy(probs).log().float()
    return out


def judge_left(model: KneserNey, asked: Questions) -> dict[str, Any]:
    """Let the model from the left score the cut-out tokens, and write the spans greedily."""
    places, n = cut_places(asked), len(asked.windows)
    losses, counts = torch.zeros(n), torch.zeros(n)
    guesses: list[list[int]] = [[] for _ in places]
    longest = max(end - start for _, _, start, end in places)
    for step in range(longest):
        open_ = [k for k, (_, _, start, end) in enumerate(places) if start + step < end]
        read, true, answers = [], [], []
        for k in open_:
            row, _, start, _ = places[k]
            text = asked.windows[row].tolist()
            read.append(text[:start] + guesses[k])
            true.append(text[: start + step])
            answers.append(text[start + step])
        for k, guess in zip(open_, next_log_probs(model, read).argmax(dim=1), strict=True):
            guesses[k].append(int(guess))
        nats = taken(next_log_probs(model, true)[:, None], torch.tensor(answers)[:, None])[:, 0]
        rows = torch.tensor([places[k][0] for k in open_])
        losses.index_add_(0, rows, nats.float())
        counts.index_add_(0, rows, torch.ones(len(rows)))
    hits: list[list[bool]] = [[] for _ in range(n)]
    for (row, _, start, end), guess in zip(places, guesses, strict=True):
        hits[row].append(asked.windows[row, start:end].tolist() == guess)
    nats_told = cluster_interval(losses, counts)
    return {"order": model.order, "nats_told": nats_told, "told": by_length(asked, hits)}


def single_blanks(asked: Questions) -> list[tuple[int, int, int]]:
    """List the spans of one token: window, number of the span in it, place."""
    return [(row, i, start) for row, i, start, end in cut_places(asked) if end == start + 1]


def two_sided_log_probs(
    model: BidirectionalNGram, asked: Questions, blanks: list[tuple[int, int, int]]
) -> Tensor:
    """Fill blanks from true text on the left and from what was not cut out on the right."""
    reach = max(model.order_left, model.order_right)
    left, right = [], []
    for row, _, place in blanks:
        text = asked.windows[row]
        visible = text.masked_fill(asked.corrupted.noise[row], -1)
        left.append(F.pad(text[:place], (reach, 0), value=-1)[-reach:])
        right.append(F.pad(visible[place + 1 :], (0, reach), value=-1)[:reach])
    parts = [
        torch.from_numpy(model.log_probs(a.numpy(), b.numpy())).float()
        for a, b in zip(torch.stack(left).split(200), torch.stack(right).split(200), strict=True)
    ]
    return torch.cat(parts)


def score_blanks(
    log_probs: Tensor, asked: Questions, blanks: list[tuple[int, int, int]]
) -> dict[str, Any]:
    """Return nats and top-1 of distributions, float (n, V), with intervals over windows."""
    rows = torch.tensor([row for row, _, _ in blanks])
    answers = torch.stack([asked.windows[row, place] for row, _, place in blanks])
    trials = torch.bincount(rows)
    nats = taken(log_probs[:, None], answers[:, None])[:, 0]
    hits = (log_probs.argmax(dim=1) == answers).double()
    return {
        "nats": cluster_interval(torch.bincount(rows, nats), trials),
        "top1": share_interval(torch.bincount(rows, hits), trials),
    }


def judge_single(
    model: T5, tokenizer: SubwordTokenizer, asked: Questions, counts: dict[str, Any]
) -> dict[str, Any]:
    """Compare all models on spans of one token, all told the length and the spans before."""
    blanks = single_blanks(asked)
    targets = asked.corrupted.targets
    log_probs = target_log_probs(model, asked.corrupted.inputs, targets)
    log_probs = text_only(log_probs, tokenizer.special_ids)
    places = [
        int((targets[row] == tokenizer.sentinel_ids[i]).nonzero()[0]) + 1 for row, i, _ in blanks
    ]
    t5 = torch.stack([log_probs[row, t] for (row, _, _), t in zip(blanks, places, strict=True)])
    left = [asked.windows[row, :place].tolist() for row, _, place in blanks]
    ways = {
        "t5": t5,
        "two_sided": two_sided_log_probs(counts["two_sided"], asked, blanks),
        "kneser_ney": next_log_probs(counts["kneser_ney"], left),
        "unigram": counts["unigram"].expand(len(blanks), -1),
    }
    return {
        "n": len(blanks),
        "two_sided_orders": [counts["two_sided"].order_left, counts["two_sided"].order_right],
        **{name: score_blanks(scores, asked, blanks) for name, scores in ways.items()},
    }


def fit_counts(
    tokenizer: SubwordTokenizer, n_counted: int | None, n_check_windows: int
) -> dict[str, Any]:
    """Count the training plays, with the orders that fit the validation plays best.

    `n_counted` tokens are counted; None = all. The two-sided order is chosen on the blanks of
    `n_check_windows` windows.
    """
    size, train = tokenizer.vocab_size, split_ids(tokenizer, "train")[:n_counted]
    held_out = split_ids(tokenizer, "validation")
    text = train.numpy()
    lefts = [KneserNey(order, size).fit(text) for order in LEFT_ORDERS]
    left_nats = {
        model.order: -float(model.log_probs(held_out[:N_CHECK].numpy()).mean()) for model in lefts
    }
    check = ask(tokenizer, held_out, n_check_windows, seed=CHECK_SEED)
    blanks = single_blanks(check)
    sides = [BidirectionalNGram(*orders, size).fit(text) for orders in TWO_SIDED_ORDERS]
    side_nats = [
        score_blanks(two_sided_log_probs(m, check, blanks), check, blanks)["nats"][0] for m in sides
    ]
    unigram = UnigramModel(size).fit(text).log_probs(np.arange(size))
    return {
        "kneser_ney": min(lefts, key=lambda model: left_nats[model.order]),
        "two_sided": sides[int(np.argmin(side_nats))],
        "unigram": torch.from_numpy(unigram).float(),
        "choice": {
            "kneser_ney_nats": {str(order): nats for order, nats in left_nats.items()},
            "two_sided_nats": {
                f"{m.order_left}, {m.order_right}": nats
                for m, nats in zip(sides, side_nats, strict=True)
            },
        },
    }


def judge_most_frequent(
    tokenizer: SubwordTokenizer, asked: Questions, unigram: Tensor
) -> dict[str, Any]:
    """Fill every place with the most frequent token of the training plays."""
    best = int(unigram.argmax())
    hits = [[span == [best] * len(span) for span in spans] for spans in truths(asked)]
    return {"token": tokenizer.tokens[best], "told": by_length(asked, hits)}
