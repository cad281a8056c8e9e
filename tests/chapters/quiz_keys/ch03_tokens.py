# SPDX-License-Identifier: MIT
"""Keys of the quiz of chapter 3."""

import math

import torch

from pretrain.bert import BERT
from pretrain.datasets import load_shakespeare
from pretrain.subword_training import train_subwords
from pretrain.subwords import load_tokenizer


def quiz_tok_seam() -> str:
    """Train byte-pair encoding on the ledger, and cut the word."""
    ledger = {"tea": 6, "team": 3, "steam": 4, "seat": 2, "quay": 1}
    pages = [word for word, count in ledger.items() for _ in range(count)]
    toy = train_subwords(pages, "bpe", vocab_size=8 + 4, alphabet="", specials=())
    return " · ".join(toy.split("seam"))


def quiz_tok_bits() -> str:
    """Compare the bits per character, and name the model with fewer."""
    bits = {"A": 12 * 2 / 12, "B": 3 * 7 / 12}
    best = min(bits, key=lambda name: bits[name])
    return f"{best}'s, at {bits[best]:.2f} bits"


def quiz_tok_emoji() -> str:
    """Train the three kinds on plays, which lack the sign, and see which gives it back."""
    kinds = {"BERT's": "wordpiece", "T5's": "unigram", "GPT-2's": "byte-bpe"}
    plays = [play.text[:20_000] for play in load_shakespeare("validation")]
    able = []
    for name, kind in kinds.items():
        tokenizer = train_subwords(plays, kind, vocab_size=300, specials=("[UNK]",))
        if tokenizer.decode(tokenizer.encode("😀")) == "😀":
            able.append(f"{name} kind")
    return ", ".join(able)


def quiz_tok_padding() -> str:
    """Count the positions of a row of nine whose logits two unmasked paddings move."""
    torch.manual_seed(0)
    model = BERT(50, d_model=32, n_layers=2, n_heads=4, max_len=16, init_std=0.2).eval()
    ids = torch.arange(1, 10)[None]
    with torch.no_grad():
        padded = model(torch.cat([ids, torch.zeros(1, 2, dtype=torch.long)], dim=1))[:, :9]
        moved = (model(ids) - padded).abs().amax(dim=-1) > 1e-3
    return f"At {int(moved.sum())}"


def quiz_tok_typed() -> str:
    """Encode the typed name, and count ordinary tokens if no special one is among them."""
    book = load_tokenizer("plays_bpe")
    ids = book.encode("[MASK]")
    special = torch.isin(ids, torch.tensor(book.special_ids)).any()
    n_ordinary = 0 if special else math.prod(ids.shape)
    return f"{n_ordinary} ordinary tokens"
