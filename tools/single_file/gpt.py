# SPDX-License-Identifier: MIT
"""Train a small GPT on a text and judge it on unseen text, beside models that count.

Chapter 4 of the book in one file: the model, its loss and the table of the chapter, all judged on
the same characters. Needs torch and nothing else.

    python gpt.py plays.txt --seed 0
"""

import math
from typing import Any

import torch
from torch import Generator, Tensor

from pretrain.evaluation import bits, token_losses
from pretrain.gpt import GPT
from pretrain.objectives import causal_lm_loss
from pretrain.tokenization import CharTokenizer
from single_file.counts import kneser_ney
from single_file.shared import parse_options, print_table, read_texts, save_run, train

SIZES: dict[str, Any] = {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_len": 64}
MIN_CONTEXT = 32  # every scored character has more than so many before it


def judge(model: GPT, train_ids: Tensor, unseen: Tensor, n_special: int) -> dict[str, float]:
    """Score the same unseen characters with the GPT and with three count models.

    Args:
        model: The trained model.
        train_ids: int64 (L,).
        unseen: int64 (T,).
        n_special: Special ids before those of the characters.

    Returns:
        Name of the model → bits per character.
    """
    nats = token_losses(model, unseen, seq_len=64, min_context=MIN_CONTEXT).double()
    scored = slice(MIN_CONTEXT + 1, MIN_CONTEXT + 1 + len(nats))
    characters, text = train_ids - n_special, unseen - n_special
    n_chars = model.options["vocab_size"] - n_special
    frequency = torch.bincount(characters, minlength=n_chars).double() + 1
    unigram = (frequency / frequency.sum()).log()[text]
    five = kneser_ney(characters, text, 5, n_chars)
    return {
        "uniform": math.log2(n_chars),
        "unigram": bits(-unigram[scored].mean().item()),
        "kneser_ney_5": bits(-five[scored].mean().item()),
        "gpt": bits(nats.mean().item()),
    }


@torch.inference_mode()
def sample(model: GPT, ids: Tensor, n_new: int, generator: Generator) -> Tensor:
    """Continue a text by drawing from the model's distribution.

    Args:
        model: The trained model.
        ids: int64 (T,), the beginning.
        n_new: Characters to write.
        generator: Source of randomness.

    Returns:
        int64 (T + n_new,).
    """
    for _ in range(n_new):
        probs = model(ids[None, -SIZES["max_len"] :])[0, -1].softmax(dim=-1)
        ids = torch.cat([ids, probs.multinomial(1, generator=generator)])
    return ids


def main() -> None:
    """Train, print the table of the chapter and a sample."""
    options = parse_options("Train a small GPT on a text (chapter 4).", n_steps=1500)
    train_text, unseen_text = read_texts(options)
    tokenizer = CharTokenizer(sorted({*train_text, *unseen_text}))
    train_ids, unseen = tokenizer.encode(train_text), tokenizer.encode(unseen_text)
    torch.manual_seed(options.seed)
    model = GPT(tokenizer.vocab_size, init_std=0.08, **SIZES)
    generator = Generator().manual_seed(options.seed)
    loss = causal_lm_loss(train_ids, batch_size=16, seq_len=64)
    losses = train(
        model, loss, n_steps=options.steps, lr=1e-2, n_warmup=min(100, options.steps),
        final_lr=0.02, generator=generator,
    )  # fmt: skip
    found = judge(model, train_ids, unseen, len(tokenizer.special_ids))
    names = {"uniform": "uniform", "unigram": "unigram", "kneser_ney_5": "Kneser-Ney, order 5"}
    names["gpt"] = f"GPT after {options.steps:,} steps"
    rows = [[title, f"{found[key]:.3f}", f"{2 ** found[key]:.2f}"] for key, title in names.items()]
    print_table(["model", "bits per character", "perplexity"], rows)
    print(f"\n{tokenizer.decode(sample(model, unseen[:32], 300, generator))}")
    save_run(options, losses, bits=found)


if __name__ == "__main__":
    main()
