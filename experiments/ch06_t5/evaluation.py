# SPDX-License-Identifier: MIT
"""The book's T5 on unseen plays: losses by kind of token, exact spans, fill-ins, sentinel order.

Writes data/runs/t5_evaluation.json. Windows of the test plays are drawn once with a fixed seed and
corrupted as in training; `setup` says how a span is written. It counts as exact when all its
tokens are right. Count models, whose orders are chosen on validation plays, are told the lengths
and read the true text to the left of a span, earlier spans included.

Option --model names another checkpoint; --quick takes an untrained model and few windows, prints
what it would record, and writes nothing.
"""

import argparse
import json
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.book_models.character_models import RECIPES
from experiments.ch06_t5.ngram_rivals import (
    fit_counts,
    judge_left,
    judge_most_frequent,
    judge_single,
)
from experiments.ch06_t5.setup import (
    SEQ_LEN,
    SPAN_LENS,
    Questions,
    ask,
    by_length,
    exact_spans,
    share_interval,
    split_ids,
    taken,
    target_log_probs,
    text_only,
    truths,
    until_end,
    where,
    write_free,
    write_told,
    written_spans,
)
from experiments.common.records import Clock, rounded, write_run
from pretrain.t5 import T5, T5Config
from pretrain_lab.checkpoints import load_model
from pretrain_lab.tokenizers.subwords import SubwordTokenizer, load_tokenizer

SEED = 31


@dataclass(frozen=True)
class Plan:
    """How much is asked and counted."""

    n_windows: int = 1000
    n_counted: int | None = None  # tokens of the training plays that are counted; None = all
    n_check_windows: int = 400  # of validation plays, whose blanks choose the two-sided order

    @classmethod
    def quick(cls) -> "Plan":
        """Ask few windows."""
        return cls(30, 50_000, 40)


N_EXAMPLES = 8
KINDS = ("opening", "first", "later", "closing", "end")
"""Of a target's tokens: its first sentinel, a span's first token, its others, the sentinel that
ends a span, and </s>."""


def kinds_of(targets: Tensor, tokenizer: SubwordTokenizer) -> Tensor:
    """Return for each token of targets (N, T) which of KINDS it is, int64 (N, T)."""
    is_sentinel = torch.isin(targets, torch.tensor(tokenizer.sentinel_ids))
    after_sentinel = F.pad(is_sentinel, (1, 0))[:, :-1]
    kinds = torch.where(after_sentinel, KINDS.index("first"), KINDS.index("later"))
    kinds = kinds.masked_fill(is_sentinel, KINDS.index("closing"))
    kinds[:, 0] = KINDS.index("opening")
    return kinds.masked_fill(targets == tokenizer.eos_id, KINDS.index("end"))


def judge_losses(
    model: T5, tokenizer: SubwordTokenizer, asked: Questions, unigram: Tensor
) -> dict[str, Any]:
    """Score the true targets, all of them and by kind of token.

    `unigram` holds log-probabilities of the tokens by their share of the training text, float (V,).
    """
    targets = asked.corrupted.targets
    log_probs = target_log_probs(model, asked.corrupted.inputs, targets)
    losses, kinds = taken(log_probs, targets), kinds_of(targets, tokenizer)
    told = taken(text_only(log_probs, tokenizer.special_ids), targets)
    hits = (log_probs.argmax(dim=-1) == targets).double()
    result: dict[str, Any] = {"nats": where(losses, torch.ones_like(kinds, dtype=torch.bool))}
    result["kinds"] = {
        kind: {
            "n": int((kinds == i).sum()),
            "nats": where(losses, kinds == i),
            "top1": share_interval((hits * (kinds == i)).sum(dim=1), (kinds == i).sum(dim=1)),
        }
        for i, kind in enumerate(KINDS)
    }
    first = kinds == KINDS.index("first")
    is_text = first | (kinds == KINDS.index("later"))
    result["text"] = {
        "n": int(is_text.sum()),
        "nats": where(losses, is_text),
        "nats_told": where(told, is_text),
        "nats_told_first": where(told, first),
        "nats_told_later": where(told, is_text & ~first),
        "nats_unigram": where(-unigram[targets].double(), is_text),
    }
    return result


def judge_spans(model: T5, tokenizer: SubwordTokenizer, asked: Questions) -> dict[str, Any]:
    """Let the model write all spans, free and told the lengths."""
    inputs, targets = asked.corrupted.inputs, asked.corrupted.targets
    free = write_free(model, inputs, targets.shape[1] + 10)
    told = torch.cat(
        [
            write_told(model, read, target, tokenizer.special_ids)
            for read, target in zip(inputs.split(100), targets.split(100), strict=True)
        ]
    )
    outputs = [written_spans(row.tolist(), tokenizer) for row in free]
    right_len = [
        [len(output.get(i, [])) == len(span) for i, span in enumerate(spans)]
        for output, spans in zip(outputs, truths(asked), strict=True)
    ]
    return {
        "n_by_length": {
            str(k): sum(end - start == k for spans in asked.spans for start, end in spans)
            for k in SPAN_LENS
        },
        "free": by_length(asked, exact_spans(free, asked, tokenizer)),
        "told": by_length(asked, exact_spans(told, asked, tokenizer)),
        "right_length_free": by_length(asked, right_len),
        "examples": examples(asked, free, told, tokenizer),
    }


def examples(
    asked: Questions, free: Tensor, told: Tensor, tokenizer: SubwordTokenizer
) -> list[dict[str, Any]]:
    """Write the first windows as text: input, true spans, and what the model wrote."""
    rows = []
    for i in range(min(N_EXAMPLES, len(asked.windows))):
        truth = truths(asked)[i]
        wrote = [written_spans(ids[i].tolist(), tokenizer) for ids in (free, told)]
        rows.append(
            {
                "input": tokenizer.decode(asked.corrupted.inputs[i]),
                "target": tokenizer.decode(asked.corrupted.targets[i]),
                "truth": [tokenizer.decode(span) for span in truth],
                "free": [tokenizer.decode(wrote[0].get(n, [])) for n in range(len(truth))],
                "told": [tokenizer.decode(wrote[1].get(n, [])) for n in range(len(truth))],
            }
        )
    return rows


def judge_order(model: T5, tokenizer: SubwordTokenizer, asked: Questions) -> dict[str, Any]:
    """Number the holes of the input from the right instead of the left.

    The same spans are judged twice: "by name", as if the output belonged to the sentinels
    (first the span of the last hole, which is now called <extra_id_0>), and "by place", as if
    the model filled the holes from left to right whatever they are called.
    """
    n_spans = torch.tensor([len(spans) for spans in asked.spans])
    if not (n_spans == n_spans[0]).all():
        raise ValueError("expected windows with equally many spans")
    names = torch.tensor(tokenizer.sentinel_ids[: int(n_spans[0])])
    inputs = asked.corrupted.inputs.clone()
    for old, new in zip(names.tolist(), names.flip(0).tolist(), strict=True):
        inputs[asked.corrupted.inputs == old] = new
    targets = asked.corrupted.targets
    turned = turned_targets(asked, tokenizer)
    n_new = targets.shape[1] + 10
    outputs = {
        "usual": write_free(model, asked.corrupted.inputs, n_new),
        "reversed": write_free(model, inputs, n_new),
    }
    result: dict[str, Any] = {}
    for name, target, read, order in (
        ("usual", targets, asked.corrupted.inputs, 1),
        ("reversed_by_name", turned, inputs, -1),
        ("reversed_by_place", targets, inputs, 1),
    ):
        losses = taken(target_log_probs(model, read, target), target)
        special = torch.isin(target, torch.tensor(tokenizer.special_ids))
        written = [written_spans(row.tolist(), tokenizer) for row in outputs[name.split("_by_")[0]]]
        hits = torch.tensor(
            [
                sum(output.get(i) == span for i, span in enumerate(spans[::order]))
                for output, spans in zip(written, truths(asked), strict=True)
            ]
        )
        result[name] = {
            "exact": share_interval(hits, n_spans),
            "text_nats": where(losses, ~special),
        }
    starts = outputs["reversed"][:, 0] == names[0]
    result["share_that_starts_with_sentinel_0"] = starts.double().mean().item()
    result["examples"] = [
        {
            "input": tokenizer.decode(inputs[i]),
            "usual": tokenizer.decode(until_end(outputs["usual"][i], tokenizer)),
            "reversed": tokenizer.decode(until_end(outputs["reversed"][i], tokenizer)),
        }
        for i in range(min(3, len(inputs)))
    ]
    return result


def turned_targets(asked: Questions, tokenizer: SubwordTokenizer) -> Tensor:
    """Write the targets with the last span first: what the names of reversed sentinels ask for."""
    rows = []
    for spans in truths(asked):
        row: list[int] = []
        for name, span in zip(tokenizer.sentinel_ids, reversed(spans), strict=False):
            row += [name, *span]
        rows.append([*row, tokenizer.sentinel_ids[len(spans)], tokenizer.eos_id])
    return torch.tensor(rows)


def load(name: str, *, untrained: bool) -> tuple[T5, SubwordTokenizer]:
    """Load the recorded model, or make an untrained one of its shape."""
    if not untrained:
        model, tokenizer = load_model(name)
        return model, tokenizer
    tokenizer = load_tokenizer(RECIPES["t5"]["vocabulary"])
    torch.manual_seed(0)
    return T5(T5Config(tokenizer.vocab_size, **RECIPES["t5"]["shape"])).eval(), tokenizer


def main() -> None:
    """Ask everything and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="t5_subwords")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    clock = Clock()
    plan = Plan.quick() if options.quick else Plan()
    model, tokenizer = load(options.model, untrained=options.quick)
    asked = ask(tokenizer, split_ids(tokenizer, "test"), plan.n_windows, seed=SEED)
    counts = fit_counts(tokenizer, plan.n_counted, plan.n_check_windows)
    print("counted", counts["choice"], flush=True)
    result = {
        "question": "What does the recorded T5 write into spans of unseen plays?",
        "unit": "nats per token of plays_bpe; shares",
        "interval": "95 %, bootstrap over windows",
        "model": options.model,
        "seq_len": SEQ_LEN,
        "n_windows": plan.n_windows,
        "loss": judge_losses(model, tokenizer, asked, counts["unigram"]),
        "spans": judge_spans(model, tokenizer, asked),
        "order": judge_order(model, tokenizer, asked),
        "counts": {
            "choice": counts["choice"],
            "kneser_ney": judge_left(counts["kneser_ney"], asked),
            "most_frequent": judge_most_frequent(tokenizer, asked, counts["unigram"]),
        },
        "single": judge_single(model, tokenizer, asked, counts),
    }
    if options.quick:
        print(json.dumps(rounded(result), indent=1))
    else:
        write_run("t5_evaluation", result, clock)


if __name__ == "__main__":
    main()
