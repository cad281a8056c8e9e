# SPDX-License-Identifier: MIT
"""Train a small BERT on the characters of a text, then let it fill gaps.

    python bert.py plays.txt
    python bert.py plays.txt --steps 5000 --prompt "My l_rd, I _ave not" --save bert.pt

Chapter 5 of the book explains it.
"""

from collections.abc import Sequence

import torch
from torch import Generator

from pretrain import BERT, BERTConfig, MaskedLM, OptimConfig, Sampling, fit, mask_predict
from tools.editions.mains.shared import Characters, PrintLoss, read_options, save_model


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on nine tenths of a text, then fill gaps in a prompt, or ten pieces of the rest."""
    options = read_options(arguments, n_steps=2000)
    characters = Characters(options.text, special=["_"])  # stands for [MASK]
    train, unseen = characters.encode(options.text).tensor_split([len(options.text) * 9 // 10])
    n_symbols, (mask_id,) = len(characters.symbols), characters.special_ids

    torch.manual_seed(options.seed)  # decides the initial weights
    generator = Generator().manual_seed(options.seed)  # decides the batches
    config = BERTConfig(n_symbols, d_model=64, n_layers=2, n_heads=4, max_len=32, init_std=0.08)
    model = BERT(config)
    objective = MaskedLM(train, 32, 32, mask_id, n_symbols, special_ids=[mask_id])
    optim = OptimConfig(lr=5e-3, n_warmup=min(100, options.steps), final_lr=0.05)
    fit(model, objective, optim, n_steps=options.steps, generator=generator, hooks=[PrintLoss()])

    print("\nwith gaps | filled in by BERT | as it was")
    whole = unseen[: 10 * 32].view(10, 32)
    gaps = whole.clone()
    gaps[:, 4::9] = mask_id  # four gaps in each
    if options.prompt:
        whole = gaps = characters.encode(options.prompt, mask_id)[None, -32:]
    filled = mask_predict(model, gaps, 4, Sampling(greedy=True), mask_id=mask_id)
    for texts in zip(gaps, filled, whole, strict=True):
        characters.show(*texts)
    save_model(options.save, model, characters)


if __name__ == "__main__":
    main()
