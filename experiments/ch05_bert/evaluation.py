# SPDX-License-Identifier: MIT
"""The recorded BERT and GPT of the book on unseen plays: blanks, corrupted text, spans, typos.

Writes data/runs/bert_evaluation.json. All questions are drawn once from the test plays with fixed
seeds; the order of the two-sided n-gram and the thresholds are chosen on validation plays.

Options --gpt and --bert name other checkpoints, --quick asks a tenth of the questions.
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from experiments.ch05_bert.setup import load_ids
from experiments.ch05_bert.typos import judge_correctors
from experiments.common.records import Clock, rounded, write_run
from experiments.common.special_ids import special_of
from pretrain.bert import BERT
from pretrain.evaluation import (
    cloze_log_probs,
    left_log_probs,
    masked_log_probs,
    nats_to_bits,
    top_k_hits,
)
from pretrain.gpt import GPT
from pretrain.objectives import IGNORE_INDEX, REPLACEMENTS, corrupt_mlm, random_windows
from pretrain_lab.baselines.bidirectional_ngrams import BidirectionalNGram
from pretrain_lab.checkpoints import load_model
from pretrain_lab.statistics.intervals import bootstrap_interval, wilson_interval

SEQ_LEN = 128
MIDDLE = SEQ_LEN // 2
SEED = 21
N_BLANKS, N_WINDOWS, N_SPANS = 1000, 300, 400
N_CHECK = 200
ORDERS = ((3, 3), (4, 4), (5, 4))
REACHES = (0, 1, 2, 4, 8, 16, 32, 63)
SPAN_LENS = (1, 2, 4, 8)


def score(log_probs: Tensor, answers: Tensor) -> dict[str, Any]:
    """Compute bits with a bootstrap interval, and top-1 and top-5 with Wilson intervals.

    `log_probs` are float (n, V), in nats, or any scores; `answers` are int64 (n,).
    """
    losses = -log_probs.gather(1, answers[:, None])[:, 0].double() / torch.tensor(2.0).log()
    result: dict[str, Any] = {"n": len(answers)}
    if losses.isfinite().all():
        generator = torch.Generator().manual_seed(0)
        result["bits"] = list(bootstrap_interval(losses, generator=generator))
    for k in (1, 5):
        hits = int(top_k_hits(log_probs, answers, k).sum())
        result[f"top{k}"] = list(wilson_interval(hits, len(answers)))
    return result


@torch.inference_mode()
def rescored_by_reach(
    model: GPT, windows: Tensor, candidates: Tensor, reaches: tuple[int, ...]
) -> Tensor:
    """Return the GPT's distribution by Bayes' rule for several numbers of characters to the right.

    Args:
        model: A GPT in evaluation mode.
        windows: int64 (N, T), the blank in the middle.
        candidates: int64 (C,).
        reaches: How many characters to the right count; 0 = left only.

    Returns:
        Log-probabilities, float (len(reaches), N, V); ids that are no candidates get -inf.
    """
    out = torch.full((len(reaches), len(windows), model.config.vocab_size), float("-inf"))
    for row, window in enumerate(windows):
        filled = window.repeat(len(candidates), 1)
        filled[:, MIDDLE] = candidates
        log_probs = model(filled[:, :-1])[:, MIDDLE - 1 :].log_softmax(dim=-1)
        taken = log_probs.gather(-1, filled[:, MIDDLE:, None])[..., 0]  # blank, then its right
        sums = taken.double().cumsum(dim=1)[:, list(reaches)]  # (C, R)
        out[:, row, candidates] = sums.log_softmax(dim=0).T.float()
    return out


def n_gram_contexts(windows: Tensor, hidden: Tensor, reach: int) -> tuple[Tensor, Tensor, Tensor]:
    """Cut the neighbours of every hidden place, `reach` on each side; unknown ones are -1.

    `windows` are int64 (N, T), with -1 where nothing can be read; `hidden` is bool (N, T), the
    places to predict. Returns left (n, reach), right (n, reach) and the row of each place (n,).
    """
    padded = torch.nn.functional.pad(windows, (reach, reach), value=-1)
    rows, columns = hidden.nonzero(as_tuple=True)
    offsets = torch.arange(reach)
    left = padded[rows[:, None], columns[:, None] + offsets]
    right = padded[rows[:, None], columns[:, None] + reach + 1 + offsets]
    return left, right, rows


def n_gram_log_probs(model: BidirectionalNGram, windows: Tensor, hidden: Tensor) -> Tensor:
    """Fill hidden places with the two-sided n-gram, float (n, V)."""
    reach = max(model.order_left, model.order_right)
    left, right, _ = n_gram_contexts(windows, hidden, reach)
    parts = [
        torch.from_numpy(model.log_probs(a.numpy(), b.numpy())).float()
        for a, b in zip(left.split(500), right.split(500), strict=True)
    ]
    return torch.cat(parts)


def choose_n_gram(
    ids: dict[str, Tensor], vocab_size: int, orders: Sequence[tuple[int, int]] = ORDERS
) -> tuple[BidirectionalNGram, dict[str, Any]]:
    """Fit the two-sided n-grams and keep the one with the fewest bits on validation blanks."""
    generator = torch.Generator().manual_seed(SEED + 1)
    windows = random_windows(ids["validation"], 1000, SEQ_LEN, generator=generator)
    hidden = (torch.arange(SEQ_LEN) == MIDDLE).expand(1000, -1)
    tried: dict[str, float] = {}
    best: tuple[float, BidirectionalNGram] | None = None
    for order in orders:
        model = BidirectionalNGram(*order, vocab_size).fit(ids["train"].numpy())
        log_probs = n_gram_log_probs(model, windows, hidden)
        value = score(log_probs, windows[:, MIDDLE])["bits"][0]
        tried[f"{order[0]} left, {order[1]} right"] = value
        if best is None or value < best[0]:
            best = (value, model)
    assert best is not None
    chosen = [best[1].order_left, best[1].order_right]
    return best[1], {"chosen": chosen, "validation_bits": tried}


def judge_blanks(models: dict[str, Any], ids: dict[str, Tensor], n: int) -> dict[str, Any]:
    """Fill one blank at a time in every way, on the same windows."""
    tokenizer = models["tokenizer"]
    generator = torch.Generator().manual_seed(SEED)
    windows = random_windows(ids["test"], n, SEQ_LEN, generator=generator)
    places, answers = torch.full((n,), MIDDLE), windows[:, MIDDLE]
    hidden = (torch.arange(SEQ_LEN) == MIDDLE).expand(n, -1)
    candidates = torch.arange(len(tokenizer.special_ids), tokenizer.vocab_size)
    reach = rescored_by_reach(models["gpt"], windows, candidates, REACHES)
    ways = {
        "bert": cloze_log_probs(models["bert"], windows, places, mask_id=tokenizer.mask_id),
        "gpt_left": left_log_probs(models["gpt"], windows, places),
        "gpt_rescored": reach[-1],
        "n_gram": n_gram_log_probs(models["n_gram"], windows, hidden),
        "random_encoder": cloze_log_probs(
            models["random"], windows, places, mask_id=tokenizer.mask_id
        ),
        "unigram": models["unigram"].expand(n, -1),
    }
    losses = {k: -v.gather(1, answers[:, None])[:, 0].double() for k, v in ways.items()}
    gaps = {
        name: [
            nats_to_bits(value)
            for value in bootstrap_interval(
                losses[name] - losses["bert"], generator=torch.Generator().manual_seed(0)
            )
        ]
        for name in ("gpt_left", "gpt_rescored", "n_gram")
    }
    first = slice(0, min(N_CHECK, n))
    return {
        "n": n,
        "seed": SEED,
        "ways": {name: score(lp, answers) for name, lp in ways.items()},
        "minus_bert": gaps,
        "share_left_better_than_rescored": list(
            wilson_interval(int((losses["gpt_left"] < losses["gpt_rescored"]).sum()), n)
        ),
        "reach": [score(lp, answers)["bits"] for lp in reach],
        "reaches": list(REACHES),
        "check": {
            "n": min(N_CHECK, n),
            **{
                k: nats_to_bits(losses[k][first].mean().item())
                for k in ("bert", "gpt_left", "n_gram")
            },
        },
        "check_rescored": nats_to_bits(losses["gpt_rescored"][:20].mean().item()),
    }


@torch.inference_mode()
def fill_left_to_right(model: GPT, corrupted: Tensor, mask_id: int) -> tuple[Tensor, Tensor]:
    """Read corrupted text from the left, each [MASK] replaced by the GPT's own best guess.

    `corrupted` is int64 (N, T); column 0 must hold no [MASK].

    Returns:
        Log-probabilities of every position but the first, float (N, T - 1, V), and the text as the
        GPT filled it, int64 (N, T).
    """
    read = corrupted.clone()
    for t in range(1, corrupted.shape[1]):
        rows = (corrupted[:, t] == mask_id).nonzero().flatten()
        if len(rows):
            read[rows, t] = model(read[rows, :t])[:, -1].argmax(dim=-1)
    return model(read[:, :-1]).log_softmax(dim=-1), read


def copy_scores(corrupted: Tensor, unigram: Tensor, mask_id: int) -> Tensor:
    """Score the copying baseline: first what stands there, then by frequency; (n, V)."""
    scores = unigram.expand(len(corrupted), -1).clone()
    visible = corrupted != mask_id
    scores[visible.nonzero().flatten(), corrupted[visible]] = 1.0
    return scores


def judge_corrupted(models: dict[str, Any], ids: dict[str, Tensor], n: int) -> dict[str, Any]:
    """Judge every baseline on corrupted text (15 % selected, 80/10/10), over all and by fate."""
    tokenizer = models["tokenizer"]
    generator = torch.Generator().manual_seed(SEED + 2)
    windows = random_windows(ids["test"], n, SEQ_LEN, generator=generator)
    corrupted, labels, fates = corrupt_mlm(windows, generator=generator, **special_of(tokenizer))
    corrupted[:, 0], labels[:, 0] = windows[:, 0], IGNORE_INDEX  # a GPT needs one to start from
    asked = labels != IGNORE_INDEX
    answers, fate = labels[asked], fates[asked]
    read = corrupted.masked_fill(corrupted == tokenizer.mask_id, -1)
    left = fill_left_to_right(models["gpt"], corrupted, tokenizer.mask_id)[0]
    unigram = models["unigram"].expand(len(answers), -1)
    ways = {
        "bert": masked_log_probs(models["bert"], corrupted, labels)[0],
        "gpt_left": left[asked[:, 1:]],
        "n_gram": n_gram_log_probs(models["n_gram"], read, asked),
        "random_encoder": masked_log_probs(models["random"], corrupted, labels)[0],
        "copying": copy_scores(corrupted[asked], models["unigram"], tokenizer.mask_id),
        "unigram": unigram,
    }
    result: dict[str, Any] = {"n": len(answers), "n_windows": n, "ways": {}}
    for name, log_probs in ways.items():
        result["ways"][name] = score(log_probs, answers)
        if name == "copying":
            result["ways"][name].pop("bits", None)  # a rule, no distribution
        for code in (1, 2, 3):
            chosen = fate == code
            hits = int(top_k_hits(log_probs[chosen], answers[chosen], 1).sum())
            share = list(wilson_interval(hits, int(chosen.sum())))
            result["ways"][name][f"top1_{REPLACEMENTS[code]}"] = share
    visible = (corrupted[asked] == answers).double().mean().item()
    return {**result, "share_visible": visible}


@torch.inference_mode()
def unmask(model: BERT, windows: Tensor, mask_id: int, *, at_once: bool) -> Tensor:
    """Fill all [MASK] of each window: in one pass, or one at a time, the surest first."""
    filled = windows.clone()
    while (masked := filled == mask_id).any():
        top, guess = model(filled).log_softmax(dim=-1).max(dim=-1)  # (N, T)
        if at_once:
            return torch.where(masked, guess, filled)
        best = top.masked_fill(~masked, float("-inf")).argmax(dim=1)
        rows = masked.any(dim=1).nonzero().flatten()
        filled[rows, best[rows]] = guess[rows, best[rows]]
    return filled


def judge_spans(models: dict[str, Any], ids: dict[str, Tensor], n: int) -> dict[str, Any]:
    """Hide a whole span: BERT at once, BERT one at a time, GPT from the left."""
    tokenizer = models["tokenizer"]
    generator = torch.Generator().manual_seed(SEED + 3)
    windows = random_windows(ids["test"], n, SEQ_LEN, generator=generator)
    result: dict[str, Any] = {"n": n, "lengths": list(SPAN_LENS), "exact": {}, "character": {}}
    for length in SPAN_LENS:
        span = slice(MIDDLE, MIDDLE + length)
        holes = windows.clone()
        holes[:, span] = tokenizer.mask_id
        fills = {
            "bert_at_once": unmask(models["bert"], holes, tokenizer.mask_id, at_once=True),
            "bert_one_by_one": unmask(models["bert"], holes, tokenizer.mask_id, at_once=False),
            "gpt_left": fill_left_to_right(models["gpt"], holes, tokenizer.mask_id)[1],
        }
        for name, filled in fills.items():
            right = filled[:, span] == windows[:, span]
            exact = wilson_interval(int(right.all(dim=1).sum()), n)
            result["exact"].setdefault(name, []).append(list(exact))
            result["character"].setdefault(name, []).append(right.double().mean().item())
    return result


def load_models(gpt: str, bert: str, ids: dict[str, Tensor]) -> dict[str, Any]:
    """Load the two recorded models and make the baselines."""
    models: dict[str, Any] = {}
    models["gpt"], tokenizer = load_model(gpt)
    models["bert"], other = load_model(bert)
    if tokenizer.tokens != other.tokens:
        raise ValueError("expected both models to have one vocabulary")
    models["tokenizer"] = tokenizer
    torch.manual_seed(SEED)
    models["random"] = BERT(models["bert"].config).eval()
    counts = torch.bincount(ids["train"], minlength=tokenizer.vocab_size).float()
    counts[len(tokenizer.special_ids) :] += 1  # a character that never came still may
    models["unigram"] = (counts.clamp(min=1e-9) / counts.sum()).log()
    return models


def main() -> None:
    """Ask everything and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpt", default="gpt_chars")
    parser.add_argument("--bert", default="bert_chars")
    parser.add_argument("--quick", action="store_true", help="ask a tenth; print, write nothing")
    options = parser.parse_args()
    clock = Clock()
    share = 10 if options.quick else 1
    tokenizer, ids = load_ids(load_model(options.bert)[1])
    models = load_models(options.gpt, options.bert, ids)
    models["n_gram"], n_gram = choose_n_gram(ids, tokenizer.vocab_size)
    result = {
        "question": "What do the recorded models do on unseen plays?",
        "unit": "bits per character; shares",
        "interval": "95 %; bootstrap over blanks for bits, Wilson for shares",
        "models": {"gpt": options.gpt, "bert": options.bert},
        "n_gram": n_gram,
        "blanks": judge_blanks(models, ids, N_BLANKS // share),
    }
    print("blanks", flush=True)
    result["corrupted"] = judge_corrupted(models, ids, N_WINDOWS // share)
    result["spans"] = judge_spans(models, ids, N_SPANS // share)
    print("spans", flush=True)
    result["typos"] = judge_correctors(models["gpt"], models["bert"], tokenizer, share)
    if options.quick:
        print(json.dumps(rounded(result), indent=1))
        return
    write_run("bert_evaluation", result, clock)


if __name__ == "__main__":
    main()
