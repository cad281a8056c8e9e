# SPDX-License-Identifier: MIT
"""Right answers to the quiz of chapter 9, computed."""

import json
import math

import torch
from torch import Generator, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from pretrain.lora import LoRALinear
from pretrain.paths import data_file


def quiz_ftn_start() -> str:
    """Compare the losses of a head of zeros on right and on shuffled labels of three classes."""
    labels = torch.arange(3).repeat(20)
    shuffled = labels[torch.randperm(60, generator=Generator().manual_seed(0))]
    assert not torch.equal(labels, shuffled)
    scores = torch.zeros(60, 3)
    right, wrong = (F.cross_entropy(scores, given) for given in (labels, shuffled))
    if math.isclose(right, wrong):
        return f"= {float(wrong):.2f}"
    return "Above" if wrong > right else "Below"


def quiz_ftn_zero() -> str:
    """Take the gradients of A and B with both at zero, and with B alone at zero."""
    alone, both = _moves(zero_a=False), _moves(zero_a=True)
    assert alone == ["B"], "with B alone at zero, the first step moves B"
    return {0: "Neither", 1: "Only", 2: "Both"}[len(both)]


def _moves(*, zero_a: bool) -> list[str]:
    """Name the matrices of a LoRA layer that get a gradient in the first step."""
    layer = LoRALinear(
        nn.Linear(4, 4), rank=2, alpha=2.0, dropout_prob=0.0, generator=Generator().manual_seed(0)
    )
    if zero_a:
        nn.init.zeros_(layer.lora_a)
    layer(torch.ones(3, 4)).square().sum().backward()
    matrices = {"A": layer.lora_a, "B": layer.lora_b}
    return [name for name, m in matrices.items() if m.grad is not None and m.grad.any()]


def quiz_ftn_operations() -> str:
    """Count a step through a linear layer, trained whole and by LoRA of rank 8."""
    whole = nn.Linear(768, 768, bias=False)
    frozen = nn.Linear(768, 768, bias=False).requires_grad_(False)
    adapted = LoRALinear(frozen, rank=8, alpha=8.0, dropout_prob=0.0, generator=Generator())
    counts = []
    for layer in (whole, adapted):
        x = torch.ones(32, 768, requires_grad=True)  # layers below wait for its gradient
        with FlopCounterMode(display=False) as counter:
            layer(x).sum().backward()
        counts.append(counter.get_total_flops())
    saved = 1 - counts[1] / counts[0]
    names = {0.0: "Hardly at all", 1 / 3: "By about a third", 2 / 3: "By about two thirds"}
    return names[min(names, key=lambda share: abs(share - saved))]


def quiz_ftn_overlap() -> str:
    """Read off the record whether the two intervals overlap and where the difference lies."""
    methods = json.loads(data_file("runs", "fine_tuning.json").read_text())["methods"]
    full, probe = methods["full"]["accuracy"], methods["probe"]["accuracy"]
    assert probe["high"] > full["low"], "the two intervals overlap, as the question says"
    gap = methods["probe"]["minus_full"]
    return "The probe is surely behind" if gap["high"] < 0 else "Nothing"


def quiz_ftn_floor() -> str:
    """Compute the least loss that each cause allows; find the one at 0.313 nats."""
    perfect, right = torch.tensor([[-50.0, 50.0]]), torch.tensor([1])
    floors = {
        "softmax": F.cross_entropy(perfect.softmax(dim=-1), right),
        "three outputs": F.cross_entropy(torch.tensor([[-50.0, 50.0, -50.0]]), right),
        "tenth of the labels": F.binary_cross_entropy(torch.tensor(0.9), torch.tensor(0.9)),
        "learning rate": F.cross_entropy(perfect, right),
    }
    near = [cause for cause, floor in floors.items() if abs(float(floor) - 0.313) < 0.002]
    assert len(near) == 1
    return near[0]


def quiz_ftn_twelve() -> str:
    """Draw the validation scores of twelve equal settings; see how far the best lies above."""
    scores = 2.0 * torch.randn(20_000, 12, generator=Generator().manual_seed(0))
    return f"About {scores.amax(dim=1).mean():.0f} points"
