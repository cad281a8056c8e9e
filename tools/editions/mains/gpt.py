# SPDX-License-Identifier: MIT
"""Train a small GPT on the characters of a text, then let it write.

    python gpt.py plays.txt
    python gpt.py plays.txt --steps 5000 --prompt "ROMEO:" --save gpt.pt

Chapter 4 of the book explains it.
"""

from collections.abc import Sequence

import torch
from torch import Generator

from pretrain import GPT, CausalLM, GPTConfig, OptimConfig, Sampling, fit, generate
from tools.editions.mains.shared import Characters, PrintLoss, read_options, save_model


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on a text, then continue a prompt, or its first 64 characters, by 500 of GPT's own."""
    options = read_options(arguments, n_steps=2000)
    characters = Characters(options.text)
    ids = characters.encode(options.text)

    torch.manual_seed(options.seed)  # decides the initial weights
    generator = Generator().manual_seed(options.seed)  # decides the batches and the writing
    n_symbols = len(characters.symbols)
    config = GPTConfig(n_symbols, d_model=64, n_layers=2, n_heads=4, max_len=64, init_std=0.08)
    model = GPT(config)
    objective = CausalLM(ids, batch_size=16, seq_len=64)
    optim = OptimConfig(lr=1e-2, n_warmup=min(100, options.steps), final_lr=0.02)
    fit(model, objective, optim, n_steps=options.steps, generator=generator, hooks=[PrintLoss()])

    choose = Sampling(generator, temperature=0.8)
    prompt = characters.encode(options.prompt or options.text[:64])[-64:]
    written = generate(model, prompt[None], 500, choose)
    print(f"\n{characters.decode(written[0])}")
    save_model(options.save, model, characters)


if __name__ == "__main__":
    main()
