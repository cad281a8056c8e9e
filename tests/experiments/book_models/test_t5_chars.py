# SPDX-License-Identifier: MIT
"""The T5 of the applets: its gaps are of any number and length, and it knows where they end."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from experiments.book_models import t5_chars
from pretrain.t5 import T5, T5Config
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare

N_WINDOWS = 200


@pytest.fixture(scope="module")
def trained() -> tuple[Any, Any]:
    """The stored model and its characters."""
    return load_model("t5_chars")


@pytest.fixture(scope="module")
def unseen(trained: tuple[Any, Any]) -> Tensor:
    """Plays that the model has not read."""
    text: Tensor = trained[1].encode("\n".join(play.text for play in load_shakespeare("test")))
    return text


def costs_of(model: T5, hidden: Any) -> Tensor:
    """Score every token of the targets, (B, T), in bits."""
    read = F.pad(hidden.targets, (1, 0))[:, :-1]
    with torch.inference_mode():
        logits = model(hidden.inputs, read, hidden.input_mask)
    nats = F.cross_entropy(logits.flatten(0, 1), hidden.targets.flatten(), reduction="none")
    return nats.view_as(hidden.targets) / math.log(2)


@pytest.mark.parametrize("length", [13, 24, 41, 62, 64])
def test_it_knows_the_end_of_a_gap_in_texts_of_any_length(
    length: int, trained: tuple[Any, Any], unseen: Tensor
) -> None:
    """A model that had read windows of one length counted to their end: 0.03 bits there, 6 else."""
    model, tokenizer = trained
    windows = unseen.unfold(0, length, length)[:N_WINDOWS]
    hidden = t5_chars.hide(windows, tokenizer, Generator().manual_seed(0))
    costs = costs_of(model, hidden)
    is_mark = (hidden.targets < len(tokenizer.specials)) & hidden.target_mask
    is_end = (hidden.targets == tokenizer.ids[t5_chars.EOS]) & hidden.target_mask
    behind = is_mark & F.pad(is_end, (0, 1))[:, 1:]  # the sentinel before the end
    assert costs[is_end].mean() < 0.5
    assert 0.2 < costs[behind].mean() < 2.5
    assert costs[hidden.target_mask & ~is_mark].mean() < 3.0  # a single letter: 4.2


def test_windows_differ_in_length_and_gaps_in_number(
    trained: tuple[Any, Any], unseen: Tensor
) -> None:
    """In fifty batches there are windows of a quarter of the length and nearly of all of it."""
    _, tokenizer = trained
    loss = t5_chars.RandomGaps(unseen, tokenizer, 64, 8)
    lengths, n_gaps = set(), set()

    class Watch(torch.nn.Module):
        """A model that notes what it gets."""

        def forward(self, ids: Tensor, decoder_ids: Tensor, mask: Tensor | None = None) -> Tensor:
            """Count the characters of the first window, and its gaps."""
            real = ids[0] if mask is None else ids[0][mask[0]]
            is_letter = real >= len(tokenizer.specials)
            written = decoder_ids[0] >= len(tokenizer.specials)
            lengths.add(int(is_letter.sum() + written.sum()))
            n_gaps.add(int((~is_letter).sum()) - 1)  # </s>
            return torch.zeros(*decoder_ids.shape, tokenizer.vocab_size, requires_grad=True)

    generator = Generator().manual_seed(0)
    for _ in range(50):
        loss(Watch(), generator)
    assert min(lengths) <= 20
    assert max(lengths) >= 58
    assert max(lengths) <= 64
    assert {1, 2, 3, 4} <= n_gaps
    assert max(n_gaps) < t5_chars.N_SENTINELS


def test_matched_sentinels_look_at_themselves() -> None:
    """Before any training, a sentinel in the decoder looks most at its own place in the input."""
    ids = torch.tensor([[20, 12, 33, 11, 40, 10, 55, 9, 60, 2]])
    places = {12: 1, 11: 3, 10: 5, 9: 7}
    shares = {}
    for is_matched in (False, True):
        found = []
        for seed in range(20):
            torch.manual_seed(seed)
            model = T5(T5Config(74, d_model=64, n_layers=1, n_heads=4)).eval()
            if is_matched:
                t5_chars.match_sentinels(model)
            layer = model.decoder.blocks[0].cross_attention
            kept: list[Tensor] = []

            def keep(
                _: Any, given: Any, more: Any, layer: Any = layer, kept: list[Tensor] = kept
            ) -> None:
                kept.append(layer.weights(*given, memory=more["memory"]))

            hook = layer.register_forward_pre_hook(keep, with_kwargs=True)
            with torch.inference_mode():
                for sentinel, place in places.items():
                    model(ids, torch.tensor([[sentinel]]))
                    found.append(kept.pop()[0, :, -1, place].mean().item())
            hook.remove()
        shares[is_matched] = sum(found) / len(found)
    assert shares[False] == pytest.approx(0.1, abs=0.05)  # ten places
    assert shares[True] > 0.3
