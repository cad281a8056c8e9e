# SPDX-License-Identifier: MIT
"""Mistakes of fine-tuning, made on purpose: what each one costs on the test films.

Those that need training are made once, with one seed and the settings of the method "full".
"""

from typing import Any

import torch
from torch import nn

from experiments.ch09_finetuning.methods import (
    METHODS,
    Plan,
    draw_labelled,
    encode,
    encoded,
    hits_of,
    make_model,
    pad_id,
    share,
    train,
)
from pretrain_lab.finetuning.hf_heads import collate, decode_class, predict_hf

SEED = 0
RATE_FACTOR = 100
N_READINGS = 3


def full_model(plan: Plan, lr: float) -> nn.Module:
    """Fine-tune everything once more, as seed 0 of the method "full" does."""
    model = make_model(METHODS["full"], SEED)
    train(plan, model, encode(draw_labelled(plan.n_labels, SEED)), lr, SEED)
    return model


def high_rate(plan: Plan, lr: float) -> dict[str, Any]:
    """Take a learning rate that is far too large."""
    model = make_model(METHODS["full"], SEED)
    made = train(plan, model, encode(draw_labelled(plan.n_labels, SEED)), RATE_FACTOR * lr, SEED)
    chosen = predict_hf(model, encoded(plan.asked, "test"), decode_class, pad_id=pad_id())
    return {
        "lr": RATE_FACTOR * lr,
        "losses": made["losses"],
        "accuracy": share(hits_of(plan, model, "test")),
        "share_of_the_larger_answer": max(chosen.count(0), chosen.count(1)) / len(chosen),
    }


def misplaced_labels(plan: Plan, lr: float) -> dict[str, Any]:
    """Sort the sentences by length and forget to sort the labels."""
    model = make_model(METHODS["full"], SEED)
    examples = encode(draw_labelled(plan.n_labels, SEED))
    labels = [example["labels"] for example in examples]
    examples.sort(key=lambda example: len(example["input_ids"]))
    wrong = [{**e, "labels": label} for e, label in zip(examples, labels, strict=True)]
    n_right = sum(e["labels"] == label for e, label in zip(examples, labels, strict=True))
    made = train(plan, model, wrong, lr, SEED)
    return {
        "losses": made["losses"],
        "accuracy": share(hits_of(plan, model, "test")),
        "share_of_right_labels": n_right / len(wrong),
    }


@torch.no_grad()
def _classes(
    plan: Plan, model: nn.Module, batch_size: int, *, masked: bool, order: list[int]
) -> list[int]:
    """Ask the test sentences in an order, in batches padded to the longest."""
    examples, found = encoded(plan.asked, "test"), [0] * len(order)
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        batch = collate([examples[i] for i in rows], pad_id())
        del batch["labels"]
        if not masked:
            batch["attention_mask"] = torch.ones_like(batch["attention_mask"])
        chosen = model(**batch)["logits"].argmax(dim=-1).tolist()
        for i, answer in zip(rows, chosen, strict=True):
            found[i] = answer
    return found


def reading_mistakes(plan: Plan, lr: float) -> dict[str, Any]:
    """Read one fine-tuned model in wrong ways: padding not masked, dropout left on.

    Returns accuracies, and the shares of sentences whose answer changed: with other neighbours in
    the batch, or from one reading to the next.
    """
    model, truth = (
        full_model(plan, lr),
        [example["labels"] for example in encoded(plan.asked, "test")],
    )
    n = len(truth)
    orders = [
        torch.randperm(n, generator=torch.Generator().manual_seed(s)).tolist() for s in (1, 2)
    ]

    def right(found: list[int]) -> float:
        """Return the share of right answers."""
        return sum(a == b for a, b in zip(found, truth, strict=True)) / n

    def changed(first: list[int], second: list[int]) -> float:
        """Return the share of answers that differ."""
        return sum(a != b for a, b in zip(first, second, strict=True)) / n

    model.eval()
    with_mask = [_classes(plan, model, 32, masked=True, order=order) for order in orders]
    without = [_classes(plan, model, 32, masked=False, order=order) for order in orders]
    model.train()
    torch.manual_seed(0)
    drawn = [_classes(plan, model, 32, masked=True, order=orders[0]) for _ in range(N_READINGS)]
    return {
        "right": right(with_mask[0]),
        "right_changed": changed(*with_mask),
        "no_mask": right(without[0]),
        "no_mask_changed": changed(*without),
        "no_mask_differs": changed(with_mask[0], without[0]),
        "dropout": [right(found) for found in drawn],
        "dropout_changed": changed(drawn[0], drawn[1]),
    }
