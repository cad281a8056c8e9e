# SPDX-License-Identifier: MIT
"""Which names ask for a memory, and how a word is scored with less context."""

import torch
from torch import Generator

from experiments.ch04_gpt import unseen_plays
from pretrain.gpt import GPT, GPTConfig


def test_far_names_by_hand() -> None:
    """A copy must stand far enough, near enough, and no other between; known words do not count."""
    gap = "x" * 120
    text = f"{'.' * 250}Varro {gap} Varro, Varro {gap} Lear {gap}{gap} Varro {gap} Lear"
    places = unseen_plays.far_names(text, {"Lear"})
    words = [(text[start:end], start) for start, end in places]
    assert words == [("Varro", text.index("Varro", 260))]
    near, far = unseen_plays.NEAR, unseen_plays.FAR
    assert 0 < near < far


@torch.no_grad()
def test_a_word_is_scored_with_the_context_that_it_is_given() -> None:
    """With another context other bits; letters beyond the context change nothing."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(9, d_model=8, n_layers=1, n_heads=2, max_len=64, init_std=0.5)).eval()
    ids = torch.randint(0, 9, (200,), generator=Generator().manual_seed(1))
    place = [(100, 104)]
    short, long = (unseen_plays.word_bits(model, ids, place, n) for n in (10, 40))
    changed = ids.clone()
    changed[:85] = (changed[:85] + 1) % 9
    assert unseen_plays.word_bits(model, changed, place, 10) == short
    assert unseen_plays.word_bits(model, changed, place, 40) != long
    logits = model(ids[90:104][None])[0].log_softmax(dim=-1)
    scored = [-float(logits[i - 91, ids[i]]) for i in range(100, 104)]
    assert abs(sum(scored) / 0.6931472 - float(short[0])) < 1e-4
