# SPDX-License-Identifier: MIT
"""GPT: causal, cached, tied, and the same function as the published implementation."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from pretrain.gpt import GPT, GPTConfig

Build = Callable[..., GPT]
Influence = Callable[[nn.Module, Tensor], Tensor]
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
REAL = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()
OPTIONS: list[dict[str, Any]] = [
    {},
    {"norm": "post"},
    {"positions": "sinusoidal"},
    {"positions": "rotary"},
    {"activation": "relu", "tie_head": False},
]
TRIANGLE = torch.ones(6, 6).tril().bool()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_no_peeking(tiny_gpt: Build, influence: Influence, options: dict[str, Any]) -> None:
    """(B, T, V) logits; d logits_t / d embedding_s is zero for s > t and nowhere else."""
    model = tiny_gpt(**options)
    assert model(IDS).shape == (2, 6, 11)
    assert torch.equal(influence(model, IDS[:1]) > 0, TRIANGLE)


def test_a_future_token_never_changes_an_earlier_logit(tiny_gpt: Build) -> None:
    """The same fact by hand: another token at 3 leaves rows 0..2 as they were, bit by bit."""
    model = tiny_gpt()
    changed = IDS.clone()
    changed[:, 3] = 0
    before, after = model(IDS), model(changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.isclose(before[:, 3:], after[:, 3:]).all(dim=-1).any()


def test_right_padding_never_changes_a_real_position(tiny_gpt: Build) -> None:
    """Neither what stands in the padding nor that there is some matters; 1 and True are one."""
    model = tiny_gpt()
    padded = model(IDS, REAL)
    other = IDS.where(REAL, torch.tensor(7))
    assert torch.equal(padded[REAL], model(other, REAL)[REAL])
    assert torch.equal(padded, model(IDS, REAL.long()))
    assert torch.allclose(padded[:1, :4], model(IDS[:1, :4]), rtol=0, atol=1e-12)
    assert torch.allclose(padded[1], model(IDS)[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("prefix_len", range(7))
def test_a_prefix_is_seen_from_both_sides(
    tiny_gpt: Build, influence: Influence, prefix_len: int
) -> None:
    """Logit t depends on the whole prefix, and beyond it on the tokens up to t."""
    model = tiny_gpt()
    lens = torch.tensor([prefix_len])
    model.register_forward_pre_hook(
        lambda _, args, options: (args, {**options, "prefix_lens": lens}), with_kwargs=True
    )
    expected = TRIANGLE.clone()
    expected[:, :prefix_len] = True
    assert torch.equal(influence(model, IDS[:1]) > 0, expected)


def test_prefixes_go_with_padding(tiny_gpt: Build) -> None:
    """Each sequence has its own prefix; padding stays hidden."""
    model, lens = tiny_gpt(), torch.tensor([3, 2])
    both = model(IDS, REAL, prefix_lens=lens)
    alone = model(IDS[:1, :4], prefix_lens=lens[:1])
    assert torch.allclose(both[:1, :4], alone, rtol=0, atol=1e-12)
    assert torch.allclose(both[1:], model(IDS[1:], prefix_lens=lens[1:]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradient_reaches_every_parameter(options: dict[str, Any]) -> None:
    """Every parameter takes part in the logits."""
    model = GPT(GPTConfig(11, d_model=8, n_layers=2, n_heads=2, max_len=6, **options))
    F.cross_entropy(model(IDS).flatten(0, 1), IDS.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@torch.no_grad()
@pytest.mark.parametrize("pieces", [[1] * 6, [4, 1, 1], [2, 3, 1], [6]], ids=str)
@pytest.mark.parametrize("options", [*OPTIONS, {"n_layers": 1}], ids=str)
def test_cache_gives_the_same_logits(
    tiny_gpt: Build, options: dict[str, Any], pieces: list[int]
) -> None:
    """However the sequence is cut, reading on with a cache equals one whole pass."""
    model = tiny_gpt(**options)
    cache = model.make_cache()
    rows = [model(piece, cache=cache) for piece in IDS.split(pieces, dim=1)]
    assert torch.allclose(torch.cat(rows, dim=1), model(IDS), rtol=0, atol=1e-12)


def test_the_head_is_the_embedding_matrix() -> None:
    """Tied: one matrix less. Untied: a matrix of its own without bias."""
    sizes = {"d_model": 8, "n_layers": 1, "n_heads": 2, "max_len": 6}
    tied, untied = GPT(GPTConfig(11, **sizes)), GPT(GPTConfig(11, **sizes, tie_head=False))
    for model, matrix in ((tied, tied.embeddings.token), (untied, untied.head)):
        states = model.encode(IDS)
        assert torch.allclose(model(IDS), states @ matrix.weight.T, atol=1e-6)
        assert torch.equal(model(IDS), model.logits(states))
    counts = [sum(p.numel() for p in model.parameters()) for model in (tied, untied)]
    assert counts[1] - counts[0] == 11 * 8


def test_a_fresh_model_knows_nothing() -> None:
    """At the start the loss is that of guessing among all tokens."""
    model = GPT(GPTConfig(50, d_model=32, n_layers=2, n_heads=4, max_len=16))
    ids = torch.randint(50, (8, 16))
    loss = F.cross_entropy(model(ids).flatten(0, 1), torch.randint(50, (128,)))
    assert loss.item() == pytest.approx(math.log(50), abs=0.05)


def test_dropout_acts_in_training_only(tiny_gpt: Build) -> None:
    """At one rate in all places; a dropout of 0 is no dropout, bit by bit."""
    model, plain = tiny_gpt(dropout=0.2), tiny_gpt()
    assert [part.p for part in model.modules() if isinstance(part, nn.Dropout)] == [0.2] * 3
    assert [block.attention.dropout for block in model.blocks] == [0.2] * 2
    assert torch.equal(model(IDS), model(IDS))
    assert not torch.equal(model.train()(IDS), model(IDS))
    assert torch.equal(plain.train()(IDS), plain.eval()(IDS))


def published_gpt2(model: GPT, activation: str) -> GPT2LMHeadModel:
    """Make the published model with our weights; its linear layers store them transposed."""
    c = model.config
    config = GPT2Config(
        vocab_size=c.vocab_size, n_positions=c.max_len, n_embd=c.d_model, n_layer=c.n_layers,
        n_head=c.n_heads, n_inner=c.d_ff, activation_function=activation,
        layer_norm_epsilon=c.norm_eps, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    theirs = GPT2LMHeadModel(config).double().eval()
    state = {
        "transformer.wte.weight": model.embeddings.token.weight,
        "transformer.wpe.weight": model.embeddings.position.weight,
        "lm_head.weight": model.embeddings.token.weight,
    }
    names = {
        "ln_1": "attention_norm", "attn.c_attn": "attention.qkv", "attn.c_proj": "attention.output",
        "ln_2": "feed_forward_norm", "mlp.c_fc": "feed_forward.up", "mlp.c_proj":
        "feed_forward.down",
    }  # fmt: skip
    for i, block in enumerate(model.blocks):
        for name, own in names.items():
            part = block.get_submodule(own)
            prefix = f"transformer.h.{i}.{name}"
            state[f"{prefix}.weight"] = part.weight.t()
            state[f"{prefix}.bias"] = part.bias
    for kind in ("weight", "bias"):
        state[f"transformer.ln_f.{kind}"] = getattr(model.final_norm, kind)
    theirs.load_state_dict(state)
    return theirs


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("ours", "theirs"), [("gelu", "gelu"), ("gelu_tanh", "gelu_new")])
def test_same_logits_as_the_published_gpt2(
    tiny_gpt: Build, ours: str, theirs: str, seed: int
) -> None:
    """On a tiny random configuration both implementations compute the same logits."""
    torch.manual_seed(seed)
    n_heads = 2 + 2 * seed
    model = tiny_gpt(activation=ours, d_ff=20, n_heads=n_heads, norm_eps=10.0 ** -(3 + seed))
    published = published_gpt2(model, theirs)
    real = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    with torch.no_grad():
        assert torch.allclose(model(IDS), published(IDS).logits, rtol=0, atol=1e-10)
        padded = published(IDS, attention_mask=real).logits
        assert torch.allclose(model(IDS, real)[real > 0], padded[real > 0], rtol=0, atol=1e-10)


def test_bad_calls_are_named(tiny_gpt: Build) -> None:
    """Wrong masks, wrong lengths, and a mask or a prefix together with a cache."""
    model, lens = tiny_gpt(), torch.tensor([1, 1])
    cases: list[tuple[Tensor, dict[str, Any], str]] = [
        (IDS, {"attention_mask": torch.ones(6)}, r"of shape \(2, 6\), .* got \(6,\)"),
        (IDS, {"attention_mask": REAL & REAL[:1].logical_not()}, r"got none in rows \[0\]"),
        (IDS.repeat(1, 3), {}, "at most max_len = 12 tokens, got 18"),
        (IDS, {"prefix_lens": lens + 6}, r"prefix_lens \(B,\) in 0\.\.6, got \[7, 7\]"),
        (IDS, {"attention_mask": REAL, "cache": model.make_cache()}, "with a cache"),
        (IDS, {"prefix_lens": lens, "cache": model.make_cache()}, "with a cache"),
    ]
    for ids, options, message in cases:
        with pytest.raises(ValueError, match=message):
            model(ids, **options)


def test_bad_sizes_are_named(tiny_gpt: Build) -> None:
    """The parts refuse what they cannot be made of."""
    with pytest.raises(ValueError, match="divisible by n_heads, got 8 and 3"):
        tiny_gpt(n_heads=3)
    with pytest.raises(ValueError, match="expected norm 'pre' or 'post', got 'rms'"):
        tiny_gpt(norm="rms")
