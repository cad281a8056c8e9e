# SPDX-License-Identifier: MIT
"""The fast single-token step must be the model, only faster."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pretrain.decoding import Decoder
from pretrain.gpt import GPT

Build = Callable[..., GPT]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"n_layers": 1},
    {"norm": "post"},
    {"positions": "sinusoidal"},
    {"tie_head": False},
    {"n_layers": 1},
    {"activation": "relu", "d_ff": 12},
    {"activation": "gelu_tanh", "norm_eps": 0.1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("n_read", [0, 3])
@torch.inference_mode()
def test_reading_token_by_token_is_the_model(
    tiny_gpt: Build, options: dict[str, Any], n_read: int
) -> None:
    """With no bias at 0 and no gain at 1, every row equals that of one pass, to rounding."""
    model = tiny_gpt(**options)
    ids = torch.randint(11, (2, 12))
    cache, decoder = model.make_cache(), Decoder(model)
    if n_read:
        model(ids[:, :n_read], cache=cache)
    rows = torch.stack([decoder.read(ids[:, t], cache) for t in range(n_read, 12)], dim=1)
    assert torch.allclose(rows, model(ids)[:, n_read:], rtol=0, atol=1e-12)
    assert [past.length for past in cache] == [12] * len(model.blocks)


@torch.inference_mode()
def test_the_weights_are_the_models_own(tiny_gpt: Build) -> None:
    """A change of the model after the decoder was made is seen."""
    model = tiny_gpt()
    decoder = Decoder(model)
    model.embeddings.token.weight.zero_()
    assert decoder.read(torch.tensor([3]), model.make_cache()).abs().max() == 0


@torch.inference_mode()
def test_bad_input(tiny_gpt: Build) -> None:
    """A full cache, another batch size, ids of a wrong shape and training mode are refused."""
    model = tiny_gpt()
    decoder, cache = Decoder(model), model.make_cache()
    model(torch.zeros(2, 11, dtype=torch.int64), cache=cache)
    with pytest.raises(ValueError, match=r"expected ids \(B,\), got shape \(2, 1\)"):
        decoder.read(torch.zeros(2, 1, dtype=torch.int64), cache)
    with pytest.raises(ValueError, match=r"as those in the cache, got \(1, 2, 1, 4\)"):
        decoder.read(torch.tensor([0]), cache)
    for caches in (model.make_cache()[:1], model.make_cache() * 2):
        with pytest.raises(ValueError, match="zip"):
            decoder.read(torch.tensor([0]), caches)
    decoder.read(torch.tensor([0, 0]), cache)
    with pytest.raises(ValueError, match="expected at most max_len = 12 tokens, got 13"):
        decoder.read(torch.tensor([0, 0]), cache)
    with pytest.raises(ValueError, match="expected a model in evaluation mode"):
        Decoder(model.train())
