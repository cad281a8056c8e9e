# SPDX-License-Identifier: MIT
"""nanoGPT's published recipe for a CPU, as the third benchmark's baseline.

Implemented after its README and default settings: 4 layers, 4 heads, width 128, context 64, no
biases, exact GELU, tied head, no dropout, batch 12, 2,000 steps, AdamW with decay 0.1 on matrices
only, rate 1e-3 falling to 1e-4 along a cosine after 100 steps of warm-up, clipping at 1.
Left out: compilation and mixed precision, which that recipe switches off too.
"""

import math

import torch.nn.functional as F
from torch import Generator, Tensor, nn

from pretrain.objectives import CausalLM
from pretrain.training import OptimConfig, fit

D_MODEL, N_HEADS, N_LAYERS, SEQ_LEN, BATCH_SIZE, N_STEPS = 128, 4, 4, 64, 12, 2_000
OPTIM = OptimConfig(
    lr=1e-3, n_warmup=100, final_lr=0.1, betas=(0.9, 0.99), weight_decay=0.1, clip_norm=1.0
)


class NanoLayer(nn.Module):
    """A pre-norm block without biases; attention is torch's fused one."""

    def __init__(self) -> None:
        """Make the four matrices and the two norms."""
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL, bias=False) for _ in range(2))
        self.qkv = nn.Linear(D_MODEL, 3 * D_MODEL, bias=False)
        self.output = nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.up = nn.Linear(D_MODEL, 4 * D_MODEL, bias=False)
        self.down = nn.Linear(4 * D_MODEL, D_MODEL, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Run both sublayers on x, float (B, T, D)."""
        parts = self.qkv(self.norms[0](x)).split(D_MODEL, dim=-1)
        query, key, value = (p.unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for p in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        out: Tensor = x + self.down(F.gelu(self.up(self.norms[1](x))))
        return out


class NanoGPT(nn.Module):
    """The recipe's model; 0.8 million parameters."""

    def __init__(self, vocab_size: int) -> None:
        """Build and initialise it for V token ids: 0.02, and less at the end of each branch."""
        super().__init__()
        self.token = nn.Embedding(vocab_size, D_MODEL)
        self.position = nn.Embedding(SEQ_LEN, D_MODEL)
        self.layers = nn.ModuleList(NanoLayer() for _ in range(N_LAYERS))
        self.final_norm = nn.LayerNorm(D_MODEL, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                last = name.endswith(("output.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * N_LAYERS) if last else 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits, float (B, T, V), of ids, int64 (B, T)."""
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.final_norm(x), self.token.weight)


def train_nanogpt(model: NanoGPT, ids: Tensor, generator: Generator) -> None:
    """Train by the recipe on a text, int64 (L,); leave the model in evaluation mode."""
    objective = CausalLM(ids, batch_size=BATCH_SIZE, seq_len=SEQ_LEN)
    fit(model, objective, OPTIM, n_steps=N_STEPS, generator=generator)
