# SPDX-License-Identifier: MIT
"""Train a small T5 on a text and judge which labels it has learned on unseen text.

Chapter 6 of the book in one file: subwords, span corruption, encoder-decoder, loss, and the table
of the chapter, which takes the mean loss apart. Needs torch and nothing else.

    python t5.py plays.txt --seed 0
"""

from typing import Any

import torch
from torch import Generator, Tensor

from pretrain.objectives import random_windows
from pretrain.seq2seq import span_corruption_loss
from pretrain.spans import SpanCorrupted, corrupt_spans
from pretrain.t5 import T5, shift_right
from single_file.merges import Subwords
from single_file.shared import parse_options, print_table, read_texts, save_run, train

SIZES: dict[str, Any] = {"d_model": 64, "n_layers": 1, "n_heads": 4}
PAD_ID, EOS_ID, FIRST_SENTINEL_ID, N_SENTINELS = 0, 5, 2999, 64
KINDS = {
    "opening": "first sentinel",
    "first": "first token of a span",
    "later": "its other tokens",
    "closing": "sentinel that ends a span",
    "end": "</s>",
}


def kinds_of(targets: Tensor) -> Tensor:
    """Say of each label which kind it is.

    Args:
        targets: int64 (B, T), unpadded.

    Returns:
        int64 (B, T), indices into KINDS.
    """
    names = list(KINDS)
    sentinel = targets > FIRST_SENTINEL_ID - N_SENTINELS
    behind = torch.cat([torch.zeros_like(sentinel[:, :1]), sentinel[:, :-1]], dim=1)
    kinds = torch.where(behind, names.index("first"), names.index("later"))
    kinds = kinds.masked_fill(sentinel, names.index("closing"))
    kinds[:, 0] = names.index("opening")
    return kinds.masked_fill(targets == EOS_ID, names.index("end"))


@torch.inference_mode()
def judge(model: T5, asked: SpanCorrupted, train_ids: Tensor) -> dict[str, dict[str, float]]:
    """Take the loss apart by kinds of labels, and compare the text with frequencies.

    Args:
        model: The trained model.
        asked: Unseen windows with holes.
        train_ids: int64 (L,), for the frequencies.

    Returns:
        Kind → number, nats and top1; "text" → nats, and nats by frequency.
    """
    log_probs = model(asked.inputs, shift_right(asked.targets)).log_softmax(dim=-1)
    nats = -log_probs.gather(-1, asked.targets[..., None])[..., 0]
    right = log_probs.argmax(dim=-1) == asked.targets
    kinds = kinds_of(asked.targets)
    found = {}
    for code, name in enumerate(KINDS):
        here = kinds == code
        found[name] = {"n": int(here.sum()), "nats": nats[here].mean().item()}
        found[name]["top1"] = right[here].double().mean().item()
    text = (kinds == 1) | (kinds == 2)
    counts = torch.bincount(train_ids, minlength=FIRST_SENTINEL_ID + 1) + 1.0
    unigram = -(counts / counts.sum()).log()[asked.targets]
    found["text"] = {"nats": nats[text].mean().item(), "nats_unigram": unigram[text].mean().item()}
    found["special"] = {"nats": nats[~text].mean().item()}
    return found


@torch.inference_mode()
def write(model: T5, inputs: Tensor, n_new: int) -> Tensor:
    """Let the model write, always the most likely token, until it ends.

    Args:
        model: The trained model.
        inputs: int64 (B, S).
        n_new: Most tokens to write.

    Returns:
        int64 (B, n_new), padded behind the end.
    """
    states = model.encode(inputs)
    text = inputs.new_full((len(inputs), 1), PAD_ID)
    ended = torch.zeros(len(inputs), dtype=torch.bool)
    for _ in range(n_new):
        chosen = model.decode(text, states)[:, -1].argmax(dim=-1).masked_fill(ended, PAD_ID)
        text = torch.cat([text, chosen[:, None]], dim=1)
        ended |= chosen == EOS_ID
    return text[:, 1:]


def has_form(written: Tensor, target: Tensor) -> bool:
    """Say whether an output has each special token of its target once and in order."""
    form = [
        [i for i in row.tolist() if i and (i <= EOS_ID or i > FIRST_SENTINEL_ID - N_SENTINELS)]
        for row in (written, target)
    ]
    return form[0] == form[1]


def main() -> None:
    """Train, print the table of the chapter and three answers."""
    options = parse_options("Train a small T5 on a text (chapter 6).", n_steps=500)
    train_text, unseen_text = read_texts(options)
    tokenizer = Subwords(train_text, FIRST_SENTINEL_ID + 1, N_SENTINELS)
    train_ids, unseen = tokenizer.encode(train_text), tokenizer.encode(unseen_text)
    holes: dict[str, Any] = {
        "first_sentinel_id": FIRST_SENTINEL_ID,
        "n_sentinels": N_SENTINELS,
        "eos_id": EOS_ID,
    }
    torch.manual_seed(options.seed)
    model = T5(len(tokenizer.tokens), **SIZES)
    losses = train(
        model, span_corruption_loss(train_ids, batch_size=32, seq_len=32, **holes),
        n_steps=options.steps, lr=5e-3, n_warmup=min(50, options.steps), final_lr=0.05,
        generator=Generator().manual_seed(options.seed),
    )  # fmt: skip
    windows = random_windows(unseen, 200, 32, generator=Generator().manual_seed(1))
    asked = corrupt_spans(windows, generator=Generator().manual_seed(1), **holes)
    found = judge(model, asked, train_ids)
    rows = [
        [name, f"{found[kind]['n']:,}", f"{found[kind]['nats']:.2f}", f"{found[kind]['top1']:.0%}"]
        for kind, name in KINDS.items()
    ]
    print_table(["label", "number", "nats", "top-1"], rows)
    wrote = write(model, asked.inputs, 16)
    n_form = sum(has_form(w, t) for w, t in zip(wrote, asked.targets, strict=True))
    print(f"\ntext: {found['text']['nats']:.2f} nats a token, "
          f"by frequency {found['text']['nats_unigram']:.2f}")  # fmt: skip
    print(f"right form: {n_form} of {len(wrote)} outputs")
    for read, answer in zip(asked.inputs[:3], wrote, strict=False):
        print(f"\nread:  {tokenizer.decode(read)!r}\nwrote: {tokenizer.decode(answer)!r}")
    save_run(options, losses, kinds=found, n_right_form=n_form)


if __name__ == "__main__":
    main()
