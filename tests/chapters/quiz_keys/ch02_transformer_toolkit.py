# SPDX-License-Identifier: MIT
"""Keys of the quiz of chapter 2."""

import torch

from pretrain.attention import MultiHeadAttention, attention
from pretrain.flops import gpt_flops
from pretrain.gpt import GPT
from pretrain.layers import Block
from pretrain.masks import causal_mask


def quiz_trf_final_norm() -> str:
    """Measure the root mean square of the vectors behind a fresh block of either kind."""
    x = 5 * torch.randn(1, 8, 16, generator=torch.Generator().manual_seed(0))
    pinned = []
    for norm in ("pre", "post"):
        states = Block(16, 2, 64, norm=norm)(x)
        if (states.square().mean(dim=-1).sqrt() - 1).abs().max() < 0.01:
            pinned.append(f"{norm}-norm")
    return f"After a {' or '.join(pinned)} block only"


def quiz_trf_zero_score() -> str:
    """Attend to four keys with the score 0, the last of them "hidden" in that way."""
    query, key = torch.zeros(1, 2), torch.zeros(4, 2)
    _, weights = attention(query, key, torch.eye(4))
    return f"Weight {weights[0, -1].item():g}"


def quiz_trf_window() -> str:
    """Follow four permitted steps from the last token of forty."""
    mask = causal_mask(40) & ~causal_mask(40).tril(-3)  # itself and two before
    reach = torch.linalg.matrix_power(mask.double(), 4)[-1] > 0
    return f"{39 - int(reach.nonzero()[0])} tokens"


def quiz_trf_heads() -> str:
    """Count the parameters of attention with twelve heads."""
    layer = MultiHeadAttention(96, 12)
    return f"{sum(p.numel() for p in layer.parameters()):,}"


def quiz_trf_context() -> str:
    """Count the operations of GPT-2, smallest size, on both contexts."""
    with torch.device("meta"):
        model = GPT(50_257, d_model=768, n_layers=12, n_heads=12, max_len=2048)
    return f"By about {gpt_flops(model, 2048) / gpt_flops(model, 1024):.1f}"


def quiz_trf_padding() -> str:
    """Count the real positions whose logits move when two paddings follow them."""
    torch.manual_seed(0)
    model = GPT(11, d_model=16, n_layers=2, n_heads=2, max_len=16, init_std=0.2).eval()
    ids = torch.tensor([[3, 5, 7, 9]])
    with torch.no_grad():
        padded = model(torch.cat([ids, torch.zeros(1, 2, dtype=torch.long)], dim=1))[:, :4]
        moved = (model(ids) - padded).abs().amax(dim=-1) > 1e-4
    return f"{int(moved.sum())}"
