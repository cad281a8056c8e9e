# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 7, computed."""

import json
import math

import torch
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.flops import bert_flops, next_token_flops
from pretrain.gpt import GPT
from pretrain.hidden_markov import HiddenMarkovSource
from pretrain.masks import bidirectional_mask, causal_mask
from pretrain.objectives import causal_targets
from pretrain.oracles import blank_oracle, causal_oracle
from pretrain.paths import data_file


def quiz_wld_copy() -> str:
    """Find where the open mask shows the target of each position, and the triangle does not."""
    read, targets = causal_targets(torch.arange(6)[None])
    opened = bidirectional_mask(5) & ~causal_mask(5)
    shown = (read == targets[0, :, None]) & opened  # [query, key]: the key holds the answer
    offsets = {key - query for query, key in shown.nonzero().tolist()}
    # The last position's target lies outside the input, so only four of five are shown.
    assert offsets == {1}
    assert int(shown.sum()) == 4
    return f"one place to the {'right' if offsets.pop() > 0 else 'left'}"


def quiz_wld_floors() -> str:
    """Compare how far two losses lie above the best possible ones of the porter's town."""
    mostly = torch.tensor([[0.75, 0.25], [0.25, 0.75]])
    town = HiddenMarkovSource(mostly, mostly, torch.tensor([0.5, 0.5]))
    days = torch.zeros(1, 3, dtype=torch.long)
    umbrella = {
        "GPT": float(causal_oracle(town, days).exp()[0, 1]),
        "BERT": float(blank_oracle(town, days, torch.tensor([1])).exp()[0, 0]),
    }
    losses = {"GPT": 1.00, "BERT": 0.98}
    above = {name: losses[name] - _entropy(p) for name, p in umbrella.items()}
    assert min(above.values()) > 0
    return f"{min(above, key=above.__getitem__)}, "


def _entropy(p: float) -> float:
    """Give the entropy in bits of a coin."""
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def quiz_wld_order() -> str:
    """Multiply four rules' conditionals of a random joint distribution; find the exact one."""
    joint = torch.rand(2, 2, 2, dtype=torch.float64, generator=Generator().manual_seed(7))
    joint /= joint.sum()
    rules = {
        "No token reads": ((), (), ()),
        "third reads none": ((2,), (0, 2), ()),
        "both others": ((1, 2), (0, 2), (0, 1)),
        "third the first": ((1,), (2,), (0,)),
    }
    exact = [name for name, reads in rules.items() if torch.allclose(_product(joint, reads), joint)]
    assert len(exact) == 1
    return exact[0]


def _product(joint: Tensor, reads: tuple[tuple[int, ...], ...]) -> Tensor:
    """Multiply P(token | what it reads) over three tokens of two values each."""
    result = torch.ones_like(joint)
    for token, seen in enumerate(reads):
        unread = [t for t in range(3) if t != token and t not in seen]
        known = joint.sum(dim=unread, keepdim=True) if unread else joint
        result = result * known / known.sum(dim=token, keepdim=True)
    return result


def quiz_wld_right_side() -> str:
    """Ask the records which change put a trained GPT surely ahead."""
    budget, middle = (
        json.loads(data_file("runs", f"{name}.json").read_text())
        for name in ("three_objectives", "fill_the_middle")
    )
    rescored = budget["whole_vocabulary"]["minus_bert"]["gpt, rescored"]["over_items"]
    moved = middle["infilling"]["middles"]["4"]["spm, both sides minus plain"]["over_items"]
    high = {"Bayes' rule": rescored[2], "moved to the end": moved[2]}
    ahead = [way for way, top in high.items() if top < 0]
    assert len(ahead) <= 1
    return ahead[0] if ahead else "It cannot"


def quiz_wld_next_token() -> str:
    """Count the operations of one more token after 100 and after 200."""
    gpt = GPT(3000, d_model=256, n_layers=4, n_heads=4, max_len=256)
    bert = BERT(3000, d_model=256, n_layers=4, n_heads=4, max_len=256)
    ratios = {
        "GPT's": next_token_flops(gpt, 200) / next_token_flops(gpt, 100),
        "BERT's": bert_flops(bert, 200, 1) / bert_flops(bert, 100, 1),
    }
    change = {1: "hardly change", 2: "about double", 4: "grow about fourfold"}
    return ", ".join(f"{name} {change[round(ratio)]}" for name, ratio in ratios.items())
