# SPDX-License-Identifier: MIT
"""Train a small T5 on the characters of a text, then let it restore spans that were cut out.

    python t5.py plays.txt
    python t5.py plays.txt --steps 5000 --prompt "What say _my lord" --save t5.pt

Chapter 6 of the book explains it.
"""

from collections.abc import Sequence

import torch
from torch import Generator

from pretrain import T5, OptimConfig, SpanCorruptionLM, T5Config, fit
from pretrain.generation import Sampling, generate_seq2seq
from pretrain.span_corruption import SpanCorruption, corrupt_given_spans
from tools.editions.mains.shared import Characters, PrintLoss, read_options, save_model


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on nine tenths of a text, then restore a span in a prompt or ten pieces of the rest."""
    options = read_options(arguments, n_steps=1200)
    characters = Characters(options.text, special=["<pad>", "<2>", "<1>", "<0>"])
    train, unseen = characters.encode(options.text).tensor_split([len(options.text) * 9 // 10])
    pad_id, _, end_id, first_id = characters.special_ids
    spans = SpanCorruption(first_id, 3, noise_density=0.2, random_roll=True, pad_id=pad_id)

    torch.manual_seed(options.seed)  # decides the initial weights
    generator = Generator().manual_seed(options.seed)  # decides the batches
    model = T5(T5Config(len(characters.symbols), d_model=64, n_layers=2, n_heads=4))
    objective = SpanCorruptionLM(train, batch_size=64, seq_len=16, spans=spans)
    optim = OptimConfig(0.04, n_warmup=min(100, options.steps), final_lr=0.05, relative_lr=True)
    fit(model, objective, optim, n_steps=options.steps, generator=generator, hooks=[PrintLoss()])

    cuts = [corrupt_given_spans(x, [(8, 11)], spans) for x in unseen[: 10 * 16].view(10, 16)]
    read = [(cut.inputs, cut.targets) for cut in cuts]
    if options.prompt:
        read = [(characters.encode(options.prompt, first_id), unseen[:0])]
    print("\nread by T5 | written by T5 | what was cut out")
    for inputs, targets in read:
        choose = Sampling(greedy=True)
        written = generate_seq2seq(model, inputs[None], 6, choose, eos_id=end_id, pad_id=pad_id)
        characters.show(inputs, written[0], targets)
    save_model(options.save, model, characters)


if __name__ == "__main__":
    main()
