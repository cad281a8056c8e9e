# SPDX-License-Identifier: MIT
"""Train a small BERT on a text and judge it on hidden characters of unseen text.

Chapter 5 of the book in one file: corruption, encoder, loss, and the table of the chapter against
baselines that need no training. Needs torch and nothing else.

    python bert.py plays.txt --seed 0
"""

from typing import Any

import torch
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.evaluation import masked_log_probs, top_k_hits
from pretrain.objectives import FATES, IGNORE_INDEX, corrupt_mlm, masked_lm_loss, random_windows
from pretrain.tokenization import CharTokenizer
from single_file.shared import parse_options, print_table, read_texts, save_run, train

SIZES: dict[str, Any] = {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_len": 32}


def shares(scores: Tensor, answers: Tensor, fates: Tensor) -> dict[str, float]:
    """Say how often the truth is the best guess, or among the five best.

    Args:
        scores: float (n, V), higher = more likely.
        answers: int64 (n,).
        fates: int8 (n,), indices into FATES.

    Returns:
        Shares: top1, top5, and top1 for each fate.
    """
    hits = top_k_hits(scores, answers, 1).double()
    found = {"top1": hits.mean().item()}
    found["top5"] = top_k_hits(scores, answers, 5).double().mean().item()
    for code, fate in enumerate(FATES[1:], start=1):
        found[f"top1_{fate}"] = hits[fates == code].mean().item()
    return found


def judge(
    models: dict[str, BERT], train_ids: Tensor, unseen: Tensor, tokenizer: CharTokenizer
) -> dict[str, dict[str, float]]:
    """Ask models and baselines for the hidden characters of 500 unseen windows.

    Args:
        models: Name → model.
        train_ids: int64 (L,), for the frequencies.
        unseen: int64 (T,).
        tokenizer: The vocabulary.

    Returns:
        Name → shares, of `shares`.
    """
    windows = random_windows(unseen, 500, 32, generator=Generator().manual_seed(6))
    read, labels, fates = corrupt_mlm(
        windows, generator=Generator().manual_seed(7), mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.vocab_size, special_ids=tokenizer.special_ids,
    )  # fmt: skip
    asked = labels != IGNORE_INDEX
    answers = labels[asked]
    counts = torch.bincount(train_ids, minlength=tokenizer.vocab_size).double()
    unigram = (counts / counts.sum()).expand(len(answers), -1)
    seen = read[asked]
    copying = unigram.clone()  # what stands there first, unless it is hidden
    visible = (seen != tokenizer.mask_id).nonzero().flatten()
    copying[visible, seen[visible]] = 2.0
    scores = {"unigram": unigram, "copying": copying}
    scores |= {name: masked_log_probs(model, read, labels)[0] for name, model in models.items()}
    return {name: shares(score, answers, fates[asked]) for name, score in scores.items()}


def main() -> None:
    """Train and print the table of the chapter."""
    options = parse_options("Train a small BERT on a text (chapter 5).", n_steps=1200)
    train_text, unseen_text = read_texts(options)
    tokenizer = CharTokenizer(sorted({*train_text, *unseen_text}))
    train_ids, unseen = tokenizer.encode(train_text), tokenizer.encode(unseen_text)
    torch.manual_seed(options.seed)
    model, untrained = (BERT(tokenizer.vocab_size, init_std=0.08, **SIZES) for _ in range(2))
    loss = masked_lm_loss(
        train_ids, batch_size=32, seq_len=32, mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.vocab_size, special_ids=tokenizer.special_ids,
    )  # fmt: skip
    losses = train(
        model, loss, n_steps=options.steps, lr=5e-3, n_warmup=min(120, options.steps),
        final_lr=0.05, generator=Generator().manual_seed(options.seed),
    )  # fmt: skip
    names = {"unigram": "unigram: the most frequent", "random_encoder": "BERT, untrained"}
    names |= {"copying": "copying, else the most frequent"}
    names |= {"bert": f"BERT after {options.steps:,} steps"}
    found = judge({"random_encoder": untrained.eval(), "bert": model}, train_ids, unseen, tokenizer)
    rows = [[names[name], *(f"{share:.1%}" for share in found[name].values())] for name in names]
    print_table(["text corrupted at 15 %", "top-1", "top-5", *FATES[1:]], rows)
    save_run(options, losses, shares=found)


if __name__ == "__main__":
    main()
