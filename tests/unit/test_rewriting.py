# SPDX-License-Identifier: MIT
"""T5 writes: greedy and sampled, with and without cache, each output to its own end."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from pretrain.generation import filter_probs
from pretrain.rewriting import generate_from
from pretrain.t5 import T5

Build = Callable[..., T5]
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8], [7, 7, 2, 1, 0, 4]])
REAL = torch.tensor([[1] * 4 + [0] * 2, [1] * 6, [1] * 5 + [0]]).bool()


def by_hand(model: T5, n_new_tokens: int) -> Tensor:
    """Write greedily with whole passes of the model, from the start id on."""
    text = torch.zeros(3, 1, dtype=torch.int64)
    for _ in range(n_new_tokens):
        best = model(IDS, text, REAL)[:, -1].argmax(dim=-1)
        text = torch.cat([text, best[:, None]], dim=1)
    return text[:, 1:]


@pytest.mark.parametrize("use_cache", [True, False])
def test_greedy_takes_the_best_token_each_time(tiny_t5: Build, use_cache: bool) -> None:
    """Each token is the argmax after those before it; the start id is not returned."""
    model = tiny_t5()
    options: dict[str, Any] = {"attention_mask": REAL, "greedy": True, "use_cache": use_cache}
    assert torch.equal(generate_from(model, IDS, 7, **options), by_hand(model, 7))
    assert generate_from(model, IDS, 0, **options).shape == (3, 0)


@pytest.mark.parametrize("use_cache", [True, False])
def test_each_output_ends_by_itself(tiny_t5: Build, use_cache: bool) -> None:
    """After its end id a row holds padding; the text is as long as the longest row."""
    n_uneven = 0
    for model, eos_id in product([tiny_t5() for _ in range(3)], range(11)):
        free = by_hand(model, 30).tolist()
        out = generate_from(
            model,
            IDS,
            30,
            attention_mask=REAL,
            greedy=True,
            eos_id=eos_id,
            use_cache=use_cache,
        )
        ends = [t.index(eos_id) + 1 if eos_id in t else 30 for t in free]
        assert out.shape[1] == max(ends)
        for row, text, end in zip(out.tolist(), free, ends, strict=True):
            assert row == text[:end] + [0] * (out.shape[1] - end)
        n_uneven += len(set(ends)) > 1
    assert n_uneven > 5


def test_padding_id_is_the_start(tiny_t5: Build) -> None:
    """Another padding id gives another start, hence another text."""
    model = tiny_t5()
    states = model.encode(IDS)
    for pad_id in (0, 5):
        first = generate_from(model, IDS, 1, greedy=True, pad_id=pad_id)
        start = torch.full((3, 1), pad_id)
        assert torch.equal(first, model.decode(start, states)[:, -1:].argmax(dim=-1))


@pytest.mark.parametrize("eos_id", [None, 4])
def test_cache_changes_nothing(tiny_t5: Build, eos_id: int | None) -> None:
    """The same tokens with and without a cache, sampled."""
    for options in ({}, {"activation": "gelu_tanh", "gated": True, "tie_head": False}):
        model = tiny_t5(**options)
        texts = [
            generate_from(
                model, IDS, 12, attention_mask=REAL, eos_id=eos_id, use_cache=use_cache,
                temperature=1.3, top_p=0.95, generator=torch.Generator().manual_seed(4),
            )
            for use_cache in (True, False)
        ]  # fmt: skip
        assert torch.equal(*texts)


@pytest.mark.parametrize("use_cache", [None, True, False])
def test_a_cache_reads_each_token_once(
    tiny_t5: Build, monkeypatch: pytest.MonkeyPatch, use_cache: bool | None
) -> None:
    """By default each pass reads one new token; without a cache, all tokens so far."""
    model = tiny_t5()
    lengths: list[int] = []
    decode = model.decode

    def counted(ids: Tensor, *rest: Any, **options: Any) -> Tensor:
        lengths.append(ids.shape[1])
        return decode(ids, *rest, **options)

    monkeypatch.setattr(model, "decode", counted)
    options = {} if use_cache is None else {"use_cache": use_cache}
    generate_from(model, IDS, 4, greedy=True, **options)
    assert lengths == ([1, 2, 3, 4] if use_cache is False else [1, 1, 1, 1])


@pytest.mark.parametrize(
    "options", [{"top_p": 0.9}, {"top_k": 3}, {"min_p": 0.5}, {"temperature": 0.5}]
)
def test_samples_follow_the_distribution(
    tiny_t5: Build, generator: Generator, options: dict[str, Any]
) -> None:
    """The first token of 20,000 samples has the filtered frequencies, within 4 sigma."""
    model = tiny_t5()
    n = 20_000
    drawn = generate_from(model, IDS[:1].expand(n, -1), 1, **options, generator=generator)[:, 0]
    with torch.no_grad():
        logits = model(IDS[:1], torch.zeros(1, 1).long())[0, -1]
        probs = filter_probs(logits, **options)
    assert not torch.allclose(probs, logits.softmax(dim=-1), atol=0.02)
    share = torch.bincount(drawn, minlength=11) / n
    assert ((share - probs).abs() <= 4 * (probs * (1 - probs) / n).sqrt()).all()


def test_the_text_may_be_trained_on(tiny_t5: Build, generator: Generator) -> None:
    """What comes back is an ordinary tensor, and the inputs are as they were."""
    model = tiny_t5()
    before = IDS.clone()
    text = generate_from(model, IDS, 4, generator=generator)
    assert torch.equal(IDS, before)
    text[0, 0] = 5
    model(IDS, text).sum().backward()
    assert model.token.weight.grad is not None


def test_bad_calls_are_named(tiny_t5: Build, generator: Generator) -> None:
    """Inputs, counts and contradictory arguments."""
    model = tiny_t5()
    cases: list[tuple[Tensor, int, dict, str]] = [
        (IDS[0], 2, {}, r"integer ids of shape \(B, T\) with T >= 1, got .* shape \(6,\)"),
        (IDS, -1, {}, "n_new_tokens >= 0, got -1"),
        (IDS, 2, {"attention_mask": REAL[:, :2]}, r"attention_mask of shape \(3, 6\)"),
        (IDS, 2, {"generator": None}, r"a torch.Generator as generator \(or greedy=True\)"),
        (IDS, 2, {"greedy": True, "top_k": 3}, "no sampling arguments with greedy=True, got"),
        (IDS, 2, {"temperature": 0.0}, "temperature > 0, got 0.0"),
    ]
    for ids, n_new_tokens, options, message in cases:
        with pytest.raises(ValueError, match=message):
            generate_from(model, ids, n_new_tokens, **{"generator": generator, **options})
