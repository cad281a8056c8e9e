# SPDX-License-Identifier: MIT
"""Keys of the quiz of chapter 4."""

import math
from itertools import permutations

import numpy as np
import torch
from torch import nn

from pretrain.bert import BERT
from pretrain.generation import filter_probs
from pretrain.gpt import GPT
from pretrain.masks import causal_mask
from pretrain.objectives import causal_targets

SIZES = {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_len": 16, "init_std": 0.2}


def quiz_gpt_passes() -> str:
    """Count the targets of a window of 64 characters."""
    _, targets = causal_targets(torch.arange(64)[None])
    return f"{targets.numel()}"


def quiz_gpt_orders() -> str:
    """Multiply the conditionals of a random distribution in each of the six orders."""
    joint = np.random.default_rng(0).dirichlet(np.ones(8)).reshape(2, 2, 2)
    exact = 0
    for order in permutations(range(3)):
        product = np.ones_like(joint)
        for n in range(3):
            known = joint.sum(axis=order[n:], keepdims=True)
            product = product * joint.sum(axis=order[n + 1 :], keepdims=True) / known
        exact += bool(np.allclose(product, joint))
    return f"In all {exact}" if exact == 6 else f"In {exact}"


def quiz_gpt_shift() -> str:
    """Count the positions that a causal mask lets read the token of their own place."""
    return f"At {int(causal_mask(8).diagonal().sum())}"


def quiz_gpt_differs() -> str:
    """Change the last of six tokens, and count the positions whose logits move."""
    torch.manual_seed(0)
    ids = torch.tensor([[1, 2, 3, 4, 5, 6]])
    other = torch.tensor([[1, 2, 3, 4, 5, 7]])

    def n_moved(model: nn.Module) -> int:
        with torch.no_grad():
            gap = model.eval()(ids) - model(other)
        return int((gap.abs().amax(dim=-1) > 1e-4).sum())

    return f"GPT: {n_moved(GPT(11, **SIZES))}, BERT: {n_moved(BERT(11, **SIZES))}"


def quiz_gpt_units() -> str:
    """Convert both perplexities to bits per character, and name the lower one."""
    bits = {"A": math.log2(256) / 4, "B": math.log2(4)}
    if math.isclose(bits["A"], bits["B"]):
        return f"Neither: both need {bits['A']:g} bits"
    return f"{min(bits, key=lambda name: bits[name])}, since"


def quiz_gpt_temperature() -> str:
    """Apply temperature 2 to the two probabilities."""
    probs = filter_probs(torch.tensor([0.8, 0.2]).log(), temperature=2.0)
    return f"{probs[0].item():.2f}"
