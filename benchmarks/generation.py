# SPDX-License-Identifier: MIT
"""Benchmark (d): generating text with a key-value cache against `transformers`' `generate`.

Both sides have random weights of one shape, the same prompts, evaluation mode and inference mode.
Sampling draws from the whole vocabulary at temperature 1 on both.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.peers import VOCAB_SIZE, Shape, gpt_pair
from benchmarks.rows import Row, speed_row
from benchmarks.timing import alternate
from pretrain.generation import Sampling, generate
from pretrain.gpt import GPT

N_NEW_TOKENS, PROMPT_LEN, MAX_LEN = 200, 16, 256
CASES = ((96, 2, 1), (96, 2, 16), (96, 2, 64), (256, 4, 1))  # width, layers, batch size
N_PAIRS = 9


def row_name(d_model: int, n_layers: int, batch_size: int, sampled: bool) -> str:
    """Name the row of one comparison."""
    how = "sampled" if sampled else "greedy"
    return f"d generation, {d_model} x {n_layers}, batch {batch_size}, {how}"


def run() -> list[Row]:
    """Measure every case, greedy and sampled: eight rows, in new tokens per CPU-second."""
    rows = []
    for d_model, n_layers, batch_size in CASES:
        sides = _sides(Shape(d_model, n_layers, 4, batch_size, MAX_LEN))
        for sampled in (False, True):
            ours, peer = (partial(side, sampled) for side in sides)
            pairs = alternate(ours, peer, n_pairs=N_PAIRS)
            name = row_name(d_model, n_layers, batch_size, sampled)
            n_tokens = batch_size * N_NEW_TOKENS
            note = f"prompt of {PROMPT_LEN}, {N_NEW_TOKENS} new tokens, cache on both sides"
            rows.append(speed_row(name, pairs, n_items=n_tokens, unit="tokens/CPU s", note=note))
    return rows


def _sides(shape: Shape) -> tuple[Callable[[bool], object], Callable[[bool], object]]:
    """Make the two functions that generate, given whether to sample."""
    torch.manual_seed(0)
    ours, peer = gpt_pair(shape, dropout=0.0)
    prompt = torch.randint(VOCAB_SIZE, (shape.batch_size, PROMPT_LEN))
    return partial(_ours, ours.eval(), prompt), partial(_theirs, peer.eval(), prompt)


def _ours(model: GPT, prompt: Tensor, sampled: bool) -> Tensor:
    """Generate with the package."""
    choose = Sampling(torch.Generator().manual_seed(0), greedy=not sampled)
    return generate(model, prompt, N_NEW_TOKENS, choose)


@torch.inference_mode()
def _theirs(model: nn.Module, prompt: Tensor, sampled: bool) -> Tensor:
    """Generate with `transformers`, without its default cut to the 50 likeliest tokens."""
    options = {"do_sample": True, "top_k": 0} if sampled else {"do_sample": False}
    ids: Tensor = model.generate(  # type: ignore[operator]
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=N_NEW_TOKENS,
        use_cache=True,
        **options,
    )
    return ids
