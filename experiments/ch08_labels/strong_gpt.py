# SPDX-License-Identifier: MIT
"""The book's strong GPT as a backbone, and the same network from random weights."""

import hashlib
from functools import cache

import torch

from experiments.book_models.character_models import tokenizer_of
from pretrain.gpt import GPT
from pretrain_lab.checkpoints import load_model
from pretrain_lab.paths import CHECKPOINTS
from pretrain_lab.tokenizers.characters import CharTokenizer

NAME = "gpt_plays"


@cache
def characters() -> CharTokenizer:
    """Make the vocabulary that it reads."""
    found = tokenizer_of(NAME)
    assert isinstance(found, CharTokenizer)
    return found


def digest() -> str:
    """Hash its weights to ten characters."""
    weights = (CHECKPOINTS / f"{NAME}.safetensors").read_bytes()
    return hashlib.sha256(weights).hexdigest()[:10]


def new_backbone(seed: int, *, trained: bool) -> GPT:
    """Copy the pre-trained network, or make one of its shape from random weights."""
    stored = load_model(NAME)[0]
    assert isinstance(stored, GPT)
    torch.manual_seed(500 + seed)
    model = GPT(stored.config)
    if trained:
        model.load_state_dict(stored.state_dict())
    return model
