# SPDX-License-Identifier: MIT
"""The Transformer block and its initial weights."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pretrain.attention import KVCache
from pretrain.blocks import ACTIVATIONS, Block, FeedForward, init_weights
from pretrain.gpt import GPT
from pretrain.masks import causal_mask, padding_mask

TOLERANCE = 1e-10
REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
Scramble = Callable[[nn.Module], nn.Module]


def copy_attention(ours: nn.Module, theirs: nn.Module) -> None:
    """Copy the stacked projection and the output matrix into torch's layer."""
    theirs.in_proj_weight.copy_(ours.qkv.weight)
    theirs.in_proj_bias.copy_(ours.qkv.bias)
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def copy_block(ours: Block, theirs: nn.Module) -> None:
    """Copy a block into torch's encoder layer, or decoder layer when it reads a source."""
    copy_attention(ours.attention, theirs.self_attn)
    norms = [ours.attention_norm, ours.feed_forward_norm]
    if ours.has_cross_attention:
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        norms.insert(1, ours.cross_norm)
    for i, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{i}").load_state_dict(norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.up.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.down.state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("eps", [1e-5, 1e-2])
def test_block_equals_torch_encoder_layer(
    norm: str, activation: str, eps: float, scramble: Scramble
) -> None:
    """Copied weights give the same output under a causal mask with padding."""
    ours = Block(12, 3, 20, norm=norm, activation=activation, norm_eps=eps)
    scramble(ours)
    theirs = nn.TransformerEncoderLayer(
        12, 3, 20, dropout=0.0, activation=activation, layer_norm_eps=eps, batch_first=True,
        norm_first=norm == "pre", dtype=torch.float64,
    )  # fmt: skip
    copy_block(ours, theirs)
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    expected = theirs(x, src_mask=~causal_mask(5), src_key_padding_mask=~REAL)
    out = ours(x, causal_mask(5) & padding_mask(REAL))
    assert torch.allclose(out, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cross_block_equals_torch_decoder_layer(norm: str, scramble: Scramble) -> None:
    """With cross-attention the block is the decoder layer of the first Transformer."""
    ours = Block(12, 3, 20, norm=norm, activation="relu", cross_attention=True)
    scramble(ours)
    theirs = nn.TransformerDecoderLayer(
        12, 3, 20, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    )
    copy_block(ours, theirs)
    x = torch.randn(2, 4, 12, dtype=torch.float64)
    source = torch.randn(2, 5, 12, dtype=torch.float64)
    expected = theirs(x, source, tgt_mask=~causal_mask(4), memory_key_padding_mask=~REAL)
    out = ours(x, causal_mask(4), source=source, source_mask=padding_mask(REAL))
    assert torch.allclose(out, expected, rtol=0, atol=TOLERANCE)


def test_the_two_places_of_the_norm() -> None:
    """Pre-norm leaves the residual stream alone; post-norm standardises it after each branch."""
    x = 10 * torch.randn(2, 5, 8)
    pre, post = Block(8, 2, 16, norm="pre"), Block(8, 2, 16, norm="post")
    for block in (pre, post):
        for parameter in (block.attention.output, block.feed_forward.down):
            nn.init.zeros_(parameter.weight)
            nn.init.zeros_(parameter.bias)
    assert torch.equal(pre(x), x)
    assert torch.allclose(post(x).var(dim=-1, unbiased=False), torch.ones(2, 5), atol=1e-3)


def test_norm_eps_is_added_to_the_variance() -> None:
    """A vector of variance 1 is scaled by 1 / sqrt(1 + eps)."""
    block = Block(2, 1, 4, norm_eps=3.0, cross_attention=True)
    x = torch.tensor([[-1.0, 1.0]])
    for norm in (block.attention_norm, block.cross_norm, block.feed_forward_norm):
        assert torch.allclose(norm(x), x / 2)


def test_feed_forward_works_on_each_position_alone() -> None:
    """Changing one position changes the output there and nowhere else."""
    layer = FeedForward(8, 16)
    x = torch.randn(1, 4, 8)
    changed = x.clone()
    changed[0, 2] += 1.0
    moved = (layer(x) != layer(changed)).any(dim=-1)[0]
    assert moved.tolist() == [False, False, True, False]


def test_one_inner_unit_is_enough() -> None:
    """F = 1 by hand: the sum of the inputs where it is positive, to both outputs."""
    layer = FeedForward(2, 1, activation="relu")
    for linear in (layer.up, layer.down):
        nn.init.ones_(linear.weight)
        nn.init.zeros_(linear.bias)
    assert layer(torch.tensor([[1.0, 2.0], [1.0, -2.0]])).tolist() == [[3.0, 3.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("name", "at_one"), [("relu", 1.0), ("gelu", 0.841345), ("gelu_tanh", 0.841192)]
)
def test_activations_by_value(name: str, at_one: float) -> None:
    """GELU(1) is the normal distribution's value at 1; its tanh form differs in the 4th digit."""
    assert ACTIVATIONS[name](torch.tensor(1.0)).item() == pytest.approx(at_one, abs=1e-6)


@pytest.mark.parametrize("cross", [False, True])
def test_gradient_reaches_every_parameter(cross: bool) -> None:
    """No sublayer is left out of the sum."""
    block = Block(8, 2, 16, cross_attention=cross)
    source: Tensor | None = torch.randn(1, 3, 8) if cross else None
    block(torch.randn(1, 4, 8), causal_mask(4), source=source).square().sum().backward()
    for name, parameter in block.named_parameters():
        assert parameter.grad is not None, name
        if name != "attention.qkv.bias":  # softmax ignores what all keys share
            assert parameter.grad.abs().sum() > 0, name


def test_cached_block_equals_the_whole_pass(scramble: Scramble) -> None:
    """Self-attention reads its cache; cross-attention reads the whole source each time."""
    block = Block(8, 2, 16, cross_attention=True)
    scramble(block)
    x, source = torch.randn(2, 1, 5, 8, dtype=torch.float64)
    cache = KVCache(5)
    rows = [block(x[:, t : t + 1], source=source, cache=cache) for t in range(5)]
    whole = block(x, causal_mask(5), source=source)
    assert torch.allclose(torch.cat(rows, dim=1), whole, rtol=0, atol=TOLERANCE)


def test_dropout_reaches_both_branches() -> None:
    """Even with attention silent, the feed-forward branch is dropped in training alone."""
    block = Block(8, 2, 16, dropout_prob=0.5)
    x = torch.randn(1, 4, 8)
    nn.init.zeros_(block.attention.output.weight)
    assert not torch.equal(block.train()(x), block(x))
    assert torch.equal(block.eval()(x), block(x))


@pytest.mark.parametrize("name", ["attention", "cross_attention"])
def test_dropout_reaches_the_attention_weights(name: str) -> None:
    """With all else in evaluation, each kind of attention drops weights of its own."""
    block = Block(8, 2, 16, dropout_prob=0.5, cross_attention=True).eval()
    x, source = torch.randn(1, 4, 8), torch.randn(1, 3, 8)
    silent = block(x, source=source)
    block.get_submodule(name).train()
    assert not torch.equal(block(x, source=source), silent)


def test_initial_weights_have_the_stated_spread() -> None:
    """std 0.02; the last matrix of each branch 0.02 / sqrt(2 N); biases 0; norms 1."""
    model = GPT(300, d_model=64, n_layers=8, n_heads=4, max_len=64)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            small = name.endswith(("attention.output.weight", "feed_forward.down.weight"))
            expected = 0.02 / 4 if small else 0.02
            assert parameter.std().item() == pytest.approx(expected, rel=0.06), name
        elif "norm" in name and name.endswith("weight"):
            assert parameter.eq(1).all(), name
        else:
            assert parameter.eq(0).all(), name


def test_a_stack_of_one_has_the_published_spread() -> None:
    """Left alone, std is 0.02; a single block divides it by sqrt(2) at the end of a branch."""
    block = Block(64, 4, 128)
    init_weights(block, 1)
    assert block.feed_forward.up.weight.std().item() == pytest.approx(0.02, rel=0.06)
    expected = 0.02 / math.sqrt(2)
    assert block.feed_forward.down.weight.std().item() == pytest.approx(expected, rel=0.06)


def test_cross_attention_counts_as_a_branch() -> None:
    """Its output matrix is drawn small too."""
    block = Block(64, 4, 128, cross_attention=True)
    init_weights(block, 8, std=0.4)
    assert block.cross_attention.output.weight.std().item() == pytest.approx(0.1, rel=0.06)
    assert block.cross_attention.qkv.weight.std().item() == pytest.approx(0.4, rel=0.06)


def test_bad_options_are_named() -> None:
    """Unknown names show what is known."""
    with pytest.raises(ValueError, match=r"\['gelu', 'gelu_tanh', 'relu'\], got 'swish'"):
        FeedForward(8, 16, activation="swish")
    with pytest.raises(ValueError, match="expected d_ff >= 1, got 0"):
        FeedForward(8, 0)
    with pytest.raises(ValueError, match="expected norm 'pre' or 'post', got 'middle'"):
        Block(8, 2, 16, norm="middle")
    with pytest.raises(ValueError, match="expected n_layers >= 1, got 0"):
        init_weights(nn.Linear(2, 2), 0)


def test_source_and_cross_attention_belong_together() -> None:
    """A source nobody reads, or a reader without a source, is a mistake."""
    x = torch.zeros(1, 2, 8)
    with pytest.raises(ValueError, match=r"expected no source: .* cross_attention=False"):
        Block(8, 2, 16)(x, source=x)
    with pytest.raises(ValueError, match=r"expected a source: .* cross_attention=True"):
        Block(8, 2, 16, cross_attention=True)(x)
