# SPDX-License-Identifier: MIT
"""What fine-tuning on reviews makes the book's BERT forget of the plays.

Asked before and after: tokens of unseen plays, 15 % hidden, by the masked-LM head, which the
classifier never uses. Part of each method's cost can be undone: without its adapters a model
fine-tuned by LoRA is what it was.
"""

import copy
from functools import cache
from typing import Any

import torch
from torch import Generator, Tensor

from experiments.ch08_labels.data import Sentences
from experiments.ch09_finetuning.methods import Plan
from pretrain.evaluation import masked_log_probs, nats_to_bits
from pretrain.objectives import IGNORE_INDEX, corrupt_mlm
from pretrain.training import OptimConfig, fit
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.finetuning.freezing import FULL, count_parameters, freeze_except
from pretrain_lab.finetuning.lora import ADAPTERS, add_lora, lora_layers
from pretrain_lab.finetuning.sequence_classification import (
    TextClassifier,
    classification_loss,
    predict_classes,
)

NAME, SEQ_LEN, BATCH_SIZE = "book_bert", 64, 16
RATES: dict[str, tuple[float, ...]] = {
    "full": (3e-4, 1e-3, 3e-3), "lora": (1e-3, 3e-3, 1e-2), "probe": (3e-3, 1e-2, 3e-2),
}  # fmt: skip
PATTERNS = {"full": FULL, "lora": (*ADAPTERS, "head.*"), "probe": ("head.*",)}
RANK, ALPHA = 8, 16.0


@cache
def original() -> tuple[Any, Any]:
    """Load the model and its tokeniser once."""
    return load_model(NAME)


@cache
def play_blanks(n_windows: int) -> tuple[Tensor, Tensor]:
    """Cut unseen plays into windows and hide tokens: what is read, and the labels, (N, T)."""
    tokenizer = original()[1]
    speeches = [
        f"{speech.speaker}:\n{speech.text}"
        for play in load_shakespeare("test")
        for speech in play.speeches
    ]
    end = torch.tensor([tokenizer.sep_id])
    ids = torch.cat([torch.cat([tokenizer.encode(text), end]) for text in speeches])
    windows = ids[: len(ids) // (SEQ_LEN - 1) * (SEQ_LEN - 1)].view(-1, SEQ_LEN - 1)
    windows = windows[:: len(windows) // n_windows][:n_windows]
    windows = torch.cat([torch.full((len(windows), 1), tokenizer.cls_id), windows], dim=1)
    found = corrupt_mlm(
        windows, mask_id=tokenizer.mask_id, vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids, generator=Generator().manual_seed(3),
        mask_replace_prob=1.0, random_replace_prob=0.0,
    )  # fmt: skip
    return found.ids, found.labels


def play_bits(bert: Any, n_windows: int) -> list[float]:
    """Return the bits per hidden token of each window of the plays."""
    ids, labels = play_blanks(n_windows)
    log_probs, answers = masked_log_probs(bert, ids, labels)
    losses = -log_probs[torch.arange(len(answers)), answers]
    rows = (labels != IGNORE_INDEX).nonzero()[:, 0]
    sums = torch.zeros(len(ids)).index_add_(0, rows, losses)
    counts = torch.bincount(rows, minlength=len(ids))
    return [nats_to_bits(v) for v in (sums / counts.clamp(min=1)).tolist()]


def bits_before(plan: Plan) -> list[float]:
    """Return the bits of the plays' windows before any fine-tuning."""
    return play_bits(original()[0], plan.n_windows)


@cache
def texts_of(sentences: Sentences, split: str) -> tuple[list[Tensor], Tensor]:
    """Encode the review sentences of a split as the model met them, and their labels."""
    tokenizer = original()[1]
    start, end = torch.tensor([tokenizer.cls_id]), torch.tensor([tokenizer.sep_id])
    reviews = sentences.of(split)
    texts = [torch.cat([start, tokenizer.encode(r.sentence)[:126], end]) for r in reviews]
    return texts, torch.tensor([r.label for r in reviews])


def run(plan: Plan, method: str, lr: float, seed: int, split: str) -> dict[str, Any]:
    """Fine-tune by a key of RATES, and ask the plays and the reviews of "validation" or "test".

    `seed` is of labels, head and batches.
    """
    torch.manual_seed(seed)
    bert, tokenizer = copy.deepcopy(original()[0]), original()[1]
    model = TextClassifier(bert, 2)
    if method == "lora":
        generator = Generator().manual_seed(seed)
        add_lora(model, ("qkv",), rank=RANK, alpha=ALPHA, generator=generator)
    freeze_except(model, PATTERNS[method])
    texts, labels = texts_of(plan.asked, "train")
    chosen = torch.randperm(len(texts), generator=Generator().manual_seed(seed))[
        : plan.forget_labels
    ].tolist()
    n_steps = plan.forget_epochs * plan.forget_labels // BATCH_SIZE
    loss = classification_loss(
        [texts[i] for i in chosen], [int(labels[i]) for i in chosen], batch_size=BATCH_SIZE,
        pad_id=tokenizer.pad_id,
    )  # fmt: skip
    fit(
        model,
        loss,
        OptimConfig(lr=lr, n_warmup=n_steps // 10, weight_decay=0.01),
        n_steps=n_steps,
        generator=Generator().manual_seed(6000 + seed),
    )
    unseen, truth = texts_of(plan.asked, split)
    hits = predict_classes(model, unseen, pad_id=tokenizer.pad_id) == truth
    result = {
        "accuracy": hits.float().mean().item(),
        "bits": play_bits(bert, plan.n_windows),
        "n_trained": count_parameters(model, trained_only=True),
    }
    if method == "lora":
        for layer in lora_layers(bert):
            layer.scale = 0.0  # the adapter's path adds nothing now
        result["bits_without_adapters"] = play_bits(bert, plan.n_windows)
    return result
